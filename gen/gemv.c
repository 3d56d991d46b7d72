/* gemv.c - a few rows without matrix instructions: each wave has whole columns
 * of B and adds over its lanes. */
#include "gemv.h"

#include "forms.h"
#include "instantiate.h"

/* How elements become f32 (templates/gemv_operands.tir), and the power of two
 * that takes from them. */
struct kind {
    uint8_t widen, up;       /* KN_WIDEN_NONE: not this type */
};

static const struct kind kinds[KILN_NTYPES] = {
    [KILN_F16] = { KN_WIDEN_AS_16, 0 },  [KILN_BF16] = { KN_WIDEN_AS_16, 0 },
    [KILN_FP8] = { KN_WIDEN_AS_8, 0 },   [KILN_BF8] = { KN_WIDEN_AS_8, 0 },
    [KILN_I8] = { KN_WIDEN_AS_8, 0 },    [KILN_MXFP8] = { KN_WIDEN_AS_8, 0 },
    [KILN_MXBF8] = { KN_WIDEN_AS_8, 0 }, [KILN_MXFP6] = { KN_WIDEN_AS_6, 0 },
    [KILN_MXBF6] = { KN_WIDEN_AS_6, 0 }, [KILN_MXFP4] = { KN_WIDEN_AS_4, 0 },
},
/* Where 8-bit floats are FNUZ and nothing converts narrower ones. */
  fnuz_kinds[KILN_NTYPES] = {
    [KILN_MXFP8] = { KN_WIDEN_OCP_8, 1 }, [KILN_MXBF8] = { KN_WIDEN_OCP_5, 0 },
    [KILN_MXFP6] = { KN_WIDEN_OCP_6, 7 }, [KILN_MXBF6] = { KN_WIDEN_OCP_6, 5 },
    [KILN_MXFP4] = { KN_WIDEN_OCP_4, 0 },
};

static const struct kind *
kind_of(const kiln_problem *p, kiln_type t)
{
    return kn_targets[p->target].fnuz && fnuz_kinds[t].widen ? &fnuz_kinds[t]
                                                             : &kinds[t];
}

enum kn_widen
kn_gemv_widen(const kiln_problem *p, kiln_type t)
{
    return kind_of(p, t)->widen;
}

/* Elements of a run: 16 bytes, where both operands have as many and whole
 * ones, else a block of 32. */
uint32_t
kn_gemv_run(const kiln_problem *p)
{
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];

    return a == b && a != 6 ? 128 / a : 32;
}

int
kn_gemv_exponent_bias(const kiln_problem *p)
{
    return (kn_gemv_a_scaled(p) ? 254 : 127) - kind_of(p, p->a)->up -
           kind_of(p, p->b)->up;
}

bool
kn_gemv_types(const kiln_problem *p)
{
    return kinds[p->a].widen && kinds[p->b].widen && !kn_prequant(p);
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
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];

    if (p->a == KILN_I8)
        return &dots;
    if (p->scale == KILN_SCALE_MX32 && kn_targets[p->target].fnuz)
        return a != b ? &fnuz_mixed
             : a == 8 ? &fnuz8 : a == 6 ? &fnuz6 : &fnuz4;
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
    if (rows <= 2 && f.wn > 1 && p->k < 80 * f.wn * kn_gemv_run(p))
        f = (struct form){ 4, 4, 1 };    /* too few runs to share */
    if (kn_gemv_run(p) == 32 && p->k < 64 * 32 &&
        (rows > 1 || all == &fnuz6 || all == &fnuz4))
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

const char *
kn_gemv_choose(const kiln_problem *p, struct kn_config *g)
{
    struct kn_domain d;

    g->schedule = KN_SCHED_GEMV;
    if (kn_form_lacks(p, g))
        return kn_form_lacks(p, g);
    if (!g->bm)              /* 16 rows of 16 or 6 bits in runs of 32 spill */
        g->bm = rows_for(p->m, kn_type_bits[p->a] > kn_type_bits[p->b] ||
                               kn_type_bits[p->a] == 6 ? 8 : 16);
    take_form(p, g);
    g->bk = 64 * kn_gemv_run(p);
    if (g->wm * g->wn != 4 || g->wm == 3)
        return "has 4x1, 2x2 or 1x4 waves: for columns, for K";
    if (!g->stages)
        g->stages = g->bm > 2 ? 1 : 2;
    if (!is_size(g->bm, 16) || g->bn % g->wm || !is_size(g->bn / g->wm, 4) ||
        g->stages > 4)
        return "has tiles of 1, 2, 4, 8 or 16 rows by 1, 2 or 4 columns a "
               "wave, with 1 to 4 stages";
    g->split_k = g->xcd = g->group_m = 1;
    d = kn_domain_of(p, 256, 0);
    g->domain = (struct kn_domain){ d.align_a, d.align_b, 1, 1, 1, 1, 0 };
    if (p->scale != KILN_SCALE_MX32)
        g->domain.align_sa = g->domain.align_sb = 4;
    return NULL;
}
