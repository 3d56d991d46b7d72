"""Family quant against formats written from OCP's and LLVM's definitions: every
number of 16 bits, bit by bit, and products of what it made.

usage: quant.py KILNC SCRATCH

Speaks TAP. Nothing of kiln's own reference is used.
"""
import bisect
import ctypes
import math
import os
import random
import struct
import subprocess
import sys

KILNC, DIR = sys.argv[1], sys.argv[2]
# exponent bits, mantissa bits, bias, codes at the top that are no numbers
FORMATS = {"mxfp8": (4, 3, 7, 1), "mxbf8": (5, 2, 15, 4), "mxfp6": (2, 3, 1, 0),
           "mxbf6": (3, 2, 3, 0), "mxfp4": (2, 1, 1, 0),
           ("fp8", "gfx950"): (4, 3, 7, 1), ("bf8", "gfx950"): (5, 2, 15, 4),
           ("fp8", "gfx942"): (4, 3, 8, 0), ("bf8", "gfx942"): (5, 2, 16, 0)}
MODES = ("floor", "round-up", "even", "ceil")
results = []


def report(name, ok, why=""):
    results.append(ok)
    print("%s %d - %s" % ("ok" if ok else "not ok", len(results), name))
    for line in str(why).splitlines() if not ok else []:
        print("# " + line)


def path(name):
    return os.path.join(DIR, name)


def f32(x):
    return ctypes.c_float(x).value


class Format:
    """Codes of magnitudes in their order, which is that of the values."""

    def __init__(self, out, arch):
        self.integer = out == "i8"
        self.fnuz = not self.integer and out in ("fp8", "bf8") and arch == "gfx942"
        self.bits = 8 if self.integer else int(out[-1])
        if self.integer:
            self.values, self.mantissa = [float(n) for n in range(128)], 0
            self.whole = True
            return
        ebits, mbits, bias, lost = FORMATS.get(out) or FORMATS[out, arch]
        self.mantissa, self.least = mbits, 1 - bias
        self.whole = out == "bf8" and self.fnuz     # f16 has an exponent too few
        self.values = []
        for code in range((1 << ebits + mbits) - lost):
            e, m = code >> mbits, code & (1 << mbits) - 1
            self.values.append(math.ldexp(m + (1 << mbits if e else 0),
                                          max(e, 1) - bias - mbits))

    def most(self):
        return self.values[-1]

    def code(self, x):
        """Nearest even, what is beyond the limit is it."""
        v = self.values
        a = min(abs(x), v[-1])
        i = bisect.bisect_right(v, a) - 1
        if i + 1 < len(v):
            low, high = a - v[i], v[i + 1] - a
            i += high < low or (high == low and i % 2)
        sign = math.copysign(1, x) < 0
        if self.integer:
            return -i & 0xff if sign else i
        return i if self.fnuz and not i else i | sign << self.bits - 1

    def code_at_random(self, x, drawn):
        """One of the codes beside x: the upper one if its place and what is drawn carry."""
        v = self.values
        a = min(abs(x), v[-1])
        if not self.whole:          # as f16 would, whose least normal number were the type's
            unit = 2.0 ** (max(math.frexp(a)[1] - 1, self.least) - 10)
            a = min(round(a / unit) * unit, v[-1])
        i = bisect.bisect_right(v, a) - 1
        if i + 1 == len(v):
            return self.code(x)
        step = v[i + 1] - v[i]
        if self.whole:
            moved = f32(x + ((2 * drawn + 1) / 512 - 0.5) * step) * math.copysign(1, x)
            odd = v[i] / step % 2
            i += moved > v[i] + step / 2 or (odd == 1 and moved == v[i] + step / 2)
        else:
            i += (a - v[i]) / step + drawn / 256 >= 1
        return self.code(math.copysign(v[i], x))

    def value(self, code):
        if self.integer:
            return float(code - 256 if code > 127 else code)
        v = self.values[code & (1 << self.bits - 1) - 1]
        return -v if code >> self.bits - 1 else v


