"""Conversions to 8 bits are within the range of the type: of each mantissa of
f16 as the largest of its 128 K, on the simulator; and in the code, where both
sources of each conversion come from v_med3 with its limits.

usage: eight_bits.py KILNC
"""
import random
import re
import struct
import subprocess
import sys
import tempfile

ROWS, K, N = 1024, 128, 32
LIMIT = {("fp8", "gfx942"): 240, ("fp8", "gfx950"): 448,
         ("bf8", "gfx942"): 57344, ("bf8", "gfx950"): 57344}
SHAPE = ["-m", str(ROWS), "-n", str(N), "-k", str(K)]
failed = []


def report(ok, name, why=""):
    print(("ok - " if ok else "not ok - ") + name, why)
    if not ok:
        failed.append(name)


def kilnc(*args):
    return subprocess.run([sys.argv[1], *args], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def loose(text, b, arch):
    """Conversions with a source that nothing clamps, of all there are."""
    limit = struct.pack(">f", LIMIT[b, arch]).hex()
    low = struct.pack(">f", -LIMIT[b, arch]).hex()
    holds, bad, seen = {}, 0, 0
    for line in text.splitlines():
        word = re.split(r"[,\s]+", line.strip())
        if word[0] == f"v_cvt_pk_{b}_f32":
            seen += 1
            bad += sum(holds.get(r) != "clamped" for r in word[2:4])
        if len(word) < 3:
            continue
        ends = [holds.get(r, r) for r in word[3:]]
        clamped = word[0] == "v_med3_f32" and ends == ["0x" + low, "0x" + limit]
        move = re.match("[sv]_mov_b32", word[0])
        holds[word[1]] = "clamped" if clamped else word[2] if move else ""
    return bad, seen


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def beyond(bits, limit):
    """Mantissas of which the largest quotient is beyond the limit."""
    def quotient(m):
        m = 1 + m / (1 << bits)
        return f32(m * f32(1 / f32(m * f32(1 / limit))))
    return sum(quotient(m) > limit for m in range(1 << bits))


def write(path, bits):
    with open(path, "wb") as f:
        f.write(struct.pack(f"<{len(bits)}H", *bits))


def rows(rng):
    """Row r: its largest is the mantissa r, anywhere, of any sign and of one
    of 24 exponents; the others are below it."""
    bits = []
    for r in range(ROWS):
        top = rng.randrange(4, 28) << 10 | r
        row = [rng.randrange(top + 1) | rng.randrange(2) << 15
               for _ in range(K)]
        row[rng.randrange(K)] = top | rng.randrange(2) << 15
        bits += row
    return bits


def test_kernel(folder, b, arch):
    name, out = f"{b} {arch}", folder + "/k.s"
    what = ["gemm", "--a", "f16", "--b", b, "--out", "f32", "--scale",
            "tensor", *SHAPE, "--tile", "64x32x128"]
    done = kilnc("run", *what, "--device", "sim:" + arch, "--a-file",
                 folder + "/a.bin")
    report(done.returncode == 0, name + ", each mantissa of f16",
           done.stdout if done.returncode else "")
    kilnc("generate", *what, "--arch", arch, "--emit", "asm", "-o", out)
    with open(out, encoding="ascii") as f:
        text = f.read()
    bad, seen = loose(text, b, arch)
    report(seen > 0 and bad == 0, name + ", clamped", f"{bad} of 2 x {seen}")
    bad, _ = loose(text.replace("v_med3", "v_add3"), b, arch)
    report(bad == 2 * seen, name + ", without a clamp", str(bad))


def main():
    with tempfile.TemporaryDirectory() as folder:
        write(folder + "/a.bin", rows(random.Random(1)))
        for (b, arch), limit in LIMIT.items():
            test_kernel(folder, b, arch)
            report(beyond(7, limit) == 0, f"{b} {arch}, bf16 needs no clamp")
            report(beyond(10, limit) > 0, f"{b} {arch}, f16 does")
    print(f"1..{5 * len(LIMIT)}")
    return 1 if failed else 0


sys.exit(main())
