"""kiln's operators of PyTorch on tensors of the CPU, that is on the simulator:
products against f64, gradients against autograd's of a loop over the groups,
shapes without numbers, what is refused.

usage: torch_ops.py SOURCE BUILD
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import built  # noqa: E402,F401
import tap  # noqa: E402
torch = tap.need("torch")
import kiln  # noqa: E402
import kiln.torch  # noqa: E402
import numpy as np  # noqa: E402

RNG = np.random.default_rng(27)
OPS = torch.ops.kiln
TARGETS = ("gfx950", "gfx942")


def small(*shape, dtype=torch.bfloat16):
    return torch.from_numpy(RNG.integers(-3, 4, shape)).to(dtype)


def ends_of(rows, groups, step=1):
    """Where groups end, some of them empty, the last before `rows` or there."""
    cuts = np.sort(RNG.integers(0, rows // step + 1, groups)) * step
    return torch.from_numpy(cuts.astype("i4"))


def begins(ends):
    return [0] + ends.tolist()[:-1]


def turned(x):
    """The same numbers, stored with the last two axes in turn."""
    return x.transpose(-2, -1).contiguous().transpose(-2, -1)


def apart(x):
    """The same numbers, with room between rows."""
    room = torch.zeros(*x.shape[:-1], x.shape[-1] + 8, dtype=x.dtype)
    room[..., :x.shape[-1]] = x
    return room[..., :x.shape[-1]]


def reference(a, b, offs=None):
    """f64, by a loop over the groups; differentiable."""
    if offs is None:
        return a @ b
    spans = list(zip(begins(offs), offs.tolist()))
    if b.dim() == 3:
        parts = [a[lo:hi] @ b[g] for g, (lo, hi) in enumerate(spans)]
        rest = a[spans[-1][1]:] @ torch.zeros_like(b[0])
        return torch.cat(parts + [rest])
    return torch.stack([a[:, lo:hi] @ b[lo:hi] for lo, hi in spans])


def far(got, want, bits=8):
    """A sentence where `got` is not `want` rounded to so many bits."""
    if got.shape != want.shape:
        return "the shape is %s" % (tuple(got.shape),)
    off = (got.double() - want).abs()
    room = 2.0 ** -bits * want.abs() + 1e-6 * want.abs().max()
    return "%d elements" % (off > room).sum() if (off > room).any() else None


def products():
    """(a, b, offs) of every kind of grouped_mm, of random sizes."""
    m, n, k = (int(x) * 8 for x in RNG.integers(1, 9, 3))
    groups = int(RNG.integers(1, 5))
    flip = (turned, apart, torch.clone)[RNG.integers(3)]
    yield small(m, k), flip(small(groups, k, n)), ends_of(m, groups)
    yield flip(small(m, k)), small(k, n), ends_of(k, groups)
    yield flip(small(groups, m, k)), flip(small(groups, k, n)), None


def grouped_products():
    for target in TARGETS:
        kiln.torch.simulate("sim:" + target)
        for _ in range(3):
            for a, b, offs in products():
                got = OPS.grouped_mm(a, b, offs, None, torch.float32)
                want = reference(a.double(), b.double(), offs)
                if not torch.equal(got.double(), want):
                    return "%s %s %s %s" % (target, tuple(a.shape),
                                            tuple(b.shape), offs)
                if OPS.grouped_mm(a, b, offs).dtype != torch.bfloat16:
                    return "the type of an output is not that of self"
    return None


def copies_of(call, *args):
    """How many tensors a call copies to have them contiguous."""
    copy, made = torch.Tensor.contiguous, []

    def counted(x, *more):
        made.extend([x.shape] if not x.is_contiguous() else [])
        return copy(x, *more)
    torch.Tensor.contiguous = counted
    try:
        call(*args)
    finally:
        torch.Tensor.contiguous = copy
    return len(made)


def what_has_a_layout_is_not_copied():
    """Either axis contiguous, rows apart or not; else one copy of each."""
    kiln.torch.simulate("sim:gfx950")
    ways = (torch.clone, apart, turned,
            lambda x: apart(x.transpose(-2, -1)).transpose(-2, -1))
    for lay in ways:
        for other in ways:
            a, b = lay(small(2, 24, 16)), other(small(2, 16, 8))
            n = copies_of(OPS.grouped_mm, a, b)
            if n:
                return "%d copies of %s and %s" % (n, a.stride(), b.stride())
        n = copies_of(OPS.grouped_mm, apart(small(24, 16)), lay(small(3, 16, 8)),
                      ends_of(24, 3))
        if n:
            return "%d copies of groups" % n
    n = copies_of(OPS.grouped_mm, small(2, 24, 32)[:, :, ::2], small(2, 16, 16)[:, :, ::2])
    return None if n == 2 else "%d copies of two that no layout has" % n


def gradients():
    kiln.torch.simulate("sim:gfx950")
    for _ in range(3):
        for a, b, offs in products():
            x, y = (t.clone().requires_grad_() for t in (a, b))
            u, v = (t.double().requires_grad_() for t in (a, b))
            out = OPS.grouped_mm(x, y, offs)
            grad = small(*out.shape)
            out.backward(grad)
            reference(u, v, offs).backward(grad.double())
            for name, got, want in (("self", x.grad, u.grad),
                                    ("mat2", y.grad, v.grad)):
                wrong = far(got, want)
                if wrong:
                    return "%s of %s %s: %s" % (name, tuple(a.shape),
                                                tuple(b.shape), wrong)
    return None


def quantised(shape, kind, scale, operand):
    """(codes, scales, numbers) with K last."""
    target = kiln.torch._names["cpu"][4:]
    x = RNG.normal(size=shape)
    if operand == "b" and x.ndim == 3:
        q = [kiln.quantise(e, kind, scale, operand=operand, target=target)
             for e in x]
        return tuple(torch.from_numpy(np.stack(w)) for w in (
            [e.data for e in q], [e.scales for e in q],
            [e.dequantise() for e in q]))
    q = kiln.quantise(x, kind, scale, operand=operand, target=target)
    return tuple(torch.from_numpy(w)
                 for w in (q.data, q.scales, q.dequantise()))


def scaled_products():
    """Bytes whose type is said; MX is told by the size of the scales."""
    for target in TARGETS:
        kiln.torch.simulate("sim:" + target)
        for kind, scale in (("fp8", "tensor"), ("fp8", "row"), ("bf8", "row"),
                            ("mxfp8", None), ("mxbf8", None)):
            m, n, k = 40, 48, 96
            a, sa, x = quantised((m, k), kind, scale, "a")
            b, sb, y = quantised((n, k), kind, scale, "b")
            said = kind.replace("mx", "")
            bias = small(n)
            got = OPS.scaled_mm(a, b.t(), sa, sb, bias,
                                out_dtype=torch.bfloat16, a_type=said,
                                b_type=said)
            wrong = far(got, x @ y.t() + bias.double())
            if wrong or got.dtype != torch.bfloat16:
                return "%s %s %s: %s" % (target, kind, scale, wrong)
            got = OPS.scaled_mm(a, b.t().contiguous(), sa, sb,
                                out_dtype=torch.float32, a_type=said,
                                b_type=said)
            wrong = far(got, x @ y.t(), 16)
            if wrong:
                return "%s %s %s, row-major: %s" % (target, kind, scale, wrong)
    return None


def scaled_groups():
    """MXFP8 forward, dgrad and wgrad with int32 ends; fp8 by row."""
    for target in TARGETS:
        kiln.torch.simulate("sim:" + target)
        for kind, said, scale in (("mxfp8", "fp8", None),
                                  ("fp8", "fp8", "row")):
            m, n, k, groups = 128, 64, 96, 3
            offs = ends_of(m, groups, 32)
            a, sa, x = quantised((m, k), kind, scale, "a")
            for rows, name in ((n, "forward"), (160, "dgrad")):
                b, sb, y = quantised((groups, rows, k), kind, scale, "b")
                got = OPS.scaled_grouped_mm(
                    a, b.transpose(-2, -1), sa, sb, offs,
                    out_dtype=torch.bfloat16, a_type=said, b_type=said)
                wrong = far(got, reference(x, y.transpose(-2, -1), offs))
                if wrong:
                    return "%s %s %s: %s" % (target, kind, name, wrong)
        for flip in (torch.clone, turned):
            a, sa, x = quantised((n, m), "mxfp8", None, "a")
            b, sb, y = quantised((k, m), "mxfp8", None, "b")
            got = OPS.scaled_grouped_mm(flip(a), b.t(), sa, sb, offs,
                                        out_dtype=torch.bfloat16,
                                        a_type="fp8", b_type="fp8")
            wrong = far(got, reference(x, y.t(), offs))
            if wrong:
                return "%s wgrad: %s" % (target, wrong)
    return None


def shapes_without_numbers():
    for a, b, offs in products():
        got = OPS.grouped_mm(a.to("meta"), b.to("meta"),
                             None if offs is None else offs.to("meta"))
        want = OPS.grouped_mm(a, b, offs)
        if got.device.type != "meta" or got.shape != want.shape or \
                got.dtype != want.dtype:
            return "%s, not %s" % (got, want.shape)
    x = torch.empty((8, 32), dtype=torch.uint8, device="meta")
    s = torch.empty((8, 1), dtype=torch.uint8, device="meta")
    got = OPS.scaled_mm(x, x.t(), s, s, out_dtype=torch.float16)
    grouped = OPS.scaled_grouped_mm(
        x, x.t(), s, s, torch.empty(3, dtype=torch.int32, device="meta"))
    if got.shape != (8, 8) or got.dtype != torch.float16 or \
            grouped.shape != (3, 8, 8) or grouped.dtype != torch.bfloat16:
        return "%s %s" % (got, grouped)
    return None


def refused(text, call, *args, **more):
    try:
        call(*args, **more)
    except (kiln.Error, RuntimeError) as e:
        assert text in str(e), "%r is not in %r" % (text, str(e))
        return
    raise AssertionError("%s was not refused" % text)


def what_does_not_fit_is_refused():
    kiln.torch.simulate("sim:gfx950")
    x, w = small(8, 32), small(2, 32, 16)
    ends = torch.tensor([4, 8], dtype=torch.int32)
    one = torch.ones(1)
    byte = torch.zeros((8, 32), dtype=torch.uint8)
    refused("K of self is 32, of mat2 16", OPS.grouped_mm, x, w[:, :16], ends)
    refused("offs is int32", OPS.grouped_mm, x, w, ends.long())
    refused("2 offs for 1 groups", OPS.grouped_mm, x, w[:1], ends)
    refused("without offs are no product", OPS.grouped_mm, x, w)
    refused("ends do not fall and end by 8", OPS.grouped_mm, x, w, ends.flip(0))
    refused("ends do not fall and end by 8", OPS.grouped_mm, x, w, ends * 3)
    refused("bias is not taken", OPS.grouped_mm, x, w, ends, one)
    refused("out_dtype is", OPS.grouped_mm, x, w, ends, None, torch.int8)
    refused("say their type with a_type=", OPS.scaled_mm, byte, byte.t(), one,
            one)
    refused("8- and 16-bit operands", OPS.scaled_mm, byte, byte.t(), one, one,
            a_type="mxfp4", b_type="mxfp4")
    refused("scale_result is for", OPS.scaled_mm, byte, byte.t(), one, one,
            None, one)
    return None


CASES = [grouped_products, what_has_a_layout_is_not_copied, gradients, scaled_products,
         scaled_groups, shapes_without_numbers, what_does_not_fit_is_refused]

if __name__ == "__main__":
    sys.exit(tap.main(CASES))
