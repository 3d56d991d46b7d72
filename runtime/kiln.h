/* kiln.h - the public vocabulary and interface of libkiln.
 *
 * The only public header. It includes nothing of kiln's own, so that every
 * folder may use its enums and POD structs. Every public struct starts with
 * its size in bytes (`size = sizeof x`), so that fields can be appended;
 * all-zero means "default" everywhere. C17, usable from C++. */
#ifndef KILN_H
#define KILN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    X(INTERNAL, 7, "kiln is wrong")

typedef enum kiln_status {
#define X(id, value, text) KILN_##id = value,
    KILN_STATUS(X)
#undef X
} kiln_status;

/* The first error of a call: one sentence about the user's input, with the
 * place it speaks of (file empty, line 0 when it has none). */
typedef struct kiln_error {
    kiln_status status;
    int line, col;
    char file[96];
    char text[256];
} kiln_error;

/* X(id, text, bits of one element, MX: 1 = has E8M0 scales per 32 along K).
 * fp8/bf8 are OCP e4m3fn/e5m2 on gfx950 and FNUZ on gfx942; MX payloads are
 * OCP on every target (OCP MX v1.0). */
#define KILN_TYPES(X) \
    X(TYPE_NONE, "none", 0, 0) \
    X(F32, "f32", 32, 0) \
    X(I32, "i32", 32, 0) \
    X(F16, "f16", 16, 0) \
    X(BF16, "bf16", 16, 0) \
    X(FP8, "fp8", 8, 0) \
    X(BF8, "bf8", 8, 0) \
    X(I8, "i8", 8, 0) \
    X(MXFP8, "mxfp8", 8, 1) \
    X(MXBF8, "mxbf8", 8, 1) \
    X(MXFP6, "mxfp6", 6, 1) \
    X(MXBF6, "mxbf6", 6, 1) \
    X(MXFP4, "mxfp4", 4, 1)

typedef enum kiln_type {
#define X(id, text, bits, mx) KILN_##id,
    KILN_TYPES(X)
#undef X
    KILN_NTYPES
} kiln_type;

/* X(id, text): the kernel families of docs/families.md. */
#define KILN_FAMILIES(X) \
    X(GEMM, "gemm") \
    X(GROUPED, "grouped") \
    X(WGRAD, "wgrad") \
    X(BATCHED, "batched") \
    X(MOE, "moe")

typedef enum kiln_family {
#define X(id, text) KILN_##id,
    KILN_FAMILIES(X)
#undef X
    KILN_NFAMILIES
} kiln_family;

/* NT: A[M,K] B[N,K]; NN: A[M,K] B[K,N]; TN: A[K,M] B[K,N]; C[M,N] always.
 * All row-major, the last index contiguous. */
#define KILN_LAYOUTS(X) X(NT, "nt") X(NN, "nn") X(TN, "tn")

typedef enum kiln_layout {
#define X(id, text) KILN_##id,
    KILN_LAYOUTS(X)
#undef X
    KILN_NLAYOUTS
} kiln_layout;

/* NONE: no scale operand. TENSOR: f32 sa[1], sb[1]. ROW: f32 sa[M], sb[N].
 * BLOCK128: f32 sa[M, ceil(K/128)], sb[ceil(N/128), ceil(K/128)].
 * MX32: E8M0 sa[M, ceil(K/32)], sb[N, ceil(K/32)], K innermost. */
#define KILN_SCALES(X) \
    X(SCALE_NONE, "none") \
    X(SCALE_TENSOR, "tensor") \
    X(SCALE_ROW, "row") \
    X(SCALE_BLOCK128, "block128") \
    X(SCALE_MX32, "mx32")

typedef enum kiln_scale {
#define X(id, text) KILN_##id,
    KILN_SCALES(X)
#undef X
    KILN_NSCALES
} kiln_scale;

#define KILN_TARGETS(X) X(GFX942, "gfx942") X(GFX950, "gfx950")

typedef enum kiln_target {
    KILN_TARGET_NONE,
#define X(id, text) KILN_##id,
    KILN_TARGETS(X)
#undef X
    KILN_NTARGETS
} kiln_target;

/* What the user asks for. Two parts: the kernel part is fixed when a kernel
 * is compiled; the launch part is passed as kernel arguments, so that one
 * code object serves every shape of its domain.
 *
 * out = epilogue: D = alpha * (scaled A*B) + bias[n] + beta * C. */
typedef struct kiln_problem {
    uint32_t size;
    /* kernel part */
    kiln_family family;
    kiln_target target;
    kiln_layout layout;
    kiln_type a, b, out;
    kiln_scale scale;
    uint8_t bias;            /* 1: f32 bias[N] is added */
    uint8_t beta;            /* 1: C is read and added */
    uint8_t alpha_set;       /* 0: alpha is 1 */
    uint8_t reserved[5];
    /* launch part; lengths in elements, 0 leading dimension = dense */
    int64_t m, n, k;
    int64_t batch, groups;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    float alpha;
    uint32_t reserved2;
} kiln_problem;

/* Text of an enumerator, and its value by text (-1: none of that name). */
const char *kiln_status_name(kiln_status s);
const char *kiln_type_name(kiln_type t);
const char *kiln_target_name(kiln_target t);

#ifdef __cplusplus
}
#endif
#endif
