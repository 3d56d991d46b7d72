"""The transcripts of README.md and docs/: their commands are run in order, in
one scratch folder a page, and print what the page says.

usage: replay.py SOURCE BUILD [--write] [PAGE...]

A transcript is an indented block that begins with `$ `; further lines that do
are further commands (a backslash continues one). What follows a command is its
output: a line `...` stands for any lines, times of this machine (`in 130 ms`)
for any time, lines of templates (`args.tir:9`) for any line. An exit status other than 0 is its last line, `[exit 1]`. Comments
before a block say what the reader does not see:

    <!-- file NAME -->      the block is not run but becomes a file
    <!-- $ COMMAND -->      a command that is run, whatever it prints
    <!-- keep A as B -->    file A, which a command above has written, is docs/B
    <!-- needs WORD -->     the page is skipped where NEEDS has no such thing

--write puts what the commands print into the page; of output with `...` the
lines around it stay as many as they are.
"""
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "kit"))
import tap  # noqa: E402

INDENT = "    "
ELLIPSIS = "..."
USES = ["launch.md", "jit.md", "isa-parity.md", "aiter.md", "torch.md",
        "primus-turbo.md", "slurm.md", "foreign.md"]
COMMENT = re.compile(r"<!-- (file|\$|needs|keep) (.+?) -->$")
TIMES = [(re.compile(r"\b\d+ ms\b"), "N ms"),
         (re.compile(r"\bin [\d.]+ s\b"), "in N s"),
         (re.compile(r"\d+\.\d+ ms\b"), "N ms"),
         (re.compile(r"\b(\w+\.tir):\d+ +"), r"\1:N ")]
NEEDS = {
    "numpy": [sys.executable, "-c", "import numpy"],
    "torch": [sys.executable, "-c", "import torch"],
    "cc": ["sh", "-c", "cc --version && pkg-config --version"],
    "hipcc": ["sh", "-c", "c=$(readlink -f $(command -v clang++-22)) && "
              "test -e $(dirname $c)/clang-offload-bundler && "
              "test -e /usr/include/hip/hip_runtime.h"],
    "hip": ["sh", "-c", "echo '#include <hip/hip_runtime_api.h>' | "
            "cc -D__HIP_PLATFORM_AMD__ -fsyntax-only -x c -"],
}


class Block:
    """An indented block: lines without the indent, where they stand, what the
    comments before it said."""

    def __init__(self, first, lines, hidden):
        self.first, self.lines, self.hidden = first, lines, hidden

    @property
    def last(self):
        return self.first + len(self.lines)

    def is_transcript(self):
        return self.lines[0].startswith("$ ")


def blocks_of(lines):
    """Indented blocks, blank lines within them included."""
    hidden, i = [], 0
    while i < len(lines):
        said = COMMENT.match(lines[i].strip())
        if said:
            hidden.append(said.groups())
        elif lines[i].startswith(INDENT) and (i == 0 or not lines[i - 1]
                                              or hidden):
            end = i
            while end < len(lines) and (lines[end].startswith(INDENT) or
                                        not lines[end]):
                end += 1
            while not lines[end - 1]:
                end -= 1
            yield Block(i, [x[len(INDENT):] for x in lines[i:end]], hidden)
            hidden, i = [], end - 1
        elif lines[i]:
            if hidden:
                yield Block(i, [""], hidden)
            hidden = []
        i += 1


def steps_of(lines):
    """(command, its lines, the output's lines) of a transcript."""
    at = 0
    while at < len(lines):
        end = at + 1
        while lines[end - 1].endswith("\\"):
            end += 1
        start = end
        while end < len(lines) and not lines[end].startswith("$ "):
            end += 1
        words = [x.strip().rstrip("\\") for x in lines[at:start]]
        yield " ".join(words)[2:], lines[at:start], lines[start:end]
        at = end


def masked(line):
    for pattern, word in TIMES:
        line = pattern.sub(word, line)
    return line.rstrip()


def parts(lines):
    """Runs of lines between ellipses."""
    out = [[]]
    for line in lines:
        if line.strip() == ELLIPSIS:
            out.append([])
        else:
            out[-1].append(line)
    return out


