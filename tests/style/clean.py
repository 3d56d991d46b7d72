"""Every source is clean under gcc and clang with the flags of the build.

usage: clean.py BUILD SCRATCH COMPILER...

Reads BUILD/compile_commands.json; a compiler that is not installed is
skipped. Speaks TAP.
"""
import concurrent.futures
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys

DROP_WITH_VALUE = ("-o", "-MF", "-MQ", "-MT")
DROP = ("-c", "-MD", "-MMD")


def flags_of(command):
    # Before the first flag stand the compiler and, if any, its launcher.
    words = itertools.dropwhile(lambda w: not w.startswith("-"),
                                shlex.split(command))
    kept = []
    for word in words:
        if word in DROP_WITH_VALUE:
            next(words)
        elif word not in DROP:
            kept.append(word)
    return kept


def complaint(compiler, folder, flags):
    run = subprocess.run([compiler, *flags, "-fsyntax-only", "-Werror",
                          "-fdiagnostics-color=never"],
                         cwd=folder, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    return run.stdout if run.returncode else ""


def sources(build):
    with open(os.path.join(build, "compile_commands.json"),
              encoding="utf-8") as f:
        entries = json.load(f)
    # A library and a test may share a source: once is enough.
    return {e["file"]: (e["directory"], flags_of(e["command"]))
            for e in entries if e["file"].endswith(".c")}


def check(compiler, files):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda job: complaint(compiler, *job), files.values())
        return [text for text in found if text]


def bad_sample(scratch, files):
    """The flags of some source of ours with a file that narrows silently."""
    path = os.path.join(scratch, "narrow.c")
    with open(path, "w", encoding="ascii") as f:
        f.write("char f(long x);\nchar\nf(long x)\n{\n    return x;\n}\n")
    name, (folder, flags) = sorted(files.items())[0]
    return {path: (folder, [path if w == name else w for w in flags])}


def main(build, scratch, compilers):
    files = sources(build)
    results = []
    for compiler in compilers:
        if not shutil.which(compiler):
            results.append(("# SKIP %s is not installed" % compiler, []))
            continue
        results.append(("- %d files are clean under %s"
                        % (len(files), compiler), check(compiler, files)))
        missed = not check(compiler, bad_sample(scratch, files))
        results.append(("- %s flags a bad sample" % compiler,
                        ["missed"] if missed else []))
    print("1..%d" % len(results))
    for i, (name, found) in enumerate(results, 1):
        print("%s %d %s" % ("not ok" if found else "ok", i, name))
        for line in "\n".join(found).splitlines()[:40]:
            print("# " + line)
    return any(found for _, found in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
