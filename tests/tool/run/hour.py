"""docs/hour.md: every command of the page runs, in its order, on the fake GPU.

usage: hour.py KILNC HIP SCRATCH PAGE

A simulator takes hours for the hour, so `selftest` gets fewer rows of each part
and fewer launches here, `parity` a smaller problem (SHORT); the other words of
the page stay as they are.
"""
import os
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "kit"))
import tap  # noqa: E402

KILNC, LIBRARY, SCRATCH, PAGE = sys.argv[1:]
# What is added to a command that has these words.
SHORT = [("parity", ["-m", "64", "-n", "64", "-k", "64"]),
         ("probe:", ["--only", "probe: l", "--launches", "2"]),
         ("-k 288", ["--only", "--a i8 --b i8 --out i32 -m 96",
                     "--launches", "2"]),
         ("-m 0 --resume", ["--only", "gfx942 wgrad", "--launches", "2"]),
         ("--resume", ["-m", "64", "-n", "64", "-k", "64", "--only",
                       "--a i8 --b i8 --out i32 -m 64", "--launches", "2"])]


def commands():
    with open(PAGE, encoding="utf-8") as f:
        return [line.strip() for line in f if line.startswith("    kilnc ")]


def shorter(words):
    """The command's words, with the flags of SHORT in the place of its own."""
    text = " ".join(words)
    if words[0] not in ("selftest", "parity") or "--device" not in words:
        return words
    more = next(m for key, m in SHORT if key in text)
    gone = set(more[::2])
    kept, i = [], 0
    while i < len(words):
        if words[i] in gone:
            i += 2
            continue
        kept.append(words[i])
        i += 1
    return kept + more


def run(command):
    env = dict(os.environ, KILNC_HIP_LIBRARY=LIBRARY,
               KILNC_SHIM_TARGET="gfx942")
    done = subprocess.run([KILNC] + shorter(shlex.split(command)[1:]), env=env,
                          cwd=SCRATCH, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    # The fake GPU's times are not those the model predicts.
    most = 1 if "calibrate" in command else 0
    wrong = [] if done.returncode <= most else \
        ["exit %d" % done.returncode] + done.stdout.splitlines()[-20:]
    if "selftest --device" in command and not re.search(
            r" [1-9]\d* rows, [0-9.]+ s of \d+ min", done.stdout):
        wrong.append("no budget beside its time: " + done.stdout)
    return wrong


def main():
    os.makedirs(SCRATCH, exist_ok=True)
    found = commands()
    results = [(c, run(c)) for c in found]
    parts = [k for k, _ in SHORT if any(k in c for c in found)]
    results.append(("every part of the page was met",
                    [] if len(parts) == len(SHORT) and
                    any("calibrate" in c for c in found) else [str(parts)]))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
