"""kiln/_header.py of the Python module is what header.py makes of kiln.h.
Speaks TAP.

usage: header.py SOURCE
"""
import os
import sys

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "runtime", "python"))
import header                                          # noqa: E402


RUNTIME = os.path.join(ROOT, "runtime")
TEXT = header.read(os.path.join(RUNTIME, "kiln.h"))
with open(os.path.join(RUNTIME, "python", "kiln", "_header.py"),
          encoding="ascii") as made:
    MADE = made.read()
MORE = TEXT.replace("    int64_t m, n, k;", "    int64_t m, n, k, more;")
WORD = TEXT.replace('X(TT, "tt")', 'X(TT, "tt") X(TX, "tx")')
CASES = [("_header.py is kiln.h's (header.py --write renews it)",
          header.convert(TEXT) == MADE),
         ("a field more is seen", '("more", C.c_int64)' in header.convert(MORE)),
         ("a word more is seen", "'tx'" in header.convert(WORD))]
print("1..%d" % len(CASES))
for i, (name, fine) in enumerate(CASES, 1):
    print("%s %d - %s" % ("ok" if fine else "not ok", i, name))
sys.exit(not all(fine for _, fine in CASES))
