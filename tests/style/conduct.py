"""What the code may do: no environment, no output, no exit, few includes,
only the folders below it."""
import os
import re
import sys

import figures
import gate

LIBRARY = ("ir/", "gen/", "emit/", "runtime/", "templates/")
# The tool owns its process: these may write and know the terminal.
TOOL = ("gen/tool/kilnc.c", "gen/tool/progress.c", "gen/tool/progress.h")
# file -> word it may use, with the reason.
ALLOWED = {
    ("runtime/config.c", "getenv"),      # the one place that reads it
    ("ir/base.c", "abort"),              # a call without KN_ENTER: our bug
    ("runtime/isolate.c", "_exit"),      # of its own child process
    # libkilnhip stands for the program's own runtime: the status of a process
    # with findings, and what its kernels print.
    ("runtime/hip_on_sim/outcome.c", "_exit"),
    ("runtime/hip_on_sim/printf.c", "stdout"),
    ("runtime/hip_on_sim/printf.c", "stderr"),
}

WORDS = re.compile(
    r"\b(getenv|secure_getenv|setenv|putenv|exit|_exit|_Exit|quick_exit|abort"
    r"|v?f?printf|puts|fputs|putchar|fputc|putc|perror|stdout|stderr"
    r"|LLVMParseCommandLineOptions)\b")


def conduct(files):
    found = []
    for path, text in gate.c_files(files).items():
        if not path.startswith(LIBRARY) or path in TOOL:
            continue
        code = re.sub(r"__attribute__\s*\(\(format\([^)]*\)\)\)", gate.blank,
                      gate.strip_c(text))
        for m in WORDS.finditer(code):
            if (path, m.group(1)) not in ALLOWED:
                found.append("%s:%d: %s" % (path, gate.line_of(code, m.start()),
                                            m.group(1)))
    return found


