"""Writes OUT.c: every template of a folder as a text, by name.

usage: embed.py OUT.c OUT.d FOLDER

OUT.d tells ninja to do so again when the folder has another file or one changes.
"""
import glob
import os
import sys


def c_text(number, text):
    """A string as a list of bytes: C promises no longer literal than 4095."""
    codes = [str(b) for b in text.encode("ascii")] + ["0"]
    rows = [",".join(codes[i:i + 24]) for i in range(0, len(codes), 24)]
    return "static const char text_%d[] = {\n%s\n};\n" % (
        number, ",\n".join(rows))


def main(out, deps, folder):
    paths = sorted(glob.glob(os.path.join(folder, "*.tir")))
    with open(out, "w", encoding="ascii") as f:
        f.write("/* Made by templates/embed.py. */\n")
        f.write('#include "templates/templates.h"\n\n')
        for number, path in enumerate(paths):
            with open(path, encoding="ascii") as t:
                f.write(c_text(number, t.read()))
        f.write("const struct kn_template kn_templates[] = {\n")
        for number, path in enumerate(paths):
            f.write('    { "%s", text_%d },\n' % (os.path.basename(path), number))
        f.write("    { 0, 0 }\n};\n")
    with open(deps, "w", encoding="utf-8") as f:
        f.write("%s: %s\n" % (out, " ".join(
            p.replace(" ", "\\ ") for p in [folder] + paths)))


if __name__ == "__main__":
    main(*sys.argv[1:])
