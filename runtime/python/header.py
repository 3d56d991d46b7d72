"""kiln/_header.py from kiln.h: words and structs, as ctypes.

usage: header.py KILN.H [--write FILE]
"""
import os
import re
import sys

WORDS = ["TYPES", "FAMILIES", "LAYOUTS", "SCALES", "OUT_SCALES", "SCALE_TYPES",
         "ZERO_POINTS", "MATHS", "B_LAYOUTS", "SCALE_LAYOUTS", "MOE_STAGES", "ACTS", "TARGETS", "OPERANDS"]
STRUCTS = ["error", "options", "problem", "kernel_info", "arguments",
           "pointer", "plan", "device_info"]
SCALARS = {"int": "C.c_int", "float": "C.c_float", "double": "C.c_double",
           "size_t": "C.c_size_t", "char": "C.c_char"}
SCALARS.update({"%sint%d_t" % (u, n): "C.c_%sint%d" % (u, n)
                for u in ("", "u") for n in (8, 16, 32, 64)})


def read(path):
    """A header, and behind it each that it includes from beside it."""
    with open(path, encoding="ascii") as f:
        text = f.read()
    for name in re.findall(r'^#include "(\w+\.h)"', text, re.M):
        if name != "kiln.h":
            text += read(os.path.join(os.path.dirname(path), name))
    return text


def words(text, name):
    """Second parts of an X list, which may have another one in it."""
    body = re.search(r"#define KILN_%s\(X\)((?:[^\n]*\\\n)*[^\n]*)" % name,
                     text).group(1)
    found = re.findall(r'\bX\(\w+, "?([\w-]+)"?|KILN_(\w+)\(X\)', body)
    return [x for own, other in found for x in ([own] if own else words(text, other))]


def number(text, size):
    found = re.search(r"#define %s (\d+)" % size, text)
    return found.group(1) if found else size


def ctype(kind, pointer):
    if pointer:
        return "C.c_char_p" if kind == "char" else "C.c_void_p"
    return kind if kind[5:] in STRUCTS else SCALARS.get(kind, "C.c_int")


def fields(text, name):
    """(name, ctypes expression) of each member; of a union the last one."""
    body = re.search(r"typedef struct kiln_%s \{\n(.*?)\n\} kiln_%s;"
                     % (name, name), text, re.S).group(1)
    body = re.sub(r"union \{.*?(\w+ \w+;)\s*\};", r"\1", body, flags=re.S)
    for line in body.split(";"):
        call = re.search(r"\(\*(\w+)\)\(", line)
        if call:
            yield call.group(1), "C.c_void_p"
            continue
        found = re.match(r"\s*(?:const )?(\w+) (.*)", line, re.S)
        for one in found.group(2).split(",") if found else ():
            stars, field, size = re.match(r"\s*(\**)(\w+)(?:\[(\w+)\])?",
                                          one).groups()
            kind = ctype(found.group(1), stars)
            yield field, kind + (" * " + number(text, size) if size else "")


def convert(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    out = ['"""Words and structs of kiln.h; runtime/python/header.py makes '
           'them."""', "import ctypes as C", ""]
    for name in WORDS:
        found = (["none"] if name == "TARGETS" else []) + words(text, name)
        out.append("%s = %r" % (name, found))
    for name in STRUCTS:
        rows = ['        ("%s", %s),' % f for f in fields(text, name)]
        out += ["", "", "class kiln_%s(C.Structure):" % name,
                "    _fields_ = ["] + rows + ["    ]"]
    lines = []
    for line in out:
        lines += wrapped(line)
    return "\n".join(lines) + "\n"


def wrapped(line):
    """A list of words on lines of at most 79 columns."""
    while len(line) > 79:
        at = line.rfind(" ", 0, 79)
        yield line[:at]
        line = "    " + line[at + 1:]
    yield line


if __name__ == "__main__":
    made = convert(read(sys.argv[1]))
    if sys.argv[2:3] == ["--write"]:
        with open(sys.argv[3], "w", encoding="ascii") as f:
            f.write(made)
    else:
        print(made, end="")
