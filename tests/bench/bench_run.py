"""What simulating and checking cost on this machine, with ratios.

usage: bench_run.py simulate BENCH_SIM BENCH_SGEMM    GMAC/s a core, all checks on
       bench_run.py check KILNC BENCH_SGEMM           whole runs, every sub-command

The baseline is a plain AVX2 f32 GEMM of the same core (bench_sgemm). Processor
time, so that other programs of the machine are not in it; peak memory is the
largest of one process. Writes Markdown tables.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

GOAL, GOAL_RUN, GOAL_PEAK = 4, 25, 2048
ONE = "gemm -m 512 -n 512 -k 512 --a bf16"


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        text = f.read()
    name = re.search(r"model name\s*: (.*)", text)
    return "%s, %d CPUs%s" % (name.group(1) if name else "unknown CPU",
                              os.cpu_count(),
                              ", AVX-512" if "avx512f" in text else "")


def measured(command):
    """Processor seconds, wall seconds, peak MB and output of a process."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
        out.seek(0)
        text = out.read()
    if status:
        sys.exit("%s:\n%s" % (" ".join(command), text))
    return (used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, text)


def plain(bench_sgemm):
    rate = float(subprocess.run([bench_sgemm], check=True, text=True,
                                stdout=subprocess.PIPE).stdout)
    print("%s; plain AVX2 f32 GEMM: %.1f GMAC/s a core\n" % (machine(), rate))
    return rate


def simulate(bench_sim, bench_sgemm):
    rate = plain(bench_sgemm)
    text = subprocess.run([bench_sim], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    print("| kernel | GMAC/s | goal | of plain f32 |\n|---|---|---|---|")
    for got, what in re.findall(r"([\d.]+) GMAC/s.*\)  (gemm .*)", text):
        print("| %s | %s | %d %s | %.0f %% |" % (
            what, got, GOAL, "met" if float(got) >= GOAL else "missed",
            100 * float(got) / rate if rate else 0))


def whole_runs(kilnc):
    cube = "run gemm --a bf16 --device sim:gfx950 "
    rows = [("4096^3, every element", cube + "-m 4096 -n 4096 -k 4096", GOAL_RUN),
            ("8192^3, 16 workgroups", cube + "-m 8192 -n 8192 -k 8192 "
             "--wg sample:16", None)]
    print("| run, bf16 on gfx950 | CPU s | goal | wall s | peak MB |\n"
          "|---|---|---|---|---|")
    for name, flags, goal in rows:
        cpu, wall, peak, _ = measured([kilnc] + flags.split())
        verdict = "-" if goal is None else "%d %s" % (
            goal, "met" if cpu <= goal else "missed")
        print("| %s | %.1f | %s | %.1f | %.0f%s |" % (
            name, cpu, verdict, wall, peak,
            "" if peak < GOAL_PEAK else ", above %d" % GOAL_PEAK))


def cores(kilnc):
    """Wall time of 16 workgroups on one processor and on two."""
    flags = ("gemm -m 1024 -n 1024 -k 4096 --a bf16 --tile 256x256x64 "
             "--device sim:gfx950").split()
    have = sorted(os.sched_getaffinity(0))
    found = []
    for use in (have[:1], have[:2]):
        os.sched_setaffinity(0, use)
        _, _, _, text = measured([kilnc, "run"] + flags)
        found.append(float(re.search(r"MACs in ([\d.]+) s", text).group(1)))
    os.sched_setaffinity(0, have)
    print("\n16 workgroups: %.2f s on one processor, %.2f on two: %.2f times "
          "(goal 1.9)\n" % (found[0], found[1], found[0] / found[1]))


def sub_commands(kilnc, scratch):
    co = os.path.join(scratch, "k.co")
    rows = ["generate %s --arch gfx950 -o %s" % (ONE, co), "info " + co,
            "check " + co, "disasm " + co, "diff %s %s" % (co, co),
            "time %s --arch gfx950" % ONE, "run %s --device sim:gfx950" % ONE,
            "bench %s --arch gfx950" % ONE, "list"]
    print("| sub-command | CPU s | peak MB |\n|---|---|---|")
    for row in rows:
        cpu, _, peak, _ = measured([kilnc] + row.split())
        print("| %s | %.2f | %.0f |" % (row.split()[0], cpu, peak))


def check(kilnc, bench_sgemm):
    plain(bench_sgemm)
    whole_runs(kilnc)
    cores(kilnc)
    with tempfile.TemporaryDirectory() as scratch:
        sub_commands(kilnc, scratch)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("simulate", "check"):
        sys.exit(__doc__)
    {"simulate": simulate, "check": check}[sys.argv[1]](
        *(os.path.abspath(p) for p in sys.argv[2:]))