def pcg3d(*v):
    """Jarzynski and Olano, Hash Functions for GPU Rendering, JCGT 9(3), 2020."""
    v = list(v)
    for _ in range(2):
        for to, a, b in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            v[to] = (v[to] + v[a] * v[b]) & 0xffffffff
        v = [w ^ w >> 16 for w in v]
    return v


def drawn_byte(seed, row, col):
    x, y, z, s = ((w * 1664525 + more) & 0xffffffff for w, more in (
        (col // 8, 0), (row, 1013904223), (seed & 0xffffffff, 1013904223),
        (seed >> 32, 1013904223)))
    words = pcg3d((x + s) & 0xffffffff, y, z)
    return words[col % 8 // 4] >> 8 * (col % 4) & 0xff


def e8m0(fmt, amax, mode):
    if amax == 0:
        return 0
    m, e = math.frexp(amax)             # m in [0.5, 1)
    top = math.frexp(fmt.most())
    e -= top[1]
    if mode == "round-up":
        e += m > top[0]
    elif mode == "even":
        e += 2 * m >= 2 - 2.0 ** (-fmt.mantissa - 1)
    elif mode == "ceil":
        e += m > 0.5
    return min(max(e + 127, 0), 254)


def quantise(row, fmt, scale, mode="floor", random_row=None):
    """Codes and scales of a row; a block with no finite scale has codes None.
    random_row: seed and number of the row, if codes are rounded so."""
    def code(x, at):
        if random_row is None:
            return fmt.code(x)
        return fmt.code_at_random(x, drawn_byte(*random_row, at))

    step = {"mx32": 32, "block128": 128}.get(scale, len(row))
    codes, scales = [], []
    for at in range(0, len(row), step):
        block = row[at:at + step]
        amax = max(abs(x) if x == x else math.inf for x in block)
        if math.isinf(amax):
            scales.append(255 if scale == "mx32" else math.nan)
            codes += [None] * len(block)
        elif scale == "mx32":
            scales.append(e8m0(fmt, amax, mode))
            codes += [code(math.ldexp(x, 127 - scales[-1]), at + i)
                      for i, x in enumerate(block)]
        else:
            s = f32(max(amax, f32(1e-10)) * f32(1 / fmt.most()))
            scales.append(s)
            codes += [code(f32(x * f32(1 / s)), at + i)
                      for i, x in enumerate(block)]
    return codes, scales


def kilnc(*words):
    return subprocess.run([KILNC, "run", *map(str, words)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)


def read(name):
    with open(path(name), "rb") as f:
        return f.read()


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)


def unpack(data, bits, k):
    """Codes of a row that is packed little-endian."""
    n = int.from_bytes(data, "little")
    return [n >> bits * i & (1 << bits) - 1 for i in range(k)]


def numbers(a, words):
    if a == "f16":
        return list(struct.unpack("<%de" % len(words),
                                  struct.pack("<%dH" % len(words), *words)))
    return list(struct.unpack("<%df" % len(words),
                              struct.pack("<%dI" % len(words),
                                          *[w << 16 for w in words])))


def differences(rows, data, scales, fmt, scale, mode, seed=None):
    """Places where the files are not what they should be."""
    bad = []
    pitch = (len(rows[0]) * fmt.bits + 7) // 8
    size = 1 if scale == "mx32" else 4
    per = len(scales) // len(rows) // size
    for r, row in enumerate(rows):
        want, ws = quantise(row, fmt, scale, mode,
                            None if seed is None else (seed, r))
        got = unpack(data[r * pitch:(r + 1) * pitch], fmt.bits, len(row))
        gs = scales[r * per * size:(r + 1) * per * size]
        gs = list(gs) if size == 1 else list(struct.unpack("<%df" % per, gs))
        bad += ["row %d scale %d is %r, not %r" % (r, i, g, w)
                for i, (g, w) in enumerate(zip(gs, ws))
                if g != w and not (g != g and w != w)]
        bad += ["row %d element %d (%r) is %#x, not %#x" % (r, i, row[i], g, w)
                for i, (g, w) in enumerate(zip(got, want))
                if w is not None and g != w]
    return bad


def made(arch, a, out, scale, m, k, *more):
    done = kilnc("quant", "--arch", arch, "--a", a, "--out", out, "--out-scale",
                 scale, "-m", m, "-k", k, "--a-file", path("a.bin"),
                 "--out-file", path("c.bin"), "--out-scale-file",
                 path("s.bin"), *more)
    return done


def every_number(arch, a, out, scale, mode="floor", shuffled=False, seed=None):
    """The 65536 patterns of 16 bits in their order, or anyhow."""
    words = list(range(65536))
    if shuffled:
        random.Random(3).shuffle(words)
    m, k = (1024, 64) if scale == "mx32" else (256, 256)
    write("a.bin", struct.pack("<65536H", *words))
    done = made(arch, a, out, scale, m, k,
                *(["--quant", mode] if scale == "mx32" else []),
                *(["--round", "stochastic", "--round-seed", seed]
                  if seed is not None else []))
    all_of = numbers(a, words)
    rows = [all_of[r * k:r * k + k] for r in range(m)]
    fmt = Format(out, arch)
    bad = differences(rows, read("c.bin"), read("s.bin"), fmt, scale, mode, seed)
    report("%s %s to %s %s %s%s%s" % (arch, a, out, scale, mode,
                                      ", shuffled" if shuffled else "",
                                      "" if seed is None else ", seed %d" % seed),
           done.returncode == 0 and not bad, "\n".join(bad[:4]) + done.stdout)


def transposed(arch, a, out, scale, m, k, *more):
    """The same as of what numpy's transpose would be: here by hand."""
    rng = random.Random(m * k)
    words = [rng.randrange(0x3000, 0x4400) | rng.randrange(2) << 15
             for _ in range(m * k)]
    write("a.bin", struct.pack("<%dH" % (m * k), *words))
    seed = more[more.index("--round-seed") + 1] if "--round-seed" in more else None
    done = made(arch, a, out, scale, m, k, "--transpose", *more)
    all_of = numbers(a, words)
    rows = [[all_of[r * k + c] for r in range(m)] for c in range(k)]
    bad = differences(rows, read("c.bin"), read("s.bin"), Format(out, arch), scale,
                      "floor", seed)
    report("%s %s to %s %s of %dx%d, transposed %s" % (
        arch, a, out, scale, m, k, " ".join(map(str, more))),
        done.returncode == 0 and not bad, "\n".join(bad[:4]) + done.stdout)


def both(arch, a, out, scale, m, k, *more):
    """One launch's two outputs: of the rows, and of the columns, by hand."""
    rng = random.Random(m * k + 1)
    words = [rng.randrange(0x3000, 0x4400) | rng.randrange(2) << 15
             for _ in range(m * k)]
    write("a.bin", struct.pack("<%dH" % (m * k), *words))
    seed = more[more.index("--round-seed") + 1] if "--round-seed" in more else None
    done = made(arch, a, out, scale, m, k, "--dual", "--out2-file", path("c2.bin"),
                "--out2-scale-file", path("s2.bin"), *more)
    all_of = numbers(a, words)
    rows = [all_of[r * k:r * k + k] for r in range(m)]
    turned = [[row[c] for row in rows] for c in range(k)]
    bad = []
    for what, c, s in ((rows, "c.bin", "s.bin"), (turned, "c2.bin", "s2.bin")):
        bad += differences(what, read(c), read(s), Format(out, arch), scale, "floor", seed)
    report("%s %s to %s %s of %dx%d, both ways %s" % (
        arch, a, out, scale, m, k, " ".join(map(str, more))),
        done.returncode == 0 and not bad, "\n".join(bad[:4]) + done.stdout)


def a_wrong_bit_is_found():
    fmt = Format("mxfp8", "gfx950")
    row = [float(n - 16) for n in range(32)]
    codes, scales = quantise(row, fmt, "mx32")
    data, s = bytes(codes), bytes(scales)
    fine = not differences([row], data, s, fmt, "mx32", "floor")
    code = differences([row], bytes([data[0] ^ 1]) + data[1:], s, fmt, "mx32",
                       "floor")
    scale = differences([row], data, bytes([s[0] + 1]), fmt, "mx32", "floor")
    report("a wrong code and a wrong scale are found",
           fine and code and scale)
    row = [0.3] * 31 + [1.0]
    codes, scales = quantise(row, fmt, "mx32", "floor", (7, 0))
    same, other, nearest = (differences([row], bytes(codes), bytes(scales), fmt,
                                        "mx32", "floor", s) for s in (7, 8, None))
    report("another seed and nearest even are found",
           not same and other and nearest)


def upward(arch, fraction, seed, m=64, k=1024):
    """Where elements between two codes, at a fraction of the way, went up."""
    write("a.bin", struct.pack("<f", 1 + fraction / 8) * (m * k))
    write("s.bin", struct.pack("<f", 1))
    done = made(arch, "f32", "fp8", "static", m, k, "--round", "stochastic",
                "--round-seed", seed)
    low = Format("fp8", arch).code(1.0)
    return [c - low for c in read("c.bin")] if not done.returncode else []


def rounds_without_bias(arch):
    """Each way as often as it should be, whatever the neighbours did."""
    n, bad, last = 65536, [], None
    for seed, fraction in enumerate((0, 1 / 64, 1 / 3, 0.5, 0.9)):
        fraction = f32(1 + fraction / 8) * 8 - 8
        up = upward(arch, fraction, seed << 31)
        fraction = round(fraction * 128) / 128
        off = 5 * math.sqrt(n * fraction * (1 - fraction))
        if set(up) - {0, 1} or len(up) != n or abs(sum(up) - n * fraction) > off:
            bad.append("%g went up %d times of %d" % (fraction, sum(up), n))
        for lag in (1, 2, 8, 64, 1024) if fraction == 0.5 else ():
            both = sum(a == b for a, b in zip(up, up[lag:]))
            if abs(both - (n - lag) / 2) > 2.5 * math.sqrt(n):
                bad.append("%d of %d are as those %d before" % (both, n, lag))
        last = up if fraction == 0.5 else last
    same, other = upward(arch, 0.5, 3 << 31), upward(arch, 0.5, 3 << 31 | 1)
    alike = sum(a == b for a, b in zip(last, other))
    if same != last or abs(alike - n / 2) > 2.5 * math.sqrt(n):
        bad.append("the seed: %d alike" % alike)
    report("%s stochastic rounding has no bias" % arch, not bad, "\n".join(bad))


def product(arch, out, scale, layout, m=48, k=256):
    """What quant wrote, times the identity: its codes times its scales."""
    rng = random.Random(5)
    fmt = Format(out, arch)
    words = [rng.choice((0x3c00, 0xbc00)) + rng.randrange(0x400)
             for _ in range(m * k)]
    rows = [numbers("bf16", words[r * k:r * k + k]) for r in range(m)]
    where = ["--scale-layout", layout] if layout != "raw" else []
    write("a.bin", struct.pack("<%dH" % (m * k), *words))
    done = made(arch, "bf16", out, scale, m, k, *where)
    unit = fmt.code(1.0)
    write("b.bin", b"".join(
        sum(unit << fmt.bits * j for j in [n])
        .to_bytes(k * fmt.bits // 8, "little") for n in range(k)))
    ones = {"mx32": bytes([127]) * (k * k // 32),
            "row": struct.pack("<f", 1) * k,
            "block128": struct.pack("<f", 1) * (k // 128) ** 2}[scale]
    if layout == "shuffled":
        ones = bytes([127]) * (k * k // 32)
    write("sb.bin", ones)
    run = kilnc("gemm", "--arch", arch, "--a", out, "--b", out, "--out", "f32",
                "--scale", scale, "-m", m, "-n", k, "-k", k, *where, "--a-file",
                path("c.bin"), "--a-scale-file", path("s.bin"), "--b-file",
                path("b.bin"), "--b-scale-file", path("sb.bin"), "--out-file",
                path("p.bin"))
    ok = done.returncode == 0 and run.returncode == 0
    got = struct.unpack("<%df" % (m * k), read("p.bin")) if ok else []
    bad = []
    for r, row in enumerate(rows):
        codes, scales = quantise(row, fmt, scale)
        step = k // len(scales)
        for i, c in enumerate(codes):
            s = scales[i // step]
            s = 2.0 ** (s - 127) if scale == "mx32" else s
            want = fmt.value(c) * s
            if ok and abs(got[r * k + i] - want) > abs(want) * 2.0 ** -22:
                bad.append("[%d, %d] is %r, not %r" % (r, i, got[r * k + i],
                                                       want))
    report("%s gemm reads %s %s %s of quant" % (arch, out, scale, layout),
           ok and not bad, "\n".join(bad[:3]) + done.stdout + run.stdout)


os.makedirs(DIR, exist_ok=True)
a_wrong_bit_is_found()
for ARCH in ("gfx950", "gfx942"):
    for OUT in ("mxfp8", "mxbf8", "mxfp6", "mxbf6", "mxfp4"):
        every_number(ARCH, "bf16", OUT, "mx32")
        every_number(ARCH, "f16", OUT, "mx32", shuffled=True)
    for MODE in MODES[1:]:
        for OUT in ("mxfp8", "mxfp4", "mxbf6"):
            every_number(ARCH, "f16", OUT, "mx32", MODE)
    for OUT in ("fp8", "bf8", "i8"):
        every_number(ARCH, "f16", OUT, "row")
        every_number(ARCH, "bf16", OUT, "block128")
    for OUT in ("mxfp8", "mxbf8", "mxfp6", "mxbf6", "mxfp4"):
        every_number(ARCH, "bf16", OUT, "mx32", seed=0xfedcba9876543)
    for OUT in ("fp8", "bf8", "i8"):
        every_number(ARCH, "f16", OUT, "row", seed=5)
    every_number(ARCH, "bf16", "fp8", "block128", seed=1 << 62)
    rounds_without_bias(ARCH)
    for M, K in ((128, 64), (200, 72), (33, 45)):
        transposed(ARCH, "bf16", "mxfp8", "mx32", M, K)
        transposed(ARCH, "f16", "mxfp4", "mx32", M, K, "--round", "stochastic",
                   "--round-seed", 9)
        transposed(ARCH, "f16", "fp8", "block128", M, K)
        both(ARCH, "bf16", "mxfp8", "mx32", M, K)
        both(ARCH, "f16", "mxfp6", "mx32", M, K, "--round", "stochastic",
             "--round-seed", 9)
        both(ARCH, "f16", "i8", "block128", M, K)
        both(ARCH, "bf16", "fp8", "row", M, K, "--round", "stochastic", "--round-seed", 3)
        both(ARCH, "f16", "i8", "row", M, K)
    product(ARCH, "mxfp8", "mx32", "raw")
    product(ARCH, "mxfp4", "mx32", "raw")
    product(ARCH, "mxfp6", "mx32", "raw")
    product(ARCH, "fp8", "row", "raw")
    product(ARCH, "i8", "row", "raw")
    product(ARCH, "fp8", "block128", "raw")
    product(ARCH, "bf8", "block128", "transposed")
product("gfx950", "mxfp8", "mx32", "shuffled")
product("gfx950", "mxfp4", "mx32", "shuffled")
print("1..%d" % len(results))
sys.exit(not all(results))
