/* weights.h - what a problem says of a weight of 4 bits: how its words lie, its
 * scales, its zero points, its factor. */
#ifndef KN_WEIGHTS_H
#define KN_WEIGHTS_H

#include "../ir/base.h"

/* B is stored as words of eight codes, K outermost, and so are its zero points
 * (runtime/kiln.h, KILN_B_LAYOUTS). */
static inline bool
kn_in_words(const kiln_problem *p)
{
    return p->b_layout >= KILN_B_AWQ;
}

/* K of a row of B in memory, where that is several; rows of them are not along K. */
static inline int64_t
kn_word_k(const kiln_problem *p)
{
    return p->b_layout >= KILN_B_GPTQ ? 8 : 1;
}

/* Scales of groups of a weight's K, in one of three types. */
static inline bool
kn_scale_groups(const kiln_problem *p)
{
    return p->scale >= KILN_SCALE_GROUP32 && p->scale <= KILN_SCALE_GROUP128;
}

/* Scales of 128-blocks that are powers of two, bytes. */
static inline bool
kn_powers(const kiln_problem *p)
{
    return p->scale == KILN_SCALE_BLOCK128 && p->scale_type == KILN_SCALE_TYPE_E8M0;
}

/* The same of what is written. */
static inline bool
kn_writes_powers(const kiln_problem *p)
{
    return p->out_scale == KILN_OUT_BLOCK128 && p->scale_type == KILN_SCALE_TYPE_E8M0;
}

/* Bytes of a scale that is written beside an output. */
static inline int64_t
kn_output_scale_size(const kiln_problem *p)
{
    return p->out_scale == KILN_OUT_MX32 || kn_writes_powers(p) ? 1 : 4;
}

/* E8M0 scales of both operands, which the scaled matrix instructions of gfx950 multiply
 * by: of 32 K, or such of 128-blocks. */
bool kn_mx_scales(const kiln_problem *p);

/* Of 128-blocks. */
static inline bool
kn_mx_blocks(const kiln_problem *p)
{
    return p->scale == KILN_SCALE_BLOCK128 && kn_mx_scales(p);
}

/* Scales of 128-blocks that sums are multiplied by. */
static inline bool
kn_blocks(const kiln_problem *p)
{
    return p->scale == KILN_SCALE_BLOCK128 && !kn_mx_scales(p);
}

/* K of one scale, of those that are along K. */
static inline int64_t
kn_scale_k(const kiln_problem *p)
{
    return p->scale == KILN_SCALE_MX32 ? 32 : p->scale == KILN_SCALE_NV16 ? 16
         : kn_scale_groups(p) ? 32 << (p->scale - KILN_SCALE_GROUP32) : 128;
}

/* Type of a 128-block's scale; that of MX types says E8M0. */
static inline kiln_type
kn_block_scale(const kiln_problem *p)
{
    return kn_powers(p) ? KILN_MXFP8 : KILN_F32;
}

/* Type of such a scale. */
static inline kiln_type
kn_group_scale(const kiln_problem *p)
{
    return p->scale_type == KILN_SCALE_TYPE_F16 ? KILN_F16
         : p->scale_type == KILN_SCALE_TYPE_BF16 ? KILN_BF16 : KILN_F32;
}

/* Bits of a zero point of B's groups; 0: it has none. */
static inline int64_t
kn_zero_bits(const kiln_problem *p)
{
    return p->zero_points == KILN_ZEROS_I4 ? 4
         : p->zero_points == KILN_ZEROS_F16 ? 16 : 0;
}

/* They are words of eight, as B is. */
static inline bool
kn_zero_words(const kiln_problem *p)
{
    return kn_in_words(p) && p->zero_points == KILN_ZEROS_I4;
}

/* Bytes of a load of them: a word, or of f16 those of the columns of B's. */
static inline uint32_t
kn_zero_load(const kiln_problem *p)
{
    return kn_zero_words(p) ? 4
         : p->zero_points && p->b_layout == KILN_B_AWQ ? 16
         : (uint32_t)(kn_zero_bits(p) + 7) / 8;
}

static inline kiln_type
kn_zero_type(const kiln_problem *p)
{
    return p->zero_points == KILN_ZEROS_F16 ? KILN_F16 : KILN_I4;
}

/* An f32 that all of a B is multiplied by, beside its scales. */
static inline bool
kn_weight_factor(const kiln_problem *p)
{
    return p->scale == KILN_SCALE_NV16;
}

/* What is in the place of A's scales is B's: zero points, or a factor. */
static inline bool
kn_b_in_sa(const kiln_problem *p)
{
    return p->zero_points || kn_weight_factor(p);
}

#endif
