/* gemv.c - a few rows without matrix instructions: each wave has whole columns
 * of B and adds over its lanes. */
#include "gemv.h"

#include <stdio.h>

#include "instantiate.h"
#include "limits.h"

/* What differs by payload; a pair is two of its elements. */
static const struct kind {
    const char *elem;        /* NULL: not this type */
    const char *half;        /* a register of two of them */
    const char *pair;
    uint8_t bits;
    const char *whole;       /* what is done to a run before */
    uint8_t up;              /* the pair misses a factor of 2^up */
} kinds[KILN_NTYPES] = {
    [KILN_F16] = { "f16", "f16x2", "gemv_two_16", 16, "", 0 },
    [KILN_BF16] = { "bf16", "bf16x2", "gemv_two_16", 16, "", 0 },
    [KILN_FP8] = { "fp8", "", "gemv_two_8", 8, "", 0 },
    [KILN_BF8] = { "bf8", "", "gemv_two_8", 8, "", 0 },
    [KILN_I8] = { "i8", "", "", 8, "", 0 },
    [KILN_MXFP8] = { "fp8", "", "gemv_two_8", 8, "", 0 },
    [KILN_MXBF8] = { "bf8", "", "gemv_two_8", 8, "", 0 },
    [KILN_MXFP6] = { "fp6", "", "gemv_two_6", 6, "gemv_whole_6", 0 },
    [KILN_MXBF6] = { "bf6", "", "gemv_two_6", 6, "gemv_whole_6", 0 },
    [KILN_MXFP4] = { "fp4", "", "gemv_two_4", 4, "", 0 },
},
/* Where 8-bit floats are FNUZ and nothing converts narrower ones. */
  fnuz_kinds[KILN_NTYPES] = {
    [KILN_MXFP8] = { "fp8", "", "gemv_two_fnuz", 8, "gemv_whole_ocp", 1 },
    [KILN_MXBF8] = { "bf8", "", "gemv_two_e5m2", 8, "gemv_whole_e5m2", 0 },
    [KILN_MXFP6] = { "fp6", "", "gemv_two_fnuz", 6, "gemv_whole_6f", 7 },
    [KILN_MXBF6] = { "bf6", "", "gemv_two_fnuz", 6, "gemv_whole_6f", 5 },
    [KILN_MXFP4] = { "fp4", "", "gemv_two_fnuz", 4, "gemv_whole_4f", 0 },
};

static const struct kind *
kind_of(const kiln_problem *p, kiln_type t)
{
    return p->target == KILN_GFX942 && fnuz_kinds[t].elem ? &fnuz_kinds[t]
                                                          : &kinds[t];
}

/* OCP e4m3 read as FNUZ: NaN is a number there. */
static bool
loses_nan(const kiln_problem *p, kiln_type t)
{
    return p->target == KILN_GFX942 && t == KILN_MXFP8;
}

/* Elements of a run: 16 bytes, where both operands have as many and whole
 * ones, else a block of 32. */
static uint32_t
run_of(const kiln_problem *p)
{
    uint32_t a = kinds[p->a].bits, b = kinds[p->b].bits;

    return a == b && a != 6 ? 128 / a : 32;
}

const char *
kn_gemv_lacks(const kiln_problem *p)
{
    struct kn_domain d = kn_domain_of(p, 256, 0);
    const struct kind *a = &kinds[p->a], *b = &kinds[p->b];

    if (p->family != KILN_GEMM || p->layout != KILN_NT)
        return "is for one nt product";
    if (!a->elem || !b->elem || kn_prequant(p))
        return "has no arithmetic for these types";
    if (p->scale == KILN_SCALE_BLOCK128 || p->b_layout || p->scale_layout)
        return "has no block128 scales and no stored layouts";
    if (d.align_a < 4 || d.align_b < 4 || p->k % run_of(p))
        return run_of(p) == 32 ? "needs rows of whole runs of 32 elements"
                               : "needs rows of whole 16-byte runs";
    return NULL;
}

/* Columns of a workgroup, waves for columns and for K, by rows, for many
 * columns and for few: the best by predicted time (docs/smallm.md). No bn:
 * matrix instructions are faster. */
struct form {
    uint8_t bn, wm, wn;
};

enum { FORM_ROWS = 4 };      /* 1, 2, 4, 8 */

