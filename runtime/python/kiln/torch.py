"""Operators of PyTorch: kiln::scaled_mm, grouped_mm and scaled_grouped_mm, with
the arguments and meaning of torch._scaled_mm, _grouped_mm, _scaled_grouped_mm.

    import torch, kiln.torch
    y = torch.ops.kiln.grouped_mm(x, w, offs)

Tensors of a GPU are computed there, on its current stream; those of the CPU by
the simulator, sim:gfx950 unless `simulate` names another. Where PyTorch has no
8-bit dtypes (before 2.1), tensors are uint8 and a_type= and b_type= say which.
Tested with PyTorch 1.13. From 2.4 on the operators are custom_op's with
register_fake and register_autograd, and 8-bit tensors have dtypes of their own:
that half is untested here but for a model of those functions.
"""
import contextlib
import os

import torch

from . import open as _open
from ._memory import BITS, NAMES, SHARED, bad, pitches
from ._products import Product

SIGNATURES = {
    "scaled_mm": "(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, "
    "Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None,"
    " bool use_fast_accum=False, *, str? a_type=None, str? b_type=None) "
    "-> Tensor",
    "grouped_mm": "(Tensor self, Tensor mat2, Tensor? offs=None, "
    "Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    "scaled_grouped_mm": "(Tensor self, Tensor mat2, Tensor scale_a, "
    "Tensor scale_b, Tensor? offs=None, Tensor? bias=None, "
    "Tensor? scale_result=None, ScalarType? out_dtype=None, "
    "bool use_fast_accum=False, *, str? a_type=None, str? b_type=None) "
    "-> Tensor",
}
OUTPUTS = (torch.bfloat16, torch.float16, torch.float32)
_devices = {}                # (process, name) -> kiln.Device
_names = {"cpu": "sim:gfx950"}


def simulate(name):
    """The simulated device that tensors of the CPU go to."""
    _names["cpu"] = name


def device_of(tensor):
    """kiln's device and the stream for a tensor."""
    on = tensor.device
    name = _names["cpu"] if on.type == "cpu" else "hip:%d" % (on.index or 0)
    key = os.getpid(), name
    if key not in _devices:
        _devices[key] = _open(name)
    stream = None if on.type == "cpu" else \
        torch.cuda.current_stream(on).cuda_stream
    return _devices[key], stream


# ---- shapes ------------------------------------------------------------------

def family_of(a, b, offs):
    """The family, and the shape of the output."""
    axes = a.dim(), b.dim()
    if axes == (2, 2) and offs is None:
        shape, sums = (a.shape[0], b.shape[1]), (a.shape[1], b.shape[0])
        family = "gemm"
    elif axes == (2, 3) and offs is not None:
        shape, sums = (a.shape[0], b.shape[2]), (a.shape[1], b.shape[1])
        family = "grouped"
    elif axes == (2, 2):
        shape = (offs.shape[0], a.shape[0], b.shape[1])
        family, sums = "wgrad", (a.shape[1], b.shape[0])
    elif axes == (3, 3) and offs is None:
        shape = (a.shape[0], a.shape[1], b.shape[2])
        family, sums = "batched", (a.shape[2], b.shape[1])
    else:
        raise bad("tensors of %d and %d axes %s offs are no product here",
                  *axes, "without" if offs is None else "with")
    if sums[0] != sums[1]:
        raise bad("K of self is %d, of mat2 %d", *sums)
    if axes != (2, 2) and axes[0] == 3 and a.shape[0] != b.shape[0]:
        raise bad("self has %d matrices, mat2 %d", a.shape[0], b.shape[0])
    if offs is not None and (offs.dtype != torch.int32 or offs.dim() != 1):
        raise bad("offs is int32 [groups], where each group ends")
    if family == "grouped" and offs.shape[0] != b.shape[0]:
        raise bad("there are %d offs for %d groups", offs.shape[0], b.shape[0])
    return family, shape


def output_type(a, out_dtype):
    if isinstance(out_dtype, int):       # as the dispatcher of 1.13 passes it
        out_dtype = {5: torch.float16, 6: torch.float32,
                     15: torch.bfloat16}.get(out_dtype, out_dtype)
    kind = out_dtype or (a.dtype if a.dtype in OUTPUTS else torch.bfloat16)
    if kind not in OUTPUTS:
        raise bad("out_dtype is bfloat16, float16 or float32, not %s", kind)
    return kind


def empty_output(a, b, offs, out_dtype):
    _, shape = family_of(a, b, offs)
    return torch.empty(shape, dtype=output_type(a, out_dtype), device=a.device)


# ---- launches ----------------------------------------------------------------

def lies_by_rows(x):
    """Whether the last axis is contiguous; rows may be apart, matrices are several."""
    _, step = pitches(x.shape, x.stride()) or (0, SHARED)
    return step != SHARED


def by_rows(x):
    return x if lies_by_rows(x) else x.contiguous()


def operands(family, mx, a, b):
    """(layout, A, B) as kiln stores them: MX types with K innermost."""
    if mx:
        return "nt", by_rows(a), by_rows(b.transpose(-2, -1))
    if family == "wgrad":
        return "tn", by_rows(a.t()), by_rows(b)
    turned, across = a.transpose(-2, -1), b.transpose(-2, -1)
    along_n = not lies_by_rows(across)
    b = by_rows(b) if along_n else across
    if family != "grouped" and not lies_by_rows(a) and lies_by_rows(turned):
        return "tn" if along_n else "tt", turned, b
    return "nn" if along_n else "nt", by_rows(a), b


def type_of(x, said, scale):
    """MX types are 8-bit ones whose scales are of 8 bits."""
    kind = said or NAMES.get(str(x.dtype).rpartition(".")[2])
    mx = scale is not None and scale.element_size() == 1
    return "mx" + kind if mx and kind in ("fp8", "bf8") else kind


def multiply(a, b, offs=None, bias=None, out_dtype=None, scales=None,
             types=(None, None)):
    out = empty_output(a, b, offs, out_dtype)
    family, _ = family_of(a, b, offs)
    pair = scales or (None, None)
    kinds = [type_of(x, t, s) for x, t, s in zip((a, b), types, pair)]
    if any(k and BITS.get(k, 8) < 8 for k in kinds):
        raise bad("operators have 8- and 16-bit operands, not %s and %s",
                  *kinds)
    if not out.numel():
        return out
    layout, x, y = operands(family, str(kinds[1]).startswith("mx"), a, b)
    p = Product(family, layout, x, y, *kinds)
    if offs is not None:
        p.add_ends(offs.contiguous())
    if scales:
        p.add_scales([s.contiguous() for s in scales], None)
    else:
        p.fields["scale"] = "none"
    if bias is not None:
        p.add_bias(bias.float().contiguous())
    device, stream = device_of(a)
    device._launch(p, out, 0, None, stream)
    return out


def scaled_mm(a, b, scale_a, scale_b, bias=None, scale_result=None,
              out_dtype=None, use_fast_accum=False, a_type=None, b_type=None):
    if scale_result is not None:
        raise bad("scale_result is for 8-bit outputs, which are not made here")
    return multiply(a, b, None, bias, out_dtype, (scale_a, scale_b),
                    (a_type, b_type))


def grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    if bias is not None:
        raise bad("bias is not taken here, nor by torch._grouped_mm")
    return multiply(a, b, offs, None, out_dtype)


def scaled_grouped_mm(a, b, scale_a, scale_b, offs=None, bias=None,
                      scale_result=None, out_dtype=None, use_fast_accum=False,
                      a_type=None, b_type=None):
    if bias is not None or scale_result is not None:
        raise bad("bias and scale_result are not taken here")
    return multiply(a, b, offs, None, out_dtype, (scale_a, scale_b),
                    (a_type, b_type))


# ---- shapes without numbers, gradients ---------------------------------------

def meta_scaled_mm(a, b, scale_a, scale_b, bias=None, scale_result=None,
                   out_dtype=None, use_fast_accum=False, a_type=None,
                   b_type=None):
    return empty_output(a, b, None, out_dtype)


def meta_grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    return empty_output(a, b, offs, out_dtype)


def meta_scaled_grouped_mm(a, b, scale_a, scale_b, offs=None, bias=None,
                           scale_result=None, out_dtype=None,
                           use_fast_accum=False, a_type=None, b_type=None):
    return empty_output(a, b, offs, out_dtype)


@contextlib.contextmanager
def below_autograd():
    """1.13 has a guard that holds while it lives, later ones a context."""
    guard = torch._C._AutoDispatchBelowAutograd()
    if hasattr(guard, "__enter__"):
        with guard:
            yield
        return
    try:
        yield
    finally:
        del guard


def keep_operands(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:3])


