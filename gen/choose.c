/* choose.c - decides what the user left open. Every candidate tile is checked
 * against LDS and registers of the target; the one whose rounds over the
 * compute units cost least wins. */
#include "choose.h"
#include "gemv.h"
#include "instantiate.h"
#include "room.h"
#include "tuning.h"

#include <string.h>

struct tile {
    uint32_t bm, bn, wm, wn;
    uint32_t cost;           /* of a multiplication, 256x256 is 100 */
};

/* Largest first. 8 waves at 256x256, 4 below (docs/hardware.md 5). Costs: the
 * predicted clocks of a K tile over its area, bf16, gfx950 (docs/timing.md). */
static const struct tile tiles[] = {
    { 256, 256, 2, 4, 100 }, { 128, 256, 2, 4, 118 }, { 256, 128, 2, 4, 118 },
    { 128, 128, 2, 2, 150 }, { 128, 64, 2, 2, 250 },  { 64, 128, 2, 2, 250 },
    { 64, 64, 2, 2, 410 },   { 32, 64, 2, 2, 600 },   { 32, 32, 2, 2, 820 },
    { 256, 192, 0, 0, 104 }, { 128, 192, 0, 0, 125 }, /* only as deep_tiles */
};

/* moe: a tile row is block_m sorted rows. Few rows: one row of waves, each
 * with all rows and its share of the columns. Costs are not compared: up to 32
 * rows reading B is the work, and narrow tiles leave LDS for more workgroups
 * of a compute unit (docs/moe.md). */
static const struct tile moe_tiles[] = {
    { 128, 256, 2, 4, 0 }, { 128, 128, 2, 2, 0 }, { 128, 64, 2, 2, 0 },
    { 64, 256, 1, 4, 0 },  { 64, 128, 1, 4, 0 },  { 64, 64, 1, 2, 0 },
    { 32, 256, 1, 4, 0 },  { 32, 128, 1, 4, 0 },  { 32, 64, 1, 2, 0 },
    { 16, 256, 1, 4, 0 },  { 16, 128, 1, 4, 0 },  { 16, 64, 1, 2, 0 },
};

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
         (p->family != KILN_MOE && p->m <= 64)))
        return 256;
    return p->scale == KILN_SCALE_BLOCK128 || kn_prequant(p) || k >= 128 ||
           (kn_dequant(p) && kn_elems[f.shape.ta].bits == 8) ? 128
         : kn_elems[f.shape.ta].bits == 8 && p->target == KILN_GFX950 ? 128
                                                                     : 64;
}

/* K of one matrix instruction. */
static uint32_t
step_k(struct kn_ctx *c, const kiln_problem *p, uint32_t bk)
{
    struct kn_config one = { .bm = 32, .bn = 32, .bk = bk, .wm = 1, .wn = 1 };
    struct kn_fn f = kn_tile_fn(c, p, &one);

    return kn_fragment(&f, 'a').k;
}

/* Halves of the waves a barrier apart keep the matrix pipes busiest in 256x256
 * tiles, but not where transposing reads of two K steps wait in a turn; MX
 * factors and a persistent walk leave no registers for those. Interleaving
 * pays where a wave has enough matrix work to hide its LDS reads
 * (docs/timing.md), if its registers allow; clipping a K tail takes more. */
static void
settle_schedule(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config two = *g;
    bool mx = p->scale == KILN_SCALE_MX32;

    if (g->schedule != KN_SCHED_AUTO)
        return;
    two.stages = g->stages ? g->stages : 2;
    g->schedule = two.schedule = KN_SCHED_PINGPONG;
    if (g->bm * g->bn == 256 * 256 &&
        !(mx && (g->domain.ktail || (g->cus && p->layout != KILN_NT))) &&
        (p->layout == KILN_NT || step_k(c, p, g->bk) == g->bk) &&
        kn_loop_of(p, &two) && kn_tile_registers(c, p, &two) <= 256)
        return;
    g->schedule = two.schedule = KN_SCHED_INTERLEAVE;
    if (!kn_direct(p, g) || p->scale == KILN_SCALE_BLOCK128 ||
        (mx && (g->domain.ktail || !kn_super(p, &two) ||
                p->layout != KILN_NT)) ||
        g->bm * g->bn < (mx ? 256 * 256 : 128 * 128) ||
        kn_tile_registers(c, p, g) > kn_register_limit(g))
        g->schedule = KN_SCHED_SIMPLE;
}