static const struct forms {
    struct form wide[FORM_ROWS], narrow[FORM_ROWS];
} halves = { { { 4, 1, 4 }, { 8, 2, 2 }, { 4, 1, 4 } },
             { { 4, 1, 4 }, { 4, 1, 4 }, { 4, 1, 4 } } },
  dots = { { { 4, 1, 4 }, { 4, 1, 4 }, { 4, 1, 4 }, { 8, 2, 2 } },
           { { 4, 1, 4 }, { 4, 1, 4 }, { 4, 1, 4 }, { 4, 1, 4 } } },
  bytes = { { { 4, 4, 1 }, { 4, 4, 1 }, { 8, 2, 2 } },
            { { 4, 4, 1 }, { 4, 4, 1 }, { 4, 1, 4 } } },
  scaled = { { { 4, 4, 1 }, { 8, 4, 1 } }, { { 4, 4, 1 }, { 4, 4, 1 } } },
  mixed = { { { 4, 4, 1 } }, { { 4, 4, 1 } } },
  fnuz8 = { { { 8, 4, 1 }, { 8, 4, 1 }, { 8, 2, 2 } },
            { { 4, 4, 1 }, { 4, 4, 1 }, { 4, 1, 4 } } },
  fnuz6 = { { { 8, 4, 1 }, { 8, 4, 1 }, { 8, 2, 2 } }, { { 4, 4, 1 } } },
  fnuz4 = { { { 8, 2, 2 }, { 8, 2, 2 }, { 8, 2, 2 } },
            { { 4, 4, 1 }, { 8, 2, 2 }, { 4, 1, 4 } } },
  fnuz_mixed = { { { 8, 4, 1 }, { 8, 4, 1 }, { 8, 4, 1 } },
                 { { 8, 2, 2 }, { 8, 2, 2 } } }, none;

enum { WIDE = 4096 };

static const struct forms *
forms_of(const kiln_problem *p)
{
    uint32_t a = kinds[p->a].bits, b = kinds[p->b].bits;

    if (p->a == KILN_I8)
        return &dots;
    if (p->scale == KILN_SCALE_MX32 && p->target == KILN_GFX942)
        return a != b ? &fnuz_mixed : a == 8 ? &fnuz8 : a == 6 ? &fnuz6 : &fnuz4;
    if (a == 6 || b == 6 || a < b)
        return &none;
    if (a != b)
        return &mixed;
    return a == 16 ? &halves : p->scale == KILN_SCALE_MX32 ? &scaled : &bytes;
}

static uint32_t
rows_for(int64_t m, uint32_t most)
{
    uint32_t r = 1;

    while (r < m && r < most)
        r *= 2;
    return r;
}

static uint32_t
log2_of(uint32_t x)
{
    return (uint32_t)__builtin_ctz(x);
}

static struct form
form_of(const kiln_problem *p, uint32_t rows)
{
    const struct forms *all = forms_of(p);
    struct form f = { 0 };

    if (rows < 1 << FORM_ROWS)
        f = (p->n >= WIDE ? all->wide : all->narrow)[log2_of(rows)];
    if (rows <= 2 && f.wn > 1 && p->k < 80 * f.wn * run_of(p))
        f = (struct form){ 4, 4, 1 };    /* too few runs to share */
    if (run_of(p) == 32 && p->k < 64 * 32 && (rows > 1 || all == &fnuz6 || all == &fnuz4))
        f.bn = 0;                        /* lanes without a run */
    return f;
}

bool
kn_gemv_wins(const kiln_problem *p)
{
    return p->m <= 8 && form_of(p, rows_for(p->m, 8)).bn;
}

static bool
is_size(uint32_t x, uint32_t most)
{
    return x && x <= most && (x & (x - 1)) == 0;
}

/* A 16-bit A beside an MX B has none. */
static bool
has_scales(const kiln_problem *p)
{
    return p->a >= KILN_MXFP8;
}

/* What is open of columns and waves. */
static void
take_form(const kiln_problem *p, struct kn_config *g)
{
    struct form f = { 0 };

    if (is_size(g->bm, 8) && !g->bn && !g->wm)
        f = form_of(p, g->bm);
    if (!f.bn)
        f = (struct form){ g->bm > 2 ? 8 : 4, 4, 1 };
    if (!g->bn)
        g->bn = f.bn;
    if (!g->wm) {
        g->wm = f.wm;
        g->wn = f.wn;
    }
}

