"""What nothing of a form was asked for has a kernel, or is refused for what was
asked: never for a tile, waves or a loop that kiln itself chose.

usage: left_open.py KILNC [COUNT [SEED]]    TAP
"""
import random
import re
import subprocess
import sys

TYPES = [("bf16", "bf16"), ("f16", "f16"), ("fp8", "fp8"), ("bf8", "fp8"),
         ("i8", "i8"), ("mxfp8", "mxfp8"), ("mxfp8", "mxfp4"),
         ("mxfp4", "mxfp4"), ("mxfp6", "mxfp6"), ("bf16", "mxfp4"),
         ("bf16", "i4"), ("f16", "fp8"), ("bf16", "i8"), ("f32", "f32"),
         ("f64", "f64"),
         ("bf16", "nvfp4"), ("f16", "nvfp4")]
ROWS = [1, 3, 16, 17, 33, 64, 100, 256, 513, 1024, 4096]
COLUMNS = [16, 100, 128, 200, 256, 1000, 2880, 4096, 7168]
DEPTHS = [64, 128, 512, 1024, 2880, 4096, 4097, 4100, 7168]
# Of what was not asked for.
CHOSEN = re.compile(r"the schedule |\bwaves\b|\btile of|x\d+ tile|\.tir:|gate \w+:|"
                    r"needs \d+ registers|is wrong")


def sizes(rng, family):
    """Flags of the sizes of one problem."""
    m, n, k = (str(rng.choice(x)) for x in (ROWS, COLUMNS, DEPTHS))
    if family == "moe":
        return ["--stage", rng.choice(["gemm1", "gemm2"]), "--hidden",
                rng.choice(["1024", "2880", "4096"]), "--inter",
                rng.choice(["512", "768", "2048"]), "--experts",
                rng.choice(["8", "128"]), "--topk", "4", "--tokens", m]
    if family == "grouped":
        return ["--groups", "8", "--tokens", m, "-n", n, "-k", k]
    if family == "wgrad":
        return ["--groups", "8", "--tokens", m, "-n", n, "-m", "1000"]
    return ["-m", m, "-n", n, "-k", k] + ["--batch", "3"] * (family == "batched")


def output(rng):
    """Flags of an output."""
    return rng.choice([
        [], [], [], ["--out", "f32"], ["--epilogue", "bias"],
        ["--epilogue", "relu(acc + 1)"], ["--beta", "1"], ["--invariant"],
        ["--out", "fp8", "--out-scale", "static"],
        ["--out", "fp8", "--out-scale", "block128"],
        ["--out", "i8", "--out-scale", "row"],
        ["--out", "mxfp8"], ["--out", "mxfp4"]])


def request(rng):
    family = rng.choice(["gemm"] * 4 + ["batched", "grouped", "wgrad", "moe"])
    a, b = rng.choice(TYPES)
    flags = [family, "--arch", rng.choice(["gfx942", "gfx950"]), "--a", a,
             "--b", b] + sizes(rng, family)
    if family != "moe":
        flags += output(rng)
    if family not in ("moe", "wgrad") and rng.randrange(3) == 0:
        flags += ["--layout", rng.choice(["nn", "tn", "tt"])]
    if b == "i4":
        flags += ["--scale", rng.choice(["group32", "group128"])]
    elif a == b and a in ("fp8", "i8") and rng.randrange(2):
        flags += ["--scale", rng.choice(["row", "tensor", "block128"])]
    return flags


def refusal(kilnc, flags):
    """The first line of a refusal; none if there is a kernel."""
    run = subprocess.run([kilnc, "info"] + flags, text=True, capture_output=True,
                         check=False)
    return None if run.returncode == 0 else (run.stderr.splitlines() or [""])[0]


def main(kilnc, count="300", seed="1"):
    rng = random.Random(int(seed))
    found, chosen = [], 0
    for _ in range(int(count)):
        flags = request(rng)
        why = refusal(kilnc, flags)
        chosen += why is None
        if why is not None and (not why or CHOSEN.search(why)):
            found.append("%s: %s" % (" ".join(flags), why))
    print("1..3")
    print("%s 1 - %d of %s requests have a kernel" % (
        "ok" if chosen * 2 > int(count) else "not ok", chosen, count))
    print("%s 2 - none is refused for what kiln chose" % (
        "not ok" if found else "ok"))
    for text in found:
        print("# " + text)
    asked = refusal(kilnc, ["gemm", "-m", "64", "-n", "64", "-k", "64",
                            "--tile", "64x64x64", "--waves", "3x3"])
    print("%s 3 - such a refusal is seen" % (
        "ok" if asked and CHOSEN.search(asked) else "not ok"))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
