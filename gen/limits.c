/* limits.c - the shape domain of a kernel: how large each argument may be so
 * that no 32-bit offset wraps. The kernel declares these bounds (max= in
 * templates/args.tir), the proof relies on them (ir/proof/proof_range.c), and every
 * launch is held to them. */
#include "instantiate.h"

#include "forms.h"
#include "quant.h"
#include "panels.h"

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A row is at most 1 GiB, and `rows` of them are within 31 bits. */
static int64_t
pitch(int64_t rows)
{
    return least((int64_t)1 << 30, KN_REACH / rows);
}

/* Shuffled scales of 32 rows lie together: those of a tile are within 32 bits. */
static void
moe_limits(const struct kn_config *g, struct kn_limits *l)
{
    l->m = INT32_MAX / 2;    /* scales of 16 rows are padded to 32 */
    l->pa = l->pc = (int64_t)1 << 30;
    l->psa = g->bm > 128 ? ((int64_t)1 << 37) / g->bm : l->pc;
}

/* Rows of zero points, one for each group of a K tile. */
static void
zero_limits(const kiln_problem *p, const struct kn_config *g,
            struct kn_limits *l)
{
    int64_t rows = g->bk / kn_scale_k(p);

    l->psa = pitch(rows ? rows : 1);
    l->tsa = l->tsb;
    l->n = least(l->n, 8 * l->psa / kn_zero_bits(p) /
                       (kn_gated(p) ? 2 : 1));
}

struct kn_limits
kn_limits_of(const kiln_problem *p, const struct kn_config *g)
{
    bool gka = kn_along_k(p, 'a'), gkb = kn_along_k(p, 'b');
    const struct kn_family *f = kn_family_of(p);
    bool wgrad = f->ragged == 'k';
    struct kn_limits l = { .m = INT32_MAX, .n = INT32_MAX, .k = INT32_MAX,
                           .G = 1 << 24 };
    uint32_t second = kn_type_bits[p->out2] << kn_second_pair(p);
    int64_t a, b;

    if (f->unary)
        return kn_quant_limits(p, g);
    l.pa = pitch(gka ? g->bm : g->bk);
    l.pb = pitch(gkb ? g->bn : g->bk);
    l.pc = pitch(g->bm);
    l.psa = pitch(kn_scales_down(p, 'a') ? 1 : g->bm);
    l.psb = pitch(!kn_scales_down(p, 'b') ? g->bn
                  : g->bk > kn_scale_k(p) ? g->bk / kn_scale_k(p) : 1);
    l.tb = l.tc = l.tsb = l.tbias = (int64_t)1 << 38;
    l.ta = wgrad ? 8 * l.pa : l.tb;
    l.tb = wgrad ? 8 * l.pb : l.tb;
    l.tsa = l.tsc = f->ragged == 'm' ? INT32_MAX : l.tc;
    a = f->routed ? INT32_MAX : 8 * l.pa / kn_type_bits[p->a];
    b = 8 * l.pb / (kn_type_bits[p->b] * kn_word_k(p));
    *(gka ? &l.k : &l.m) = least(gka ? l.k : l.m, a);
    l.n = least(l.n, 8 * (f->routed ? (int64_t)1 << 30 : l.pc) /
                     (kn_type_bits[p->out] > second ? kn_type_bits[p->out] : second));
    *(gkb ? &l.k : &l.n) = least(gkb ? l.k : l.n, b);
    if (kn_gated(p))
        l.n = least(l.n, gkb ? INT32_MAX / 2 : b / 2);
    if (kn_scales_down(p, 'a') && !f->routed)
        l.m = least(l.m, l.psa / 4);
    if (kn_scales_down(p, 'b'))
        l.n = least(l.n, l.psb / (kn_gated(p) ? 8 : 4));
    if (f->routed)
        moe_limits(g, &l);
    if (p->zero_points)
        zero_limits(p, g, &l);
    if (kn_panels(p, g))     /* 16 rows within 31 bits (launch.def) */
        l.n = least(l.n, KN_REACH / 72 - 256);
    if (kn_schedules[g->schedule].unrolled)
        l.k = least(l.k, (int64_t)g->stages * g->bk);
    return l;
}
