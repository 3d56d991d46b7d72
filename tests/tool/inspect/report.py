"""`kilnc report`: the page is whole and shows what it should, in HTML and, if
Chromium is installed, as a browser draws it. Speaks TAP.

usage: report.py KILNC LLVM SOURCE SCRATCH
"""
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

from facts import KERNEL, LOOP

VOID = {"meta", "br", "img"}
PARTS = ["subject", "occupancy", "timeline", "roofline", "lds", "fences", "census"]
CONFLICT = "\n".join((
    "\tv_and_b32_e32 v20, 15, v0", "\tv_mul_u32_u24_e32 v20, 0x100, v20",
    "\tds_read_b128 v[12:15], v20", "\ts_waitcnt lgkmcnt(0)"))
RED, GREEN, BLUE = (0xd0, 0, 0), (0x7f, 0xbf, 0x7f), (0x33, 0x66, 0xcc)


class Page(html.parser.HTMLParser):
    """The document of a page, its nesting, and what it would load."""

    def __init__(self):
        super().__init__()
        self.open, self.bad, self.loads = [], [], []
        self.text, self.inside = "", False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.inside = attrs.get("type") == "application/json"
        for key in "src", "href":
            if key in attrs and not attrs[key].startswith("data:"):
                self.loads.append(attrs[key])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_data(self, data):
        self.text += data if self.inside else ""

    def handle_endtag(self, tag):
        self.inside = False
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)

    def section(self, name):
        return next((s for s in json.loads(self.text)["sections"]
                     if s["id"] == name), {})


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120)


def pixels(path):
    """Colours of a PNG and how many pixels have them (8-bit RGB or RGBA)."""
    with open(path, "rb") as f:
        data = f.read()
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    n = 4 if colour == 6 else 3
    raw, count = zlib.decompress(packed), {}
    before = bytearray(width * n)
    for y in range(height):
        line = bytearray(raw[y * (width * n + 1) + 1:(y + 1) * (width * n + 1)])
        unfilter(raw[y * (width * n + 1)], line, before, n)
        for x in range(0, width * n, n):
            rgb = tuple(line[x:x + 3])
            count[rgb] = count.get(rgb, 0) + 1
        before = line
    return count


def unfilter(kind, line, before, n):
    for i in range(len(line) if kind else 0):
        left = line[i - n] if i >= n else 0
        up, corner = before[i], before[i - n] if i >= n else 0
        if kind == 1:
            add = left
        elif kind == 2:
            add = up
        elif kind == 3:
            add = (left + up) // 2
        else:
            guess = left + up - corner
            add = min((left, up, corner), key=lambda v: abs(guess - v))
        line[i] = (line[i] + add) & 255


def make(kilnc, scratch):
    """A page of a problem, and one of a kernel with bank conflicts."""
    good = os.path.join(scratch, "good.html")
    bad = os.path.join(scratch, "bad.html")
    text = os.path.join(scratch, "bad.s")
    with open(text, "w", encoding="ascii") as f:
        f.write(KERNEL % ("gfx950", LOOP % (0, CONFLICT, 1, "lt", "10")))
    one = run(kilnc, "report", *"gemm --a bf16 -m 1024 -n 1024 -k 2048"
              .split(), "-o", good)
    two = run(kilnc, "report", text, "-o", bad)
    return good, bad, one.returncode == two.returncode == 0


def whole(path):
    page = Page()
    with open(path, encoding="utf-8") as f:
        page.feed(f.read())
    return page


def most_loaded(page):
    """Dwords that one pass asks of a bank."""
    return max(max(a["banks"]) for a in page.section("lds")["accesses"])


def static(good, bad):
    page, other = whole(good), whole(bad)
    yield "well nested", not page.bad and not page.open
    yield "loads nothing", not page.loads
    yield "has every part, the problem first", [
        s["id"] for s in json.loads(page.text)["sections"]] == PARTS
    yield "names sizes and configuration", re.search(
        r"M 1024 N 1024 K 2048 for gfx950\nconfig +tile=",
        page.section("subject")["text"]) is not None
    yield "lists the waits", len(page.section("fences")["rows"]) > 20
    yield "well nested without a certificate", not other.bad and not other.open
    yield "banks are crowded only where there are conflicts", (
        most_loaded(page) == 1 and most_loaded(other) > 3)


