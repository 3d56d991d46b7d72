"""Words and structs of kiln.h; runtime/python/header.py makes them."""
import ctypes as C

TYPES = ['none', 'f32', 'i32', 'f16', 'bf16', 'fp8', 'bf8', 'i8', 'mxfp8',
    'mxbf8', 'mxfp6', 'mxbf6', 'mxfp4', 'i4', 'nvfp4', 'f64']
FAMILIES = ['gemm', 'grouped', 'wgrad', 'batched', 'moe', 'quant']
LAYOUTS = ['nt', 'nn', 'tn', 'tt']
SCALES = ['none', 'tensor', 'row', 'block128', 'mx32', 'group32', 'group64',
    'group128', 'nv16']
OUT_SCALES = ['none', 'static', 'row', 'block128', 'mx32']
SCALE_TYPES = ['f32', 'f16', 'bf16', 'e8m0']
ZERO_POINTS = ['none', 'i4', 'f16']
MATHS = ['ieee', 'xf32', 'bf16x3']
B_LAYOUTS = ['plain', 'preshuffled', 'preshuffled-halves', 'awq', 'gptq',
    'gptq-v2']
SCALE_LAYOUTS = ['raw', 'shuffled', 'transposed']
MOE_STAGES = ['layer', 'gemm1', 'gemm2', 'reduce']
ACTS = ['silu', 'swiglu', 'limited', 'gelu_tanh']
TARGETS = ['none', 'gfx942', 'gfx950']
OPERANDS = ['a', 'b', 'c', 'sa', 'sb', 'bias', 'offsets', 'experts', 'padded',
    'weights', 'workspace', 'x0', 'x1', 'x2', 'x3', 'sc', 'amax', 'out2',
    'tight', 'sc2']


class kiln_error(C.Structure):
    _fields_ = [
        ("status", C.c_int),
        ("line", C.c_int),
        ("col", C.c_int),
        ("file", C.c_char * 96),
        ("text", C.c_char * 256),
    ]


class kiln_options(C.Structure):
    _fields_ = [
        ("size", C.c_uint32),
        ("flags", C.c_uint32),
        ("realloc", C.c_void_p),
        ("realloc_user", C.c_void_p),
        ("log", C.c_void_p),
        ("log_user", C.c_void_p),
        ("cache_dir", C.c_char_p),
        ("hip_library", C.c_char_p),
        ("max_steps", C.c_uint64),
        ("max_seconds", C.c_double),
    ]


class kiln_problem(C.Structure):
    _fields_ = [
        ("size", C.c_uint32),
        ("family", C.c_int),
        ("target", C.c_int),
        ("layout", C.c_int),
        ("a", C.c_int),
        ("b", C.c_int),
        ("out", C.c_int),
        ("scale", C.c_int),
        ("bias", C.c_uint8),
        ("beta", C.c_uint8),
        ("alpha_set", C.c_uint8),
        ("stage", C.c_uint8),
        ("act", C.c_uint8),
        ("atomic", C.c_uint8),
        ("block_m", C.c_uint8),
        ("b_layout", C.c_uint8),
        ("scale_layout", C.c_uint8),
        ("id_format", C.c_uint8),
        ("weigh", C.c_uint8),
        ("requant", C.c_uint8),
        ("group_flags", C.c_uint8),
        ("quant", C.c_uint8),
        ("invariant", C.c_uint8),
        ("out_scale", C.c_uint8),
        ("m", C.c_int64),
        ("n", C.c_int64),
        ("k", C.c_int64),
        ("batch", C.c_int64),
        ("groups", C.c_int64),
        ("lda", C.c_int64),
        ("ldb", C.c_int64),
        ("ldc", C.c_int64),
        ("stride_a", C.c_int64),
        ("stride_b", C.c_int64),
        ("stride_c", C.c_int64),
        ("alpha", C.c_float),
        ("cus", C.c_uint16),
        ("xcds", C.c_uint16),
        ("tokens", C.c_int64),
        ("topk", C.c_int64),
        ("ldsa", C.c_int64),
        ("ldsb", C.c_int64),
        ("expression", C.c_char * 192),
        ("scalar", C.c_float * 4),
        ("overflow", C.c_uint8),
        ("scale_type", C.c_uint8),
        ("quant_flags", C.c_uint8),
        ("hadamard", C.c_uint8),
        ("zero_points", C.c_uint8),
        ("math", C.c_uint8),
        ("round", C.c_uint8),
        ("amax", C.c_uint8),
        ("round_seed", C.c_uint64),
        ("out2", C.c_uint8),
        ("reserved", C.c_uint8 * 7),
        ("ldc2", C.c_int64),
        ("ldsa2", C.c_int64),
    ]


