from typing import (Any, Callable, Dict, Iterable, Optional, Sequence, Tuple,
                    Union)

__version__: str
TYPES: Sequence[str]
FAMILIES: Sequence[str]
LAYOUTS: Sequence[str]
SCALES: Sequence[str]
STAGES: Sequence[str]
ACTS: Sequence[str]
TARGETS: Sequence[str]
OPERANDS: Sequence[str]
RUN_ONLY: int
STRICT: int
NO_DISK: int

_Operand = Any  # numpy, torch, __cuda_array_interface__, DLPack, Array
_Output = Union[None, str, _Operand]
_Named = Optional[Dict[str, _Operand]]
_Scales = Optional[Tuple[Optional[_Operand], Optional[_Operand]]]

class Error(Exception):
    status: int

class Problem(object):
    def __init__(self, **fields: Union[int, float, str]) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class KernelInfo(object):
    name: bytes
    key: bytes
    config: bytes
    why: bytes
    versions: bytes
    vgpr: int
    agpr: int
    sgpr: int
    lds: int
    scratch: int
    kernarg_size: int
    source: int
    compile_ms: float

class DeviceInfo(object):
    target: int
    cus: int
    simulated: int
    name: bytes
    bus: bytes

class Plan(object):
    grid: Sequence[int]
    block: Sequence[int]
    lds: int
    workspace: int
    kernarg_size: int
    npointers: int
    kernarg: Sequence[int]

class _Owner:
    def close(self) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...

class Kernel(_Owner):
    @property
    def info(self) -> KernelInfo: ...
    @property
    def name(self) -> str: ...
    @property
    def config(self) -> str: ...
    @property
    def code(self) -> bytes: ...
    def plan(self, problem: Problem) -> Plan: ...

class Context(_Owner):
    def __init__(self, flags: int = 0, cache_dir: Optional[str] = None,
                 hip_library: Optional[str] = None) -> None: ...
    def add_bundle(self, path: str) -> None: ...
    def compile(self, problem: Problem, config: str = "") -> Kernel: ...
    def compile_text(self, text: str) -> Kernel: ...
    def close(self) -> None: ...
    def lookup(self, problem: Problem, config: str = "") -> Kernel: ...
    def device(self, name: str) -> Device: ...

class Buffer(_Owner):
    device: Device
    size: int
    def __init__(self, device: Device, size: int) -> None: ...
    @property
    def address(self) -> int: ...
    def close(self) -> None: ...
    def free(self) -> None: ...
    def upload(self, array: _Operand) -> Buffer: ...
    def download(self, array: _Operand) -> _Operand: ...

class Array(Buffer):
    shape: Tuple[int, ...]
    type: str
    def __init__(self, device: Device, shape: Iterable[int],
                 kind: str) -> None: ...
    def view_of(self) -> Any: ...
    def numpy(self) -> Any: ...

class Routing:
    tokens: int
    topk: int
    groups: int
    block_m: int
    ids: Any
    experts: Any
    padded: Any
    weights: Any

def routing(ids: Any, weights: Any = None, experts: Optional[int] = None,
            block_m: Optional[int] = None) -> Routing: ...

def quantise_experts(x: Any, kind: str, scale: Optional[str] = None,
                     **more: Any) -> Quantised: ...

