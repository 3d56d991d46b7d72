"""meson install, and programs outside the tree that use the result.

usage: install.py SOURCE BUILD

The scratch root stands in the system's own place while a program runs: in a
mount namespace of its own, its prefix over the system's and a loader's cache
that knows it. So nothing is told where kiln is.
"""
import json
import os
import shlex
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402
import completion  # noqa: E402

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


def find_in(folder, name):
    for base, _, names in os.walk(ROOT):
        if name in names and folder in base:
            return os.path.join(base, name)
    raise AssertionError("%s/%s was not installed" % (folder, name))


def find(name):
    for base, _, names in os.walk(ROOT):
        if name in names:
            return os.path.join(base, name)
    raise AssertionError("%s was not installed" % name)


def prefix():
    options = json.loads(tap.must("meson", "introspect", "--buildoptions",
                                  BUILD))
    return next(o["value"] for o in options if o["name"] == "prefix")


def namespace():
    """The words that give a command mounts of its own, or a Skip."""
    for words in (["unshare", "--mount"],
                  ["unshare", "--mount", "--map-root-user"]):
        if shutil.which("unshare") and not tap.run(
                *words, "mount", "--bind", SCRATCH, "/usr/local")[1]:
            return words
    raise tap.Skip("this system lets nobody mount in a namespace")


def installed(*command, allow=False, **more):
    """Output of a command for which the scratch root is installed."""
    where = prefix()
    if not os.path.isdir(where):
        raise tap.Skip("there is no %s to stand in" % where)
    script = """mount --bind %s %s && ldconfig -C %s &&
                mount --bind %s /etc/ld.so.cache && exec "$@"
             """ % tuple(shlex.quote(w) for w in (
                 ROOT + where, where, path("ld.so.cache"),
                 path("ld.so.cache")))
    env = {k: v for k, v in os.environ.items()
           if k not in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PYTHONPATH",
                        "KILN_LIBRARY", "CMAKE_PREFIX_PATH", "MANPATH")}
    env.update(KILNC_CACHE_DIR=path("cache"), PYTHONDONTWRITEBYTECODE="1",
               PATH="%s/bin:%s" % (where, env["PATH"]))
    out, status = tap.run(*namespace(), "sh", "-c", script, "sh", *command,
                          env=env, **more)
    if status and not allow:
        raise AssertionError("%s: exit %d\n%s" % (command[0], status, out))
    return out


def flags(*what):
    return installed("pkg-config", *what, "kiln").split()


def compilers(names):
    return [c for c in names if shutil.which(c)]


def write(name, text):
    with open(path(name), "w", encoding="ascii") as f:
        f.write(text)
    return path(name)


def build_and_run(compiler, source, *more):
    program = path("program-" + os.path.basename(compiler))
    installed(compiler, *STRICT, *more, *flags("--cflags"), source,
              *flags("--libs"), "-o", program)
    return installed(program)


def everything_is_installed():
    tap.must("meson", "install", "-C", BUILD, "--destdir", ROOT,
             "--no-rebuild", "--quiet")
    for name in ("kiln.h", "kiln.hpp", "kiln_launch.h", "kiln.pc", "kilnc",
                 "kilnc.1", "_kilnc",
                 "kiln-config.cmake", "kiln-config-version.cmake",
                 "libkiln.so", "libkiln.so.0", "libkiln-cg.so.0", "libkiln.a",
                 "libkiln-sim.so.0", "libkilnhip.so", "libkilnhip.so.0",
                 "libamdhip64.so.6", "kiln-hipcc", "kiln-hipcc.1",
                 "kiln_device.c"):
        find(name)
    for base, _, names in os.walk(ROOT):
        for name in names:
            if name.endswith((".a", ".o", ".def")) and name != "libkiln.a":
                return "%s/%s is nobody's" % (base, name)
    return None


def the_folder_is_one_the_loader_knows():
    """Meson's own choice on a Debian without dpkg-dev is lib64."""
    folder = os.path.dirname(find("libkiln.so.0"))
    return None if folder.endswith(("/lib", "-linux-gnu")) else folder


def sonames_have_the_major_version():
    for name in ("libkiln", "libkiln-cg", "libkiln-sim", "libkilnhip"):
        out = tap.must("readelf", "-dW", find(name + ".so"))
        if "soname: [%s.so.0]" % name not in out:
            return out
    return None


def a_c_program_builds_and_runs():
    source = write("program.c", C_PROGRAM)
    for compiler in compilers(["gcc", "clang-22"]):
        if build_and_run(compiler, source, "-std=c17") != "compiled\n":
            return compiler
    return None


