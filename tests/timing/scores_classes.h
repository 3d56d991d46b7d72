/* scores_classes.h - the operands of each class of gen/choose/scores.def, as scores.c
 * measures them. */
#ifndef KN_SCORES_CLASSES_H
#define KN_SCORES_CLASSES_H

#include "gen/choose/choose.h"

static const struct class {
    const char *name;
    kiln_type a, b;
    kiln_scale scale;
    int quant;
    const char *layouts, *gfx942; /* gfx942: its, if others */
    uint32_t bk;             /* of large tiles */
    bool converted, shuffled; /* shuffled: B's rows and the scales */
    kiln_math math;
    bool unfolded;           /* gfx942: of a K that is too short for folding */
    bool odd, dwords;        /* rows begin at any byte, or at dwords (gfx950) */
    kiln_b_layout words;
    bool transposed;         /* scales of an i4 B, with zero points */
    int64_t products;        /* of a batch, which share the columns; 0: one */
    bool wide;               /* gfx950: more wide tiles of few rows */
} classes[] = {
    { "H", KILN_BF16, KILN_BF16, KILN_SCALE_NONE, 0, "nt nn tn", "nt nn tn tt", .bk = 64 },
    { "B8", KILN_FP8, KILN_FP8, KILN_SCALE_NONE, 0, "nt nn tn", "nt nn tn tt", .bk = 128 },
    { "I8", KILN_I8, KILN_I8, KILN_SCALE_NONE, 0, "nt nn tn", "nt nn tn tt", .bk = 128 },
    { "K", KILN_FP8, KILN_FP8, KILN_SCALE_BLOCK128, 0, "nt nn tn", .bk = 128, .converted = true,
      .wide = true },
    { "MX88", KILN_MXFP8, KILN_MXFP8, KILN_SCALE_MX32, 0, "nt nn tn tt", .bk = 128, .wide = true },
    { "MX84", KILN_MXFP8, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 128 },
    { "MX66", KILN_MXFP6, KILN_MXFP6, KILN_SCALE_MX32, 0, "nt", .bk = 128 },
    { "MX44", KILN_MXFP4, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 256, .wide = true },
    { "E5", KILN_MXBF8, KILN_MXBF8, KILN_SCALE_MX32, 0, "nt nn tn", .bk = 64 },
    { "W4", KILN_F16, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 64, .converted = true },
    { "WB", KILN_BF16, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 64, .wide = true },
    { "WS", KILN_BF16, KILN_MXFP6, KILN_SCALE_MX32, 0, "nt", .bk = 64 },
    { "WE", KILN_BF16, KILN_MXFP8, KILN_SCALE_MX32, 0, "nt", .bk = 64, .wide = true },
    { "NV", KILN_BF16, KILN_NVFP4, KILN_SCALE_NV16, 0, "nt", .bk = 64, .wide = true },
    { "WR", KILN_BF16, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 64, .products = 2 },
    { "NR", KILN_BF16, KILN_NVFP4, KILN_SCALE_NV16, 0, "nt", .bk = 64, .products = 2 },
    { "I4", KILN_BF16, KILN_I4, KILN_SCALE_GROUP128, 0, "nt", .bk = 128, .converted = true },
    { "IT", KILN_BF16, KILN_I4, KILN_SCALE_GROUP128, 0, "nt", .bk = 128, .converted = true,
      .transposed = true },
    { "IR", KILN_BF16, KILN_I4, KILN_SCALE_GROUP128, 0, "nt", .bk = 128, .converted = true,
      .products = 2 },
    { "AW", KILN_BF16, KILN_I4, KILN_SCALE_GROUP128, 0, "nt", .bk = 128, .converted = true,
      .words = KILN_B_AWQ, .transposed = true },
    { "GQ", KILN_BF16, KILN_I4, KILN_SCALE_GROUP128, 0, "nt", .bk = 128, .converted = true,
      .words = KILN_B_GPTQ, .transposed = true },
    { "Q4", KILN_BF16, KILN_MXFP4, KILN_SCALE_MX32, KN_MX_EVEN, "nt", .bk = 128,
      .converted = true, .wide = true },
    { "P8", KILN_BF16, KILN_FP8, KILN_SCALE_TENSOR, 0, "nt nn tn", .bk = 128, .converted = true },
    { "N44", KILN_MXFP4, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 256, .unfolded = true },
    { "N66", KILN_MXFP6, KILN_MXFP6, KILN_SCALE_MX32, 0, "nt", .bk = 128, .unfolded = true },
    { "UN66", KILN_MXFP6, KILN_MXFP6, KILN_SCALE_MX32, 0, "nt", .bk = 128, .unfolded = true,
      .odd = true },
    { "UN44", KILN_MXFP4, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 256, .unfolded = true,
      .odd = true },
    { "S44", KILN_MXFP4, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 256, .shuffled = true },
    { "S84", KILN_MXFP8, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 256, .shuffled = true },
    { "S66", KILN_MXFP6, KILN_MXFP6, KILN_SCALE_MX32, 0, "nt", .bk = 256, .shuffled = true },
    { "S88", KILN_MXFP8, KILN_MXFP8, KILN_SCALE_MX32, 0, "nt", .bk = 256, .shuffled = true },
    { "F", KILN_F32, KILN_F32, KILN_SCALE_NONE, 0, "nt nn tn", .bk = 32 },
    { "D", KILN_F64, KILN_F64, KILN_SCALE_NONE, 0, "nt nn tn", .bk = 16 },
    { "X", KILN_F32, KILN_F32, KILN_SCALE_NONE, 0, "nt nn tn", .bk = 32, .math = KILN_MATH_XF32 },
    { "T", KILN_F32, KILN_F32, KILN_SCALE_NONE, 0, "nt nn tn", .bk = 32, .math = KILN_MATH_BF16X3 },
    { "UH", KILN_BF16, KILN_BF16, KILN_SCALE_NONE, 0, "nt nn tn tt", .bk = 64, .odd = true },
    { "U8", KILN_FP8, KILN_FP8, KILN_SCALE_NONE, 0, "nt nn tn tt", .bk = 128, .odd = true },
    { "UK", KILN_FP8, KILN_FP8, KILN_SCALE_BLOCK128, 0, "nt", .bk = 128, .converted = true,
      .odd = true },
    { "UM88", KILN_MXFP8, KILN_MXFP8, KILN_SCALE_MX32, 0, "nt nn tn tt", .bk = 128, .odd = true },
    { "UM84", KILN_MXFP8, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 128, .odd = true },
    { "UM66", KILN_MXFP6, KILN_MXFP6, KILN_SCALE_MX32, 0, "nt", .bk = 128, .odd = true },
    { "UD66", KILN_MXFP6, KILN_MXFP6, KILN_SCALE_MX32, 0, "nt", .bk = 128, .odd = true,
      .dwords = true },
    { "UM44", KILN_MXFP4, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 256, .odd = true },
    { "UWB", KILN_BF16, KILN_MXFP4, KILN_SCALE_MX32, 0, "nt", .bk = 64, .odd = true },
    { "UNV", KILN_BF16, KILN_NVFP4, KILN_SCALE_NV16, 0, "nt", .bk = 64, .odd = true },
    { "UP8", KILN_BF16, KILN_FP8, KILN_SCALE_TENSOR, 0, "nt nn tn", .bk = 128, .converted = true,
      .odd = true },
};

