#!/usr/bin/env python3
"""What the length of a loop costs where instructions are fetched slowly: the loop
bytes of MX defaults, predicted times with the model's constants and with
pessimistic ones, and with those the best kernel whose loop is short. A table in
Markdown.

    fetch.py KILNC SCRATCH
"""
import json
import os
import subprocess
import sys

SLOW = "icache_miss=500,icache_stream=32"
SHORT = 16384
SCHEDULES = ["simple", "interleave", "8-wave"]
MOE = "--hidden 4096 --inter 2048 --experts 32 --topk 8 --tokens 4096"
PROBLEMS = (
    ["gemm --a %s -m %d -n %d -k %d" % (a, m, n, k)
     for a in ("mxfp4", "mxfp6", "mxfp8")
     for m, n, k in ((16, 8192, 8192), (512, 4096, 4096), (4096, 4096, 4096),
                     (8192, 8192, 8192))] +
    ["gemm --a mxfp8 --b mxfp4 -m 8192 -n 8192 -k 8192"] +
    ["%s --a %s %s" % (family, a, sizes)
     for family, sizes in (("batched", "--batch 16 -m 1024 -n 2048 -k 2048"),
                           ("grouped", "--groups 8 --tokens 4096 -n 4096 -k 4096"))
     for a in ("mxfp4", "mxfp6", "mxfp8")] +
    ["moe --stage %s --a %s %s" % (stage, a, MOE)
     for stage in ("gemm1", "gemm2") for a in ("mxfp4", "mxfp8")])


def ask(*words):
    """What the tool says in JSON, None where it refuses."""
    done = subprocess.run(words + ("--json", "-"), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def time_of(kilnc, words, *more):
    got = ask(kilnc, "time", *words, "--arch", "gfx950", *more)
    return got and got["predicted"]["us"]


def loop_of(kilnc, scratch, words):
    """Bytes of the main loop, and the schedule."""
    path = os.path.join(scratch, "k.co")
    subprocess.run([kilnc, "generate", *words, "--arch", "gfx950", "-o", path],
                   stdout=subprocess.DEVNULL, check=True)
    told = ask(kilnc, "info", path)
    loops = [l["bytes"] for l in told["kernel"]["loops"] if l["main"]]
    return loops[0], told["made"]["config"].split("schedule=")[1].split()[0]


def best_short(kilnc, scratch, words):
    best = None
    for schedule in SCHEDULES:
        asked = words + ["--schedule", schedule]
        us = time_of(kilnc, asked, "--constants", SLOW)
        if us and (not best or us < best[0]) and \
                loop_of(kilnc, scratch, asked)[0] <= SHORT:
            best = us, schedule
    return best


def measured(kilnc, scratch, words):
    """Schedule, bytes of the main loop, time, and time of slow fetch."""
    size, schedule = loop_of(kilnc, scratch, words)
    return (schedule, size, time_of(kilnc, words),
            time_of(kilnc, words, "--constants", SLOW))


def row(kilnc, scratch, problem):
    words = problem.split()
    schedule, size, usual, slow = measured(kilnc, scratch, words)
    short = best_short(kilnc, scratch, words) if size > SHORT else None
    return "| `%s` | %s | %d | %.1f | %.1f | %+.1f %% | %s |" % (
        problem.replace(MOE, "..."), schedule, size, usual, slow,
        100 * (slow / usual - 1), "%.1f, %s" % short if short else "-")


def main(kilnc, scratch):
    os.makedirs(scratch, exist_ok=True)
    print("| problem | schedule | loop, B | us | us, slow fetch | | loops of "
          "at most 16 KB |")
    print("|---|---|" + "---:|" * 4 + "---|")
    for problem in PROBLEMS:
        print(row(kilnc, scratch, problem), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
