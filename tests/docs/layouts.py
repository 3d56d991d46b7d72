"""Draws the pictures of layouts in docs/pictures, or compares them with what
it would draw.

usage: layouts.py PLACES SOURCE [--write]

PLACES is the program of places.c: numbers in the pictures are kiln's own maps.
"""
import html
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402

STYLE = (
    "text{fill:#222}.f{fill:#fff}.l{stroke:#555;fill:none}"
    ".c0{fill:#cfe3f7}.c1{fill:#d5ecd0}.c2{fill:#fbe3c0}.c3{fill:#ead6f0}"
    ".u{fill:#eee}rect{stroke:#777;stroke-width:.6}.f{stroke:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.f{fill:#1e2129}"
    ".c0{fill:#28466b}.c1{fill:#2d5330}.c2{fill:#6b4a1c}.c3{fill:#553063}"
    ".u{fill:#333}.l{stroke:#aaa}}")


class Picture:
    def __init__(self, width, height, title):
        self.head = (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
            'width="%d" height="%d" font-family="sans-serif" font-size="12">\n'
            "<title>%s</title>\n<style>%s</style>\n"
            '<rect class="f" width="%d" height="%d"/>'
            % (width, height, width, height, html.escape(title), STYLE, width,
               height))
        self.parts = []

    def text(self, x, y, words, size=12, anchor="middle"):
        self.parts.append('<text x="%g" y="%g" font-size="%d" text-anchor="%s">'
                          "%s</text>" % (x, y, size, anchor,
                                         html.escape(str(words))))

    def box(self, x, y, w, h, words="", colour="c0", size=12):
        self.parts.append('<rect class="%s" x="%g" y="%g" width="%g" '
                          'height="%g"/>' % (colour, x, y, w, h))
        if words != "":
            self.text(x + w / 2, y + h / 2 + size * .35, words, size)

    def arrow(self, x, y, to_x, to_y):
        """Along one axis; the head is drawn by hand, images have no markers
        that follow the colour scheme."""
        dx = (to_x > x) - (to_x < x)
        dy = (to_y > y) - (to_y < y)
        back, side = 6, 3
        self.parts.append(
            '<path class="l" d="M%g %gL%g %gM%g %gL%g %gL%g %g"/>'
            % (x, y, to_x, to_y,
               to_x - dx * back - dy * side, to_y - dy * back - dx * side,
               to_x, to_y,
               to_x - dx * back + dy * side, to_y - dy * back + dx * side))

    def svg(self):
        return self.head + "\n" + "\n".join(self.parts) + "\n</svg>\n"


def operands(_):
    """The four layouts."""
    p = Picture(960, 190, "A and B of the layouts nt, nn, tn, tt")
    for i, (name, a, b) in enumerate((("nt", "MK", "NK"), ("nn", "MK", "KN"),
                                      ("tn", "KM", "KN"),
                                      ("tt", "KM", "NK"))):
        left = 20 + i * 240
        p.text(left + 100, 20, name, 14)
        for j, (what, axes) in enumerate((("A", a), ("B", b))):
            x = left + 25 + j * 110
            p.box(x, 60, 75, 90, "%s [%s, %s]" % (what, *axes),
                  "c%d" % j)
            p.text(x + 8, 52, axes[1].lower())
            p.arrow(x + 16, 48, x + 60, 48)
            p.text(x - 10, 74, axes[0].lower())
            p.arrow(x - 10, 80, x - 10, 125)
    p.text(480, 178, "the arrow to the right is contiguous in memory")
    return p


def batched(_):
    p = Picture(620, 210, "operands of batched: a stride each")
    for j, (name, parts) in enumerate((
            ("A", (("A of 0", 36, "c0"), ("gap", 24, "u"),
                   ("A of 1", 36, "c1"), ("gap", 24, "u"))),
            ("B", (("B of 0", 60, "c0"), ("B of 1", 60, "c1"))),
            ("C", (("C of 0", 36, "c0"), ("gap", 24, "u"),
                   ("C of 1", 36, "c1"), ("gap", 24, "u"))))):
        x, y = 30 + j * 200, 45
        p.text(x + 75, 25, "%s0 + g * stride_%s" % (name, name.lower()))
        for words, h, colour in parts:
            p.box(x, y, 150, h, words, colour)
            y += h
        p.text(x + 75, y + 22, "...")
    return p


