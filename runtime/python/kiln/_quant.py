"""Quantisation on the host: numpy to codes and scales, and back.

Elements are rounded to nearest even and saturate. MX blocks are 32 along the
last axis (OCP MX 1.0), a last one may be short; the mode of their E8M0 scale is
named as in `kilnc --requant`. Other types have f32 scales: of the tensor, of a
row, or of 128-blocks (an operand "a": 1 x 128, "b": 128 x 128)."""
from ._abi import Error, BAD_INPUT
from ._memory import BITS, View, bad, view

# exponent bits, mantissa bits, bias; codes at the top that are no numbers.
FORMATS = {"mxfp8": (4, 3, 7, 1), "mxbf8": (5, 2, 15, 4),
           "mxfp6": (2, 3, 1, 0), "mxbf6": (3, 2, 3, 0),
           "mxfp4": (2, 1, 1, 0), "fp8": (4, 3, 7, 1), "bf8": (5, 2, 15, 4)}
FNUZ = {"fp8": (4, 3, 8, 0), "bf8": (5, 2, 16, 0)}
MODES = "floor round-up even ceil".split()


def magnitudes(kind, target):
    """The values of the codes without sign, ascending."""
    import numpy as np
    fields = FNUZ.get(kind) if target == "gfx942" else None
    ebits, mbits, bias, none = fields or FORMATS[kind]
    code = np.arange((1 << (ebits + mbits)) - none)
    e, m = code >> mbits, code & ((1 << mbits) - 1)
    return np.where(e, (m + (1 << mbits)) * 2.0 ** (e - bias - mbits),
                    m * 2.0 ** (1 - bias - mbits))


def encode(x, kind, target):
    """Codes, a byte each: nearest, of two the even one, at most the largest."""
    import numpy as np
    if kind == "i8":
        return np.clip(np.rint(x), -128, 127).astype("i1").view("u1")
    values = magnitudes(kind, target)
    middle = (values[1:] + values[:-1]) / 2
    size = abs(x)
    code = np.searchsorted(middle, size)
    tie = (code < len(middle)) & (middle[np.minimum(code, len(middle) - 1)] ==
                                  size)
    code += tie & (code & 1 == 1)
    minus = np.signbit(x) & ((code > 0) | (target != "gfx942") |
                             (kind not in FNUZ))
    return (code | minus << (BITS[kind] - 1)).astype("u1")


def decode(code, kind, target):
    import numpy as np
    if kind == "i8":
        return code.view("i1").astype("f8")
    values = magnitudes(kind, target)
    sign = 1 << (BITS[kind] - 1)
    bits = code & (sign - 1)
    if np.any(bits >= len(values)):
        raise bad("there are codes that are no numbers")
    return np.where(code & sign, -values[bits], values[bits])


def pack(codes, bits):
    """Codes of fewer than 8 bits along the last axis, lowest bits first, each
    run padded to a whole byte."""
    import numpy as np
    if bits == 8:
        return codes
    one = (codes[..., None] >> np.arange(bits) & 1).astype("u1")
    return np.packbits(one.reshape(codes.shape[:-1] + (-1,)), axis=-1,
                       bitorder="little")


def unpack(data, bits, n):
    import numpy as np
    if bits == 8:
        return data
    one = np.unpackbits(data, axis=-1, bitorder="little")[..., :n * bits]
    one = one.reshape(data.shape[:-1] + (n, bits))
    return (one << np.arange(bits, dtype="u1")).sum(-1).astype("u1")


def blocks(x, size, axis=-1):
    """The largest magnitude of each block along an axis."""
    import numpy as np
    return np.maximum.reduceat(abs(x), np.arange(0, x.shape[axis], size),
                               axis=axis)


def spread(scales, n, size, axis=-1):
    import numpy as np
    return np.take(np.repeat(scales, size, axis), np.arange(n), axis)


