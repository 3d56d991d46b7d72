/* refine.c - what a tile that was chosen has otherwise than its score was measured with,
 * or its rule says: eight waves in the place of four, no more slots than K tiles. Of what
 * was left open; measured as `kilnc time` predicts it (docs/choosing.md). */
#include "choose.h"

#include "../forms.h"
#include "../instantiate.h"

enum { FEW_TURNS = 8, LEAST_SLICE = 512 }; /* K tiles; elements */

/* Of operands through registers not weights that are widened, and MX types of 256 K alone: more
 * waves load what scales there are of fewer K (measured). */
static bool
loads_pay(const kiln_problem *p, const struct kn_config *g)
{
    return kn_direct(p, g) ||
           (!kn_dequant(p) && (!kn_mx_scales(p) ||
                               (g->bk == 256 && kn_type_bits[p->a] != 6 &&
                                kn_type_bits[p->b] != 6)));
}

/* Tiles in which each share adds up a slice: eight waves have more of its loads and stores
 * under way than four. Scales of few K tiles, which twice as many waves read, and slices
 * of few elements take what that gains. Unscaled products are sooner, too, but K tails of
 * copies that are read transposed (measured). */
static bool
eight_pay(const kiln_problem *p, const struct kn_config *g)
{
    bool scales = kn_mx_scales(p), turned = p->layout != KILN_NT;
    uint32_t area = g->bm * g->bn;

    if (!kn_targets[p->target].scaled || kn_reads_of(g) != KN_READS_STEP || g->cus ||
        g->wm * g->wn != 4 || !loads_pay(p, g) || !kn_form_assembly(p, g) ||
        kn_type_bits[p->a] > 16 || (turned && g->domain.ktail && kn_direct(p, g)))
        return false;
    if (!kn_joins_slices(p, g))
        return p->scale < KILN_SCALE_BLOCK128 && g->split_k < 2 && area >= 128 * 64 &&
               area <= 128 * 128 && p->k >= 4 * (int64_t)g->bk;
    return area >= 64 * 64 && area >= LEAST_SLICE * g->split_k &&
           (!scales || p->k > FEW_TURNS * (int64_t)g->bk * g->split_k);
}

/* How many of the ways that eight waves stand in pay: those of more columns than rows most;
 * in one row of waves each reads all of A (measured). */
static size_t
ways_of_eight(const kiln_problem *p, const struct kn_config *g)
{
    if (!kn_joins_slices(p, g))
        return g->copies == KN_COPIES_LINES ? 1 : 2;
    return kn_mx_scales(p) ? 2 : 3;
}

static void
double_waves(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    static const uint8_t waves[][2] = { { 2, 4 }, { 4, 2 }, { 1, 8 } };
    size_t n = ways_of_eight(p, g);

    for (size_t i = 0; i < n && eight_pay(p, g); i++) {
        struct kn_config try = *g;

        try.wm = waves[i][0];
        try.wn = waves[i][1];
        try.join = kn_joins_slices(p, g) ? KN_JOIN_ALL : g->join;
        if (kn_shareable(&try) && !kn_form_lacks(p, &try) && kn_has_registers(c, p, &try) &&
            kn_tile_fit(c, p, &try))
            *g = try;
    }
}

/* As kn_filled_stages(), of what was not known there, shares of K and copies by lines: slots
 * of K tiles that there are, and the one that the loop keeps free (by lines two), of a K whose
 * end waits for all that was copied to clip it: none is copied that no product has. */
static void
drop_slots(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    int64_t tiles = (p->k + g->bk - 1) / g->bk, shares = g->split_k ? g->split_k : 1;
    bool scales = kn_mx_scales(p) && !kn_shuffled(p);
    uint32_t least = scales ? kn_least_stages(p, g) : 3;
    struct kn_config try = *g;

    tiles = (tiles + shares - 1) / shares + 1 + (g->copies == KN_COPIES_LINES);
    if (!p->k || !g->domain.ktail || !kn_direct(p, g) || g->cus || tiles >= g->stages ||
        g->stages <= least ||
        (kn_reads_of(g) != KN_READS_STEP && kn_reads_of(g) != KN_READS_PARTS))
        return;
    try.stages = tiles > least ? (uint8_t)tiles : least;
    if (!kn_form_lacks(p, &try) && kn_has_registers(c, p, &try) && kn_tile_fit(c, p, &try))
        *g = try;
}

/* Of several products those whose workgroups wait: not gfx942's 128-blocks and largest tiles. */
static bool
third_pays(const kiln_problem *p, const struct kn_config *g)
{
    bool small = !kn_blocks(p) && g->bm * g->bn < 128 * 128;

    return kn_one_product(p) || (!kn_family_of(p)->routed && kn_family_of(p)->ragged != 'k' &&
                                 (small || kn_targets[p->target].dma == 16));
}

/* Of two K tiles through registers a third slot has the second on its way beside the first, which
 * scores do not compare: 0.94 to 1.01 of the time, of several products 0.76 to 1.03. */
