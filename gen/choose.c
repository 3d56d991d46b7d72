/* choose.c - decides what the user left open, and refuses what cannot be of
 * what was asked for. */
#include "choose.h"
#include "forms.h"
#include "gemv.h"
#include "instantiate.h"
#include "resources.h"

static uint32_t
natural_bk(struct kn_ctx *c, const kiln_problem *p)
{
    struct kn_config one = { .bm = 32, .bn = 32, .bk = 128, .wm = 1, .wn = 1 };
    struct kn_fn f = kn_tile_fn(c, p, &one);
    uint32_t k = kn_fragment(&f, 'a').k;

    if (p->scale_layout)
        return 256;
    /* Rows of 128 bytes, and fewer copies of scales (docs/timing.md). */
    if (p->scale == KILN_SCALE_MX32 && p->target == KILN_GFX950 &&
        !kn_dequant(p) &&
        p->k >= 256 && p->k % 256 == 0 &&
        ((kn_elems[f.shape.ta].bits == 4 && kn_elems[f.shape.tb].bits == 4) ||
         (p->family != KILN_MOE && p->m && p->m <= 64)))
        return 256;
    return p->scale == KILN_SCALE_BLOCK128 || kn_prequant(p) || k >= 128 ||
           (kn_dequant(p) && kn_elems[f.shape.ta].bits == 8) ? 128
         : kn_elems[f.shape.ta].bits == 8 && p->target == KILN_GFX950 ? 128
                                                                     : 64;
}

/* A given tile whose natural K does not fit is staged less K at a time. */
static void
shorten_bk(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t step = kn_step_k(c, p, g->bk);

    for (uint32_t bk = g->bk; bk >= step && bk % step == 0; bk /= 2) {
        struct kn_config try = *g;

        try.bk = bk;
        kn_default_waves(&try);
        if (!try.domain.align_a)
            try.domain = kn_domain_of(p, 256, bk);
        if (!kn_shareable(&try) || kn_tile_fit(c, p, &try)) {
            g->bk = bk;
            return;
        }
    }
}

/* Why a given tile does not fit. */
static kiln_status
refuse_fit(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    uint32_t need = kn_tile_registers(c, p, g), have = kn_register_limit(g);
    uint32_t least = kn_least_stages(p, g);
    struct kn_config two = *g;

    if (need == KN_TOO_NARROW)
        return kn_fail(c, KILN_BAD_INPUT, "a %ux%ux%u tile with %ux%u waves "
                       "is too large for rows that do not start at "
                       "multiples of 4 bytes", g->bm, g->bn, g->bk, g->wm, g->wn);
    if (need > have)
        return kn_fail(c, KILN_BAD_INPUT, "a %ux%ux%u tile with %ux%u waves "
                       "needs %u registers of %u", g->bm, g->bn, g->bk, g->wm,
                       g->wn, need, have);
    if (g->stages && g->stages < least)
        return kn_fail(c, KILN_BAD_INPUT, "a loop that fills LDS directly "
                       "needs at least %u stages, not %u", least, g->stages);
    two.stages = g->stages ? g->stages : least;
    return kn_fail(c, KILN_BAD_INPUT, "a %ux%ux%u tile needs with %u stages "
                   "%u bytes of LDS of %u", g->bm, g->bn, g->bk, two.stages,
                   kn_tile_lds_taken(c, p, &two),
                   kn_targets[p->target].lds);
}

static kiln_status
check_given(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            const struct kn_openings *open)
{
    kn_prefer_deep(c, p, g, open);
    kn_default_waves(g);
    if (p->scale_layout && ((g->bm % 32 && p->family != KILN_MOE) ||
                            g->bn % 32))
        return kn_fail(c, KILN_BAD_INPUT, "shuffled scales need a tile of "
                       "multiples of 32");
    if (!kn_shareable(g))
        return kn_fail(c, KILN_BAD_INPUT, "a %ux%u tile cannot be shared by "
                       "%ux%u waves: each needs multiples of 16, at most 256 "
                       "in all", g->bm, g->bn, g->wm, g->wn);
    if (g->stages > KN_MAX_STAGES)
        return kn_fail(c, KILN_BAD_INPUT, "--stages is 1 to %d", KN_MAX_STAGES);
    if (kn_streams(g))
        KN_TRY(kn_form_check(c, p, g));
    if (!kn_tile_fit(c, p, g))
        return refuse_fit(c, p, g);
    return KILN_OK;
}

/* moe with stored layouts, up to 32 rows a block: a wave's pieces of B follow
 * each other in memory, so it loads them straight into registers. */
static bool
pick_stream(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            struct kn_buf *why)
{
    struct kn_config try = *g;
    bool mx = p->scale == KILN_SCALE_MX32;

    if (p->family != KILN_MOE || p->block_m > 32 || !p->b_layout ||
        (mx && !p->scale_layout) || !kn_form_open(g) || g->schedule || g->early ||
        g->lowering == KN_LOWERING_ASM)
        return false;
    try.bm = p->block_m;
    try.bn = kn_quantises(p) ? 64 : 32;
    try.wm = try.wn = 1;
    try.bk = natural_bk(c, p);
    try.schedule = p->k <= 2 * try.bk ? KN_SCHED_WHOLE : KN_SCHED_STREAM;
    if (!try.domain.align_a)
        try.domain = kn_domain_of(p, 256, try.bk);
    if (!try.group_m)
        try.group_m = 1;
    if (kn_bk_lacks(c, p, &try) || !kn_tile_fit(c, p, &try))
        return false;
    *g = try;
    if (why)
        kn_put(why, "few rows, stored weights: fragments from memory\n");
    return true;
}

