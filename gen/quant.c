/* quant.c - family quant: rows of numbers become codes of few bits and their
 * scales (templates/quant.tir). n is k; B is not there. A lane has runs of 8
 * elements, so that a scale belongs to one lane or to some side by side. */
#include "quant.h"

#include <string.h>

#include "launch/terms.h"
#include "instantiate.h"

/* X(type, conversion, codes at random, fold, top, most, bits, least): the instruction's format,
 * whose codes are those of v * 2^-fold; exponent of the largest magnitude, its
 * mantissa of 23 bits, mantissa bits, exponent of the smallest normal number (OCP
 * MX v1.0, table 1). */
static const struct kn_narrow codes[KILN_NTYPES] = {
    [KILN_FP8] = { KN_T_fp8, KN_T_fp8, 0, 8, 0x600000, 3, -6 },
    [KILN_BF8] = { KN_T_bf8, KN_T_bf8, 0, 15, 0x600000, 2, -14 },
    [KILN_I8] = { KN_T_i8, KN_T_i8, 0, 6, 0x7e0000, 0, 0 },
    [KILN_MXFP8] = { KN_T_fp8, KN_T_e4m3, 0, 8, 0x600000, 3, -6 },
    [KILN_MXBF8] = { KN_T_bf8, KN_T_e5m2, 0, 15, 0x600000, 2, -14 },
    [KILN_MXFP6] = { KN_T_fp8, KN_T_fp6, 6, 2, 0x700000, 3, 0 },
    [KILN_MXBF6] = { KN_T_bf8, KN_T_bf6, 12, 4, 0x600000, 2, -2 },
    [KILN_MXFP4] = { KN_T_fp8, KN_T_fp4, 6, 2, 0x400000, 1, 0 },
};

const struct kn_narrow *
kn_narrow_of(kiln_type t)
{
    return &codes[t];
}

/* FNUZ 8-bit floats have half the values of OCP's for the same codes. */
static bool
halved(const kiln_problem *p)
{
    return kn_targets[p->target].fnuz && kn_type_mx[p->out];
}

int
kn_narrow_fold(const kiln_problem *p)
{
    if (p->out == KILN_MXFP4 && !halved(p))
        return 0;            /* its own conversion */
    return codes[p->out].fold + halved(p);
}

double
kn_narrow_limit(const kiln_problem *p)
{
    const struct kn_narrow *c = &codes[p->out];
    double most = (double)(0x800000 + c->most) * 0x1p-23;

    if (p->out == KILN_I8)
        return 127;
    if (p->out == KILN_FP8 && kn_targets[p->target].fnuz)
        return 240;
    for (int e = 0; e < c->top; e++)
        most *= 2;
    return most;
}

int
kn_narrow_least(const kiln_problem *p)
{
    bool own = kn_targets[p->target].fnuz && !kn_type_mx[p->out] &&
               p->out != KILN_I8;

    return codes[p->out].least - own;
}

int64_t
kn_scale_rounding(const kiln_problem *p)
{
    const struct kn_narrow *c = &codes[p->out];
    const int64_t add[] = { 0, 0x7fffff - (int64_t)c->most,
                            (int64_t)1 << (22 - c->bits), 0x7fffff };

    return add[p->requant & 3];
}

/* ---- the problem ---- */