class Device(_Owner):
    context: Context
    def __init__(self, context: Context, name: str) -> None: ...
    @property
    def info(self) -> DeviceInfo: ...
    def array(self, source: _Operand, kind: Optional[str] = None) -> Array: ...
    def empty(self, shape: Iterable[int], kind: str) -> Array: ...
    def run(self, problem: Problem, max_cus: int = ..., checked: bool = ...,
            table: Any = ..., **operands: Any) -> None: ...
    def prepare(self, problem: Problem, table: Any = ...,
                **operands: Any) -> Kernel: ...
    def launch_text(self, text: str, grid: Any, block: Any, *values: Any,
                    stream: Optional[int] = None) -> None: ...
    def close(self) -> None: ...
    def sync(self, stream: Optional[int] = None) -> None: ...
    def gemm(self, a: _Operand, b: _Operand, out: _Output = None, *,
             layout: str = "nt", a_type: Optional[str] = None,
             b_type: Optional[str] = None, scales: _Scales = None,
             scale: Optional[str] = None, bias: Optional[_Operand] = None,
             epilogue: Optional[str] = None, row: _Named = None,
             col: _Named = None, tensor: _Named = None,
             scalar: Optional[Dict[str, float]] = None,
             alpha: Optional[float] = None, beta: int = 0,
             invariant: bool = False, math: str = "ieee",
             stream: Optional[int] = None) -> Any: ...
    def batched(self, a: _Operand, b: _Operand, out: _Output = None, *,
                layout: str = "nt", a_type: Optional[str] = None,
                b_type: Optional[str] = None, scales: _Scales = None,
                scale: Optional[str] = None, bias: Optional[_Operand] = None,
                epilogue: Optional[str] = None, row: _Named = None,
                col: _Named = None, tensor: _Named = None,
                scalar: Optional[Dict[str, float]] = None,
                alpha: Optional[float] = None, beta: int = 0,
                invariant: bool = False, math: str = "ieee",
                stream: Optional[int] = None) -> Any: ...
    def grouped(self, a: _Operand, b: _Operand,
                offsets: Optional[_Operand] = None, out: _Output = None, *,
                lens: Optional[Iterable[int]] = None,
                tight: Optional[_Operand] = None, layout: str = "nt",
                a_type: Optional[str] = None, b_type: Optional[str] = None,
                scales: _Scales = None, scale: Optional[str] = None,
                bias: Optional[_Operand] = None,
                epilogue: Optional[str] = None, row: _Named = None,
                col: _Named = None, tensor: _Named = None,
                scalar: Optional[Dict[str, float]] = None,
                alpha: Optional[float] = None, beta: int = 0,
                invariant: bool = False, math: str = "ieee",
                stream: Optional[int] = None) -> Any: ...
    def wgrad(self, a: _Operand, b: _Operand, offsets: _Operand,
              out: _Output = None, *, tight: Optional[_Operand] = None,
              a_type: Optional[str] = None,
              b_type: Optional[str] = None, scales: _Scales = None,
              scale: Optional[str] = None, epilogue: Optional[str] = None,
              row: _Named = None, col: _Named = None, tensor: _Named = None,
              scalar: Optional[Dict[str, float]] = None,
              alpha: Optional[float] = None, beta: int = 0, math: str = "ieee",
              stream: Optional[int] = None) -> Any: ...
    def moe_up(self, a: _Operand, b: _Operand, route: Routing,
               out: _Output = None, *, act: str = "silu",
               weigh: str = "after", epilogue: Optional[str] = None,
               bias: Optional[_Operand] = None, row: _Named = None,
               col: _Named = None, tensor: _Named = None,
               scalar: Optional[Dict[str, float]] = None, beta: float = 0,
               round_seed: Optional[int] = None,
               amax: Optional[_Operand] = None,
               out2: Optional[_Operand] = None,
               a_type: Optional[str] = None,
               b_type: Optional[str] = None, scales: _Scales = None,
               scale: Optional[str] = None,
               stream: Optional[int] = None) -> Any: ...
    def moe_down(self, a: _Operand, b: _Operand, route: Routing,
                 out: _Output = None, *, weigh: str = "after",
                 epilogue: Optional[str] = None,
                 bias: Optional[_Operand] = None, row: _Named = None,
                 col: _Named = None, tensor: _Named = None,
                 scalar: Optional[Dict[str, float]] = None, beta: float = 0,
                 round_seed: Optional[int] = None,
                 amax: Optional[_Operand] = None,
                 out2: Optional[_Operand] = None,
                 a_type: Optional[str] = None, b_type: Optional[str] = None,
                 scales: _Scales = None, scale: Optional[str] = None,
                 stream: Optional[int] = None) -> Any: ...
    def moe_sum(self, rows: _Operand, route: Routing, out: _Output = None, *, beta: float = 0,
                round_seed: Optional[int] = None, stream: Optional[int] = None) -> Any: ...
    def moe(self, x: _Operand, up: _Operand, down: _Operand, route: Routing,
            out: _Output = None, *, act: str = "silu", weigh: str = "after",
            round_seed: Optional[int] = None, stream: Optional[int] = None) -> Any: ...

class Quantised(object):
    data: Any
    scales: Any
    type: str
    scale: str
    shape: Tuple[int, ...]
    target: str
    def __init__(self, data: Any, scales: Any, kind: str, scale: str,
                 shape: Iterable[int], target: str) -> None: ...
    def view_of(self) -> Any: ...
    def dequantise(self) -> Any: ...

class Jit:
    def __init__(self, function: Callable[..., str]) -> None: ...
    def text(self, **constants: Any) -> str: ...
    def __call__(self, device: Device, *values: Any, grid: Any, block: Any,
                 stream: Optional[int] = None, **constants: Any) -> None: ...

def jit(function: Callable[..., str]) -> Jit: ...

def quantise(x: Any, kind: str, scale: Optional[str] = None, *,
             mode: str = "even", operand: str = "a",
             target: str = "gfx950") -> Quantised: ...

def open(name: str = "sim:gfx950", **options: Any) -> Device: ...
