"""kiln as a backend of Primus-Turbo: grouped products beside CK, hipBLASLt,
Triton and FlyDSL, chosen by its environment, its settings or its autotuner.

    import kiln.primus_turbo
    kiln.primus_turbo.register()
    # PRIMUS_TURBO_GROUPED_GEMM_BACKEND=KILN, or PRIMUS_TURBO_AUTO_TUNE=1

Forward and dgrad ([M,K] by [G,K,N] or [G,N,K]) and the variable-K wgrad, of 16
bits and of 8 with tensor, row, block and MX scales. Nothing waits for the
device: what may be refused is told by shapes and types.
"""
import torch

from ._memory import BITS, NAMES, view
from ._products import TAIL_ZERO, Product
from .torch import OUTPUTS, by_rows, device_of

TRANSPOSED = 2               # kiln_scale_layout
MODES = {"TENSORWISE": "tensor", "ROWWISE": "row", "BLOCKWISE": "block128",
         "MX_BLOCKWISE": "mx32"}
DISPATCHERS = {              # module, forward and dgrad, wgrad
    "grouped_gemm_impl": ("GroupedGEMMKernelDispatcher",
                          "GroupedGEMMVariableKKernelDispatcher"),
    "grouped_gemm_fp8_impl": ("GroupedGEMMFP8KernelDispatcher",
                              "GroupedGEMMFP8VariableKKernelDispatcher"),
}
_bytes = {"type": None}


def type_of(x):
    """kiln's name of a tensor's type; None: none that it multiplies."""
    if x.dtype == torch.uint8:
        return _bytes["type"]
    return NAMES.get(str(x.dtype).rpartition(".")[2])


def mode_of(granularity):
    """No scales without a granularity; None: one that kiln does not have."""
    return "none" if granularity is None else MODES.get(granularity.name)


def fits(a, b, mode, out):
    """Are the types a product of kiln's, with these scales?"""
    kinds = type_of(a), type_of(b)
    bits = {BITS.get(kind) for kind in kinds}
    if mode is None or None in kinds or out not in OUTPUTS:
        return False
    if mode == "none":
        return kinds[0] == kinds[1] and kinds[0] in ("bf16", "f16")
    return bits == {8} and not set(kinds) - {"fp8", "bf8"}


def scaled(p, mode, a_scales, b_scales):
    """Block scales of A come transposed, [K/128, M]; of wgrad B's as well."""
    p.fields["scale"] = mode
    if mode == "none":
        return
    if mode == "block128":
        p.fields["scale_layout"] = TRANSPOSED
    for name, s in (("sa", a_scales), ("sb", b_scales)):
        s = s.contiguous()
        p.operand[name] = view(s.view(torch.uint8) if mode == "mx32" else s)


def product(family, layout, operands, mode, scales):
    """The operands as they are stored, and their scales."""
    a, b = (by_rows(x) for x in operands)
    kinds = [type_of(x) for x in (a, b)]
    if mode == "mx32":
        kinds = ["mx" + kind for kind in kinds]
    p = Product(family, layout, a, b, *kinds)
    scaled(p, mode, *scales)
    return p


def launch(p, offsets, num_cu, out, beta=0, tight=None):
    last = p.sizes["m" if p.fields["family"] == "grouped" else "k"]
    p.add_offsets(offsets, last)
    p.add_tight(tight, last)
    if num_cu:
        p.fields["cus"] = num_cu
    device, stream = device_of(out)
    device._launch(p, out, beta, None, stream)
    return out


class Grouped:
    """[M,K] by each group's [K,N] or [N,K]: forward and dgrad."""

    @staticmethod
    def can_handle(a, b, trans_a, trans_b, granularity=None, out_dtype=None,
                   schedule="static", **_):
        mode = mode_of(granularity)
        return a.dim() == 2 and b.dim() == 3 and not trans_a and \
            schedule == "static" and (trans_b or mode != "mx32") and \
            fits(a, b, mode, out_dtype or a.dtype) and \
            a.shape[1] == b.shape[2 if trans_b else 1]

    @staticmethod
    def execute(a, b, group_offs, trans_b, num_cu=None, granularity=None,
                out_dtype=None, a_scales=None, b_scales=None,
                group_offs_out=None, **_):
        p = product("grouped", "nt" if trans_b else "nn", (a, b),
                    mode_of(granularity), (a_scales, b_scales))
        p.fields["group_flags"] = TAIL_ZERO
        out = a.new_empty((p.sizes["m"], p.sizes["n"]),
                          dtype=out_dtype or a.dtype)
        return launch(p, group_offs, num_cu, out, tight=group_offs_out)


class VariableK:
    """Each group's rows of both: [K,M] by [K,N], of MX types [M,K] by [N,K]."""

    @staticmethod
    def can_handle(a, b, trans_a, trans_b, granularity=None, out_dtype=None,
                   schedule="static", inplace_add_to_out=False, out=None, **_):
        mode = mode_of(granularity)
        turned = (False, False) if mode == "mx32" else (True, False)
        kind = out.dtype if out is not None else out_dtype or a.dtype
        return a.dim() == 2 and b.dim() == 2 and schedule == "static" and \
            (trans_a, trans_b) == turned and fits(a, b, mode, kind) and \
            (not inplace_add_to_out or out is not None and
             out.is_contiguous())

    @staticmethod
    def execute(a, b, group_lens, group_offs, trans_c, num_cu=None,
                granularity=None, out_dtype=None, a_scales=None, b_scales=None,
                inplace_add_to_out=False, out=None, **_):
        mode = mode_of(granularity)
        pair, scales = (a, b), (a_scales, b_scales)
        if trans_c:
            pair, scales = pair[::-1], scales[::-1]
        p = product("wgrad", "nt" if mode == "mx32" else "tn", pair, mode,
                    scales)
        if out is None:
            out = a.new_empty((group_lens.shape[0], p.sizes["m"],
                               p.sizes["n"]), dtype=out_dtype or a.dtype)
        return launch(p, group_offs, num_cu, out, int(inplace_add_to_out))


def member(kinds):
    """BackendType.KILN: of an Enum that knows it already, or made here."""
    if "KILN" not in kinds.__members__:
        new = object.__new__(kinds)
        new._name_ = "KILN"
        new._value_ = 1 + max(k.value for k in kinds)
        kinds._member_names_.append("KILN")
        kinds._member_map_["KILN"] = new
        kinds._value2member_map_[new._value_] = new
    return kinds.__members__["KILN"]


def register(byte_type=None):
    """Adds KILN to Primus-Turbo's grouped products; again is no harm.
    byte_type: "fp8" or "bf8", what tensors of uint8 hold."""
    from importlib import import_module
    core = import_module("primus_turbo.pytorch.core.backend")
    _bytes["type"] = byte_type
    kiln = member(core.BackendType)
    for name, classes in DISPATCHERS.items():
        module = import_module(
            "primus_turbo.pytorch.kernels.grouped_gemm." + name)
        for cls, work in zip(classes, (Grouped, VariableK)):
            backend = type("Kiln" + work.__name__, (core.KernelBackend,),
                           {"can_handle": staticmethod(work.can_handle),
                            "execute": staticmethod(work.execute)})
            getattr(module, cls)._backends.setdefault(
                kiln, core.BackendEntry(backend))
    return kiln
