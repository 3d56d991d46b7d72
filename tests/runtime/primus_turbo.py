"""kiln as a backend of Primus-Turbo, through the dispatcher interface that
Primus-Turbo's own backends have, of which this file has a model: modules with
an Enum, entries, dispatchers that ask can_handle and call execute. Its grouped
products (balanced and not, empty groups, both orders of B, wgrad turned and
added to) on tensors of the CPU, that is on the simulator, against f64.

usage: primus_turbo.py SOURCE BUILD
"""
import collections
import enum
import os
import sys
import types

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import built  # noqa: E402,F401
import tap  # noqa: E402
torch = tap.need("torch")
import kiln  # noqa: E402
import kiln.primus_turbo  # noqa: E402
import numpy as np  # noqa: E402

RNG = np.random.default_rng(277)
TARGETS = ("gfx950", "gfx942")


# ---- a model of Primus-Turbo --------------------------------------------------

class BackendType(enum.Enum):
    CK = enum.auto()
    TRITON = enum.auto()


class Granularity(enum.Enum):
    TENSORWISE = enum.auto()
    ROWWISE = enum.auto()
    BLOCKWISE = enum.auto()
    MX_BLOCKWISE = enum.auto()
    OTHER = enum.auto()


class KernelBackend:
    pass


class Never(KernelBackend):
    """The others': here they take nothing."""

    @staticmethod
    def can_handle(**_):
        return False


Entry = collections.namedtuple("Entry", "impl autotune", defaults=(True,))


def dispatcher():
    class Dispatcher:
        _backends = {BackendType.CK: Entry(Never)}

        @classmethod
        def dispatch(cls, user=None, **kwargs):
            if user is not None:
                impl = cls._backends[user].impl
                if not impl.can_handle(**kwargs):
                    raise ValueError("%s cannot handle it" % user.name)
                return impl.execute(**kwargs)
            for entry in cls._backends.values():
                if entry.impl.can_handle(**kwargs):
                    return entry.impl.execute(**kwargs)
            raise ValueError("no backend")
    return Dispatcher


def model():
    core = types.ModuleType("primus_turbo.pytorch.core.backend")
    core.BackendType, core.KernelBackend = BackendType, KernelBackend
    core.BackendEntry = Entry
    sys.modules[core.__name__] = core
    for at in ("", ".pytorch", ".pytorch.core", ".pytorch.kernels",
               ".pytorch.kernels.grouped_gemm"):
        sys.modules["primus_turbo" + at] = types.ModuleType("primus_turbo" + at)
    found = []
    for name, classes in kiln.primus_turbo.DISPATCHERS.items():
        module = types.ModuleType(
            "primus_turbo.pytorch.kernels.grouped_gemm." + name)
        for cls in classes:
            setattr(module, cls, dispatcher())
            found.append(getattr(module, cls))
        sys.modules[module.__name__] = module
    return found


FORWARD, WGRAD, FORWARD8, WGRAD8 = model()
KILN = kiln.primus_turbo.register(byte_type="fp8")


# ---- problems -----------------------------------------------------------------

