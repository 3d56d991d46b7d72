"""usage: json_holds.py FILE RULE... ; Python expressions over the value j of a
JSON file (- for standard input), each of which must be true. "name = ..."
gives a name to a part for the rules behind it."""
import json
import re
import sys

path, rules = sys.argv[1], sys.argv[2:]
with sys.stdin if path == "-" else open(path, encoding="utf-8") as f:
    names = {"j": json.load(f)}
for rule in rules:
    if re.match(r"\w+ = ", rule):
        exec(rule, names)
    elif not eval(rule, names):
        part = list(names.values())[-1]
        sys.exit("%s: not so: %s\n%s" % (path, rule, json.dumps(part, indent=1,
                                                               default=str)))
