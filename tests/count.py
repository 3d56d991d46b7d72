"""Counts test cases of a finished `meson test` run.

usage: count.py [--skipped] BUILDDIR

Prints one line, "N passed, N failed, N skipped"; with --skipped the names of
the skipped ones before it. A TAP program counts each
of its cases, a lit suite each of its files, any other test once. A program
that dies after its cases passed, or that ran none, counts as one failure.
Exits 1 if anything failed or nothing passed.
"""
import json
import os
import sys
import xml.etree.ElementTree as ET

BAD = ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS")


def case_kind(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def count_xml(root, into):
    for case in root.iter("testcase"):
        kind = case_kind(case)
        into[kind] += 1
        if kind == "skipped":
            into["names"].append(case.get("name") or "")
    return into


def new_count():
    return {"passed": 0, "failed": 0, "skipped": 0, "names": []}


def tap_suites(build):
    """Name of each TAP test -> counts of its cases."""
    path = os.path.join(build, "meson-logs", "testlog.junit.xml")
    suites = {}
    if os.path.exists(path):
        for suite in ET.parse(path).getroot().iter("testsuite"):
            project, dot, test = suite.get("name").partition(".")
            if dot:
                suites[test] = count_xml(suite, new_count())
    return suites


def lit_count(build, name):
    path = os.path.join(build, "tests", name + ".xml")
    if not os.path.exists(path):
        return new_count()
    return count_xml(ET.parse(path).getroot(), new_count())


def count_run(record, suites, build):
    result = record["result"]
    short = record["name"].split(" / ")[-1]
    if short.startswith("lit-"):
        count = lit_count(build, short)
    elif record["name"] in suites:
        count = suites[record["name"]]
    else:
        count = new_count()
        if result in ("OK", "EXPECTEDFAIL"):
            count["passed"] = 1
        elif result == "SKIP" and record.get("returncode") == 77:
            count["skipped"] = 1
    seen = count["passed"] + count["failed"] + count["skipped"]
    if result in BAD and not count["failed"] or not seen:
        count["failed"] += 1
    return count


def skipped_names(record, count):
    """A test's skipped cases by name, the test's own name where it has none."""
    names = count["names"] or [""] * count["skipped"]
    return [("%s: %s" % (record["name"], name)).rstrip(": ") for name in names]


def main(argv):
    build = argv[-1]
    names = []
    total = dict.fromkeys(("passed", "failed", "skipped"), 0)
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        suites = tap_suites(build)
        with open(log, encoding="utf-8") as f:
            for line in f:
                record = json.loads(line)
                count = count_run(record, suites, build)
                for key in total:
                    total[key] += count[key]
                names += skipped_names(record, count)
    if "--skipped" in argv:
        print("".join("skipped: %s\n" % name for name in names), end="")
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % total)
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
