/* kiln.h - the public vocabulary and interface of libkiln.
 *
 * The only header that a program names; the part about launches is in
 * kiln_launch.h beside it. Neither includes anything else of kiln's, so that
 * every folder may use their enums and POD structs. Every public struct starts with
 * its size in bytes (`size = sizeof x`), so that fields can be appended;
 * all-zero means "default" everywhere. C17, usable from C++. */
#ifndef KILN_H
#define KILN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; kiln_version() is that of the library. */
#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0
#define KILN_VERSION_NUMBER(major, minor, patch) \
    ((major) * 10000 + (minor) * 100 + (patch))
#define KILN_VERSION \
    KILN_VERSION_NUMBER(KILN_VERSION_MAJOR, KILN_VERSION_MINOR, \
                        KILN_VERSION_PATCH)

/* X(id, value, text). The first four values are also kilnc's exit codes;
 * the others map to exit 2 (input or environment) or 1 (kiln is wrong). */
#define KILN_STATUS(X) \
    X(OK, 0, "ok") \
    X(FINDING, 1, "wrong result or finding") \
    X(BAD_INPUT, 2, "bad input") \
    X(UNSUPPORTED, 3, "unsupported") \
    X(NO_MEMORY, 4, "out of memory") \
    X(IO, 5, "input or output failed") \
    X(NO_DEVICE, 6, "no such device") \
    X(INTERNAL, 7, "kiln is wrong") \
    X(NOT_FOUND, 8, "no such kernel") \
    X(FALLBACK, 9, "a tuning table says to use another library")
typedef enum kiln_status {
#define X(id, value, text) KILN_##id = value,
    KILN_STATUS(X)
#undef X
} kiln_status;

/* The first error of a call: one sentence about the user's input, with the
 * place it speaks of: file empty where that is an expression, line 0 too when
 * it has none. */
typedef struct kiln_error {
    kiln_status status;
    int line, col;
    char file[96];           /* of a longer path "..." and its end */
    char text[256];
} kiln_error;

/* Row of a list -> its enumerator. */
#define KILN_NAME(id, ...) KILN_##id,

/* X(id, text, bits of one element, scales along K are a part of it: 1 MX, E8M0
 * per 32; 2 of a weight's groups, 3 E4M3 per 16, which a 16-bit A is multiplied by).
 * fp8/bf8 are OCP e4m3fn/e5m2 on gfx950 and FNUZ on gfx942; MX payloads are
 * OCP on every target (OCP MX v1.0). i4: two's complement, -8 to 7. */
#define KILN_OPERAND_TYPES(X) \
    X(F16, "f16", 16, 0) \
    X(BF16, "bf16", 16, 0) \
    X(FP8, "fp8", 8, 0) \
    X(BF8, "bf8", 8, 0) \
    X(I8, "i8", 8, 0) \
    X(MXFP8, "mxfp8", 8, 1) \
    X(MXBF8, "mxbf8", 8, 1) \
    X(MXFP6, "mxfp6", 6, 1) \
    X(MXBF6, "mxbf6", 6, 1) \
    X(MXFP4, "mxfp4", 4, 1) \
    X(I4, "i4", 4, 2) \
    X(NVFP4, "nvfp4", 4, 3)
#define KILN_TYPES(X) \
    X(TYPE_NONE, "none", 0, 0) \
    X(F32, "f32", 32, 0) \
    X(I32, "i32", 32, 0) \
    KILN_OPERAND_TYPES(X) \
    X(F64, "f64", 64, 0)
typedef enum kiln_type { KILN_TYPES(KILN_NAME) KILN_NTYPES } kiln_type;

/* X(id, text): the kernel families of docs/families.md. */
#define KILN_FAMILIES(X) \
    X(GEMM, "gemm") \
    X(GROUPED, "grouped") \
    X(WGRAD, "wgrad") \
    X(BATCHED, "batched") \
    X(MOE, "moe") \
    X(QUANT, "quant")
typedef enum kiln_family { KILN_FAMILIES(KILN_NAME) KILN_NFAMILIES } kiln_family;