/* 6-bit types in the largest tile: K tiles of 256 in one slot, with registers
 * to spare for a persistent walk (measured). */
static void
prefer_fold(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            bool open)
{
    struct kn_config one = *g;

    if (g->bm != 256 || g->bn != 256 || g->stages || g->schedule)
        return;
    one.bk = 256;
    one.stages = 1;
    one.schedule = KN_SCHED_PINGPONG;
    if (open)
        one.domain = kn_domain_of(p, 256, 256);
    if (kn_loop_of(p, &one) &&
        kn_tile_registers(c, p, &one) + (one.cus ? 32 : 0) <= 256)
        *g = one;
}

/* What follows the choice of a tile. */
struct openings {
    bool bk, domain;
};

/* Tiles of the launch; ragged rows are taken as balanced. */
static uint64_t
workgroups(const kiln_problem *p, const struct tile *t)
{
    int64_t many = p->groups ? p->groups : p->batch > 1 ? p->batch : 1;
    int64_t rows = p->family == KILN_GROUPED ? (p->m + many - 1) / many : p->m;

    if (p->family == KILN_MOE) {
        int64_t n = p->stage == KILN_MOE_GATE_UP ? 2 * p->n : p->n;
        int64_t used = p->tokens * p->topk;

        many = used < p->groups ? used : p->groups;
        rows = many ? (used + many - 1) / many : 0;
        return (uint64_t)(many * ((rows + t->bm - 1) / t->bm) *
                          ((n + t->bn - 1) / t->bn));
    }
    return (uint64_t)(many * ((rows + t->bm - 1) / t->bm) *
                      ((p->n + t->bn - 1) / t->bn));
}

/* Tiles of several groups, more than the compute units take at once: each
 * loads its next one while this one is stored (templates/walk_ahead.tir). */
static bool
ahead_pays(const kiln_problem *p, const struct kn_config *g)
{
    struct tile t = { .bm = g->bm, .bn = g->bn };

    return (p->family == KILN_GROUPED || p->family == KILN_WGRAD) &&
           p->target == KILN_GFX950 && !g->cus && p->scale < KILN_SCALE_BLOCK128 &&
           !(p->group_flags & KILN_TAIL_ZERO) && g->split_k < 2 &&
           workgroups(p, &t) > kn_targets[p->target].cus;
}

/* Tiles of the schedule `deep`: waves of 128 rows. The others than the largest
 * are for gfx942. */
static const struct tile deep_tiles[] = {
    { 256, 256, 2, 2, 0 }, { 256, 192, 2, 2, 0 }, { 256, 128, 2, 2, 0 },
    { 128, 256, 1, 4, 0 }, { 128, 192, 1, 4, 0 }, { 128, 128, 1, 4, 0 },
};

static const struct tile *
deep_tile(const kiln_problem *p, const struct kn_config *g)
{
    size_t n = p->target == KILN_GFX942 ? sizeof deep_tiles / sizeof *deep_tiles
                                        : 1;

    for (size_t i = 0; i < n; i++)
        if (deep_tiles[i].bm == g->bm && deep_tiles[i].bn == g->bn)
            return &deep_tiles[i];
    return NULL;
}

/* The largest tile goes to four waves with all registers of their SIMDs, unless
 * the user said otherwise: the matrix pipes work 99 % of the loop instead of 95
 * or less, with MX types 97 instead of 68 to 75, and it compiles in a third of
 * the time (docs/timing.md). On gfx942 smaller tiles too: 97 % instead of 50 to
 * 70. */
