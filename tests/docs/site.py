"""The pages of docs/ as a site, by mkdocs.

usage: site.py SOURCE OUT

OUT/pages are the Markdown pages as mkdocs wants them, in one folder (README.md
is index.md, docs/README.md pages.md), OUT/html is the site.
"""
import os
import re
import shutil
import subprocess
import sys

NAMES = {"README.md": "index.md", "docs/README.md": "pages.md"}


def pages(source):
    return ["README.md"] + sorted(
        "docs/" + n for n in os.listdir(os.path.join(source, "docs"))
        if n.endswith(".md"))


def placed(path):
    """Where a page of the tree is in the site's folder."""
    return NAMES.get(path, os.path.basename(path))


def relinked(name, text, known):
    """Links between pages follow them; a file that is no page keeps its text."""
    def link(match):
        words, target = match.groups()
        path, hash_, anchor = target.partition("#")
        if re.match(r"https?://", target) or not path:
            return match.group(0)
        at = os.path.normpath(os.path.join(os.path.dirname(name), path))
        if at in known:
            return "[%s](%s%s%s)" % (words, placed(at), hash_, anchor)
        if at.startswith("docs/pictures/"):
            return "[%s](%s)" % (words, at[5:])
        return words
    return re.sub(r"(?<!`)\[([^]]*)\]\(([^)\s]+)\)(?!`)", link, text)


def spaced(text):
    """CommonMark ends a paragraph at a list; mkdocs wants an empty line."""
    out, before = [], ""
    for line in text.split("\n"):
        item = re.match(r"([-*]|\d+\.) ", line)
        if item and before and not re.match(r"([-*]|\d+\.) | {2,}", before):
            out.append("")
        out.append(line)
        before = line
    return "\n".join(out)


def gather(source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    known = set(pages(source))
    for name in known:
        with open(os.path.join(source, name), encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(folder, placed(name)), "w",
                  encoding="utf-8") as f:
            f.write(spaced(relinked(name, text, known)))
    shutil.copytree(os.path.join(source, "docs", "pictures"),
                    os.path.join(folder, "pictures"))


def build(source, out):
    """Status and what mkdocs said."""
    out = os.path.abspath(out)
    gather(source, os.path.join(out, "pages"))
    with open(os.path.join(source, "docs", "site.yml"), encoding="utf-8") as f:
        config = f.read()
    at = os.path.join(out, "mkdocs.yml")
    with open(at, "w", encoding="utf-8") as f:
        f.write("docs_dir: pages\nsite_dir: html\n" + config)
    done = subprocess.run(["mkdocs", "build", "-q", "--strict", "-f", at],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, done.stdout


def main(source, out):
    status, said = build(source, out)
    sys.stderr.write(said)
    if status == 0:
        print(os.path.join(out, "html", "index.html"))
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