/* NT: A[M,K] B[N,K]; NN: A[M,K] B[K,N]; TN: A[K,M] B[K,N]; TT: A[K,M] B[N,K];
 * C[M,N] always. All row-major, the last index contiguous. */
#define KILN_LAYOUTS(X) X(NT, "nt") X(NN, "nn") X(TN, "tn") X(TT, "tt")
typedef enum kiln_layout { KILN_LAYOUTS(KILN_NAME) KILN_NLAYOUTS } kiln_layout;

/* NONE: no scale operand. TENSOR: f32 sa[1], sb[1]. ROW: f32 sa[M], sb[N].
 * BLOCK128: f32 sa[M, ceil(K/128)], sb[ceil(N/128), ceil(K/128)], or E8M0
 * (kiln_problem.scale_type); wgrad: sb[N, ceil(K/128)], groups start at multiples
 * of 128 rows.
 * MX32: E8M0 sa[M, ceil(K/32)], sb[N, ceil(K/32)], K innermost; a bf16 or f16
 * A has no sa. GROUP32 to GROUP128, of an i4 B: sb[N, ceil(K/32 to 128)] of
 * kiln_problem.scale_type; sa are B's zero points, if it has any. NV16, of an nvfp4
 * B: OCP E4M3 sb[N, ceil(K/16)]; sa: f32, a factor for each B (problem or expert).
 * A bf16 or f16 A times an fp8, bf8 or i8 B is TENSOR, ROW or BLOCK128 without sa: A is
 * quantised in the kernel, 128 K of a row at a time (docs/families.md).
 */
#define KILN_SCALES(X) \
    X(SCALE_NONE, "none") \
    X(SCALE_TENSOR, "tensor") \
    X(SCALE_ROW, "row") \
    X(SCALE_BLOCK128, "block128") \
    X(SCALE_MX32, "mx32") \
    X(SCALE_GROUP32, "group32") \
    X(SCALE_GROUP64, "group64") \
    X(SCALE_GROUP128, "group128") \
    X(SCALE_NV16, "nv16")
typedef enum kiln_scale { KILN_SCALES(KILN_NAME) KILN_NSCALES } kiln_scale;

/* Type of the scales of groups, the first three, and of 128-blocks, f32 or E8M0: powers of
 * two, which gfx950 multiplies by in its matrix instructions. */
#define KILN_SCALE_TYPES(X) \
    X(SCALE_TYPE_F32, "f32") X(SCALE_TYPE_F16, "f16") X(SCALE_TYPE_BF16, "bf16") \
    X(SCALE_TYPE_E8M0, "e8m0")
typedef enum kiln_scale_type { KILN_SCALE_TYPES(KILN_NAME) KILN_NSCALETYPES } kiln_scale_type;

/* Of an i4 B's groups, in arguments.sa, [ceil(K/32 to 128), N] of each problem or
 * expert: a weight is (b - zero) * scale. I4: packed along N, low nibble first, rows
 * of whole bytes. F16: b - zero is rounded to f32, then to A's type; beside words b is
 * a code of 0 to 15. */
#define KILN_ZERO_POINTS(X) X(ZEROS_NONE, "none") X(ZEROS_I4, "i4") X(ZEROS_F16, "f16")
typedef enum kiln_zero_points { KILN_ZERO_POINTS(KILN_NAME) KILN_NZEROPOINTS } kiln_zero_points;

/* How f32 operands are multiplied (docs/families.md): as they are; by 10 of 23
 * mantissa bits, gfx942; each as the sum of two bf16, three products of four. */
#define KILN_MATHS(X) X(MATH_IEEE, "ieee") X(MATH_XF32, "xf32") X(MATH_BF16X3, "bf16x3")
typedef enum kiln_math { KILN_MATHS(KILN_NAME) KILN_NMATHS } kiln_math;

