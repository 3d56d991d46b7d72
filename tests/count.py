"""Counts test cases of a finished `meson test` run.

usage: count.py BUILDDIR

Prints one line, "N passed, N failed, N skipped". A TAP program counts each
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
        into[case_kind(case)] += 1
    return into


def new_count():
    return {"passed": 0, "failed": 0, "skipped": 0}


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
    if result in BAD and not count["failed"] or not any(count.values()):
        count["failed"] += 1
    return count


def main(build):
    total = new_count()
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        suites = tap_suites(build)
        with open(log, encoding="utf-8") as f:
            for line in f:
                count = count_run(json.loads(line), suites, build)
                for key in total:
                    total[key] += count[key]
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % total)
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
