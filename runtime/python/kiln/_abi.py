"""kiln.h as ctypes: the structs, the library, the way it fails."""
import ctypes as C
import os

TYPES = ("none f32 i32 f16 bf16 fp8 bf8 i8 mxfp8 mxbf8 mxfp6 mxbf6 "
         "mxfp4").split()
FAMILIES = "gemm grouped wgrad batched moe".split()
LAYOUTS = "nt nn tn".split()
SCALES = "none tensor row block128 mx32".split()
STAGES, ACTS = "layer gemm1 gemm2 reduce".split(), \
    "silu swiglu limited".split()
TARGETS = "none gfx942 gfx950".split()
OPERANDS = ("a b c sa sb bias offsets experts padded weights workspace "
            "stream").split()
RUN_ONLY, STRICT, NO_DISK = 1, 2, 4
_u32, _u64, _i64, _p = C.c_uint32, C.c_uint64, C.c_int64, C.c_void_p
BAD_INPUT = 2


class Error(Exception):
    """status: the number of kiln_status; the text is one sentence."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Error(C.Structure):
    _fields_ = [("status", C.c_int), ("line", C.c_int), ("col", C.c_int),
                ("file", C.c_char * 96), ("text", C.c_char * 256)]


class Options(C.Structure):
    _fields_ = [("size", _u32), ("flags", _u32), ("realloc", _p),
                ("realloc_user", _p), ("log", _p), ("log_user", _p),
                ("cache_dir", C.c_char_p), ("hip_library", C.c_char_p)]


class Problem(C.Structure):
    """kiln_problem; enumerations may be given by their text."""
    _fields_ = [("size", _u32), ("family", C.c_int), ("target", C.c_int),
                ("layout", C.c_int), ("a", C.c_int), ("b", C.c_int),
                ("out", C.c_int), ("scale", C.c_int), ("bias", C.c_uint8),
                ("beta", C.c_uint8), ("alpha_set", C.c_uint8),
                ("stage", C.c_uint8), ("act", C.c_uint8),
                ("atomic", C.c_uint8), ("block_m", C.c_uint8),
                ("b_layout", C.c_uint8), ("scale_layout", C.c_uint8),
                ("id_format", C.c_uint8), ("weigh", C.c_uint8),
                ("requant", C.c_uint8), ("group_flags", C.c_uint8),
                ("quant", C.c_uint8), ("invariant", C.c_uint8),
                ("reserved", C.c_uint8 * 1),
                ("m", _i64), ("n", _i64), ("k", _i64), ("batch", _i64),
                ("groups", _i64),
                ("lda", _i64), ("ldb", _i64), ("ldc", _i64),
                ("stride_a", _i64), ("stride_b", _i64), ("stride_c", _i64),
                ("alpha", C.c_float), ("cus", C.c_uint16), ("xcds", C.c_uint16),
                ("tokens", _i64), ("topk", _i64),
                ("ldsa", _i64), ("ldsb", _i64), ("expression", C.c_char * 192)]
    _names = {"family": FAMILIES, "target": TARGETS, "layout": LAYOUTS,
              "a": TYPES, "b": TYPES, "out": TYPES, "scale": SCALES,
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
                if getattr(self, n) and not n.startswith("reserved")]
        return "Problem(%s)" % ", ".join(said)

    def _text(self, name):
        value = getattr(self, name)
        return value if name not in self._names else \
            repr(self._names[name][value])


class KernelInfo(C.Structure):
    _fields_ = [("size", _u32), ("target", C.c_int), ("name", C.c_char_p),
                ("key", C.c_char_p), ("config", C.c_char_p),
                ("why", C.c_char_p), ("versions", C.c_char_p), ("code", _p),
                ("code_size", C.c_size_t), ("vgpr", _u32), ("agpr", _u32),
                ("sgpr", _u32), ("lds", _u32), ("scratch", _u32),
                ("kernarg_size", _u32), ("source", C.c_int),
                ("compile_ms", C.c_double)]

    def __repr__(self):
        return "<%s: %d VGPR, %d AGPR, %d SGPR, %d B LDS>" % (
            self.name.decode(), self.vgpr, self.agpr, self.sgpr, self.lds)


class Arguments(C.Structure):
    _fields_ = [("size", _u32), ("flags", _u32)] + \
        [(name, _p) for name in OPERANDS]


class _Pointer(C.Structure):
    _fields_ = [("offset", C.c_uint16), ("operand", C.c_uint8),
                ("align", C.c_uint8)]


class Plan(C.Structure):
    _fields_ = [("size", _u32), ("grid", _u32 * 3), ("block", _u32 * 3),
                ("lds", _u32), ("workspace", _u64), ("kernarg_size", _u32),
                ("npointers", _u32), ("kernarg", C.c_uint8 * 256),
                ("pointer", _Pointer * 16), ("offsets_at", _u64),
                ("offsets_size", _u64)]


class DeviceInfo(C.Structure):
    _fields_ = [("size", _u32), ("target", C.c_int), ("cus", _u32),
                ("simulated", _u32), ("name", C.c_char * 64),
                ("bus", C.c_char * 32), ("xcds", _u32)]


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
    e = _Error()
    status = getattr(lib, "kiln_" + name)(*args, C.byref(e))
    if status:
        text = e.text or lib.kiln_status_name(status)
        raise Error(status, text.decode())


def version():
    n = lib.kiln_version()
    return "%d.%d.%d" % (n // 10000, n // 100 % 100, n % 100)
