"""Every example, built by the build, run as its comment says.

usage: examples.py SOURCE BUILD
"""
import glob
import hashlib
import json
import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
EXAMPLES = os.path.join(BUILD, "examples")
SCRATCH = tempfile.mkdtemp(prefix="kiln-examples-")
KILNC = os.path.join(BUILD, "kilnc")
SHIM = os.path.join(BUILD, "libkilnhip.so.0")
ENV = dict(os.environ, KILNC_CACHE_DIR=os.path.join(SCRATCH, "cache"))
LIST = """family,m,n,k,a,b_layout
gemm,300,512,256,bf16,
gemm,4000,4096,512,bf16,
gemm,300,512,256,mxfp6,preshuffled
"""


def path(*name):
    return os.path.join(SCRATCH, *name)


def example(name):
    program = os.path.join(EXAMPLES, name)
    if not os.path.exists(program):
        raise tap.Skip("%s was not built" % name)
    return program


def expect(out, *texts):
    missing = [t for t in texts if t not in out]
    return "no %r in\n%s" % (missing[0], out) if missing else None


def example_01_compiles_and_runs_a_gemm():
    # sums over k of a (2 where k = 0 mod 3, rows of 64) times b
    out = tap.must(example("01_gemm"), env=ENV)
    a = [2 if i % 3 == 0 else 1 for i in range(96 * 64)]
    b = [-1 if i % 5 == 0 else 1 for i in range(128 * 64)]
    first = sum(a[k] * b[k] for k in range(64))
    last = sum(a[95 * 64 + k] * b[127 * 64 + k] for k in range(64))
    return expect(out, "C[0][0] = %d, C[95][127] = %d\n" % (first, last))


def example_01_has_at_most_40_lines():
    with open(os.path.join(SOURCE, "examples", "01_gemm.c"),
              encoding="utf-8") as f:
        n = len(f.readlines())
    return None if n <= 40 else "%d lines" % n


def example_01_on_hip():
    env = dict(ENV, KILNC_HIP_LIBRARY=SHIM)
    return expect(tap.must(example("01_gemm"), "hip:0", env=env), "C[0][0] = ")


def example_01_without_a_gpu_says_so():
    env = dict(ENV, KILNC_HIP_LIBRARY=path("none", "libamdhip64.so"))
    out, status = tap.run(example("01_gemm"), "hip:0", env=env)
    return expect(out, "no AMD GPU") if status == 1 else "exit %d" % status


def example_02_multiplies_by_experts():
    return expect(tap.must(example("02_grouped"), env=ENV),
                  "4 experts, 132 rows, 0 wrong")


def pack(name, *more, env=ENV):
    with open(path("list.csv"), "w", encoding="ascii") as f:
        f.write(LIST)
    return tap.must(KILNC, "pack", path("list.csv"), "-o", path(name), *more,
                    env=env)


def example_03_needs_no_compiler():
    pack("lib.kpk", "--arch", "gfx942,gfx950")
    env = dict(ENV, KILNC_RUN_ONLY="1")
    out = tap.must(example("03_bundle"), path("lib.kpk"), env=env)
    return expect(out, "kiln_gemm_nt_bf16_bf16_bf16_", "LLVM loaded: no")


def example_03_refuses_a_damaged_bundle():
    pack("lib.kpk")
    with open(path("lib.kpk"), "r+b") as f:
        f.seek(200)
        f.write(b"\xff")
    out, status = tap.run(example("03_bundle"), path("lib.kpk"), env=ENV)
    return expect(out, "damaged") if status == 1 else "exit %d" % status


def pack_says_what_it_left_out():
    out = pack("lib.kpk", "--arch", "gfx942,gfx950")
    return expect(out, "left out: row 3 for gfx942: preshuffled 6-bit codes",
                  "5 kernels for 6 rows")


def pack_is_checked():
    """Every kernel of a bundle; a patched byte is found by its digest."""
    pack("lib.kpk", "--arch", "gfx942,gfx950")
    out = tap.must(KILNC, "check", path("lib.kpk"), env=ENV)
    wrong = expect(out, "bundle    5 kernels, digests",
                   "5 with a certificate")
    if wrong or out.count("clean") != 5:
        return wrong or out
    with open(path("lib.kpk"), "r+b") as f:
        f.seek(-200, os.SEEK_END)
        f.write(b"\xff")
    out, status = tap.run(KILNC, "check", path("lib.kpk"), env=ENV)
    return expect(out, "damaged") if status == 2 else "exit %d" % status


