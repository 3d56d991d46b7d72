/* choose.c - decides what the user left open, and refuses what cannot be of
 * what was asked for. */
#include "../aiter.h"
#include "choose.h"

#include <string.h>

#include "../forms.h"
#include "../instantiate.h"
#include "../quant.h"
#include "../tuning/tuning.h"
#include "../panels.h"

/* ---- a tuned row ---- */

/* Where `4-wave` can, it takes the tile and the map of a row that leaves waves and
 * schedule open, or has its waves; other rows were found with other loops. A row
 * that names a loop means that one. */
static void
take_4wave(struct kn_ctx *c, const kiln_problem *p, struct kn_config *row,
          bool waves)
{
    struct kn_config open = *row;

    if (row->schedule) {
        if (kn_schedules[row->schedule].asm_only && !row->lowering)
            row->lowering = KN_LOWERING_ASM;
        return;
    }
    open.wm = open.wn = open.stages = 0;
    open.schedule = 0;
    kn_prefer_4wave(c, p, &open, &(struct kn_openings){ 0 });
    if (open.schedule && kn_schedules[open.schedule].asm_only &&
        (!waves || (open.wm == row->wm && open.wn == row->wn)))
        *row = open;
}

/* Fills what the user left open from a tuned row; false if the row cannot be
 * built for this problem. Rows are found with aligned operands: others take
 * other loads, and the rules. */
static bool
take_row(struct kn_ctx *c, const kiln_problem *p, const char *text,
         struct kn_config *g)
{
    struct kn_config row = { 0 };
    bool waves;

    if (kn_config_read(c, text, &row))
        return false;
    waves = row.wm != 0;
    row.bk = g->bk ? g->bk : row.bk;
    if (g->wm) {
        row.wm = g->wm;
        row.wn = g->wn;
    }
    kn_config_over(&row, g);
    if (kn_reads_of(&row) == KN_READS_RUNS) {
        if (kn_runs_choose(p, &row))
            return false;
        *g = row;
        return true;
    }
    if (kn_family_of(p)->routed && kn_moe_lacks(c, p, &row))
        return false;
    kn_default_waves(p, &row);
    if (kn_bk_lacks(c, p, &row))
        return false;
    row.domain = g->domain.align_a ? g->domain : kn_domain_of(p, 256, row.bk);
    if ((!g->wm && !g->schedule && !g->stages) || row.schedule)
        take_4wave(c, p, &row, waves);
    if (row.domain.align_a < 16 || row.domain.align_b < 16 ||
        !kn_shareable(&row) || row.stages > KN_MAX_STAGES || !kn_tile_fit(c, p, &row))
        return false;
    *g = row;
    return true;
}

static kiln_status
pick_tuned(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
           struct kn_buf *why)
{
    struct kn_tuned *row;
    size_t n;

    KN_TRY(kn_tuning_find(c, p, &row, &n));
    for (size_t i = 0; i < n; i++) {
        bool taken;

        if (!strcmp(row[i].config, KN_FALLBACK))
            return kn_fail(c, KILN_FALLBACK, "tuned row %s: use another "
                           "library here", row[i].place);
        taken = take_row(c, p, row[i].config, g);

        if (why)
            kn_putf(why, "tuned row %s %s\n", row[i].place,
                    taken ? "decides" : "cannot be built for this problem");
        if (taken)
            return KILN_OK;
    }
    if (why && !n)
        kn_put(why, "no tuned row fits\n");
    return KILN_OK;
}

/* ---- the rest, once there is a tile ---- */

enum { MANY_ROWS = 64 };

static kiln_status
check_split(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    if (!g->split_k)
        g->split_k = 1;
    if (g->split_k > KN_SPLIT_MOST)
        return kn_fail(c, KILN_BAD_INPUT, "split-K divides K into at most %u "
                       "shares, not %u", KN_SPLIT_MOST, g->split_k);
    if (g->split_after && g->split_k < 2)
        return kn_fail(c, KILN_BAD_INPUT, "tiles behind the last whole round "
                       "of %u are not divided without shares: --split-k 2 to "
                       "%u", g->split_after, KN_SPLIT_MOST);
    if (g->split_k > 1 && p->k < (int64_t)kn_share_k(p, g) * g->split_k)
        g->domain.ktail = 1;
    g->join = kn_joins_all(p, g) ? KN_JOIN_ALL : KN_JOIN_LAST;
    return KILN_OK;
}