GROUPS = ((3, "c0"), (0, "c1"), (4, "c2"))


def grouped(_):
    p = Picture(680, 260, "grouped: rows of three groups, the second is empty")
    p.text(120, 22, "A [rows, K]")
    p.text(335, 22, "B [G, N, K]")
    p.text(560, 22, "C [rows, N]")
    y, begin = 40, 0
    for g, (rows, colour) in enumerate(GROUPS):
        if rows:
            p.text(40, y + 5, "OFFS[%d] = %d" % (g, begin), 11)
            p.box(80, y, 80, rows * 20, "group %d" % g, colour)
            p.box(520, y, 80, rows * 20, "group %d" % g, colour)
        p.box(300, 40 + g * 60, 70, 50, "B of %d" % g, colour)
        if rows:
            middle = 65 + g * 60
            p.arrow(375, middle, 515, middle)
            p.text(445, middle - 6, "rows %d..%d" % (begin, begin + rows - 1),
                   11)
        else:
            p.text(40, y - 9, "OFFS[%d] = %d" % (g, begin), 11)
            p.text(445, 65 + g * 60, "no rows", 11)
        y += rows * 20
        begin += rows
    p.text(40, y + 5, "OFFS[3] = %d" % begin, 11)
    p.box(80, y, 80, 44, "unused", "u")
    p.box(520, y, 80, 44, "untouched", "u")
    p.text(340, 250, "past OFFS[G]: never read, never written")
    return p


def wgrad(_):
    p = Picture(640, 250, "wgrad: an output a group, summed over its rows")
    p.text(90, 22, "A [rows, M]")
    p.text(240, 22, "B [rows, N]")
    p.text(520, 22, "C [G, M, N]")
    y = 40
    for g, (rows, colour) in enumerate(GROUPS):
        at = 40 + g * 65
        if rows:
            p.box(50, y, 80, rows * 20, "group %d" % g, colour)
            p.box(200, y, 80, rows * 20, "group %d" % g, colour)
            p.arrow(290, at + 25, 470, at + 25)
            p.text(380, at + 18, "A%d\u1d40 B%d" % (g, g))
            p.box(480, at, 80, 50, "C of %d" % g, colour)
        else:
            p.box(480, at, 80, 50, "zeros", "u")
            p.text(380, at + 30, "no rows: 0, or C with beta 1", 11)
        y += rows * 20
    return p


def split_k(_):
    p = Picture(700, 250, "split-K: shares of a tile and the workspace")
    p.text(170, 22, "a tile's K, --split-k 3")
    for s in range(3):
        p.box(40 + s * 90, 40, 90, 40, "share %d" % s, "c%d" % s)
        p.arrow(85 + s * 90, 85, 85 + s * 90, 120)
        p.box(45 + s * 90, 125, 80, 36, "BM x BN sums", "c%d" % s, 11)
    p.text(170, 190, "the wave that comes last adds them", 11)
    p.text(170, 206, "in the order of the shares", 11)
    p.text(560, 22, "workspace")
    p.box(480, 40, 160, 40, "65536 counters", "u")
    p.text(472, 45, "0", 11, "end")
    p.text(472, 85, "256 KiB", 11, "end")
    for s in range(3):
        p.box(480, 80 + s * 30, 160, 30, "tile 0: share %d" % s, "c%d" % s)
    p.box(480, 170, 160, 30, "tile 1: share 0")
    p.text(560, 220, "...")
    p.text(560, 240, "counters are 0 before and after a launch", 11)
    return p


