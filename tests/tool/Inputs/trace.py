"""A kernel trace as rocprofv3 writes it, of the kernels of the first two rows of
a list of bf16 products: three launches and two, among others.

usage: trace.py KILNC LIST.csv
"""
import csv
import json
import subprocess
import sys

HEAD = ("Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id",
        "Kernel_Id", "Kernel_Name", "Correlation_Id", "Start_Timestamp",
        "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count",
        "Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X", "Workgroup_Size_Y",
        "Workgroup_Size_Z", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z")


def row(number, kernel, start, ns, block, grid):
    return ["KERNEL_DISPATCH", "Agent 4", 1, 1, 852831, number, 10, kernel, number,
            start, start + ns, 0, 0, 8, 0, 16, *block, *grid]


def kernel_of(kilnc, problem):
    """(name, workgroups, threads of one)."""
    words = [kilnc, "time", problem["family"], "--a", problem["a"], "--json", "-"]
    for size in "mnk":
        words += ["-" + size, problem[size]]
    facts = json.loads(subprocess.run(words, stdout=subprocess.PIPE,
                                      check=True).stdout)
    rows, columns = facts["config"].split("waves=")[1].split()[0].split("x")
    return facts["kernel"]["name"], facts["predicted"]["workgroups"], \
        64 * int(rows) * int(columns)


def main(kilnc, path):
    with open(path) as f:
        problems = list(csv.DictReader(f))
    out = csv.writer(sys.stdout, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    out.writerow(HEAD)
    out.writerow(row(1, "addition_kernel<float>(float*, int)", 1000, 4000,
                     (64, 4, 1), (1024, 16, 1)))
    at = 2
    for problem, times in zip(problems, ((9000, 5000, 6000), (12000, 13000))):
        kernel, workgroups, threads = kernel_of(kilnc, problem)
        for ns in times:
            for name, count in ((kernel + ".kd", workgroups),
                                (kernel, workgroups + 1)):
                out.writerow(row(at, name, at * 100000, ns, (threads, 1, 1),
                                 (threads * count, 1, 1)))
                at += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