/* Surplus tiles of large blocks copy too much in vain; halves leave ids of 256 no registers. */
static void
choose_early(const kiln_problem *p, struct kn_config *g)
{
    struct kn_config both = *g;
    bool full = (g->bm > 128 && kn_reads_of(g) == KN_READS_HALVES) || kn_4wave_packed(p, g);

    both.early = KN_EARLY_BOTH;
    if (!kn_family_of(p)->routed)
        g->early = KN_EARLY_ANY;
    else if (!g->early)
        g->early = full ? KN_EARLY_NONE /* no registers for ids over the loop */
                 : g->bm <= 32 && kn_form_allows(p, &both) ? KN_EARLY_BOTH : KN_EARLY_IDS;
}

/* Whether the dies share the tiles of experts that have many rows, as those of groups, to read B
 * once. Of fewer rows B is read once in any order; walks take runs of what is not widened, too. */
static bool
runs_of_blocks(const kiln_problem *p, const struct kn_config *g)
{
    bool many = g->bm >= MANY_ROWS && p->tokens * p->topk >= MANY_ROWS * (int64_t)p->groups;

    return g->xcd > 1 && (many || (g->cus && !kn_dequant(p))) &&
           kn_tiles_of(p, g->bm, g->bn) >= (uint64_t)8 * g->group_m * g->xcd;
}

/* A persistent kernel has no scalar registers to spare for the scalar lookup.
 * Groups of a wgrad differ in work, and one after the other their tiles would
 * be one die's: the dies take runs in turn (4 rows of tiles by 4). Runs of the
 * tiles of ragged groups are those of a die's compute units: the dies share
 * what they read of a group (docs/choosing.md). */
static void
choose_map(const kiln_problem *p, struct kn_config *g)
{
    if (kn_family_of(p)->ragged == 'k' && p->groups > 1 && !g->xcd_run)
        g->xcd_run = 4 * g->group_m;
    if (kn_family_of(p)->ragged == 'm' && p->groups > 1 && !g->xcd_run &&
        (!g->cus || kn_schedules[g->schedule].asm_only) && g->xcd > 1 &&
        kn_tiles_of(p, g->bm, g->bn) >= (uint64_t)8 * g->group_m * g->xcd)
        g->xcd_run = 8 * g->group_m;
    if (kn_family_of(p)->routed)
        g->group_n = 0;
    if (kn_family_of(p)->routed && !g->xcd_run && runs_of_blocks(p, g))
        g->xcd_run = 8 * g->group_m;
    if (kn_family_of(p)->ragged != 'm')
        g->lookup = KN_LOOKUP_OPEN;
    else if (!g->lookup)
        g->lookup = p->groups <= KN_FEW_GROUPS && !g->cus ? KN_LOOKUP_FEW
                                               : KN_LOOKUP_MANY;
}

/* Of one product no two tiles share columns, unless skinny.c has said so; those of groups are
 * dealt as others are. */
static void
map_runs(const kiln_problem *p, struct kn_config *g)
{
    bool one = kn_one_product(p);

    if (!g->xcd)
        g->xcd = one ? 1 : (uint8_t)kn_xcds(p);
    g->group_m = one ? 1 : g->group_m ? g->group_m : 4;
    choose_map(p, g);
}

/* Workgroups that a compute unit is known to have at once. */
static uint32_t
beside(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_score *s = kn_score_row(p, g);

    return s ? kn_score_beside(p, g, s) : 1;
}

/* Rows wider than a tile, whose waves meet where they had better. Of loops without LDS as
 * many workgroups are beside each other as registers allow, of which codes need more. */
static void
choose_panels(const kiln_problem *p, struct kn_config *g)
{
    struct kn_config loop = *g;
    const struct kn_score *s;
    bool straight = kn_direct_to_reg(g);

    if (straight)
        loop.schedule = KN_SCHED_DIRECT;
    s = kn_score_row(p, &loop);
    if (!s || g->join || kn_score_meets(p, g, s))
        kn_map_panels(p, g, !s ? 1 : straight ? (3 * s->residents + 3) / 4 : s->residents);
}

/* Runs of rows, if LDS has room for them beside the slots of as many workgroups. */
static void
choose_store(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config lds = *g;

    lds.store = KN_STORE_LDS;
    if (!g->store)
        g->store = kn_runs_pay(p, g) && kn_form_allows(p, &lds) &&
                           kn_tile_lds(c, p, &lds) * beside(p, g) <=
                               kn_targets[p->target].lds
                       ? KN_STORE_LDS : KN_STORE_DIRECT;
}