static void
prefer_deep(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            const struct openings *open)
{
    const struct tile *t = deep_tile(p, g);
    struct kn_config deep = *g;

    if (!t || g->lowering == KN_LOWERING_LLVM || g->wm || g->stages > 2 ||
        (g->schedule && g->schedule != KN_SCHED_DEEP))
        return;
    deep.wm = t->wm;
    deep.wn = t->wn;
    deep.stages = p->target == KILN_GFX950 ? 2 : 1;
    deep.schedule = KN_SCHED_DEEP;
    deep.lowering = KN_LOWERING_ASM;
    if (p->target == KILN_GFX942 && open->bk)    /* rows of 128 bytes */
        deep.bk = 1024 / kn_elems[kn_shape_of(p, g).ta].bits;
    if (open->domain)
        deep.domain = kn_domain_of(p, 256, deep.bk);
    if (!kn_deep_lacks(p, &deep) && kn_deep_pays(p, g) && kn_loop_of(p, &deep) &&
        kn_tile_registers(c, p, &deep) <= kn_register_limit(&deep) &&
        kn_tile_lds(c, p, &deep) <= kn_targets[p->target].lds) {
        *g = deep;
        if (ahead_pays(p, g))
            g->cus = kn_targets[p->target].cus;
    }
}

/* Slots worth having: with direct copies about 64 KB on their way to a
 * compute unit cover the latency of memory (docs/timing.md). Each copy of
 * each slot holds a scalar register for its M0, so tiles with scales, and
 * kernels that walk groups, get fewer. */
static uint32_t
natural_stages(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    bool ragged = g->cus || p->family == KILN_GROUPED ||
                  p->family == KILN_WGRAD || p->family == KILN_BATCHED;
    uint32_t want, most = p->scale < KILN_SCALE_BLOCK128 ? ragged ? 5 : 6
                        : ragged ? 2 : 4;

    if (kn_streams(g))
        return g->schedule == KN_SCHED_STREAM || p->k <= 2 * (int64_t)g->bk
             ? 2 : (uint32_t)((p->k + g->bk - 1) / g->bk);
    if (p->family == KILN_MOE && kn_direct(p, g))
        return 2;            /* more spill scalars of the gathered views */
    g->stages = 1;
    want = 1 + (65535 + kn_tile_lds(c, p, g)) / kn_tile_lds(c, p, g);
    g->stages = 2;
    if (kn_super(p, g))
        return 2;
    /* A second slot behind a persistent walk spills what is staged. */
    if (g->cus && p->scale == KILN_SCALE_MX32 && !kn_direct(p, g) &&
        !kn_dequant(p) && g->bm * g->bn == 256 * 256)
        return 1;
    return !kn_direct(p, g) || want < 2 ? 2 : want > most ? most : want;
}

bool
kn_tile_fit(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t least = kn_direct(p, g) && !kn_folds(g) ? 2 : 1;
    uint32_t asked = g->stages;

    settle_schedule(c, p, g);
    if (kn_streams(g)) {
        g->stages = asked ? asked : natural_stages(c, p, g);
        if (g->schedule == KN_SCHED_WHOLE &&
            p->k != (int64_t)g->stages * g->bk)
            g->domain.ktail = 1;
        if (g->stages < 2 || g->stages > KN_MAX_STAGES ||
            kn_stream_lacks(p, g) || kn_tile_registers(c, p, g) > kn_register_limit(g)) {
            g->stages = asked;
            return false;
        }
        return true;
    }
    if (kn_tile_registers(c, p, g) > kn_register_limit(g))
        return false;
    for (g->stages = asked ? asked : natural_stages(c, p, g);
         g->stages >= least; g->stages--) {
        if (kn_tile_lds(c, p, g) <= kn_targets[p->target].lds)
            return true;
        if (asked)
            break;
    }
    g->stages = asked;
    return false;
}

static bool
narrow_loads(const struct kn_config *g)
{
    return g->domain.align_a < 4 || g->domain.align_b < 4;
}

/* A small tile waits for memory and for its scales once a K tile, so it wants
 * deeper ones: on gfx942 rows of 128 bytes (of 256 where the compute unit has
 * nothing else to run), of MX types 256 elements (docs/timing.md). `open`:
 * the domain follows the K of the tile. */
