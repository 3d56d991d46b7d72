"""The worked example of docs/ir.md: what the page says kilnc check prints.

usage: ir_example.py PAGE KILNC FOLDER
"""
import os
import subprocess
import sys

page, kilnc, folder = sys.argv[1:]
with open(page) as f:
    text = f.read()
kernel = text.split("```tir\n")[1].split("```")[0]
cut = text.split("```broken\n")[1].split("```")[0]
assert kernel.count(cut) == 1, "the page shows a piece the kernel has not"
broken = kernel.replace(cut, cut.replace("    barrier\n", ""))
os.makedirs(folder, exist_ok=True)
for source, status in (kernel, 0), (broken, 1):
    with open(os.path.join(folder, "example.tir"), "w") as f:
        f.write(source)
    r = subprocess.run([kilnc, "check", "example.tir"], cwd=folder,
                       stdout=subprocess.PIPE, text=True)
    assert r.returncode == status, r
    assert r.stdout in text, r.stdout