def grouped_mm_gradients(ctx, grad):
    """The gradients of a grouped product are grouped products."""
    a, b, offs = ctx.saved_tensors
    grad = grad.contiguous().to(a.dtype)
    product = torch.ops.kiln.grouped_mm
    da = db = None
    if ctx.needs_input_grad[0]:
        da = product(b, grad.transpose(-2, -1), offs).t() \
            if offs is not None and b.dim() == 2 else \
            product(grad, b.transpose(-2, -1), offs)
    if ctx.needs_input_grad[1]:
        db = product(a.transpose(-2, -1), grad, offs)
    return da, db, None, None, None


class GroupedMm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, offs, bias, out_dtype):
        keep_operands(ctx, (a, b, offs), None)
        with below_autograd():
            return torch.ops.kiln.grouped_mm(a, b, offs, bias, out_dtype)

    backward = staticmethod(grouped_mm_gradients)


def differentiable_grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    return GroupedMm.apply(a, b, offs, bias, out_dtype)


def without_gradient(name):
    """As torch's own: what is quantised has no gradient."""
    def call(*args, **more):
        with below_autograd():
            return getattr(torch.ops.kiln, name)(*args, **more)
    return call


def _register_custom():
    """PyTorch 2.4 and later."""
    operators = []
    for name, signature in SIGNATURES.items():
        op = torch.library.custom_op("kiln::" + name, globals()[name],
                                     mutates_args=(), schema=signature,
                                     device_types=("cpu", "cuda"))
        op.register_fake(globals()["meta_" + name])
        if name == "grouped_mm":
            op.register_autograd(grouped_mm_gradients,
                                 setup_context=keep_operands)
        operators.append(op)
    return operators


def _register():
    if hasattr(torch.library, "custom_op"):
        return _register_custom()
    library = torch.library.Library("kiln", "DEF")
    for name, signature in SIGNATURES.items():
        library.define(name + signature)
        for key in ("CPU", "CUDA"):
            library.impl(name, globals()[name], key)
        library.impl(name, globals()["meta_" + name], "Meta")
        library.impl(name, differentiable_grouped_mm if name == "grouped_mm"
                     else without_gradient(name), "Autograd")
    return library


_library = _register()       # operators live as long as it does
