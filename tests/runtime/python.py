"""The Python module: products of every kind against numpy, what is inferred and
what is refused, handles that outlive what they came from.

usage: python.py SOURCE BUILD
"""
import ctypes as C
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
from built import BUILD, SOURCE  # noqa: E402
import tap  # noqa: E402
import kiln  # noqa: E402
np = tap.need("numpy")
from arrays import Lent, refused, same, wide  # noqa: E402

RNG = np.random.default_rng(25)
GPU = kiln.open("sim:gfx950")
SHIM = os.path.join(BUILD, "libkilnhip.so.0")
NAMES = {"f4": "f32", "f2": "f16"}


def small(*shape, dtype="f2"):
    return RNG.integers(-3, 4, shape).astype(dtype)


def gemm_of_every_layout():
    for layout, a, b in (("nt", (70, 96), (48, 96)), ("nn", (70, 96), (96, 48)),
                         ("tn", (96, 70), (96, 48)), ("tt", (96, 70), (48, 96))):
        x, y = small(*a), small(*b)
        want = wide(x.T if layout[0] == "t" else x) @ \
            wide(y.T if layout[1] == "t" else y)
        wrong = same(GPU.gemm(x, y, "f32", layout=layout), want)
        if wrong:
            return "%s: %s" % (layout, wrong)
    return None


def random_products():
    """Layouts, types, shapes, host and device memory as they fall."""
    for _ in range(24):
        m, n, k = (int(x) for x in RNG.integers(1, 150, 3))
        layout = str(RNG.choice(kiln.LAYOUTS))
        dtype, out = (("f2", "f32"), ("i1", "i32"), ("f2", "f16"))[
            RNG.integers(3)]
        g = int(RNG.integers(1, 4))
        x = small(*((g, k, m) if layout[0] == "t" else (g, m, k)), dtype=dtype)
        y = small(*((g, n, k) if layout[1] == "t" else (g, k, n)), dtype=dtype)
        want = np.matmul(wide(x if layout[0] == "n" else x.swapaxes(1, 2)),
                         wide(y if layout[1] == "n" else y.swapaxes(1, 2)))
        a, b = (GPU.array(t) if RNG.integers(2) else t for t in (x, y))
        got = GPU.batched(a, b, out, layout=layout)
        got = got.numpy() if isinstance(got, kiln.Array) else got
        if out == "f16":
            want = want.astype("f2")
        wrong = same(got, want)
        if wrong:
            return "%s %s %s: %s" % (layout, dtype, (g, m, n, k), wrong)
    return None


def out_bias_alpha_and_beta():
    x, y, bias = small(33, 64), small(40, 64), small(40, dtype="f4")
    c = small(33, 40, dtype="f4")
    want = 2 * wide(x) @ wide(y).T + bias + c
    got = GPU.gemm(x, y, c, bias=bias, alpha=2, beta=1)
    return same(got, want) or (None if got is c else "another array")


def epilogues_are_expressions():
    x, y, bias = small(33, 64), small(40, 64), small(40, dtype="f4")
    c = small(33, 40, dtype="f4")
    want = np.maximum(wide(x) @ wide(y).T / 2 + bias, 0) - c
    got = GPU.gemm(x, y, c, bias=bias, alpha=.5, beta=1,
                   epilogue="relu(acc + bias) - c")
    wrong = same(got, want) or same(
        GPU.gemm(x, y, "f32", epilogue="relu"),
        np.maximum(wide(x) @ wide(y).T, 0))
    refused("names bias", GPU.gemm, x, y, "f32", bias=bias, epilogue="relu")
    refused("names bias", GPU.gemm, x, y, "f32", epilogue="acc + bias")
    refused("say beta=1", GPU.gemm, x, y, c, epilogue="acc + c")
    refused("column 5: expected ')'", GPU.gemm, x, y, "f32", epilogue="(acc")
    refused("191 characters", GPU.gemm, x, y, "f32", epilogue="-" * 192)
    return wrong


def epilogues_of_gate_and_up():
    x, y, bias = small(33, 64), small(80, 64), small(80, dtype="f4")
    w = small(40, dtype="f4")
    sums = wide(x) @ wide(y).T + bias
    wrong = same(GPU.gemm(x, y, "f32", bias=bias, col={"w": w},
                          epilogue="relu(gate + gate_bias) * w + up + up_bias"),
                 np.maximum(sums[:, :40], 0) * w + sums[:, 40:])
    sums -= bias
    got = GPU.gemm(x, y, "f32", epilogue="swiglu")
    want = sums[:, :40] / (1 + np.exp(-sums[:, :40])) * sums[:, 40:]
    if got.shape != (33, 40) or np.abs(got - want).max() > 1e-3:
        wrong = wrong or "swiglu is wrong"
    refused("halves of b", GPU.gemm, x, small(41, 64), epilogue="swiglu")
    refused("names bias", GPU.gemm, x, y, epilogue="gate * up", bias=bias)
    return wrong


def outputs_of_eight_bits():
    x, y = small(33, 64), small(40, 64)
    s = np.array([4], "f4")
    want = np.rint(wide(x) @ wide(y).T / 4)
    got = GPU.gemm(x, y, "i8", out_scale=s)
    wrong = same(got, np.clip(want, -128, 127).astype("i1"))
    codes = GPU.gemm(x, y, "fp8", out_scale=s)
    back = kiln.Quantised(codes, s, "fp8", "tensor", codes.shape,
                          "gfx950").dequantise()
    if np.abs(back - 4 * want).max() > 16:
        wrong = wrong or "fp8 is off by %g" % np.abs(back - 4 * want).max()
    amax = np.zeros(1, "f4")
    GPU.gemm(x, y, "fp8", out_scale=s, amax=amax)
    wrong = wrong or same(amax, np.abs(wide(x) @ wide(y).T).max(keepdims=True)
                          .reshape(1))
    amax[0] = 2e9            # what is larger stays
    GPU.batched(x[None], y[None], "f32", amax=amax, epilogue="acc*acc")
    wrong = wrong or same(amax, np.array([2e9], "f4"))
    c2 = np.zeros((33, 40), "f4")
    codes = GPU.gemm(x, y, "fp8", out_scale=s, out2=c2,
                     epilogue="aux:acc, relu(aux)")
    wrong = wrong or same(c2, wide(x) @ wide(y).T)
    seeds = [GPU.gemm(x, y, "fp8", out_scale=s, round_seed=r) for r in (1, 1, 2)]
    if not (seeds[0] == seeds[1]).all() or (seeds[0] == seeds[2]).all():
        wrong = wrong or "not the seed decides how is rounded"
    refused("nothing to round", GPU.gemm, x, y, "f32", round_seed=1)
    refused("of bf16, f16, f32 or f64", GPU.gemm, x, y, out2=np.zeros((33, 40), "i1"))
    refused("the shape", GPU.gemm, x, y, out2=np.zeros((33, 41), "f4"))
    refused("--out2, which is not there", GPU.gemm, x, y,
            epilogue="aux:acc, relu(aux)")
    refused("amax is one f32", GPU.gemm, x, y, amax=np.zeros(2, "f4"))
    refused("not of i32", GPU.gemm, np.ones((4, 32), "i1"),
            np.ones((4, 32), "i1"), "i32", amax=amax)
    refused("out_scale is one f32", GPU.gemm, x, y, "i8",
            out_scale=small(2, dtype="f4"))
    refused("fp8, bf8 or i8", GPU.gemm, x, y, out_scale=s)
    for kind, scale, off in (("fp8", "row", 16), ("i8", "block128", 128),
                             ("mxfp8", "mx32", 16), ("mxfp4", "mx32", 4)):
        q = GPU.gemm(x, y, kind, out_scale=scale)
        most = np.abs(4 * want).max() / off + 4
        if np.abs(q.dequantise() - wide(x) @ wide(y).T).max() > most:
            wrong = wrong or "%s by %s is wrong" % (kind, scale)
    long = small(600, x.shape[1])
    q = GPU.gemm(x, long, "fp8", out_scale="row")    # by way of the workspace
    more = GPU.gemm(np.concatenate([x, x]), long, "fp8", out_scale="row")
    parts = GPU.grouped(np.concatenate([x, x]), np.stack([long, long]), lens=[33, 33],
                        out="fp8", out_scale="row")
    exact = wide(x) @ wide(long).T
    if np.abs(q.dequantise() - exact).max() > np.abs(exact).max() / 16 or \
            not np.array_equal(more.data, np.concatenate([q.data, q.data])) or \
            not np.array_equal(parts.data, more.data) or \
            not np.array_equal(parts.scales, np.concatenate([q.scales, q.scales])):
        wrong = wrong or "a scale a row of more columns than a tile is wrong"
    refused("row block128 mx32", GPU.gemm, x, y, "fp8", out_scale="column")
    refused("--out-scale mx32", GPU.gemm, x, y, "mxfp8", out_scale="row")
    refused("no --beta adds", GPU.gemm, x, y, got, beta=1)
    return wrong


