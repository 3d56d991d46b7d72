"""Every kernel of objects.csv, followed through a launch: each sum takes each K
once, ascending, A's and B's the same (docs/ir.md, "The order of a sum").

usage: sums.py SAME OBJECTS.csv
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SAME, OBJECTS = sys.argv[1:3]

# Kernels that add without matrix instructions, and rows that no launch has.
NOT_FOLLOWED = re.compile(
    r"refused [23]: (the order of sums|split-K counts|"
    r"the kernel was compiled for)")


def lines():
    done = subprocess.run([SAME, "sums", "row", OBJECTS], text=True, check=True,
                          stdout=subprocess.PIPE)
    return done.stdout.splitlines()


def every_kernel_takes_each_k_once():
    said = lines()
    followed = [s for s in said if re.match(r"\d+,[^,]*,\d+ \d+ \d+$", s)]
    wrong = [s for s in said
             if s not in followed and not NOT_FOLLOWED.search(s)]
    if wrong:
        return "\n".join(wrong)
    if len(followed) * 10 < len(said) * 9:
        return "%d of %d kernels were followed" % (len(followed), len(said))
    return None


sys.exit(tap.main([every_kernel_takes_each_k_once]))
