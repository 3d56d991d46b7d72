"""`kilnc info` and `kilnc diff` on objects of another compiler: every
instruction is decoded, the census equals what llvm-objdump lists, and each
takes less than a second. Speaks TAP.

usage: census.py KILNC LLVM SOURCE SCRATCH
       census.py --folder DIR KILNC LLVM     the same for any folder
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import time

SUFFIX = re.compile(r"_(e32|e64|dpp|sdwa)$")
LIMIT = 1.0


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)


def timed(*words):
    """The best of two: the machine is shared."""
    best = None
    for _ in range(2):
        start = time.monotonic()
        got = run(*words)
        took = time.monotonic() - start
        best = took if best is None else min(best, took)
        if best < LIMIT:
            break
    return got, best


def symbol_range(llvm, path, symbol):
    text = run(os.path.join(llvm, "llvm-readelf"), "-sW", path).stdout
    for line in text.split("\n"):
        word = line.split()
        if len(word) == 8 and word[7] == symbol:
            return int(word[1], 16), int(word[2], 0)
    return 0, 0


def objdump(llvm, path, kernel):
    """Mnemonics with "lds", and wait texts, of one kernel. A symbol without a
    size is believed to be as long as kiln says."""
    first, size = symbol_range(llvm, path, kernel["name"])
    size = size or kernel["code_bytes"]
    text = run(os.path.join(llvm, "llvm-objdump"), "-d", "--no-show-raw-insn",
               "--start-address=%d" % first,
               "--stop-address=%d" % (first + size), path).stdout
    ops, waits = collections.Counter(), collections.Counter()
    for line in text.split("\n"):
        m = re.match(r"\s+([a-z]\w+)(.*?)//", line)
        if not m:
            continue
        name = SUFFIX.sub("", m.group(1))
        rest = m.group(2)
        lds = " lds" in rest or "_load_lds_" in name
        ops[name, lds] += 1
        if name == "s_waitcnt":
            waits[tuple(sorted(re.findall(r"(\w+)\((\d+)\)", rest)))] += 1
    return ops, waits


def census(kernel):
    t = kernel["all"]
    ops = {(o["name"], o["lds"]): o["count"] for o in t["ops"]}
    waits = {tuple(sorted((k, str(w[k])) for k in w if k != "count")):
             w["count"] for w in t["waits"]}
    return ops, waits


def check(kilnc, llvm, path):
    """A complaint, or None."""
    got, took = timed(kilnc, "info", path, "--json", "-")
    if got.returncode:
        return "info: exit %d: %s" % (got.returncode, got.stderr)
    if took > LIMIT:
        return "info: %.2f s" % took
    facts = json.loads(got.stdout)
    for kernel in facts.get("kernels") or [facts["kernel"]]:
        ops, waits = objdump(llvm, path, kernel)
        mine, my_waits = census(kernel)
        if ("unknown", False) in mine:
            return "%d instructions not decoded" % mine["unknown", False]
        if mine != ops:
            return "census differs: %s" % (set(mine.items()) ^
                                           set(ops.items()))
        if my_waits != waits:
            return "waits differ: %s" % (set(my_waits.items()) ^
                                         set(waits.items()))
    return None


def compare(kilnc, one, two, want):
    got, took = timed(kilnc, "diff", one, two)
    if got.returncode not in want or "result" not in got.stdout:
        return "diff: exit %d: %s" % (got.returncode, got.stderr)
    return "diff: %.2f s" % took if took > LIMIT else None


def cases(kilnc, llvm, paths):
    for i, path in enumerate(paths):
        name = os.path.basename(path)
        yield name + " info", check(kilnc, llvm, path)
        yield name + " with itself", compare(kilnc, path, path, (0,))
        yield name + " with the next", compare(
            kilnc, path, paths[(i + 1) % len(paths)], (0, 1))


def main(words):
    if words[0] == "--folder":
        folder, kilnc, llvm = words[1:4]
        paths = glob.glob(os.path.join(folder, "**", "*.co"), recursive=True)
    else:
        kilnc, llvm, source = words[:3]
        paths = glob.glob(os.path.join(source, "tests/data/triton/*.co"))
    found = list(cases(kilnc, llvm, sorted(paths)))
    print("1..%d" % (len(found) + 1))
    for i, (name, complaint) in enumerate(found, 1):
        print("%s %d - %s" % ("not ok" if complaint else "ok", i, name))
        if complaint:
            print("# " + complaint.strip().replace("\n", "\n# ")[:600])
    print("%s %d - there are objects" % ("ok" if len(paths) > 15 else "not ok",
                                         len(found) + 1))
    return any(c for _, c in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