/* Someone who knows better than the rules: a tuned row, the forms for few
 * rows, streams. `why` ends with who decided. */
static kiln_status
pick_known(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
           struct kn_buf **why)
{
    KN_TRY(kn_pick_tuned(c, p, g, *why));
    if (!g->bm && kn_reads_of(g) != KN_READS_RUNS &&
        (kn_pick_small(c, p, g, *why) || pick_stream(c, p, g, *why)))
        *why = NULL;
    return KILN_OK;
}

/* The tile, its K, schedule and slots, and the domain they are for. */
static kiln_status
settle_tile(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            bool given)
{
    struct kn_openings open = { !g->bk, !g->domain.align_a };
    bool decided = g->bm != 0;
    const char *lacks;

    if (!g->bk) {
        g->bk = natural_bk(c, p);
        if (given && kn_dequant(p))
            shorten_bk(c, p, g);
    }
    lacks = kn_bk_lacks(c, p, g);
    if (lacks)
        return kn_fail(c, KILN_BAD_INPUT, "%s", lacks);
    if (!g->domain.align_a)
        g->domain = kn_domain_of(p, 256, g->bk);
    if (decided)
        return check_given(c, p, g, &open);
    if (!kn_pick_tile(c, p, g, &open) && g->wm)
        return kn_fail(c, KILN_BAD_INPUT, "no tile of this family can be "
                       "shared by %ux%u waves", g->wm, g->wn);
    if (!g->bm)
        return kn_fail(c, KILN_UNSUPPORTED, "no tile of this family fits the "
                       "registers and LDS of %s",
                       kiln_target_name(p->target));
    return KILN_OK;
}

static void
explain_tile(const kiln_problem *p, bool given, struct kn_buf *why)
{
    if (!given && p->family == KILN_MOE)
        kn_putf(why, "blocks of %u sorted rows: %s\n", p->block_m,
                p->block_m <= 32 ? "narrow tiles, since reading B is the work"
                : "the largest tile that gives all compute units work");
    else
        kn_putf(why, given ? "the tile was given\n"
                           : "the tile whose rounds over %u compute units "
                             "cost least\n",
                kn_targets[p->target].cus);
}

/* moe's last stage: rows are added up, 256 columns and their shares a wave. */
static struct kn_config
reduce_config(const kiln_problem *p)
{
    struct kn_domain d = kn_domain_of(p, 256, 0);

    return (struct kn_config){ .bm = 1, .bn = 256u * d.vec, .bk = 1, .wm = 4,
                               .wn = 1, .stages = 1, .split_k = 1,
                               .group_m = 1, .xcd = 1, .domain = d };
}

static kiln_status
given_gemv(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    const char *lacks;

    KN_TRY(kn_form_check(c, p, g));
    lacks = kn_gemv_choose(p, g);
    return lacks ? kn_fail(c, KILN_BAD_INPUT, "the schedule gemv %s", lacks)
                 : KILN_OK;
}

kiln_status
kn_choose(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
          struct kn_buf *why)
{
    bool given = g->bm != 0, decided;
    const char *lacks;

    if (p->stage == KILN_MOE_REDUCE) {
        *g = reduce_config(p);
        return KILN_OK;
    }
    lacks = p->family == KILN_MOE ? kn_moe_lacks(c, p, g) : NULL;
    if (lacks)
        return kn_fail(c, KILN_BAD_INPUT, "%s", lacks);
    if (kn_reads_of(g) == KN_READS_RUNS)
        return given_gemv(c, p, g);
    if (kn_schedules[g->schedule].asm_only && !g->lowering)
        g->lowering = KN_LOWERING_ASM;
    if (kn_schedules[g->schedule].asm_only && g->lowering == KN_LOWERING_LLVM)
        return kn_fail(c, KILN_BAD_INPUT, "the schedule deep is one of the "
                       "assembly lowering, not of LLVM's");
    if (kn_pick_mfma(p) < 0)
        return kn_fail(c, KILN_UNSUPPORTED, "%s has no matrix instruction for "
                       "%s x %s", kiln_target_name(p->target),
                       kiln_type_name(p->a), kiln_type_name(p->b));
    if (!given)
        KN_TRY(pick_known(c, p, g, &why));
    if (kn_reads_of(g) == KN_READS_RUNS)
        return KILN_OK;
    decided = !given && g->bm;
    KN_TRY(settle_tile(c, p, g, given));
    KN_TRY(kn_choose_rest(c, p, g));
    KN_TRY(kn_form_check(c, p, g));
    if (why && !decided)
        explain_tile(p, given, why);
    kn_choose_lowering(p, g, why);
    return KILN_OK;
}
