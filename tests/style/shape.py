"""Shape of the C code: length of functions and files, parameters, width."""
import re
import sys

import gate

MAX_LINES, MAX_PARAMS, MAX_WIDTH, MAX_FILE = 80, 5, 100, 600


def flat_switch(body):
    """A switch of short cases may be as long as its table is."""
    cases = len(re.findall(r"\b(case\b|default\s*:)", body))
    return cases * 4 >= body.count("\n")


def function_length(files):
    return ["%s:%d: %s() has %d lines, at most %d" % (p, at, name, n, MAX_LINES)
            for p, text in gate.c_files(files).items()
            for name, at, n, _, body, _ in gate.functions(text)
            if n > MAX_LINES and not flat_switch(body)]


def hip_own(path, name):
    """HIP decides what its functions take."""
    return path.startswith(("runtime/hip_on_sim/", "tests/runtime/odd_hip",
                            "tests/runtime/fault_hip",
                            "tests/runtime/seen_hip")) and \
        re.match(r"(__)?hip[A-Z]", name)


def parameter_count(files):
    return ["%s:%d: %s() has %d parameters, at most %d"
            % (p, at, name, params, MAX_PARAMS)
            for p, text in gate.c_files(files).items()
            for name, at, _, params, _, _ in gate.functions(text)
            if params > MAX_PARAMS and not hip_own(p, name)]


def name_column(files):
    return ["%s:%d: the return type of %s() is not on its own line"
            % (p, at, name)
            for p, text in gate.c_files(files).items()
            if not p.startswith("tests/")
            for name, at, n, _, _, column in gate.functions(text)
            if column and n > 1]


def width(files):
    return ["%s:%d: %d columns, at most %d" % (p, i, len(line), MAX_WIDTH)
            for p, text in files.items() if p.endswith((".c", ".h", ".def"))
            for i, line in enumerate(text.split("\n"), 1)
            if len(line) > MAX_WIDTH]


def file_length(files):
    return ["%s: %d lines, at most %d" % (p, text.count("\n"), MAX_FILE)
            for p, text in gate.c_files(files).items()
            if text.count("\n") > MAX_FILE]


def heads(files):
    """A file says its job first; or its own header does, which it includes first."""
    found = []
    for p, text in files.items():
        name = p.rsplit("/", 1)[-1]
        own = '#include "%s.h"' % name[:-2]
        if re.match(r"(ir|gen|emit|runtime)/.*\.[ch]$", p) and \
                not text.startswith(("/* %s - " % name, own)):
            found.append("%s: no head comment '/* %s - its job'" % (p, name))
    return found


def tabs(files):
    return ["%s:%d: tab or blank at the end of the line" % (p, i)
            for p, text in files.items() if p.endswith((".c", ".h", ".def"))
            for i, line in enumerate(text.split("\n"), 1)
            if "\t" in line or line != line.rstrip()]


def sample(text):
    return {"ir/bad.c": text}


LONG = "int\nf(int a)\n{\n%s}\n" % ("    a++;\n" * 130)
WIDE = "/* %s */\n" % ("x" * 100)
SIX = "static void\nf(int a, int b, int c, int d, int e, int (*g)(int, int))\n{}\n"

if __name__ == "__main__":
    gate.run(sys.argv[1], [
        ("functions have at most 80 lines", function_length, [sample(LONG)]),
        ("functions have at most 5 parameters", parameter_count,
         [sample(SIX), sample("X(a)\n{ }\n" + SIX)]),
        ("return type on its own line", name_column,
         [sample("static int f(void)\n{\n    return 0;\n}\n")]),
        ("lines have at most 100 columns", width, [sample(WIDE)]),
        ("files have at most 600 lines", file_length, [sample("\n" * 601)]),
        ("files begin with their name and job", heads,
         [sample("int a;\n"), sample("/* good.c - another file. */\n")]),
        ("no tabs, no blanks at the end", tabs,
         [sample("\tint a;\n"), sample("int a; \n")]),
    ])
