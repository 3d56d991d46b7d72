"""What bash and zsh offer for kilnc, against what kilnc's help lists."""
import os
import pty
import re
import select
import shutil
import time

import tap


FAMILIES = "gemm grouped wgrad batched moe quant".split()


def help_of(kilnc, *words):
    """Commands, or the flags of a command, those of one family too, as its
    help lists them."""
    texts = [tap.must(kilnc, *words, "--help")]
    texts += [tap.must(kilnc, "help", *words, f) for f in FAMILIES if words]
    return sorted({x for t in texts for x in
                   re.findall(r"^  (\S+)", t.partition("\nExamples:")[0], re.M)})


def bash_offers(script, line):
    code = """source %s; COMP_LINE=$1; COMP_POINT=${#1}; _kilnc
              printf '%%s\\n' "${COMPREPLY[@]}" """ % script
    return sorted(tap.must("bash", "-c", code, "bash", line).split())


def bash(kilnc, script):
    commands = help_of(kilnc)
    if bash_offers(script, "kilnc ") != commands:
        return "commands: %s" % bash_offers(script, "kilnc ")
    for command in commands:
        want = sorted(help_of(kilnc, command) + ["--help"])
        got = bash_offers(script, "kilnc %s -" % command)
        if got != want:
            return "%s: %s, not %s" % (command, got, want)
    for line, want in (("kilnc run gemm --layout n", "nn nt"),
                       ("kilnc run ge", "gemm"),
                       ("kilnc run --waves ", "adversarial random rr"),
                       ("kilnc exec --device sim:gfx9", "gfx942 gfx950"),
                       ("kilnc time gemm -m ", "")):
        got = bash_offers(script, line)
        if got != want.split():
            return "%r: %s" % (line, got)
    return None


ZSH_SAYS = """_arguments() { print -l -- "$@" }
_describe() { print -l -- "${(@)commands}" }
compadd() { : }; _files() { : }
words=(%s); CURRENT=$#words
source %s/_kilnc
"""


def zsh_offers(folder, *words):
    script = ZSH_SAYS % (" ".join("'%s'" % w for w in words), folder)
    return tap.must("zsh", "-f", "-c", script).splitlines()


def zsh_types(folder, line, whole):
    """What an interactive zsh shows after line and a tab, until it is whole
    or a minute has passed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", PS1="> ", ZDOTDIR=folder)
        os.execvp("zsh", ["zsh", "-f", "-i"])
    seen = b""
    setup = "fpath=(%s $fpath); autoload -U compinit; compinit -u -D; " \
        "bindkey '^I' complete-word; echo rea''dy\r" % folder

    def wait_for(word):
        nonlocal seen
        end = time.monotonic() + 60
        while word not in seen and time.monotonic() < end:
            if select.select([fd], [], [], 1)[0]:
                seen += os.read(fd, 4096)
    os.write(fd, setup.encode())
    wait_for(b"ready")
    seen = b""
    os.write(fd, line.encode() + b"\t")
    wait_for(whole)
    os.close(fd)
    os.waitpid(pid, 0)
    return seen.decode(errors="replace")


def zsh(kilnc, folder):
    if not shutil.which("zsh"):
        raise tap.Skip("zsh is not installed: bash's half passed")
    tap.must("zsh", "-n", os.path.join(folder, "_kilnc"))
    names = sorted(x.split(":")[0] for x in zsh_offers(folder, "kilnc", ""))
    if names != help_of(kilnc):
        return "zsh: %s" % names
    for command in names:
        got = sorted(re.match(r"\*?(-[^[]+)\[", x).group(1)
                     for x in zsh_offers(folder, "kilnc", command, "")
                     if not x.startswith("*:"))
        if got != sorted(help_of(kilnc, command) + ["--help"]):
            return "zsh %s: %s" % (command, got)
    out = zsh_types(folder, "kilnc run gemm --quant rou", b"round-up")
    return None if "round-up" in out else "zsh shows " + out