static kiln_status
check_types(struct kn_ctx *c, kiln_problem *p)
{
    if (!kn_is_plain(p->a))
        return kn_fail(c, KILN_UNSUPPORTED, "quant reads bf16, f16 or f32, not "
                       "%s", kiln_type_name(p->a));
    if (!codes[p->out].elem)
        return kn_fail(c, KILN_UNSUPPORTED, "quant makes fp8, bf8, i8 or an MX "
                       "type, not %s", kiln_type_name(p->out));
    if (!p->out_scale)
        p->out_scale = kn_type_mx[p->out] ? KILN_OUT_MX32 : KILN_OUT_ROW;
    if (kn_type_mx[p->out] != (p->out_scale == KILN_OUT_MX32))
        return kn_fail(c, KILN_BAD_INPUT, "MX types have one scale per 32 "
                       "elements (--out-scale mx32), and only they do");
    if (p->scale_type && !kn_writes_powers(p))
        return kn_fail(c, KILN_BAD_INPUT, "--scale-type of quant is that of scales of 128 "
                       "elements, f32 or e8m0");
    KN_TRY(kn_round_check(c, p));
    if (p->requant > 3)
        return kn_fail(c, KILN_BAD_INPUT, "there are four scale modes");
    if (p->requant && !kn_type_mx[p->out])
        return kn_fail(c, KILN_BAD_INPUT, "--quant is the mode of E8M0 scales, "
                       "which %s has not", kiln_type_name(p->out));
    if (p->overflow && p->out_scale != KILN_OUT_STATIC)
        return kn_fail(c, KILN_BAD_INPUT, "--saturate 0 is for static scales: "
                       "nothing is beyond its limit under one that is made");
    return KILN_OK;
}

/* What says something about products alone. */
static kiln_status
check_alone(struct kn_ctx *c, const kiln_problem *p)
{
    const char *what = p->layout ? "--layout" : p->scale ? "--scale"
        : p->epilogue ? "--epilogue" : p->beta ? "--beta"
        : p->alpha_set ? "--alpha" : p->batch > 1 ? "--batch"
        : p->groups ? "--groups" : p->b_layout ? "--b-layout"
        : p->quant ? "--quant of a weight's A" : p->stage ? "--stage"
        : p->out2 ? "--out2" : NULL;

    if (what)
        return kn_fail(c, KILN_BAD_INPUT, "%s is of products, and quant is "
                       "none", what);
    return KILN_OK;
}

/* Of elements of a row of each output. */
static kiln_status
check_transform(struct kn_ctx *c, const kiln_problem *p)
{
    bool k = p->hadamard && !kn_quant_turned(p) && p->k % p->hadamard;
    bool m = p->hadamard && kn_quant_has_turned(p) && p->m % p->hadamard;

    if (p->hadamard && p->hadamard != 16 && p->hadamard != 32)
        return kn_fail(c, KILN_BAD_INPUT, "--hadamard transforms 16 or 32 "
                       "elements, not %u", p->hadamard);
    if (k || m)
        return kn_fail(c, KILN_UNSUPPORTED, "--hadamard %u takes whole "
                       "transforms: -%c is a multiple of it", p->hadamard,
                       k ? 'k' : 'm');
    return KILN_OK;
}

static kiln_status
check_before(struct kn_ctx *c, const kiln_problem *p)
{
    if (kn_quant_turned(p) && kn_quant_dual(p))
        return kn_fail(c, KILN_BAD_INPUT, "--dual writes what --transpose writes "
                       "beside the other output: one of them is enough");
    if (!kn_quant_dual(p) && (p->ldc2 || p->ldsa2))
        return kn_fail(c, KILN_BAD_INPUT, "--ldc2 and --ldsa2 are pitches of the "
                       "second output, which --dual adds");
    KN_TRY(check_transform(c, p));
    if (p->act != KILN_SILU)
        return kn_fail(c, KILN_UNSUPPORTED, "the activation of quant is silu");
    return KILN_OK;
}

static kiln_status
check_layout(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->scale_layout == KILN_SCALE_SHUFFLED && p->out_scale != KILN_OUT_MX32)
        return kn_fail(c, KILN_UNSUPPORTED, "shuffled scales are for MX types");
    if (p->scale_layout == KILN_SCALE_TRANSPOSED &&
        p->out_scale != KILN_OUT_BLOCK128)
        return kn_fail(c, KILN_UNSUPPORTED, "transposed scales are those of "
                       "--out-scale block128");
    if ((p->ldsa || p->ldsa2) && (p->scale_layout == KILN_SCALE_SHUFFLED ||
                    p->out_scale < KILN_OUT_BLOCK128))
        return kn_fail(c, KILN_BAD_INPUT, "--ldsa is the pitch of rows of "
                       "scales (block128, mx32)");
    return KILN_OK;
}