def without_waits(path_of_bundle):
    """s_waitcnt of every kernel becomes s_nop, and all digests agree again."""
    with open(path_of_bundle, "rb") as f:
        b = bytearray(f.read())
    head, size, n, _, manifest, length = struct.unpack_from("<4I2Q", b, 8)
    for e in range(head, head + n * size, size):
        at, code = struct.unpack_from("<2Q", b, e + 16)
        for w in range(at, at + code - 3, 4):
            if b[w + 2:w + 4] == b"\x8c\xbf":
                b[w:w + 4] = b"\0\0\x80\xbf"
        b[e + 32:e + 64] = hashlib.sha256(b[at:at + code]).digest()
    b[head - 32:head] = hashlib.sha256(b[head:manifest + length]).digest()
    with open(path_of_bundle, "wb") as f:
        f.write(b)


def pack_carries_certificates():
    """What they claim is replayed: no wait goes missing unseen, in a bundle
    or in an entry of the cache that is packed again."""
    cold = dict(ENV, KILNC_CACHE_DIR=path("signed"))
    pack("lib.kpk", "--arch", "gfx950", env=cold)
    without_waits(path("lib.kpk"))
    out, status = tap.run(KILNC, "check", path("lib.kpk"), env=ENV)
    if status != 1 or out.count("FINDING") != 3:
        return "exit %d\n%s" % (status, out)
    certificates = sorted(glob.glob(path("signed", "*.cert")))
    os.remove(certificates[0])
    with open(certificates[1], "r+", encoding="ascii") as f:
        text = f.read().replace('"wait": ', '"wait": 9', 1)
        f.seek(0)
        f.write(text)
    out = pack("lib.kpk", "--arch", "gfx950", env=cold)
    return expect(out, "2 generated, 1 from the cache")


def pack_is_resumed_and_deterministic():
    cold = dict(ENV, KILNC_CACHE_DIR=path("cold"))
    first = pack("one.kpk", "--arch", "gfx950,gfx942", env=cold)
    second = pack("two.kpk", "--arch", "gfx942,gfx950", env=cold)
    with open(path("one.kpk"), "rb") as a, open(path("two.kpk"), "rb") as b:
        if a.read() != b.read():
            return "other bytes"
    return expect(first, "5 generated, 0 from the cache") or \
        expect(second, "0 generated, 5 from the cache")


def pack_shows_and_gives_back_its_kernels():
    """--list, info, --extract: the bytes that `generate` writes."""
    pack("lib.kpk", "--arch", "gfx950")
    out = tap.must(KILNC, "pack", "--list", path("lib.kpk"), "--json",
                   path("list.json"), env=ENV)
    with open(path("list.json"), encoding="ascii") as f:
        kernels = json.load(f)["kernels"]
    if tap.must(KILNC, "info", path("lib.kpk"), env=ENV) != out or \
            len(kernels) != 3 or not all(k["certificate"] for k in kernels):
        return out
    names = [k["name"] for k in kernels]
    for k in kernels:
        name = k["key"][:12] if names.count(k["name"]) > 1 else k["name"]
        tap.must(KILNC, "pack", "--extract", name, path("lib.kpk"), "-o",
                 path("x.co"), env=ENV)
        wrong = expect(tap.must(KILNC, "check", path("x.co"), env=ENV),
                       "clean") or \
            expect(tap.must(KILNC, "info", path("x.co"), env=ENV), k["name"])
        if wrong or os.path.getsize(path("x.co")) != k["bytes"]:
            return wrong or "%s: other bytes" % name
    with open(path("lib.kpk"), "rb") as f, open(path("x.co"), "rb") as g:
        if g.read() not in f.read():
            return "bytes that are not the bundle's"
    return refused_of_bundle()


def refused_of_bundle():
    for words, text in ((["--extract", "nothing"], "no kernel of the bundle"),
                        (["--list", "--extract", "x"], "two questions")):
        out, status = tap.run(KILNC, "pack", *words, path("lib.kpk"), "-o",
                              path("none.co"), env=ENV)
        if status != 2 or text not in out or os.path.exists(path("none.co")):
            return "%s: exit %d\n%s" % (words, status, out)
    out, status = tap.run(KILNC, "pack", "--list", KILNC, env=ENV)
    return expect(out, "is no kernel bundle") if status == 2 else \
        "exit %d" % status


