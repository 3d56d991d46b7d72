"""Kernels of one's own: tile IR (docs/ir.md), launched with plain arguments."""
import ctypes as C
import functools
import inspect
import re

from ._abi import Plan
from ._memory import bad

# By the words of `arg` lines: size, and what Python's value becomes.
ARGUMENTS = {"ptr": C.c_uint64, "i32": C.c_int32, "i64": C.c_int64,
             "f32": C.c_float}
ARG = re.compile(r"^\s*arg\s+%(\w+)\s+(\w+)", re.M)


def arguments_of(text):
    """[(name, type word)] of a kernel's `arg` lines, in order."""
    found = ARG.findall(text)
    for name, kind in found:
        if kind not in ARGUMENTS:
            raise bad("argument %s is a %s, which Python cannot pass", name,
                      kind)
    return found


def three(x):
    x = (x,) if isinstance(x, int) else tuple(x)
    return x + (1,) * (3 - len(x))


def plan_of(kernel, arguments, grid, block, values):
    """The launch as data: each argument at a multiple of its size."""
    if len(values) != len(arguments):
        raise bad("%s takes %d arguments (%s), not %d", kernel.name,
                  len(arguments), ", ".join(n for n, _ in arguments),
                  len(values))
    size = kernel.info.kernarg_size
    plan = Plan(size=C.sizeof(Plan), kernarg_size=size)
    plan.grid[:], plan.block[:] = three(grid), three(block)
    at = 0
    for (name, kind), value in zip(arguments, values):
        word = ARGUMENTS[kind]
        at = -(-at // C.sizeof(word)) * C.sizeof(word)
        if at + C.sizeof(word) > min(size, C.sizeof(plan.kernarg)):
            raise bad("the arguments of %s are not those of its code",
                      kernel.name)
        if kind.startswith("i") and word(int(value)).value != int(value):
            raise bad("%s is an %s, which %d is not", name, kind, value)
        word.from_buffer(plan.kernarg, at).value = value
        at += C.sizeof(word)
    return plan


class Jit:
    """What `jit` makes of a function: the kernels it had, by its constants."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        self._names = inspect.signature(function).parameters
        self._texts = {}

    def text(self, **constants):
        """The tile IR for constants, made once."""
        key = tuple(sorted(constants.items()))
        if key not in self._texts:
            self._texts[key] = self._function(**constants)
        return self._texts[key]

    def __call__(self, device, *values, grid, block, stream=None,
                 **constants):
        """Launches on a device; compiled at the first call with these
        constants in the device's context."""
        device.launch_text(self.text(**constants), grid, block, *values,
                           stream=stream)


def jit(function):
    """A function of constants (keywords) to tile IR, as a kernel:
    kernel(device, *arguments, grid=, block=, **constants)."""
    return Jit(function)