def epilogues_name_operands():
    x, y = small(33, 64), small(40, 64)
    s, w, r = small(33, dtype="f4"), small(40, dtype="f4"), \
        small(33, 40, dtype="f4")
    want = wide(x) @ wide(y).T * s[:, None] * w + .5 * r
    operands = dict(row={"s": s}, col={"w": w}, tensor={"r": r},
                    scalar={"k": .5}, epilogue="acc * s * w + k * r")
    wrong = same(GPU.gemm(x, y, "f32", **operands), want)
    a, b = small(3, 33, 64), small(3, 40, 64)
    s, w, r = small(3, 33, dtype="f4"), small(3, 40, dtype="f4"), \
        small(3, 33, 40, dtype="f4")
    operands.update(row={"s": s}, col={"w": w}, tensor={"r": r})
    want = wide(a) @ wide(b).transpose(0, 2, 1) * s[:, :, None] * \
        w[:, None, :] + .5 * r
    wrong = wrong or same(GPU.batched(a, b, "f32", **operands), want)
    refused("names k", GPU.gemm, x, y, scalar={"k": 1}, epilogue="relu")
    refused("w has 40 elements, a row here has 33", GPU.gemm, x, y,
            row={"w": small(40, dtype="f4")}, epilogue="acc * w")
    refused("w is a tensor of bf16", GPU.gemm, x, y,
            tensor={"w": small(33, 40, dtype="f4")}, epilogue="acc * w")
    refused("at most 4 arrays", GPU.gemm, x, y, epilogue="acc+a+b+d+e+f",
            col={n: small(40, dtype="f4") for n in "abdef"})
    return wrong


def scales_say_their_mode():
    x = RNG.integers(-3, 4, (32, 256)).astype("i1")
    y = RNG.integers(-3, 4, (48, 256)).astype("i1")
    plain = wide(x) @ wide(y).T
    for sa, sb in ((1, 1), (32, 48)):
        s, t = (2.0 ** RNG.integers(-2, 3, n) for n in (sa, sb))
        s, t = s.astype("f4"), t.astype("f4")
        want = plain * wide(s)[:, None] * wide(t)[None, :]
        wrong = same(GPU.gemm(x, y, "f32", scales=(s, t)), want)
        if wrong:
            return "%d, %d: %s" % (sa, sb, wrong)
    ones = np.full((32, 256), 0x38, "u1")    # fp8 1
    s = np.full((32, 2), 2, "f4")
    got = GPU.gemm(ones, ones, "f32", a_type="fp8", b_type="fp8",
                   scales=(s, np.full((1, 2), .5, "f4")))
    wrong = same(got, np.full((32, 32), 256.))
    s = np.pad(s, ((0, 0), (0, 3)), constant_values=np.nan)
    got = GPU.gemm(ones, ones, "f32", a_type="fp8", b_type="fp8",
                   scales=(s, np.full((1, 2), .5, "f4")))
    return wrong or same(got, np.full((32, 32), 256.))


def scales_of_batches():
    """Each problem of a batch has scales of its own, by row and of 128-blocks."""
    x, y = np.full((3, 33, 256), 0x38, "u1"), np.full((3, 140, 256), 0x38, "u1")
    types = {"a_type": "fp8", "b_type": "fp8"}
    s, t = (RNG.integers(1, 5, n).astype("f4") for n in ((3, 33), (3, 140)))
    wrong = same(GPU.batched(x, y, "f32", scales=(s, t), **types),
                 256. * wide(s)[:, :, None] * wide(t)[:, None, :])
    a, b = (RNG.integers(1, 5, n).astype("f4") for n in ((3, 33, 2), (3, 2, 2)))
    columns = np.repeat(wide(b), 128, 1)[:, :140]
    refused("sa has 33 scales, row wants 99", GPU.batched, x, y, scale="row",
            scales=(s[0].copy(), t), **types)
    refused("scale is tensor, row, block128", GPU.batched, x, y, scale="tensors",
            scales=(s, t), **types)
    return wrong or same(GPU.batched(x, y, "f32", scales=(a, b), **types),
                         128. * np.einsum("bmk,bnk->bmn", wide(a), columns))


def nearest(x, values):
    """By looking at every value: the nearest, of two the one of even code."""
    far = abs(values - abs(x))
    best = np.flatnonzero(far == far.min())
    return np.copysign(values[best[best % 2 == 0][0] if len(best) > 1 else
                              best[0]], x)


def values_of(ebits, mbits, bias, none):
    """A format's magnitudes from its definition."""
    out = []
    for code in range((1 << (ebits + mbits)) - none):
        e, m = code >> mbits, code % (1 << mbits)
        out.append((1 + m / 2 ** mbits) * 2.0 ** (e - bias) if e else
                   m / 2 ** mbits * 2.0 ** (1 - bias))
    return np.array(out)