static void
deepen(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g, bool open,
       uint64_t workgroups)
{
    struct kn_shape s = kn_shape_of(p, g);
    uint32_t bits = kn_elems[s.ta].bits, most = 0;
    /* Of 6-bit types the next one spills (measured). */
    bool six = bits == 6 || kn_elems[s.tb].bits == 6;

    if (p->family == KILN_MOE || kn_dequant(p) || p->scale_layout ||
        p->scale == KILN_SCALE_BLOCK128 || g->bm * g->bn > (six ? 128 * 64 : 128 * 128))
        return;
    if (p->scale == KILN_SCALE_MX32)
        most = 256;
    else if (p->target == KILN_GFX942)
        most = (workgroups <= kn_targets[p->target].cus ? 256 : 128) * 8 / bits;
    for (uint32_t bk = 2 * g->bk; bk <= most && p->k >= 4 * bk; bk *= 2) {
        struct kn_config try = *g;

        try.bk = bk;
        if (open)
            try.domain = kn_domain_of(p, 256, bk);
        if ((p->scale == KILN_SCALE_MX32 && try.domain.ktail) ||
            narrow_loads(&try) || !kn_tile_fit(c, p, &try) || try.stages < 2)
            return;
        g->bk = bk;
        g->domain = try.domain;
    }
}

static void
apply(struct kn_config *g, const struct tile *t)
{
    g->bm = t->bm;
    g->bn = t->bn;
    if (!g->wm) {
        g->wm = t->wm;
        g->wn = t->wn;
    }
}

/* Each wave gets whole 16x16 blocks of the tile. */
static bool
shareable(const struct kn_config *g)
{
    return g->wm * g->wn <= 16 && g->bm <= 256 && g->bn <= 256 &&
           g->bm % (g->wm * 16) == 0 && g->bn % (g->wn * 16) == 0;
}

/* A wave that quantises has blocks of 32 output columns, hence 64 of B. */
static void
quantising_waves(const kiln_problem *p, struct kn_config *g)
{
    if (p->family == KILN_MOE && kn_quantises(p) && g->bn % (g->wn * 64)) {
        g->wn = g->bn / 64;
        g->wm = g->bm >= 128 ? 2 : 1;
    }
}

/* The time of the launch in units of its tiles' costs: rounds over the compute
 * units. moe's block is given: 64 columns up to 32 rows (gate and up of 32
 * rows 128), else the largest tile that gives all compute units work, else the
 * one with the most workgroups. */
static double
launch_cost(const kiln_problem *p, const struct tile *t)
{
    uint64_t n = workgroups(p, t), cus = kn_targets[p->target].cus;

    n = n ? n : 1;
    if (p->family != KILN_MOE && !p->m && !p->n)
        return t->cost;      /* a kernel for sizes to come */
    if (p->family == KILN_MOE && t->bm <= 32)
        return t->bn <= 64u * (1 + (t->bm == 32 &&
                                    p->stage == KILN_MOE_GATE_UP))
             ? 0 : t->bn;
    if (p->family == KILN_MOE)
        return n >= cus ? 0 : (double)(cus - n);
    return (double)((n + cus - 1) / cus) * t->bm * t->bn * t->cost;
}

static bool
pick_tile(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
          const struct openings *open)
{
    bool moe = p->family == KILN_MOE, found = false;
    const struct tile *t = moe ? moe_tiles : tiles;
    size_t ntiles = moe ? sizeof moe_tiles / sizeof *moe_tiles
                        : sizeof tiles / sizeof *tiles;
    double best = 0;
    struct kn_config keep = *g;

    for (; ntiles--; t++) {
        struct kn_config try = *g;
        double cost = launch_cost(p, t);

        try.bm = t->bm;
        try.bn = t->bn;
        prefer_deep(c, p, &try, open);
        apply(&try, t);
        quantising_waves(p, &try);
        if (!t->wm && try.schedule != KN_SCHED_DEEP)
            continue;
        if (moe ? t->bm != p->block_m
                : found && t->bm < 64 && p->m > 32 && (t->bn < 64 || p->n > 32))
            continue;
        if (moe && kn_quantises(p) && try.wm * try.wn < 2 && !kn_streams(&try))
            continue;        /* LLVM drops the barriers of a single wave */
        if ((found && cost >= best && (!moe || cost <= 0 || cost > best)) ||
            !shareable(&try))
            continue;
        if (open->bk)
            deepen(c, p, &try, open->domain, workgroups(p, t));
        if (open->bk)
            prefer_fold(c, p, &try, open->domain);
        if (!kn_tile_fit(c, p, &try))
            continue;
        best = cost;
        found = true;
        keep = try;
    }
    *g = keep;
    return found;
}