def pack_refuses_a_bad_list():
    with open(path("bad.csv"), "w", encoding="ascii") as f:
        f.write("family,m,n,k,a\ngemm,1,2,3,banana\n")
    out, status = tap.run(KILNC, "pack", path("bad.csv"), "-o", path("x.kpk"),
                          env=ENV)
    if status != 2 or os.path.exists(path("x.kpk")):
        return "exit %d\n%s" % (status, out)
    out, status = tap.run(KILNC, "pack", path("list.csv"), "-o",
                          path("x.kpk"), "--arch", "gfx90a", env=ENV)
    return expect(out, "'gfx90a'") if status == 2 else "exit %d" % status


def example_04_a_kernel_in_tile_ir():
    """Proven, compiled, executed; a missing barrier is refused."""
    source = os.path.join(SOURCE, "examples", "04_mine.tir")
    m, n, k = 128, 128, 256
    one, two = b"\x80\x3f", b"\x00\x40"
    with open(path("a.bin"), "wb") as f:
        f.write(b"".join(two if i % 3 == 0 else one for i in range(m * k)))
    with open(path("b.bin"), "wb") as f:
        f.write(b"".join(two if i % 5 == 0 else one for i in range(n * k)))
    tap.must(KILNC, "generate", source, "-o", path("mine.co"), env=ENV)
    wrong = expect(tap.must(KILNC, "check", path("mine.co"), env=ENV), "clean")
    for kernel in (source, path("mine.co")):
        numbers = [m, n, k, 2 * k, 2 * k, 2 * n]
        args = ["in:" + path("a.bin"), "in:" + path("b.bin"),
                "out:%s:%d" % (path("c.bin"), m * n * 2)]
        args += ["i32:%d" % x for x in numbers]
        tap.must(KILNC, "exec", kernel, "--grid", "4", "--block", "256",
                 *[w for a in args for w in ("--arg", a)], env=ENV)
        with open(path("c.bin"), "rb") as f:
            c = f.read()
        want = sum((2 if i % 3 == 0 else 1) * (2 if i % 5 == 0 else 1)
                   for i in range(k))
        got = struct.unpack("<I", b"\0\0" + c[:2])[0]
        got = struct.unpack("<f", struct.pack("<I", got))[0]
        if abs(got - want) > 2:
            return "C[0][0] is %g, not %d" % (got, want)
        os.remove(path("c.bin"))
    with open(source, encoding="ascii") as f:
        text = f.read()
    with open(path("raced.tir"), "w", encoding="ascii") as f:
        f.write(text.replace("    barrier\n", "", 1))
    out, status = tap.run(KILNC, "generate", path("raced.tir"), "-o",
                          path("raced.co"), env=ENV)
    if status != 1 or os.path.exists(path("raced.co")):
        return "exit %d\n%s" % (status, out)
    return wrong or expect(out, "raced.tir:")


def example_05_runs_in_python():
    env = dict(ENV, KILN_LIBRARY=os.path.join(BUILD, "libkiln.so.0"),
               PYTHONPATH=os.path.join(SOURCE, "runtime", "python"),
               PYTHONDONTWRITEBYTECODE="1")
    out, status = tap.run(sys.executable,
                          os.path.join(SOURCE, "examples", "05_python.py"),
                          env=env)
    if "No module named 'numpy'" in out:
        raise tap.Skip("numpy is not installed")
    if status:
        return out
    return expect(out, "largest difference: 0.0", "kiln_gemm_nt_f16_f16_f32_",
                  "refused: bf16 cannot be multiplied by f16")


CLOSED = """
import gc, kiln
def refused(call):
    try:
        call()
    except kiln.Error as e:
        assert e.status == 2, e
        return
    raise SystemExit("%r was not refused" % call)
x = kiln.Context()
d = x.device("sim:gfx950")
b = kiln.Buffer(d, 64)
p = kiln.Problem(family="gemm", target="gfx950", a="bf16", b="bf16", out="f32",
                 m=8, n=8, k=8)
k = x.compile(p)
k.close()
refused(lambda: k.info)
refused(lambda: k.code)
refused(lambda: k.plan(p))
b.free()
b.free()
x.close()                      # before its device
x.close()
refused(lambda: d.info)
refused(lambda: d.sync())
refused(lambda: d.run(p))
refused(lambda: kiln.Buffer(d, 64))
refused(b.free)
refused(lambda: x.compile(p))
refused(lambda: x.add_bundle("x"))
refused(lambda: x.device("sim:gfx950"))
d.close()
del x, d, b, k
gc.collect()
print("all refused")
"""


def closed_python_handles_are_refused():
    env = dict(ENV, KILN_LIBRARY=os.path.join(BUILD, "libkiln.so.0"),
               PYTHONPATH=os.path.join(SOURCE, "runtime", "python"),
               PYTHONDONTWRITEBYTECODE="1")
    out, status = tap.run(sys.executable, "-c", CLOSED, env=env)
    return expect(out, "all refused") if not status else \
        "exit %d\n%s" % (status, out)


