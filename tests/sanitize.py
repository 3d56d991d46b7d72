"""The tests of some suites again, under AddressSanitizer and UBSan.

usage: sanitize.py SOURCE SCRATCH SUITE...

Builds in SCRATCH, which is kept, so that the next run is short. Speaks TAP,
one case for each test of the suites.
"""
import json
import os
import subprocess
import sys

# comgr and LLVM leave a signal stack on threads that ASan wants for itself. An
# allocation that is refused is a status here, as it is without ASan.
OPTIONS = {
    "ASAN_OPTIONS": "use_sigaltstack=0:detect_leaks=1:"
                    "allocator_may_return_null=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
SETUP = ["-Db_sanitize=address,undefined", "-Db_lundef=false",
         "-Doptimization=1", "-Ddebug=true", "-Dnested=true"]


def must(*command):
    run = subprocess.run(command, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if run.returncode:
        print("Bail out! %s" % command[0])
        sys.exit(run.stdout[-4000:])


def records(scratch):
    log = os.path.join(scratch, "meson-logs", "testlog.json")
    with open(log, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def main(source, scratch, suites):
    if not os.path.exists(os.path.join(scratch, "build.ninja")):
        must("meson", "setup", scratch, source, *SETUP)
    must("ninja", "-C", scratch)
    words = [w for s in suites for w in ("--suite", s)]
    subprocess.run(["meson", "test", "-C", scratch, "--no-rebuild",
                    "--timeout-multiplier", "5", *words],
                   env=dict(os.environ, **OPTIONS),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tests = records(scratch)
    print("1..%d" % max(len(tests), 1))
    if not tests:
        print("not ok 1 - some test runs")
    bad = not tests
    for i, t in enumerate(tests, 1):
        ok = t["result"] in ("OK", "EXPECTEDFAIL", "SKIP")
        bad |= not ok
        print("%s %d - %s" % ("ok" if ok else "not ok", i, t["name"]))
        text = t.get("stderr", "") + t.get("stdout", "")
        if not ok:
            tail = "\n".join(text.splitlines()[-60:])
            print("%s:\n%s" % (t["name"], tail), file=sys.stderr)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
