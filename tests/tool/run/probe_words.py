"""What probes of transposing reads and of conversions have to give, worked out
from what the ISA manuals say of the instructions and from the definitions of the
formats (OCP 8-bit and MX, IEEE 754; FNUZ of gfx942), with exact numbers and
nothing of kiln. probes.s has these words; `selftest` holds the simulator and a
GPU to them. Speaks TAP.

usage: probe_words.py PROBES.s           compares
       probe_words.py PROBES.s --write   puts them in
"""
import os
import re
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "kit"))
import tap

UNWRITTEN = 0xc7c7c7c7

# ---- numbers: a value is a Fraction and its sign, "inf" or "nan" ------------


class Format:
    """Bits of exponent and mantissa, bias; the largest finite code; codes of
    infinity and NaN without the sign: None where there is none, and then what
    is larger becomes the largest. fnuz: one zero, and NaN where -0 would be."""

    def __init__(self, exp, man, bias, largest, inf=None, nan=None, fnuz=False):
        self.exp, self.man, self.bias = exp, man, bias
        self.largest, self.inf, self.nan, self.fnuz = largest, inf, nan, fnuz

    def value(self, code):
        e, m = code >> self.man, code & ((1 << self.man) - 1)
        if not e:
            return Fraction(m) * Fraction(2) ** (1 - self.bias - self.man)
        return Fraction((1 << self.man) + m) * Fraction(2) ** (e - self.bias - self.man)

    def nearest(self, x):
        """Of the codes that grow without end, the one nearest to x >= 0; of
        two, the even one."""
        code = 0
        for bit in reversed(range(self.exp + self.man + 2)):
            if self.value(code | 1 << bit) <= x:
                code |= 1 << bit
        low, high = x - self.value(code), self.value(code + 1) - x
        return code + (high < low or (high == low and code & 1))

    def encode(self, x):
        sign, size = x
        top = 1 << (self.exp + self.man)
        if size == "nan":
            if self.nan is None:
                return self.largest | sign * top
            return self.nan if self.fnuz else self.nan | sign * top
        code = self.largest + 1 if size == "inf" else self.nearest(size)
        if code > self.largest:
            code = (self.inf if self.inf is not None else
                    self.nan if self.nan is not None else self.largest)
            return code if self.fnuz else code | sign * top
        return code if self.fnuz and not code else code | sign * top


FP8 = {"gfx950": Format(4, 3, 7, 0x7e, nan=0x7f),
       "gfx942": Format(4, 3, 8, 0x7f, nan=0x80, fnuz=True)}
# Of the NaNs of OCP's e5m2 the one that IEEE 754 calls quiet.
BF8 = {"gfx950": Format(5, 2, 15, 0x7b, inf=0x7c, nan=0x7e),
       "gfx942": Format(5, 2, 16, 0x7f, nan=0x80, fnuz=True)}
F16 = Format(5, 10, 15, 0x7bff, inf=0x7c00, nan=0x7e00)
BF16 = Format(8, 7, 127, 0x7f7f, inf=0x7f80, nan=0x7fc0)
FP4 = Format(2, 1, 1, 7)
FP6 = Format(2, 3, 1, 31)
BF6 = Format(3, 2, 3, 31)
F32 = Format(8, 23, 127, 0x7f7fffff)


def single(word):
    sign, code = word >> 31, word & 0x7fffffff
    if code >= 0x7f800000:
        return sign, "inf" if code == 0x7f800000 else "nan"
    return sign, F32.value(code)


def scaled(x, power):
    """x divided by a power of two."""
    return x if isinstance(x[1], str) else (x[0], x[1] / Fraction(2) ** power)


# ---- the probes ---------------------------------------------------------------


def transposed(matrix, columns):
    """Of 16 lanes each, whose elements in order make rows of 16: lane c gets
    column c. matrix: elements of 64 lanes."""
    per = len(matrix[0])
    for lane in range(columns):
        group = [e for l in matrix[lane & ~15:(lane & ~15) + 16] for e in l]
        yield [group[16 * r + lane % 16] for r in range(per)]