def elements_are_the_nearest():
    """Every type, largest values written down from the standards."""
    for kind, target, form, largest in (
            ("mxfp8", "gfx950", (4, 3, 7, 1), 448.),
            ("mxbf8", "gfx950", (5, 2, 15, 4), 57344.),
            ("mxfp6", "gfx950", (2, 3, 1, 0), 7.5),
            ("mxbf6", "gfx950", (3, 2, 3, 0), 28.),
            ("mxfp4", "gfx950", (2, 1, 1, 0), 6.),
            ("fp8", "gfx950", (4, 3, 7, 1), 448.),
            ("fp8", "gfx942", (4, 3, 8, 0), 240.),
            ("bf8", "gfx942", (5, 2, 16, 0), 57344.)):
        values = values_of(*form)
        if values[-1] != largest:
            return "%s: largest %g" % (kind, values[-1])
        x = np.concatenate([RNG.normal(size=90), RNG.choice(values, 20) / 2,
                            [largest * 2.0 ** -9, 0]]).reshape(2, -1)
        q = kiln.quantise(x, kind, target=target)
        s = 2.0 ** (q.scales.astype("f8") - 127) if q.scale == "mx32" else \
            q.scales.astype("f8")
        s = np.repeat(s, 32, -1)[..., :x.shape[1]] if q.scale == "mx32" else \
            np.broadcast_to(s, x.shape)
        want = np.vectorize(lambda v, w: nearest(v / w, values) * w)(x, s)
        wrong = same(q.dequantise(), want)
        if wrong:
            return "%s on %s: %s" % (kind, target, wrong)
    return None


def quantised_operands():
    """The product of what was quantised, each type and mode of scales."""
    for kind, scale, k in (("mxfp4", None, 96), ("mxfp6", None, 64),
                           ("mxbf8", None, 80), ("fp8", "row", 72),
                           ("bf8", "tensor", 64), ("i8", "row", 64),
                           ("fp8", "block128", 256)):
        x, y = RNG.normal(size=(20, k)), RNG.normal(size=(40, k))
        a = kiln.quantise(x, kind, scale)
        b = kiln.quantise(y, kind, scale, operand="b")
        if np.abs(a.dequantise() - x).max() > .3 * np.abs(x).max():
            return "%r is far from its numbers" % a
        got = GPU.gemm(a, b, "f32")
        want = a.dequantise() @ b.dequantise().T
        far = abs(got - want).max() / abs(want).max()
        if not far < 1e-5:
            return "%r: %g" % (a, far)
    for q in (a, b):         # of the last, powers of two
        q.scales = (np.ceil(np.log2(q.scales)) + 127).astype("u1")
    got, want = GPU.gemm(a, b, "f32"), a.dequantise() @ b.dequantise().T
    if not abs(got - want).max() < 1e-5 * abs(want).max():
        return "scales of 128-blocks as powers of two"
    refused("of one type", GPU.gemm, a, b, "f32",
            scales=(a.scales, np.ones(b.scales.shape, "f4")))
    refused("device is a gfx942", kiln.open("sim:gfx942").gemm,
            kiln.quantise(x, "fp8"), kiln.quantise(y, "fp8"))
    refused("not finite", kiln.quantise, x + np.inf, "fp8")
    refused("quantise makes", kiln.quantise, x, "f16")
    refused("no scales of the mode", kiln.quantise, x, "mxfp4", "row")
    refused("mode is one of", kiln.quantise, x, "mxfp4", mode="up")
    refused("no rows of K", kiln.quantise, x[:0], "fp8")


def scale_modes_of_mx():
    """A block whose largest is 7 in fp4 (to 6): kept, or twice the scale."""
    x = np.full((1, 32), 1.)
    for largest, scales in ((7., (127, 128, 128, 128)), (6., (127, 127, 127, 128)),
                            (6.5, (127, 128, 127, 128)), (4., (127,) * 4)):
        x[0, 0] = largest
        got = tuple(int(kiln.quantise(x, "mxfp4", mode=m).scales[0, 0])
                    for m in ("floor", "round-up", "even", "ceil"))
        if got != scales:
            return "%g: %s" % (largest, got)
    return None


def packed_types():
    a, b = np.full((32, 64), 0x22, "u1"), np.full((48, 64), 0x44, "u1")
    scales = [np.full((n, 4), 127, "u1") for n in (32, 48)]
    got = GPU.gemm(a, b, "f32", a_type="mxfp4", b_type="mxfp4", scales=scales)
    wrong = same(got, np.full((32, 48), 256.))
    scales = [np.pad(x, ((0, 0), (0, n)), constant_values=255)
              for x, n in zip(scales, (4, 3))]
    got = GPU.gemm(a, b, "f32", a_type="mxfp4", b_type="mxfp4", scales=scales)
    wrong = wrong or same(got, np.full((32, 48), 256.))
    scales = [x[:, :4].copy() for x in scales]
    refused("K of b is", GPU.gemm, a, b[:, :32].copy(), a_type="mxfp4",
            b_type="mxfp4", scales=scales)
    refused("MX wants 192", GPU.gemm, a, b, a_type="mxfp4", b_type="mxfp4",
            scales=[scales[0], scales[0]])
    return wrong


def maths_of_f32():
    """Small integers are exact as two bf16; xf32 is gfx942's."""
    a, b = (x.astype("f4") for x in (small(32, 128), small(48, 128)))
    refused("no matrix instruction of xf32", GPU.gemm, a, b, math="xf32")
    refused("math cannot be", GPU.gemm, a, b, math="tf32")
    return same(GPU.gemm(a, b, "f32", math="bf16x3"), wide(a) @ wide(b).T)


def products_of_f64():
    """Of 53 bits: the sums are in order of no other than the kernel's."""
    a, b = (np.random.default_rng(5).standard_normal(s) for s in ((32, 64), (48, 64)))
    got, want = GPU.gemm(a, b), a.astype(np.longdouble) @ b.T.astype(np.longdouble)
    off = abs(got - want) - np.spacing(abs(got)) - \
        (64 / 8 + 16) * 2.0 ** -53 * (abs(a) @ abs(b).T)
    if got.dtype != np.float64 or (off > 0).any():
        return "%s, %g off" % (got.dtype, abs(got - want).max())
    amax, second = np.zeros(1), np.zeros((32, 48))
    a, b = np.rint(a), np.rint(b)
    refused("amax is one f64", GPU.gemm, a, b, amax=np.zeros(1, "f4"))
    got = GPU.gemm(a, b, "f32", amax=amax, out2=second, epilogue="aux:acc*0.1, aux+1")
    gate, up = np.split(a @ b.T, 2, axis=1)
    return (same(GPU.gemm(a, b, "f32"), a @ b.T) or same(second, a @ b.T * 0.1) or
            same(GPU.gemm(a, b, epilogue="gate+2*up"), gate + 2 * up) or
            same(got, (a @ b.T * 0.1 + 1).astype("f4")) or
            same(amax, abs(a @ b.T * 0.1 + 1).max(keepdims=True).reshape(1)))