def the_version_is_one():
    source = write("version.c", """#include <kiln.h>
#include <stdio.h>
#if KILN_VERSION < KILN_VERSION_NUMBER(0, 1, 0)
#error old
#endif
int main(void)
{
    printf("%d.%d.%d\\n", KILN_VERSION_MAJOR, KILN_VERSION_MINOR,
           KILN_VERSION_PATCH);
    return kiln_version() != KILN_VERSION;
}
""")
    said = {build_and_run("gcc", source, "-std=c17").strip(),
            installed("pkg-config", "--modversion", "kiln").strip(),
            installed("kilnc", "--version").split()[-1]}
    return None if len(said) == 1 else str(said)


def a_static_program_builds_and_runs():
    source = write("static.c", C_PROGRAM)
    program = path("program-static")
    words = flags("--static", "--libs")
    words[words.index("-lkiln")] = "-l:libkiln.a"
    installed("gcc", *STRICT, source, *flags("--cflags"), *words, "-o",
              program)
    if "libkiln." in tap.must("readelf", "-dW", program):
        return "it needs libkiln.so"
    return None if installed(program) == "compiled\n" else "it fails"


CMAKE = """cmake_minimum_required(VERSION 3.25)
project(stranger C)
find_package(kiln 0.1 REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared kiln::kiln)
add_executable(archive program.c)
target_link_libraries(archive kiln::static)
find_package(kiln 1.0 QUIET)
if(kiln_FOUND)
  message(FATAL_ERROR "0.x is not 1.0")
endif()
"""


def cmake_finds_the_package():
    if not shutil.which("cmake"):
        raise tap.Skip("cmake is not installed")
    os.makedirs(path("cmake"), exist_ok=True)
    write("cmake/program.c", C_PROGRAM)
    write("cmake/CMakeLists.txt", CMAKE)
    installed("sh", "-c", "cmake -S %s -B %s/b && cmake --build %s/b" %
              ((path("cmake"),) * 3))
    for name in ("shared", "archive"):
        if installed(path("cmake/b/" + name)) != "compiled\n":
            return name
    return None


def the_manual_pages_are_clean():
    if not shutil.which("man"):
        raise tap.Skip("man is not installed")
    for name in ("kilnc.1", "kiln-hipcc.1"):
        out = tap.must("sh", "-c", "man --warnings -E UTF-8 -l -Tutf8 -Z %s "
                       ">/dev/null" % find(name))
        if out:
            return out
    text = installed("man", "-P", "cat", "kilnc")
    lost = [f for f in ("--split-k", "KILNC_CACHE_DIR", "parity")
            if f not in text]
    return "no %s in the page" % lost if lost else None


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
        installed(compiler, *STRICT, *flags("--cflags"), "-std=c17",
                  "-fsyntax-only", c)
    for compiler in compilers(["g++", "clang++-22"]):
        for std in ("c++11", "c++20"):
            installed(compiler, *STRICT, *flags("--cflags"), "-std=" + std,
                      "-fsyntax-only", cc)
    return None


def the_installed_tool_runs():
    out = installed("kilnc", "list")
    return None if "gemm" in out else out


def python_finds_the_installed_library():
    script = "import kiln; print(kiln.open('sim:gfx942').info.cus)"
    out = installed("/usr/bin/python3", "-c", script)
    return None if out == "304\n" else out


def completion_offers_what_there_is():
    kilnc = find_in("/bin", "kilnc")
    return completion.bash(kilnc, find_in("bash-completion", "kilnc")) or \
        completion.zsh(kilnc, os.path.dirname(find("_kilnc")))


def the_loader_finds_nothing_to_write():
    for name in ("kilnc", "libkiln.so.0", "libkiln-cg.so.0",
                 "libkiln-sim.so.0", "libkilnhip.so.0"):
        out = tap.must("readelf", "-dlW", find_in(
            "/bin" if name == "kilnc" else "/lib", name))
        stack = [s for s in out.splitlines() if "GNU_STACK" in s]
        if "BIND_NOW" not in out or "GNU_RELRO" not in out or \
                "RWE" in stack[0]:
            return "%s\n%s" % (name, out)
        if ("RUNPATH" in out or "RPATH" in out) and "[libLLVM" not in out:
            return "%s has a path nobody needs\n%s" % (name, out)
    return None


CASES = [
    everything_is_installed,
    the_folder_is_one_the_loader_knows,
    sonames_have_the_major_version,
    a_c_program_builds_and_runs,
    a_cxx_program_builds_and_runs,
    the_version_is_one,
    a_static_program_builds_and_runs,
    cmake_finds_the_package,
    the_header_is_clean_alone,
    the_installed_tool_runs,
    the_manual_pages_are_clean,
    completion_offers_what_there_is,
    the_loader_finds_nothing_to_write,
    python_finds_the_installed_library,
]

if __name__ == "__main__":
    failed = tap.main(CASES)
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
