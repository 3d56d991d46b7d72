"""HIP programs as they are, compiled by kiln-hipcc, run on the simulator: what
is right gives its answers, what is wrong its findings with the source line.
docs/hip.md is replayed by tests/docs.

usage: hip.py SOURCE BUILD
"""
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
HERE = os.path.join(SOURCE, "tests", "runtime", "hip")
SCRATCH = tempfile.mkdtemp(prefix="kiln-hip-")
PLAIN = {k: v for k, v in os.environ.items() if not k.startswith("KILNC_")}
# Debian's clang package lacks a program that its driver calls.
TOOLS = os.path.join(SOURCE, "tests", "runtime", "tools")
RIGHT = 21      # answers of right.hip
KINDS = {"race": "LDS race: read after write",
         "bounds": "access outside any buffer",
         "uninitialised": "uninitialised memory read",
         "wait": "use before wait"}


def path(*name):
    return os.path.join(SCRATCH, *name)


def hipcc(*words, **env):
    clang = shutil.which("clang++-22")
    rocm = env.get("ROCM_PATH") or "/usr"
    if not clang or not os.path.exists(rocm + "/include/hip/hip_runtime.h"):
        raise tap.Skip("clang-22 or HIP's headers are not installed")
    tools = "" if bundler() else TOOLS + ":"
    return tap.must(os.path.join(BUILD, "kiln-hipcc"), "-g", "-O2", *words,
                    env=dict(PLAIN, PATH=tools + PLAIN["PATH"], **env),
                    cwd=SCRATCH)


def bundler():
    """clang's own; the one of TOOLS makes no objects that link again."""
    real = os.path.realpath(shutil.which("clang++-22") or "")
    return os.path.exists(os.path.dirname(real) + "/clang-offload-bundler") or \
        shutil.which("clang-offload-bundler")


@functools.lru_cache(maxsize=None)
def program(name, *words):
    out = path(name.split(".")[0])
    hipcc(os.path.join(HERE, name), "-o", out, *words)
    return out


def launch(*words, **env):
    done = subprocess.run(words, env=dict(PLAIN, **env), text=True,
                          check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd=SCRATCH)
    return done.returncode, done.stdout, done.stderr


def programs_give_their_answers():
    """Every part of right.hip, on both targets, by one binary."""
    right = program("right.hip", "--offload-arch=gfx942",
                    "--offload-arch=gfx950")
    for target in ("gfx942", "gfx950"):
        status, out, err = launch(right, KILNC_SHIM_TARGET=target)
        lines = out.splitlines()
        if status or err.count("no image instructions") != 1 or lines[0] != \
                target + ":sramecc+:xnack-, warp of 64":
            return "exit %d\n%s%s" % (status, out, err)
        said = [s for s in lines if s.startswith("ok ")]
        if len(said) != RIGHT or "thread 1 of device,  2.50, 123456789abc" != \
                lines[-1]:
            return out
    return None


def without_optimisation_functions_are_called():
    """-O0: a stack, saved registers, generic pointers into LDS and scratch."""
    hipcc(os.path.join(HERE, "right.hip"), "-O0", "-o", path("slow"))
    status, out, err = launch(path("slow"))
    return None if status == 0 and out.count("ok ") == RIGHT else out + err


def no_device_library_is_needed():
    """HIP's headers alone: the basic functions are kiln's."""
    os.makedirs(path("rocm"))
    for part in ("include", "share"):    # share has HIP's version
        os.symlink("/usr/" + part, path("rocm", part))
    hipcc(os.path.join(HERE, "right.hip"), "-o", path("bare"),
          ROCM_PATH=path("rocm"))
    status, out, err = launch(path("bare"))
    return None if status == 0 and out.count("ok ") == RIGHT else out + err


def objects_are_made_and_linked():
    """As a makefile does it; a folder's name may end like a source's."""
    os.makedirs(path("all.cpp"))
    for words in (["-c", os.path.join(HERE, "right.hip"), "-I", "all.cpp",
                   "-MD", "-MF", "right.d", "-MT", "right.o", "-o", "right.o"],
                  ["right.o", "-o", "linked"]):
        hipcc(*words)
    status, out, err = launch(path("linked"))
    with open(path("right.d"), encoding="ascii") as f:
        if not f.read().startswith("right.o:"):
            return "right.d has another target"
    return None if status == 0 and out.count("ok ") == RIGHT else out + err


def device_code_is_linked_across_files():
    """-fgpu-rdc: kernels of two files, a function of the other one."""
    parts = os.path.join(HERE, "parts.hip")
    if not bundler():
        raise tap.Skip("clang-tools-22 is not installed")
    hipcc("-fgpu-rdc", "-DFIRST", "-c", parts, "-o", "first.o")
    hipcc("-fgpu-rdc", "-c", parts, "-o", "second.o")
    hipcc("-fgpu-rdc", "first.o", "second.o", "-o", path("parts"))
    status, out, err = launch(path("parts"))
    return None if (status, out, err) == (0, "25 7\n", "") else out + err


def line_of(what):
    with open(os.path.join(HERE, "wrong.hip"), encoding="ascii") as f:
        for i, line in enumerate(f, 1):
            if "// LINE " + what in line:
                return i
    raise AssertionError("no line of " + what)


