"""count.py on logs made up for it. Speaks TAP."""
import json
import os
import subprocess
import sys
import tempfile

COUNT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "count.py")


def suite(name, *cases):
    kinds = {"p": "", "f": "<failure/>", "s": "<skipped/>", "e": "<error/>"}
    return '<testsuite name="%s">%s</testsuite>' % (name, "".join(
        '<testcase name="x">%s</testcase>' % kinds[c] for c in cases))


def run(records, suites, lit=None, flags=()):
    with tempfile.TemporaryDirectory() as build:
        os.mkdir(os.path.join(build, "meson-logs"))
        os.mkdir(os.path.join(build, "tests"))
        log = os.path.join(build, "meson-logs", "testlog")
        with open(log + ".json", "w", encoding="ascii") as f:
            for name, result, code in records:
                f.write(json.dumps({"name": name, "result": result,
                                    "returncode": code}) + "\n")
        with open(log + ".junit.xml", "w", encoding="ascii") as f:
            f.write("<testsuites>%s</testsuites>" % "".join(suites))
        if lit:
            with open(os.path.join(build, "tests", "lit-ir.xml"), "w",
                      encoding="ascii") as f:
                f.write("<testsuites>%s</testsuites>" % lit)
        done = subprocess.run([sys.executable, COUNT, *flags, build],
                              text=True, stdout=subprocess.PIPE)
        return done.stdout.strip(), done.returncode


def line(p, f, s):
    return "%d passed, %d failed, %d skipped" % (p, f, s)


T = "kiln:sim / t"
CASES = [
    ("cases are counted", run([(T, "OK", 0)],
                              [suite("kiln." + T, "p", "p", "s")]),
     (line(2, 0, 1), 0)),
    ("a failed case", run([(T, "FAIL", 1)], [suite("kiln." + T, "p", "f")]),
     (line(1, 1, 0), 1)),
    ("death after passed cases", run([(T, "ERROR", -6)],
                                     [suite("kiln." + T, "p", "p")]),
     (line(2, 1, 0), 1)),
    ("a program without cases", run([(T, "SKIP", 0)], []),
     (line(0, 1, 0), 1)),
    ("skip by status 77", run([(T, "SKIP", 77), ("kiln:a / b", "OK", 0)], []),
     (line(1, 0, 1), 0)),
    ("a timeout", run([("kiln:a / b", "TIMEOUT", -15)], []),
     (line(0, 1, 0), 1)),
    ("lit files are counted", run([("kiln:ir / lit-ir", "FAIL", 1)], [],
                                  suite("ir", "p", "p", "f")),
     (line(2, 1, 0), 1)),
    ("lit that wrote nothing", run([("kiln:ir / lit-ir", "ERROR", 2)], []),
     (line(0, 1, 0), 1)),
    ("skipped ones by name",
     run([(T, "OK", 0), ("kiln:a / b", "SKIP", 77)],
         [suite("kiln." + T, "p", "s")], None, ["--skipped"]),
     ("skipped: %s: x\nskipped: kiln:a / b\n" % T + line(1, 0, 2), 0)),
    ("no test at all", run([], []), (line(0, 0, 0), 1)),
]

print("1..%d" % len(CASES))
for i, (name, got, want) in enumerate(CASES, 1):
    print("%s %d - %s" % ("ok" if got == want else "not ok", i, name))
    if got != want:
        print("# got %r, expected %r" % (got, want))
sys.exit(any(got != want for _, got, want in CASES))
