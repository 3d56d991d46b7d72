"""kiln for Python: kiln.h through ctypes, one file, nothing to build.

    import numpy, kiln
    gpu = kiln.open("sim:gfx950")
    a = numpy.ones((96, 64), numpy.float16)
    b = numpy.ones((128, 64), numpy.float16)
    c = gpu.gemm(a, b, out="f32")             # C[M,N] = A[M,K] * B[N,K]^T

Device memory of another library (torch, cupy) is passed as it is: anything
with data_ptr() or __cuda_array_interface__, or an address, is an operand of
Device.run. numpy arrays are copied there and back by Device.gemm. Types that
numpy lacks are their bytes: bf16 is uint16, 8 bits and less are uint8.
"""
import ctypes as C
import os
import weakref

TYPES = ("none f32 i32 f16 bf16 fp8 bf8 i8 mxfp8 mxbf8 mxfp6 mxbf6 "
         "mxfp4").split()
FAMILIES = "gemm grouped wgrad batched moe".split()
LAYOUTS = "nt nn tn".split()
SCALES = "none tensor row block128 mx32".split()
STAGES, ACTS = "layer gemm1 gemm2".split(), "silu swiglu".split()
TARGETS = "none gfx942 gfx950".split()
OPERANDS = ("a b c sa sb bias offsets experts padded weights workspace "
            "stream").split()
RUN_ONLY, STRICT, NO_DISK = 1, 2, 4
_NUMPY = {"f32": "f4", "i32": "i4", "f16": "f2", "bf16": "u2", "i8": "i1"}
_u32, _u64, _i64, _p = C.c_uint32, C.c_uint64, C.c_int64, C.c_void_p