def findings_have_a_kind_a_line_and_a_status():
    """On the log, as JSON, as JUnit, as exit status."""
    wrong = program("wrong.hip", "--offload-arch=gfx942")
    for what, kind in KINDS.items():
        status, out, err = launch(wrong, what, KILNC_SHIM_JSON=path("x.json"),
                                  KILNC_SHIM_JUNIT=path("x.xml"))
        place = "wrong.hip:%d" % line_of(what)
        if status != 1 or out != "it ran\n" or place not in err:
            return "%s: exit %d\n%s%s" % (what, status, out, err)
        with open(path("x.json"), encoding="ascii") as f:
            report = json.load(f)
        found = report["kernels"][0]["findings"]
        if not any(x["kind"] == kind and x["source"].endswith(place)
                   for x in found) or report["target"] != "gfx942":
            return "%s: %s" % (what, report)
        suite = xml.etree.ElementTree.parse(path("x.xml")).getroot()[0]
        text = suite[0].find("failure").text
        if suite.get("failures") != "1" or place not in text or \
                kind not in text:
            return "%s: %s" % (what, text)
    return None


def the_status_and_the_failure_can_be_chosen():
    wrong = program("wrong.hip", "--offload-arch=gfx942")
    for words, env, want in (
            (["bounds"], {"KILNC_SHIM_EXIT": "0"}, 0),
            (["bounds"], {"KILNC_SHIM_EXIT": "7"}, 7),
            (["bounds", "fail"], {}, 5),
            (["bounds", "fail"], {"KILNC_SHIM_GO_ON": "1"}, 1)):
        status, out, err = launch(wrong, *words, **env)
        if status != want:
            return "%s %s: exit %d, not %d\n%s%s" % (words, env, status, want,
                                                     out, err)
    return None


def a_failed_launch_is_a_failed_program():
    """An assertion of a kernel that fails, and a program that asks nothing."""
    wrong = program("wrong.hip", "--offload-arch=gfx942")
    status, out, err = launch(wrong, "trap", KILNC_SHIM_JUNIT=path("x.xml"))
    suite = xml.etree.ElementTree.parse(path("x.xml")).getroot()[0]
    return None if (status, out) == (1, "it ran\n") and "trap" in err and \
        suite.get("failures") == "1" else "exit %d\n%s%s" % (status, out, err)


def workgroups_are_sampled_if_asked():
    hipcc(os.path.join(SOURCE, "examples", "10_sum.hip"), "-o", path("sum"))
    for sample, run in (("", 16), ("3", 3), ("99", 16)):
        env = {"KILNC_SHIM_SAMPLE": sample} if sample else {}
        status, _, err = launch(path("sum"), KILNC_SHIM_JSON=path("s.json"),
                                **env)
        with open(path("s.json"), encoding="ascii") as f:
            kernel = json.load(f)["kernels"][0]
        if kernel["workgroups"] != 16 or kernel["simulated_workgroups"] != run:
            return str(kernel)
        # the sum of a sample is another one, and it says so
        if (status, "only a sample" in err) != (int(run < 16), run < 16):
            return "sample %s: exit %d\n%s" % (sample, status, err)
    return None


def a_program_without_code_for_the_device_says_so():
    wrong = program("wrong.hip", "--offload-arch=gfx942")
    status, _, err = launch(wrong, "race", "fail", KILNC_SHIM_TARGET="gfx950")
    return None if status == 5 and "--offload-arch=gfx950" in err else \
        "exit %d\n%s" % (status, err)


def a_kernel_of_triton_is_launched():
    hipcc(os.path.join(HERE, "triton.cpp"), "-o", path("triton"))
    for target, lds in (("gfx942", 32768), ("gfx950", 32768)):
        co = os.path.join(SOURCE, "tests", "data", "triton",
                          target + "_bf16_nt_128x128x64.co")
        status, out, err = launch(path("triton"), co, "128", str(lds),
                                  KILNC_SHIM_TARGET=target)
        if (status, out, err) != (0, "0 of 28800 wrong\n", ""):
            return "%s: exit %d\n%s%s" % (target, status, out, err)
    return None


def properties_of_rocm_6_are_where_its_header_has_them():
    hipcc("-x", "c++", os.path.join(HERE, "properties.cpp"), "-o",
          path("properties"))
    for target, lds, minor, cus in (("gfx942", 65536, 4, 304),
                                    ("gfx950", 163840, 5, 256)):
        status, out, err = launch(path("properties"),
                                  KILNC_SHIM_TARGET=target)
        want = ["kiln simulator (%s)" % target, target + ":sramecc+:xnack-",
                "%d %d %d 65536 64" % (288 << 30, lds, lds),
                "1024 1024 1024 2147483647", "2400000 2000000 8192 4194304",
                "9.%d %d 2048" % (minor, cus), "1 1 1 1"]
        if status or out.splitlines() != want:
            return "exit %d\n%s%s" % (status, out, err)
    return None


def refusals_are_one_sentence():
    for words, env in ((["x.hip"], {"CXX": "no-such-compiler"}),
                       (["x.hip"], {"ROCM_PATH": path("none")}), ([], {})):
        done = subprocess.run([os.path.join(BUILD, "kiln-hipcc"), *words],
                              env=dict(PLAIN, **env), text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 2 or not done.stderr or \
                (words and done.stderr.count("\n") != 1):
            return "%s %s: exit %d\n%s" % (words, env, done.returncode,
                                           done.stderr)
    return None


CASES = [
    programs_give_their_answers,
    without_optimisation_functions_are_called,
    no_device_library_is_needed,
    objects_are_made_and_linked,
    device_code_is_linked_across_files,
    findings_have_a_kind_a_line_and_a_status,
    the_status_and_the_failure_can_be_chosen,
    a_failed_launch_is_a_failed_program,
    workgroups_are_sampled_if_asked,
    a_program_without_code_for_the_device_says_so,
    a_kernel_of_triton_is_launched,
    properties_of_rocm_6_are_where_its_header_has_them,
    refusals_are_one_sentence,
]

if __name__ == "__main__":
    failed = tap.main(CASES)
    shutil.rmtree(SCRATCH)
    sys.exit(failed)
