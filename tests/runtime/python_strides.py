"""Operands of the Python module whose rows are apart, or contiguous along the other
axis: products against numpy, what lies between rows, what is refused.

usage: python_strides.py SOURCE BUILD
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import built  # noqa: E402,F401
import tap  # noqa: E402
import kiln  # noqa: E402
np = tap.need("numpy")
from arrays import Lent, refused, same, wide  # noqa: E402

RNG = np.random.default_rng(47)
GAP = 7


def small(*shape, dtype="f2"):
    return RNG.integers(-3, 4, shape).astype(dtype)


def apart(x, by=None):
    """The same numbers, rows `by` elements further from each other."""
    by = int(RNG.integers(1, 40)) if by is None else by
    room = np.full((*x.shape[:-1], x.shape[-1] + by), GAP, x.dtype)
    room[..., :x.shape[-1]] = x
    return room[..., :x.shape[-1]]


def turned(x):
    """The same numbers, contiguous along the axis before the last."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def lain(x):
    """The same numbers, somehow."""
    how = RNG.integers(4)
    return x if not how else apart(x) if how == 1 else turned(x) if how == 2 \
        else apart(turned(x).swapaxes(-1, -2)).swapaxes(-1, -2)


def devices():
    return [kiln.open("sim:" + t) for t in ("gfx950", "gfx942")]


def products_of_any_strides():
    """Every layout, of one and of several products, written with gaps and without."""
    for gpu in devices():
        for _ in range(24):
            m, n, k = (int(x) for x in RNG.integers(1, 150, 3))
            g, layout = int(RNG.integers(1, 4)), str(RNG.choice(kiln.LAYOUTS))
            kind = str(RNG.choice(["f2", "i1"]))
            x = small(*((g, k, m) if layout[0] == "t" else (g, m, k)), dtype=kind)
            y = small(*((g, n, k) if layout[1] == "t" else (g, k, n)), dtype=kind)
            want = np.matmul(wide(x if layout[0] == "n" else x.swapaxes(1, 2)),
                             wide(y if layout[1] == "n" else y.swapaxes(1, 2)))
            out = apart(np.zeros((g, m, n), "f4")) if RNG.integers(2) else "f32"
            call = gpu.batched
            if g == 1:
                call, x, y, want = gpu.gemm, x[0], y[0], want[0]
                out = out if isinstance(out, str) else out[0]
            got = call(lain(x), lain(y), out, layout=layout)
            wrong = same(got, want)
            if wrong:
                return "%s %s %s: %s" % (layout, kind, (g, m, n, k), wrong)
            if out is got and not (out.base[..., n:] == GAP).all():
                return "what is between rows of the output was written"
    return None


def groups_of_any_strides():
    offsets = np.array([0, 13, 13, 50], "i8")
    spans = list(enumerate(zip(offsets, offsets[1:])))
    for gpu in devices():
        a, b, c = small(50, 64), small(3, 32, 64), small(50, 48)
        want = np.concatenate([wide(a[s:e]) @ wide(b[g]).T for g, (s, e) in spans])
        rows = apart(np.zeros((50, 32), "f4"))
        wrong = same(gpu.grouped(apart(a), lain(b), offsets, rows), want)
        wide_rows = np.stack([wide(a[s:e]).T @ wide(c[s:e]) for _, (s, e) in spans])
        sums = apart(np.ones((3, 64, 48), "f4"))
        wrong = wrong or same(gpu.wgrad(apart(a), apart(c), offsets, sums, beta=1),
                              wide_rows + 1)
        if wrong:
            return wrong
    return None


def heads_between_rows():
    """[rows, heads, K], of which each head is a product's A: pitches cross."""
    for gpu in devices():
        x, y = small(20, 3, 64), small(3, 32, 64)
        heads = x.transpose(1, 0, 2)
        wrong = same(gpu.batched(heads, y, "f32"), np.matmul(
            wide(heads), wide(y).swapaxes(1, 2)))
        if wrong:
            return wrong
    return None


def one_matrix_for_all():
    """A broadcast weight, and its scales, are read by every product."""
    for gpu, one in zip(devices(), (0x38, 0x40)):
        codes = {"a_type": "fp8", "b_type": "fp8"}
        x, y = np.full((3, 33, 256), one, "u1"), np.full((1, 140, 256), one, "u1")
        every = np.broadcast_to(y, (3, 140, 256))
        s, t = (RNG.integers(1, 5, n).astype("f4") for n in ((3, 33), 140))
        wrong = same(gpu.batched(x, every, "f32", scales=(s, t), **codes),
                     256. * wide(s)[:, :, None] * wide(t))
        if wrong:
            return wrong
        refused("none of", gpu.batched, x, every, scales=(s, np.tile(t, 3)), **codes)
    return None