/* Scales of an fp8, bf8 or i8 output: an element is code * scale. PLAIN: 1.
 * STATIC: f32 sc[1], read; codes are D * (1 / sc). Written by the kernel: ROW:
 * f32 sc[M], BLOCK128: f32 sc[M, ceil(N/128)], max(|D|, 1e-10) / limit of the
 * type (BLOCK128 with SCALE_TYPE_E8M0 the power of two from there up, bytes). Nearest even;
 * a NaN stays one, of i8 it is 0. MX32, of mxfp8 and mxfp4,
 * their only one: E8M0 sc[M, ceil(N/32)], written (kiln_problem.requant); NaN
 * for a block with a NaN or an infinity. Of family quant columns are K
 * (docs/quant.md). */
#define KILN_OUT_SCALES(X) \
    X(OUT_PLAIN, "none") X(OUT_STATIC, "static") X(OUT_ROW, "row") \
    X(OUT_BLOCK128, "block128") X(OUT_MX32, "mx32")
typedef enum kiln_out_scale { KILN_OUT_SCALES(KILN_NAME) KILN_NOUTSCALES } kiln_out_scale;

/* X(id, text): what becomes of alpha * (scaled A*B) before beta * C is added.
 * BIAS: f32 bias[N] is added. EXPRESSION: what kiln_problem.expression says,
 * and beta * C is added to acc before (docs/epilogues.md). */
#define KILN_EPILOGUES(X) \
    X(EPILOGUE_NONE, "none") \
    X(EPILOGUE_BIAS, "bias") \
    X(EPILOGUE_EXPRESSION, "expression")
typedef enum kiln_epilogue { KILN_EPILOGUES(KILN_NAME) KILN_NEPILOGUES } kiln_epilogue;

/* X(id, text): what a moe kernel computes. GATE_UP: A[tokens, K] by token,
 * B[experts, 2N, K] (N gate rows, then N up rows), out[tokens * topk, N] =
 * act(gate) * up. DOWN: A[tokens * topk, K], B[experts, N, K], times the
 * routing weight; out[tokens * topk, N], or added into out[tokens, N].
 * REDUCE: A[tokens * topk, N], out[tokens, N] = the sum over topk, in order. */
#define KILN_MOE_STAGES(X) \
    X(MOE_NONE, "layer") X(MOE_GATE_UP, "gemm1") X(MOE_DOWN, "gemm2") \
    X(MOE_REDUCE, "reduce")
typedef enum kiln_moe_stage { KILN_MOE_STAGES(KILN_NAME) KILN_NMOESTAGES } kiln_moe_stage;

/* SWIGLU is gpt-oss': gate and up limited to 7, slope 1.702, up + 1. LIMITED
 * is DeepSeek-V4's silu: gate limited to 10, up to -10 .. 10. */
#define KILN_ACTS(X) X(SILU, "silu") X(SWIGLU, "swiglu") X(LIMITED, "limited") \
    X(GELU_TANH, "gelu_tanh")
typedef enum kiln_act { KILN_ACTS(KILN_NAME) KILN_NACTS } kiln_act;

/* PRESHUFFLED: aiter's shuffle_weight(16, 16): panels of 16 rows, in them 16-byte chunks along
 * K, of each row in turn; of gemm1 16 gate and 16 up rows in turn. HALVES: all gate rows first.
 * AWQ, GPTQ: int32 of checkpoints, i4 less 8 or less zero points (docs/families.md). */
#define KILN_B_LAYOUTS(X) X(B_PLAIN, "plain") X(B_PRESHUFFLED, "preshuffled") \
    X(B_HALVES, "preshuffled-halves") X(B_AWQ, "awq") X(B_GPTQ, "gptq") X(B_GPTQ2, "gptq-v2")
typedef enum kiln_b_layout { KILN_B_LAYOUTS(KILN_NAME) KILN_NBLAYOUTS } kiln_b_layout;

/* SHUFFLED, MX32 scales: aiter's e8m0_shuffle, blocks of 32 rows and 256 K; of moe's
 * A by sorted row; groups start at multiples of 32 rows. Padding bytes are 127.
 * TRANSPOSED, BLOCK128: sa[ceil(K/128), M], of wgrad sb[ceil(K/128), N] too; GROUP:
 * sb[ceil(K/32 to 128), N]. */
