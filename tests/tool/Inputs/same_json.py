"""usage: same_json.py A B; fails unless both hold the same values."""
import json
import sys

a, b = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
if a != b:
    sys.exit("%r is not %r" % (a, b))
