"""usage: strangers.py SCALE.s FOLDER COMMAND... ; the assembly text with one
hostile line more: the command must end with 2 and one sentence, or with 0, and
tell nothing of the files the line names."""
import os
import resource
import subprocess
import sys

SOURCE, FOLDER, COMMAND = sys.argv[1], sys.argv[2], sys.argv[3:]
LINES = {
    "endless": ('v_mov_b32 v["], v0', "the assembler took more than 4 s"),
    "skip": (".skip 99999999999", "the assembler"),
    "rept": (".rept 1000000000\ns_nop 0\n.endr", "the assembler"),
    "fill": (".fill 999999999, 8, 1", "the assembler"),
    "align": (".p2align 40", ""),
    "deep": (".long " + "(" * 200000 + "1" + ")" * 200000, "the assembler"),
    "nested": (".macro a\na\n.endm\na", ""),
    "incbin": ('.incbin "%s/secret"' % FOLDER, "incbin file"),
    "include": ('.include "%s/secret"' % FOLDER, "include file"),
    "size": (".size foo, bar-baz", None),
}

os.makedirs(FOLDER, exist_ok=True)
with open(os.path.join(FOLDER, "secret"), "w") as f:
    f.write("hush hush\n")
with open(SOURCE) as f:
    text = f.read()
for name, (line, says) in LINES.items():
    path = os.path.join(FOLDER, name + ".s")
    with open(path, "w") as f:
        f.write(text.replace("    .text\n", "    .text\n%s\n" % line, 1))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(COMMAND + [path], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, errors="replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = run.stdout + run.stderr
    if says is not None and (run.returncode != 2 or says not in run.stderr or
                             run.stderr.count("\n") != 1):
        sys.exit("%s: exit %d: %s" % (name, run.returncode, told))
    if run.returncode not in (0, 2) or "hush" in told:
        sys.exit("%s: exit %d: %s" % (name, run.returncode, told))
    if after.ru_utime - before.ru_utime > 8:
        sys.exit("%s: %g s of processor time" % (name, after.ru_utime -
                                                 before.ru_utime))
    # AddressSanitizer's heap is mapped before the child's limit is set.
    if "ASAN_OPTIONS" not in os.environ and after.ru_maxrss > 2 << 20:
        sys.exit("%s: %d KB of memory" % (name, after.ru_maxrss))
