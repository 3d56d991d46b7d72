"""quickstart.sh on made-up systems: every command it starts is a stub that
writes down how it was called. Speaks TAP."""
import os
import pty
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
TOOLS = ("sh", "sed", "grep", "head", "tr", "dirname", "cat", "env")
LLVM = "llvm-22-dev"
LINE = "deb http://mirror/debian-security bookworm-security main\n"

# Each stub answers from files in $BOX: `installed` and `known` hold package
# names; `down` and `deaf` say that the network or the security archive is.
STUBS = {
    "dpkg-query": 'for p; do :; done\n'
                  'grep -qx -- "$p" "$BOX/installed" && printf installed\n',
    "apt-cache": 'if grep -qx -- "$2" "$BOX/known"; then\n'
                 '    echo "  Candidate: 1"\nelse\n'
                 '    echo "  Candidate: (none)"\nfi\n',
    "apt-get": 'case "$*" in\n'
               'indextargets*) echo "bookworm http://mirror/debian/" ;;\n'
               '*--assume-no*) echo "Need to get 7 MB of archives."\n'
               '    echo "After this operation, 9 MB of additional disk" ;;\n'
               'update*) echo "apt-get update" >>"$BOX/log"\n'
               '    [ ! -e "$BOX/down" ] || exit 100\n'
               '    [ -e "$BOX/line" ] || exit 0\n'
               '    [ ! -e "$BOX/deaf" ] || exit 100\n'
               '    echo ' + LLVM + ' >>"$BOX/known" ;;\n'
               '*) echo "apt-get $*" >>"$BOX/log" ;;\nesac\n',
    "id": 'echo "${FAKE_UID:-0}"\n',
    "tee": 'cat >"$BOX/line"; echo "tee $*" >>"$BOX/log"\n',
    "rm": 'echo "rm $*" >>"$BOX/log"\n',
    "meson": 'echo "meson $*" >>"$BOX/log"\n',
    "ninja": 'echo "ninja $*" >>"$BOX/log"\n',
}
SUDO = {"sudo": 'echo "sudo $1" >>"$BOX/log"; "$@"\n'}


