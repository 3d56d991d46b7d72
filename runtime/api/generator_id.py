"""One number for everything that decides the bytes of a kernel.

usage: generator_id.py ROOT OUTPUT DEPFILE

Hashes the sources of ir/, emit/, templates/ and gen/ by name and contents,
so that a kernel of an older generator is never taken for one of this.
"""
import hashlib
import os
import sys

FOLDERS = ("emit", "gen", "ir", "templates")
ENDINGS = (".c", ".h", ".def", ".tir")
# The tool's own files do not reach a kernel.
TOOL = ("cli", "cmd", "kilnc", "json", "progress", "report", "info", "device",
        "operands", "groups")


def sources(root):
    for folder in FOLDERS:
        for base, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                tool = folder == "gen" and name.startswith(TOOL)
                if name.endswith(ENDINGS) and not tool:
                    yield os.path.join(base, name)


def main(root, output, depfile):
    files = sorted(sources(root), key=lambda p: os.path.relpath(p, root))
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as f:
            data = f.read()
        digest.update(b"%s %d\n" % (os.path.relpath(path, root).encode(),
                                    len(data)))
        digest.update(data)
    with open(output, "w", encoding="ascii") as f:
        f.write('#define KN_GENERATOR_ID "%s"\n' % digest.hexdigest()[:16])
    with open(depfile, "w", encoding="utf-8") as f:
        f.write("%s: %s\n" % (output, " ".join(p.replace(" ", "\\ ")
                                               for p in files)))


if __name__ == "__main__":
    main(*sys.argv[1:])
