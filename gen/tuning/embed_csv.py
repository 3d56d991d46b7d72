"""Writes tables as C: each file a string, kept as numbers because string
literals end at 4095 characters.

usage: embed_csv.py OUT.c ARRAY FILE.csv...
"""
import os
import sys


def main(out, array, paths):
    with open(out, "w", encoding="ascii") as f:
        f.write("/* Made by gen/embed_csv.py. */\n")
        f.write('#include "gen/tuning/tuning.h"\n\n')
        for i, path in enumerate(paths):
            with open(path, "rb") as t:
                data = t.read() + b"\0"
            f.write("static const char text%d[] = {" % i)
            for k, byte in enumerate(data):
                f.write("%s%d," % ("\n    " if k % 16 == 0 else " ", byte))
            f.write("\n};\n")
        f.write("\nconst struct kn_text %s[] = {\n" % array)
        for i, path in enumerate(paths):
            name = os.path.splitext(os.path.basename(path))[0]
            f.write('    { "%s", text%d },\n' % (name, i))
        f.write("    { 0, 0 }\n};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