def packed(elements, bits):
    n = sum(e << (bits * i) for i, e in enumerate(elements))
    return [n >> (32 * i) & 0xffffffff for i in range(len(elements) * bits // 32)]


def unpacked(words, bits):
    n = sum(w << (32 * i) for i, w in enumerate(words))
    return [n >> (bits * i) & ((1 << bits) - 1)
            for i in range(32 * len(words) // bits)]


def read_tr(given, bits, words, stride):
    """Of the first two groups of lanes."""
    lanes = [unpacked([given(stride * l + i) for i in range(words)], bits)
             for l in range(64)]
    out = []
    for column in transposed(lanes, 32):
        out += packed(column, bits) + [UNWRITTEN] * (stride - words)
    return out


def tr_b16(_given):
    return read_tr(lambda i: 2 * i | (2 * i + 1) << 16, 16, 2, 2)


def tr_b8(given):
    return read_tr(given, 8, 2, 2)


def tr_b4(given):
    return read_tr(given, 4, 2, 2)


def tr_b6(given):
    return read_tr(given, 6, 3, 4)


def pairs(given, formats, powers=(0,)):
    """Each lane's number, twice in the low bits, one result after another."""
    out = []
    for power in powers:
        for f in formats:
            bits = f.exp + f.man + 1
            for lane in range(64):
                code = f.encode(scaled(single(given(lane)), power))
                out.append(code | code << bits)
    return out


def quiet(word, man):
    """A NaN that is made narrower keeps its upper bits and becomes quiet."""
    f = {10: F16, 7: BF16}[man]
    x = single(word)
    if x[1] != "nan":
        return f.encode(x)
    return (x[0] << 15) | f.inf | (word & 0x7fffff) >> (23 - man) | 1 << (man - 1)


def cvt_16(given):
    return [quiet(given(lane), 10) for lane in range(64)]


def flushed(word):
    """As the mode of the probe's kernel has it: no f32 denormals."""
    return word if word & 0x7f800000 else word & 0x80000000


def cvt_bf16(given):
    return [quiet(flushed(given(lane)), 7) * 0x10001 for lane in range(64)]


def cvt_fp6(given):
    out = []
    for lane in range(64):
        words = [given(16 * lane % 1024 + i) for i in range(16)]
        values = [single(h << 16) for h in unpacked(words, 16)]
        for f in (FP6, BF6):
            out += packed([f.encode(v) for v in values], 6)
    return out


PROBES = [
    ("read-tr-b16", "gfx950", tr_b16), ("read-tr-b8", "gfx950", tr_b8),
    ("read-tr-b4", "gfx950", tr_b4), ("read-tr-b6", "gfx950", tr_b6),
    ("cvt-8-bit", "gfx950", lambda g: pairs(g, (FP8["gfx950"], BF8["gfx950"]))),
    ("cvt-8-bit", "gfx942", lambda g: pairs(g, (FP8["gfx942"], BF8["gfx942"]))),
    ("cvt-16-bit", "both", cvt_16), ("cvt-bf16", "gfx950", cvt_bf16),
    ("cvt-scaled", "gfx950",
     lambda g: pairs(g, (FP8["gfx950"], BF8["gfx950"], FP4), (0, 1))),
    ("cvt-fp6", "gfx950", cvt_fp6),
]


# A lane's word lies beside its neighbour's, result after result.
CONVERT_ONE = ("cvt-8-bit", "cvt-16-bit", "cvt-bf16", "cvt-scaled")


def lines_of(target, words, every, period):
    """Of each `every` words those of the first `period`: the others repeat."""
    out = []
    for i, w in enumerate(words):
        if i % every == 0 or (i % every < period and len(out[-1]) > 90):
            out.append("//: word %s %d" % (target, i))
        if i % every < period:
            out[-1] += " %x" % w
    return out


def section(text, name):
    start = text.index("//: probe %s " % name)
    end = text.find("//: probe ", start + 10)
    return start, end if end > 0 else len(text)


def expected(text, name, target, make):
    start, end = section(text, name)
    given = [int(w, 16) for line in re.findall(r"^//: in (.*)$", text[start:end], re.M)
             for w in line.split()]
    words = make(lambda i: given[i % len(given)] if given else i)
    every = 64 if name in CONVERT_ONE else len(words)
    period = next(n for n in range(1, every + 1) if all(
        w == words[i - i % every + i % every % n] for i, w in enumerate(words)))
    return lines_of(target, words, every, period)


def write(path):
    with open(path, encoding="ascii") as f:
        text = re.sub(r"^//: word .*\n", "", f.read(), flags=re.M)
    for name, target, make in PROBES:
        start, end = section(text, name)
        at = text.index("\n", text.index("//: out ", start, end)) + 1
        text = text[:at] + "\n".join(expected(text, name, target, make)) + "\n" + text[at:]
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def main(path, *more):
    if more:
        return write(path)
    with open(path, encoding="ascii") as f:
        text = f.read()
    results = []
    for name, target, make in PROBES:
        start, end = section(text, name)
        have = re.findall(r"^//: word %s .*$" % target, text[start:end], re.M)
        want = expected(text, name, target, make)
        results.append(("%s of %s" % (name, target),
                        [h + " is not " + w for h, w in zip(have, want) if h != w] +
                        ["%d lines of %d" % (len(have), len(want))
                         for _ in range(len(have) != len(want))]))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