def integer_weights():
    """Codes 2 and -3 in turn along K, groups of 64 with scales of each type."""
    a, b = small(32, 128), np.full((48, 64), 0xd2, "u1")
    w = np.tile([2., -3.], (48, 64))
    wrong = None
    for kind, bits in (("f4", None), ("f2", None), ("u2", 0x3f80)):
        s = np.full((48, 2), bits or 1, kind)
        got = GPU.gemm(a, b, "f32", b_type="i4", scales=(None, s))
        wrong = wrong or same(got, wide(a) @ w.T)
    zeros = np.array([[0x3d], [0x21]], "u1").repeat(24, 1)   # -3 3 ..., 1 2 ...
    z = np.array([[-3, 3], [1, 2]]).repeat(64, 0)
    w = w.reshape(24, 2, 128) - z.T
    s = np.full((48, 2), 1, "f2")
    for x in zeros, np.tile(z[::64], 24).astype("f2"):
        got = GPU.gemm(a, b, "f32", b_type="i4", scales=(x, s))
        wrong = wrong or same(got, wide(a) @ w.reshape(48, 128).T)
    refused("there are 24 elements of zero points", GPU.gemm, a, b, b_type="i4",
            scales=(zeros[:1].copy(), s))
    refused("zero points are i4", GPU.gemm, a, b, b_type="i4",
            scales=(s.astype("f4"), s))
    refused("sb has 144 scales", GPU.gemm, a, b, b_type="i4",
            scales=(None, np.ones((72, 2), "f4")))
    refused("scale= is group32", GPU.gemm, a, b, b_type="i4",
            scales=(None, np.ones((48, 3), "f4")))
    refused("scales of groups are of", GPU.gemm, a, b, b_type="i4",
            scales=(None, np.ones((48, 2), "i4")))
    return wrong


def eight_bit_weights():
    """Beside a 16-bit A, which has no scales: one each, one a column, 128-blocks,
    f32 or bytes. An A of ones and zeros becomes codes that are 448 or 0."""
    a = (RNG.integers(0, 2, (33, 260))).astype("f2")
    b = np.full((200, 260), 0x38, "u1")                  # 1, fp8
    column = RNG.integers(1, 9, 200).astype("f4")
    block = RNG.integers(1, 9, (2, 3)).astype("f4")
    of = np.repeat(np.repeat(block, 128, 0)[:200], 128, 1)[:, :260]
    for s, w in ((np.ones(1, "f4"), 1), (column, column[:, None]), (block, of),
                 ((block.astype("u1") + 124), 2. ** (of - 3))):
        got = GPU.gemm(a, b, "f32", b_type="fp8", scales=(None, s))
        want = wide(a) @ (np.ones((200, 260)) * w).T
        assert np.allclose(got, want, rtol=1e-5), abs(got - want).max()
    refused("sb has 5 scales", GPU.gemm, a, b, b_type="fp8", scale="block128",
            scales=(None, np.ones(5, "f4")))


def nvfp4_weights():
    """Codes 1.5 and -4 in turn along K, E4M3 scales of 16, a factor."""
    a, b = small(32, 96), np.full((2, 48, 48), 0xe3, "u1")
    w = np.tile([1.5, -4.], (48, 48)) * np.tile([1., 2., 0.5], 2).repeat(16)
    s = np.tile(np.array([0x38, 0x40, 0x30], "u1"), (2, 48, 2))
    factor = np.array([2, 0.5], "f4")
    got = GPU.gemm(a, b[0], "f32", b_type="nvfp4", scales=(factor[:1], s[0]))
    wrong = same(got, wide(a) @ w.T * 2)
    got = GPU.batched(np.stack([a, a]), b, "f32", b_type="nvfp4", scales=(factor, s))
    wrong = wrong or same(got[1], wide(a) @ w.T / 2)
    refused("the factor of an nvfp4 b is f32", GPU.gemm, a, b[0], b_type="nvfp4",
            scales=(factor, s[0]))
    refused("NV wants 288 bytes", GPU.gemm, a, b[0], b_type="nvfp4",
            scales=(factor[:1], s[0, :, :3].copy()))
    return wrong


def batched_grouped_and_wgrad():
    x, y = small(3, 20, 64), small(3, 32, 64)
    wrong = same(GPU.batched(x, y, "f32"),
                 np.einsum("gmk,gnk->gmn", wide(x), wide(y)))
    offsets = np.array([0, 13, 13, 50], "i8")
    a, b = small(50, 64), small(3, 32, 64)
    want = np.concatenate([wide(a[s:e]) @ wide(b[g]).T for g, (s, e) in
                           enumerate(zip(offsets, offsets[1:]))])
    wrong = wrong or same(GPU.grouped(a, b, offsets, "f32"), want)
    wrong = wrong or same(GPU.grouped(a, b, out="f32", lens=[13, 0, 37]), want)
    there = GPU.grouped(GPU.array(a), GPU.array(b), out="f32", lens=np.array([13, 0, 37]))
    wrong = wrong or same(there.numpy(), want)
    refused("3 lengths for 2 groups", GPU.grouped, a, b[:2], lens=[13, 0, 37])
    refused("50 at most in all", GPU.grouped, a, b, lens=[13, 1, 37])
    refused("or lens=", GPU.grouped, a, b, offsets, lens=[13, 0, 37])
    refused("or lens=", GPU.grouped, a, b)
    c = small(50, 48)
    want = np.stack([wide(a[s:e]).T @ wide(c[s:e])
                     for s, e in zip(offsets, offsets[1:])])
    wrong = wrong or same(GPU.wgrad(a, c, offsets, "f32"), want)
    refused("offsets begin", GPU.grouped, a, b, np.array([0, 60, 13, 50], "i8"))
    refused("offsets for 3 groups", GPU.grouped, a, b, offsets[:3].copy())
    return wrong


def tight_groups():
    """Groups that are read padded and written one behind the other."""
    read, tight = np.array([0, 32, 64, 128], "i8"), np.array([0, 13, 13, 50], "i8")
    parts = [slice(s, s + n) for s, n in zip(read, np.diff(tight))]
    a, b, c = small(128, 64), small(3, 32, 64), small(128, 48)
    want = np.concatenate([wide(a[s]) @ wide(b[g]).T for g, s in enumerate(parts)])
    out = np.zeros((128, 32), "f4")
    GPU.grouped(a, b, read, out, tight=tight)
    wrong = same(out[:50], want)
    want = np.stack([wide(a[s]).T @ wide(c[s]) for s in parts])
    wrong = wrong or same(GPU.wgrad(a, c, read, "f32", tight=tight), want)
    refused("tight offsets are int64, as many", GPU.grouped, a, b, read, tight=tight[1:])
    return wrong


def moe_by_run():
    """gemm1 with the routing weight after, before and nowhere."""
    tokens, n, k = 8, 32, 64
    a, b = small(tokens, k), small(2, 2 * n, k) / 8
    ids, weights = np.full(32, tokens, "i4"), np.zeros(32, "f4")
    for slot in range(2):                # slot s of every token to expert s
        for t in range(tokens):
            ids[slot * 16 + t] = t | slot << 24
            weights[slot * 16 + t] = 1 + t % 3
    at = dict(a=a, b=b.astype("f2"), weights=weights, offsets=ids,
              experts=np.arange(2, dtype="i4"), padded=np.array([32], "i4"))
    at = {name: GPU.array(x) for name, x in at.items()}
    for weigh in (0, 1, 2):
        c = GPU.empty((2 * tokens, n), "f16")
        GPU.run(kiln.Problem(family="moe", stage="gemm1", a="f16", b="f16",
                             out="f16", block_m=16, m=32, n=n, k=k, groups=2,
                             tokens=tokens, topk=2, weigh=weigh), c=c, **at)
        w = 1 + np.arange(tokens) % 3 if weigh == 1 else np.ones(tokens)
        both = np.einsum("tk,enk->ten", wide(a) * w[:, None], wide(b))
        gate, up = both[..., :n], both[..., n:]
        want = (gate / (1 + np.exp(-gate)) * up).reshape(2 * tokens, n)
        far = abs(c.numpy() - want) > 2.0 ** -10 * abs(want) + 1e-5
        if far.any():
            return "weigh %d: %d elements" % (weigh, far.sum())
    return None