def timeline(page):
    """Tracks in order, events inside, and the loop's code with its clocks."""
    s = page.section("timeline")
    tracks = s["timeline"]["tracks"]
    waves = [t for t in tracks if t.startswith("wave ")]
    yield "waves are in order", (
        len(waves) == 4 and tracks[:4] == sorted(waves))
    yield "events are on tracks", all(
        0 <= e[0] < len(tracks) and 0 <= e[2] < 8
        for e in s["timeline"]["events"])
    clocks = [r[1] for r in s["code"]["rows"] if r[1]]
    yield "the loop's instructions have clocks", (
        len(clocks) > 50 and all(int(c) <= s["timeline"]["clocks"]
                                 for c in clocks))
    yield "an instruction is one of the timeline's", {
        r[0] for r in s["code"]["rows"] if "v_mfma" in r[2]} == {
        e[5] for e in s["timeline"]["events"] if e[1].startswith("v_mfma")}


FAMILIES = (
    "batched --a fp8 -m 128 -n 128 -k 512 --batch 2",
    "gemm --a bf16 -m 128 -n 128 -k 2048 --split-k 4",
    "grouped --a bf16 -n 128 -k 512 --group-lens 5,0,70",
    "wgrad --a bf16 -m 128 -n 128 --layout tn --group-lens 100,0,300",
    "moe --stage gemm1 --a bf16 --hidden 512 --inter 256 --experts 4 "
    "--topk 2 --tokens 16",
    "moe --stage gemm2 --a mxfp4 --hidden 256 --inter 1024 --experts 4 "
    "--topk 2 --tokens 16")


def families(kilnc, scratch):
    """Every family has a timeline whose events know their template line."""
    path = os.path.join(scratch, "family.html")
    for words in FAMILIES:
        got = run(kilnc, "report", *words.split(), "-o", path)
        page = whole(path)
        events = page.section("timeline")["timeline"]["events"]
        yield "timeline of " + words.split(" --")[0], (
            got.returncode == 0 and page.section("roofline") != {} and
            sum(e[1].startswith("v_mfma") and ".tir:" in e[6]
                for e in events) > 3)


def drawn(chromium, good, bad, scratch):
    # As root, and in a container whose /dev/shm is small or missing.
    browser = (chromium, "--headless", "--no-sandbox", "--disable-gpu",
               "--disable-dev-shm-usage",
               "--user-data-dir=" + os.path.join(scratch, "profile"))
    shots = []
    for path in good, bad:
        png = os.path.join(scratch, os.path.basename(path) + ".png")
        run(*browser, "--hide-scrollbars", "--window-size=1200,2000",
            "--screenshot=" + png, "file://" + os.path.abspath(path))
        shots.append(pixels(png))
    yield "banks are drawn green", shots[0].get(GREEN, 0) > 2000
    yield "and red with conflicts", (shots[1].get(RED, 0) > 200 and
                                     RED not in shots[0])
    yield "matrix instructions are drawn", shots[0].get(BLUE, 0) > 2000
    dom = run(*browser, "--dump-dom",
              "file://" + os.path.abspath(good)).stdout.decode()
    body = dom.split("</script>")[-1]
    yield "the browser draws every section", re.findall(
        r'<section id="(\w+)"', body) == PARTS
    page = whole(good)
    yield "and every row and event", (
        body.count("<tr") >= len(page.section("fences")["rows"]) and
        body.count('class="event"') ==
        len(page.section("timeline")["timeline"]["events"]))


def main(kilnc, _llvm, _source, scratch):
    os.makedirs(scratch, exist_ok=True)
    good, bad, made = make(kilnc, scratch)
    results = [("pages are made", made)]
    if made:
        results += static(good, bad)
        results += timeline(whole(good))
        results += families(kilnc, scratch)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if made and chromium:
        results += drawn(chromium, good, bad, scratch)
    else:
        results.append(("drawn by a browser # SKIP chromium is not installed",
                        True))
    print("1..%d" % len(results))
    for i, (name, ok) in enumerate(results, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, name))
    return not all(ok for _, ok in results)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