static void
default_waves(struct kn_config *g)
{
    if (!g->wm) {
        g->wm = 2;
        g->wn = g->bm * g->bn >= 256 * 128 ? 4 : 2;
    }
}

static kiln_status
check_given(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            const struct openings *open)
{
    prefer_deep(c, p, g, open);
    default_waves(g);
    if (p->scale_layout && ((g->bm % 32 && p->family != KILN_MOE) ||
                            g->bn % 32))
        return kn_fail(c, KILN_BAD_INPUT, "shuffled scales need a tile of "
                       "multiples of 32");
    if (!shareable(g))
        return kn_fail(c, KILN_BAD_INPUT, "a %ux%u tile cannot be shared by "
                       "%ux%u waves: each needs multiples of 16, at most 256 "
                       "in all", g->bm, g->bn, g->wm, g->wn);
    if (g->stages > KN_MAX_STAGES)
        return kn_fail(c, KILN_BAD_INPUT, "--stages is 1 to %d", KN_MAX_STAGES);
    if (kn_streams(g) && kn_stream_lacks(p, g))
        return kn_fail(c, KILN_UNSUPPORTED, "a schedule that streams %s",
                       kn_stream_lacks(p, g));
    if (!kn_tile_fit(c, p, g))
        return kn_fail(c, KILN_BAD_INPUT, "a %ux%ux%u tile with %ux%u waves "
                       "needs %u registers of %u and, with %u stages, %u "
                       "bytes of LDS of %u", g->bm, g->bn, g->bk, g->wm, g->wn,
                       kn_tile_registers(c, p, g), kn_register_limit(g),
                       g->stages, kn_tile_lds(c, p, g),
                       kn_targets[p->target].lds);
    return KILN_OK;
}

kiln_status
kn_check_bk(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    uint32_t k = step_k(c, p, g->bk);

    if (p->scale == KILN_SCALE_BLOCK128 && g->bk != 128)
        return kn_fail(c, KILN_BAD_INPUT, "128-blocks need a tile K of 128");
    if (kn_prequant(p) && g->bk != 128)
        return kn_fail(c, KILN_BAD_INPUT, "A is quantised by 128 K, so the "
                       "K of a tile is 128");
    if (p->scale_layout && g->bk != 256)
        return kn_fail(c, KILN_BAD_INPUT, "shuffled scales need a tile K of "
                       "256");
    if (!g->bk || g->bk % k || g->bk > 256)
        return kn_fail(c, KILN_BAD_INPUT, "the K of a tile must be a multiple "
                       "of %u up to 256 for these types, not %u", k, g->bk);
    return KILN_OK;
}

/* gemm1: a wave holds gate and up columns, 16 and 16. */
static kiln_status
check_moe(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    if (g->bm && g->bm != p->block_m)
        return kn_fail(c, KILN_BAD_INPUT, "the rows of a moe tile are the "
                       "sorter's --block-m %u, not %u", p->block_m, g->bm);
    if (g->bm && !g->wm) {
        g->wm = g->bm >= 128 ? 2 : 1;
        g->wn = g->bn % 128 ? 2 : 4;
        quantising_waves(p, g);
    }
    if (g->bm && kn_quantises(p) &&
        (g->bn % (g->wn * 64) || (g->wm * g->wn < 2 && !kn_streams(g))))
        return kn_fail(c, KILN_BAD_INPUT, "a wave that quantises needs a "
                       "multiple of 64 columns of gate and up, and company");
    if (g->wm && p->stage == KILN_MOE_GATE_UP && g->bn % (g->wn * 32))
        return kn_fail(c, KILN_BAD_INPUT, "a wave of gemm1 needs a multiple "
                       "of 32 columns: its 16 of gate and 16 of up in turn");
    return KILN_OK;
}

