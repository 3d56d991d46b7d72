"""The thread test again, under ThreadSanitizer.

usage: tsan.py SOURCE SCRATCH

Builds the test and the three libraries in SCRATCH, which is kept. LLVM is not
instrumented: what it does alone is not seen. Speaks TAP; the second case is a
program with a race, which must be found.
"""
import os
import subprocess
import sys

SETUP = ["-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1",
         "-Ddebug=true", "-Dnested=true"]
TARGETS = ["tests/runtime/test_runtime_threads", "runtime-libraries"]
RACE = """#include <pthread.h>
static int n;
static void *f(void *p) { for (int i = 0; i < 1000; i++) n++; return p; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, f, NULL);
    pthread_create(&b, NULL, f, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
"""


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def must(*command):
    done = run(*command)
    if done.returncode:
        print("Bail out! %s" % command[0])
        sys.exit(done.stdout[-4000:])


def seen(done):
    return done.returncode or "WARNING: ThreadSanitizer" in done.stdout


def race(scratch):
    path = os.path.join(scratch, "race")
    with open(path + ".c", "w", encoding="ascii") as f:
        f.write(RACE)
    must("cc", "-g", "-O1", "-pthread", "-fsanitize=thread", "-o", path,
         path + ".c")
    return seen(run(path))


def main(source, scratch):
    if not os.path.exists(os.path.join(scratch, "build.ninja")):
        must("meson", "setup", scratch, source, *SETUP)
    must("ninja", "-C", scratch, *TARGETS)
    done = run(os.path.join(scratch, TARGETS[0]))
    bad = seen(done)
    print("1..2")
    print("%s 1 - eight threads without a race" % ("not ok" if bad else "ok"))
    for line in done.stdout.splitlines()[:80] if bad else []:
        print("# " + line)
    missed = not race(scratch)
    print("%s 2 - a race is found" % ("not ok" if missed else "ok"))
    return bad or missed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
