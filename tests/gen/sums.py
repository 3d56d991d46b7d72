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

# What is no launch, or no walk: tables of groups that lanes read, rows without
# groups, kernels that add without matrix instructions or join by workspace.
NOT_FOLLOWED = re.compile(
    r"refused [23]: (which way it goes depends|groups need|the order of sums|"
    r"split-K counts|the kernel was compiled for)")


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
    if len(followed) * 5 < len(said) * 4:
        return "%d of %d kernels were followed" % (len(followed), len(said))
    return None


sys.exit(tap.main([every_kernel_takes_each_k_once]))
