"""A row of selftest that aborts, fails, hangs, gives a wrong bit or writes
beyond its output costs that row alone; a run that was killed goes on.

usage: faults.py KILNC FAULT_HIP SCRATCH [some]

Each set of rows, of `some` two sets, runs twice on the fake GPU: as it is, and with
every kind of fault in some row of it (fault_hip.c). A row that hangs is given up after
as long as all rows took together.
"""
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "kit"))
import tap  # noqa: E402

KILNC, LIBRARY, SCRATCH = sys.argv[1:4]
SETS = ["gfx942 wgrad", "gfx942 moe gemm2", "gfx950 gemm tn 4-wave",
        "gfx942 grouped nn 4-wave", "gfx942 probe: l"]
# How a row ends that goes wrong so, and a word of why.
FAULTS = [("abort", "died", "Memory access fault"),
          ("fault", "failed", "hipModuleLaunchKernel"),
          ("bit", "wrong", None), ("beyond", "wrong", None),
          ("hang", "died", "hung")]
results = []


def test(name, complaints):
    results.append((name, complaints))


def selftest(only, report, faults="", resume=False, seconds="300"):
    env = dict(os.environ, KILNC_HIP_LIBRARY=LIBRARY, FAULT_HIP=faults,
               KILNC_SHIM_TARGET=only.split()[0])
    done = subprocess.run(
        [KILNC, "selftest", "--device", "hip:0", "-m", "0", "--launches", "2",
         "--max-seconds", seconds, "--only", only,
         "--resume" if resume else "--report", report],
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        check=False)
    return done.returncode, done.stdout


def lines(report):
    with open(report, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def ends(report):
    """{row: its last line}, in the order of their ends."""
    return {x["row"]: x for x in lines(report)
            if x.get("state", "started") != "started"}


def faulty(clean):
    """(kernel, fault, row): the faults by turns, every row but the first, at
    most two that share no kernel with another row."""
    kernels = [x["kernel"] for x in clean.values()]
    alone = [(x["kernel"], row) for row, x in clean.items()
             if kernels.count(x["kernel"]) == 1][1:]
    return [(kernel, FAULTS[(i + faulty.turn) % len(FAULTS)], row)
            for i, (kernel, row) in enumerate(alone)]


faulty.turn = 0


def run_set(only):
    report = os.path.join(SCRATCH, "report.json")
    began = time.monotonic()
    status, text = selftest(only, report)
    together = time.monotonic() - began
    clean = ends(report)
    test("%s: %d rows right" % (only, len(clean)),
         [] if status == 0 and clean and
         all(x["state"] == "ok" for x in clean.values()) else [text])
    todo = faulty(clean)
    faulty.turn += len(todo)
    if not todo:
        return
    status, text = selftest(
        only, report, ",".join("%s=%s" % (k, f[0]) for k, f, _ in todo),
        seconds=str(5 + int(together)))
    found = ends(report)
    wrong = [] if status == 1 and set(found) == set(clean) else [text]
    for _, (how, state, why), row in todo:
        got = found.get(row, {})
        if got.get("state") != state or (why and why not in got["why"]):
            wrong.append("%s in %s: %s" % (how, row, got))
    for row in set(clean) - {row for _, _, row in todo}:
        if found.get(row, {}).get("state") != "ok":
            wrong.append("another row suffers: %s" % found.get(row))
    test("%s: %s cost their rows" % (only, " ".join(f[0] for _, f, _ in todo)),
         wrong)


def run_killed(only):
    report = os.path.join(SCRATCH, "killed.json")
    selftest(only, report)
    clean = ends(report)
    kernel, _, row = faulty(clean)[0]
    status, _ = selftest(only, report, kernel + "=kill")
    before = ends(report)
    test("a run is killed in a row", [] if status == -9 and before and
         row not in before and lines(report)[-1].get("row") == row
         else [str(status), str(before)])
    with open(report, "a", encoding="utf-8") as f:
        f.write('{"row": "cut o')
    status, text = selftest(only, report, resume=True)
    with open(report, encoding="utf-8") as f:
        kept = f.read().replace('{"row": "cut o\n', "")
    with open(report, "w", encoding="utf-8") as f:
        f.write(kept)
    after = ends(report)
    started = [x["row"] for x in lines(report) if x.get("state") == "started"]
    again = [r for r in before if started.count(r) != 1]
    test("it goes on, the row it ended in last",
         [] if status == 0 and set(after) == set(clean) and not again and
         started[-1] == row else [text, str(again)])


def main():
    os.makedirs(SCRATCH, exist_ok=True)
    for only in SETS[:2] if sys.argv[4:] == ["some"] else SETS:
        run_set(only)
    run_killed(SETS[0])
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