kiln_status
kn_gemv_choose(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    const char *lacks = kn_gemv_lacks(p);
    struct kn_domain d;

    if (lacks)
        return kn_fail(c, KILN_UNSUPPORTED, "the gemv schedule %s", lacks);
    if (!g->bm)              /* 16 rows of 16 or 6 bits in runs of 32 spill */
        g->bm = rows_for(p->m, kinds[p->a].bits > kinds[p->b].bits ||
                               kinds[p->a].bits == 6 ? 8 : 16);
    take_form(p, g);
    g->bk = 64 * run_of(p);
    if (g->wm * g->wn != 4 || g->wm == 3)
        return kn_fail(c, KILN_BAD_INPUT, "the gemv schedule has 4x1, 2x2 or "
                       "1x4 waves: for columns, for K");
    if (!g->stages)
        g->stages = g->bm > 2 ? 1 : 2;
    if (!is_size(g->bm, 16) || g->bn % g->wm || !is_size(g->bn / g->wm, 4) ||
        g->stages > 4)
        return kn_fail(c, KILN_BAD_INPUT, "a gemv tile is 1, 2, 4, 8 or 16 "
                       "rows by 1, 2 or 4 columns a wave, with 1 to 4 stages");
    if (g->split_k > 1 || g->cus)
        return kn_fail(c, KILN_UNSUPPORTED, "the gemv schedule has no split-K "
                       "and no persistent launch");
    g->split_k = g->xcd = g->group_m = 1;
    d = kn_domain_of(p, 256, 0);
    g->domain = (struct kn_domain){ d.align_a, d.align_b, 1, 1, 1, 1, 0 };
    if (p->scale != KILN_SCALE_MX32)
        g->domain.align_sa = g->domain.align_sb = 4;
    return KILN_OK;
}

/* How a run of so many dwords is loaded. */
static const char *
get_of(kiln_type t, uint32_t run)
{
    uint32_t dwords = run * kinds[t].bits / 32;

    return dwords == 4 ? "gemv_get4" : dwords == 6 ? "gemv_get6"
         : dwords == 8 ? "gemv_get8" : "gemv_get16";
}

static void
nan_regions(bool a, bool b, struct kn_params *q)
{
    kn_region(q, "gemv_none_a", a ? "gemv_none_a" : "");
    kn_region(q, "gemv_none_b", b ? "gemv_none_b" : "");
    kn_region(q, "gemv_nan_a", a ? "gemv_nan_a" : "");
    kn_region(q, "gemv_nan_b", b ? "gemv_nan_b" : "");
    kn_region(q, "gemv_seen_a", a ? "gemv_seen_a" : "");
    kn_region(q, "gemv_seen_b", b ? "gemv_seen_b" : "");
}

static void
product_regions(const kiln_problem *p, struct kn_params *q)
{
    const struct kind *a = kind_of(p, p->a), *b = kind_of(p, p->b);
    bool ints = p->a == KILN_I8, mx = p->scale == KILN_SCALE_MX32;

    kn_region(q, "gemv_get_a", get_of(p->a, run_of(p)));
    kn_region(q, "gemv_get_b", get_of(p->b, run_of(p)));
    kn_region(q, "gemv_dot", ints ? "gemv_dot_i8" : mx ? "gemv_dot_mx" : "gemv_dot");
    kn_region(q, "gemv_two_a", a->pair);
    kn_region(q, "gemv_two_b", b->pair);
    kn_region(q, "gemv_whole_a", a->whole);
    kn_region(q, "gemv_whole_b", b->whole);
    nan_regions(loses_nan(p, p->a), loses_nan(p, p->b), q);
    kn_region(q, "gemv_sum", ints || mx ? "gemv_sum_one" : "gemv_sum");
    kn_region(q, "gemv_float", p->out == KILN_I32 ? ""
                          : ints ? "gemv_float_i8" : "gemv_float");
}

static void
regions(const kiln_problem *p, struct kn_params *q)
{
    bool mx = p->scale == KILN_SCALE_MX32, wide = p->out == KILN_F32;
    bool mxa = mx && has_scales(p);

    product_regions(p, q);
    kn_region(q, "gemv_open", mx ? "gemv_open_mx" : "");
    kn_region(q, "gemv_open_mxa", mxa ? "gemv_open_mxa" : "");
    kn_region(q, "gemv_load_scale", mx ? "gemv_load_mx" : "");
    kn_region(q, "gemv_load_mxa", mxa ? "gemv_load_mxa" : "");
    kn_region(q, "gemv_ready", mx ? "gemv_ready_mx" : "");
    kn_region(q, "gemv_ready_mxa", mxa ? "gemv_ready_mxa" : "");
    kn_region(q, "gemv_spoil", mxa ? "gemv_spoil_mx" : mx ? "gemv_spoil_mxb" : "");
    kn_region(q, "gemv_times", mxa ? "gemv_times_mx" : mx ? "gemv_times_mxb" : "");
    kn_region(q, "gemv_scale", p->scale == KILN_SCALE_TENSOR ? "gemv_scale_tensor"
                          : p->scale == KILN_SCALE_ROW ? "gemv_scale_row"
                                                       : "");
    kn_region(q, "gemv_alpha", p->alpha_set ? "gemv_alpha" : "");
    kn_region(q, "gemv_bias", p->bias ? "gemv_bias" : "");
    kn_region(q, "gemv_beta", !p->beta ? "" : wide ? "gemv_beta_32"
                                                : "gemv_beta_16");
    kn_region(q, "gemv_out", p->out == KILN_I32 ? "gemv_out_i32"
                        : wide ? "gemv_out_32" : "gemv_out_16");
}