def layers_of_moe():
    """Both stages, of tokens, weights and slots whose rows are apart."""
    for gpu in devices():
        x, up, down = small(9, 64), small(4, 96, 64), small(4, 64, 48)
        ids = np.stack([RNG.permutation(4)[:2] for _ in range(9)]).astype("i4")
        route = kiln.routing(ids, np.full((9, 2), .5, "f4"), experts=4)
        got = []
        for lie in (np.copy, apart):
            rows = lie(np.zeros((18, 48), "f2"))
            gpu.moe_up(lie(x), lie(up), route, rows)
            slots = lie(np.zeros((18, 64), "f4"))
            gpu.moe_down(lie(rows), lie(down), route, slots)
            got.append((wide(rows), wide(slots)))
        wrong = same(got[1][0], got[0][0]) or same(got[1][1], got[0][1])
        if wrong or not got[0][1].any():
            return wrong or "nothing was written"
    return None


def packed_rows_apart():
    """Rows of 4-bit codes, which pitches count in elements."""
    for gpu in devices():
        x, y = (kiln.quantise(RNG.normal(size=n), "mxfp4", operand=o,
                              target=gpu.info.target)
                for n, o in (((40, 256), "a"), ((48, 256), "b")))
        want = gpu.gemm(x, y, "f32")
        got = gpu.gemm(apart(x.data, 16), apart(y.data, 3), "f32", a_type="mxfp4",
                       b_type="mxfp4", scales=(x.scales, y.scales))
        wrong = same(got, wide(want))
        if wrong:
            return wrong
    return None


def lent_arrays():
    """DLPack says strides in elements, and none of a dense array."""
    gpu = devices()[0]
    x, y = small(33, 64), small(40, 64)
    for lie in (np.copy, apart, turned):
        wrong = same(gpu.gemm(Lent(lie(x)), Lent(lie(y)), "f32"), wide(x) @ wide(y).T)
        if wrong:
            return wrong
    return None


def arrays_beside_the_output():
    """A second output and an epilogue's array lie as the output does."""
    gpu = devices()[0]
    x, y, t = small(33, 64), small(40, 64), small(33, 40, dtype="f4")
    want = wide(x) @ wide(y).T
    out, second = (apart(np.zeros((33, 40), "f4"), 5) for _ in "ab")
    gpu.gemm(x, y, out, epilogue="acc + t", tensor={"t": apart(t, 5)}, out2=second)
    refused("are apart as those of the output", gpu.gemm, x, y, out,
            epilogue="acc + t", tensor={"t": t})
    refused("are apart as those of the output", gpu.gemm, x, y, "f32",
            out2=apart(np.zeros((33, 40), "f4")))
    pair = {"epilogue": "aux:gate, up, aux_gate + aux_up"}
    sums, both = np.zeros((33, 50), "f4")[:, :20], np.zeros((33, 100), "f4")[:, :40]
    gpu.gemm(x, y, sums, out2=both, **pair)
    refused("asks for (100, 0)", gpu.gemm, x, y, sums, out2=np.zeros((33, 50), "f4")[:, :40],
            **pair)
    return same(out, want + wide(t)) or same(second, want + wide(t)) or \
        same(both, want) or same(sums, want[:, :20] + want[:, 20:])


def what_is_no_rows_is_refused():
    gpu = devices()[0]
    x, y = small(32, 64), small(32, 64)
    for text, a in (("not contiguous", x[:, ::2]), ("overlap", x[::-1]),
                    ("overlap", np.broadcast_to(x[:1], x.shape))):
        refused(text, gpu.gemm, a, y[:, :a.shape[1]].copy())
    refused("out= of shape", gpu.gemm, x, y, turned(np.zeros((32, 32), "f4")))
    refused("not contiguous", gpu.gemm, x, y, bias=np.ones(64, "f4")[::2])
    bytes_ = np.zeros((16, 48), "u1")
    refused("begin inside an element", gpu.gemm, apart(bytes_, 1), bytes_,
            a_type="mxfp6", b_type="mxfp6")
    fields = np.zeros(16, [("x", "f2"), ("y", "u1")])["x"].reshape(4, 4)
    refused("are no whole elements", gpu.gemm, fields, fields)


CASES = [
    products_of_any_strides, groups_of_any_strides, heads_between_rows, one_matrix_for_all,
    layers_of_moe, packed_rows_apart, lent_arrays, arrays_beside_the_output,
    what_is_no_rows_is_refused,
]

if __name__ == "__main__":
    sys.exit(tap.main(CASES))
