"""usage: loops.py SCALE.s OUT.s N ; its kernel made of N small loops.
       loops.py COMMAND... ; ends as the command does, within 10 s of processor
time and 2 GB of memory."""
import os
import resource
import subprocess
import sys

MOST_SECONDS, MOST_KB = 10, 2 << 20

if sys.argv[1].endswith(".s"):
    with open(sys.argv[1]) as f:
        text = f.read()
    start = text.index("\n", text.index("\nscale:") + 1) + 1
    loops = "".join("1: ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n"
                    "s_cbranch_scc0 1b\n" for _ in range(int(sys.argv[3])))
    with open(sys.argv[2], "w") as f:
        f.write(text[:start] + loops + text[text.index("s_endpgm"):])
    sys.exit(0)
run = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if used.ru_utime > MOST_SECONDS:
    sys.exit("%g s of processor time" % used.ru_utime)
# AddressSanitizer's own memory is no matter.
if "ASAN_OPTIONS" not in os.environ and used.ru_maxrss > MOST_KB:
    sys.exit("%d KB of memory" % used.ru_maxrss)
sys.exit(run.returncode)
