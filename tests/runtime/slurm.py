"""examples/slurm/array.sh on a Slurm of one node, which is started here: the
merged table is the one of a single run, byte by byte, also when its jobs were
killed on the way and the line was run again; many writers of one kernel cache;
the commands of docs/slurm.md.

usage: slurm.py SOURCE BUILD
"""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "tests", "kit"))
import tap  # noqa: E402

KILNC = os.path.join(BUILD, "kilnc")
SCRIPT = os.path.join(SOURCE, "examples", "slurm", "array.sh")
SCRATCH = tempfile.mkdtemp(prefix="kiln-slurm-")
ENV = dict(os.environ, KILNC=KILNC, SLURM_CONF=SCRATCH + "/slurm.conf",
           KILNC_CACHE_DIR=SCRATCH + "/cache")
CONF = """ClusterName=kiln
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=1
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
StateSaveLocation={scratch}/state
SlurmdSpoolDir={scratch}/spool
SlurmctldPidFile={scratch}/slurmctld.pid
SlurmdPidFile={scratch}/slurmd.pid
SlurmctldLogFile={scratch}/slurmctld.log
SlurmdLogFile={scratch}/slurmd.log
SlurmctldPort={ctld}
SlurmdPort={slurmd}
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""
LIST = "family,m,n,k,a,b,out\n" + "".join(
    "gemm,%d,%d,%d,%s,%s,bf16\n" % (64 * i, 32 * (i % 5 + 1), 64 * (i % 3 + 1),
                                    t, t)
    for i in range(1, 9) for t in ("bf16", "fp8"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def path(name):
    return os.path.join(SCRATCH, name)


def run(*words, **env):
    return subprocess.run(words, env=dict(ENV, **env), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          cwd=SCRATCH)


def start():
    """The two daemons, in the foreground, as children."""
    for program in ("slurmctld", "slurmd", "sbatch", "scancel"):
        if not shutil.which(program, path=ENV["PATH"] + ":/usr/sbin"):
            raise tap.Skip("slurm is not installed (slurmctld, slurmd, "
                           "slurm-client)")
    for folder in ("state", "spool"):
        os.makedirs(path(folder), exist_ok=True)
    host = socket.gethostname().split(".")[0]
    with open(path("slurm.conf"), "w", encoding="ascii") as f:
        f.write(CONF.format(host=host, user="root", scratch=SCRATCH,
                            ctld=free_port(), slurmd=free_port()))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
             "env": dict(ENV, PATH=ENV["PATH"] + ":/usr/sbin")}
    made = [subprocess.Popen(["slurmctld", "-D"], **quiet),
            subprocess.Popen(["slurmd", "-D", "-N", host], **quiet)]
    for _ in range(100):
        if "idle" in run("sinfo", "-h", "-o", "%T").stdout:
            return made
        time.sleep(0.2)
    stop(made)
    raise tap.Skip("slurm does not start here: " +
                   open(path("slurmctld.log"), encoding="utf-8").read()[-300:])


def stop(daemons):
    for d in daemons:
        d.send_signal(signal.SIGTERM)
    for d in daemons:
        try:
            d.wait(10)
        except subprocess.TimeoutExpired:
            d.kill()
            d.wait()


def read(name):
    with open(path(name), encoding="ascii") as f:
        return f.read()


def whole_table():
    """Of a run without shards, whose cache is another one."""
    with open(path("list.csv"), "w", encoding="ascii") as f:
        f.write(LIST)
    tap.must(KILNC, "bench", "list.csv", "-o", "whole.csv", cwd=SCRATCH,
             env=dict(ENV, KILNC_CACHE_DIR=path("other")))
    return read("whole.csv")


def with_slurm(case):
    def call():
        daemons = start()
        try:
            return case()
        finally:
            run("scancel", "-u", "root")
            stop(daemons)
    call.__name__ = case.__name__
    return call


@with_slurm
def an_array_of_jobs_makes_the_same_table():
    """Four jobs at a time, all of them writing the same kernel cache."""
    want = whole_table()
    done = run(SCRIPT, "8", "now.csv", "bench", "list.csv")
    if done.returncode or read("now.csv") != want:
        return done.stdout
    again = run(SCRIPT, "8", "now.csv", "bench", "list.csv", SBATCH="false")
    if again.returncode or read("now.csv") != want:
        return "what is done is done again: " + again.stdout
    wrong = run(SCRIPT, "2", "x.csv", "bench", "no.csv")
    return None if wrong.returncode == 1 and "not all of 2 shards" in \
        wrong.stdout else wrong.stdout


@with_slurm
def killed_jobs_go_on_where_they_were():
    want = whole_table()
    line = [SCRIPT, "3", "kill.csv", "bench", "list.csv"]
    first = subprocess.Popen(line, env=ENV, cwd=SCRATCH,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    for _ in range(200):                 # until some rows are there
        rows = sum(read(p).count("\n") for p in
                   glob.glob(path("kill.csv.parts/*.csv")))
        if rows > 6 or first.poll() is not None:
            break
        time.sleep(0.05)
    run("scancel", "--signal=KILL", "--full", "-u", "root")
    run("scancel", "-u", "root")
    killed = first.wait(60)
    parts = sorted(os.path.basename(p) for p in
                   glob.glob(path("kill.csv.parts/*.done")))
    if not killed or len(parts) == 3 or os.path.exists(path("kill.csv")):
        return "nothing was killed: exit %d, %s" % (killed, parts)
    done = run(*line)
    kept = sum(", %d kept" % n in read("kill.csv.parts/%d.log" % i)
               for i in (1, 2, 3) for n in range(1, 9))
    if done.returncode or read("kill.csv") != want:
        return done.stdout
    return None if kept else "no row was kept of the jobs that were killed"


@with_slurm
def the_commands_of_the_page_run():
    whole_table()
    shutil.copy(SCRIPT, path("array.sh"))
    os.makedirs(path("page"), exist_ok=True)
    for name in ("array.sh", "list.csv"):
        shutil.copy(path(name), path("page"))
    with open(os.path.join(SOURCE, "docs", "slurm.md"), encoding="utf-8") as f:
        lines = [s.strip() for s in f if s.startswith("    ")]
    for line in lines:
        done = subprocess.run(line, shell=True, text=True, check=False,
                              stdout=subprocess.PIPE, cwd=path("page"),
                              stderr=subprocess.STDOUT,
                              env=dict(ENV, PATH=BUILD + ":" + ENV["PATH"]))
        if done.returncode:
            return line + "\n" + done.stdout
    return None if len(lines) > 2 else "the page has no commands"


if __name__ == "__main__":
    failed = tap.main([an_array_of_jobs_makes_the_same_table,
                       killed_jobs_go_on_where_they_were,
                       the_commands_of_the_page_run])
    shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(failed)
