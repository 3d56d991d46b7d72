"""Code objects launched by strangers: programs of HIP that know k.h and nothing
else of kiln, on the simulator, all their output compared.

usage: launch.py SOURCE BUILD
"""
import json
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
    compile_hip(re.sub(r"\.k = K", ".k = " + shape, text) if shape else text)
    done = run_hip(target)
    if done.returncode and not shape:
        raise AssertionError("exit %d: %s %s" % (
            done.returncode, done.stdout[:200], done.stderr.decode()))
    return done.stdout


def compile_hip(text):
    with open(os.path.join(SCRATCH, "p.c"), "w", encoding="utf-8") as f:
        f.write(text)
    hello = "#include <hip/hip_runtime_api.h>\nint main(void) { return 0; }\n"
    compiler = shutil.which("clang-22") or "gcc"
    if tap.run(compiler, "-D__HIP_PLATFORM_AMD__", "-fsyntax-only", "-x", "c",
               "-", input=hello)[1]:
        raise tap.Skip("HIP's headers are not installed")
    tap.must(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror",
             "-D__HIP_PLATFORM_AMD__", "p.c", "-o", "p", "-lamdhip64",
             cwd=SCRATCH)


def run_hip(target, *words):
    return subprocess.run(["./p", *words], cwd=SCRATCH, check=False,
                          env=dict(os.environ, LD_PRELOAD=SHIM,
                                   KILNC_SHIM_TARGET=target),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


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


PACKED = r"""#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include "lib.c"
enum { M = 200, N = 136, K = 192 };
static _Float16 a[M * K], b[N * K];
static float c[M * N];
static const char *pick(const char *arch, const char *what, int64_t m)
{
    struct lib_shape s = { .m = m, .n = N, .k = K };
    struct lib_operands o = { 0 };
    struct lib_launch l;
    const char *no = lib_find(arch, what, &s, &o, &l);
    return no ? no : l.kernel;
}
int main(int argc, char **argv)
{
    struct lib_shape s = { .m = M, .n = N, .k = K };
    struct lib_operands o = { 0 };
    struct lib_launch l;
    hipModule_t module;
    hipFunction_t f;
    void *x, *y, *z;
    if (argc < 3)
        return 1;
    fprintf(stderr, "%s|%s|%s|%s\n", pick(argv[1], argv[2], 16),
            pick(argv[1], argv[2], 1 << 20), pick("gfx90a", argv[2], 16),
            pick(argv[1], "other", 16));
    for (int i = 0; i < M * K; i++)
        a[i] = (_Float16)(i * 7 % 5 - 2);
    for (int i = 0; i < N * K; i++)
        b[i] = (_Float16)(i * 3 % 7 - 3);
    if (hipMalloc(&x, sizeof a) || hipMalloc(&y, sizeof b) ||
        hipMalloc(&z, sizeof c) ||
        hipMemcpy(x, a, sizeof a, hipMemcpyHostToDevice) ||
        hipMemcpy(y, b, sizeof b, hipMemcpyHostToDevice))
        return 1;
    o.a = x, o.b = y, o.c = z;
    if (lib_find(argv[1], argv[2], &s, &o, &l))
        return 1;
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, l.args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &l.args_size,
                      HIP_LAUNCH_PARAM_END };
    if (hipModuleLoadData(&module, l.code) ||
        hipModuleGetFunction(&f, module, l.kernel) ||
        hipModuleLaunchKernel(f, l.grid, 1, 1, l.block, 1, 1, 0, NULL, NULL,
                              extra) ||
        hipMemcpy(c, z, sizeof c, hipMemcpyDeviceToHost))
        return 1;
    return fwrite(c, sizeof c, 1, stdout) != 1;
}
"""
LIST = """family,m,n,k,a,out
gemm,16,136,192,f16,f32
gemm,200,136,192,f16,f32
gemm,40000,4096,192,f16,f32
gemm,200,136,192,bf16,bf16
"""


def a_bundle_as_one_c_file_is_right():
    """Two targets, three kernels of one problem: picked by rows, launched."""
    with open(os.path.join(SCRATCH, "list.csv"), "w", encoding="ascii") as f:
        f.write(LIST)
    tap.must(KILNC, "pack", "list.csv", "-o", "l.kpk", "--arch",
             "gfx942,gfx950", "--c", "lib.c", cwd=SCRATCH,
             env=dict(os.environ, KILNC_CACHE_DIR=SCRATCH + "/cache"))
    tap.must(KILNC, "pack", "--list", "l.kpk", "--json", "l.json", cwd=SCRATCH)
    with open(os.path.join(SCRATCH, "l.json"), encoding="ascii") as f:
        kernels = json.load(f)["kernels"]
    compile_hip(PACKED)
    want = gemm_reference()
    for target in ("gfx950", "gfx942"):
        mine = [k for k in kernels if "target=" + target in k["problem"] and
                "a=f16" in k["problem"]]
        done = run_hip(target, target, mine[0]["problem"])
        small, large, other, none = done.stderr.decode().strip().split("|")
        names = {k["name"] for k in mine}
        if small == large or not {small, large} <= names or \
                not other.startswith("no kernel") or other != none:
            return "%s picks %s" % (target, done.stderr.decode())
        wrong = difference(done.stdout, "f", want)
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
    a_bundle_as_one_c_file_is_right,
    flags_that_say_nothing_are_refused,
]

if __name__ == "__main__":
    failed = tap.main(CASES)
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