static void
add_slot(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config three = *g;

    three.stages = 3;
    if (g->stages == 2 && p->k > (int64_t)g->bk && p->k <= 2 * (int64_t)g->bk &&
        !kn_direct(p, g) && kn_reads_of(g) == KN_READS_STEP && g->split_k < 2 &&
        third_pays(p, g) && kn_form_assembly(p, g) && kn_third_slot_fits(c, p, g) &&
        kn_tile_fit(c, p, &three))
        *g = three;
}

/* Small tiles beside batches of scales, alone on their compute units: the slots that scores were
 * measured with have less on its way than memory takes to answer, by lines one K tile less again,
 * and between them and twice as many there is no number that batches repeat with. 0.85 to 1.02 of
 * the time; one wave asks for so many too slowly. */
static void
double_slots(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t waves = g->wm * g->wn, shares = g->split_k ? g->split_k : 1;
    uint32_t most = g->copies == KN_COPIES_LINES && waves > 2 ? 16384 : 8192; /* bytes */
    uint32_t bits = g->bm * kn_type_bits[p->a] + g->bn * kn_type_bits[p->b];
    bool few = g->stages == KN_MAX_STAGES / 2 || g->stages == KN_MAX_STAGES / 2 + 1;
    struct kn_config eight = *g;

    eight.stages = KN_MAX_STAGES;
    if (few && waves > 1 && kn_reads_of(g) == KN_READS_STEP &&
        kn_mx_scales(p) && kn_one_product(p) && kn_direct(p, g) && bits * g->bk <= 8 * most &&
        p->k >= (int64_t)(KN_MAX_STAGES * shares * g->bk) && !g->cus &&
        kn_tiles_of(p, g->bm, g->bn) * shares <= kn_cus(p) && !kn_line_ring(p, g) &&
        kn_scale_batch(p, &eight) && !kn_form_lacks(p, &eight) &&
        kn_has_registers(c, p, &eight) && kn_tile_fit(c, p, &eight))
        *g = eight;
}

/* Loops whose waves run half a K tile apart do so for nothing in a short K: of up to four K tiles
 * the tile in `simple` takes 0.89 to 0.96 of the time, but of 128-blocks up to 1.17 (20 drawn). */
static void
run_together(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    enum { BRIEF = 4 };      /* K tiles */
    bool product = kn_one_product(p) || kn_family_of(p)->batch;
    struct kn_config simple = *g;

    simple.schedule = KN_SCHED_SIMPLE;
    if (kn_reads_of(g) == KN_READS_HALVES && !kn_blocks(p) && product && p->k &&
        p->k < BRIEF * (int64_t)g->bk && g->split_k < 2 && !kn_form_lacks(p, &simple) &&
        kn_has_registers(c, p, &simple) && kn_tile_fit(c, p, &simple))
        *g = simple;
}

/* Words of codes that waves widen behind their reads, whose place in LDS waits for memory a K tile
 * longer: of a share of so many K tiles, till when the first are widened alone. */
static void
keep_codes(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    int64_t least = (g->bm >= 64 ? 9 : 16) * (int64_t)kn_scale_k(p);
    struct kn_config codes = *g;

    codes.schedule = KN_SCHED_INTERLEAVE;
    codes.wm = 1;
    codes.wn = 8;
    codes.bk = (uint32_t)kn_scale_k(p);
    codes.stages = 3;
    if (g->schedule == KN_SCHED_SIMPLE && kn_one_product(p) && g->bn == 128 && g->bm >= 32 &&
        g->bm <= 80 && !g->cus && p->k >= least * (g->split_k ? g->split_k : 1) &&
        kn_puts_behind(p, &codes) && !kn_form_lacks(p, &codes) &&
        kn_has_registers(c, p, &codes) && kn_tile_fit(c, p, &codes))
        *g = codes;
}

/* Rows of codes that begin inside lines, of integers read by more tiles than slots of their own
 * would have waited for (measured on gfx942). */
static bool
needs_slots(const kiln_problem *p, const struct kn_config *g)
{
    if (p->b != KILN_I4)
        return p->k % 256 != 0;
    return kn_targets[p->target].dma < 16 && p->k % 128 &&
           kn_tiles_of(p, g->bm, 128) > 3 * kn_cus(p);
}

/* Whole lines copied once, of tiles in rounds: each loads its next tile while this one is stored;
 * 0.77 to 1.0 of the time, of two rounds of a long K more than without (90 problems drawn). */
static bool
rounds_pay(const kiln_problem *p, const struct kn_config *g)
{
    enum { SHORT_TURNS = 20 }; /* K tiles of two rounds */
    uint64_t tiles = kn_tiles_of(p, g->bm, g->bn), cus = kn_cus(p);

    return g->cus || (tiles > cus && (tiles > 2 * cus || p->k <= SHORT_TURNS * (int64_t)g->bk));
}

