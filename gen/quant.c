/* quant.c - family quant: rows of numbers become codes of few bits and their
 * scales (templates/quant.tir). n is k; B is not there. A lane has runs of 8
 * elements, so that a scale belongs to one lane or to some side by side. */
#include "quant.h"

#include <string.h>

#include "launch_terms.h"
#include "instantiate.h"

/* X(type, conversion, fold, top, most, bits, least): the instruction's format,
 * whose codes are those of v * 2^-fold; exponent of the largest magnitude, its
 * mantissa of 23 bits, mantissa bits, exponent of the smallest normal number (OCP
 * MX v1.0, table 1). */
static const struct kn_narrow codes[KILN_NTYPES] = {
    [KILN_FP8] = { KN_T_fp8, 0, 8, 0x600000, 3, -6 },
    [KILN_BF8] = { KN_T_bf8, 0, 15, 0x600000, 2, -14 },
    [KILN_I8] = { KN_T_i8, 0, 6, 0x7e0000, 0, 0 },
    [KILN_MXFP8] = { KN_T_fp8, 0, 8, 0x600000, 3, -6 },
    [KILN_MXBF8] = { KN_T_bf8, 0, 15, 0x600000, 2, -14 },
    [KILN_MXFP6] = { KN_T_fp8, 6, 2, 0x700000, 3, 0 },
    [KILN_MXBF6] = { KN_T_bf8, 12, 4, 0x600000, 2, -2 },
    [KILN_MXFP4] = { KN_T_fp8, 6, 2, 0x400000, 1, 0 },
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
    if (p->a != KILN_BF16 && p->a != KILN_F16 && p->a != KILN_F32)
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

enum { ROW_OF_FOUR = 8192 }; /* elements that four waves load one by one */

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
#include "launch.def"
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

/* Waves of both outputs are as many, so a row has four at most. */
static kiln_status
check_apart(struct kn_ctx *c, const kiln_problem *p)
{
    if (kn_quant_apart(p) && p->k > ROW_OF_FOUR && kn_quant_domain(p, 256).vec == 1)
        return kn_fail(c, KILN_UNSUPPORTED, "--dual with scales of rows has at most %d columns "
                       "where rows are not of whole 8 elements at multiples of 16 bytes of A "
                       "and 8 of the outputs", ROW_OF_FOUR);
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
    KN_TRY(check_rows(c, p));
    return check_apart(c, p);
}

/* ---- the configuration ---- */

struct kn_domain
kn_quant_domain(const kiln_problem *p, uint32_t base)
{
    struct kn_pitches t = kn_pitches_of(p);
    struct kn_domain d = { .align_a = 1, .align_b = 1, .align_sa = 1,
                           .align_sb = 1, .vec = 1, .ktail = 1 };

    d.align_a = (uint8_t)(kn_type_bits[p->a] / 8);
    if (p->k % 8 == 0 && (!kn_quant_has_turned(p) || p->m % 8 == 0) &&
        t.a % 16 == 0 && t.c % 8 == 0 && (!kn_quant_dual(p) || t.c2 % 8 == 0) && base % 16 == 0) {
        d.align_a = 16;
        d.vec = 4;
    }
    return d;
}

/* Columns of a wave's step: as few lanes as possible have none. */
static uint32_t
columns_of(const kiln_problem *p)
{
    return p->k <= 128 && !kn_shuffled(p) ? 128 : p->k <= 256 ? 256 : 512;
}

/* The busiest compute unit's share of a launch of so many workgroups of n parts each:
 * what does not fit beside each other follows in another round; what a workgroup begins
 * and ends with is as long as a part, and few of them wait for memory. */
static int64_t
share_of(const kiln_problem *p, int64_t workgroups, uint32_t fit, uint32_t n)
{
    int64_t own = (workgroups + kn_cus(p) - 1) / kn_cus(p), few = fit < 4 ? fit : 4;

    if (own > fit)
        own = (own + fit - 1) / fit * fit;
    return (own < few ? few : own) * n + own;
}

uint32_t
kn_quant_ahead(const kiln_problem *p)
{
    uint32_t bits = kn_type_bits[p->out];

    if (p->round)
        return bits == 4 ? 1 : kn_targets[p->target].vector_per_byte / 3 - (bits == 6);
    return bits == 4 ? 3 : 5;
}

enum { ROW_STEPS = 8, ROUND_WORK = 6 }; /* the latter lane operations a byte, about */

/* Waves have a step of several rows, as many as leave all compute units work, and more
 * where they have more vector work than time; shuffled scales come in blocks of 32 rows. */
static uint32_t
steps_of(const kiln_problem *p, uint32_t columns)
{
    uint32_t rows = 4 * 512 / columns, least = kn_shuffled(p) && rows < 32 ? 32 / rows : 1;
    bool slow = p->round && kn_type_bits[p->out] < 8 &&
                kn_targets[p->target].vector_per_byte <= ROUND_WORK;
    uint32_t best = least, most = slow ? 2 * ROW_STEPS : ROW_STEPS;
    int64_t across = (p->k + columns - 1) / columns, lowest = INT64_MAX, share;

    if (!p->m)
        return ROW_STEPS > least ? ROW_STEPS : least;
    for (uint32_t s = most - most % least; s; s -= least) {
        share = share_of(p, (p->m + rows * s - 1) / (rows * s) * across, 8, s);
        if (share < lowest) {
            lowest = share;
            best = s;
        }
    }
    return best;
}

/* Rows that a workgroup has one after another, where each is loaded while the one
 * before becomes codes; lines of f32 change lanes in LDS meanwhile. */
static uint32_t
rows_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t lowest = INT64_MAX, share;
    uint32_t best = 1;

    if (g->domain.vec == 1 || p->a == KILN_F32 || !p->round || g->wn > 4 ||
        kn_targets[p->target].vector_per_byte > ROUND_WORK)
        return 1;
    for (uint32_t s = ROW_STEPS; s; s--) {
        share = share_of(p, (p->m + g->wm * s - 1) / (g->wm * s), 32 / (g->wm * g->wn), s);
        if (share < lowest) {
            lowest = share;
            best = s;
        }
    }
    return p->m ? best : 2;
}

