"""`kilnc report`: the page is whole and shows what it should, in HTML and, if
Chromium is installed, as a browser draws it. Speaks TAP.

usage: report.py KILNC LLVM SOURCE SCRATCH
"""
import html.parser
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

from facts import KERNEL, LOOP

VOID = {"meta", "br", "img"}
CONFLICT = "\n".join((
    "\tv_and_b32_e32 v20, 15, v0", "\tv_mul_u32_u24_e32 v20, 0x100, v20",
    "\tds_read_b128 v[12:15], v20", "\ts_waitcnt lgkmcnt(0)"))
RED, GREEN, BLUE = (0xd0, 0, 0), (0x7f, 0xbf, 0x7f), (0x33, 0x66, 0xcc)


class Page(html.parser.HTMLParser):
    """Nesting, ids, and what the page would load."""

    def __init__(self):
        super().__init__()
        self.open, self.bad, self.ids, self.loads = [], [], [], []
        self.rows = 0

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.rows += attrs.get("class") == "fence"
        for key in "src", "href":
            if key in attrs and not attrs[key].startswith("data:"):
                self.loads.append(attrs[key])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)


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
    one = run(kilnc, "report", *"gemm --a bf16 --b bf16 -m 512 -n 512 -k 512"
              .split(), "-o", good)
    two = run(kilnc, "report", text, "-o", bad)
    return good, bad, one.returncode == two.returncode == 0


def whole(path):
    page = Page()
    with open(path, encoding="utf-8") as f:
        page.feed(f.read())
    return page


def static(good, bad):
    page, other = whole(good), whole(bad)
    yield "well nested", not page.bad and not page.open
    yield "loads nothing", not page.loads
    yield "has every part", set(page.ids) >= {
        "occupancy", "timeline", "roofline", "lds", "fences", "census"}
    yield "lists the waits", page.rows > 20
    yield "well nested without a certificate", not other.bad and not other.open
    with open(good, encoding="utf-8") as f:
        a = f.read()
    with open(bad, encoding="utf-8") as f:
        b = f.read()
    yield "red banks only where there are conflicts", (
        "#d00000" in b and "#d00000" not in a)


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
        with open(path, encoding="utf-8") as f:
            text = f.read()
        yield "timeline of " + words.split(" --")[0], (
            got.returncode == 0 and 'id="roofline"' in text and
            len(re.findall(r"v_mfma\w+: clock \d+, \d+ clocks, \w+\.tir:\d+ "
                           r"mfma", text)) > 3)


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
    yield "the browser keeps every row", len(re.findall(
        'class="fence"', dom)) == whole(good).rows


def main(kilnc, _llvm, _source, scratch):
    os.makedirs(scratch, exist_ok=True)
    good, bad, made = make(kilnc, scratch)
    results = [("pages are made", made)]
    if made:
        results += static(good, bad)
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
