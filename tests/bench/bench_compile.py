"""What it costs to get a kernel, in one run, with ratios: kiln cold and warm,
and clang on a kernel for the same job. Writes a Markdown table.

usage: bench_compile.py BENCH_COMPILE KILNC LIBKILNHIP LLVM_BIN [RUNS]

Wall and processor time in milliseconds, the median of RUNS (7). Processor time
leaves out what other programs of the machine do.
"""
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BENCH, KILNC, HIP, LLVM = (os.path.abspath(p) for p in sys.argv[1:5])
RUNS = int(sys.argv[5]) if len(sys.argv) > 5 else 7
HERE = os.path.dirname(os.path.abspath(__file__))
# clang asks for a bundler that Debian leaves out
TOOLS = os.path.join(HERE, "..", "runtime", "tools")
TARGET = {"cold_bf16_256x256": 60, "cold_fp8_256x256": 60,
          "cold_mxfp8_256x256": 60, "cold_mxfp8_small_m": 20,
          "cold_mxfp8_gemv": 20, "memory_hit": 0.02, "disk_hit": 1,
          "fresh_load": 5}
LARGE = "-m 8192 -n 8192 -k 8192 --a "
PROBLEMS = [LARGE + "bf16 --tile 256x256x64", LARGE + "fp8 --tile 256x256x128",
            LARGE + "mxfp8 --tile 256x256x128",
            "-m 32 -n 7168 -k 2048 --a mxfp8", "-m 1 -n 7168 -k 2048 --a mxfp8"]
TEXT = {
    "cold_bf16_256x256": "cold compile, bf16 256x256x64, warm process",
    "cold_fp8_256x256": "cold compile, fp8 256x256x128, warm process",
    "cold_mxfp8_256x256": "cold compile, mxfp8 256x256x128, warm process",
    "cold_mxfp8_small_m": "cold compile, mxfp8 M=32, warm process",
    "cold_mxfp8_gemv": "cold compile, mxfp8 M=1, warm process",
    "fresh_compile": "first compile in a fresh process, bf16 256x256x64",
    "memory_hit": "memory hit",
    "disk_hit": "disk hit, LLVM not loaded",
    "fresh_load": "fresh process, disk hit, loaded on the fake HIP device",
    "fresh_comgr": "the same, read by the system's comgr too",
    "clang": "clang -O3 on a HIP kernel for the same job (bf16 256x256x64)",
}


def usage():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (r.ru_utime + r.ru_stime) * 1e3


def timed(*command, env=None):
    """Median wall and processor milliseconds of whole processes."""
    walls, cpus = [], []
    for _ in range(RUNS):
        wall, cpu = time.monotonic(), usage()
        subprocess.run(command, check=True, env=env,
                       stdout=subprocess.DEVNULL)
        walls.append((time.monotonic() - wall) * 1e3)
        cpus.append(usage() - cpu)
    return statistics.median(walls), statistics.median(cpus)


def inner(*command):
    out = subprocess.run([BENCH, *command], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return {name: (float(wall), float(cpu)) for name, wall, cpu in
            (line.split() for line in out.splitlines())}


def clang(scratch):
    program = os.path.join(LLVM, "clang++")
    if not os.path.exists(program):
        return None
    return timed(program, "-x", "hip", "--offload-arch=gfx950",
                 "--cuda-device-only", "-nogpulib", "-nogpuinc", "-O3", "-c",
                 os.path.join(HERE, "gemm.hip"), "-o",
                 os.path.join(scratch, "gemm.co"),
                 env=dict(os.environ, PATH=":".join((LLVM, TOOLS,
                                                     os.environ["PATH"]))))


def passes(scratch, *problem):
    """LLVM's own account of code generation, costliest pass first."""
    module = os.path.join(scratch, "kernel.ll")
    subprocess.run([KILNC, "generate", "gemm", "--arch", "gfx950", "--emit",
                    "llvm", "-o", module, *problem], check=True,
                   stdout=subprocess.DEVNULL)
    run = subprocess.run([os.path.join(LLVM, "llc"), "-O2", "-mcpu=gfx950",
                          "-time-passes", "-filetype=obj", "-o", os.devnull,
                          module], check=True, text=True,
                         stderr=subprocess.PIPE)
    found = []
    section = run.stderr.split("Pass execution timing report")[1]
    section = section.split("===-----")[1]
    for line in section.splitlines():
        times = re.findall(r"(\d+\.\d+) \( *[\d.]+%\)", line)
        name = line.rsplit("  ", 1)[-1].strip()
        if len(times) == 4 and name != "Total":
            found.append((float(times[2]) * 1e3, name))  # user + system
    return sorted(found, reverse=True)


def main():
    scratch = tempfile.mkdtemp(prefix="kiln-bench-")
    cache = os.path.join(scratch, "cache")
    rows = inner("cold", str(RUNS))
    rows["fresh_compile"] = timed(BENCH, "one")
    inner("fill", cache)
    rows.update(inner("hit", cache))
    rows["fresh_load"] = timed(BENCH, "load", cache, HIP,
                               env=dict(os.environ, KILNC_COMGR_LIBRARY="none"))
    rows["fresh_comgr"] = timed(BENCH, "load", cache, HIP)
    other = clang(scratch)
    if other:
        rows["clang"] = other
    print("| what | wall ms | CPU ms | target ms | clang / this, CPU |")
    print("|---|---|---|---|---|")
    for name, text in TEXT.items():
        if name not in rows:
            continue
        wall, cpu = rows[name]
        ratio = "%.3g" % (other[1] / cpu) if other and cpu else ""
        print("| %s | %.3g | %.3g | %s | %s |" % (text, wall, cpu,
                                                  TARGET.get(name, ""), ratio))
    for problem in PROBLEMS:
        found = passes(scratch, *problem.split())
        total = sum(ms for ms, _ in found)
        print("\n%s: code generation %.1f ms of CPU by llc -time-passes" % (
            problem, total))
        for ms, name in found[:8]:
            print("- %.1f ms (%.0f %%) %s" % (ms, 100 * ms / total, name))
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
