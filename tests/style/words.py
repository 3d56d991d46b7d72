"""docs/words.md, with the schedules of docs/cli.md, has every word of a
configuration line and every verdict of `compare`. Speaks TAP."""
import os
import re
import sys

ROOT = sys.argv[1]


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def keys(text):
    """First words of the rows of config.def."""
    return re.findall(r'^(?:NUMBER|WORD)\("([^"]+)"', text, re.M)


def choices(text, name):
    """Texts of an X list such as KN_SCHEDULES."""
    body = re.search(r"#define %s\(X\)((?:[^\n]*\\\n)*[^\n]*)" % name, text)
    return [w for w in re.findall(r'"([^"]*)"', body.group(1)) if w]


def verdicts(text):
    """First cells of the table under `## compare`."""
    part = text.split("## compare")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", part, re.M)
    return [w for cell in cells for w in re.findall(r"`([^`]+)`", cell)]


def lacking(page, words):
    return [w for w in words if "`%s`" % w not in page]


def wanted():
    gen = read("gen", "config.h") + read("gen", "forms.def")
    lists = re.findall(r", (KN_\w+), ", read("gen", "config.def"))
    words = keys(read("gen", "config.def")) + verdicts(read("docs", "bench.md"))
    for name in lists:
        words += choices(gen, name)
    return [w for w in words if w not in ("any", "none")]


PAGE = read("docs", "words.md") + read("docs", "cli.md").split("## Schedules")[1]
WORDS = wanted()
CASES = [
    ("every word has its sentence", not lacking(PAGE, WORDS),
     lacking(PAGE, WORDS)),
    ("words were found", len(WORDS) > 25, len(WORDS)),
    ("a word that lacks is told", lacking(PAGE, ["no-such-word"]), ""),
]
print("1..%d" % len(CASES))
for i, (name, fine, why) in enumerate(CASES, 1):
    print("%s %d - %s" % ("ok" if fine else "not ok", i, name))
    if not fine:
        print("# %s" % (why,))
sys.exit(not all(fine for _, fine, _ in CASES))
