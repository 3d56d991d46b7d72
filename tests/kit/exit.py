"""usage: exit.py STATUS COMMAND... ; checks the exit status, and that a
failure says one sentence on standard error, and below it at most the line it
is about, a file's or the command line, and a caret. AddressSanitizer's own line about
an allocation that it refuses is not the command's."""
import re
import subprocess
import sys

REFUSED = re.compile(r"==\d+==WARNING: AddressSanitizer failed to allocate "
                     r"[^\n]*\n")

want, command = int(sys.argv[1]), sys.argv[2:]
run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     text=True, errors="replace")
if run.returncode != want:
    sys.exit("exit %d, expected %d: %s" % (run.returncode, want, run.stderr))
PLACE = re.compile(r" *(?:\d+|\$) \| [^\n]*\n      \| *\^\n$")
said = REFUSED.sub("", run.stderr)
said = PLACE.sub("", said)
if want > 1 and (said.count("\n") != 1 or len(said) < 10):
    sys.exit("not one sentence: %r" % said)
