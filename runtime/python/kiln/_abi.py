"""kiln.h as ctypes: the structs, the library, the way it fails."""
import ctypes as C
import os

from ._header import (ACTS, B_LAYOUTS, FAMILIES, LAYOUTS, MATHS, MOE_STAGES as STAGES, OPERANDS,
                      OUT_SCALES, SCALE_TYPES, SCALE_LAYOUTS,
                      SCALES, TARGETS, TYPES, ZERO_POINTS,
                      kiln_arguments as Arguments,
                      kiln_device_info as DeviceInfo, kiln_error,
                      kiln_kernel_info, kiln_options as Options,
                      kiln_plan as Plan, kiln_problem)

OPERANDS = OPERANDS + ["stream"]
RUN_ONLY, STRICT, NO_DISK = 1, 2, 4     # kiln_flags
PREPARE, CHECKED, EXACT = 1, 4, 8       # kiln_run_flags
WORKSPACE_ZEROS = 262144                # KILN_WORKSPACE_ZEROS
BAD_INPUT = 2


class Error(Exception):
    """status: the number of kiln_status; the text is one sentence."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Problem(kiln_problem):
    """kiln_problem; enumerations may be given by their text."""
    _names = {"family": FAMILIES, "target": TARGETS, "layout": LAYOUTS,
              "a": TYPES, "b": TYPES, "out": TYPES, "scale": SCALES,
              "out_scale": OUT_SCALES, "out2": TYPES,
              "scale_type": SCALE_TYPES,
              "zero_points": ZERO_POINTS, "math": MATHS,
              "b_layout": B_LAYOUTS, "scale_layout": SCALE_LAYOUTS,
              "stage": STAGES, "act": ACTS}

    def __init__(self, **fields):
        super().__init__(size=C.sizeof(type(self)))
        for name, value in fields.items():
            if name not in dict(self._fields_):
                raise TypeError("a problem has no %r" % name)
            if name == "expression":
                value = self._expression(value)
            elif isinstance(value, str):
                if value not in self._names.get(name, ()):
                    raise Error(BAD_INPUT, "%s cannot be %r" % (name, value))
                value = self._names[name].index(value)
            setattr(self, name, value)
        self.alpha_set = self.alpha_set or "alpha" in fields

    @staticmethod
    def _expression(text):
        text = text.encode()
        if len(text) > 191:
            raise Error(BAD_INPUT, "an expression has at most 191 characters")
        return text

    def __repr__(self):
        said = ["%s=%s" % (n, self._text(n)) for n, _ in self._fields_[1:]
                if getattr(self, n) and not n.startswith(("reserved", "scalar"))]
        return "Problem(%s)" % ", ".join(said)

    def _text(self, name):
        value = getattr(self, name)
        return value if name not in self._names else \
            repr(self._names[name][value])


class KernelInfo(kiln_kernel_info):
    def __repr__(self):
        return "<%s: %d VGPR, %d AGPR, %d SGPR, %d B LDS>" % (
            self.name.decode(), self.vgpr, self.agpr, self.sgpr, self.lds)


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    names = [os.environ.get("KILN_LIBRARY")] + \
        [os.path.join(here, *up, "libkiln.so.0") for up in
         ((), ("..", "..", "lib"), ("..", "..", "lib", "x86_64-linux-gnu"))]
    for name in names:
        if name and os.path.exists(name):
            return C.CDLL(name)
    return C.CDLL("libkiln.so.0")


lib = _load()
lib.kiln_status_name.restype = C.c_char_p


def call(name, *args):
    e = kiln_error()
    status = getattr(lib, "kiln_" + name)(*args, C.byref(e))
    if status:
        text = e.text or lib.kiln_status_name(status)
        raise Error(status, text.decode())


def version():
    n = lib.kiln_version()
    return "%d.%d.%d" % (n // 10000, n // 100 % 100, n % 100)