def e8m0(most, kind, mode):
    """Biased exponents for the largest magnitudes of blocks; 1 for zeros."""
    import numpy as np
    largest = magnitudes(kind, None)[-1]
    mbits = FORMATS[kind][1]
    top = int(np.log2(largest))
    x, e = np.frexp(most)
    x, e = 2 * x, e - 1 - top
    e = e + {"floor": x > 4, "round-up": x > largest / 2.0 ** top,
             "even": x >= 2 - 2.0 ** (-mbits - 1), "ceil": x > 1}[mode]
    return np.where(most > 0, np.clip(e, -127, 127) + 127, 127).astype("u1")


class Quantised:
    """data: bytes as kernels read them; scales; type, scale, shape of the
    numbers. An operand of gemm, batched, grouped and wgrad."""

    def __init__(self, data, scales, kind, scale, shape, target):
        self.data, self.scales, self.type = data, scales, kind
        self.scale, self.shape, self.target = scale, tuple(shape), target

    def view_of(self):
        v = view(self.data)
        return View(v.address, v.shape, self.type, v.size, v.host, self,
                    self.shape[-1])

    def dequantise(self):
        """The numbers as f64."""
        codes = unpack(self.data, BITS[self.type], self.shape[-1])
        x = decode(codes.view("u1"), self.type, self.target)
        s = self.scales.astype("f8")
        if self.scales.dtype == "u1":    # E8M0
            s = 2.0 ** (s - 127)
        if self.scale == "mx32":
            return x * spread(s, x.shape[-1], 32)
        if self.scale == "row":
            s = s[..., None]
        if self.scale == "block128":
            s = spread(s, x.shape[-1], 128)
            if s.shape[-2] != x.shape[-2]:
                s = spread(s, x.shape[-2], 128, -2)
        return x * s

    def __repr__(self):
        return "<kiln.Quantised, %s%s, scale %s>" % (
            self.type, list(self.shape), self.scale)


def f32_scales(x, scale, operand, largest):
    """Scales, and the same for every element."""
    import numpy as np
    if scale == "tensor":
        s = np.full(1, abs(x).max(initial=0))
    elif scale == "row":
        s = abs(x).max(-1, initial=0)
    else:
        s = blocks(x, 128)
        s = blocks(s, 128, -2) if operand == "b" else s
    s = (np.where(s > 0, s, largest) / largest).astype("f4")
    wide = s[..., None] if scale == "row" else s
    if scale == "block128":
        wide = spread(s, x.shape[-1], 128)
        if operand == "b":
            wide = spread(wide, x.shape[-2], 128, -2)
    return s, wide.astype("f8")


def quantise(x, kind, scale=None, *, mode="even", operand="a",
             target="gfx950"):
    """A numpy array as codes of `kind` and scales.

    The last axis is K. scale: mx32 for MX types, else tensor (default), row or
    block128; operand: which one it is to be, for block128. target: whose fp8
    and bf8 (OCP on gfx950, FNUZ on gfx942)."""
    import numpy as np
    x = np.asarray(x, "f8")
    mx = kind.startswith("mx")
    scale = scale or ("mx32" if mx else "tensor")
    if kind not in FORMATS and kind != "i8":
        raise bad("quantise makes %s and i8, not %r", " ".join(FORMATS), kind)
    if mode not in MODES:
        raise bad("mode is one of %s, not %r", " ".join(MODES), mode)
    if mx != (scale == "mx32") or scale not in ("mx32", "tensor", "row",
                                                "block128"):
        raise bad("%s has no scales of the mode %r", kind, scale)
    if x.ndim < 1 + (scale == "block128") or not x.size:
        raise bad("an array of shape %s has no rows of K", x.shape)
    if not np.isfinite(x).all():
        raise Error(BAD_INPUT, "the array has values that are not finite")
    if mx:
        scales = e8m0(blocks(x, 32), kind, mode)
        wide = spread(2.0 ** (scales.astype("f8") - 127), x.shape[-1], 32)
    else:
        largest = 127 if kind == "i8" else magnitudes(kind, target)[-1]
        scales, wide = f32_scales(x, scale, operand, largest)
    data = pack(encode(x / wide, kind, target), BITS[kind])
    data = np.ascontiguousarray(data.view("i1") if kind == "i8" else data)
    return Quantised(data, np.ascontiguousarray(scales), kind, scale, x.shape,
                     target)