#define KILN_SCALE_LAYOUTS(X) X(SCALE_RAW, "raw") \
    X(SCALE_SHUFFLED, "shuffled") X(SCALE_TRANSPOSED, "transposed")
typedef enum kiln_scale_layout {
    KILN_SCALE_LAYOUTS(KILN_NAME) KILN_NSCALELAYOUTS } kiln_scale_layout;

/* Sorted ids of moe. PACKED: token | slot << 24, padding has a token from
 * `tokens` on. PLAIN: token * topk + slot, padding is from tokens * topk on. */
#define KILN_ID_FORMATS(X) X(IDS_PACKED, "packed") X(IDS_PLAIN, "plain")
typedef enum kiln_id_format { KILN_ID_FORMATS(KILN_NAME) KILN_NIDFORMATS } kiln_id_format;

/* Who multiplies by the routing weight of a sorted row: gemm2 (AFTER), gemm1
 * before its activation, as if its input were weighed (BEFORE), or nobody. */
#define KILN_WEIGHTS(X) \
    X(WEIGHT_AFTER, "after") X(WEIGHT_BEFORE, "before") X(WEIGHT_NONE, "none")
typedef enum kiln_weight { KILN_WEIGHTS(KILN_NAME) KILN_NWEIGHTS } kiln_weight;

#define KILN_TARGETS(X) X(GFX942, "gfx942") X(GFX950, "gfx950")
typedef enum kiln_target {
    KILN_TARGET_NONE,
#define X(id, text) KILN_##id,
    KILN_TARGETS(X)
#undef X
    KILN_NTARGETS
} kiln_target;

/* LENS: arguments.offsets is int64 lens[groups], the rows of each group, not
 * their prefix sums. ENDS32: it is int32 ends[groups], where each group ends
 * (PyTorch's grouped products); groups begin at row 0. TAIL_ZERO: grouped
 * writes zeros to output rows past the last group, up to m; without it they stay
 * as they are. TIGHT: where groups begin in A and its scales, of wgrad in both
 * operands; arguments.tight, of the same form, has their rows, and where those of
 * the output and what is of its rows begin. */
typedef enum kiln_group_flags {
    KILN_GROUP_LENS = 1,
    KILN_TAIL_ZERO = 2,
    KILN_GROUP_ENDS32 = 4,
    KILN_GROUP_TIGHT = 8
} kiln_group_flags;

/* What quant does besides. GATED: A is [M, 2K], and silu(A[:, :K]) * A[:, K:] is
 * quantised. TURNED: the output is [K, M], its scales along M. DUAL: that is written
 * too, to arguments.out2, its scales to arguments.sc2. */
typedef enum kiln_quant_flags {
    KILN_QUANT_GATED = 1,
    KILN_QUANT_TURNED = 2,
    KILN_QUANT_DUAL = 4
} kiln_quant_flags;

/* Bytes of kiln_problem.expression, its NUL among them; scalars it declares. */
#define KILN_EXPRESSION 192
#define KILN_SCALARS 4

/* As block_m of moe: 256 rows. */
#define KILN_BLOCK_256 255

/* As stride_a of batched, stride_b of batched and grouped: all problems read
 * the same matrix and scales. */
#define KILN_SHARED (-1)

/* What the user asks for. Two parts: the kernel part is fixed when a kernel
 * is compiled; the launch part is passed as kernel arguments, so that one
 * code object serves every shape of its domain.
 *
 * out: D = epilogue(alpha * (scaled A*B)) + beta * C. */
