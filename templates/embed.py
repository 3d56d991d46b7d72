"""Writes OUT.c: every template as one C string of an array, in the given order.

usage: embed.py OUT.c ARRAY FILE.tir...
"""
import os
import sys


def c_line(line):
    out = []
    for ch in line.encode():
        if ch in (0x22, 0x5c):
            out.append("\\" + chr(ch))
        elif 0x20 <= ch < 0x7f:
            out.append(chr(ch))
        else:
            out.append("\\%03o" % ch)
    return '    "%s\\n"\n' % "".join(out)


def main(out, array, paths):
    with open(out, "w", encoding="ascii") as f:
        f.write("/* Made by templates/embed.py. */\n")
        f.write('#include "templates/templates.h"\n\n')
        f.write('#pragma GCC diagnostic ignored "-Woverlength-strings"\n\n')
        f.write("const struct kn_template %s[] = {\n" % array)
        for path in paths:
            with open(path, encoding="utf-8") as t:
                lines = t.read().splitlines()
            f.write('    { "%s",\n' % os.path.basename(path))
            f.writelines(c_line(line) for line in lines)
            f.write("    },\n")
        f.write("    { 0, 0 }\n};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