def find(part, lines, at):
    """Where `part` begins in `lines` from `at` on, -1 if nowhere."""
    for i in range(at, len(lines) - len(part) + 1):
        if lines[i:i + len(part)] == part:
            return i
    return -1


def differs(want, got):
    """None, or the first part of the page that the output does not have."""
    exits = [x[-1:] if x[-1:] and x[-1].startswith("[exit") else []
             for x in (want, got)]
    if exits[0] != exits[1]:
        return exits[0][0] if exits[0] else "(exit 0)"
    want = parts([masked(x) for x in want])
    got = [masked(x) for x in got]
    at = 0
    for i, part in enumerate(want):
        where = find(part, got, at)
        if i == len(want) - 1 and part:
            where = len(got) - len(part) if got[-len(part):] == part and \
                len(got) - len(part) >= at else -1
        if where < 0 or (i == 0 and where):
            return "\n".join(part)
        at = where + len(part)
    return None if len(want) > 1 or at == len(got) else \
        "end of output, not:\n" + "\n".join(got[at:])


def renewed(want, got):
    """The output as the page would show it: parts as long as they were, those
    in the middle found by the two words that begin them."""
    old, new, at = parts(want), [], 0
    if len(old) == 1:
        return got
    if got and got[-1].startswith("[exit") and not old[-1]:
        old[-1] = got[-1:]
    for i, part in enumerate(old):
        where = at
        if i == len(old) - 1:
            where = max(at, len(got) - len(part))
        elif i:
            start = part[0].split()[:2] if part else []
            where = next((j for j in range(at, len(got))
                          if got[j].split()[:2] == start), at)
        new += ([ELLIPSIS] if i else []) + got[where:where + len(part)]
        at = where + len(part)
    return new