class kiln_kernel_info(C.Structure):
    _fields_ = [
        ("size", C.c_uint32),
        ("target", C.c_int),
        ("name", C.c_char_p),
        ("key", C.c_char_p),
        ("config", C.c_char_p),
        ("why", C.c_char_p),
        ("versions", C.c_char_p),
        ("code", C.c_void_p),
        ("code_size", C.c_size_t),
        ("vgpr", C.c_uint32),
        ("agpr", C.c_uint32),
        ("sgpr", C.c_uint32),
        ("lds", C.c_uint32),
        ("scratch", C.c_uint32),
        ("kernarg_size", C.c_uint32),
        ("source", C.c_int),
        ("compile_ms", C.c_double),
    ]


class kiln_arguments(C.Structure):
    _fields_ = [
        ("size", C.c_uint32),
        ("flags", C.c_uint32),
        ("a", C.c_void_p),
        ("b", C.c_void_p),
        ("c", C.c_void_p),
        ("sa", C.c_void_p),
        ("sb", C.c_void_p),
        ("bias", C.c_void_p),
        ("offsets", C.c_void_p),
        ("experts", C.c_void_p),
        ("padded", C.c_void_p),
        ("weights", C.c_void_p),
        ("workspace", C.c_void_p),
        ("stream", C.c_void_p),
        ("used", C.c_void_p),
        ("host_offsets", C.c_void_p),
        ("workspace_bytes", C.c_uint64),
        ("max_cus", C.c_uint32),
        ("reserved", C.c_uint32),
        ("x0", C.c_void_p),
        ("x1", C.c_void_p),
        ("x2", C.c_void_p),
        ("x3", C.c_void_p),
        ("sc", C.c_void_p),
        ("amax", C.c_void_p),
        ("out2", C.c_void_p),
        ("tight", C.c_void_p),
        ("sc2", C.c_void_p),
    ]


class kiln_pointer(C.Structure):
    _fields_ = [
        ("offset", C.c_uint16),
        ("operand", C.c_uint8),
        ("align", C.c_uint8),
    ]


class kiln_plan(C.Structure):
    _fields_ = [
        ("size", C.c_uint32),
        ("grid", C.c_uint32 * 3),
        ("block", C.c_uint32 * 3),
        ("lds", C.c_uint32),
        ("workspace", C.c_uint64),
        ("kernarg_size", C.c_uint32),
        ("npointers", C.c_uint32),
        ("kernarg", C.c_uint8 * 256),
        ("pointer", kiln_pointer * 16),
        ("offsets_at", C.c_uint64),
        ("offsets_size", C.c_uint64),
        ("cus_at", C.c_uint32),
        ("zeroed", C.c_uint32),
        ("tile_row", C.c_uint32),
        ("reserved", C.c_uint32),
    ]


class kiln_device_info(C.Structure):
    _fields_ = [
        ("size", C.c_uint32),
        ("target", C.c_int),
        ("cus", C.c_uint32),
        ("simulated", C.c_uint32),
        ("name", C.c_char * 64),
        ("bus", C.c_char * 32),
        ("xcds", C.c_uint32),
    ]
