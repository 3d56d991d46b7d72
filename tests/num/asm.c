/* Kernels of the assembly lowering against those of LLVM: the same launch must
 * give the same bytes, right against the reference, without a finding.
 *
 * usage: asm TARGET [some]   some: a fifth of the rows */
#include <stdio.h>
#include <string.h>

#include "../kit/right.h"
#include "../kit/sweep.h"

struct row {
    kiln_target target;
    const char *name;
    kiln_problem p;          /* what the kernel is generated for */
    const char *config;      /* of the assembly kernel */
    int64_t size[6][3];      /* launches: M, N, K; 0, 0, 0 ends */
};

/* Rows of groups, and rows past the last of them. */
enum { FEW = 5, MANY = 11, SPARE = 300 };
static const int64_t few[FEW] = { 300, 0, 1, 256, 17 };
static const int64_t many[MANY] = { 0, 5, 257, 0, 1, 40, 8, 0, 270, 3, 0 };

#define EDGES { { 256, 256, 256 }, { 300, 292, 200 }, { 1, 4, 8 }, \
                { 257, 516, 264 }, { 20, 260, 0 } }
#define WHOLE { { 256, 256, 1024 }, { 512, 264, 2048 }, { 3, 4, 1024 } }

static const struct row rows[] = {
    { KILN_GFX950, "bf16, 4 waves", { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x2 schedule=interleave lowering=asm", EDGES },
    { KILN_GFX950, "bf16, 8 waves", { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x4 schedule=interleave lowering=asm", EDGES },
    { KILN_GFX950, "bf16, four waves along N: A is copied behind B", { .a = KILN_BF16 },
      "tile=128x128x64 waves=1x4 schedule=interleave stages=2 lowering=asm", EDGES },
    { KILN_GFX950, "bf16, eight waves, A is copied behind B", { .a = KILN_BF16 },
      "tile=256x128x64 waves=2x4 schedule=interleave stages=3 lowering=asm", EDGES },
    { KILN_GFX950, "fp8, few columns, A is copied behind B", { .a = KILN_FP8 },
      "tile=256x64x128 waves=2x2 schedule=interleave lowering=asm",
      { { 256, 256, 512 }, { 300, 292, 208 }, { 20, 260, 0 } } },
    { KILN_GFX950, "mxfp4, scales of four K tiles", { .a = KILN_MXFP4 },
      "tile=64x64x256 waves=2x2 schedule=simple stages=3 lowering=asm",
      { { 64, 64, 7680 }, { 70, 68, 2560 }, { 3, 4, 512 } } },
    { KILN_GFX950, "mxfp8, scales of four K tiles, of no whole dwords",
      { .a = KILN_MXFP8 },
      "tile=64x64x128 waves=2x2 schedule=simple stages=2 lowering=asm",
      { { 64, 64, 2880 }, { 70, 68, 1600 }, { 3, 4, 64 }, { 20, 60, 0 } } },
    { KILN_GFX950, "mxfp6 x mxfp8, scales of eight K tiles, of no whole dwords",
      { .a = KILN_MXFP6, .b = KILN_MXFP8 },
      "tile=256x256x128 waves=2x4 schedule=simple stages=2 lowering=asm",
      { { 256, 260, 2880 }, { 70, 68, 1600 }, { 3, 4, 64 }, { 20, 60, 0 } } },
    { KILN_GFX950, "mxfp4, rows at any byte, scales of four K tiles",
      { .a = KILN_MXFP4 },
      "tile=128x128x256 waves=2x2 schedule=simple stages=2 lowering=asm",
      { { 130, 132, 2305 }, { 128, 128, 4100 }, { 3, 4, 257 }, { 20, 60, 0 } } },
    { KILN_GFX950, "mxfp8, rows at any byte, scales of four K tiles, one slot",
      { .a = KILN_MXFP8 },
      "tile=128x256x256 waves=2x4 schedule=simple stages=1 lowering=asm",
      { { 130, 260, 2305 }, { 128, 256, 2052 }, { 3, 4, 33 } } },
    { KILN_GFX950, "mxfp6, rows of dwords, scales of four K tiles",
      { .a = KILN_MXFP6 },
      "tile=192x256x256 waves=2x4 schedule=simple stages=1 lowering=asm",
      { { 200, 260, 2064 }, { 3, 4, 528 } } },
    { KILN_GFX950, "mxfp8, deep, shuffled scales of two K tiles",
      { .a = KILN_MXFP8, .scale_layout = KILN_SCALE_SHUFFLED },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 1280 }, { 300, 264, 1152 }, { 3, 4, 128 }, { 20, 260, 0 } } },
    { KILN_GFX950, "f16 x i4", { .a = KILN_F16, .b = KILN_I4, .scale = KILN_SCALE_GROUP64 },
      "tile=64x128x64 waves=2x2 schedule=simple stages=1 lowering=asm",
      { { 70, 132, 1024 }, { 3, 4, 256 } } },
    { KILN_GFX942, "f16 x i4, AWQ's words and zero points",
      { .a = KILN_F16, .b = KILN_I4, .scale = KILN_SCALE_GROUP64,
        .zero_points = KILN_ZEROS_I4, .b_layout = KILN_B_AWQ },
      "tile=32x64x64 waves=1x4 schedule=simple stages=1 lowering=asm",
      { { 70, 136, 1024 }, { 3, 8, 256 } } },
    { KILN_GFX950, "bf16, deep", { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x2 schedule=4-wave lowering=asm", EDGES },
    { KILN_GFX950, "bf16, deep, 352 columns", { .a = KILN_BF16 },
      "tile=256x352x64 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 352, 256 }, { 300, 708, 192 }, { 1, 4, 64 } } },
    { KILN_GFX950, "i8, nn, deep, 320 columns", { .a = KILN_I8, .layout = KILN_NN },
      "tile=256x320x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 320, 512 }, { 300, 656, 384 } } },
    { KILN_GFX950, "fp8, deep, 288 columns, rows, a K tail",
      { .a = KILN_FP8, .scale = KILN_SCALE_ROW },
      "tile=256x288x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 288, 512 }, { 300, 292, 208 }, { 20, 260, 0 } } },
    { KILN_GFX950, "bf8, deep, 320 columns: halves of B", { .a = KILN_BF8, .bias = 1 },
      "tile=256x320x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 320, 512 }, { 300, 644, 384 }, { 1, 4, 128 } } },
    { KILN_GFX950, "mxfp8, deep, 288 columns: halves of B", { .a = KILN_MXFP8 },
      "tile=256x288x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 288, 1280 }, { 300, 580, 2048 }, { 3, 4, 128 } } },
    { KILN_GFX950, "grouped mxfp8, deep, 288 columns",
      { .a = KILN_MXFP8, .family = KILN_GROUPED, .groups = FEW },
      "tile=256x288x128 waves=2x2 schedule=4-wave lowering=asm", { { 574, 300, 1280 } } },
    { KILN_GFX950, "mxfp4, deep, 288 columns, K divided",
      { .a = KILN_MXFP4, .bias = 1 },
      "tile=256x288x256 waves=2x2 schedule=4-wave split-k=2 lowering=asm",
      { { 256, 288, 2048 }, { 300, 580, 4096 } } },
    { KILN_GFX950, "f16, tn, deep, 288 columns, walk",
      { .a = KILN_F16, .layout = KILN_TN },
      "tile=256x288x64 waves=2x2 schedule=4-wave cus=2 lowering=asm",
      { { 600, 584, 200 }, { 584, 264, 512 } } },
    { KILN_GFX950, "wgrad bf16, deep, 288 columns",
      { .a = KILN_BF16, .layout = KILN_TN, .family = KILN_WGRAD, .groups = FEW },
      "tile=256x288x64 waves=2x2 schedule=4-wave xcd-run=16 lowering=asm",
      { { 264, 296, 574 } } },
    { KILN_GFX950, "mxfp4, deep, waves of 160 rows, shuffled scales",
      { .a = KILN_MXFP4, .b_layout = KILN_B_PRESHUFFLED, .scale_layout = KILN_SCALE_SHUFFLED },
      "tile=160x256x256 waves=1x4 schedule=4-wave lowering=asm",
      { { 160, 256, 1024 }, { 352, 288, 768 } } },
    { KILN_GFX950, "mxfp4, deep, waves of 96 rows and columns, shuffled scales",
      { .a = KILN_MXFP4, .scale_layout = KILN_SCALE_SHUFFLED },
      "tile=192x192x256 waves=2x2 schedule=4-wave lowering=asm",
      { { 192, 192, 1024 }, { 352, 224, 768 } } },
    { KILN_GFX950, "bf16, deep, waves of 96 rows, walk", { .a = KILN_BF16, .bias = 1 },
      "tile=192x256x64 waves=2x2 schedule=4-wave cus=2 lowering=asm",
      { { 600, 584, 200 }, { 20, 260, 0 } } },
    { KILN_GFX950, "fp8, deep, waves of 80 rows, K divided", { .a = KILN_FP8 },
      "tile=80x128x128 waves=1x4 schedule=4-wave split-k=2 lowering=asm",
      { { 160, 128, 1024 }, { 100, 132, 784 } } },
    { KILN_GFX950, "mxfp8, deep, 288 rows", { .a = KILN_MXFP8 },
      "tile=288x256x128 waves=1x4 schedule=4-wave lowering=asm",
      { { 288, 256, 1280 }, { 300, 260, 512 } } },
    { KILN_GFX950, "grouped mxfp8, deep, 64 rows, walk",
      { .a = KILN_MXFP8, .family = KILN_GROUPED, .groups = FEW },
      "tile=64x256x128 waves=1x4 schedule=4-wave cus=3 lowering=asm", { { 574, 300, 1280 } } },
    { KILN_GFX942, "i8, deep, waves of 80 rows, two slots", { .a = KILN_I8, .out = KILN_BF16 },
      "tile=80x128x128 waves=1x4 schedule=4-wave stages=2 lowering=asm",
      { { 160, 128, 512 }, { 100, 132, 784 } } },
    { KILN_GFX942, "f16, tn, deep, waves of 112 rows", { .a = KILN_F16, .layout = KILN_TN },
      "tile=112x256x64 waves=1x4 schedule=4-wave stages=1 lowering=asm",
      { { 224, 256, 256 }, { 120, 264, 200 } } },
    { KILN_GFX950, "fp8, deep, rows", { .a = KILN_FP8, .scale = KILN_SCALE_ROW },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 512 }, { 300, 292, 208 }, { 20, 260, 0 } } },
    { KILN_GFX950, "bf16, deep, K divided", { .a = KILN_BF16, .beta = 1 },
      "tile=256x256x64 waves=2x2 schedule=4-wave split-k=2 lowering=asm", EDGES },
    { KILN_GFX950, "fp8, deep, K divided, rows",
      { .a = KILN_FP8, .scale = KILN_SCALE_ROW },
      "tile=256x256x128 waves=2x2 schedule=4-wave split-k=3 lowering=asm",
      { { 256, 256, 512 }, { 300, 292, 208 }, { 20, 260, 0 } } },
    { KILN_GFX950, "grouped mxfp4, deep, K divided, walk",
      { .a = KILN_MXFP4, .family = KILN_GROUPED, .groups = FEW },
      "tile=256x256x256 waves=2x2 schedule=4-wave split-k=5 cus=3 lowering=asm",
      { { 574, 264, 2560 }, { 574, 260, 1536 } } },
    { KILN_GFX942, "wgrad bf16, deep, K divided",
      { .a = KILN_BF16, .family = KILN_WGRAD, .layout = KILN_TN,
        .groups = FEW },
      "tile=256x256x64 waves=2x2 schedule=4-wave stages=1 split-k=4 lowering=asm",
      { { 300, 264, 574 } } },
    { KILN_GFX950, "mxfp8, deep", { .a = KILN_MXFP8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 2560 }, { 300, 264, 512 } } },
    { KILN_GFX950, "mxfp4, deep", { .a = KILN_MXFP4 },
      "tile=256x256x256 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 2560 }, { 300, 264, 512 } } },
    { KILN_GFX950, "mxfp8, deep, scales of no whole dwords",
      { .a = KILN_MXFP8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 1056 }, { 300, 264, 2880 }, { 3, 4, 32 }, { 20, 260, 0 } } },
    { KILN_GFX950, "mxfp4, deep, scales of no whole dwords",
      { .a = KILN_MXFP4 },
      "tile=256x256x256 waves=2x2 schedule=4-wave lowering=asm",
      { { 300, 264, 2912 }, { 256, 256, 1056 }, { 1, 4, 32 } } },
    { KILN_GFX950, "fp8, deep, 224 columns one by one, rows at any byte", { .a = KILN_FP8 },
      "tile=256x224x128 waves=2x2 schedule=4-wave store=lds lowering=asm",
      { { 256, 225, 257 }, { 300, 449, 513 }, { 1, 3, 7 } } },
    { KILN_GFX950, "mxfp8, deep, rows at any byte", { .a = KILN_MXFP8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 1025 }, { 300, 292, 2883 }, { 1, 4, 7 }, { 20, 260, 0 } } },
    { KILN_GFX950, "mxfp4, deep, rows at any byte", { .a = KILN_MXFP4 },
      "tile=256x256x256 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 2050 }, { 300, 292, 4874 }, { 1, 4, 6 }, { 20, 260, 0 } } },
    { KILN_GFX950, "grouped mxfp8, deep, rows at any byte, walk",
      { .a = KILN_MXFP8, .family = KILN_GROUPED, .groups = MANY },
      "tile=256x128x128 waves=2x2 schedule=4-wave cus=2 lowering=asm", { { 574, 264, 1155 } } },
    { KILN_GFX950, "i8, deep, two slots, rows at any byte", { .a = KILN_I8 },
      "tile=256x192x128 waves=2x2 schedule=4-wave stages=2 lowering=asm",
      { { 256, 192, 513 }, { 300, 196, 387 }, { 1, 4, 7 }, { 20, 196, 0 } } },
    { KILN_GFX950, "bf16, deep, rows at any byte", { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 257 }, { 300, 292, 201 }, { 1, 4, 7 }, { 20, 260, 0 } } },
    { KILN_GFX950, "bf16, deep, rows at any byte, two slots", { .a = KILN_BF16 },
      "tile=256x288x64 waves=2x2 schedule=4-wave stages=2 lowering=asm",
      { { 256, 288, 257 }, { 300, 292, 201 }, { 1, 4, 7 } } },
    { KILN_GFX950, "bf16, deep, tn, rows of no 16 bytes",
      { .a = KILN_BF16, .layout = KILN_TN },
      "tile=256x256x64 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 302, 292, 201 }, { 256, 256, 256 }, { 2, 4, 7 }, { 20, 260, 0 } } },
    { KILN_GFX950, "f16, deep, nn, rows at any byte",
      { .a = KILN_F16, .layout = KILN_NN },
      "tile=256x224x64 waves=2x2 schedule=4-wave stages=2 lowering=asm",
      { { 256, 225, 257 }, { 300, 231, 201 }, { 1, 3, 7 }, { 20, 260, 0 } } },
    { KILN_GFX950, "fp8, deep, tn, rows at any byte",
      { .a = KILN_FP8, .layout = KILN_TN },
      "tile=256x192x128 waves=2x2 schedule=4-wave stages=2 lowering=asm",
      { { 257, 193, 384 }, { 301, 195, 201 }, { 1, 3, 7 }, { 20, 196, 0 } } },
    { KILN_GFX950, "grouped bf16, deep, rows at any byte, walk",
      { .a = KILN_BF16, .family = KILN_GROUPED, .groups = MANY },
      "tile=256x256x64 waves=2x2 schedule=4-wave stages=1 cus=2 lowering=asm",
      { { 584, 264, 129 }, { 584, 260, 63 } } },
    { KILN_GFX950, "fp8, deep, rows of no 16 bytes, scaled",
      { .a = KILN_FP8, .scale = KILN_SCALE_TENSOR },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=2 lowering=asm",
      { { 256, 256, 516 }, { 300, 292, 204 }, { 20, 260, 0 } } },
    { KILN_GFX950, "grouped bf8, deep, rows at any byte, walk",
      { .a = KILN_BF8, .b = KILN_FP8, .family = KILN_GROUPED, .groups = MANY },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=2 cus=2 lowering=asm",
      { { 584, 264, 385 }, { 584, 260, 127 }, { 584, 260, 1 } } },
    { KILN_GFX942, "fp8, deep, rows at any byte", { .a = KILN_FP8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 513 }, { 300, 292, 207 }, { 3, 4, 5 } } },
    { KILN_GFX950, "mxfp4, deep, shuffled scales",
      { .a = KILN_MXFP4, .scale_layout = KILN_SCALE_SHUFFLED },
      "tile=256x256x256 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 768 }, { 300, 272, 736 }, { 1, 16, 32 }, { 20, 272, 0 } } },
    { KILN_GFX950, "mxfp4, deep, shuffled scales, panels",
      { .a = KILN_MXFP4, .b_layout = KILN_B_PRESHUFFLED,
        .scale_layout = KILN_SCALE_SHUFFLED },
      "tile=256x256x256 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 512 }, { 300, 272, 768 } } },
    { KILN_GFX950, "f16, deep, nn, bias, beta",
      { .a = KILN_F16, .layout = KILN_NN, .bias = 1, .beta = 1 },
      "tile=256x256x64 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 256 }, { 300, 296, 200 } } },
    { KILN_GFX950, "bf16, deep, tn, alpha",
      { .a = KILN_BF16, .layout = KILN_TN, .alpha_set = 1 },
      "tile=256x256x64 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 256 }, { 304, 296, 200 } } },
    { KILN_GFX950, "bf8 x fp8, deep, nn",
      { .a = KILN_BF8, .b = KILN_FP8, .layout = KILN_NN },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 512 }, { 300, 304, 640 } } },
    { KILN_GFX950, "i8, deep, tn", { .a = KILN_I8, .layout = KILN_TN,
                                     .out = KILN_I32 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 512 }, { 304, 304, 640 } } },
    { KILN_GFX950, "mxfp8, deep, nn", { .a = KILN_MXFP8, .layout = KILN_NN },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 2560 }, { 300, 272, 512 } } },
    { KILN_GFX950, "mxfp4 x mxbf8, deep", { .a = KILN_MXFP4, .b = KILN_MXBF8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 2560 }, { 300, 264, 512 } } },
    { KILN_GFX950, "mxfp6, deep", { .a = KILN_MXFP6 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 2688 }, { 300, 264, 512 }, { 3, 4, 128 } } },
    { KILN_GFX950, "mxbf6 x mxfp4, deep", { .a = KILN_MXBF6, .b = KILN_MXFP4 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 300, 264, 384 }, { 256, 256, 2560 } } },
    { KILN_GFX950, "mxfp8 x mxfp6, deep, bias",
      { .a = KILN_MXFP8, .b = KILN_MXFP6, .bias = 1 },
      "tile=256x256x128 waves=2x2 schedule=4-wave lowering=asm",
      { { 256, 256, 1280 }, { 300, 264, 640 } } },
    { KILN_GFX950, "bf16, simple", { .a = KILN_BF16 },
      "tile=128x128x64 waves=2x2 schedule=simple lowering=asm", EDGES },
    { KILN_GFX950, "f16, nn", { .a = KILN_F16, .layout = KILN_NN },
      "tile=256x256x64 waves=2x2 schedule=interleave lowering=asm",
      { { 256, 256, 256 }, { 300, 296, 200 } } },
    { KILN_GFX950, "bf16, tn, bias, alpha",
      { .a = KILN_BF16, .layout = KILN_TN, .bias = 1, .alpha_set = 1 },
      "tile=256x256x64 waves=2x2 schedule=interleave lowering=asm",
      { { 256, 256, 256 }, { 304, 296, 200 } } },
    { KILN_GFX950, "fp8, scaled", { .a = KILN_FP8, .scale = KILN_SCALE_TENSOR },
      "tile=256x256x128 waves=2x2 schedule=interleave lowering=asm",
      { { 256, 256, 512 }, { 300, 292, 208 } } },
    { KILN_GFX950, "mxfp8", { .a = KILN_MXFP8 },
      "tile=256x256x128 waves=2x2 schedule=interleave lowering=asm", WHOLE },
    { KILN_GFX950, "mxfp4", { .a = KILN_MXFP4 },
      "tile=256x256x256 waves=2x2 schedule=interleave lowering=asm", WHOLE },
    { KILN_GFX950, "mxfp8, two K steps", { .a = KILN_MXFP8 },
      "tile=64x64x256 waves=2x2 schedule=interleave stages=2 lowering=asm",
      WHOLE },
    { KILN_GFX950, "mxfp4 x mxfp8", { .a = KILN_MXFP8, .b = KILN_MXFP4 },
      "tile=128x128x128 waves=2x2 schedule=simple lowering=asm", WHOLE },
    { KILN_GFX950, "grouped bf16, deep, few groups",
      { .a = KILN_BF16, .family = KILN_GROUPED, .groups = FEW },
      "tile=256x256x64 waves=2x2 schedule=4-wave lowering=asm",
      { { 574, 264, 128 }, { 574, 260, 200 } } },
    { KILN_GFX950, "grouped fp8, nn, deep, many groups, zeros",
      { .a = KILN_FP8, .layout = KILN_NN, .family = KILN_GROUPED,
        .groups = MANY, .group_flags = KILN_TAIL_ZERO },
      "tile=256x256x128 waves=2x2 schedule=4-wave xcd-run=2 lowering=asm",
      { { 584, 272, 256 } } },
    { KILN_GFX950, "grouped bf16, deep, lengths",
      { .a = KILN_BF16, .family = KILN_GROUPED,
        .groups = MANY, .group_flags = KILN_GROUP_LENS },
      "tile=256x256x64 waves=2x2 schedule=4-wave lowering=asm",
      { { 584, 264, 128 } } },
    { KILN_GFX950, "wgrad bf16, deep",
      { .a = KILN_BF16, .layout = KILN_TN, .family = KILN_WGRAD,
        .groups = FEW },
      "tile=256x256x64 waves=2x2 schedule=4-wave xcd-run=16 lowering=asm",
      { { 264, 296, 574 } } },
    { KILN_GFX950, "grouped bf16, deep, walk",
      { .a = KILN_BF16, .family = KILN_GROUPED, .groups = MANY },
      "tile=256x256x64 waves=2x2 schedule=4-wave cus=2 lowering=asm",
      { { 584, 264, 128 }, { 584, 516, 200 }, { 584, 260, 64 } } },
    { KILN_GFX950, "grouped fp8, nn, deep, rows, walk",
      { .a = KILN_FP8, .layout = KILN_NN, .family = KILN_GROUPED,
        .groups = FEW, .scale = KILN_SCALE_ROW },
      "tile=256x256x128 waves=2x2 schedule=4-wave xcd-run=2 cus=3 lowering=asm",
      { { 574, 272, 384 }, { 574, 528, 128 } } },
    { KILN_GFX950, "grouped mxfp8, deep, walk",
      { .a = KILN_MXFP8, .family = KILN_GROUPED, .groups = MANY },
      "tile=256x256x128 waves=2x2 schedule=4-wave xcd-run=2 cus=2 lowering=asm",
      { { 584, 264, 128 }, { 584, 520, 1408 }, { 584, 260, 2176 } } },
    { KILN_GFX950, "grouped mxfp4, deep, walk",
      { .a = KILN_MXFP4, .family = KILN_GROUPED, .groups = FEW },
      "tile=256x256x256 waves=2x2 schedule=4-wave cus=3 lowering=asm",
      { { 574, 264, 256 }, { 574, 520, 2304 } } },
    { KILN_GFX950, "mxfp8, deep, walk, scales of no whole dwords", { .a = KILN_MXFP8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave cus=3 lowering=asm",
      { { 600, 516, 544 }, { 300, 520, 1120 }, { 3, 4, 96 }, { 20, 260, 0 } } },
    { KILN_GFX950, "grouped mxfp4, deep, walk, scales of no whole dwords",
      { .a = KILN_MXFP4, .family = KILN_GROUPED, .groups = FEW },
      "tile=256x256x256 waves=2x2 schedule=4-wave cus=2 lowering=asm",
      { { 574, 264, 544 }, { 574, 520, 2336 } } },
    { KILN_GFX950, "mxfp6, lines, walk", { .a = KILN_MXFP6 },
      "tile=256x256x128 waves=2x2 schedule=4-wave cus=2 lowering=asm",
      { { 600, 516, 1024 }, { 300, 520, 512 } } },
    { KILN_GFX950, "grouped mxfp8 x mxfp6, lines, walk, bias",
      { .a = KILN_MXFP8, .b = KILN_MXFP6, .family = KILN_GROUPED, .groups = FEW, .bias = 1 },
      "tile=256x256x128 waves=2x2 schedule=4-wave cus=3 lowering=asm",
      { { 574, 264, 512 }, { 574, 520, 1024 } } },
    { KILN_GFX950, "wgrad bf16, deep, walk",
      { .a = KILN_BF16, .layout = KILN_TN, .family = KILN_WGRAD,
        .groups = FEW },
      "tile=256x256x64 waves=2x2 schedule=4-wave xcd-run=2 cus=3 lowering=asm",
      { { 264, 520, 574 } } },
    { KILN_GFX950, "f16, deep, walk, bias, alpha",
      { .a = KILN_F16, .bias = 1, .alpha_set = 1 },
      "tile=256x256x64 waves=2x2 schedule=4-wave cus=3 lowering=asm",
      { { 600, 516, 200 }, { 20, 260, 0 }, { 1, 4, 8 } } },
    { KILN_GFX950, "f16, deep, walk", { .a = KILN_F16 },
      "tile=256x256x64 waves=2x2 schedule=4-wave cus=2 lowering=asm",
      { { 600, 516, 200 }, { 584, 264, 512 } } },
    { KILN_GFX950, "bf16 to f32, deep, walk",
      { .a = KILN_BF16, .out = KILN_F32 },
      "tile=256x256x64 waves=2x2 schedule=4-wave cus=2 lowering=asm",
      { { 600, 516, 200 }, { 584, 264, 512 } } },
    { KILN_GFX950, "wgrad bf16 to f32, deep, walk",
      { .a = KILN_BF16, .out = KILN_F32, .layout = KILN_TN,
        .family = KILN_WGRAD, .groups = FEW },
      "tile=256x256x64 waves=2x2 schedule=4-wave xcd-run=2 cus=3 lowering=asm",
      { { 264, 520, 574 } } },
    { KILN_GFX950, "bf16, shares of K", { .a = KILN_BF16 },
      "tile=64x64x64 waves=2x2 schedule=simple split-k=4 lowering=asm",
      { { 100, 68, 1000 }, { 64, 64, 4096 }, { 3, 4, 0 } } },
    { KILN_GFX950, "mxfp4, shares of K, bias", { .a = KILN_MXFP4, .bias = 1 },
      "tile=32x64x256 waves=1x4 schedule=simple split-k=3 lowering=asm",
      { { 32, 64, 768 }, { 30, 196, 2048 } } },
    { KILN_GFX950, "gemv bf16", { .a = KILN_BF16 },
      "schedule=gemv lowering=asm",
      { { 1, 260, 1024 }, { 1, 5, 72 }, { 1, 64, 0 } } },
    { KILN_GFX950, "gemv f16, 5 rows, bias, alpha",
      { .a = KILN_F16, .bias = 1, .alpha_set = 1 },
      "schedule=gemv lowering=asm", { { 5, 33, 2048 }, { 4, 32, 520 } } },
    { KILN_GFX950, "gemv i8", { .a = KILN_I8, .out = KILN_I32 },
      "schedule=gemv lowering=asm", { { 3, 100, 4096 }, { 2, 7, 16 } } },
    { KILN_GFX950, "gemv fp8, rows", { .a = KILN_FP8, .scale = KILN_SCALE_ROW },
      "schedule=gemv lowering=asm", { { 2, 100, 2048 }, { 1, 7, 48 } } },
    { KILN_GFX950, "gemv mxfp8", { .a = KILN_MXFP8 },
      "schedule=gemv lowering=asm", { { 16, 40, 1024 }, { 1, 9, 96 } } },
    { KILN_GFX950, "gemv mxfp6", { .a = KILN_MXFP6 },
      "schedule=gemv lowering=asm", { { 2, 40, 2048 }, { 1, 9, 128 } } },
    { KILN_GFX950, "gemv mxfp4", { .a = KILN_MXFP4 },
      "schedule=gemv lowering=asm", { { 8, 40, 4096 }, { 1, 9, 64 } } },
    { KILN_GFX942, "gemv bf8", { .a = KILN_BF8 },
      "schedule=gemv lowering=asm", { { 7, 40, 2048 }, { 1, 9, 32 } } },
    { KILN_GFX942, "gemv mxfp6", { .a = KILN_MXFP6 },
      "schedule=gemv lowering=asm", { { 2, 40, 2048 }, { 1, 9, 128 } } },
    { KILN_GFX942, "gemv mxfp4", { .a = KILN_MXFP4 },
      "schedule=gemv lowering=asm", { { 3, 40, 4096 }, { 1, 9, 64 } } },
    { KILN_GFX942, "f16, shares of K", { .a = KILN_F16 },
      "tile=64x64x64 waves=2x2 schedule=simple split-k=2 lowering=asm",
      { { 100, 68, 1000 }, { 64, 64, 2048 } } },
    { KILN_GFX942, "mxfp8, eight waves, scales of 256 K at any byte", { .a = KILN_MXFP8 },
      "tile=256x256x64 waves=2x4 schedule=simple stages=1 lowering=asm",
      { { 300, 260, 1040 }, { 70, 68, 2080 }, { 3, 4, 48 }, { 20, 60, 0 } } },
    { KILN_GFX942, "mxfp4 x mxfp6, four waves, scales of 256 K at any byte",
      { .a = KILN_MXFP4, .b = KILN_MXFP6 },
      "tile=192x128x64 waves=2x2 schedule=simple stages=1 lowering=asm",
      { { 200, 132, 1028 }, { 70, 68, 2308 }, { 3, 4, 36 }, { 20, 60, 0 } } },
    { KILN_GFX942, "mxfp8, four waves, scales at any byte, shares of K", { .a = KILN_MXFP8 },
      "tile=128x128x64 waves=2x2 schedule=simple stages=1 split-k=2 lowering=asm",
      { { 130, 132, 4112 }, { 128, 128, 2064 }, { 3, 4, 528 } } },
    { KILN_GFX942, "bf16", { .a = KILN_BF16 },
      "tile=128x128x64 waves=2x2 schedule=simple lowering=asm", EDGES },
    { KILN_GFX942, "bf16, deep", { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x2 schedule=4-wave stages=1 lowering=asm", EDGES },
    { KILN_GFX942, "fp8, deep, rows", { .a = KILN_FP8, .scale = KILN_SCALE_ROW },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 512 }, { 300, 292, 208 }, { 20, 260, 0 } } },
    { KILN_GFX942, "i8, deep, rows",
      { .a = KILN_I8, .scale = KILN_SCALE_ROW, .out = KILN_BF16 },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 512 }, { 300, 292, 208 } } },
    { KILN_GFX942, "f16, deep, nn", { .a = KILN_F16, .layout = KILN_NN },
      "tile=256x256x64 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 256 }, { 300, 296, 200 } } },
    { KILN_GFX942, "bf16, deep, tn, 192 columns",
      { .a = KILN_BF16, .layout = KILN_TN },
      "tile=256x192x64 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 256 }, { 304, 296, 200 } } },
    { KILN_GFX942, "fp8, deep, nn, 128 rows",
      { .a = KILN_FP8, .layout = KILN_NN },
      "tile=128x128x128 waves=1x4 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 384 }, { 300, 304, 208 }, { 20, 272, 0 } } },
    { KILN_GFX942, "bf8, deep, tn", { .a = KILN_BF8, .layout = KILN_TN },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=1 lowering=asm",
      { { 256, 256, 384 }, { 304, 304, 208 } } },
    { KILN_GFX950, "bf16 x i8, A quantised",
      { .a = KILN_BF16, .b = KILN_I8, .scale = KILN_SCALE_TENSOR },
      "tile=64x64x128 waves=2x2 schedule=simple lowering=asm",
      { { 128, 128, 256 }, { 65, 68, 208 } } },
    { KILN_GFX950, "bf16 x fp8, A quantised beside products, B's rows at any byte",
      { .a = KILN_BF16, .b = KILN_FP8, .scale = KILN_SCALE_TENSOR },
      "tile=128x192x128 waves=2x4 schedule=simple stages=2 lowering=asm",
      { { 130, 195, 211 }, { 128, 192, 385 }, { 3, 4, 5 } } },
    { KILN_GFX950, "f16 x fp8, A quantised",
      { .a = KILN_F16, .b = KILN_FP8, .scale = KILN_SCALE_TENSOR },
      "tile=64x64x128 waves=2x2 schedule=simple lowering=asm",
      { { 128, 128, 256 }, { 65, 68, 208 } } },
    { KILN_GFX942, "bf16 x bf8, A quantised",
      { .a = KILN_BF16, .b = KILN_BF8, .scale = KILN_SCALE_TENSOR },
      "tile=64x64x128 waves=2x2 schedule=simple lowering=asm",
      { { 128, 128, 256 }, { 65, 68, 208 } } },
    { KILN_GFX942, "f16 x i8, A quantised",
      { .a = KILN_F16, .b = KILN_I8, .scale = KILN_SCALE_TENSOR },
      "tile=64x64x128 waves=2x2 schedule=simple lowering=asm",
      { { 128, 128, 256 }, { 65, 68, 208 } } },
    { KILN_GFX942, "fp8", { .a = KILN_FP8 },
      "tile=128x128x64 waves=2x2 schedule=simple lowering=asm",
      { { 256, 256, 512 }, { 300, 292, 208 } } },
};

static struct num_result
launch(struct num_kernel *k, const struct row *r, const int64_t size[3])
{
    struct num_job j = { .p = num_sized(&r->p, r->target, size), .seed = 7,
                         .lens = !r->p.groups ? NULL
                               : r->p.groups == FEW ? few : many,
                         .spare = r->p.groups ? SPARE : 0 };

    if (r->p.alpha_set)
        j.p.alpha = 0.75f;
    if (r->p.family == KILN_WGRAD)
        j.p.k += j.spare;
    return num_right(k, &j);
}

/* Whether no other tile adds K in the same order; 4 waves are of this lowering
 * alone, and divide K as the 128x128 tile with their K tiles does. */
static bool
sums_alone(const struct kn_config *g)
{
    return (g->split_k > 1 && g->schedule != KN_SCHED_4WAVE) ||
           g->schedule == KN_SCHED_GEMV;
}

static void
test_row(void **state)
{
    const struct row *r = *state;
    struct num_counts counts = { 0 };
    struct num_kernel ours, theirs;
    /* sizes of the domain: the weakest launch of the list */
    kiln_problem p = num_sized(&r->p, r->target, r->size[0]);
    struct kn_config cfg = { 0 }, other;
    bool tail = false;

    assert_true(num_configured(&cfg, &p, r->config));
    for (int n = 0; n < 6 && r->size[n][1]; n++)
        tail |= !r->size[n][2] || !cfg.bk || r->size[n][2] % cfg.bk ||
                r->p.family == KILN_WGRAD;
    cfg.domain.ktail = tail;
    other = cfg;
    other.lowering = KN_LOWERING_LLVM;
    if (!sums_alone(&cfg)) {
        other.wm = other.wn = other.cus = 0;
        other.bm = other.bn = 128;
        other.bk = p.scale_layout ? 256 : cfg.bk;    /* blocks of scales */
        other.schedule = KN_SCHED_SIMPLE;
    }
    assert_true(num_open(&ours, &counts, &p, &cfg));
    assert_true(num_open(&theirs, &counts, &p, &other));
    assert_int_equal(ours.g.cfg.lowering, KN_LOWERING_ASM);
    for (int n = 0; n < 6 && r->size[n][1]; n++) {
        struct num_result a = launch(&ours, r, r->size[n]);
        struct num_result b = launch(&theirs, r, r->size[n]);

        assert_true(a.digest == b.digest);
    }
    num_close(&ours);
    num_close(&theirs);
}

int
main(int argc, char **argv)
{
    enum { N = sizeof rows / sizeof *rows };
    struct CMUnitTest tests[N];
    kiln_target t = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                           : KILN_GFX950;
    size_t n = 0;

    memset(tests, 0, sizeof tests);
    for (size_t r = 0; r < N; r++)
        if (rows[r].target == t)
            tests[n++] = (struct CMUnitTest){
                .name = rows[r].name, .test_func = test_row,
                .initial_state = (void *)&rows[r] };
    n = num_thin(tests, n, t, num_every(argc, argv));
    return _cmocka_run_group_tests("asm", tests, n, NULL, NULL);
}
