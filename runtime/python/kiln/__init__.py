"""kiln for Python: kiln.h through ctypes, nothing to build.

    import numpy, kiln
    gpu = kiln.open("sim:gfx950")
    a = numpy.ones((96, 64), numpy.float16)
    b = numpy.ones((128, 64), numpy.float16)
    c = gpu.gemm(a, b, out="f32")             # C[M,N] = A[M,K] * B[N,K]^T

Arrays are numpy's, torch's, anything with __cuda_array_interface__ or DLPack,
and kiln's own. Host memory is copied there and back; device memory is used
where it is, on stream=. Types that numpy lacks are their bytes: bf16 is uint16,
8 bits and less are uint8 with a_type= and b_type=.
"""
import ctypes as C
import numbers
import os
import weakref

from ._abi import (ACTS, BAD_INPUT, CHECKED, EXACT, FAMILIES, LAYOUTS, NO_DISK,
                   OPERANDS, PREPARE, RUN_ONLY, SCALES, STAGES, STRICT, TARGETS, TYPES,
                   WORKSPACE_ZEROS, Arguments, DeviceInfo, Error, KernelInfo, Options,
                   Plan, Problem)
from ._abi import call as _call, lib as _lib, version as _version
from ._memory import BITS, NUMPY, OUTPUTS, View, bad, view
from ._moe import Layers, Routing, quantise_experts, routing
from ._own import Jit, arguments_of, jit, plan_of
from ._products import Product, code_shape, names_of, written_shape
from ._quant import Quantised, quantise

__version__ = _version()
__all__ = ["ACTS", "Array", "Buffer", "Context", "Device", "DeviceInfo",
           "Error", "FAMILIES", "Jit", "Kernel", "KernelInfo", "LAYOUTS", "NO_DISK",
           "OPERANDS", "Plan", "Problem", "Quantised", "RUN_ONLY", "Routing",
           "SCALES", "STAGES", "STRICT", "TARGETS", "TYPES", "jit", "open",
           "quantise", "quantise_experts", "routing"]
_p = C.c_void_p