/* A row is in the registers of one wave, of 4 or of 16: 512 elements a wave and
 * step. Elements that are loaded one by one have conditions each, for which
 * there are scalar registers in few steps. */
static void
row_config(const kiln_problem *p, struct kn_config *g)
{
    bool few = (kn_quant_gated(p) || p->a == KILN_F32) && !kn_quant_apart(p);
    int64_t most = g->domain.vec > 1 ? few ? 2 : 8 : kn_quant_apart(p) ? 4 : 2;

    g->bn = 512;
    g->wn = p->k <= most * 512 ? 1 : p->k <= most * 2048 ? 4 : 16;
    g->wm = g->wn == 1 ? 4 : 1;
    g->bk = 512 * g->wn;
    g->bm = g->wm * rows_of(p, g);
    g->stages = (uint32_t)(p->k / g->bk + (p->k % g->bk != 0));
    g->stages += !g->stages;
}

/* As share_of, where two workgroups keep the memory of a compute unit busy: a last round
 * of so many takes no longer than they do. */
static int64_t
share_of_panels(const kiln_problem *p, int64_t workgroups, uint32_t fit, uint32_t n)
{
    int64_t own = (workgroups + kn_cus(p) - 1) / kn_cus(p), few = fit < 4 ? fit : 4, busy = own;

    if (own > fit && own % fit == 1)
        busy++;
    return (busy < few ? few : busy) * n + own;
}

enum { PANELS_MOST = 16, OPEN_PANELS = 4 };

/* Fewer where vector work is little: then memory is busy without, and the more the
 * less vector work the target has time for. */