/* Why a large tile has not the schedule that is for it, or NULL. */
static const char *
lacks_4wave(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_config try = *g;

    try.wm = try.wn = 2;
    try.schedule = KN_SCHED_4WAVE;
    try.stages = 0;
    return kn_form_lacks(p, &try);
}

static void
choose_lowering(const kiln_problem *p, struct kn_config *g, struct kn_buf *why)
{
    bool large = g->bm == 256 && g->bn == 256;
    bool open = !g->lowering, four = kn_schedules[g->schedule].asm_only;
    const char *lacks = large ? lacks_4wave(p, g) : NULL;

    if (open)
        g->lowering = kn_form_assembly(p, g) ? KN_LOWERING_ASM
                                             : KN_LOWERING_LLVM;
    if (why && four)
        kn_putf(why, "a %ux%u tile: four waves with all registers, as "
                "assembly of our own\n", g->bm, g->bn);
    else if (why && open && large)
        kn_putf(why, "lowered %s%s%s\n", g->lowering == KN_LOWERING_ASM
                ? "as assembly of our own" : "through LLVM",
                lacks ? ": the schedule 4-wave " : "", lacks ? lacks : "");
}

/* Of rows with one scale each, a tile that is not as wide as they are. */
static void
needs_panels(const kiln_problem *p, struct kn_config *g)
{
    g->domain.panels = kn_panels(p, g);
}

/* Tile rows that a band has anyway: without bands a workgroup divides once instead of twice
 * before it asks for anything. Not of a tile that is asked for: that kernel is of any M. */
static bool
in_one_band(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_family *f = kn_family_of(p);

    return !f->ragged && !f->routed && !f->unary && !g->group_n && !kn_panels(p, g) &&
           g->abi != KN_ABI_AITER && p->m > 0 && p->m <= (int64_t)g->group_m * g->bm;
}

static kiln_status
choose_rest(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    needs_panels(p, g);
    choose_panels(p, g);
    kn_meet_beside(c, p, g, beside(p, g));
    KN_TRY(check_split(c, p, g));
    choose_early(p, g);
    if (!g->xcd)
        g->xcd = kn_xcds(p);
    if (!g->group_m)
        g->group_m = 4;
    choose_map(p, g);
    choose_store(c, p, g);
    return kn_form_allowed(c, p, g, KN_DECIDED);
}

/* ---- the tile ---- */

/* Why a given tile does not fit. */
static kiln_status
refuse_fit(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    uint32_t least = kn_least_stages(p, g), have = kn_register_limit(g), need;
    struct kn_config two = *g;

    two.stages = g->stages ? g->stages : least;
    need = kn_tile_registers(c, p, &two);
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
    return kn_fail(c, KILN_BAD_INPUT, "a %ux%ux%u tile needs with %u stages "
                   "%u bytes of LDS of %u", g->bm, g->bn, g->bk, two.stages,
                   kn_tile_lds(c, p, &two),
                   kn_targets[p->target].lds);
}

static kiln_status
check_given(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            const struct kn_openings *open)
{
    needs_panels(p, g);
    kn_prefer_4wave(c, p, g, open);
    needs_panels(p, g);
    kn_default_waves(p, g);
    if (kn_shuffled(p) && ((g->bm % 32 && !kn_family_of(p)->routed) ||
                           g->bn % 32))
        return kn_fail(c, KILN_BAD_INPUT, "shuffled scales need a tile of "
                       "multiples of 32");
    if (!kn_shareable(g))
        return kn_fail(c, KILN_BAD_INPUT, "a %ux%u tile cannot be shared by "
                       "%ux%u waves: each needs multiples of 16, at most 256 "
                       "in all, %d with the schedule 4-wave",
                       g->bm, g->bn, g->wm, g->wn, KN_WIDEST);
    if (g->stages > KN_MAX_STAGES)
        return kn_fail(c, KILN_BAD_INPUT, "--stages is 1 to %d", KN_MAX_STAGES);
    if (kn_direct_to_reg(g))
        KN_TRY(kn_form_check(c, p, g));
    if (!kn_tile_fit(c, p, g))
        return refuse_fit(c, p, g);
    return KILN_OK;
}

/* Someone who knows better than the rules: a tuned row, the forms for few
 * rows, streams. `why` ends with who decided. */
static kiln_status
pick_known(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
           struct kn_buf **why, bool *tuned)
{
    KN_TRY(pick_tuned(c, p, g, *why));
    *tuned = g->bm || kn_reads_of(g) == KN_READS_RUNS;
    if (!g->bm && kn_reads_of(g) != KN_READS_RUNS &&
        (kn_pick_small(c, p, g, *why) || kn_pick_direct(c, p, g, *why)))
        *why = NULL;
    return KILN_OK;
}

