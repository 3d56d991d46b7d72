"""Every job of .ci/run names suites, tests and options that exist.

usage: jobs.py SOURCE BUILD
"""
import functools
import json
import os
import subprocess
import sys


@functools.lru_cache
def introspect(build, what):
    return json.loads(subprocess.run(
        ["meson", "introspect", "--" + what, build], check=True,
        stdout=subprocess.PIPE).stdout)


def known(build, what):
    """Names and suites of the tests, or of the benchmarks."""
    names, suites = set(), set()
    for test in introspect(build, what):
        names.add(test["name"])
        suites.update(s.partition(":")[2] for s in test["suite"])
    return names, suites


def faults(job, options, words, build):
    known_options = {o["name"] for o in introspect(build, "buildoptions")}
    for option in options:
        name = option[2:].partition("=")[0]
        if name not in known_options:
            yield "%s: no option %s" % (job, name)
    names, suites = known(
        build, "benchmarks" if "--benchmark" in words else "tests")
    # libFuzzer's targets are tests of its own build only.
    if "-Dfuzz=true" in options:
        return
    words = [w for w in words if w != "--benchmark"]
    while words:
        word = words.pop(0)
        if word == "--suite":
            word = words.pop(0)
            if word not in suites:
                yield "%s: no suite %s" % (job, word)
        elif word not in names:
            yield "%s: no test %s" % (job, word)


def main(source, build):
    run = os.path.join(source, ".ci", "run")
    listed = subprocess.run([run, "--list"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.splitlines()
    bad = []
    for line in listed:
        head, _, words = line.partition(" :")
        job, _, *options = head.split()
        bad += faults(job, options, words.split(), build)
    fired = list(faults("x", ["-Dnone=1"], ["--suite", "none", "none"], build))
    unknown = subprocess.run([run, "no-such-job"], stderr=subprocess.PIPE)
    print("1..3")
    for text in bad:
        print("# " + text)
    print("%s 1 - the %d jobs name what exists"
          % ("ok" if listed and not bad else "not ok", len(listed)))
    print("%s 2 - one that does not is told"
          % ("ok" if len(fired) == 3 else "not ok"))
    print("%s 3 - an unknown job is a sentence"
          % ("ok" if unknown.returncode == 2 and unknown.stderr.count(b"\n") == 1
             else "not ok"))


if __name__ == "__main__":
    main(*sys.argv[1:])
