"""Templates as a reader meets them: sizes of the files, no definition that is
only a name, and docs/kernel.md, which is a kernel's texts in reading order.

usage: templates.py SOURCE KILNC            TAP
       templates.py SOURCE KILNC --write    writes docs/kernel.md
"""
import os
import re
import subprocess
import sys
import tempfile

LEAST, MOST, ALL = 30, 250, 4600

# An fp8 grouped product: 4 waves on a tile of 256 x 256.
KERNEL = ["grouped", "--arch", "gfx950", "--a", "fp8", "--b", "fp8", "--out",
          "bf16", "--scale", "row", "--groups", "32", "-n", "4096", "-k",
          "7168", "--tile", "256x256x128", "--waves", "2x2", "--schedule",
          "4-wave", "--stages", "2"]
TEXTS = ["gemm", "args", "operands", "grid", "groups", "loop_4wave",
         "epilogue"]

HEAD = """# A kernel in full

The texts of one kernel in the order in which it is read: an fp8 grouped
product with a scale per row, 4 waves on tiles of 256 x 256 x 128. Lines that
begin with a dot run while the kernel is made ([ir.md](ir.md#templates)); names
without `%%` are facts, of which this kernel's are printed by

```
kilnc generate %s --dump facts
```

and with `--emit asm` instead, each instruction names the line below that it
came from. A test holds this page equal to `templates/`.
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def command():
    words = KERNEL[:]
    lines = [""]
    for w in words:
        if len(lines[-1]) + len(w) > 60 and w.startswith("-"):
            lines[-1] += "\\\n"
            lines.append("    ")
        lines[-1] += w + " "
    return "".join(lines).strip()


def page(source):
    out = [HEAD % command()]
    for name in TEXTS:
        text = read(os.path.join(source, "templates", name + ".tir"))
        out.append("\n## %s.tir\n\n```\n%s```\n" % (name, text))
    return "".join(out)


def texts_of(kilnc):
    """The templates that the kernel's instructions name."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "k.s")
        subprocess.run([kilnc, "generate"] + KERNEL +
                       ["--emit", "asm", "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
        return set(re.findall(r"(\w+)\.tir:\d+", read(path)))


def sizes(texts, least=LEAST, most=MOST, total=ALL):
    """What is too short, too long, too much."""
    n = {name: text.count("\n") for name, text in texts.items()}
    bad = ["%s has %d lines" % (k, v) for k, v in n.items()
           if not least <= v <= most]
    if sum(n.values()) > total:
        bad.append("%d lines together" % sum(n.values()))
    return bad


def names_only(texts):
    """Definitions of under three lines that are called once, in their own
    file: a name for what could stand there."""
    bad = []
    for name, text in texts.items():
        for d in re.finditer(r"^\.def (\w+)\(.*\n((?:(?!\.end).*\n)*)\.end",
                             text, re.M):
            body = [line for line in d.group(2).split("\n") if line.strip()]
            calls = sum(len(re.findall(r"(?:^|: )\s*%s\(" % d.group(1), t,
                                       re.M)) for t in texts.values())
            if calls == 0 and d.group(1) != "main_loop":
                bad.append("%s: %s is never called" % (name, d.group(1)))
            if len(body) < 3 and calls == 1:
                bad.append("%s: %s is called once" % (name, d.group(1)))
    return bad


def known(facts, headers):
    """Names of facts.def, and the words that they may be."""
    for name, words in re.findall(r'#define (\w+) +\\?\s*((?:"[^"]*"\s*\\?\s*)+)',
                                  headers):
        facts = facts.replace(name, words.replace("\\", ""))
    for name, rows in re.findall(r"#define (KILN_\w+)\(X\)"
                                 r"((?:[^\n]*\\\n)*[^\n]*)", headers):
        facts = facts.replace("&(%s(KN_SPACED))[1]" % name, '"%s"' %
                              " ".join(re.findall(r'"(\w+)"', rows)))
    names = set(re.findall(r"^[NTW]\((\w+),", facts, re.M))
    for row in re.findall(r"^W\(\w+,.*?\)$", facts, re.M | re.S):
        words = re.search(r'"[^"]*"(\s*"[^"]*")*', row)
        names |= set(words.group(0).replace('"', " ").split())
    return names


def blocks(line):
    """A line and what stands behind the colons of its one-line blocks."""
    parts = []
    while re.match(r"\s*\.(if|elif|else|for)\b", line):
        bare = re.sub(r"'[^']*'", lambda m: "'" * len(m.group(0)), line)
        choices, at = 0, None
        for i, c in enumerate(bare):
            if c == ":" and not choices:
                at = i
                break
            choices += (c == "?") - (c == ":")
        if at is None:
            break
        parts.append(line[:at])
        line = line[at + 1:]
    return parts + [line]


def expressions(line):
    """What is computed in a line of a template."""
    return [e for part in blocks(line.split(";")[0])
            for e in expressions_of(part)]


def expressions_of(line):
    head = line.strip().split(" ")[0]
    if head in (".if", ".elif"):
        return [line.split(head, 1)[1]]
    if head == ".for":
        return [line.split(" in ", 1)[1].replace("..", " ")]
    if re.match(r"\s*\w+\(.*\)$", line.rstrip()):
        return [line[line.index("(") + 1:line.rindex(")")]]
    return re.findall(r"\$(\w+)", line) + re.findall(
        r"\$\(((?:[^()]|\([^()]*\))*)\)", line)


def unknown(name, text, facts):
    """Names that neither the definition around a line nor the facts have,
    in branches that no kernel takes too."""
    bad, bound = [], set()
    for number, line in enumerate(text.split("\n"), 1):
        d = re.match(r"\.def \w+\((.*)\)", line)
        if d:
            bound = set(re.findall(r"\w+", d.group(1)))
            continue
        bound |= set(re.findall(r"\.for (\w+) in", line))
        for e in expressions(line):
            e = re.sub(r"'([^']*)'", lambda m: " ".join(
                re.findall(r"\$\(?(\w+)", m.group(1))), e)
            bad += ["%s.tir:%d: %s" % (name, number, w)
                    for w in re.findall(r"\b[A-Za-z_]\w*", e)
                    if w not in bound and w not in facts]
    return sorted(set(bad))


def main(source, kilnc, write):
    folder = os.path.join(source, "templates")
    texts = {n[:-4]: read(os.path.join(folder, n))
             for n in sorted(os.listdir(folder)) if n.endswith(".tir")}
    doc = os.path.join(source, "docs", "kernel.md")
    if write:
        with open(doc, "w", encoding="utf-8") as f:
            f.write(page(source))
        return 0
    used = texts_of(kilnc)
    fires = sizes({"a": "x\n" * 29, "b": "x\n" * 251}, total=100)
    short = names_only({"a": ".def f()\nx\n.end\n", "b": ".if 1: f()\n"})
    unused = names_only({"a": ".def f()\nx\n.end\n"})
    facts = known(read(os.path.join(source, "gen", "facts.def")),
                  read(os.path.join(source, "gen", "instantiate.h")) +
                  read(os.path.join(source, "runtime", "kiln.h")))
    typo = unknown("a", ".def f(x)\n.if x && fact\n$y $(x+'z$q')\n.end\n"
                   ".if r ? x : x: .for i in 0..s: f(t, i)\n.end\n", {"fact"})
    checks = [
        ("%d templates of %d to %d lines, at most %d together"
         % (len(texts), LEAST, MOST, ALL), sizes(texts)),
        ("what is too short, too long or too much is found",
         [] if len(fires) == 3 else ["found %s" % fires]),
        ("definitions are more than a name", names_only(texts)),
        ("a definition that is one is found",
         [] if len(short) == 1 and len(unused) == 1 else [str(short)]),
        ("every name is a fact, a word or bound around its line",
         sum((unknown(n, t, facts) for n, t in texts.items()), [])),
        ("a name that is not is found",
         [] if typo == ["a.tir:3: q", "a.tir:3: y", "a.tir:5: r",
                        "a.tir:5: s", "a.tir:5: t"] else typo),
        ("docs/kernel.md is the templates' text",
         [] if os.path.exists(doc) and read(doc) == page(source)
         else ["templates.py SOURCE KILNC --write renews it"]),
        ("docs/kernel.md has what the kernel's instructions name",
         sorted(used - set(TEXTS)) + sorted(set(TEXTS) - used - {"args"})),
    ]
    print("1..%d" % len(checks))
    for i, (title, bad) in enumerate(checks, 1):
        print("%sok %d - %s" % ("not " if bad else "", i, title))
        for line in bad:
            print("# " + line)
    return any(bad for _, bad in checks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], "--write" in sys.argv))