/* Where no tile fits with its natural K, one that is staged less at a time. */
static bool
pick_tile(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
          const struct kn_openings *open)
{
    const struct kn_config asked = *g;
    uint32_t bk = asked.bk, step = kn_step_k(c, p, bk);

    if (kn_family_of(p)->routed && open->bk && open->domain && kn_pick_routed(c, p, g))
        return true;
    while (!kn_pick_tile(c, p, g, open)) {
        struct kn_config next = asked;

        bk /= 2;
        next.bk = bk;
        if (!open->bk || bk < step || bk % step || kn_bk_lacks(c, p, &next))
            return false;
        *g = next;
        if (open->domain)
            g->domain = kn_domain_of(p, 256, bk);
    }
    return true;
}

/* Where no wave has registers for all columns of a row, tiles that are narrower. */
static bool
pick_panels(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    for (uint32_t size = 128; p->out_scale == KILN_OUT_ROW && size >= 32; size /= 2) {
        struct kn_config try = *g;

        try.bm = kn_family_of(p)->routed ? kn_block_rows(p) : size;
        try.bn = size;
        needs_panels(p, &try);
        kn_default_waves(p, &try);
        if (kn_shareable(&try) && kn_tile_fit(c, p, &try) && !kn_form_lacks(p, &try)) {
            *g = try;
            return true;
        }
    }
    return false;
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
        g->bk = kn_natural_bk(c, p);
        if (given && kn_dequant(p))
            kn_shorten_bk(c, p, g);
    }
    lacks = kn_bk_lacks(c, p, g);
    if (lacks)
        return kn_fail(c, KILN_BAD_INPUT, "%s", lacks);
    if (!g->domain.align_a)
        g->domain = kn_domain_of(p, 256, g->bk);
    if (decided)
        return check_given(c, p, g, &open);
    if (!pick_tile(c, p, g, &open) && g->wm)
        return kn_fail(c, KILN_BAD_INPUT, "no tile of this family can be "
                       "shared by %ux%u waves", g->wm, g->wn);
    if (!g->bm && pick_panels(c, p, g))
        return KILN_OK;
    if (!g->bm && kn_writes_scales(p))
        return kn_fail(c, KILN_UNSUPPORTED, "a wave of %s has no registers for "
                       "all columns of an output scale beside these operands: "
                       "--out-scale block128 and mx32 have fewer, and rows at "
                       "multiples of 4 bytes take fewer",
                       kiln_target_name(p->target));
    if (!g->bm)
        return kn_fail(c, KILN_UNSUPPORTED, "no tile of this family fits the "
                       "registers and LDS of %s",
                       kiln_target_name(p->target));
    return KILN_OK;
}

/* Lines, unless a walk over tiles, which copies none, has the better score. */
static void
take_lines(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *asked,
           struct kn_config *g)
{
    struct kn_config lines = *g;
    double us, by_tiles;

    if (!kn_prefer_lines(c, p, asked, &lines))
        return;
    us = kn_score_known(p, &lines);
    by_tiles = g->cus && !asked->cus ? kn_score_known(p, g) : 0;
    if (us <= 0 || by_tiles <= 0 || us <= by_tiles)
        *g = lines;
}

static void
explain_tile(const kiln_problem *p, bool given, struct kn_buf *why)
{
    if (!given && kn_family_of(p)->routed)
        kn_putf(why, "blocks of %u sorted rows: %s\n", kn_block_rows(p),
                p->block_m <= 32 ? "narrow tiles, since reading B is the work"
                : "the largest tile that gives all compute units work");
    else
        kn_putf(why, given ? "the tile was given\n"
                           : "the tile whose rounds over %u compute units cost least\n", kn_cus(p));
}

/* moe's last stage: rows are added up, 256 columns and their shares a wave. */
static struct kn_config
reduce_config(const kiln_problem *p)
{
    struct kn_domain d = kn_domain_of(p, 256, 0);

    return (struct kn_config){ .bm = 1, .bn = 256u * d.vec, .bk = 1, .wm = 4, .wn = 1,
                               .stages = 1, .split_k = 1, .group_m = 1, .xcd = 1, .domain = d };
}

static kiln_status
settle_runs(const kiln_problem *p, struct kn_config *g, struct kn_buf *why)
{
    map_runs(p, g);
    choose_lowering(p, g, why);
    return KILN_OK;
}