def panels(places):
    """32 rows of 8 chunks; a number is the place in units of 16 bytes."""
    p = Picture(640, 620, "preshuffled B: where the chunks of 16 bytes go")
    p.text(320, 20, "rows of 128 bytes: each chunk of 16 bytes has its place")
    for k in range(8):
        p.text(125 + k * 60, 42, "bytes %d.." % (k * 16), 10)
    for row, chunk, place in places["panel"]:
        if chunk == 0:
            p.text(80, 62 + row * 17, "row %d" % row, 10, "end")
        p.box(95 + chunk * 60, 50 + row * 17, 60, 17, place,
              "c%d" % (row // 16 * 2 + chunk % 2), 10)
    p.text(320, 612, "16 rows are a panel; in it chunk after chunk, "
           "each of the 16 rows in turn", 11)
    return p


def scales(places):
    """32 rows of 16 blocks; a number is the byte."""
    p = Picture(700, 640, "shuffled E8M0 scales: the byte of each")
    p.text(350, 20, "32 rows of 16 blocks of 32 K: each scale's byte; one "
           "colour is one lane's dword")
    for block in range(16):
        p.text(112 + block * 36, 42, block, 10)
    for row, block, place in places["scale"]:
        if block == 0:
            p.text(80, 62 + row * 17, "row %d" % row, 10, "end")
        p.box(94 + block * 36, 50 + row * 17, 36, 17, place,
              "c%d" % (place // 4 % 4), 10)
    p.text(350, 614, "a dword has the scales of rows r, r + 16 and of blocks b, "
           "b + 4: what a lane needs", 11)
    p.text(350, 630, "for 32 rows and 256 K, picked by the instruction's "
           "op_sel", 11)
    return p


def runs(found):
    """Operand elements of a row, neighbours in one lane as one run."""
    out = []
    for row, k, lane, element in found:
        if out and out[-1][0] == row and out[-1][3] == lane and k:
            out[-1][2] += 1
        else:
            out.append([row, k, 1, lane, element])
    return out


def lanes(places, name, rows):
    """A operand and result of one instruction."""
    depth = 1 + max(k for _, k, _, _ in places[name])
    cols = 1 + max(j for _, j, _, _ in places[name + ".d"])
    p = Picture(860, 80 + rows * 17, "lanes of " + name)
    p.text(220, 18, name)
    p.text(220, 36, "A: row, K; lane: its elements", 11)
    for row, k, n, lane, element in runs(places[name]):
        if k == 0:
            p.text(34, 62 + row * 17, row, 9, "end")
        if row == 0:
            p.text(40 + (k + n / 2) * 380 / depth, 48, "k %d.." % k, 9)
        p.box(40 + k * 380 / depth, 50 + row * 17, n * 380 / depth, 17,
              "%d: %d..%d" % (lane, element, element + n - 1),
              "c%d" % (lane // rows % 4), 9)
    p.text(650, 36, "D: row, column; lane.register", 11)
    for row, col, lane, element in places[name + ".d"]:
        p.box(460 + col * 384 / cols, 50 + row * 17, 384 / cols, 17,
              "%d.%d" % (lane, element), "c%d" % (lane // cols % 4),
              8 if cols <= 16 else 5)
    return p


PICTURES = {
    "operands": operands, "batched": batched, "grouped": grouped,
    "wgrad": wgrad, "split_k": split_k, "panels": panels, "scales": scales,
    "mfma_bf16": lambda at: lanes(at, "v_mfma_f32_16x16x32_bf16", 16),
    "mfma_f8f6f4": lambda at: lanes(
        at, "v_mfma_scale_f32_16x16x128_f8f6f4", 16),
}


def read_places(program):
    places = {}
    out = subprocess.run([program], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    for line in out.splitlines():
        name, *numbers = line.split()
        places.setdefault(name, []).append([int(n) for n in numbers])
    return places


def main(program, source, write):
    places = read_places(program)

    def drawn(name):
        path = os.path.join(source, "docs", "pictures", name + ".svg")
        new = PICTURES[name](places).svg()
        if write:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
        with open(path, encoding="utf-8") as f:
            return None if f.read() == new else "layouts.py --write renews it"

    def a_moved_element_shows():
        moved = dict(places, panel=[[r, c, p ^ 1] for r, c, p in
                                    places["panel"]])
        if panels(moved).svg() == panels(places).svg():
            return "the picture does not show where elements lie"
        return None

    cases = [a_moved_element_shows]
    for name in PICTURES:
        def case(name=name):
            return drawn(name)
        case.__name__ = name + " is what the maps say"
        cases.append(case)
    return tap.main(cases)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], "--write" in sys.argv))
