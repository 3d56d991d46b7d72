"""Scales of MX types of 4 and 6 bits on gfx942, which go into codes where they are near each other
(docs/families.md, "MX on gfx942"): near, far, zero, NaN, by rows and by blocks. Each
launch is compared with the reference, and the instructions it took tell whether blocks
were multiplied one by one.

usage: folded.py KILNC [FIRST COUNT]
"""
import os
import random
import re
import subprocess
import sys
import tempfile

TILES = [(64, 128, 128, "2x4"), (128, 64, 256, "4x2"), (128, 128, 64, "2x2"),
         (256, 64, 64, "2x4"), (96, 128, 128, "2x4"), (64, 64, 256, "2x2"),
         (64, 192, 64, "1x4"), (32, 64, 256, "1x4"), (48, 128, 128, "1x4"), (32, 128, 256, "1x8"),
         (96, 96, 128, "2x2")]
TYPES = [("mxfp4", "mxfp4"), ("mxfp6", "mxfp6"), ("mxbf6", "mxbf6"), ("mxfp6", "mxbf6")]
BITS = {"mxfp4": 4, "mxfp6": 6, "mxbf6": 6}


def near(r, rows, blocks):
    return [[r.randint(125, 128) for _ in range(blocks)] for _ in range(rows)]


def far(r, rows, blocks):
    return [[r.randint(85, 165) for _ in range(blocks)] for _ in range(rows)]


def one(value):
    def scales(r, rows, blocks):
        s = near(r, rows, blocks)
        s[r.randrange(rows)][r.randrange(blocks)] = value
        return s
    return scales


def by_rows(r, rows, blocks):
    """A scale a row, from the least to 2^93."""
    return [[x] * blocks for x in (r.randint(0, 220) for _ in range(rows))]


def small(r, rows, blocks):
    return [[r.randint(96, 104) for _ in range(blocks)] for _ in range(rows)]


def late(r, rows, blocks):
    """Near each other for 256 K, and then much more."""
    return [[r.randint(110, 112) if b < 8 else r.randint(130, 134) for b in range(blocks)]
            for _ in range(rows)]


# Of A and of B.
KINDS = [(near, near), (far, near), (near, far), (far, far), (one(0), near), (near, one(255)),
         (one(230), one(24)), (by_rows, near), (small, near), (late, near), (late, late)]


def request(r):
    bm, bn, bk, waves = r.choice(TILES)
    a, b = r.choice(TYPES)
    return {"--a": a, "--b": b, "-m": r.randint(1, 2 * bm), "-n": r.randint(1, 2 * bn), "-k": 2 * r.randint(8, 400),
            "--tile": "%dx%dx%d" % (bm, bn, bk), "--waves": waves,
            "--out": r.choice(["bf16", "f32"]), "--split-k": r.choice([1, 1, 1, 2]),
            "--seed": r.randrange(1000)}


def codes(folder, bits, rows, k, row, block):
    """A whose codes of one block are all zero."""
    r = random.Random(5)
    a = bytearray(r.randrange(256) for _ in range(rows * k * bits // 8))
    at = (row * k // 8 + 4 * block) * bits
    a[at:at + 4 * bits] = bytes(4 * bits)
    path = os.path.join(folder, "codes")
    with open(path, "wb") as f:
        f.write(a)
    return path


def zeros_of(value):
    def scales(r, rows, blocks):
        s = near(r, rows, blocks)
        s[5][9] = value
        return s
    return scales


def launch(kilnc, folder, what, scales, r):
    words = [kilnc, "run", "gemm", "--device", "sim:gfx942", "--stages", "1", "--schedule",
             "simple"]
    for name, side, make in ("--a-scale-file", "-m", scales[0]), \
                            ("--b-scale-file", "-n", scales[1]):
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            for row in make(r, what[side], (what["-k"] + 31) // 32):
                f.write(bytes(row))
        words += [name, path]
    words += [str(x) for pair in what.items() for x in pair]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def right(n, fine, name, text):
    print("%sok %d - %s" % ("" if fine else "not ", n, name))
    if not fine:
        print("# " + text.replace("\n", "\n# "))


def instructions(kilnc, folder, types, scales):
    what = {"--a": types[0], "--b": types[1], "-m": 64, "-n": 128, "-k": 1024,
            "--tile": "64x128x128", "--waves": "2x4"}
    text = launch(kilnc, folder, what, scales, random.Random(1))[1]
    count = re.search(r"(\d+) wave instructions", text)
    return int(count.group(1)) if count else 0


def check_zeros(kilnc, folder, n, types, value):
    bits = BITS[types[0]]
    what = {"--a": types[0], "--b": types[1], "-m": 64, "-n": 64, "-k": 768,
            "--tile": "64x64x128", "--waves": "2x2",
            "--a-file": codes(folder, bits, 64, 768, 5, 9)}
    status, text = launch(kilnc, folder, what, (zeros_of(value), near), random.Random(3))
    right(n, status == 0, "zeros of scale %d, %s" % (value, types), text)


def check_ways(kilnc, folder, n, types):
    fast, one_far, slow = [instructions(kilnc, folder, types, s) for s in
                           ((near, near), (one(255), near), (far, near))]
    name = "%d instructions of blocks that are folded, %d with one that is not, %d of none, %s"
    right(n, 0 < fast < one_far < slow / 2, name % (fast, one_far, slow, types), "")
    right(n + 1, slow > (3 if BITS[types[0]] == 4 else 2) * fast,
          "blocks apart take their own way", "")


def check(kilnc, first, count):
    print("1..%d" % (count + 4 * len(TYPES)))
    with tempfile.TemporaryDirectory() as folder:
        for n in range(count):
            r = random.Random(first + n)
            what = request(r)
            status, text = launch(kilnc, folder, what, KINDS[(first + n) % len(KINDS)], r)
            right(n + 1, status == 0, " ".join(str(x) for p in what.items() for x in p), text)
        for k, types in enumerate(TYPES):
            n = count + 4 * k
            check_zeros(kilnc, folder, n + 1, types, 0)
            check_zeros(kilnc, folder, n + 2, types, 255)
            check_ways(kilnc, folder, n + 3, types)


if __name__ == "__main__":
    check(sys.argv[1], *([int(x) for x in sys.argv[2:]] or [1, 44]))