class Box:
    """A system: os-release text, packages installed, packages apt knows."""

    def __init__(self, release="ID=debian\nVERSION_ID=12\n", lacks=(),
                 unknown=(), marks=(), stubs=STUBS, uid=0):
        self.dir = tempfile.mkdtemp()
        self.release, self.uid = release, uid
        bin_dir = os.path.join(self.dir, "bin")
        os.mkdir(bin_dir)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), os.path.join(bin_dir, tool))
        for name, text in stubs.items():
            self.script(os.path.join(bin_dir, name), text)
        shutil.copy(os.path.join(ROOT, "quickstart.sh"), self.dir)
        os.mkdir(os.path.join(self.dir, "build"))
        self.script(os.path.join(self.dir, "build", "kilnc"), "echo ran\n")
        packages = self.packages()
        self.write("installed", [p for p in packages if p not in lacks])
        self.write("known", [p for p in packages if p not in unknown])
        self.write("log", [])
        self.write("os-release", [release])
        for mark in marks:
            self.write(mark, [])

    @staticmethod
    def packages():
        with open(os.path.join(ROOT, "quickstart.sh"), encoding="utf-8") as f:
            text = f.read()
        lists = [text.split(name + '="')[1].split('"')[0]
                 for name in ("build_packages", "test_packages")]
        return " ".join(lists).split() + ["chromium"]

    def script(self, path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def write(self, name, lines):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in lines))

    def read(self, name):
        path = os.path.join(self.dir, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as f:
            return f.read()

    def run(self, *args, answer=None):
        env = {"PATH": os.path.join(self.dir, "bin"), "BOX": self.dir,
               "FAKE_UID": str(self.uid),
               "OS_RELEASE": os.path.join(self.dir, "os-release")}
        stdin, master = subprocess.DEVNULL, None
        if answer is not None:
            master, stdin = pty.openpty()
            os.write(master, (answer + "\n").encode())
        done = subprocess.run(
            [os.path.join(self.dir, "bin", "sh"), "quickstart.sh", *args],
            cwd=self.dir, env=env, stdin=stdin, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for fd in () if master is None else (master, stdin):
            os.close(fd)
        result = (done.returncode, done.stdout, self.read("log"),
                  self.read("line"))
        shutil.rmtree(self.dir)
        return result


def without(name):
    return {k: v for k, v in STUBS.items() if k != name}


def nothing_missing():
    code, out, log, _ = Box().run()
    return code == 0 and "ran" in out and "apt-get" not in log and \
        "ninja -C build kilnc" in log


def announces_cost_first():
    _, out, _, _ = Box(lacks=[LLVM]).run()
    return "to download" in out.split("apt's package lists")[0] and \
        "7 MB to download, 9 MB of disk" in out


def adds_security():
    code, _, log, line = Box(lacks=[LLVM], unknown=[LLVM]).run()
    return code == 0 and line == LINE and \
        "apt-get install -y -q --no-install-recommends " + LLVM in log


def asks_on_a_terminal():
    box = dict(lacks=[LLVM], unknown=[LLVM])
    no = Box(**box).run(answer="n")
    yes = Box(**box).run(answer="y")
    flag = Box(**box).run("-y", answer="n")
    return no[0] == 2 and not no[3] and "[Y/n]" in no[1] and \
        yes[0] == 0 and yes[3] == LINE and flag[0] == 0 and flag[3] == LINE


def deaf_security_archive():
    code, out, log, _ = Box(lacks=[LLVM], unknown=[LLVM],
                            marks=["deaf"]).run()
    return code == 2 and "taken back" in out and "rm -f" in log


def network_down():
    code, out, log, line = Box(lacks=["gcc"], unknown=["gcc"],
                               marks=["down"]).run()
    return code == 2 and "no network" in out and "gcc" in out and \
        not line and "install" not in log


def network_down_packages_there():
    code, _, log, _ = Box(lacks=["gcc"], marks=["down"]).run()
    return code == 0 and "install" in log


def no_such_package():
    code, out, log, _ = Box(lacks=["libmd-dev"], unknown=["libmd-dev"]).run()
    return code == 2 and "no package: libmd-dev" in out and \
        "install" not in log


def sudo_is_used():
    code, _, log, _ = Box(lacks=["gcc"], uid=1000,
                          stubs={**STUBS, **SUDO}).run()
    return code == 0 and log.count("sudo") == 2


def neither_root_nor_sudo():
    code, out, log, _ = Box(lacks=["gcc"], uid=1000).run()
    return code == 2 and "apt-get install gcc" in out and not log


def other_debian_is_named():
    code, out, _, _ = Box("ID=ubuntu\nVERSION_ID=24.04\n").run()
    return code == 0 and "ubuntu:24.04 is untested" in out


def no_debian_at_all():
    code, out, _, _ = Box("ID=fedora\nVERSION_ID=40\n",
                          stubs=without("apt-get")).run()
    return code == 2 and "lacking: cc " in out and "jansson" in out


def tests_configure_again():
    box = Box()
    box.write("build/build.ninja", [])
    code, _, log, _ = box.run("test")
    return code == 1 and "meson setup --reconfigure build" in log and \
        "meson test" in log


def no_browser_is_no_reason():
    _, out, log, _ = Box(lacks=["chromium"], unknown=["chromium"]).run("test")
    return "no chromium" in out and "meson test" in log


def bad_words():
    return all(Box().run(*args)[0] == 2 for args in (["tets"], ["test", "x"]))


CASES = [nothing_missing, announces_cost_first, adds_security,
         asks_on_a_terminal, deaf_security_archive, network_down,
         network_down_packages_there, no_such_package, sudo_is_used,
         neither_root_nor_sudo, other_debian_is_named, no_debian_at_all,
         tests_configure_again, no_browser_is_no_reason, bad_words]

print("1..%d" % len(CASES))
wrong = 0
for i, case in enumerate(CASES, 1):
    fine = case()
    wrong += not fine
    print("%s %d - %s" % ("ok" if fine else "not ok", i, case.__name__))
sys.exit(wrong > 0)