typedef struct kiln_problem {
    uint32_t size;
    /* kernel part */
    kiln_family family;
    kiln_target target;
    kiln_layout layout;
    kiln_type a, b, out;
    kiln_scale scale;
    union {
        uint8_t epilogue;    /* kiln_epilogue */
        uint8_t bias;        /* the same: 1 is KILN_EPILOGUE_BIAS */
    };
    uint8_t beta;            /* 1: C is read and added */
    uint8_t alpha_set;       /* 0: alpha is 1 */
    uint8_t stage, act;      /* moe: kiln_moe_stage, kiln_act */
    uint8_t atomic;          /* moe down: 1: added to out with bf16 atomics */
    uint8_t block_m;         /* moe: sorted rows of one expert, 16 to 128, or
                                KILN_BLOCK_256 */
    uint8_t b_layout;        /* kiln_b_layout */
    uint8_t scale_layout;    /* kiln_scale_layout */
    uint8_t id_format;       /* moe: kiln_id_format of the sorted ids */
    uint8_t weigh;           /* moe: kiln_weight */
    uint8_t requant;         /* an MX output, scale mode: 0 floor, 1 round-up,
                                2 even, 3 ceil */
    uint8_t group_flags;     /* kiln_group_flags, of grouped and wgrad */
    uint8_t quant;           /* a bf16 or f16 A with an mxfp4 B: 0 multiplied
                                as it is; 1 + scale mode (requant): quantised
                                to mxfp4 in the kernel, 32 K at a time */
    uint8_t invariant;       /* 1: bits of an output row depend on its own
                                operands alone, not on M, other rows, groups
                                or the device (docs/invariant.md) */
    uint8_t out_scale;       /* kiln_out_scale */
    /* launch part; lengths in elements, 0 leading dimension
                                or stride = dense */
    int64_t m, n, k;
    int64_t batch, groups;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    float alpha;
    uint16_t cus, xcds;      /* compute units and chiplets of the device that
                                is planned for; 0: the target's full chip's.
                                kiln_run fills in its device's */
    int64_t tokens, topk;    /* moe; m is the room of the sorted rows */
    int64_t ldsa, ldsb;      /* BLOCK128, GROUP and raw MX32: scales from one row of
                                them to the next; 0: dense. A multiple of 4
                                MX scales is loaded by dwords at any K */
    char expression[KILN_EXPRESSION]; /* kernel part: a text here makes the
                                epilogue EXPRESSION: "gelu(acc + bias)", "row:s,
                                acc * s" with s in x0; of gate and up B and the
                                bias have 2 n columns (docs/epilogues.md) */
    float scalar[KILN_SCALARS]; /* launch part: the expression's, in order */
    uint8_t overflow;        /* kernel part: 8-bit floats beyond their
                                limit are 0: it, 1: a NaN or infinity */
    uint8_t scale_type;      /* kernel part: kiln_scale_type, of GROUP scales, of
                                BLOCK128, read and written */
    uint8_t quant_flags;     /* kiln_quant_flags */
    uint8_t hadamard;        /* quant: 16 or 32: elements of a transform before;
                                0: none */
    uint8_t zero_points;     /* kernel part: kiln_zero_points, of an i4 B */
    uint8_t math;            /* kernel part: kiln_math */
    uint8_t round;           /* kernel part: 1: the output is rounded at random, by
                                round_seed (docs/quant.md); 0: to nearest */
    uint8_t amax;            /* kernel part: 1: arguments.amax is raised to the
                                largest |D| before its scale and rounding */
    uint64_t round_seed;     /* launch part */
    uint8_t out2;            /* kernel part: bf16, f16 or f32, of f64 x f64 f64 or
                                f32: the type of a second output, D before its
                                scale, or what the expression says of aux
                                (docs/epilogues.md) */
    uint8_t reserved[7];
    int64_t ldc2, ldsa2;     /* launch part: ldc and ldsa of the output and scales
                                that KILN_QUANT_DUAL adds */
} kiln_problem;

/* ---- functions -----------------------------------------------------------
 *
 * A function that can fail returns a status and fills *error (which may be
 * NULL) with one sentence. Objects may be used from any thread; closing one
 * is the caller's to order after its last use. Strings that are handed out
 * live as long as the object they came from. */

/* Of the library, as KILN_VERSION is of the header: 102 is 0.1.2. */
int kiln_version(void);

/* Text of an enumerator. */
const char *kiln_status_name(kiln_status s);
const char *kiln_type_name(kiln_type t);
const char *kiln_target_name(kiln_target t);

typedef struct kiln_context kiln_context;
typedef struct kiln_kernel kiln_kernel;
typedef struct kiln_device kiln_device;
typedef struct kiln_function kiln_function;

