"""`kilnc info` and `kilnc diff` on every code object of a folder, such as
those a library ships: no crash, nothing undecoded, under a second each. Not
a part of the test run; docs/inspect.md has what it found.

usage: objects.py FOLDER KILNC LLVM
"""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tool", "inspect"))
import census

SAMPLE = 20                  # objects whose census llvm-objdump confirms


def look(kilnc, path):
    """Complaint or None, instructions, seconds."""
    got, took = census.timed(kilnc, "info", path, "--json", "-")
    if got.returncode:
        return "info: exit %d: %s" % (got.returncode, got.stderr), 0, took
    facts = json.loads(got.stdout)
    kernels = facts.get("kernels") or [facts["kernel"]]
    unknown = sum(o["count"] for k in kernels for o in k["all"]["ops"]
                  if o["name"] == "unknown")
    if unknown:
        return "%d instructions not decoded" % unknown, 0, took
    return None, sum(k["instructions"] for k in kernels), took


def main(folder, kilnc, llvm):
    paths = sorted(glob.glob(os.path.join(folder, "**", "*.co"),
                             recursive=True))
    bad, total, slow = [], 0, {"info": (0, ""), "diff": (0, "")}
    for i, path in enumerate(paths):
        complaint, n, took = look(kilnc, path)
        total += n
        slow["info"] = max(slow["info"], (took, path))
        if i % max(1, len(paths) // SAMPLE) == 0:
            complaint = complaint or census.check(kilnc, llvm, path)
        got, took = census.timed(kilnc, "diff", path,
                                 paths[(i + 1) % len(paths)])
        slow["diff"] = max(slow["diff"], (took, path))
        if got.returncode not in (0, 1) or "result" not in got.stdout:
            complaint = complaint or "diff: exit %d: %s" % (got.returncode,
                                                            got.stderr)
        if complaint:
            bad.append(path)
            print("%s: %s" % (path, complaint.strip()[:400]), flush=True)
    print("%d objects, %d instructions, %d complaints" % (len(paths), total,
                                                          len(bad)))
    for name, (took, path) in slow.items():
        print("longest %s: %.2f s, %s" % (name, took, path))
    return bool(bad) or max(s[0] for s in slow.values()) > census.LIMIT


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
