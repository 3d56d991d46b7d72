"""examples/slurm/array.sh on a Slurm of one node, which is started here: the
merged table is the one of a single run, byte by byte, also when its jobs were
killed on the way and the line was run again, of bench, tune, pack and the random
checks; many writers of one kernel cache;
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
           KILNC_CACHE_DIR=SCRATCH + "/cache",
           SOAK=os.path.join(SOURCE, "tests", "num", "soak.py"))
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
SOAK = os.path.join(SOURCE, "tests", "num", "soak.py")


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
    with open(path(name), encoding="latin-1", newline="") as f:
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


def progress(table):
    """What its shards have done: rows of their tables, kernels in the cache."""
    return len(glob.glob(path("cache/*.json"))) + sum(
        read(p).count("\n") for p in glob.glob(path(table + ".parts/*.csv")))


def kill_and_go_on(line, table, want):
    """Kills the jobs of a line in their midst, runs it again; None: its table is
    `want`."""
    before = progress(table)
    first = subprocess.Popen(line, env=ENV, cwd=SCRATCH,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    for _ in range(400):                 # until something is there
        if progress(table) > before + 4 or first.poll() is not None:
            break
        time.sleep(0.02)
    run("scancel", "--signal=KILL", "--full", "-u", "root")
    run("scancel", "-u", "root")
    killed = first.wait(60)
    ended = glob.glob(path(table + ".parts/*.done"))
    if not killed or len(ended) == int(line[1]) or os.path.exists(path(table)):
        return "nothing was killed: exit %d, %s" % (killed, ended)
    done = run(*line)
    return None if done.returncode == 0 and read(table) == want else \
        done.stdout[-1000:]


@with_slurm
def killed_jobs_go_on_where_they_were():
    want = whole_table()
    wrong = kill_and_go_on([SCRIPT, "3", "kill.csv", "bench", "list.csv"],
                           "kill.csv", want)
    kept = sum(", %d kept" % n in read("kill.csv.parts/%d.log" % i)
               for i in (1, 2, 3) for n in range(1, 9))
    return wrong or (None if kept else
                     "no row was kept of the jobs that were killed")


@with_slurm
def killed_searches_find_the_same():
    with open(path("few.csv"), "w", encoding="ascii") as f:
        f.write("".join(LIST.splitlines(True)[:7]))
    other = dict(ENV, KILNC_CACHE_DIR=path("other"))
    tap.must(KILNC, "tune", "few.csv", "--budget", "2", "-o", "one.csv",
             cwd=SCRATCH, env=other)
    tap.must(KILNC, "merge", "one.csv", "-o", "found.csv", cwd=SCRATCH, env=other)
    return kill_and_go_on([SCRIPT, "3", "tuned.csv", "tune", "few.csv", "--budget",
                           "2"], "tuned.csv", read("found.csv"))


@with_slurm
def killed_bundles_are_the_same():
    whole_table()
    tap.must(KILNC, "pack", "list.csv", "--arch", "gfx942,gfx950", "-o",
             "whole.kpk", cwd=SCRATCH, env=dict(ENV, KILNC_CACHE_DIR=path("other")))
    return kill_and_go_on([SCRIPT, "4", "lib.kpk", "pack", "list.csv", "--arch",
                           "gfx942,gfx950"], "lib.kpk", read("whole.kpk"))


@with_slurm
def killed_checks_go_on():
    tap.must(sys.executable, SOAK, KILNC, "1", "18", "--shard", "1/1", "-o",
             "one.txt", cwd=SCRATCH, env=ENV)
    want = run(sys.executable, SOAK, "merge", "one.txt").stdout
    return kill_and_go_on([SCRIPT, "3", "found.txt", "soak", "1", "18"],
                          "found.txt", want)


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
                       killed_searches_find_the_same,
                       killed_bundles_are_the_same, killed_checks_go_on,
                       the_commands_of_the_page_run])
    shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(failed)
