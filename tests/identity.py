"""Two builds in two folders generate the same bytes.

usage: identity.py SOURCE KILNC SCRATCH

Builds the source a second time, from a copy at another path into another
folder, and compares what both tools generate, the second one with another
working directory and environment. Speaks TAP.
"""
import os
import shutil
import subprocess
import sys

CASES = [
    "--a bf16 --b bf16 --out bf16 --arch gfx950",
    "--a mxfp8 --b mxfp4 --out f32 --arch gfx950",
    "--a fp8 --b fp8 --out f16 --arch gfx942 --layout tn",
    "--a i8 --b i8 --out i32 --arch gfx942",
]
FORMS = ["co", "asm", "llvm", "tir"]
FOLDERS = ["ir", "emit", "runtime", "templates", "gen", "examples"]


def build_copy(source, scratch):
    copy = os.path.join(scratch, "a longer path", "kiln")
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(copy)
    for name in FOLDERS:
        shutil.copytree(os.path.join(source, name), os.path.join(copy, name))
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy(os.path.join(source, name), copy)
    out = os.path.join(copy, "out")
    for command in (["meson", "setup", out, copy, "-Dtests=false"],
                    ["ninja", "-C", out, "kilnc"]):
        run = subprocess.run(command, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if run.returncode:
            sys.exit("Bail out! %s: %s" % (command[0], run.stdout[-2000:]))
    return os.path.join(out, "kilnc")


def generate(kilnc, case, form, cwd, env):
    run = subprocess.run(
        [kilnc, "generate", "gemm", *case.split(), "--emit", form, "-o", "-"],
        cwd=cwd, env=dict(os.environ, **env), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    return run.returncode, run.stdout, run.stderr.decode()


def compare(first, second, scratch, case, form):
    a = generate(first, case, form, "/", {"LANG": "C"})
    b = generate(second, case, form, scratch,
                 {"LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "X": "y" * 5000})
    if a[0] or b[0]:
        return "exit %d and %d: %s" % (a[0], b[0], " ".join(a[2].split()))
    if not a[1]:
        return "no output"
    return "" if a[1] == b[1] else "the bytes differ"


def main(source, kilnc, scratch):
    other = build_copy(source, scratch)
    if os.path.samefile(other, kilnc):
        sys.exit("Bail out! compared with itself")
    failed = 0
    print("1..%d" % (len(CASES) * len(FORMS) + 1))
    number = 0
    outputs = set()
    for case in CASES:
        for form in FORMS:
            number += 1
            complaint = compare(kilnc, other, scratch, case, form)
            failed += bool(complaint)
            print("%s %d - %s %s" % ("not ok" if complaint else "ok", number,
                                     form, case))
            if complaint:
                print("# " + complaint)
        outputs.add(generate(kilnc, case, "co", "/", {})[1])
    number += 1
    differ = len(outputs) == len(CASES)
    print("%s %d - different problems give different bytes"
          % ("ok" if differ else "not ok", number))
    shutil.rmtree(scratch, ignore_errors=True)
    return bool(failed) or not differ


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