def quantised_both_ways():
    """One launch: rows as quantise() has them, and the transpose of the same."""
    x = small(72, 160)
    for pitch, pitch2 in ((0, 0), (168, 80)):
        wide1, wide2 = pitch or 160, pitch2 or 72
        made = {"c": GPU.empty((72, wide1), "mxfp8"), "sc": GPU.empty((72, 5), "i8"),
                "out2": GPU.empty((160, wide2), "mxfp8"),
                "sc2": GPU.empty((160, 3), "i8")}
        GPU.run(kiln.Problem(family="quant", a="f16", out="mxfp8", quant_flags=4, m=72,
                             k=160, ldc=pitch, ldc2=pitch2), a=GPU.array(x), **made)
        for name, of in (("c", x), ("out2", np.ascontiguousarray(x.T))):
            want = kiln.quantise(of, "mxfp8", mode="floor")
            scale = {"c": "sc", "out2": "sc2"}[name]
            got = made[name].numpy()[:, :of.shape[1]]
            if (got != want.data).any() or (made[scale].numpy().view("u1") != want.scales).any():
                return "%s differs" % name
    return None


def grids_are_bounded():
    """A persistent grid on fewer compute units: the same product."""
    a, b = small(8 * 64, 64), small(8, 128, 64)
    offs = (np.arange(9, dtype="i8") * 64).view("i4")
    at = {"a": GPU.array(a), "b": GPU.array(b), "offsets": GPU.array(offs)}
    want = np.concatenate([wide(a[g * 64:g * 64 + 64]) @ wide(b[g]).T
                           for g in range(8)])
    for most in (0, 1, 3):
        c = GPU.empty((8 * 64, 128), "f32")
        GPU.run(kiln.Problem(family="grouped", a="f16", b="f16", out="f32",
                             m=8 * 64, n=128, k=64, groups=8, cus=4, xcds=1),
                max_cus=most, checked=True, c=c, **at)
        if abs(c.numpy() - want).max() > 1e-3 * abs(want).max():
            return "max_cus %d" % most
    return None


def bf16(x):
    """The numbers that bf16 arrays mean."""
    return (x.astype("u4") << 16).view("f4").astype("f8")


def reference_layer(x, up, down, ids, weights, act):
    """f64; ids that are no expert are computed nowhere."""
    tokens, topk = ids.shape
    inter = up.shape[1] // 2
    rows = np.zeros((tokens, topk, inter))
    out = np.zeros((tokens, down.shape[1]))
    for t in range(tokens):
        for s in range(topk):
            if not 0 <= ids[t, s] < len(up):
                continue
            both = up[ids[t, s]] @ x[t]
            gate, lift = both[:inter], both[inter:]
            if act == "swiglu":
                gate, lift = np.minimum(gate, 7), np.clip(lift, -7, 7) + 1
            if act == "limited":
                gate, lift = np.minimum(gate, 10), np.clip(lift, -10, 10)
            slope = 1.702 if act == "swiglu" else 1
            if act == "gelu_tanh":
                slope = 8 ** 0.5 / np.pi ** 0.5 * (1 + 0.044715 * gate ** 2)
            rows[t, s] = gate / (1 + np.exp(-slope * gate)) * lift
            out[t] += weights[t, s] * (down[ids[t, s]] @ rows[t, s])
    return out


def layers_of_moe():
    """Random layers on both targets, all experts here."""
    for target in ("gfx942", "gfx950"):
        gpu = kiln.open("sim:" + target)
        for _ in range(3):
            tokens, hidden = int(RNG.integers(1, 40)), int(RNG.integers(1, 9)) * 16
            inter, many = int(RNG.integers(1, 5)) * 16, int(RNG.integers(1, 6))
            topk = int(RNG.integers(1, many + 1))
            ids = np.stack([RNG.permutation(many)[:topk]
                            for _ in range(tokens)])
            weights = RNG.random((tokens, topk)).astype("f4")
            act = str(RNG.choice(kiln.ACTS))
            x = small(tokens, hidden) / np.float16(2)
            up = small(many, 2 * inter, hidden) / np.float16(8)
            down = small(many, hidden, inter) / np.float16(4)
            route = kiln.routing(ids, weights, many)
            got = gpu.moe(x, up, down, route, act=act)
            want = reference_layer(wide(x), wide(up), wide(down), ids, weights,
                                   act)
            far = abs(got - want) > 2.0 ** -8 * (abs(want) + abs(want).max())
            if got.shape != x.shape or got.dtype != x.dtype or far.any():
                return "%s %s %r: %d elements" % (target, act, route, far.sum())
    return None


def quantised_layers_of_moe():
    """Against a reference that quantises where the layer does."""
    tokens, hidden, inter, many, topk = 20, 128, 128, 3, 2
    ids = np.stack([RNG.permutation(many)[:topk] for _ in range(tokens)])
    route = kiln.routing(ids, RNG.random((tokens, topk)), many)
    x = RNG.normal(size=(tokens, hidden))
    up = RNG.normal(size=(many, 2 * inter, hidden)) / 8
    down = RNG.normal(size=(many, hidden, inter)) / 8
    for kind, scale in (("mxfp8", None), ("mxfp4", None), ("fp8", "row"),
                        ("fp8", "tensor"), ("fp8", "block128"), ("i8", "row")):
        q = kiln.quantise(x, kind, scale)
        u = kiln.quantise_experts(up, kind, scale)
        d = kiln.quantise_experts(down, kind, scale)
        got = bf16(GPU.moe(q, u, d, route))
        rows = bf16(GPU.moe_up(q, u, route))
        plain = reference_layer(q.dequantise(), experts_of(u, up.shape),
                                np.stack([np.eye(inter)] * many), ids,
                                np.ones(ids.shape), "silu")
        far = abs(rows.reshape(tokens, topk, -1).sum(1) - plain)
        if far.max() > 2.0 ** -7 * abs(plain).max():
            return "%s %s: gate-up %g" % (kind, scale, far.max())
        bias = np.zeros((many, 2 * inter), "f4")
        if not np.array_equal(rows, bf16(GPU.moe_up(
                q, u, route, bias=bias, epilogue="swiglu(gate + gate_bias, up)"))):
            return "%s %s: the same as an expression differs" % (kind, scale)
        ones = np.ones((many, inter), "f4")
        if not np.array_equal(rows, bf16(GPU.moe_up(
                q, u, route, col={"w": ones}, scalar={"k": 1},
                epilogue="swiglu(gate * w, up) * k"))):
            return "%s %s: the same of columns differs" % (kind, scale)
        again = kiln.quantise(rows, kind, q.scale).dequantise()
        want = np.zeros((tokens, hidden))
        weights = kiln_weights(route, ids)
        wide_down = experts_of(d, down.shape)
        for t in range(tokens):
            for s in range(topk):
                want[t] += weights[t, s] * (wide_down[ids[t, s]] @
                                            again[t * topk + s])
        far = abs(got - want).max()
        if far > 2.0 ** -7 * abs(want).max():
            return "%s %s: %g of %g" % (kind, scale, far, abs(want).max())
    return None