static kiln_status
check_rows(struct kn_ctx *c, kiln_problem *p)
{
#define SIZE(name, has, value, meaning) KN_TERM(name, value)
#define KNOWN(name, value) KN_TERM(name, value)
#define LET(name, formula) KN_TERM(name, formula)
#include "launch/launch.def"
    if (p->lda && p->lda < a_cols)
        return kn_fail(c, KILN_BAD_INPUT, "--lda is %lld, but a row has %lld "
                       "elements", (long long)p->lda, a_cols);
    if (p->ldc && p->ldc < c_cols)
        return kn_fail(c, KILN_BAD_INPUT, "--ldc is %lld, but a row has %lld "
                       "elements", (long long)p->ldc, c_cols);
    if (p->ldsa && p->ldsa < row_sa)
        return kn_fail(c, KILN_BAD_INPUT, "--ldsa is %lld, but a row has %lld "
                       "scales", (long long)p->ldsa, row_sa);
    if (dual && p->ldc2 && p->ldc2 < m)
        return kn_fail(c, KILN_BAD_INPUT, "--ldc2 is %lld, but a row has %lld "
                       "elements", (long long)p->ldc2, m);
    if (dual && p->ldsa2 && p->ldsa2 < row_sa2)
        return kn_fail(c, KILN_BAD_INPUT, "--ldsa2 is %lld, but a row has %lld "
                       "scales", (long long)p->ldsa2, row_sa2);
    if (pa > 1 << 30 || pc > 1 << 30 || psa > 1 << 30 ||
        (dual && (pc2 > 1 << 30 || psa2 > 1 << 30)))
        return kn_fail(c, KILN_UNSUPPORTED, "a row is over 1 GiB");
    p->lda = row_a;
    p->ldc = row_c;
    if (dual)
        p->ldc2 = row_c2;
    return KILN_OK;
}

kiln_status
kn_quant_normalise(struct kn_ctx *c, kiln_problem *p)
{
    const int64_t most = (int64_t)1 << 31;

    if (!p->out || p->out == KILN_BF16)
        p->out = KILN_MXFP8;
    p->b = p->a;
    p->n = p->k;
    KN_TRY(check_types(c, p));
    KN_TRY(check_alone(c, p));
    KN_TRY(check_before(c, p));
    KN_TRY(check_layout(c, p));
    if (p->m < 0 || p->k < 0 || p->m >= most || p->k >= most)
        return kn_fail(c, KILN_BAD_INPUT, "m and k are from 0 to 2147483647");
    if (p->out_scale == KILN_OUT_ROW && !kn_quant_turned(p) && p->k > KN_QUANT_ROW_MOST)
        return kn_fail(c, KILN_UNSUPPORTED, "a row with one scale has at most "
                       "%d elements", KN_QUANT_ROW_MOST);
    return check_rows(c, p);
}

struct kn_domain
kn_quant_domain(const kiln_problem *p, uint32_t base)
{
    struct kn_pitches t = kn_pitches_of(p);
    struct kn_domain d = { .align_a = 1, .align_b = 1, .align_sa = 1,
                           .align_sb = 1, .vec = 1, .ktail = 1 };

    d.align_a = (uint8_t)(kn_type_bits[p->a] / 8);
    if (p->k % 8 || t.a % 16 || base % 16 || (!kn_quant_turned(p) && t.c % 8))
        return d;
    d.align_a = 16;
    d.vec = !kn_quant_has_turned(p) ||
            (p->m % 8 == 0 && (kn_quant_dual(p) ? t.c2 : t.c) % 8 == 0) ? 4 : 2;
    return d;
}
