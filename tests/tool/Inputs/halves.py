"""Operands and result of a small bf16 GEMM, and a code object without any
one of its barriers.

usage: halves.py make A B M N K       writes two files of small whole numbers
       halves.py check A B C M N K    compares: C = A * B^T, exact
       halves.py cuts KILNC IN OUT ARG...
                                      IN without any one of its barriers, and a
                                      certificate that does not name them: check
                                      and exec with ARG... must both object
"""
import json
import random
import struct
import subprocess
import sys


def load(path, rows, cols):
    raw = open(path, "rb").read()
    x = [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0]
         for i in range(0, len(raw), 2)]
    assert len(x) == rows * cols
    return [x[r * cols:(r + 1) * cols] for r in range(rows)]


def make(a, b, m, n, k):
    rng = random.Random(4)
    for path, size in ((a, m * k), (b, n * k)):
        with open(path, "wb") as f:
            for _ in range(size):
                f.write(struct.pack("<f", rng.randint(-1, 1))[2:])


def check(a, b, c, m, n, k):
    a, b, c = load(a, m, k), load(b, n, k), load(c, m, n)
    for i in range(m):
        for j in range(n):
            want = sum(x * y for x, y in zip(a[i], b[j]))
            assert c[i][j] == want, (i, j, c[i][j], want)


def without(raw, number):
    barrier, nop = b"\x00\x00\x8a\xbf", b"\x00\x00\x80\xbf"
    at = -4
    for _ in range(number):
        at = raw.find(barrier, at + 4)
        if at < 0:
            return None
    return raw[:at] + nop + raw[at + 4:]


def objects(command):
    return subprocess.run(command, capture_output=True).returncode == 1


def cuts(kilnc, src, dst, *args):
    raw = open(src, "rb").read()
    cert = json.load(open(src + ".cert"))
    del cert["waits"]
    for entry in cert["asynchronous"]:
        entry.pop("barrier", None)
    with open(dst + ".cert", "w") as f:
        json.dump(cert, f)
    number = 1
    while (out := without(raw, number)) is not None:
        open(dst, "wb").write(out)
        assert objects([kilnc, "check", dst]), number
        assert objects([kilnc, "exec", dst, *args]), number
        number += 1
    print(number - 1, "barriers, each missed")


if sys.argv[1] == "make":
    make(*sys.argv[2:4], *map(int, sys.argv[4:]))
elif sys.argv[1] == "check":
    check(*sys.argv[2:5], *map(int, sys.argv[5:]))
else:
    cuts(*sys.argv[2:])
