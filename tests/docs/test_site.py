"""The site as a browser has it: every link of a built page leads somewhere, no
page is wider than a phone's or a desk's window, pictures are drawn.

usage: test_site.py SOURCE OUT
"""
import html.parser
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

SOURCE, OUT = sys.argv[1:3]
HTML = os.path.join(OUT, "html")
WIDTHS = (500, 1280)
BROWSER = shutil.which("chromium")


def builder():
    """site.py, which shares its name with a module of Python's own."""
    import importlib.util
    at = os.path.join(os.path.dirname(__file__), "site.py")
    spec = importlib.util.spec_from_file_location("kiln_site", at)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.ids.add(value)
            elif key in ("href", "src") and value:
                self.links.append(value)


def names():
    return sorted(n for n in os.listdir(HTML) if n.endswith(".html") and
                  n != "404.html")


def read(name):
    with open(os.path.join(HTML, name), encoding="utf-8") as f:
        return f.read()


def mkdocs_builds_it():
    if not shutil.which("mkdocs"):
        raise tap.Skip("no mkdocs (Debian: mkdocs, mkdocs-material)")
    status, said = builder().build(SOURCE, OUT)
    return said if status else None


def dead(pages):
    """Links of pages {name: Page} that lead nowhere."""
    bad = []
    for name, page in pages.items():
        for link in page.links:
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            if path in ("", "."):
                path = name if path == "" else "index.html"
            if path not in pages:
                if not os.path.exists(os.path.join(HTML, path)):
                    bad.append("%s: %s" % (name, link))
            elif anchor and anchor not in pages[path].ids:
                bad.append("%s: %s" % (name, link))
    return bad


def need_site():
    if not os.path.exists(os.path.join(HTML, "index.html")):
        raise tap.Skip("the site is not built")


def no_link_is_dead():
    need_site()
    return "\n".join(dead({n: Page(read(n)) for n in names()})) or None


def a_dead_link_shows():
    need_site()
    pages = {n: Page(read(n)) for n in names()}
    pages["index.html"].links += ["nowhere.html", "tour.html#nowhere"]
    found = [d for d in dead(pages) if "nowhere" in d]
    return None if len(found) == 2 else "found %s" % found


def in_browser(name, width, script):
    """What the script leaves in the page's title."""
    need_site()
    if not BROWSER:
        raise tap.Skip("no chromium")
    at = os.path.join(HTML, "probe-%d-%s" % (width, name))
    with open(at, "w", encoding="utf-8") as f:
        f.write(read(name) + "<script>addEventListener('load', () => {"
                "document.title = 'probe ' + (%s)})</script>" % script)
    try:
        out = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
             "--window-size=%d,900" % width, "--virtual-time-budget=3000",
             "--dump-dom", "file://" + at], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, timeout=120,
            check=False).stdout
    finally:
        os.remove(at)
    return re.search(r"<title>probe ([^<]*)</title>", out).group(1)


def no_page_is_wider_than_its_window():
    wide = []
    for width in WIDTHS:
        for name in names():
            got = in_browser(name, width,
                             "document.documentElement.scrollWidth + ' ' + "
                             "innerWidth")
            is_, has = map(int, got.split())
            if is_ > has:
                wide.append("%s at %d: %d pixels" % (name, width, is_))
    return "\n".join(wide) or None


def every_picture_is_drawn():
    blank = []
    for name in names():
        if "<img" not in read(name):
            continue
        got = in_browser(name, WIDTHS[0],
                         "[...document.querySelectorAll('article img')]"
                         ".filter(i => !i.naturalWidth).map(i => i.src)"
                         ".join(' ')")
        if got.strip():
            blank.append("%s: %s" % (name, got))
    return "\n".join(blank) or None


if __name__ == "__main__":
    sys.exit(tap.main([mkdocs_builds_it, no_link_is_dead, a_dead_link_shows,
                       no_page_is_wider_than_its_window,
                       every_picture_is_drawn]))