class _Owner:
    """A handle that is closed by `close`, by `with`, or when forgotten; what
    was opened from it and needs it is closed first. Use after that raises, and
    so does use in a child of fork, which does not own what its parent does."""
    _close = None

    def __init__(self):
        self.handle = _p()
        self._users = weakref.WeakSet()
        self._pid = os.getpid()

    @property
    def live(self):
        if self._pid != os.getpid():
            raise Error(BAD_INPUT, "this %s was made before a fork" %
                        type(self).__name__)
        if not self.handle:
            raise Error(BAD_INPUT, "this %s is closed" % type(self).__name__)
        return self.handle

    def close(self):
        handle, self.handle = getattr(self, "handle", None), _p()
        if not handle or self._pid != os.getpid():
            return
        for user in list(self._users):
            user.close()
        getattr(_lib, self._close)(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    __del__ = close

    def __repr__(self):
        return "<kiln.%s, %s>" % (type(self).__name__, self._says()
                                  if self.handle and self._pid == os.getpid()
                                  else "closed")

    def _says(self):
        return "open"


class Kernel(_Owner):
    _close = "kiln_release"

    @property
    def info(self):
        i = KernelInfo(size=C.sizeof(KernelInfo))
        _lib.kiln_get_kernel(self.live, C.byref(i))
        i.owner = self       # its texts live as long as the kernel
        return i

    @property
    def name(self):
        return self.info.name.decode()

    @property
    def config(self):
        return self.info.config.decode()

    @property
    def code(self):
        """The code object as bytes."""
        return C.string_at(self.info.code, self.info.code_size)

    def plan(self, problem):
        plan = Plan()
        _call("make_plan", self.live, C.byref(problem), C.byref(plan))
        return plan

    def _says(self):
        return self.name


class Context(_Owner):
    _close = "kiln_close"

    def __init__(self, flags=0, cache_dir=None, hip_library=None):
        super().__init__()
        o = Options(size=C.sizeof(Options), flags=flags,
                    cache_dir=cache_dir and os.fsencode(cache_dir),
                    hip_library=hip_library and os.fsencode(hip_library))
        _call("open", C.byref(o), C.byref(self.handle))
        self._texts = {}         # tile IR -> its kernel

    def add_bundle(self, path):
        _call("add_bundle", self.live, os.fsencode(path))

    def _find(self, how, problem, config):
        k = Kernel()
        _call(how, self.live, C.byref(problem), config.encode(),
              C.byref(k.handle))
        return k

    def compile(self, problem, config=""):
        return self._find("compile", problem, config)

    def compile_text(self, text):
        """The kernel of a text of tile IR, proven as kiln's own are (an Error
        with status 1 if a wait is missing); compiled once a context."""
        self.live
        if text not in self._texts:
            k = Kernel()
            _call("compile_text", self.live, text.encode(),
                  C.byref(k.handle))
            self._texts[text] = k
        return self._texts[text]

    def close(self):
        self._texts = {}
        super().close()

    __del__ = close

    def lookup(self, problem, config=""):
        return self._find("lookup", problem, config)

    def device(self, name):
        return Device(self, name)


class Buffer(_Owner):
    """Bytes on a device; freed with it, by free(), or when forgotten."""

    def __init__(self, device, size):
        super().__init__()
        self.device, self.size = device, size
        _call("malloc", device.live, C.c_size_t(size), C.byref(self.handle))
        device._users.add(self)

    @property
    def address(self):
        self.device.live     # a closed device's memory is gone
        return self.live.value

    def close(self):
        handle, self.handle = getattr(self, "handle", None), _p()
        if handle and self._pid == os.getpid() and self.device.handle:
            _call("free", self.device.live, handle)

    __del__ = close

    def free(self):
        self.device.live
        self.close()

    def _fits(self, array):
        v = view(array)
        if not v.host:
            raise bad("that array is on a device already")
        if v.nbytes > self.size:
            raise bad("%d bytes do not fit into %d", v.nbytes, self.size)
        return v

    def upload(self, array):
        v = self._fits(array)
        _call("upload", self.device.live, _p(self.address), _p(v.address),
              C.c_size_t(v.nbytes))
        return self

    def download(self, array):
        v = self._fits(array)
        _call("download", self.device.live, _p(v.address), _p(self.address),
              C.c_size_t(v.nbytes))
        return array

    def _says(self):
        return "%d bytes" % self.size


class Array(Buffer):
    """A dense array of one of kiln's types on a device."""

    def __init__(self, device, shape, kind):
        self.shape, self.type = tuple(shape), kind
        self._bytes = max(1, BITS[kind] // 8)
        n = self._bytes
        for x in self.shape:
            n *= x
        super().__init__(device, n)

    def view_of(self):
        return View(self.address, self.shape, self.type, self._bytes, False,
                    self)

    @property
    def __cuda_array_interface__(self):
        if self.device.info.simulated:
            raise AttributeError("simulated memory is nobody else's")
        return {"shape": self.shape, "data": (self.address, False),
                "typestr": "<" + NUMPY.get(self.type, "u1"), "version": 3,
                "strides": None}

    def numpy(self):
        import numpy
        self.device.sync()
        return self.download(numpy.empty(self.shape,
                                         NUMPY.get(self.type, "u1")))

    def _says(self):
        return "%s%s" % (self.type, list(self.shape))


class Function(_Owner):
    """A kernel on a device; the device keeps it."""
    _close = "kiln_unload"

    def __init__(self, device, kernel):
        super().__init__()
        _call("load", device.live, kernel.live, C.byref(self.handle))
        device._users.add(self)


class Device(Layers, _Owner):
    _close = "kiln_close_device"

    def __init__(self, context, name):
        super().__init__()
        self.context = context  # lives at least as long
        self._functions = {}     # tile IR -> (kernel, loaded, arguments)
        self._rooms = {}         # stream -> workspace
        _call("open_device", context.live, name.encode(),
              C.byref(self.handle))
        context._users.add(self)

    @property
    def info(self):
        i = DeviceInfo(size=C.sizeof(DeviceInfo))
        _lib.kiln_get_device(self.live, C.byref(i))
        return i

    def _says(self):
        return self.info.name.decode()

    def array(self, source, kind=None):
        """A copy of a host array, as kind if its own type does not say."""
        v = view(source)
        if not (kind or v.type):
            raise bad("the array is bytes: say their type")
        if v.size != max(1, BITS[kind or v.type] // 8):
            raise bad("%s has other elements than of %d bytes",
                      kind or v.type, v.size)
        return Array(self, v.shape, kind or v.type).upload(source)

    def empty(self, shape, kind):
        return Array(self, shape, kind)

    def _address(self, x):
        """The device address of an operand: an int, a tensor, an array."""
        if x is None or isinstance(x, int):
            return x
        if isinstance(x, Buffer):
            if x.device is not self:
                raise bad("%r is on another device", x)
            return x.address
        v = view(x)
        if v.host:
            raise TypeError("%s is not device memory" % type(x).__name__)
        return v.address

    def run(self, problem, max_cus=0, checked=False, table=None, **operands):
        """Chooses, compiles at the first use, launches on stream=. max_cus:
        most workgroups of a persistent grid, 0: the plan's; checked: the
        workspace's counters are looked at before and after; table: a ctypes
        array instead of offsets=, which goes through workspace= and makes the
        grid exact, and stays as it is until the launch has run."""
        args = Arguments(size=C.sizeof(Arguments), max_cus=max_cus,
                         flags=CHECKED if checked else 0)
        self._run(problem, args, table, operands)

    def _run(self, problem, args, table, operands):
        if table is not None:
            args.flags |= EXACT
            args.host_offsets = C.addressof(table)
        for name, value in operands.items():
            if name not in OPERANDS:
                raise TypeError("a kernel has no operand %r" % name)
            setattr(args, name, self._address(value))
        _call("run", self.live, C.byref(problem), C.byref(args))

    def prepare(self, problem, table=None, **operands):
        """The kernel that `run` of these would launch, without the launch: its
        plan(problem).workspace says how many bytes workspace= has, of which the
        first 262144 are zero before the first launch."""
        kernel = Kernel()
        used = C.pointer(kernel.handle)
        args = Arguments(size=C.sizeof(Arguments), flags=PREPARE,
                         used=C.cast(used, C.c_void_p))
        self._run(problem, args, table, operands)
        return kernel

    def _room(self, problem, stream, table, operands):
        """The stream's workspace, as large as the launch needs it, if it does."""
        need = self.prepare(problem, table, **operands).plan(problem).workspace
        room = self._rooms.get(stream)
        if need and (room is None or room.size < need):
            if room is not None:
                self.sync(stream)
                room.close()
            room = self._rooms[stream] = Buffer(self, max(need, WORKSPACE_ZEROS))
            _call("upload", self.live, _p(room.address), bytes(WORKSPACE_ZEROS),
                  C.c_size_t(WORKSPACE_ZEROS))
        return {"workspace": room} if need else {}

    def launch_text(self, text, grid, block, *values, stream=None):
        """Launches tile IR: values in the order of its `arg` lines, device
        memory or addresses for ptr; grid and block in x, (x, y) or (x, y, z)."""
        self.live
        if text not in self._functions:
            kernel = self.context.compile_text(text)
            self._functions[text] = (kernel, Function(self, kernel),
                                     arguments_of(text))
        kernel, function, arguments = self._functions[text]
        values = [v if isinstance(v, numbers.Number) else self._address(v)
                  for v in values]
        plan = plan_of(kernel, arguments, grid, block, values)
        args = Arguments(size=C.sizeof(Arguments))
        args.stream = stream
        _call("launch", function.live, C.byref(plan), C.byref(args))

    def close(self):
        self._functions, self._rooms = {}, {}
        super().close()

    __del__ = close

    def sync(self, stream=None):
        _call("sync", self.live, _p(stream))

    def _empty(self, shape, kind, stays):
        if stays:
            return Array(self, shape, kind if BITS[kind] >= 8 else "fp8")
        import numpy
        return numpy.empty(shape, OUTPUTS[kind])

    def _output(self, product, out, stays):
        """(type, view or array of the output, its owner)."""
        if out is None or isinstance(out, str):
            kind = out or ("f64" if product.operand["a"].type == "f64" else "bf16")
            if kind not in OUTPUTS:
                raise bad("an output is one of %s, not %r", " ".join(OUTPUTS),
                          kind)
            return kind, self._empty(code_shape(product.output_shape(), kind), kind, stays)
        v = view(out, True)
        if v.type not in OUTPUTS:
            raise bad("out= has no type of an output")
        if v.shape != product.output_shape():
            raise bad("out= has the shape %s, the product %s", v.shape,
                      product.output_shape())
        return v.type, out

    def _launch(self, product, out, beta, alpha, stream):
        operands = product.operand
        stays = not any(v.host for v in operands.values())
        kind, result = self._output(product, out, stays)
        target = view(result, True)
        product.add_written(target, kind)
        made, written = {"c": target}, getattr(product, "written", None)
        if written:
            scales = self._empty(written_shape(product.output_shape(), written),
                                 "fp8" if written == "mx32" or
                                 product.fields.get("scale_type") == "e8m0"
                                 else "f32", stays)
            made["sc"] = view(scales)
        if beta and (out is None or isinstance(out, str)):
            raise bad("beta= adds to out=, which is not there")
        problem = product.problem(self.info.target, kind, alpha, beta)
        if not beta and "c" in names_of(problem.expression.decode()):
            raise bad("an epilogue that names c reads out=: say beta=1")
        memory = {}
        try:
            for name, v in dict(operands, **made).items():
                if isinstance(v.keep, Buffer) and v.keep.device is not self:
                    raise bad("%s is on another device", name)
                if v.host:
                    memory[name] = Buffer(self, max(1, v.nbytes))
                    if name not in made or (name == "c" and beta) or v.strides:
                        memory[name].upload(v)
            at = {n: memory[n] if v.host else v.address
                  for n, v in dict(operands, **made).items()}
            table = getattr(product, "table", None)
            if written == "row":
                at.update(self._room(problem, stream, table, at))
            elif table is not None:
                at["workspace"] = memory["workspace"] = Buffer(self, C.sizeof(table))
            self.run(problem, stream=stream, table=table, **at)
            if memory:
                self.sync(stream)
            made.update((n, operands[n]) for n in ("amax", "out2")
                        if n in operands)
            for name, v in made.items():
                if v.host:
                    memory[name].download(v)
        finally:
            for m in memory.values():
                m.close()
        if not written:
            return result
        return Quantised(result, scales, kind, written, product.output_shape(),
                         TARGETS[self.info.target])

    def gemm(self, a, b, out=None, *, layout="nt", a_type=None, b_type=None,
             scales=None, scale=None, bias=None, epilogue=None, row=None,
             col=None, tensor=None, scalar=None, alpha=None, beta=0,
             invariant=False, out_scale=None, saturate=True, amax=None,
             out2=None, round_seed=None, math="ieee", stream=None):
        """A times B as the layout says (nt: A[M,K] B[N,K]) to C[M,N].

        out: a type, for a new array, or the array to write; scales: (of A, of
        B), whose shapes say the mode; with beta=1 out is added to; invariant: the
        bits of a row of C depend on nothing but that row of A, and B; out_scale:
        of an output of fp8, bf8 or i8, whose codes times it are C, or "row",
        "block128" and, of mxfp8 and mxfp4, "mx32": the kernel makes them, and
        the result is a Quantised; saturate: what is beyond is the limit; amax:
        an f32 array of one element, which becomes the larger of itself and
        the largest |C| before its scale and rounding; out2: an array of bf16,
        f16 or f32 for C before its scale and rounding, or for what the
        epilogue says of aux ("aux:acc+bias, gelu(aux)"); round_seed: round at random,
        by this seed (docs/quant.md); math: how f32 operands are multiplied: "ieee",
        "xf32" or "bf16x3"."""
        p = Product("gemm", layout, a, b, a_type, b_type)
        p.add_scales(scales, scale)
        p.add_bias(bias, p.add_operands(epilogue, {
            "row": row, "col": col, "tensor": tensor, "scalar": scalar}))
        p.fields["invariant"] = int(invariant)
        p.add_output(out_scale, saturate, round_seed)
        p.add_amax(amax)
        p.add_second(out2)
        p.fields["math"] = math
        return self._launch(p, out, beta, alpha, stream)

    def batched(self, a, b, out=None, *, layout="nt", a_type=None, b_type=None,
                scales=None, scale=None, bias=None, epilogue=None, row=None,
                col=None, tensor=None, scalar=None, alpha=None, beta=0,
                invariant=False, out_scale=None, saturate=True, amax=None,
                out2=None, round_seed=None, math="ieee", stream=None):
        """gemm of A[G,M,K] and B[G,N,K] to C[G,M,N]."""
        p = Product("batched", layout, a, b, a_type, b_type)
        p.add_scales(scales, scale)
        p.add_bias(bias, p.add_operands(epilogue, {
            "row": row, "col": col, "tensor": tensor, "scalar": scalar}))
        p.fields["invariant"] = int(invariant)
        p.add_output(out_scale, saturate, round_seed)
        p.add_amax(amax)
        p.add_second(out2)
        p.fields["math"] = math
        return self._launch(p, out, beta, alpha, stream)

    def grouped(self, a, b, offsets=None, out=None, *, lens=None, tight=None,
                layout="nt", a_type=None, b_type=None, scales=None, scale=None, bias=None,
                epilogue=None, row=None, col=None, tensor=None, scalar=None,
                alpha=None, beta=0, invariant=False, out_scale=None,
                saturate=True, amax=None, out2=None, round_seed=None, math="ieee",
                stream=None):
        """Rows offsets[g] to offsets[g+1] of A[M,K] times B[g] of B[G,N,K]; with
        tight as many from offsets[g] on as tight[g] to tight[g+1] of the output.
        lens: instead of both how many rows each group has, numbers on the host: no
        workgroup more than there are tiles, and the call waits for the launch."""
        p = Product("grouped", layout, a, b, a_type, b_type)
        if (offsets is None) == (lens is None) or (tight is not None and
                                                   lens is not None):
            raise bad("groups have offsets=, and with them tight=, or lens=")
        if lens is None:
            p.add_offsets(offsets, p.sizes["m"])
            p.add_tight(tight, p.sizes["m"])
        else:
            p.add_lens(lens, p.sizes["m"])
        p.add_scales(scales, scale)
        p.add_bias(bias, p.add_operands(epilogue, {
            "row": row, "col": col, "tensor": tensor, "scalar": scalar}))
        p.fields["invariant"] = int(invariant)
        p.add_output(out_scale, saturate, round_seed)
        p.add_amax(amax)
        p.add_second(out2)
        p.fields["math"] = math
        return self._launch(p, out, beta, alpha, stream)

    def wgrad(self, a, b, offsets, out=None, *, tight=None, a_type=None, b_type=None,
              scales=None, scale=None, epilogue=None, row=None, col=None,
              tensor=None, scalar=None, alpha=None, beta=0, out_scale=None,
              saturate=True, amax=None, out2=None, round_seed=None, math="ieee",
              stream=None):
        """For each group the product of its rows of A[K,M] and B[K,N]; with tight
        tight[g+1] - tight[g] of them from offsets[g] on."""
        p = Product("wgrad", "tn", a, b, a_type, b_type)
        p.add_offsets(offsets, p.sizes["k"])
        p.add_tight(tight, p.sizes["k"])
        p.add_scales(scales, scale)
        p.add_bias(None, p.add_operands(epilogue, {
            "row": row, "col": col, "tensor": tensor, "scalar": scalar}))
        p.add_output(out_scale, saturate, round_seed)
        p.add_amax(amax)
        p.add_second(out2)
        p.fields["math"] = math
        return self._launch(p, out, beta, alpha, stream)


def open(name="sim:gfx950", **options):
    """A device with a context of its own."""
    return Context(**options).device(name)