/* `sums` a wave: each step over a row of lanes halves them, or adds lanes that
 * hold the same ones. */
static void
set_folding(struct kn_ctx *c, struct kn_params *q, uint32_t sums, uint32_t waves)
{
    static const char *const pairs[] = { "PAIRS3", "PAIRS2", "PAIRS1", "PAIRS0" };
    static const char *const by[] = { "PAIRED3", "PAIRED2", "PAIRED1", "PAIRED0" };
    uint32_t n = sums, spare = sums < 16 ? 4 - log2_of(sums) : 0;

    for (int i = 0; i < 4; i++) {
        kn_set_int(c, q, by[i], n / 2);
        n = n > 1 ? n / 2 : 1;
        kn_set_int(c, q, pairs[i], n);
    }
    kn_set_int(c, q, "LEFT", n);
    kn_set_int(c, q, "SUMS_1", sums - 1);
    kn_set_int(c, q, "SUM_SHIFT", 2 + spare);
    kn_set_int(c, q, "PARTS", 4 * waves);
}

kiln_status
kn_gemv_instantiate(struct kn_ctx *c, const kiln_problem *p,
                    const struct kn_config *g, const char *name,
                    struct kn_fn **out)
{
    struct kn_params *q = KN_NEW(c, struct kn_params, 1);
    const struct kind *a = kind_of(p, p->a), *b = kind_of(p, p->b);
    uint32_t cols = g->bn / g->wm, run = run_of(p);
    bool ints = p->a == KILN_I8, mx = p->scale == KILN_SCALE_MX32;
    struct kn_limits most = kn_limits_of(p, g);

    kn_set(q, "NAME", name);
    kn_set(q, "TARGET", kiln_target_name(p->target));
    kn_set(q, "TA", a->elem);
    kn_set(q, "TB", b->elem);
    kn_set(q, "HA", a->half);
    kn_set(q, "HB", b->half);
    kn_set(q, "SUM", ints ? "i32" : "f32");
    kn_set(q, "ACC", ints ? "i32" : mx ? "f32" : "f32x2");
    kn_set(q, "ADD", ints ? "add" : "fadd");
    kn_set(q, "ZERO", ints ? "0" : "0.0");
    kn_set(q, "TC", kiln_type_name(p->out));
    kn_set_int(c, q, "ROWS", g->bm);
    kn_set_int(c, q, "ROWS_1", g->bm - 1);
    kn_set_int(c, q, "BN", g->bn);
    kn_set_int(c, q, "BN_1", g->bn - 1);
    kn_set_int(c, q, "COLS", cols);
    kn_set_int(c, q, "COLS_1", cols - 1);
    kn_set_int(c, q, "COLS_SHIFT", log2_of(cols));
    kn_set_int(c, q, "UNROLL", g->stages);
    kn_set_int(c, q, "OWN", 64 * g->stages);
    kn_set_int(c, q, "STEP", 64 * g->stages * g->wn);
    kn_set_int(c, q, "CWAVES", g->wm);
    kn_set_int(c, q, "KWAVES", g->wn);
    kn_set_int(c, q, "KWAVES_1", g->wn - 1);
    kn_set_int(c, q, "KWAVES_SHIFT", log2_of(g->wn));
    kn_set_int(c, q, "BIAS", (has_scales(p) ? 254 : 127) - a->up - b->up);
    kn_set_int(c, q, "DWORDSA", run * a->bits / 32);
    kn_set_int(c, q, "DWORDSB", run * b->bits / 32);
    kn_set_int(c, q, "SIXA", p->a == KILN_MXBF6);
    kn_set_int(c, q, "SIXB", p->b == KILN_MXBF6);
    set_folding(c, q, g->bm * cols, g->wn);
    kn_set_int(c, q, "PAIRS", run / 2);
    kn_set_int(c, q, "BYTESA", run * a->bits / 8);
    kn_set_int(c, q, "BYTESB", run * b->bits / 8);
    kn_set_int(c, q, "MOSTA", (1 << 30) / (run * a->bits / 8));
    kn_set_int(c, q, "MOSTB", (1 << 30) / (run * b->bits / 8));
    kn_set_int(c, q, "RUN_SHIFT", log2_of(run));
    kn_set_int(c, q, "XSHIFT", 5 - log2_of(run));
    kn_set_int(c, q, "SIZEC", p->out == KILN_F32 || p->out == KILN_I32 ? 4 : 2);
#define X(name) kn_set_int(c, q, "MAX_" #name, most.name);
    KN_LIMITED(X)
#undef X
    regions(p, q);
    return kn_expand(c, "gemv", q, out);
}