static uint32_t
panels_most(const kiln_problem *p)
{
    uint32_t bits = kn_type_bits[p->out];
    uint32_t work = bits == 6 ? 30 : p->out_scale == KILN_OUT_STATIC ? 18 : 24;

    if (bits == 4)
        work = kn_quant_direct(p) && !kn_targets[p->target].scaled ? 36 : 54;
    if (p->round)
        work += work / 2;
    if (kn_quant_dual(p))
        work += work / (p->a == KILN_F32 ? 4 : 2);
    work /= kn_targets[p->target].vector_per_byte;
    return work < PANELS_MOST ? work : PANELS_MOST;
}

/* Panels that a workgroup has one after another. Elements that are loaded one by one
 * have their registers. */
static uint32_t
panels_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t panels = (p->m + KN_QUANT_PANEL - 1) / KN_QUANT_PANEL, down, lowest = INT64_MAX, share;
    uint32_t lds = g->bm * KN_QUANT_PANEL * (kn_quant_gated(p) ? 4 : kn_type_bits[p->a] / 8);
    uint32_t fit = kn_targets[p->target].lds / lds, step = 1 + kn_shuffled(p), best = 1;

    down = (p->k + g->bm - 1) / g->bm;
    if (g->domain.vec == 1)
        return 1;
    if (!p->m)
        return OPEN_PANELS;
    fit = fit > 6 ? 6 : fit;
    for (uint32_t s = panels_most(p); s; s = s > step ? s - step : s == 1 ? 0 : 1) {
        share = share_of_panels(p, (panels + s - 1) / s * down, fit, s);
        if (share < lowest) {
            lowest = share;
            best = s;
        }
    }
    return best;
}

enum { SHARES_MOST = 32, MEETING = 3 };

/* As share_of, of workgroups that have n panels twice and meet others in between, which
 * takes as long as so many; two on a compute unit keep its memory busy. All at once need
 * not wait for any that has not begun. */
static int64_t
share_of_both(const kiln_problem *p, int64_t workgroups, uint32_t fit, int64_t n)
{
    int64_t own = (workgroups + kn_cus(p) - 1) / kn_cus(p);

    if (own > fit)
        own = (own + fit - 1) / fit * fit;
    return (own < 2 ? 2 : own) * (2 * n + MEETING);
}

/* Panels that workgroups which share columns of A have each, where the number of rows is
 * known; one: nobody shares. */
static uint32_t
shares_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t panels = (p->m + KN_QUANT_PANEL - 1) / KN_QUANT_PANEL;
    int64_t down = (p->k + g->bm - 1) / g->bm, lowest, share;
    uint32_t fit = kn_targets[p->target].lds / (KN_QUANT_PANEL * 128), best = 1;

    if (g->domain.vec == 1 || down * (g->bm + 2) > KN_COUNTERS)
        return 1;
    fit = fit > 8 ? 8 : fit;
    lowest = share_of_both(p, down, fit, panels);
    for (uint32_t n = SHARES_MOST; n > 1; n--) {
        share = share_of_both(p, (panels + n - 1) / n * down, fit, n);
        if (n < panels && share < lowest) {
            lowest = share;
            best = n;
        }
    }
    return best;
}

enum { ALL_MET = 1 << 30 };

uint32_t
kn_counted_shares(const kiln_problem *p, const struct kn_config *g)
{
    return kn_quant_shared(p, g) ? ALL_MET : g->split_k;
}

/* Rows of 128 bytes of A, 32 dwords of which a step takes one or both halves. */
static void
turned_config(const kiln_problem *p, struct kn_config *g)
{
    g->stages = p->a == KILN_F32 ? 2 : 4;
    g->bm = 16 * g->stages;
    g->bn = KN_QUANT_PANEL;
    g->bn *= p->out_scale == KILN_OUT_ROW ? shares_of(p, g) : panels_of(p, g);
}

/* Tiles of the output that is transposed, and rows of the other. */
static void
apart_config(const kiln_problem *p, struct kn_config *g)
{
    struct kn_config row = *g;

    row_config(p, &row);
    turned_config(p, g);
    g->bk = row.bk;
    g->stages = row.stages;
}