# Folder -> what its files may include; the longest match counts.
MAY_INCLUDE = {
    "ir": ("ir/", "runtime/kiln.h"),
    "templates": ("templates/",),
    "emit/isa": ("emit/isa/", "ir/base.h", "runtime/kiln.h"),
    "emit": ("emit/", "ir/", "runtime/kiln.h"),
    "runtime/sim": ("runtime/sim/", "emit/isa/", "ir/base.h", "ir/clones.h",
                    "runtime/kiln.h"),
    "runtime/reference": ("runtime/reference/", "ir/base.h", "ir/clones.h",
                          "runtime/kiln.h"),
    "runtime": ("runtime/", "emit/isa/object.h", "ir/base.h", "ir/lock.h"),
    "runtime/hip_on_sim": ("runtime/", "emit/isa/object.h", "ir/base.h"),
    # What needs no LLVM of gen/ (choosing, planning); part_*.c are the doors
    # of the two other libraries.
    "runtime/api": ("runtime/", "gen/gen.h", "gen/tuning/tuning.h", "emit/emit.h",
                    "emit/isa/object.h", "ir/base.h", "generator_id.h"),
    "gen": ("gen/", "templates/", "emit/", "ir/", "runtime/kiln.h",
            "runtime/file.h"),
    "gen/template": ("gen/template/", "ir/"),
    "gen/tool": ("gen/", "templates/", "emit/", "ir/", "runtime/"),
}
# Folders that others' files do not include -> who does: the tool is nobody's, and what the
# generator makes of a configuration does not depend on how one is chosen.
APART = {"gen/tool/": ("gen/tool/",), "gen/choose/": ("gen/choose/", "gen/tool/")}
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([\"<])([^\">]+)[\">]", re.M)


def folder_of(path):
    fit = [f for f in MAY_INCLUDE if path.startswith(f + "/")]
    return max(fit, key=len) if fit else None


def resolve(files, path, name):
    near = os.path.normpath(os.path.join(os.path.dirname(path), name))
    return near if near in files or name.startswith(".") else name


def includes(files):
    found = []
    for path, text in files.items():
        folder = folder_of(path)
        if not folder or not path.endswith((".c", ".h", ".def")):
            continue
        for m in INCLUDE.finditer(text):
            name = m.group(2)
            if m.group(1) == "<":
                bad = name.startswith(("llvm-c/", "llvm/")) and \
                    not path.startswith("emit/")
            else:
                found_at = resolve(files, path, name)
                bad = not found_at.startswith(MAY_INCLUDE[folder]) or any(
                    found_at.startswith(a) and not path.startswith(who)
                    for a, who in APART.items())
            if bad:
                found.append("%s:%d: %s/ may not include %s" % (
                    path, gate.line_of(text, m.start()), folder, name))
    return found


# Text of a foreign library -> the only file that knows it.
ONE_PLACE = {
    "libamdhip64": ("runtime/hip.c",),
    "libamd_comgr": ("runtime/comgr.c",),
}


def one_place(files):
    return ["%s: only %s knows %s" % (p, " or ".join(where), text)
            for p, code in gate.c_files(files).items()
            if p.startswith(LIBRARY)
            for text, where in ONE_PLACE.items()
            if text in gate.strip_comments(code) and p not in where]


# Spelled in pieces, so that this file does not flag itself.
PLACES = re.compile(
    r"(?<![\w.])/" + r"work/|\.\./" + r"shared|(?<![\w.])/" + r"home/\w"
    r"|(?<![\w.])/" + r"root/|(?<![\w.])/" + r"tmp/(?!\S*(?:X|%))")
WHO = re.compile(r"\b(Cla" r"ude|Chat" r"GPT|Anthr" r"opic|AI ag" r"ent|"
                 r"TO" r"DO|FIX" r"ME)\b")


def words(files):
    return ["%s:%d: %s" % (p, gate.line_of(text, m.start()), m.group(0))
            for p, text in files.items()
            for pattern in (PLACES, WHO) for m in pattern.finditer(text)]


def circles(files):
    """A circle may be one of functions too, which do not end."""
    if "gen/meson.build" not in files:
        return []
    paths = figures.generator(files)
    return ["%s call each other" % ", ".join(sorted(c))
            for c in figures.circles(files, paths)]


ROUND = "void\nkn_%s(void)\n{\n    kn_%s();\n}\n"

if __name__ == "__main__":
    gate.run(sys.argv[1], [
        ("libraries do not exit, print or read the environment", conduct, [
            {"gen/bad.c": "void\nf(void)\n{\n    exit(1);\n}\n"},
            {"ir/bad.c": 'void\nf(void)\n{\n    printf("x");\n}\n'},
            {"emit/bad.c": 'void\nf(FILE *f)\n{\n    fputs("x", stderr);\n}\n'},
            {"runtime/hip.c": 'void\nf(void)\n{\n    getenv("x");\n}\n'},
        ]),
        ("includes follow the direction of dependencies", includes, [
            {"ir/bad.c": '#include "../gen/gen.h"\n'},
            {"runtime/bad.c": '#include <llvm-c/Core.h>\n'},
            {"runtime/sim/bad.c": '#include "ir/ir.h"\n'},
            {"runtime/reference/bad.c": '#include "../sim/num.h"\n'},
            {"gen/bad.c": '#include "tool/cli.h"\n',
             "gen/tool/cli.h": ""},
            {"gen/template/bad.c": '#include "../config.h"\n',
             "gen/config.h": ""},
            {"gen/bad.c": '#include "choose/score.h"\n',
             "gen/choose/score.h": ""},
        ]),
        ("no files of the generator call each other in a circle", circles, [
            {"gen/meson.build": "gen_src = files('a.c', 'b.c')\n",
             "gen/a.c": ROUND % ("a", "b"), "gen/b.c": ROUND % ("b", "a")},
        ]),
        ("one file knows HIP, one knows comgr", one_place, [
            {"gen/bad.c": 'const char *s = "libamdhip64.so.6";\n'},
            {"runtime/hip.c": 'const char *s = "libamd_comgr.so.2";\n'},
        ]),
        ("no place of one machine, no leftovers", words, [
            {"docs/bad.md": "see /wo" "rk/x"},
            {"docs/bad.md": "see ../sha" "red/x"},
            {"ir/bad.c": "/* TO" "DO: later */"},
        ]),
    ])