/* Where `deep` can, it takes the tile and the map of a row that leaves waves and
 * schedule open, or has its waves; other rows were found with other loops. */
static void
take_deep(struct kn_ctx *c, const kiln_problem *p, struct kn_config *row,
          bool waves)
{
    struct kn_config open = *row;

    if (row->schedule != KN_SCHED_AUTO && row->schedule != KN_SCHED_DEEP)
        return;
    open.wm = open.wn = open.stages = 0;
    open.schedule = KN_SCHED_AUTO;
    prefer_deep(c, p, &open, &(struct openings){ 0 });
    if (open.schedule == KN_SCHED_DEEP &&
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

    if (kn_config_parse(c, text, &row))
        return false;
    waves = row.wm != 0;
    row.bk = g->bk ? g->bk : row.bk;
    if (g->wm) {
        row.wm = g->wm;
        row.wn = g->wn;
    }
    row.stages = g->stages ? g->stages : row.stages;
    row.schedule = g->schedule ? g->schedule : row.schedule;
    row.group_m = g->group_m ? g->group_m : row.group_m;
    row.xcd = g->xcd ? g->xcd : row.xcd;
    row.group_n = g->group_n ? g->group_n : row.group_n;
    row.xcd_run = g->xcd_run ? g->xcd_run : row.xcd_run;
    row.lowering = g->lowering ? g->lowering : row.lowering;
    row.store = g->store ? g->store : row.store;
    row.lookup = g->lookup ? g->lookup : row.lookup;
    row.cus = g->cus ? g->cus : row.cus;
    row.split_k = g->split_k ? g->split_k : row.split_k;
    if (row.schedule == KN_SCHED_GEMV) {
        if (kn_gemv_lacks(p) || kn_gemv_choose(c, p, &row)) {
            c->err.status = KILN_OK; /* only this row's misfortune */
            return false;
        }
        *g = row;
        return true;
    }
    if (p->family == KILN_MOE && check_moe(c, p, &row)) {
        c->err.status = KILN_OK;
        return false;
    }
    default_waves(&row);
    if (!row.bk || row.bk > 256 || row.bk % step_k(c, p, row.bk) ||
        ((p->scale == KILN_SCALE_BLOCK128 || kn_prequant(p)) &&
         row.bk != 128) ||
        (p->scale_layout && row.bk != 256))
        return false;
    row.domain = g->domain.align_a ? g->domain : kn_domain_of(p, 256, row.bk);
    if (!g->wm && !g->schedule && !g->stages)
        take_deep(c, p, &row, waves);
    if (row.domain.align_a < 16 || row.domain.align_b < 16 ||
        !shareable(&row) || row.stages > KN_MAX_STAGES || !kn_tile_fit(c, p, &row))
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
        bool taken = take_row(c, p, row[i].config, g);

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

static kiln_status
check_split(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    if (!g->split_k)
        g->split_k = 1;
    if (g->split_k > KN_SPLIT_MOST)
        return kn_fail(c, KILN_BAD_INPUT, "split-K divides K into at most %u "
                       "shares, not %u", KN_SPLIT_MOST, g->split_k);
    if (g->split_k > 1 && p->family == KILN_MOE)
        return kn_fail(c, KILN_UNSUPPORTED, "moe has no split-K");
    if (g->split_k > 1 && p->k < (int64_t)g->bk * g->split_k)
        g->domain.ktail = 1;
    return KILN_OK;
}

/* Surplus tiles of large blocks would copy too much in vain. */
static kiln_status
choose_early(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    bool far = g->domain.windows;
    bool can = kn_direct(p, g) && !kn_streams(g) && !g->cus && !far;

    if (far && (g->cus || kn_quantises(p)))
        return kn_fail(c, KILN_UNSUPPORTED, "rows of A or of the output beyond "
                       "2 GiB have no --cus and no MX output");

    if (kn_streams_ids(g) && (g->early == KN_EARLY_NONE || kn_early_copy(g)))
        return kn_fail(c, KILN_BAD_INPUT, "a schedule that streams loads ids "
                       "first, then B: --early ids");

    if (!g->early)
        g->early = can && g->bm <= 32 ? KN_EARLY_BOTH : KN_EARLY_IDS;
    if (kn_early_copy(g) && !can)
        return kn_fail(c, KILN_BAD_INPUT, "--early copy needs a launch that "
                       "is not persistent, with LDS filled directly and rows "
                       "within 2 GiB");
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
    if (kn_check_bk(c, p, &try) || !kn_tile_fit(c, p, &try)) {
        c->err.status = KILN_OK;
        return false;
    }
    *g = try;
    if (why)
        kn_put(why, "few rows, stored weights: fragments from memory\n");
    return true;
}

/* A persistent kernel has no scalar registers to spare for the scalar lookup.
 * Groups of a wgrad differ in work, and one after the other their tiles would
 * be one die's: the dies take runs in turn (4 rows of tiles by 4). Runs of the
 * tiles of ragged groups are those of a die's compute units: the dies share
 * what they read of a group (docs/timing.md). */
static void
choose_map(const kiln_problem *p, struct kn_config *g)
{
    struct tile t = { .bm = g->bm, .bn = g->bn };

    if (p->family == KILN_WGRAD && p->groups > 1 && !g->xcd_run &&
        (!g->cus || g->schedule == KN_SCHED_DEEP))
        g->xcd_run = 4 * g->group_m;
    if (p->family == KILN_GROUPED && p->groups > 1 && !g->xcd_run &&
        (!g->cus || g->schedule == KN_SCHED_DEEP) && g->xcd > 1 &&
        workgroups(p, &t) >= (uint64_t)8 * g->group_m * g->xcd)
        g->xcd_run = 8 * g->group_m;
    if (p->family == KILN_MOE)
        g->group_n = g->xcd_run = 0;
    if (p->family != KILN_GROUPED)
        g->lookup = KN_LOOKUP_OPEN;
    else if (!g->lookup)
        g->lookup = p->groups <= KN_FEW_GROUPS && !g->cus ? KN_LOOKUP_FEW
                                               : KN_LOOKUP_MANY;
}

/* A given tile whose natural K does not fit is staged less K at a time. */
static void
shorten_bk(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t step = step_k(c, p, g->bk);

    for (uint32_t bk = g->bk; bk >= step && bk % step == 0; bk /= 2) {
        struct kn_config try = *g;

        try.bk = bk;
        default_waves(&try);
        if (!try.domain.align_a)
            try.domain = kn_domain_of(p, 256, bk);
        if (!try.wm || kn_tile_fit(c, p, &try)) {
            g->bk = bk;
            return;
        }
    }
}

/* Where N or C is not aligned, runs of rows take fewer stores than columns of
 * accumulators (docs/families.md, Stores), if LDS has room for them beside the
 * slots. A sum with beta 1 waits for C either way. */
static kiln_status
choose_store(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config lds = *g;

    lds.store = KN_STORE_LDS;
    if (!g->store)
        g->store = p->family != KILN_MOE && g->domain.vec == 1 && !p->beta &&
                           !kn_streams(g) &&
                           g->split_k == 1 && !g->cus &&
                           kn_tile_lds(c, p, &lds) <= kn_targets[p->target].lds
                       ? KN_STORE_LDS : KN_STORE_DIRECT;
    if (g->split_k > 1 && g->store == KN_STORE_LDS)
        return kn_fail(c, KILN_UNSUPPORTED, "waves of a split-K store each "
                       "for itself, not through LDS");
    if (p->family == KILN_MOE && g->store == KN_STORE_LDS)
        return kn_fail(c, KILN_UNSUPPORTED, "moe stores rows by id, not "
                       "through LDS");
    return KILN_OK;
}

static void
choose_lowering(const kiln_problem *p, struct kn_config *g, struct kn_buf *why)
{
    bool large = g->bm == 256 && g->bn == 256;
    const char *lacks = kn_deep_lacks(p, g);
    bool open = !g->lowering;

    if (open)
        g->lowering = KN_LOWERING_LLVM;
    if (why && g->schedule == KN_SCHED_DEEP)
        kn_put(why, "a 256x256 tile: four waves with all registers, as "
               "assembly of our own\n");
    else if (why && open && large)
        kn_putf(why, "lowered through LLVM: the assembly lowering %s%s\n",
                lacks ? "lacks " : "is for four waves, schedule deep",
                lacks ? lacks : "");
}

kiln_status
kn_choose(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
          struct kn_buf *why)
{
    bool given = g->bm != 0, decided;
    struct openings open;

    if (p->stage == KILN_MOE_REDUCE) {
        struct kn_domain d = kn_domain_of(p, 256, 0);

        *g = (struct kn_config){ .bm = 1, .bn = 256u * d.vec, .bk = 1, .wm = 4,
                                 .wn = 1, .stages = 1, .split_k = 1,
                                 .group_m = 1, .xcd = 1, .domain = d };
        return KILN_OK;
    }
    if (p->family == KILN_MOE)
        KN_TRY(check_moe(c, p, g));
    if (g->schedule == KN_SCHED_GEMV)
        return kn_gemv_choose(c, p, g);
    if (g->schedule == KN_SCHED_DEEP && !g->lowering)
        g->lowering = KN_LOWERING_ASM;
    if (kn_pick_mfma(p) < 0)
        return kn_fail(c, KILN_UNSUPPORTED, "%s has no matrix instruction for "
                       "%s x %s", kiln_target_name(p->target),
                       kiln_type_name(p->a), kiln_type_name(p->b));
    if (!given)
        KN_TRY(pick_tuned(c, p, g, why));
    if (!given && g->schedule == KN_SCHED_GEMV)
        return KILN_OK;
    if (!given && !g->bm && kn_pick_small(c, p, g, why)) {
        if (g->schedule == KN_SCHED_GEMV)
            return KILN_OK;
        why = NULL;
    }
    if (!given && !g->bm && pick_stream(c, p, g, why))
        why = NULL;
    decided = g->bm != 0;
    open = (struct openings){ !g->bk, !g->domain.align_a };
    if (!g->bk) {
        g->bk = natural_bk(c, p);
        if (given && kn_dequant(p))
            shorten_bk(c, p, g);
    }
    KN_TRY(kn_check_bk(c, p, g));
    if (!g->domain.align_a)
        g->domain = kn_domain_of(p, 256, g->bk);
    if (decided)
        KN_TRY(check_given(c, p, g, &open));
    else if (!pick_tile(c, p, g, &open) && g->wm)
        return kn_fail(c, KILN_BAD_INPUT, "no tile of this family can be "
                       "shared by %ux%u waves", g->wm, g->wn);
    else if (!g->bm)
        return kn_fail(c, KILN_UNSUPPORTED, "no tile of this family fits the "
                       "registers and LDS of %s",
                       kiln_target_name(p->target));
    KN_TRY(check_split(c, p, g));
    if (p->family == KILN_MOE)
        KN_TRY(choose_early(c, p, g));
    else
        g->early = 0;
    if (!g->xcd)
        g->xcd = kn_targets[p->target].xcds;
    if (!g->group_m)
        g->group_m = 4;
    choose_map(p, g);
    KN_TRY(choose_store(c, p, g));
    if (why && !given && !decided && p->family == KILN_MOE)
        kn_putf(why, "blocks of %u sorted rows: %s\n", p->block_m,
                p->block_m <= 32 ? "narrow tiles, since reading B is the work"
                : "the largest tile that gives all compute units work");
    else if (why && (given || !decided))
        kn_putf(why, given ? "the tile was given\n"
                           : "the tile whose rounds over %u compute units "
                             "cost least\n",
                kn_targets[p->target].cus);
    choose_lowering(p, g, why);
    return KILN_OK;
}