class Error(Exception):
    """status: the number of kiln_status; the text is one sentence."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Error(C.Structure):
    _fields_ = [("status", C.c_int), ("line", C.c_int), ("col", C.c_int),
                ("file", C.c_char * 96), ("text", C.c_char * 256)]


class _Options(C.Structure):
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
                ("quant", C.c_uint8), ("reserved", C.c_uint8 * 2),
                ("m", _i64), ("n", _i64), ("k", _i64), ("batch", _i64),
                ("groups", _i64),
                ("lda", _i64), ("ldb", _i64), ("ldc", _i64),
                ("stride_a", _i64), ("stride_b", _i64), ("stride_c", _i64),
                ("alpha", C.c_float), ("reserved2", _u32),
                ("tokens", _i64), ("topk", _i64)]
    _names = {"family": FAMILIES, "target": TARGETS, "layout": LAYOUTS,
              "a": TYPES, "b": TYPES, "out": TYPES, "scale": SCALES,
              "stage": STAGES, "act": ACTS}

    def __init__(self, **fields):
        super().__init__(size=C.sizeof(type(self)))
        for name, value in fields.items():
            if isinstance(value, str):
                value = self._names[name].index(value)
            if name not in dict(self._fields_):
                raise TypeError("a problem has no %r" % name)
            setattr(self, name, value)
        self.alpha_set = self.alpha_set or "alpha" in fields


class KernelInfo(C.Structure):
    _fields_ = [("size", _u32), ("target", C.c_int), ("name", C.c_char_p),
                ("key", C.c_char_p), ("config", C.c_char_p),
                ("why", C.c_char_p), ("versions", C.c_char_p), ("code", _p),
                ("code_size", C.c_size_t), ("vgpr", _u32), ("agpr", _u32),
                ("sgpr", _u32), ("lds", _u32), ("scratch", _u32),
                ("kernarg_size", _u32), ("source", C.c_int),
                ("compile_ms", C.c_double)]


class _Arguments(C.Structure):
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
                ("bus", C.c_char * 32)]


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    names = [os.environ.get("KILN_LIBRARY")] + \
        [os.path.join(here, *up, "libkiln.so.0") for up in
         ((), ("..", "..", "lib"), ("..", "..", "lib", "x86_64-linux-gnu"))]
    for name in names:
        if name and os.path.exists(name):
            return C.CDLL(name)
    return C.CDLL("libkiln.so.0")


_lib = _load()
_lib.kiln_status_name.restype = C.c_char_p


def _call(name, *args):
    e = _Error()
    status = getattr(_lib, "kiln_" + name)(*args, C.byref(e))
    if status:
        text = e.text or _lib.kiln_status_name(status)
        raise Error(status, text.decode())


def _address(x):
    """The device address of an operand: an int, a tensor, an array."""
    if x is None or isinstance(x, int):
        return x
    if hasattr(x, "data_ptr"):
        return x.data_ptr()
    if hasattr(x, "__cuda_array_interface__"):
        return x.__cuda_array_interface__["data"][0]
    if isinstance(x, Buffer):
        return x.address
    raise TypeError("%s is not device memory" % type(x).__name__)


def _arguments(operands):
    args = _Arguments(size=C.sizeof(_Arguments))
    for name, value in operands.items():
        if name not in OPERANDS:
            raise TypeError("a kernel has no operand %r" % name)
        setattr(args, name, _address(value))
    return args


class _Owner:
    """A handle that is closed by `close`, by `with`, or when forgotten; what
    was opened from it and needs it is closed first. Use after that raises."""
    _close = None

    def __init__(self):
        self.handle = _p()
        self._users = weakref.WeakSet()

    @property
    def live(self):
        if not self.handle:
            raise Error(2, "this %s is closed" % type(self).__name__)
        return self.handle

    def close(self):
        handle, self.handle = self.handle, _p()
        for user in list(self._users):
            user.close()
        if handle:
            getattr(_lib, self._close)(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    __del__ = close


class Kernel(_Owner):
    _close = "kiln_release"

    @property
    def info(self):
        i = KernelInfo(size=C.sizeof(KernelInfo))
        _lib.kiln_get_kernel(self.live, C.byref(i))
        return i

    @property
    def code(self):
        """The code object as bytes."""
        return C.string_at(self.info.code, self.info.code_size)

    def plan(self, problem):
        plan = Plan()
        _call("make_plan", self.live, C.byref(problem), C.byref(plan))
        return plan


class Context(_Owner):
    _close = "kiln_close"

    def __init__(self, flags=0, cache_dir=None, hip_library=None):
        super().__init__()
        o = _Options(size=C.sizeof(_Options), flags=flags,
                     cache_dir=cache_dir and os.fsencode(cache_dir),
                     hip_library=hip_library and os.fsencode(hip_library))
        _call("open", C.byref(o), C.byref(self.handle))

    def add_bundle(self, path):
        _call("add_bundle", self.live, os.fsencode(path))

    def _find(self, how, problem, config):
        k = Kernel()
        _call(how, self.live, C.byref(problem), config.encode(),
              C.byref(k.handle))
        return k

    def compile(self, problem, config=""):
        return self._find("compile", problem, config)

    def lookup(self, problem, config=""):
        return self._find("lookup", problem, config)

    def device(self, name):
        return Device(self, name)


class Buffer:
    """Bytes on a device; freed with it or by free()."""

    def __init__(self, device, size):
        at = _p()
        self.device, self.size = device, size
        _call("malloc", device.live, C.c_size_t(size), C.byref(at))
        self.address = at.value

    def upload(self, array):
        _call("upload", self.device.live, _p(self.address),
              _p(array.ctypes.data), C.c_size_t(array.nbytes))
        return self

    def download(self, array):
        _call("download", self.device.live, _p(array.ctypes.data),
              _p(self.address), C.c_size_t(array.nbytes))
        return array

    def free(self):
        address, self.address = self.address, None
        _call("free", self.device.live, _p(address))


class Device(_Owner):
    _close = "kiln_close_device"

    def __init__(self, context, name):
        super().__init__()
        self.context = context  # lives at least as long
        _call("open_device", context.live, name.encode(),
              C.byref(self.handle))
        context._users.add(self)

    @property
    def info(self):
        i = DeviceInfo(size=C.sizeof(DeviceInfo))
        _lib.kiln_get_device(self.live, C.byref(i))
        return i

    def run(self, problem, **operands):
        """Chooses, compiles at the first use, launches on stream=."""
        args = _arguments(operands)
        _call("run", self.live, C.byref(problem), C.byref(args))

    def sync(self, stream=None):
        _call("sync", self.live, _p(_address(stream)))

    def gemm(self, a, b, out="bf16", a_type=None, b_type=None):
        """numpy A[M,K], B[N,K] to C[M,N]; *_type where numpy has no such."""
        import numpy
        names = {numpy.dtype(v): k for k, v in _NUMPY.items()}
        a, b = numpy.ascontiguousarray(a), numpy.ascontiguousarray(b)
        p = Problem(a=a_type or names[a.dtype], b=b_type or names[b.dtype],
                    out=out, m=a.shape[0], n=b.shape[0], k=a.shape[1])
        c = numpy.empty((a.shape[0], b.shape[0]), _NUMPY[out])
        memory = [Buffer(self, x.nbytes) for x in (a, b, c)]
        try:
            self.run(p, a=memory[0].upload(a), b=memory[1].upload(b),
                     c=memory[2])
            self.sync()
            return memory[2].download(c)
        finally:
            for m in memory:
                m.free()


def open(name="sim:gfx950", **options):
    """A device with a context of its own."""
    return Context(**options).device(name)