def example_06_runs_unmodified():
    program = example("06_hip")
    clang = shutil.which("clang-22")
    if not clang:
        raise tap.Skip("clang-22 is not installed")
    for target in ("gfx942", "gfx950"):
        tap.must(clang, "-target", "amdgcn-amd-amdhsa", "-mcpu=" + target,
                 "-nogpulib", "-O2", "-x", "cl", "-o", path("saxpy.co"),
                 os.path.join(SOURCE, "examples", "06_saxpy.cl"))
        out = tap.must(program, path("saxpy.co"),
                       env=dict(ENV, LD_PRELOAD=SHIM,
                                KILNC_SHIM_TARGET=target))
        wrong = expect(out, "kiln simulator (%s)" % target,
                       "saxpy of 10000: 0 wrong")
        if wrong:
            return wrong
    return None


def example_06_under_hips_own_names():
    """Without LD_PRELOAD: the folder of links that is installed."""
    program = example("06_hip")
    if not os.path.exists(path("saxpy.co")):
        raise tap.Skip("the kernel was not built")
    os.makedirs(path("kiln-hip"), exist_ok=True)
    for n in "567":
        link = path("kiln-hip/libamdhip64.so." + n)
        if not os.path.lexists(link):
            os.symlink(SHIM, link)
    out = tap.must(program, path("saxpy.co"),
                   env=dict(ENV, LD_LIBRARY_PATH=path("kiln-hip")))
    return expect(out, "saxpy of 10000: 0 wrong")


def shim_reports_a_finding():
    """The same program with a kernel that writes out of bounds."""
    program = example("06_hip")
    clang = shutil.which("clang-22")
    if not clang:
        raise tap.Skip("clang-22 is not installed")
    with open(os.path.join(SOURCE, "examples", "06_saxpy.cl"),
              encoding="utf-8") as f:
        text = f.read().replace("i < n", "i < n + 100")
    with open(path("bad.cl"), "w", encoding="utf-8") as f:
        f.write(text)
    tap.must(clang, "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx950",
             "-nogpulib", "-O2", "-x", "cl", "-o", path("bad.co"),
             path("bad.cl"))
    out, status = tap.run(program, path("bad.co"),
                          env=dict(ENV, LD_PRELOAD=SHIM))
    if status != 1:
        return "exit %d\n%s" % (status, out)
    return expect(out, "kilnhip: saxpy: no line: at 0x", "hipErrorLaunchFailure")


def triple_chevrons_run():
    """kernel<<<grid, block>>>(...): a fat binary, registered by clang."""
    clang = shutil.which("clang++-22")
    if not clang:
        raise tap.Skip("clang++-22 is not installed")
    tools = os.path.join(SOURCE, "tests", "runtime", "tools")
    env = dict(ENV, PATH=tools + ":" + ENV["PATH"])
    tap.must(clang, "-x", "hip", "--offload-arch=gfx942",
             "--offload-arch=gfx950", "-nogpulib", "-nogpuinc", "-O1",
             os.path.join(SOURCE, "tests", "runtime", "chevron.hip"),
             "--hip-link", "-no-hip-rt", "-L" + BUILD, "-lkilnhip",
             "-o", path("chevron"), env=env)
    for target in ("gfx942", "gfx950"):
        out = tap.must(path("chevron"),
                       env=dict(ENV, LD_LIBRARY_PATH=BUILD,
                                KILNC_SHIM_TARGET=target))
        if out != "1000 sums, 0 wrong\n":
            return out
    return None


CASES = [
    example_01_compiles_and_runs_a_gemm,
    example_01_has_at_most_40_lines,
    example_01_on_hip,
    example_01_without_a_gpu_says_so,
    example_02_multiplies_by_experts,
    example_03_needs_no_compiler,
    example_03_refuses_a_damaged_bundle,
    pack_says_what_it_left_out,
    pack_is_checked,
    pack_carries_certificates,
    pack_is_resumed_and_deterministic,
    pack_shows_and_gives_back_its_kernels,
    pack_refuses_a_bad_list,
    example_04_a_kernel_in_tile_ir,
    example_05_runs_in_python,
    closed_python_handles_are_refused,
    example_06_runs_unmodified,
    example_06_under_hips_own_names,
    shim_reports_a_finding,
    triple_chevrons_run,
]

if __name__ == "__main__":
    failed = tap.main(CASES)
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