def lens_of(groups, rows, step=1):
    """Rows of each group, one of them empty as often as not."""
    cuts = np.sort(RNG.integers(0, rows // step + 1, groups - 1)) * step
    return torch.from_numpy(np.diff(np.concatenate([[0], cuts, [rows]]))
                            .astype("i8"))


def tables(lens):
    offs = torch.cat([torch.zeros(1, dtype=torch.int64), lens.cumsum(0)])
    return {"group_lens": lens, "group_offs": offs}


def groups_of(offs):
    return list(zip(offs.tolist(), offs.tolist()[1:]))


def small(*shape, dtype=torch.bfloat16):
    return torch.from_numpy(RNG.integers(-3, 4, shape)).to(dtype)


def call(work, user=KILN, **more):
    kwargs = dict(trans_a=False, trans_b=False, num_cu=None,
                  maybe_pre_sync=False)
    return work.dispatch(user, **dict(kwargs, **more))


def forward(a, b, offs):
    """f64; b is [G,K,N]."""
    out = torch.zeros(a.shape[0], b.shape[2], dtype=torch.float64)
    for g, (lo, hi) in enumerate(groups_of(offs)):
        out[lo:hi] = a[lo:hi].double() @ b[g].double()
    return out


def wgrad(a, b, offs):
    return torch.stack([a[lo:hi].double().t() @ b[lo:hi].double()
                        for lo, hi in groups_of(offs)])


def far(got, want, bits=8):
    if got.shape != want.shape:
        return "the shape is %s, not %s" % (tuple(got.shape), tuple(want.shape))
    if not want.numel():
        return None
    off = (got.double() - want).abs()
    room = 2.0 ** -bits * want.abs() + 1e-6 * want.abs().max()
    return "%d elements" % (off > room).sum() if (off > room).any() else None


def shapes():
    for target in TARGETS:
        kiln.torch.simulate("sim:" + target)
        for groups in (1, 3, 8):
            m, n, k = (int(x) * 8 for x in RNG.integers(2, 14, 3))
            yield target, groups, m, n, k


def grouped_products_of_16_bits():
    for target, groups, m, n, k in shapes():
        for dtype in (torch.bfloat16, torch.float16):
            t = tables(lens_of(groups, m))
            a, b = small(m + 5, k, dtype=dtype), small(groups, k, n, dtype=dtype)
            want = forward(a, b, t["group_offs"])
            for trans_b in (False, True):
                stored = b.transpose(1, 2).contiguous() if trans_b else b
                got = call(FORWARD, a=a, b=stored, trans_b=trans_b,
                           num_cu=int(RNG.integers(0, 3)) * 64, **t)
                wrong = far(got, want)
                if wrong or got.dtype != dtype:
                    return "%s %s %s: %s" % (target, (groups, m, n, k), dtype,
                                             wrong)
    return None


def weight_gradients_of_16_bits():
    """Turned, and added to what is there, of f32 too."""
    for target, groups, m, n, k in shapes():
        t = tables(lens_of(groups, k))
        a, b = small(k, m), small(k, n)
        want = wgrad(a, b, t["group_offs"])
        for trans_c in (False, True):
            ref = want.transpose(1, 2) if trans_c else want
            got = call(WGRAD, a=a, b=b, trans_a=True, trans_c=trans_c, **t)
            out = torch.ones(ref.shape, dtype=torch.float32)
            call(WGRAD, a=a, b=b, trans_a=True, trans_c=trans_c, out=out,
                 inplace_add_to_out=True, **t)
            wrong = far(got, ref) or far(out, ref + 1, 20)
            if wrong:
                return "%s %s: %s" % (target, (groups, m, n, k), wrong)
    return None


def codes(shape, kind, scale, operand="a"):
    """(codes, scales, numbers), K last."""
    q = kiln.quantise(RNG.normal(size=shape), kind, scale, operand=operand,
                      target=kiln.torch._names["cpu"][4:])
    return [torch.from_numpy(np.array(w))
            for w in (q.data, q.scales, q.dequantise())]


def many(groups, *args):
    return [torch.stack(x) for x in zip(*[codes(*args) for _ in range(groups)])]


def scaled_forward():
    kinds = ((Granularity.TENSORWISE, "fp8", "tensor"),
             (Granularity.ROWWISE, "fp8", "row"),
             (Granularity.BLOCKWISE, "fp8", "block128"),
             (Granularity.MX_BLOCKWISE, "mxfp8", None))
    for target in TARGETS:
        kiln.torch.simulate("sim:" + target)
        for granularity, kind, scale in kinds:
            groups, m, n, k = 3, 96, 128, 256
            t = tables(lens_of(groups, m, 32))
            a, sa, x = codes((m, k), kind, scale)
            b, sb, y = many(groups, (n, k), kind, scale, "b")
            if scale == "tensor":    # one for all groups
                y, sb = y / sb.double().reshape(-1, 1, 1) * sb[0], sb[0]
            if scale == "block128":
                sa = sa.t().contiguous()
            got = call(FORWARD8, a=a, b=b, a_scales=sa, b_scales=sb,
                       trans_b=True, out_dtype=torch.bfloat16,
                       granularity=granularity, **t)
            wrong = far(got, forward(x, y.transpose(1, 2), t["group_offs"]))
            if wrong:
                return "%s %s: %s" % (target, granularity.name, wrong)
    return None


def scaled_weight_gradients():
    """MX: [M,K] by [N,K]; a tensor's scale: [K,M] by [K,N]; by blocks of 128
    of K, whose scales have K first."""
    for target in TARGETS:
        kiln.torch.simulate("sim:" + target)
        groups, m, n, k = 3, 64, 96, 512
        for granularity, kind, scale, step in (
                (Granularity.MX_BLOCKWISE, "mxfp8", None, 32),
                (Granularity.TENSORWISE, "fp8", "tensor", 1),
                (Granularity.ROWWISE, "fp8", "row", 1),
                (Granularity.BLOCKWISE, "fp8", "block128", 128)):
            t = tables(lens_of(groups, k, step))
            a, sa, x = codes((m, k), kind, scale)
            b, sb, y = codes((n, k), kind, scale)
            plain = scale is None
            if scale == "block128":
                sa, sb = sa.t().contiguous(), sb.t().contiguous()
            got = call(WGRAD8, a=a if plain else a.t().contiguous(),
                       b=b if plain else b.t().contiguous(), a_scales=sa,
                       b_scales=sb, trans_a=not plain, trans_c=False,
                       out_dtype=torch.bfloat16, granularity=granularity, **t)
            wrong = far(got, wgrad(x.t(), y.t(), t["group_offs"]))
            if wrong:
                return "%s %s: %s" % (target, granularity.name, wrong)
    return None


def padded_groups_are_packed():
    """MX reads groups at multiples of 32 rows and writes them tight."""
    kiln.torch.simulate("sim:gfx950")
    lens = torch.tensor([5, 0, 40, 19])
    padded = (lens + 31) // 32 * 32
    offs, tight = (tables(x)["group_offs"] for x in (padded, lens))
    a, sa, x = codes((int(offs[-1]), 128), "mxfp8", None)
    b, sb, y = many(4, (64, 128), "mxfp8", None, "b")
    got = call(FORWARD8, a=a, b=b, a_scales=sa, b_scales=sb, trans_b=True,
               out_dtype=torch.bfloat16, granularity=Granularity.MX_BLOCKWISE,
               group_lens=padded, group_offs=offs, group_offs_out=tight)
    want = forward(x, y.transpose(1, 2), offs)
    for (lo, hi), at in zip(groups_of(tight), offs.tolist()):
        wrong = far(got[lo:hi], want[at:at + hi - lo])
        if wrong:
            return "rows from %d: %s" % (lo, wrong)
    return None


def it_is_one_of_the_backends():
    """By name, by value, as the last resort; what it cannot do it says."""
    if BackendType["KILN"] is not KILN or BackendType(KILN.value) is not KILN \
            or kiln.primus_turbo.register("fp8") is not KILN:
        return "BackendType has another KILN"
    t = tables(lens_of(2, 16))
    a, b = small(16, 32), small(2, 32, 8)
    if far(call(FORWARD, None, a=a, b=b, **t),
           forward(a, b, t["group_offs"])):
        return "not found where no other takes the problem"
    scales = dict(a_scales=torch.ones(1), b_scales=torch.ones(1),
                  out_dtype=torch.bfloat16)
    byte = torch.zeros(16, 32, dtype=torch.uint8)
    refused = (
        (FORWARD, dict(a=a, b=b, schedule="work_steal")),
        (FORWARD, dict(a=a, b=b, trans_a=True)),
        (FORWARD, dict(a=a, b=b.half())),
        (FORWARD, dict(a=a.float(), b=b.float())),
        (FORWARD, dict(a=a, b=b, trans_b=True)),
        (WGRAD, dict(a=a, b=a, trans_c=False)),
        (FORWARD8, dict(a=byte, b=torch.zeros(2, 32, 8, dtype=torch.uint8),
                        granularity=Granularity.MX_BLOCKWISE, **scales)),
        (FORWARD8, dict(a=byte, b=torch.zeros(2, 32, 8, dtype=torch.uint8),
                        granularity=Granularity.OTHER, **scales)),
        (FORWARD8, dict(a=a, b=b, granularity=Granularity.ROWWISE, **scales)))
    for work, kwargs in refused:
        try:
            call(work, **kwargs, **t)
        except ValueError as e:
            if "KILN cannot handle it" in str(e):
                continue
        return "taken: %s" % {k: getattr(v, "dtype", v)
                              for k, v in kwargs.items()}
    return None


if __name__ == "__main__":
    sys.exit(tap.main([
        grouped_products_of_16_bits, weight_gradients_of_16_bits,
        scaled_forward, scaled_weight_gradients, padded_groups_are_packed,
        it_is_one_of_the_backends]))