class Page:
    def __init__(self, source, build, name):
        self.name, self.path = name, os.path.join(source, name)
        self.pictures = []       # (what was written, what the page shows)
        with open(self.path, encoding="utf-8") as f:
            self.lines = f.read().split("\n")
        self.folder = tempfile.mkdtemp(prefix="kiln-docs-")
        os.symlink(build, os.path.join(self.folder, "build"))
        os.symlink(os.path.join(source, "examples"),
                   os.path.join(self.folder, "examples"))
        own = os.path.join(self.folder, ".bin")
        os.mkdir(own)
        os.symlink(sys.executable, os.path.join(own, "python3"))
        with open(os.path.join(own, "kiln.pc"), "w", encoding="utf-8") as f:
            f.write("Name: kiln\nDescription: of this build\nVersion: 0\n"
                    "Cflags: -I%s/runtime\nLibs: -L%s -lkiln\n"
                    % (source, build))
        paths = {"PATH": own + ":" + build, "LD_LIBRARY_PATH": build,
                 "PKG_CONFIG_PATH": own,
                 "PYTHONPATH": os.path.join(source, "runtime", "python")}
        self.env = dict(os.environ, NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1",
                        KILN_LIBRARY=os.path.join(build, "libkiln.so.0"),
                        KILNC_CACHE_DIR=os.path.join(self.folder, ".cache"),
                        KILN_BUILD=build)
        for name, path in paths.items():
            old = self.env.get(name)
            self.env[name] = path + (":" + old if old else "")

    def shell(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.folder,
                              env=self.env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = done.stdout.replace(self.folder + "/", "")
        lines = [x.rstrip() for x in out.rstrip("\n").split("\n")]
        lines = [] if lines == [""] else lines
        if done.returncode:
            lines.append("[exit %d]" % done.returncode)
        return lines

    def prepare(self, block):
        """Does what comments say; whether the block is to be run."""
        run = block.is_transcript()
        for word, text in block.hidden:
            if word == "file":
                path = os.path.join(self.folder, text)
                with open(path, "w", encoding="utf-8") as f:
                    f.write("\n".join(block.lines) + "\n")
                run = False
            elif word == "$":
                out = self.shell(text)
                if out and out[-1].startswith("[exit"):
                    raise AssertionError("%s\n%s" % (text, "\n".join(out)))
            elif word == "keep":
                made, kept = text.split(" as ")
                self.pictures.append((
                    os.path.join(self.folder, made),
                    os.path.join(os.path.dirname(self.path), kept)))
            elif word == "needs":
                if subprocess.run(NEEDS[text], check=False,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode:
                    raise tap.Skip("%s is not installed" % text)
        return run

    def replay(self):
        """What is wrong, and the page as it would be right."""
        wrong, renew = [], []
        for block in blocks_of(self.lines):
            if not self.prepare(block):
                continue
            text = []
            for command, shown, said in steps_of(block.lines):
                gap = said[:1] == [""]
                # A blank line before the next command is the page's.
                ends = len(said) > gap and said[-1] == ""
                want = said[gap:len(said) - ends]
                got = self.shell(command)
                part = differs(want, got)
                if part is not None:
                    wrong.append("%s:%d: $ %s\nnot printed:\n%s\nbut:\n%s" % (
                        self.name, block.first + 1, command, part,
                        "\n".join(got[:12])))
                    want = renewed(want, got)
                text += shown + [""] * gap + want + [""] * ends
            renew.append((block, text))
        for made, kept in self.pictures:
            if not os.path.exists(kept) or not filecmp.cmp(made, kept, False):
                wrong.append("%s: %s is another picture" % (self.name, kept))
        return wrong, renew

    def write(self, renew):
        for block, text in reversed(renew):
            self.lines[block.first:block.last] = \
                [(INDENT + x).rstrip() if x else x for x in text]
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("\n".join(self.lines))
        for made, kept in self.pictures:
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            shutil.copy(made, kept)

    def close(self):
        shutil.rmtree(self.folder)


def has_commands(path):
    with open(path, encoding="utf-8") as f:
        return any(b.is_transcript() for b in blocks_of(f.read().split("\n")))


def pages_of(source):
    names = ["README.md"] + sorted(
        "docs/" + n for n in os.listdir(os.path.join(source, "docs"))
        if n.endswith(".md"))
    return [n for n in names if has_commands(os.path.join(source, n))]


def case_of(source, build, name, write):
    def case():
        page = Page(source, build, name)
        try:
            wrong, renew = page.replay()
            if wrong and write:
                page.write(renew)
        finally:
            page.close()
        return "\n".join(wrong) or None
    case.__name__ = name
    return case


def the_checker_fires():
    """Each kind of difference is one, and what may differ is none."""
    said = ["a 1", "b", "...", "in 5 ms", "z"]
    for got, fine in ((["a 1", "b", "c", "in 77 ms", "z"], True),
                      (["a 2", "b", "c", "in 77 ms", "z"], False),
                      (["a 1", "b", "in 77 ms", "z", "more"], False),
                      (["x", "a 1", "b", "in 5 ms", "z"], False)):
        if (differs(said, got) is None) != fine:
            return "%r: %r" % (got, differs(said, got))
    if differs(["a"], ["a", "b"]) is None or differs(["a"], []) is None:
        return "an end that is missing, or too much"
    if differs(["..."], ["a", "[exit 1]"]) is None:
        return "a failure"
    new = renewed(said, ["a 2", "b", "c", "in 7 ms", "zz"])
    return None if new == ["a 2", "b", "...", "in 7 ms", "zz"] else str(new)


def short_of(source):
    def the_uses_are_short():
        for name in USES:
            with open(os.path.join(source, "docs", name),
                      encoding="utf-8") as f:
                n = f.read().count("\n")
            if n > 60:
                return "%s has %d lines, at most 60" % (name, n)
        return None
    return the_uses_are_short


def main():
    words = [w for w in sys.argv[1:] if w != "--write"]
    source, build = (os.path.abspath(p) for p in words[:2])
    write = "--write" in sys.argv
    cases = [case_of(source, build, n, write)
             for n in words[2:] or pages_of(source)]
    if not words[2:]:
        cases.append(short_of(source))
    return tap.main([the_checker_fires] + cases)


if __name__ == "__main__":
    sys.exit(main())