def codes_of_moe():
    """moe_up's rows of a scale each, in one tile and by way of the workspace, which
    moe_down takes."""
    tokens, hidden, many, topk = 20, 128, 3, 2
    ids = np.stack([RNG.permutation(many)[:topk] for _ in range(tokens)])
    route = kiln.routing(ids, None, many)
    q = kiln.quantise(RNG.normal(size=(tokens, hidden)), "fp8", "row")
    for inter, scale in ((96, "row"), (400, "row"), (256, "block128")):
        u = kiln.quantise_experts(RNG.normal(size=(many, 2 * inter, hidden)), "fp8", "row")
        d = kiln.quantise_experts(RNG.normal(size=(many, hidden, inter)), "fp8", scale)
        rows = GPU.moe_up(q, u, route, "f32")
        codes = GPU.moe_up(q, u, route, "fp8", out_scale=scale)
        again = kiln.quantise(rows, "fp8", scale).dequantise()
        far = abs(codes.dequantise() - rows).max()
        if codes.scale != scale or far > 1.01 * abs(again - rows).max():
            return "%d columns, %s: %g" % (inter, scale, far)
        far = abs(GPU.moe_down(codes, d, route, "f32") -
                  GPU.moe_down(kiln.quantise(codes.dequantise(), "fp8", scale), d,
                               route, "f32")).max()
        if far > 1e-2 * abs(rows).max():
            return "%d columns, %s: moe_down is %g off" % (inter, scale, far)
    refused("row or block128", GPU.moe_up, q, u, route, "fp8", out_scale="mx32")
    return None


def epilogues_of_moe():
    """What moe_up and moe_down take besides, beside plain calls and numpy."""
    tokens, hidden, inter, many, topk = 20, 96, 64, 3, 2
    ids = np.stack([RNG.permutation(many)[:topk] for _ in range(tokens)])
    route = kiln.routing(ids, RNG.random((tokens, topk)), many)
    x = small(tokens, hidden) / np.float16(2)
    up, down = small(many, 2 * inter, hidden) / np.float16(8), small(many, hidden, inter)
    r, t = RNG.random(tokens * topk).astype("f4"), small(tokens * topk, inter)
    rows, exact = GPU.moe_up(x, up, route, "f16"), GPU.moe_up(x, up, route, "f32")
    amax, second = np.zeros(1, "f4"), np.zeros((tokens * topk, inter), "f4")
    got = GPU.moe_up(x, up, route, "f16", amax=amax, out2=second)
    if not np.array_equal(got, rows) or not np.array_equal(second, exact) or \
            amax[0] != abs(exact).max():
        return "an amax and a second output of moe_up"
    second = np.zeros((tokens * topk, 2 * inter), "f4")
    GPU.moe_up(x, up, route, "f16", epilogue="aux:gate, up, swiglu(aux_gate, aux_up)",
               out2=second)
    gate, other = second[:, :inter], second[:, inter:]
    if (abs(gate / (1 + np.exp(-gate)) * other - exact) > 2.0 ** -18 * (
            abs(exact) + 1)).any():
        return "gate and up of moe_up"
    got = GPU.moe_up(x, up, route, "f16", row={"r": r}, tensor={"t": t},
                     epilogue="swiglu(gate, up) * r + t")
    want = exact * r[:, None] + wide(t)
    if (abs(got - want) > 2.0 ** -10 * (abs(want) + 1)).any():
        return "an array of rows and a tensor of moe_up"
    scale, bias = np.array([[2]] * many, "f4") + np.zeros(hidden, "f4"), np.ones(
        (many, hidden), "f4")
    plain = GPU.moe_down(rows, down, route, "f32", weigh="none")
    amax[0], second = 0, np.zeros((tokens * topk, hidden), "f2")
    got = GPU.moe_down(rows, down, route, "f32", weigh="none", col={"s": scale}, bias=bias,
                       scalar={"k": 0.5}, epilogue="acc * s + bias * k", amax=amax,
                       out2=second)
    if not np.array_equal(got, 2 * plain + np.float32(0.5)) or \
            not np.array_equal(second, got.astype("f2")) or amax[0] != abs(got).max():
        return "an expression of moe_down"
    old, second = plain + np.float32(1), np.zeros((tokens * topk, hidden), "f4")
    got = GPU.moe_down(rows, down, route, old.copy(), weigh="none", beta=1, out2=second,
                       epilogue="aux:acc*2, max(aux, c)")
    if not np.array_equal(second, 2 * plain) or \
            not np.array_equal(got, np.maximum(2 * plain, old)):
        return "c and aux of moe_down"
    got = GPU.moe_sum(plain, route, np.ones((tokens, hidden), "f4"), beta=1)
    want = 1 + plain.reshape(tokens, topk, hidden).sum(1)
    if (abs(got - want) > 2.0 ** -20 * (abs(want) + 1)).any():
        return "a sum over slots behind what out holds"
    got = GPU.moe_up(x, up, route, 2 * exact, epilogue="c - silu(gate) * up", beta=1)
    if (abs(got - exact) > 2.0 ** -18 * (abs(exact) + 1)).any():
        return "c of moe_up"
    refused("say beta=1", GPU.moe_up, x, up, route, epilogue="gate * up + c")
    got = GPU.moe_down(rows, down, route, "f32", weigh="none", bias=bias)
    slots = np.concatenate([rows[:, :32]] * 3).astype("f2")
    there = kiln.routing(np.zeros((3 * tokens, topk), int), experts=1)
    sums = [GPU.moe_sum(slots, there, round_seed=seed) for seed in (1, 1, 2)]
    exact = slots.astype("f8").reshape(3 * tokens, topk, -1).sum(1)
    off = (sums[0] - exact) / np.maximum(np.spacing(abs(exact).astype("f2")), 2.0**-24)
    if not np.array_equal(sums[0], sums[1]) or np.array_equal(sums[0], sums[2]) or \
            (abs(off) > 1).any() or abs(off.mean()) > 0.05:
        return "a sum over slots that is rounded at random"
    refused("r has 20 elements, a row here has 40", GPU.moe_up, x, up, route,
            row={"r": r[:20].copy()}, epilogue="gate * up * r")
    refused("out2 has the shape", GPU.moe_up, x, up, route, out2=second)
    refused("bias is f32 [E,H]", GPU.moe_down, rows, down, route, bias=bias[:1].copy())
    return None if np.array_equal(got, plain + 1) else "a bias of moe_down"


