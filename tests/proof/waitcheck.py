"""AMD's static wait checker as a second opinion on generated kernels.

usage: waitcheck.py KILNC            rj_waitcheck from PATH; skipped without it
       waitcheck.py KILNC --selftest runs against stand-ins of the checker

Every family, target and way into LDS is generated and given to both checkers.
A kernel that one finds clean and the other does not is a disagreement, listed
with the first lines the checker said; any makes the test fail.
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

KERNELS = [
    "gemm --a bf16 --arch gfx950", "gemm --a bf16 --arch gfx942",
    "gemm --a fp8 --layout nn --arch gfx950", "gemm --a i8 --layout tn --arch gfx942",
    "gemm --a mxfp4 --arch gfx950", "gemm --a fp8 --scale block128 --arch gfx950",
    "gemm --a bf16 --split-k 2 --arch gfx950",
    "gemm --a f16 --cus 304 --arch gfx942",
    "batched --a bf16 --batch 4 --arch gfx950",
    "grouped --a bf16 --groups 4 --arch gfx950",
    "wgrad --a bf16 --groups 4 --layout tn --arch gfx942",
    "moe --stage gemm1 --a bf16 --experts 8 --topk 2 --tokens 64 --arch gfx950",
    "moe --stage gemm2 --a bf16 --experts 8 --topk 2 --tokens 64 --arch gfx950",
]


def generate(kilnc, words, path):
    size = ["--hidden", "512", "--inter", "512"] if words[0] == "moe" else \
        ["-m", "512", "-n", "512", "-k", "520"]
    r = subprocess.run([kilnc, "generate"] + words + size + ["-o", path],
                       capture_output=True, text=True)
    if r.returncode:
        sys.exit("not generated: %s: %s" % (" ".join(words), r.stderr))


def opinion(command):
    try:
        r = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return 2, "no answer in 300 s"
    return r.returncode, r.stdout + r.stderr


def compare(kilnc, tool, kernels):
    """The disagreements, as text."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for k in kernels:
            words = k.split()
            path = os.path.join(folder, "k.co")
            generate(kilnc, words, path)
            ours, _ = opinion([kilnc, "check", path])
            theirs, said = opinion([tool, path, "--target", words[-1],
                                    "--all-code-objects"])
            if (ours == 0) != (theirs == 0):
                lines.append("%s: kilnc exit %d, rj_waitcheck exit %d" % (
                    k, ours, theirs))
                lines += ["  " + x for x in said.splitlines()[:8]]
    return lines


def stand_in(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def selftest(kilnc):
    some = KERNELS[:2]
    with tempfile.TemporaryDirectory() as folder:
        agrees = stand_in(folder, "agrees", "test -s \"$1\"\n")
        objects = stand_in(folder, "objects",
                           "case \"$3\" in gfx942) echo missing wait at 0x40; exit 1;; esac\n")
        quiet = compare(kilnc, agrees, some)
        loud = compare(kilnc, objects, some)
    assert quiet == [], quiet
    assert loud == ["%s: kilnc exit 0, rj_waitcheck exit 1" % some[1],
                    "  missing wait at 0x40"], loud


def main():
    if sys.argv[2:] == ["--selftest"]:
        return selftest(sys.argv[1])
    tool = shutil.which("rj_waitcheck")
    if not tool:
        print("rj_waitcheck is not in PATH: skipped")
        sys.exit(77)
    lines = compare(sys.argv[1], tool, KERNELS)
    print("\n".join(lines) or "%d kernels, no disagreement" % len(KERNELS))
    sys.exit(1 if lines else 0)


main()
