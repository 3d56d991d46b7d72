/* gemv.c - a few rows without matrix instructions: each wave has whole columns
 * of B and adds over its lanes. */
#include "gemv.h"

#include <stdio.h>

#include "instantiate.h"
#include "limits.h"

/* What differs by payload. */
static const struct kind {
    const char *elem;        /* NULL: not this type */
    const char *two;         /* a register of two of them */
    const char *pairs;
    uint8_t bits;
} kinds[KILN_NTYPES] = {
    [KILN_F16] = { "f16", "f16x2", "gemv_pairs_16", 16 },
    [KILN_BF16] = { "bf16", "bf16x2", "gemv_pairs_16", 16 },
    [KILN_FP8] = { "fp8", "", "gemv_pairs_8", 8 },
    [KILN_BF8] = { "bf8", "", "gemv_pairs_8", 8 },
    [KILN_MXFP8] = { "fp8", "", "gemv_pairs_8", 8 },
    [KILN_MXBF8] = { "bf8", "", "gemv_pairs_8", 8 },
    [KILN_MXFP4] = { "fp4", "", "gemv_pairs_4", 4 },
};

const char *
kn_gemv_lacks(const kiln_problem *p)
{
    struct kn_domain d = kn_domain_of(p, 256, 0);
    const struct kind *a = &kinds[p->a], *b = &kinds[p->b];

    if (p->family != KILN_GEMM || p->layout != KILN_NT)
        return "is for one nt product";
    if (!a->elem || !b->elem || a->bits != b->bits || kn_dequant(p))
        return "has no arithmetic for these types";
    if (p->scale == KILN_SCALE_BLOCK128 || p->b_layout || p->scale_layout)
        return "has no block128 scales and no stored layouts";
    if (d.align_a < 16 || d.align_b < 16 || p->k * a->bits % 128)
        return "needs rows of whole 16-byte runs";
    return NULL;
}

static uint32_t
rows_for(int64_t m)
{
    uint32_t r = 1;

    while (r < m && r < 16)
        r *= 2;
    return r;
}

static bool
is_size(uint32_t x, uint32_t most)
{
    return x && x <= most && (x & (x - 1)) == 0;
}

kiln_status
kn_gemv_choose(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    const char *lacks = kn_gemv_lacks(p);

    if (lacks)
        return kn_fail(c, KILN_UNSUPPORTED, "the gemv schedule %s", lacks);
    if (!g->bm)
        g->bm = rows_for(p->m);
    if (!g->bn)
        g->bn = g->bm > 2 ? 8 : 4;
    g->bk = 64 * 128 / kinds[p->a].bits;
    if (g->wm * g->wn > 1 && (g->wm != 4 || g->wn != 1))
        return kn_fail(c, KILN_BAD_INPUT, "the gemv schedule has 4x1 waves");
    g->wm = 4;
    g->wn = 1;
    if (!g->stages)
        g->stages = g->bm > 2 ? 1 : 2;
    if (!is_size(g->bm, 16) || g->bn % 4 || !is_size(g->bn / 4, 4) ||
        g->stages > 4)
        return kn_fail(c, KILN_BAD_INPUT, "a gemv tile is 1, 2, 4, 8 or 16 by "
                       "4, 8 or 16, with 1 to 4 stages");
    if (g->split_k > 1 || g->cus)
        return kn_fail(c, KILN_UNSUPPORTED, "the gemv schedule has no split-K "
                       "and no persistent launch");
    g->split_k = g->xcd = g->group_m = 1;
    g->domain = (struct kn_domain){ 16, 16, 1, 1, 1, 1 };
    if (p->scale != KILN_SCALE_MX32)
        g->domain.align_sa = g->domain.align_sb = 4;
    return KILN_OK;
}

static void
regions(const kiln_problem *p, struct kn_params *q)
{
    bool mx = p->scale == KILN_SCALE_MX32, wide = p->out == KILN_F32;

    kn_region(q, "gemv_open", mx ? "gemv_open_mx" : "");
    kn_region(q, "gemv_load_scale", mx ? "gemv_load_mx" : "");
    kn_region(q, "gemv_pairs", kinds[p->a].pairs);
    kn_region(q, "gemv_times", mx ? "gemv_times_mx" : "");
    kn_region(q, "gemv_scale",
              p->scale == KILN_SCALE_TENSOR ? "gemv_scale_tensor"
              : p->scale == KILN_SCALE_ROW ? "gemv_scale_row" : "");
    kn_region(q, "gemv_alpha", p->alpha_set ? "gemv_alpha" : "");
    kn_region(q, "gemv_bias", p->bias ? "gemv_bias" : "");
    kn_region(q, "gemv_beta", !p->beta ? "" : wide ? "gemv_beta_32"
                                                   : "gemv_beta_16");
    kn_region(q, "gemv_out", wide ? "gemv_out_32" : "gemv_out_16");
}

static uint32_t
log2_of(uint32_t x)
{
    return (uint32_t)__builtin_ctz(x);
}

kiln_status
kn_gemv_instantiate(struct kn_ctx *c, const kiln_problem *p,
                    const struct kn_config *g, const char *name,
                    struct kn_fn **out)
{
    struct kn_params *q = KN_NEW(c, struct kn_params, 1);
    const struct kind *a = &kinds[p->a];
    uint32_t cols = g->bn / 4, per = 128u / a->bits;
    struct kn_limits most = kn_limits_of(p, g);

    kn_set(q, "NAME", name);
    kn_set(q, "TARGET", kiln_target_name(p->target));
    kn_set(q, "TA", a->elem);
    kn_set(q, "TB", kinds[p->b].elem);
    kn_set(q, "HA", a->two);
    kn_set(q, "HB", kinds[p->b].two);
    kn_set(q, "TC", kiln_type_name(p->out));
    kn_set_int(c, q, "ROWS", g->bm);
    kn_set_int(c, q, "ROWS_1", g->bm - 1);
    kn_set_int(c, q, "BN", g->bn);
    kn_set_int(c, q, "BN_1", g->bn - 1);
    kn_set_int(c, q, "COLS", cols);
    kn_set_int(c, q, "COLS_1", cols - 1);
    kn_set_int(c, q, "COLS_SHIFT", log2_of(cols));
    kn_set_int(c, q, "UNROLL", g->stages);
    kn_set_int(c, q, "STEP", 1024 * g->stages);
    kn_set_int(c, q, "PER_SHIFT", log2_of(per));
    kn_set_int(c, q, "XSHIFT", log2_of(4u * a->bits));
    kn_set_int(c, q, "SIZEC", p->out == KILN_F32 ? 4 : 2);
#define X(name) kn_set_int(c, q, "MAX_" #name, most.name);
    KN_LIMITED(X)
#undef X
    regions(p, q);
    return kn_expand(c, "gemv", q, out);
}