def narrow_experts_of_moe():
    """16-bit activations by quantised experts, on both targets."""
    tokens, hidden, inter, many, topk = 20, 128, 64, 3, 2
    ids = np.stack([RNG.permutation(many)[:topk] for _ in range(tokens)])
    weights = RNG.random((tokens, topk)).astype("f4")
    route = kiln.routing(ids, weights, many)
    x = small(tokens, hidden) / np.float16(2)
    up = RNG.normal(size=(many, 2 * inter, hidden)) / 8
    down = RNG.normal(size=(many, hidden, inter)) / 8
    for target in ("gfx942", "gfx950"):
        for kind in ("mxfp4", "mxfp8"):
            u, d = (kiln.quantise_experts(w, kind) for w in (up, down))
            got = kiln.open("sim:" + target).moe(x, u, d, route, act="swiglu")
            want = reference_layer(wide(x), experts_of(u, up.shape),
                                   experts_of(d, down.shape), ids, weights,
                                   "swiglu")
            far = abs(got - want).max()
            if got.dtype != x.dtype or far > 2.0 ** -9 * abs(want).max():
                return "%s %s: %g of %g" % (target, kind, far,
                                            abs(want).max())
    return None


def experts_of(q, shape):
    """The numbers of weights that quantise_experts made."""
    return np.stack([kiln.Quantised(q.data[e], q.scales[e], q.type, q.scale,
                                    shape[1:], q.target).dequantise()
                     for e in range(shape[0])])


def kiln_weights(route, ids):
    """The weight of each slot, as the sorted arrays have it."""
    w = np.zeros(ids.shape)
    for i, weight in zip(route.ids, route.weights):
        if i & 0xffffff < route.tokens:
            w[i & 0xffffff, i >> 24] = weight
    return w