/* A walk copies them, too, where rows begin inside lines. */
static void
walk_by_lines(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config walk = *g;

    walk.cus = kn_cus(p);
    if (g->cus && kn_straddles(p, g) && 2 * p->k > 5 * (int64_t)g->bk)
        walk.copies = KN_COPIES_LINES;
    if (kn_targets[p->target].walks && g->split_k < 2 && !kn_family_of(p)->routed &&
        kn_4wave_packed(p, &walk) &&
        rounds_pay(p, g) && !(p->group_flags & KILN_TAIL_ZERO) && !kn_form_lacks(p, &walk) &&
        kn_has_registers(c, p, &walk) && !kn_was_refused(c, &walk))
        *g = walk;
}

/* Beside weights that are widened A's lines are loaded once. */
static void
load_lines(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *asked,
           struct kn_config *g)
{
    struct kn_config lines = *g;

    if (kn_widens_scaled(p) && kn_reads_of(g) == KN_READS_TILE &&
        kn_prefer_lines(c, p, asked, &lines) && !kn_was_refused(c, &lines))
        *g = lines;
}

void
kn_refine(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *asked,
          struct kn_config *g)
{
    if (!asked->schedule)
        run_together(c, p, g);
    if (!asked->schedule && !asked->stages && !asked->wm && !asked->bk)
        keep_codes(c, p, g);
    if (!asked->stages) {
        drop_slots(c, p, g);
        add_slot(c, p, g);
        double_slots(c, p, g);
    }
    if (!asked->stages && !kn_family_of(p)->routed && kn_widens_read(p, g) &&
        kn_scales_in_turns(p, g) && !needs_slots(p, g))
        g->stages = 1;       /* more workgroups of a compute unit, in place of slots */
    if (!asked->wm && !asked->join)
        double_waves(c, p, g);
    if (!asked->copies && !asked->stages)
        load_lines(c, p, asked, g);
    if (!asked->copies && g->copies != KN_COPIES_LINES && kn_may_end(p, g))
        g->copies = KN_COPIES_ENDS;
    if (!asked->cus && (!asked->copies || !g->cus))
        walk_by_lines(c, p, g);
    if (!asked->cus && kn_family_of(p)->routed)
        kn_walk_routed(c, p, g);
}

uint32_t
kn_quantised_run(const kiln_problem *p, const struct kn_config *g)
{
    bool half = p->lda * kn_type_bits[p->a] % (4 * KN_LINE) == 0 || !kn_along_k(p, 'a');
    bool large = kn_crowded_lines(p, g);
    bool slow = p->b == KILN_I8 ? large || g->bm <= 32 : large && p->a == KILN_F16;

    return kn_prequant(p) && kn_has_runs_of_16(g) && !half && !slow &&
                   kn_targets[p->target].packed_waits ? 8 : 0;
}

/* Runs of 6 bits that a thread folds, and sums, have more registers than there are. */
static bool
folds_too_many(const struct kn_config *g)
{
    enum { OF_RUN = 20, MOST = 192 };  /* 128x128x128 of four waves has too many, 224x256x64 not */
    uint32_t threads = g->wm * g->wn * 64, each = threads * KN_FOLD / 2;
    uint32_t runs = (g->bm * g->bk + each - 1) / each + (g->bn * g->bk + each - 1) / each;

    return g->bm * g->bn / threads + OF_RUN * runs > MOST;
}

/* Two K tiles take up to 1.16 times as long folded, three 0.93 to 1.03; of 6 bits two of 128 K
 * 1.0, four of 256 1.03 to 1.15, any of 64 less (measured, `time` with and without --invariant,
 * seven tiles). */
bool
kn_stays_unfolded(const kiln_problem *p, const struct kn_config *g)
{
    int64_t shares = g->split_k > 1 ? g->split_k : 1;
    bool six = kn_type_bits[p->a] == 6;
    int64_t tiles = six ? g->bk / 64 : 2;

    return kn_folds_scales(p, g) &&
           ((p->k && p->k <= tiles * shares * g->bk) || (six && folds_too_many(g)));
}

/* A that is quantised is loaded up to K where a lane's load lies before or behind it. */
uint8_t
kn_tail_of(const kiln_problem *p, const struct kn_config *g)
{
    bool runs = kn_prequant(p) && p->k && p->k * kn_type_bits[p->a] % 128 == 0 &&
                g->domain.align_a >= 16 && kn_along_k(p, 'a') &&
                !kn_crowded_lines(p, g);

    return runs && g->domain.ktail && g->stagger < 2 && g->abi != KN_ABI_AITER &&
                   !kn_family_of(p)->routed && kn_family_of(p)->ragged != 'k'
               ? KN_TAIL_RUNS : g->domain.ktail;
}

/* Scales that multiply products lie in LDS, which some tiles have no room for. */
void
kn_settle_folds(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config try = *g;

    try.unfolded = 1;
    if (kn_stays_unfolded(p, g) && kn_tile_lds(c, p, &try) <= kn_targets[p->target].lds)
        g->unfolded = 1;
}
