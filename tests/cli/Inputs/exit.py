"""usage: exit.py STATUS COMMAND... ; checks the exit status, and that a
failure says one sentence on standard error."""
import subprocess
import sys

want, command = int(sys.argv[1]), sys.argv[2:]
run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     text=True, errors="replace")
if run.returncode != want:
    sys.exit("exit %d, expected %d: %s" % (run.returncode, want, run.stderr))
if want > 1 and (run.stderr.count("\n") != 1 or len(run.stderr) < 10):
    sys.exit("not one sentence: %r" % run.stderr)
