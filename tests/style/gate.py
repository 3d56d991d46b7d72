"""What the gates share: the files, a small C scanner, TAP output.

A gate is a function files -> list of complaints, where files maps a path
below the root to its text. Each gate is run on the tree and on bad samples
that it must flag, so that a gate that sees nothing is noticed.
"""
import os
import re
import sys

FOLDERS = ("ir", "templates", "gen", "emit", "runtime", "tests", "examples")
TOP = ("README.md", "meson.build", "meson_options.txt", "quickstart.sh",
       ".ci/run")
ENDINGS = (".c", ".h", ".def", ".py", ".sh", ".md", ".tir", ".test", ".map",
           ".build", ".s", ".sig", ".txt")


def read_tree(root):
    files = {}
    for top in TOP:
        path = os.path.join(root, top)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                files[top] = f.read()
    for folder in FOLDERS + ("docs",):
        for base, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                path = os.path.join(base, name)
                if name.endswith(ENDINGS):
                    with open(path, encoding="utf-8") as f:
                        files[os.path.relpath(path, root)] = f.read()
    return files


def c_files(files):
    return {p: t for p, t in files.items() if p.endswith((".c", ".h"))}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


TOKENS = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


def strip_comments(text):
    """Comments become blanks; strings stay."""
    return TOKENS.sub(
        lambda m: blank(m) if m.group(0)[0] == "/" else m.group(0), text)


def strip_c(text):
    """Comments, strings and directives become blanks; lines stay."""
    return DIRECTIVE.sub(blank, TOKENS.sub(blank, text))


def line_of(text, pos):
    return text.count("\n", 0, pos) + 1


HEAD = re.compile(r"(\w+)\s*\(")


def parameters(text):
    """Number of parameters of the list that starts at text[0] == '('. A
    callback and its `void *user` count once, so do a format and its `...`."""
    depth, commas, end = 0, 0, 0
    for end, ch in enumerate(text):
        depth += (ch == "(") - (ch == ")")
        commas += ch == "," and depth == 1
        if not depth:
            break
    inner = text[1:end].strip()
    user = len(re.findall(r"void \*user\b|\.\.\.", inner))
    return 0 if inner in ("", "void") else commas + 1 - user


def functions(text):
    """(name, line, lines, parameters, body, column) of each definition."""
    code = strip_c(text)
    depth = start = 0
    head = None
    for pos, ch in enumerate(code):
        if ch == "{":
            if not depth:
                head = definition(code[start:pos])
                opened = pos
            depth += 1
        elif ch == "}":
            depth -= 1
            if not depth:
                if head:
                    name, offset, params = head
                    at = start + offset
                    first = line_of(code, at)
                    yield (name, first, line_of(code, pos) - first + 1,
                           params, code[opened:pos],
                           at - code.rfind("\n", 0, at) - 1)
                start = pos + 1
        elif ch == ";" and not depth:
            start = pos + 1


def definition(head):
    """(name, offset, parameters) if the text before a brace defines one."""
    if "=" in re.sub(r"\([^()]*\)", "", head) or "(" not in head:
        return None
    if re.match(r"\s*(struct|union|enum)\s+\w*\s*$", head):
        return None
    for m in HEAD.finditer(head):
        if m.group(1) not in ("__attribute__", "_Alignas", "sizeof"):
            return m.group(1), m.start(1), parameters(head[m.end() - 1:])
    return None


def run(root, gates):
    """gates: (name, gate, bad samples as files dictionaries)."""
    files = read_tree(root)
    number = failed = 0
    print("1..%d" % sum(1 + len(bad) for _, _, bad in gates))
    for name, gate, bad in gates:
        number += 1
        complaints = gate(files)
        failed += bool(complaints)
        print("%s %d - %s" % ("not ok" if complaints else "ok", number, name))
        for line in complaints:
            print("# " + line)
        for i, sample in enumerate(bad):
            number += 1
            found = gate(sample)
            failed += not found
            print("%s %d - %s flags sample %d"
                  % ("ok" if found else "not ok", number, name, i + 1))
    sys.exit(1 if failed else 0)
