"""Code objects launched by strangers: programs of HIP that know k.h and nothing
else of kiln, on the simulator, all their output compared.

usage: launch.py SOURCE BUILD
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
SCRATCH = tempfile.mkdtemp(prefix="kiln-launch-")
KILNC = os.path.join(BUILD, "kilnc")
SHIM = os.path.join(BUILD, "libkilnhip.so.0")
F16 = ["--a", "f16", "--b", "f16"]


def a_of(n):
    return [i * 7 % 5 - 2 for i in range(n)]


def b_of(n):
    return [i * 3 % 7 - 3 for i in range(n)]


def product(a, b, k):
    return float(sum(x * y for x, y in zip(a, b)))


def program(name, target, *words, shape=None):
    """Standard output of an example with the header of a fresh k.co."""
    tap.must(KILNC, "generate", *words, "--arch", target, "-o", "k.co",
             "--header", "k.h", cwd=SCRATCH)
    with open(os.path.join(SOURCE, "examples", name + ".c"),
              encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(SCRATCH, "p.c"), "w", encoding="utf-8") as f:
        f.write(re.sub(r"\.k = K", ".k = " + shape, text) if shape else text)
    hello = "#include <hip/hip_runtime_api.h>\nint main(void) { return 0; }\n"
    compiler = shutil.which("clang-22") or "gcc"
    if tap.run(compiler, "-D__HIP_PLATFORM_AMD__", "-fsyntax-only", "-x", "c",
               "-", input=hello)[1]:
        raise tap.Skip("HIP's headers are not installed")
    tap.must(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror",
             "-D__HIP_PLATFORM_AMD__", "p.c", "-o", "p", "-lamdhip64",
             cwd=SCRATCH)
    done = subprocess.run(["./p"], cwd=SCRATCH, check=False,
                          env=dict(os.environ, LD_PRELOAD=SHIM,
                                   KILNC_SHIM_TARGET=target),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode and not shape:
        raise AssertionError("exit %d: %s %s" % (
            done.returncode, done.stdout[:200], done.stderr.decode()))
    return done.stdout


def difference(out, form, want):
    got = struct.unpack("<%d%s" % (len(want), form), out)
    wrong = [i for i, (g, w) in enumerate(zip(got, want)) if g != w]
    return "%d wrong, first [%d]: %g, not %g" % (
        len(wrong), wrong[0], got[wrong[0]], want[wrong[0]]) if wrong else None


def gemm_reference():
    m, n, k = 200, 136, 192
    a, b = a_of(m * k), b_of(n * k)
    return [product(a[i * k:i * k + k], b[j * k:j * k + k], k)
            for i in range(m) for j in range(n)]


def on_both(*words):
    want = gemm_reference()
    for target in ("gfx950", "gfx942"):
        out = program("07_launch", target, "gemm", *F16, "--out", "f32", *words)
        wrong = difference(out, "f", want)
        if wrong:
            return "%s: %s" % (target, wrong)
    return None


def a_gemm_is_right():
    return on_both() or on_both("-m", "200", "-n", "136", "-k", "192")


def a_divided_gemm_is_right():
    return on_both("--split-k", "3", "--tile", "64x64x64")


def a_persistent_gemm_is_right():
    return on_both("--cus", "5", "--tile", "64x64x64")


def a_shape_outside_the_domain_is_refused():
    out = program("07_launch", "gfx950", "gemm", *F16, "--out", "f32",
                  "-m", "200", "-n", "136", "-k", "192", shape="96")
    return None if b"k is no multiple of" in out else str(out)


def grouped_is_right():
    n, k, offsets = 136, 192, (0, 70, 70, 200)
    a, b = a_of(200 * k), b_of(3 * n * k)
    want = []
    for g in range(3):
        for i in range(offsets[g], offsets[g + 1]):
            for j in range(n):
                at = (g * n + j) * k
                want.append(product(a[i * k:i * k + k], b[at:at + k], k))
    for target in ("gfx950", "gfx942"):
        out = program("08_launch_grouped", target, "grouped", *F16, "--out",
                      "f32", "--groups", "3")
        wrong = difference(out, "f", want)
        if wrong:
            return "%s: %s" % (target, wrong)
    return None


def moe_is_right():
    rows, n, k = 40, 64, 128
    a, b = a_of(rows * k), b_of(3 * n * k)
    want = []
    for i in range(rows):
        expert, weight = (i // 2 + i % 2) % 3, i % 4 + 1
        for j in range(n):
            at = (expert * n + j) * k
            want.append(weight * product(a[i * k:i * k + k], b[at:at + k], k))
    for target in ("gfx950", "gfx942"):
        out = program("09_launch_moe", target, "moe", *F16, "--out", "f16",
                      "--stage", "gemm2", "--block-m", "16", "--experts", "3",
                      "--topk", "2", "--tokens", "20", "--hidden", "64",
                      "--inter", "128")
        wrong = difference(out, "e", [round_f16(x) for x in want])
        if wrong:
            return "%s: %s" % (target, wrong)
    return None


def round_f16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def flags_that_say_nothing_are_refused():
    for words in (["--emit", "asm"], ["--emit", "tir"]):
        out, status = tap.run(KILNC, "generate", "gemm", "--arch", "gfx950",
                              *words, "--header", "x.h", cwd=SCRATCH)
        if status != 2 or "--header" not in out:
            return "exit %d: %s" % (status, out)
    return "x.h is there" if os.path.exists(SCRATCH + "/x.h") else None


CASES = [
    a_gemm_is_right,
    a_divided_gemm_is_right,
    a_persistent_gemm_is_right,
    a_shape_outside_the_domain_is_refused,
    grouped_is_right,
    moe_is_right,
    flags_that_say_nothing_are_refused,
]

if __name__ == "__main__":
    failed = tap.main(CASES)
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
