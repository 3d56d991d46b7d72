"""Operands: whatever holds numbers, as an address, a shape and a type.

Host memory is copied to the device and back; device memory is passed as it is.
Told apart by the object itself: numpy arrays and CPU tensors are the host's,
__cuda_array_interface__, a DLPack device of a GPU and kiln's arrays are not.
"""
import ctypes as C
import math

from ._abi import BAD_INPUT, Error

BITS = {"f32": 32, "i32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8,
        "i8": 8, "mxfp8": 8, "mxbf8": 8, "mxfp6": 6, "mxbf6": 6, "mxfp4": 4,
        "i4": 4, "nvfp4": 4, "f64": 64}
# Names that numpy, ml_dtypes and torch have for types of kiln.
NAMES = {"float64": "f64", "float32": "f32", "int32": "i32", "float16": "f16",
         "int8": "i8",
         "bfloat16": "bf16", "float8_e4m3fn": "fp8", "float8_e5m2": "bf8",
         "float8_e4m3fnuz": "fp8", "float8_e5m2fnuz": "bf8"}
# uint8 is a type only where the caller says which; uint16 is bf16.
TYPESTR = {"f8": "f64", "f4": "f32", "i4": "i32", "f2": "f16", "i1": "i8", "u2": "bf16"}
NUMPY = {"f64": "f8", "f32": "f4", "i32": "i4", "f16": "f2", "bf16": "u2", "i8": "i1"}
OUTPUTS = dict(NUMPY, fp8="u1", bf8="u1", mxfp8="u1", mxfp4="u1")   # types of an output
CPU = 1                      # DLPack's number of it
SHARED = -1                  # KILN_SHARED of runtime/kiln.h


def bad(text, *words):
    return Error(BAD_INPUT, text % words)


def dense(shape, strides):
    """Whether the last index is contiguous and so is all the rest."""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n > 1 and stride != step and 0 not in shape:
            return False
        step *= n
    return True


def pitches(shape, strides):
    """Elements from row to row and from matrix to matrix, 0 where dense, SHARED of matrices
    that are one; None: it is no array of rows that are contiguous and apart."""
    if strides is None or dense(shape, strides):
        return 0, 0
    if len(shape) not in (2, 3) or (shape[-1] > 1 and strides[-1] != 1):
        return None
    pitch = strides[-2] if shape[-2] > 1 else shape[-1]
    step = strides[0] if len(shape) == 3 and shape[0] > 1 else None
    if pitch < shape[-1] or (step or 0) < 0:
        return None
    return pitch, SHARED if step == 0 else step or 0


def elements(strides, size):
    """Strides in bytes, in elements; None: the array is dense."""
    if strides is None or not any(s % size for s in strides):
        return strides and tuple(s // size for s in strides)
    raise bad("strides of %s bytes are no whole elements of %d", tuple(strides), size)


class View:
    """address, shape, type (None: bytes whose type nobody said), where; strides in
    elements, None of a dense array."""

    def __init__(self, address, shape, kind, size, host, keep, length=None, strides=None):
        self.address, self.shape, self.type = address, tuple(shape), kind
        self.size, self.host, self.keep = size, host, keep
        self.length = length     # elements of a row, where bytes do not say
        self.strides = None if strides is None or dense(shape, strides) else tuple(strides)

    @property
    def pitches(self):
        return pitches(self.shape, self.strides)

    @property
    def nbytes(self):
        """From the first element to the last: what is between rows counts."""
        pitch, step = self.pitches
        if not pitch or not math.prod(self.shape):
            return self.size * math.prod(self.shape)
        *many, rows, n = self.shape
        beside = (many[0] - 1) * max(step, 0) if many else 0
        return self.size * (beside + (rows - 1) * pitch + n)

    def turned(self):
        """The same numbers with the last two axes in turn."""
        def turn(x):
            return (*x[:-2], x[-1], x[-2])
        return View(self.address, turn(self.shape), self.type, self.size, self.host,
                    self.keep, None, turn(self.strides))

    def columns(self, kind):
        """Elements of a row: packed types have fewer bytes than elements."""
        if self.length is not None:
            return self.length
        return self.shape[-1] * 8 // BITS[kind] if BITS[kind] < 8 \
            else self.shape[-1]


def of_interface(x, host):
    i = x.__cuda_array_interface__ if not host else x.__array_interface__
    size = int(i["typestr"][2:])
    if i["typestr"][0] == ">":
        raise bad("an operand is big-endian")
    kind = NAMES.get(str(getattr(x, "dtype", ""))) or \
        TYPESTR.get(i["typestr"][1:])
    return View(i["data"][0], i["shape"], kind, size, host, x,
                strides=elements(i.get("strides"), size))


def of_torch(x):
    kind = NAMES.get(str(x.dtype).rpartition(".")[2])
    return View(x.data_ptr(), x.shape, kind, x.element_size(),
                x.device.type == "cpu", x, strides=x.stride())


def view(x, rows=False):
    """rows: rows may be apart, and either of the last two axes the contiguous one; else an
    array is dense. TypeError for what holds no numbers."""
    if isinstance(x, View):
        return x
    v = view_of(x)
    if v.strides and not rows:
        raise bad("an operand of shape %s is not contiguous", v.shape)
    return v


def view_of(x):
    if hasattr(x, "view_of"):
        return x.view_of()
    if hasattr(x, "data_ptr") and hasattr(x, "element_size"):
        return of_torch(x)
    if hasattr(x, "__cuda_array_interface__"):
        return of_interface(x, False)
    if hasattr(x, "__array_interface__"):
        return of_interface(x, True)
    if hasattr(x, "__dlpack__"):
        return of_dlpack(x)
    raise TypeError("%s is no array" % type(x).__name__)


class _DLTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device", C.c_int32),
                ("device_id", C.c_int32), ("ndim", C.c_int32),
                ("code", C.c_uint8), ("bits", C.c_uint8),
                ("lanes", C.c_uint16), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64)), ("offset", C.c_uint64)]


# (type code, bits) of DLPack: int, unsigned, float, bfloat.
DLPACK = {(0, 8): "i8", (0, 32): "i32", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64",
          (4, 16): "bf16", (1, 16): "bf16", (1, 8): None, (0, 64): None}


def of_dlpack(x):
    """The capsule stays ours: what it keeps is dropped with the view."""
    capsule = x.__dlpack__()
    get = C.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = C.c_void_p, (C.py_object, C.c_char_p)
    t = _DLTensor.from_address(get(capsule, b"dltensor"))
    if (t.code, t.bits) not in DLPACK or t.lanes != 1:
        raise bad("DLPack type %d of %d bits is none of kiln's", t.code, t.bits)
    shape = t.shape[:t.ndim]
    size = t.bits // 8
    return View((t.data or 0) + t.offset, shape, DLPACK[t.code, t.bits], size,
                t.device == CPU, (x, capsule),
                strides=t.strides[:t.ndim] if t.strides else None)
