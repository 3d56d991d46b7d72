"""Pages of docs/ against the tree: links lead somewhere, every page is listed,
the pages that comments name exist, so do the files and names of reading.md,
the messages of troubleshooting.md are messages.

usage: pages.py SOURCE
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SOURCE = os.path.abspath(sys.argv[1])
FOLDERS = ("gen", "runtime", "ir", "emit", "templates")


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def pages():
    return ["README.md"] + sorted(
        "docs/" + n for n in os.listdir(os.path.join(SOURCE, "docs"))
        if n.endswith(".md"))


def anchors(text):
    """As GitHub names headings."""
    out = set()
    for head in re.findall(r"^#+ (.+)$", re.sub(r"^    .*$", "", text,
                                               flags=re.M), re.M):
        head = re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", head).lower()
        out.add(re.sub(r"[^\w\- ]", "", head).replace(" ", "-"))
    return out


def dead_links(name, text):
    dead = []
    text = re.sub(r"^    .*$|`[^`\n]*`", "", text, flags=re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        at = os.path.normpath(os.path.join(os.path.dirname(name), path)) \
            if path else name
        if not os.path.exists(os.path.join(SOURCE, at)):
            dead.append("%s: %s" % (name, link))
        elif anchor and at.endswith(".md") and \
                anchor not in anchors(read(at)):
            dead.append("%s: no heading %s" % (name, link))
    return dead


def no_link_is_dead():
    dead = [d for n in pages() for d in dead_links(n, read(n))]
    return "\n".join(dead) or None


def every_page_is_listed():
    index = read("docs", "README.md")
    missing = [n for n in pages() if n.startswith("docs/") and
               n != "docs/README.md" and "(%s)" % n[5:] not in index]
    return " ".join(missing) or None


def unknown_pages(text, known):
    """docs/NAME.md that comments name and nobody wrote."""
    return sorted(set(re.findall(r"\bdocs/[a-z0-9-]+\.md", text)) - set(known))


def pages_named_in_code_exist():
    bad = []
    for folder in FOLDERS:
        for at, _, names in os.walk(os.path.join(SOURCE, folder)):
            for n in names:
                if n.endswith((".c", ".h", ".hpp", ".def", ".py", ".tir")):
                    bad += ["%s: %s" % (n, page) for page in
                            unknown_pages(read(at, n), pages())]
    return "\n".join(bad) or None


def sources():
    """All string literals, neighbours joined."""
    text = []
    for folder in FOLDERS:
        for at, _, names in os.walk(os.path.join(SOURCE, folder)):
            text += [read(at, n) for n in names
                     if n.endswith((".c", ".h", ".def", ".py"))]
    joined = re.sub(r'"\s*\n?\s*"', "", "\n".join(text))
    joined = re.sub(r"\\\n\s*", "", joined)
    return re.sub(r"%[-.0-9*l]*[a-zA-Z]|\"\s*PRI[a-z0-9]+\s*\"", "...", joined)


def unknown_messages(page, text):
    bad = []
    for row in re.findall(r"^\| (`.+?`) \|", page, re.M):
        for message in re.findall(r"`([^`]+)`", row):
            bad += [message for part in message.split("...")
                    if len(part.strip()) > 3 and part.strip() not in text]
    return bad


def messages_exist():
    bad = unknown_messages(read("docs", "troubleshooting.md"), sources())
    return "\n".join(bad) or None


def unknown_names(page):
    """Rows | `file` | `names` | of which the file lacks a name, or is none."""
    bad = []
    for file, cell in re.findall(r"^\| `([\w/]+\.\w+)` \| ([^|]*) \|", page, re.M):
        there = os.path.exists(os.path.join(SOURCE, file))
        text = read(file) if there else ""
        bad += ["%s: %s" % (file, n) for n in re.findall(r"`(\w+)`", cell)
                if not re.search(r"\b%s\b" % n, text)]
    return bad


def names_to_read_exist():
    page = read("docs", "reading.md")
    found = len(re.findall(r"^\| `[\w/]+\.\w+` \|", page, re.M))
    return "\n".join(unknown_names(page)) or \
        (None if found > 40 else "%d rows" % found)


def the_checks_fire():
    if not dead_links("docs/x.md", "[a](none.md) [b](api.md#nothing)"):
        return "a dead link passed"
    if dead_links("docs/x.md", "[a](api.md#launch-contract)"):
        return "a link that is right did not"
    if unknown_pages("see docs/api.md, docs/x.md", pages()) != ["docs/x.md"]:
        return "a page that is none passed, or one that is did not"
    if not unknown_messages("| `nobody says this` | why |", sources()):
        return "a message that is none passed"
    if not unknown_names("| `ir/fence.c` | `nobody_calls_this` | why |") or \
            not unknown_names("| `ir/none.c` | `kn_pass_fence` | why |"):
        return "a name that is none passed"
    if unknown_names("| `ir/fence.c` | `kn_pass_fence` | why |"):
        return "a name that is right did not"
    return None


if __name__ == "__main__":
    sys.exit(tap.main([no_link_is_dead, every_page_is_listed,
                       pages_named_in_code_exist, messages_exist,
                       names_to_read_exist, the_checks_fire]))