/* MX types of two sizes, which gfx942 converts. */
static bool
is_mixed(const struct class *k)
{
    return kn_type_mx[k->a] && kn_type_bits[k->a] != kn_type_bits[k->b];
}

/* And of one size below 8 bits, whose scales go into codes there. */
static bool
folds(const struct class *k)
{
    return kn_type_mx[k->a] && kn_type_bits[k->a] < 8 && kn_type_bits[k->a] == kn_type_bits[k->b] &&
           !k->unfolded;
}

/* `4-wave` of gfx950 has K tiles of 256, too: rows of 4 bits beside 8 are whole lines then, and
 * those of shuffled scales alone are divided in shares. */
static bool
deepens(const struct class *k)
{
    bool six = k->scale == KILN_SCALE_MX32 && kn_type_mx[k->a] && kn_type_bits[k->a] == 6;
    bool whole = kn_type_mx[k->a] && kn_type_bits[k->a] == 8 && (is_mixed(k) || k->shuffled);

    return !k->odd && (six || whole);
}

/* Scales of several K tiles at once, of small tiles of several products whose waves have the
 * same rows (else bn is 0); beside floats of which LDS has the codes. */
static enum kn_scale_turns
turns_of(const struct class *k, uint32_t bm, uint32_t bn, uint32_t bk)
{
    if (!k->products || !bn || bm > 64)
        return KN_NO_TURNS;
    return k->b == KILN_I4 ? KN_TURNS
         : bn < 32 || bk % 128 ? KN_NO_TURNS : KN_TURNS_OF_CODES;
}

#endif