def routing_sorts():
    """Every slot once, by its expert; none of an expert that is not here."""
    for block in (16, 32, None):
        ids = RNG.integers(-1, 7, (50, 3))
        r = kiln.routing(ids, experts=5, block_m=block)
        seen = np.zeros(ids.shape, int)
        if len(r.ids) != len(r.experts) * r.block_m or \
                r.padded[0] != len(r.ids):
            return repr(r)
        for i, row in enumerate(r.ids):
            t, s = row & 0xffffff, row >> 24
            if t == 50:
                continue
            seen[t, s] += 1
            if r.experts[i // r.block_m] != ids[t, s]:
                return "row %d is of another expert" % i
        if not np.array_equal(seen, (ids >= 0) & (ids < 5)):
            return "slots are lost or twice"
    empty = kiln.routing(np.full((3, 1), -1), experts=2)
    if empty.padded[0]:
        return "an empty routing counts rows"
    r = kiln.routing(np.zeros((4, 2), int), experts=2)
    x, up = small(4, 32), small(2, 32, 32)
    refused("integers [tokens, slots]", kiln.routing, np.zeros(3))
    refused("the weights have the shape", kiln.routing, np.zeros((4, 2), int),
            np.zeros((4, 1)))
    refused("block_m is one of", kiln.routing, np.zeros((4, 2), int), None, 2,
            48)
    refused("A has 3 rows, the routing 4", GPU.moe_up, x[:3], up, r)
    refused("B has 1 experts, the routing 2", GPU.moe_up, x, up[:1], r)
    refused("gate and up are as many each", GPU.moe_up, x, small(2, 31, 32), r)
    refused("act is one of", GPU.moe_up, x, up, r, act="relu")
    refused("bias is f32", GPU.moe_up, x, up, r, bias=small(2, 3, dtype="f4"))
    refused("of gate and up in gemm1", GPU.moe_up, x, up, r, epilogue="relu")
    refused("weigh is one of", GPU.moe_down, small(8, 16), small(2, 32, 16), r,
            weigh="twice")
    refused("has a 16-bit output", GPU.moe, x, up, small(2, 32, 16), r, "f32")
    refused("the routing has 8 rows", GPU.moe_sum, x, r)
    return None


def own_text():
    with open(os.path.join(SOURCE, "examples/04_mine.tir"),
              encoding="utf-8") as f:
        return f.read()


def kernels_of_ones_own():
    """The example in tile IR for two sizes; each is compiled once."""
    made = []

    @kiln.jit
    def mine(name="mine"):
        made.append(name)
        return own_text().replace("@mine", "@" + name)

    for name in ("mine", "other", "mine"):
        m, n, k = (64 * int(x) for x in RNG.integers(1, 4, 3))
        x, y = (RNG.integers(-3, 4, s).astype("f4") for s in ((m, k), (n, k)))
        half = [GPU.array((t.view("u4") >> 16).astype("u2")) for t in (x, y)]
        c = GPU.empty((m, n), "bf16")
        mine(GPU, *half, c, m, n, k, 2 * k, 2 * k, 2 * n,
             grid=m * n // 4096, block=256, name=name)
        got = (c.numpy().astype("u4") << 16).view("f4")
        want = (x @ y.T).astype("f4")
        want = ((want.view("u4") + 0x7fff + (want.view("u4") >> 16 & 1)) >> 16
                << 16).view("f4")
        wrong = same(got, want)
        if wrong:
            return "%s %s: %s" % (name, (m, n, k), wrong)
    if made != ["mine", "other"]:
        return str(made)
    first = GPU.context.compile_text(mine.text(name="mine"))
    second = GPU.context.compile_text(mine.text(name="other"))
    if first.name != "mine" or first.info.key == second.info.key:
        return "%s, %s" % (first, second)
    return None


def own_kernels_are_cached():
    """By text, for all processes; a damaged entry is made again; STRICT and
    NO_DISK use none, RUN_ONLY only what is there."""
    compiler, disk = 0, 1
    folder = tempfile.mkdtemp(prefix="kiln-jit-")

    def source(text, flags=0):
        with kiln.Context(flags=flags, cache_dir=folder) as c:
            k = c.compile_text(text)
            return k.info.source, k.name, k.code

    text = own_text()
    other = text.replace("@mine", "@other")
    first = source(text)
    again = source(text)
    if first[0] != compiler or again != (disk,) + first[1:]:
        return "%r, then %r" % (first[:2], again[:2])
    if source(other)[:2] != (compiler, "other") or \
            source(other, kiln.RUN_ONLY)[0] != disk:
        return "another text"
    for flags in (kiln.STRICT, kiln.NO_DISK):
        if source(text, flags)[0] != compiler:
            return "flags %d use the folder" % flags
    refused("forbids to compile tile IR", source,
            text.replace("@mine", "@third"), kiln.RUN_ONLY)
    for name in os.listdir(folder):
        if name.endswith(".co"):
            with open(os.path.join(folder, name), "r+b") as f:
                f.seek(500)
                f.write(b"\xff" * 8)
    if source(text) != first or source(text)[0] != disk:
        return "a damaged entry"
    return None


def own_kernels_are_proven():
    """A wait, a barrier, a word less; arguments that are none."""
    text = own_text()
    for what, status in (("    barrier\n", 1),
                         ("    await %sA[0], %sB[0]     ; this wave's copies "
                          "are there\n", 1), ("  loop\n", 2)):
        if what not in text:
            return "the example has no %r" % what
        try:
            GPU.context.compile_text(text.replace(what, "", 1))
        except kiln.Error as e:
            if e.status != status:
                return "%r: status %d, %s" % (what, e.status, e)
        else:
            return "%r is not missed" % what
    refused("takes 9 arguments", GPU.launch_text, text, 1, 256, 1, 2)
    refused("M is an i32", GPU.launch_text, text, 1, 256, 0, 0, 0, 1 << 40, 0,
            0, 0, 0, 0)
    refused("device is gfx942", kiln.open("sim:gfx942").launch_text, text, 1,
            256, *[0] * 9)
    refused("uses no template", GPU.context.compile_text, ".use operands\n")
    refused("forbids", kiln.Context(
        flags=kiln.RUN_ONLY | kiln.NO_DISK).compile_text, text)


def shapes_and_types_are_checked():
    x, y = small(8, 64), small(8, 32)
    refused("K of b is 32, but it is 64", GPU.gemm, x, y)
    refused("axes", GPU.gemm, x, small(2, 8, 64))
    refused("not contiguous", GPU.gemm, x, small(8, 128)[:, ::2])
    refused("say their type with a_type", GPU.gemm, x.astype("u1"), x)
    refused("has elements of 2 bytes", GPU.gemm, x, x, a_type="fp8")
    refused("out= has the shape", GPU.gemm, x, x, np.empty((8, 9), "f4"))
    refused("beta= adds", GPU.gemm, x, x, "f32", beta=1)
    refused("layout is", GPU.gemm, x, x, layout="ts")
    refused("bias is f32", GPU.gemm, x, x, bias=np.ones(7, "f4"))
    refused("scales of 3 and 4", GPU.gemm, x.astype("i1"), x.astype("i1"),
            scales=(np.ones(3, "f4"), np.ones(4, "f4")))
    refused("is no array", GPU.gemm, x, [1, 2], kind=TypeError)
    refused("cannot be 'f17'", kiln.Problem, a="f17")
    refused("do not fit", kiln.Buffer(GPU, 8).upload, x)
    refused("do not fit", kiln.Buffer(GPU, 8).download, x)


def arrays_stay_on_their_device():
    x, y = small(40, 64), small(24, 64)
    a, b = GPU.array(x), GPU.array(y)
    c = GPU.gemm(a, b, "f32")
    if not isinstance(c, kiln.Array) or "f32[40, 24]" not in repr(c):
        return repr(c)
    other = kiln.open("sim:gfx942")
    refused("on another device", other.gemm, a, b)
    refused("on another device", other.run, kiln.Problem(), a=a)
    return same(c.numpy(), wide(x) @ wide(y).T)


class Foreign:
    """Somebody's device memory, by one of the two interfaces."""

    def __init__(self, array, how):
        self.array = array
        if how == "cuda":
            self.__dict__["__cuda_array_interface__"] = \
                array.__cuda_array_interface__


def foreign_arrays():
    x, y = small(40, 64), small(24, 64)
    want = wide(x) @ wide(y).T
    hip = kiln.open("hip:0", hip_library=SHIM)
    a, b = Foreign(hip.array(x), "cuda"), Foreign(hip.array(y), "cuda")
    c = hip.gemm(a, b, "f32")
    wrong = same(c.numpy(), want) or \
        same(GPU.gemm(Lent(x), Lent(y), "f32"), want)
    refused("not device memory", GPU.run, kiln.Problem(), a=x, kind=TypeError)
    refused("DLPack type", GPU.gemm, Lent(x.astype("c8")), Lent(y))
    return wrong


def torch_tensors():
    try:
        import torch
    except ImportError:
        raise tap.Skip("torch is not installed")
    x, y = (torch.from_numpy(small(n, 64)).to(torch.bfloat16) for n in (8, 24))
    return same(GPU.gemm(x, y, "f32"), x.double().numpy() @
                y.double().numpy().T)


def handles_outlive_nothing():
    context = kiln.Context()
    device = context.device("sim:gfx950")
    buffer, array = kiln.Buffer(device, 64), device.array(small(2, 8))
    problem = kiln.Problem(target="gfx950", a="bf16", m=8, n=8, k=8)
    kernel = context.compile(problem)
    info = kernel.info
    name = info.name
    del kernel
    if info.name != name:
        return "texts of a kernel that went"
    context.close()
    for call in (lambda: device.info, device.sync, buffer.free, array.numpy,
                 lambda: buffer.address, lambda: context.compile(problem),
                 lambda: device.gemm(array, array)):
        refused("closed", call)
    if "closed" not in repr(device) or "closed" not in repr(buffer):
        return repr(device)
    buffer.close()
    return None


def a_child_of_fork_is_refused():
    device = kiln.open("sim:gfx950")
    buffer = kiln.Buffer(device, 64)
    child = os.fork()
    if child == 0:
        try:
            refused("before a fork", lambda: device.info)
            refused("before a fork", lambda: buffer.address)
            device.close()
            with kiln.open("sim:gfx950") as own:
                x = small(8, 64)
                own.gemm(x, x)
            os._exit(0)
        except BaseException as e:
            os.write(2, str(e).encode())
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    device.gemm(small(8, 64), small(8, 64))
    return "the child ended with %d" % status if status else None


def versions_and_texts():
    if not kiln.__version__.startswith("0."):
        return kiln.__version__
    p = kiln.Problem(family="batched", a="fp8", m=5)
    return None if repr(p) == "Problem(family='batched', a='fp8', m=5)" \
        else repr(p)


def stubs_name_what_there_is():
    with open(os.path.join(SOURCE, "runtime/python/kiln/__init__.pyi"),
              encoding="utf-8") as f:
        text = f.read()
    missing = [n for n in kiln.__all__ if "%s(" % n not in text and
               "%s:" % n not in text]
    for cls in (kiln.Device, kiln.Array, kiln.Buffer, kiln.Kernel,
                kiln.Context):
        missing += ["%s.%s" % (cls.__name__, n) for n in vars(cls)
                    if not n.startswith("_") and "def %s(" % n not in text]
    return str(missing) if missing else None


CASES = [
    gemm_of_every_layout, random_products, out_bias_alpha_and_beta,
    epilogues_are_expressions,
    epilogues_of_gate_and_up,
    outputs_of_eight_bits,
    epilogues_name_operands,
    scales_say_their_mode, scales_of_batches, packed_types, integer_weights, eight_bit_weights, nvfp4_weights,
    maths_of_f32, products_of_f64,
    elements_are_the_nearest, quantised_operands, scale_modes_of_mx, batched_grouped_and_wgrad,
    tight_groups, grids_are_bounded, quantised_both_ways, moe_by_run, layers_of_moe, quantised_layers_of_moe, codes_of_moe, epilogues_of_moe, narrow_experts_of_moe,
    routing_sorts,
    kernels_of_ones_own,
    own_kernels_are_cached, own_kernels_are_proven, shapes_and_types_are_checked, arrays_stay_on_their_device,
    foreign_arrays, torch_tensors, handles_outlive_nothing,
    a_child_of_fork_is_refused, versions_and_texts, stubs_name_what_there_is,
]

if __name__ == "__main__":
    sys.exit(tap.main(CASES))
