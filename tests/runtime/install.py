"""meson install, and programs outside the tree that use the result.

usage: install.py SOURCE BUILD
"""
import os
import shutil
import sys
import tempfile

import tap

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
SCRATCH = tempfile.mkdtemp(prefix="kiln-install-")
ROOT = os.path.join(SCRATCH, "root")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow",
          "-Wconversion"]
C_PROGRAM = """#include <kiln.h>
#include <stdio.h>
int main(void)
{
    kiln_problem p = { .size = sizeof p, .target = KILN_GFX950, .m = 64,
                       .n = 64, .k = 64 };
    kiln_kernel *kernel;
    kiln_context *context;
    kiln_error e;

    if (kiln_open(NULL, &context, &e) ||
        kiln_compile(context, &p, NULL, &kernel, &e))
        return fprintf(stderr, "%s\\n", e.text), 1;
    puts("compiled");
    kiln_release(kernel);
    kiln_close(context);
    return 0;
}
"""
CXX_PROGRAM = """#include <kiln.hpp>
#include <iostream>
int main()
{
    kiln::context context;
    kiln::device gpu(context, "sim:gfx950");
    auto p = kiln::make<kiln_problem>();
    auto args = kiln::make<kiln_arguments>();

    p.target = gpu.info().target;
    p.a = KILN_F16;
    p.out = KILN_F32;
    p.m = p.n = p.k = 32;
    std::vector<uint16_t> ones(32 * 32, 0x3c00);
    auto a = gpu.upload(ones), b = gpu.upload(ones);
    auto c = gpu.alloc<float>(32 * 32);
    args.a = a.get();
    args.b = b.get();
    args.c = c.get();
    gpu.run(p, args);
    auto kernel = context.compile(p);
    gpu.load(kernel).launch(kernel.plan(p), args);
    gpu.sync();
    for (float x : c.download())
        if (x != 32)
            return 1;
    try {
        p.b = KILN_BF16;
        context.compile(p);
    } catch (const kiln::error &e) {
        std::cout << e.status << " " << e.what() << "\\n";
        return 0;
    }
    return 2;
}
"""


def path(name):
    return os.path.join(SCRATCH, name)


def find(name):
    for base, _, names in os.walk(ROOT):
        if name in names:
            return os.path.join(base, name)
    raise AssertionError("%s was not installed" % name)


def environment():
    return dict(os.environ, KILNC_CACHE_DIR=path("cache"),
                LD_LIBRARY_PATH=os.path.dirname(find("libkiln.so.0")),
                PKG_CONFIG_PATH=os.path.dirname(find("kiln.pc")),
                PKG_CONFIG_SYSROOT_DIR=ROOT)


def flags(*what):
    return tap.must("pkg-config", *what, "kiln", env=environment()).split()


def compilers(names):
    return [c for c in names if shutil.which(c)]


def write(name, text):
    with open(path(name), "w", encoding="ascii") as f:
        f.write(text)
    return path(name)


def build_and_run(compiler, source, *more):
    program = path("program-" + os.path.basename(compiler))
    tap.must(compiler, *STRICT, *more, *flags("--cflags"), source,
             *flags("--libs"), "-o", program)
    return tap.must(program, env=environment())


def everything_is_installed():
    tap.must("meson", "install", "-C", BUILD, "--destdir", ROOT,
             "--no-rebuild", "--quiet")
    for name in ("kiln.h", "kiln.hpp", "kiln.py", "kiln.pc", "kilnc",
                 "libkiln.so", "libkiln.so.0", "libkiln-cg.so.0",
                 "libkiln-sim.so.0", "libkilnhip.so", "libkilnhip.so.0",
                 "libamdhip64.so.6"):
        find(name)
    for base, _, names in os.walk(ROOT):
        for name in names:
            if name.endswith((".a", ".o", ".def")):
                return "%s/%s is nobody's" % (base, name)
    return None


def a_c_program_builds_and_runs():
    source = write("program.c", C_PROGRAM)
    for compiler in compilers(["gcc", "clang-22"]):
        if build_and_run(compiler, source, "-std=c17") != "compiled\n":
            return compiler
    return None


def a_cxx_program_builds_and_runs():
    source = write("program.cc", CXX_PROGRAM)
    hello = write("hello.cc", "#include <string>\nint main() {}\n")
    usable = [c for c in compilers(["g++", "clang++-22"])
              if not tap.run(c, hello, "-o", path("hello"))[1]]
    if not usable:
        raise tap.Skip("no C++ compiler with a library")
    for compiler in usable:
        out = build_and_run(compiler, source, "-std=c++17")
        if not out.startswith("3 f16 cannot be multiplied by bf16"):
            return out
    return None


def the_header_is_clean_alone():
    c = write("header.c", "#include <kiln.h>\nint unused;\n")
    cc = write("header.cc", "#include <kiln.h>\nint unused;\n")
    for compiler in compilers(["gcc", "clang-22"]):
        tap.must(compiler, *STRICT, *flags("--cflags"), "-std=c17",
                 "-fsyntax-only", c)
    for compiler in compilers(["g++", "clang++-22"]):
        for std in ("c++11", "c++20"):
            tap.must(compiler, *STRICT, *flags("--cflags"), "-std=" + std,
                     "-fsyntax-only", cc)
    return None


def the_installed_tool_runs():
    out = tap.must(find("kilnc"), "list", env=environment())
    return None if "gemm" in out else out


def python_finds_the_installed_library():
    env = dict(environment(), PYTHONPATH=os.path.dirname(find("kiln.py")),
               PYTHONDONTWRITEBYTECODE="1")
    env.pop("KILN_LIBRARY", None)
    out = tap.must(sys.executable, "-c", "import kiln; print(kiln.open("
                   "'sim:gfx942').info.cus)", env=env)
    return None if out == "304\n" else out


def the_loader_finds_nothing_to_write():
    for name in ("kilnc", "libkiln.so.0", "libkiln-cg.so.0",
                 "libkiln-sim.so.0", "libkilnhip.so.0"):
        out = tap.must("readelf", "-dlW", find(name))
        stack = [s for s in out.splitlines() if "GNU_STACK" in s]
        if "BIND_NOW" not in out or "GNU_RELRO" not in out or \
                "RWE" in stack[0]:
            return "%s\n%s" % (name, out)
        if ("RUNPATH" in out or "RPATH" in out) and "[libLLVM" not in out:
            return "%s has a path nobody needs\n%s" % (name, out)
    return None


CASES = [
    everything_is_installed,
    a_c_program_builds_and_runs,
    a_cxx_program_builds_and_runs,
    the_header_is_clean_alone,
    the_installed_tool_runs,
    the_loader_finds_nothing_to_write,
    python_finds_the_installed_library,
]

if __name__ == "__main__":
    failed = tap.main(CASES)
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
