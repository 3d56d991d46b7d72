"""The driver of the fuzz targets tells a crash, an end of the process, a hang,
memory without an end and a status without a sentence, goes on behind each, and
makes the same mutants of the same seed. Speaks TAP.

usage: fires.py FUZZ_FIRES FUZZ_LAUNCH SCRATCH
"""
import os
import subprocess
import sys

CASES = {
    "crash": (b"c", "crash (signal"),
    "end of the process": (b"e", "crash (exit status 0)"),
    "hang": (b"h", "hang"),
    "memory": (b"m", "crash (signal"),
    "status without a sentence": (b"s", "crash (signal"),
}


def run(program, scratch, *words):
    done = subprocess.run([program, *words], cwd=scratch, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False)
    return done.returncode, done.stdout


def write(scratch, name, data):
    path = os.path.join(scratch, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def main(fires, launch, scratch):
    fires, launch = os.path.abspath(fires), os.path.abspath(launch)
    os.makedirs(scratch, exist_ok=True)
    scratch = os.path.abspath(scratch)
    good = write(scratch, "good", b"x")
    results = []
    for name, (data, words) in CASES.items():
        bad = write(scratch, "bad", data)
        status, text = run(fires, scratch, "--runs", "0", "--limit", "1",
                           good, bad, good)
        kept = [w for w in text.split() if w.endswith(".bin")]
        results.append((name, status == 1 and words in text and
                        " at input 1 of seed 1" in text and
                        ": 3 inputs, 3 of them seeds; 1 bad;" in text and
                        len(kept) == 1 and
                        open(kept[0], "rb").read() == data))
    status, text = run(fires, scratch, "--runs", "0", good)
    results.append(("a good input", status == 0 and " 0 bad;" in text))
    seed = write(scratch, "launch", b"grid 4\nblock 256\nptr 0 a\n")
    texts = []
    for number in ("5", "5", "6"):
        folder = os.path.join(scratch, "mutants")
        subprocess.run(["rm", "-rf", folder], check=True)
        os.makedirs(folder)
        run(launch, scratch, "--runs", "40", "--seed", number,
            "--write", folder, seed)
        texts.append([open(os.path.join(folder, n), "rb").read()
                      for n in sorted(os.listdir(folder))])
    results.append(("the same mutants of the same seed",
                    len(texts[0]) == 41 and texts[0] == texts[1]))
    results.append(("others of another", texts[0] != texts[2] and
                    len(set(texts[0])) > 30))
    print("1..%d" % len(results))
    for i, (name, ok) in enumerate(results, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, name))
    return not all(ok for _, ok in results)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