typedef enum kiln_log_level {
    KILN_LOG_WARNING,        /* something was repaired or is slower */
    KILN_LOG_INFO            /* a kernel was compiled, and why this one */
} kiln_log_level;

typedef enum kiln_flags {
    KILN_RUN_ONLY = 1,       /* a kernel that is nowhere is an error */
    KILN_STRICT = 2,         /* a damaged cache entry is an error, and so is a
                                stored kernel that cannot be proven again */
    KILN_NO_DISK = 4,        /* no cache directory */
    KILN_ISOLATE = 8         /* compile in a child process: LLVM can abort */
} kiln_flags;

/* All-zero: the environment decides (docs/api.md), malloc, silence. */
typedef struct kiln_options {
    uint32_t size;
    uint32_t flags;
    /* realloc semantics, bytes 0 frees; called from any thread */
    void *(*realloc)(void *user, void *p, size_t old, size_t bytes);
    void *realloc_user;
    void (*log)(void *user, kiln_log_level level, const char *text);
    void *log_user;
    const char *cache_dir;
    const char *hip_library; /* instead of libamdhip64.so.{7,6,5} */
    uint64_t max_steps;      /* instructions of a wave after which a simulated
                                launch is stopped, KILN_UNSUPPORTED with the
                                place where it was; 0: 268435456 */
    double max_seconds;      /* the same in seconds; 0: never */
} kiln_options;

kiln_status kiln_open(const kiln_options *options, kiln_context **out,
                      kiln_error *error);
/* After every kernel and device of it. */
void kiln_close(kiln_context *context);

/* Kernels of an AOT bundle (kilnc pack) take part in every later search. */
kiln_status kiln_add_bundle(kiln_context *context, const char *path,
                            kiln_error *error);

/* ---- kernels ---- */

/* A kernel for the problem: from memory, bundles or the cache directory;
 * KILN_NOT_FOUND if there is none. Never loads a compiler. `config` NULL or
 * "": chosen; else such as "tile=256x256x64 waves=2x4". When the chosen
 * kernel is nowhere, one of a bundle whose domain covers the problem is
 * taken. */
kiln_status kiln_lookup(kiln_context *context, const kiln_problem *problem,
                        const char *config, kiln_kernel **out,
                        kiln_error *error);
/* The same, and compiles what is nowhere. */
kiln_status kiln_compile(kiln_context *context, const kiln_problem *problem,
                         const char *config, kiln_kernel **out,
                         kiln_error *error);
/* A kernel of one's own: tile IR (docs/ir.md), with the same proof, gates and
 * certificate check as kiln's. In a child process, on every call; nothing is
 * cached. KILN_FINDING if a wait is missing. It has no problem, hence no
 * kiln_make_plan: the caller fills a kiln_plan with grid, block, kernarg_size
 * and kernarg (arguments in the order of `arg` lines, each at a multiple of its
 * size), npointers 0. */
kiln_status kiln_compile_text(kiln_context *context, const char *text,
                              kiln_kernel **out, kiln_error *error);
void kiln_release(kiln_kernel *kernel);

typedef enum kiln_source {
    KILN_FROM_COMPILER,
    KILN_FROM_DISK,
    KILN_FROM_BUNDLE
} kiln_source;

typedef struct kiln_kernel_info {
    uint32_t size;
    kiln_target target;
    const char *name;        /* symbol in the code object */
    const char *key;         /* SHA-256 of what it was made from, in hex */
    const char *config;      /* one line, accepted by kiln_compile */
    const char *why;         /* reasons of the choice, "" if it was given */
    const char *versions;    /* of generator and LLVM */
    const void *code;        /* the code object: an ELF file */
    size_t code_size;
    uint32_t vgpr, agpr, sgpr, lds, scratch;
    uint32_t kernarg_size;
    kiln_source source;
    double compile_ms;       /* 0 unless compiled by this context */
} kiln_kernel_info;

/* Fills info up to info->size. */
void kiln_get_kernel(const kiln_kernel *kernel, kiln_kernel_info *info);

#ifdef __cplusplus
}
#endif

#include "kiln_launch.h"
#endif