/* As many columns of A as the widest block. */
static void
dual_config(const kiln_problem *p, struct kn_config *g)
{
    g->bm = p->out_scale == KILN_OUT_BLOCK128 ? 128 : 64;
    g->stages = g->bm * KN_QUANT_PANEL / 8 / 256;
    g->bn = KN_QUANT_PANEL * panels_of(p, g);
}

struct kn_config
kn_quant_config(const kiln_problem *p)
{
    struct kn_config g = { .bk = 1, .wm = 4, .wn = 1, .stages = 1, .split_k = 1,
                           .group_m = 1, .xcd = 1,
                           .schedule = KN_SCHED_SIMPLE,
                           .domain = kn_quant_domain(p, 256) };

    if (kn_quant_turned(p)) {
        turned_config(p, &g);
        return g;
    }
    if (kn_quant_apart(p)) {
        apart_config(p, &g);
        return g;
    }
    if (p->out_scale == KILN_OUT_ROW) {
        row_config(p, &g);
        return g;
    }
    if (kn_quant_dual(p)) {
        dual_config(p, &g);
        return g;
    }
    g.bn = columns_of(p);
    g.stages = steps_of(p, g.bn);
    g.bm = 4 * 512 / g.bn * g.stages;
    return g;
}

/* How many panels a workgroup has one after another may be asked for. */
static bool
takes_panels(const kiln_problem *p, const struct kn_config *made, uint32_t bn)
{
    uint32_t n = bn / KN_QUANT_PANEL;
    uint32_t most = p->out_scale == KILN_OUT_ROW ? SHARES_MOST : PANELS_MOST;

    return kn_quant_has_turned(p) && made->domain.vec > 1 &&
           bn % KN_QUANT_PANEL == 0 && n <= most && n &&
           (n == 1 || n % 2 == 0 || !kn_shuffled(p));
}

kiln_status
kn_quant_choose(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config made = kn_quant_config(p), over = made;
    struct kn_buf own = { .c = c }, asked = { .c = c };

    if (g->split_k == 1 && kn_quant_shared(p, &made))
        made.bn = over.bn = KN_QUANT_PANEL; /* nobody gives a workspace */
    if (takes_panels(p, &made, g->bn))
        made.bn = g->bn;
    kn_config_over(&over, g);
    if (g->bm) {
        over.bm = g->bm;
        over.bn = g->bn;
        over.bk = g->bk;
    }
    if (g->wm) {
        over.wm = g->wm;
        over.wn = g->wn;
    }
    kn_config_print(&made, &own);
    kn_config_print(&over, &asked);
    if (strcmp(own.s, asked.s))
        return kn_fail(c, KILN_BAD_INPUT, "quant has one configuration for a "
                       "problem: %s", own.s);
    *g = made;
    return KILN_OK;
}

struct kn_limits
kn_quant_limits(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t reach = g->bm > g->wm ? g->bm + g->wm : g->bm; /* and rows behind */
    int64_t pitch = KN_REACH / (kn_quant_has_turned(p) ? KN_QUANT_PANEL : reach);
    int64_t row = (int64_t)1 << 30;
    int64_t bytes = kn_type_bits[p->a] / 8;
    struct kn_limits l = { .m = INT32_MAX - 4096, .n = INT32_MAX, .G = 1 };

    l.pa = l.pc = l.psa = pitch < row ? pitch : row;
    if (p->scale_layout == KILN_SCALE_TRANSPOSED)
        l.psa = row / 4;
    l.pb = l.psb = row;
    l.ta = l.tb = l.tc = l.tsa = l.tsb = l.tsc = l.tbias = (int64_t)1 << 38;
    l.k = l.pa / bytes / (kn_quant_gated(p) ? 2 : 1);
    if (kn_quant_has_turned(p))
        l.m = l.pc;
    if (p->out_scale == KILN_OUT_ROW && !kn_quant_turned(p) && (int64_t)g->stages * g->bk < l.k)
        l.k = (int64_t)g->stages * g->bk;
    return l;
}
