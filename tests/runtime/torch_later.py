"""The half of kiln.torch for PyTorch 2.4 and later, with a model of what that
has and 1.13 has not: torch.library.custom_op, and dtypes of 8 bits. What the
operators compute is torch_ops.py's, whose cases run again on the model.

usage: torch_later.py SOURCE BUILD
"""
import inspect
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kit"))
import tap  # noqa: E402
torch = tap.need("torch")

LIBRARY = torch.library.Library("kiln", "DEF")
MADE = {}


class Operator:
    """torch.library.CustomOpDef, as far as it is used."""

    def __init__(self, name, call, schema, devices):
        self.name, self.call = name, call
        LIBRARY.define(name + schema)
        for device in devices:
            LIBRARY.impl(name, self.checked, device.upper())
        LIBRARY.impl(name, self.above, "Autograd")
        self.function = None

    def above(self, *args, **more):
        if self.function and not more:
            return self.function.apply(*args)
        return self.below(*args, **more)

    def below(self, *args, **more):
        guard = torch._C._AutoDispatchBelowAutograd()
        try:
            return getattr(torch.ops.kiln, self.name)(*args, **more)
        finally:
            del guard

    def checked(self, *args, **more):
        """An output may not be one of the inputs."""
        out = self.call(*args, **more)
        for x in args:
            assert not (isinstance(x, torch.Tensor) and x.numel() and
                        x.data_ptr() == out.data_ptr()), "output aliases input"
        return out

    def register_fake(self, fake):
        LIBRARY.impl(self.name, fake, "Meta")

    def register_autograd(self, backward, *, setup_context):
        assert list(inspect.signature(setup_context).parameters) == \
            ["ctx", "inputs", "output"]

        below = self.below

        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *inputs):
                out = below(*inputs)
                filled = inputs + (None,) * (5 - len(inputs))
                setup_context(ctx=ctx, inputs=filled, output=out)
                return out

        def gradients(ctx, grad):
            return backward(ctx, grad)[:len(ctx.needs_input_grad)]
        Function.backward = staticmethod(gradients)
        self.function = Function


def custom_op(name, fn, /, *, mutates_args, device_types, schema):
    assert mutates_args == () and name.startswith("kiln::")
    MADE[name] = Operator(name[6:], fn, schema, device_types)
    return MADE[name]


torch.library.custom_op = custom_op
import torch_ops as ops  # noqa: E402
import kiln  # noqa: E402


def every_operator_is_a_custom_op():
    want = {"kiln::" + name for name in kiln.torch.SIGNATURES}
    return None if set(MADE) == want else "made %s" % sorted(MADE)


def typed(name):
    """A tensor class whose dtype says it is of 8 bits."""
    return type(name, (torch.Tensor,), {
        "dtype": property(lambda self: "torch." + name)})


def dtypes_say_the_type():
    for target, suffix in (("gfx950", "fn"), ("gfx942", "fnuz")):
        kiln.torch.simulate("sim:" + target)
        eight = typed("float8_e4m3" + suffix)
        codes = torch.from_numpy(ops.RNG.integers(
            0, 100, (2, 48, 64)).astype("u1"))
        a, b = codes[0], codes[1].t()
        one = torch.ones(1)
        want = ops.OPS.scaled_mm(a, b, one, one, a_type="fp8", b_type="fp8")
        got = kiln.torch.scaled_mm(a.as_subclass(eight), b.as_subclass(eight),
                                   one, one)
        if not torch.equal(got, want):
            return "%s: another result" % target
    return None


def scales_of_eight_bits_make_mx():
    kiln.torch.simulate("sim:gfx950")
    eight, power = typed("float8_e4m3fn"), typed("float8_e8m0fnu")
    codes = torch.from_numpy(ops.RNG.integers(0, 100, (2, 48, 64)).astype("u1"))
    scales = torch.from_numpy(ops.RNG.integers(120, 130, (2, 48, 2))
                              .astype("u1"))
    want = ops.OPS.scaled_mm(codes[0], codes[1].t(), scales[0], scales[1],
                             a_type="fp8", b_type="fp8")
    got = kiln.torch.scaled_mm(
        codes[0].as_subclass(eight), codes[1].t().as_subclass(eight),
        scales[0].as_subclass(power), scales[1].as_subclass(power))
    return None if torch.equal(got, want) else "another result"


if __name__ == "__main__":
    sys.exit(tap.main([every_operator_is_a_custom_op, dtypes_say_the_type,
                       scales_of_eight_bits_make_mx] + ops.CASES))
