"""soak.py in shards: together they are the whole list, one that was killed goes
on, what is wrong is in the sum. The tool is a stand-in that is quick.

usage: shards.py FOLDER     TAP
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "kit"))
import tap  # noqa: E402

FOLDER = sys.argv[1]
TOOL = """#!/bin/sh
case "$*" in
*"--seed 104 "*) echo broken; exit 1 ;;
*"--seed 107 "*) echo refused >&2; exit 3 ;;
*) echo "check     ok" ;;
esac
"""


def path(name):
    return os.path.join(FOLDER, name)


def soak(*words):
    p = subprocess.run([sys.executable, os.path.join(HERE, "soak.py"), *words],
                       stdout=subprocess.PIPE, text=True)
    return p.returncode, p.stdout.splitlines()[-1]


def shards_are_the_whole():
    for i in range(1, 4):
        soak(path("tool"), "100", "10", "--shard", "%d/3" % i, "-o",
             path("part%d" % i))
    got = soak("merge", *(path("part%d" % i) for i in range(1, 4)))
    want = (1, "10 seeds: 8 right, 1 refused, 1 wrong, 0 twice")
    return None if got == want else "%s" % (got,)


def a_killed_one_goes_on():
    with open(path("part1")) as f:
        whole = f.read()
    with open(path("part1"), "w") as f:
        f.write(whole[:-len(whole.splitlines()[-1]) // 2])
    soak(path("tool"), "100", "10", "--shard", "1/3", "-o", path("part1"))
    with open(path("part1")) as f:
        return None if f.read() == whole else "another file"


def one_shard_twice_is_told():
    got = soak("merge", path("part2"), path("part2"))[1]
    return None if got.endswith("3 twice") else got


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name in os.listdir(FOLDER):
        os.remove(path(name))
    with open(path("tool"), "w") as f:
        f.write(TOOL)
    os.chmod(path("tool"), 0o755)
    return tap.main([shards_are_the_whole, a_killed_one_goes_on,
                     one_shard_twice_is_told])


if __name__ == "__main__":
    sys.exit(main())
