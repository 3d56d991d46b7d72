"""What it costs to add a thing: the files that a dummy of each kind edits.

usage: cost.py SOURCE [BUILD]

A dummy is a file NAME.add of edits: `== FILE` begins those of a file; `>> LINE`
puts what follows it behind that line (leading blanks do not count), `<< LINE`
in front of it, `~~ LINE` in its place; `++` makes the file. `-- FILE` is a page
that a tool has to write anew. `0 $ run gemm` runs kilnc, which has to end with
status 0. The table of README.md has to say how many files each dummy edits,
those pages among them.

With BUILD, a folder to make anew, a copy with all dummies is built there and
each is used: kernels are generated, simulated and checked against the
reference; without a template's part of a dummy that check has to fail.
Speaks TAP.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {                    # dummy: its row of README.md
    "epilogue": "a step of the epilogue",
    "operation": "one with a tile operation of its own",
    "loop": "a main loop",
    "type": "an operand type",
    "family": "a family",
}
WATCHED = ("epilogue", "operation", "loop", "family")
FOLDERS = ("docs", "emit", "examples", "gen", "ir", "runtime", "templates",
           "tests")


class Bad(Exception):
    """An edit that has no place."""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def dummy(name):
    """([(file, place or None, how, text)], [(status, arguments)], [page])."""
    edits, runs, pages, path = [], [], [], None
    for line in read(os.path.join(HERE, name + ".add")).split("\n"):
        run = re.match(r"(\d) \$ (.*)", line)
        if line.startswith("== "):
            path = line[3:]
        elif line.startswith("-- "):
            pages.append(line[3:])
        elif run:
            runs.append((int(run.group(1)), run.group(2).split()))
        elif line[:2] in (">>", "<<", "~~", "++"):
            edits.append((path, line[3:].strip() or None, line[:2], []))
        elif edits:
            edits[-1][3].append(line)
    return [(p, at, how, "\n".join(text).strip("\n"))
            for p, at, how, text in edits], runs, pages


def place(whole, at):
    """Number of the one line that is `at`; None of a file to make."""
    if at is None:
        if os.path.exists(whole):
            raise Bad("%s is there" % whole)
        return None
    found = [i for i, l in enumerate(read(whole).split("\n"))
             if l.strip() == at]
    if len(found) != 1:
        raise Bad("%s: %d lines '%s'" % (whole, len(found), at))
    return found[0]


def apply(root, edits):
    for path, at, how, text in edits:
        whole = os.path.join(root, path)
        i, lines = place(whole, at), [text]
        if at is not None:
            lines = read(whole).split("\n")
            lines[i + (how == ">>"):i + (how != "<<")] = text.split("\n")
        with open(whole, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n" * (at is None))


def copy(source, to):
    """The tree without builds."""
    skip = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in FOLDERS:
        shutil.copytree(os.path.join(source, name), os.path.join(to, name),
                        ignore=skip)
    for name in os.listdir(source):
        if os.path.isfile(os.path.join(source, name)) and name[0] != ".":
            shutil.copy2(os.path.join(source, name), to)


def touched(source, name):
    """Files a dummy edits, each edit's place being there."""
    edits, _, pages = dummy(name)
    for path, at, _, _ in edits:
        place(os.path.join(source, path), at)
    return sorted({path for path, _, _, _ in edits} | set(pages))


def told(readme, row):
    """The number of files README gives a kind."""
    m = re.search(r"^\| %s \| (\d+) \|" % re.escape(row), readme, re.M)
    return int(m.group(1)) if m else None


def wrong_place():
    try:
        place(os.path.join(HERE, "cost.py"), "no such line")
    except Bad:
        return True
    return False


def count(source):
    yield "an edit without a place is found", wrong_place(), ""
    readme = read(os.path.join(source, "README.md"))
    for name, row in KINDS.items():
        try:
            files = touched(source, name)
            yield ("%s: README says the files it edits" % name,
                   told(readme, row) == len(files),
                   "%d: %s" % (len(files), " ".join(files)))
        except Bad as bad:
            yield "%s: every edit has its place" % name, False, bad


def build(tree, folder):
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        subprocess.run(["meson", "setup", folder, tree, "-Dnested=true"],
                       check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["ninja", "-C", folder, "kilnc"], text=True,
                          stdout=subprocess.PIPE)
    if done.returncode:
        raise Bad(done.stdout)
    return os.path.join(folder, "kilnc")


def renewed(kilnc, tree):
    """Pages that the tools write otherwise than they are."""
    kernel = os.path.join("docs", "kernel.md")
    before = read(os.path.join(tree, kernel))
    page = subprocess.run([kilnc, "--help-markdown"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    subprocess.run([sys.executable,
                    os.path.join(tree, "tests", "gen", "templates.py"), tree,
                    kilnc, "--write"], check=True, stdout=subprocess.DEVNULL)
    header = os.path.join(tree, "runtime", "python")
    made = subprocess.run([sys.executable, os.path.join(header, "header.py"),
                           os.path.join(tree, "runtime", "kiln.h")],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    words = "runtime/python/kiln/_header.py"
    changed = {words: made != read(os.path.join(tree, words)),
               kernel: before != read(os.path.join(tree, kernel)),
               "docs/cli.md": page != read(os.path.join(tree, "docs/cli.md"))}
    return {path for path, differs in changed.items() if differs}


def spoil(path, what):
    """Leaves out the line that ends so."""
    lines = read(path).split("\n")
    left = [l for l in lines if not l.endswith(what)]
    if len(left) != len(lines) - 1:
        raise Bad("%s: no line '%s'" % (path, what))
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(left))


def run(kilnc, name, expected=None):
    """Its runs; with `expected`, those that end well have to end so."""
    for status, arguments in dummy(name)[1]:
        if expected is not None and status:
            continue
        done = subprocess.run([kilnc] + arguments, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        want = status if expected is None else expected
        yield ("%s: kilnc %s" % (name, " ".join(arguments)),
               done.returncode == want, done.stdout)


def use(source, folder):
    tree, out = os.path.join(folder, "tree"), os.path.join(folder, "build")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(tree)
    copy(source, tree)
    for name in KINDS:
        apply(tree, dummy(name)[0])
    kilnc = build(tree, out)
    for name in KINDS:
        yield from run(kilnc, name)
    pages = renewed(kilnc, tree)
    yield ("pages that tools write anew",
           pages == {p for name in KINDS for p in dummy(name)[2]}, pages)
    # The reference is what finds what a kernel leaves out.
    for path, what in (("epilogue.tir", "mul %$ACC, 0.5"),
                       ("epilogue.tir", "acc.square %$ACC"),
                       ("loop_backward.tir", "multiply(s, KSTEPS-1-step)"),
                       ("dense.tir", "sub %glast, %g")):
        spoil(os.path.join(tree, "templates", path), what)
    kilnc = build(tree, out)
    for name in WATCHED:
        yield from run(kilnc, name, 1)


def main(source, folder=None):
    cases = list(use(source, folder) if folder else count(source))
    print("1..%d" % len(cases))
    for i, (name, fine, why) in enumerate(cases, 1):
        print("%s %d - %s" % ("ok" if fine else "not ok", i, name))
        if not fine:
            print("# " + str(why).replace("\n", "\n# "))
    return not all(fine for _, fine, _ in cases)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