static kiln_status
given_runs(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g, struct kn_buf *why)
{
    const char *lacks;

    KN_TRY(kn_form_check(c, p, g));
    lacks = kn_runs_choose(p, g);
    return lacks ? kn_fail(c, KILN_BAD_INPUT, "the schedule %s %s", kn_schedule_names[g->schedule],
                           lacks) : settle_runs(p, g, why);
}

/* What was asked, and how the choice came about. */
struct choice {
    struct kn_config asked;
    bool given, decided, tuned;      /* the tile: asked for; neither by rules; by a tuned row */
    struct kn_buf *why;
};

/* Refusals, and what follows from what was asked, before anything is chosen. */
static kiln_status
check_asked(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    KN_TRY(kn_form_allowed(c, p, g, KN_ASKED));
    if (p->invariant)
        g->split_k = 1;
    if (g->abi != KN_ABI_AITER)
        return KILN_OK;
    KN_TRY(kn_aiter_serves(c, p, g));
    kn_aiter_open(p, kn_natural_bk(c, p), g);
    return KILN_OK;
}

/* The tile, its loop and shares of K; or a schedule of few rows, which is complete. */
static kiln_status
choose_tile(struct kn_ctx *c, const kiln_problem *p, struct choice *x, struct kn_config *g)
{
    if (!x->given && g->abi != KN_ABI_AITER)
        KN_TRY(pick_known(c, p, g, &x->why, &x->tuned));
    if (kn_reads_of(g) == KN_READS_RUNS)
        return KILN_OK;
    x->decided = !x->given && g->bm;
    KN_TRY(settle_tile(c, p, g, x->given));
    take_lines(c, p, &x->asked, g);
    if (!x->tuned && kn_prefer_scored(c, p, &x->asked, g)) {
        x->decided = true;
        if (x->why)
            kn_put(x->why, "the tile and shares of K with the best score\n");
    } else if (!x->given && !x->tuned && !x->decided) {
        kn_share_unaligned(p, &x->asked, g);
    }
    if (!x->given && !x->tuned && !kn_prefer_skinny(p, &x->asked, g, x->why))
        kn_refine(c, p, &x->asked, g);
    return KILN_OK;
}

/* All else of a tile that is chosen. */
static kiln_status
settle_rest(struct kn_ctx *c, const kiln_problem *p, const struct choice *x, struct kn_config *g)
{
    if (g->abi == KN_ABI_AITER)
        KN_TRY(kn_aiter_settle(c, p, g));
    KN_TRY(choose_rest(c, p, g));
    if (!x->given && !x->asked.group_m && in_one_band(p, g))
        g->group_m = KN_ONE_BAND;
    if (!g->run)
        g->run = kn_quantised_run(p, g);
    kn_settle_folds(c, p, g);
    if (!x->asked.scale_turns)
        kn_settle_scale_turns(c, p, g);
    if (!x->asked.domain.align_a)
        g->domain.ktail = kn_tail_of(p, g);
    KN_TRY(kn_form_check(c, p, g));
    if (x->why && !x->decided)
        explain_tile(p, x->given, x->why);
    choose_lowering(p, g, x->why);
    return KILN_OK;
}

kiln_status
kn_choose_as_it_is(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
                   struct kn_buf *why)
{
    struct choice x = { .why = why };
    const char *lacks;

    KN_TRY(check_asked(c, p, g));
    x.asked = *g;
    x.given = g->bm != 0;
    if (kn_family_of(p)->unary)
        return kn_quant_choose(c, p, g);
    if (p->stage == KILN_MOE_REDUCE) {
        *g = reduce_config(p);
        return KILN_OK;
    }
    lacks = kn_family_of(p)->routed ? kn_moe_lacks(c, p, g) : NULL;
    if (lacks)
        return kn_fail(c, KILN_BAD_INPUT, "%s", lacks);
    if (kn_reads_of(g) == KN_READS_RUNS)
        return given_runs(c, p, g, why);
    if (kn_schedules[g->schedule].asm_only)
        g->lowering = KN_LOWERING_ASM;
    if (kn_pick_mfma(p) < 0)
        return kn_fail(c, KILN_UNSUPPORTED, "%s has no matrix instruction for %s x %s",
                       kiln_target_name(p->target), kiln_type_name(p->a), kiln_type_name(p->b));
    KN_TRY(choose_tile(c, p, &x, g));
    return kn_reads_of(g) == KN_READS_RUNS ? settle_runs(p, g, x.why) : settle_rest(c, p, &x, g);
}
