/* candidates.c - the tiles there are, each with its loop. Every candidate is
 * checked against LDS and registers of the target; the one whose rounds over
 * the compute units cost least wins. */
#include "choose.h"
#include "../forms.h"
#include "../instantiate.h"

struct tile {
    uint32_t bm, bn, wm, wn;
    uint32_t cost;           /* of a multiplication, 256x256 is 100 */
};

/* Largest first. 8 waves at 256x256, 4 below (docs/hardware.md). Costs: the
 * predicted clocks of a K tile over its area, bf16, gfx950 (docs/loops.md). */
static const struct tile tiles[] = {
    { 256, 256, 2, 4, 100 }, { 128, 256, 2, 4, 118 }, { 256, 128, 2, 4, 118 },
    { 128, 128, 2, 2, 150 }, { 128, 64, 2, 2, 250 },  { 64, 128, 2, 2, 250 },
    { 64, 64, 2, 2, 410 },   { 32, 64, 2, 2, 600 },   { 32, 32, 2, 2, 820 },
    { 256, 192, 0, 0, 104 }, { 128, 192, 0, 0, 125 }, /* only as tiles_4wave */
};

/* moe: a tile row is block_m sorted rows. Few rows: one row of waves, each
 * with all rows and its share of the columns. Costs are not compared: up to 32
 * rows reading B is the work, and narrow tiles leave LDS for more workgroups
 * of a compute unit (docs/moe.md). A tile is there again with more waves for
 * rows that are loaded narrowly, whose pieces need their registers. */
static const struct tile moe_tiles[] = {
    { 256, 256, 2, 4, 0 }, { 256, 128, 4, 2, 0 }, { 256, 64, 4, 2, 0 },
    { 128, 256, 2, 4, 0 }, { 128, 128, 2, 2, 0 }, { 128, 64, 2, 2, 0 },
    { 128, 64, 4, 2, 0 },  { 64, 256, 1, 4, 0 },  { 64, 128, 1, 4, 0 },
    { 64, 64, 1, 2, 0 },   { 64, 64, 2, 2, 0 },
    { 32, 256, 1, 4, 0 },  { 32, 128, 1, 4, 0 },  { 32, 64, 1, 2, 0 },
    { 16, 256, 1, 4, 0 },  { 16, 128, 1, 4, 0 },  { 16, 64, 1, 2, 0 },
};

static bool
six_bits(const kiln_problem *p)
{
    return !kn_widens_scaled(p) &&
           (kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6);
}

/* Of gfx942, where stores are half of what a short K takes: a walk loads the next tile while
 * those of this one leave (docs/loops.md), of groups too. Types whose scores have walks. */
bool
kn_walks_stored(const kiln_problem *p)
{
    return !kn_targets[p->target].walks &&
           !kn_family_of(p)->routed && !p->scale_layout && !kn_writes_scales(p);
}

bool
kn_walks(const kiln_problem *p)
{
    return kn_targets[p->target].walks && !(p->group_flags & KILN_TAIL_ZERO) &&
           !kn_widens_scaled(p) &&
           (!kn_mx_scales(p) ||
            (!p->scale_layout && p->layout == KILN_NT));
}

/* A few long groups of K, of up to two tiles a compute unit, which a walk deals before it is
 * known which group is long: without, tiles take turns. Not MX types (3,400 problems drawn). */
bool
kn_deals_unevenly(const kiln_problem *p, const struct kn_config *g)
{
    enum { GROUPS = 4, TILES = 2, TURNS = 24 };

    return kn_family_of(p)->ragged == 'k' && p->groups > 1 && p->groups <= GROUPS &&
           kn_targets[p->target].walks && !kn_mx_scales(p) &&
           p->k >= TURNS * (int64_t)g->bk * p->groups &&
           kn_tiles_of(p, g->bm, g->bn) <= TILES * (uint64_t)kn_cus(p);
}

/* Tiles of several groups, more than the compute units take at once: each loads
 * its next one while this one is stored (templates/prefetch.tir). So do dense
 * MX types, whose way into the loop is long, unless a last round of few tiles
 * would run alone (docs/loops.md). */
static bool
ahead_pays(const kiln_problem *p, const struct kn_config *g)
{
    uint64_t cus = kn_cus(p), n = kn_tiles_of(p, g->bm, g->bn);
    bool dense = kn_one_product(p) && kn_mx_scales(p);
    struct kn_config walk = *g;

    walk.cus = kn_cus(p);
    return (kn_family_of(p)->ragged || dense) &&
           !g->cus && g->split_k < 2 && kn_walks(p) && !six_bits(p) &&
           !kn_deals_unevenly(p, g) &&
           !kn_form_lacks(p, &walk) && kn_form_wanted(p, &walk) &&
           n > (dense ? cus + cus / 2 : cus);
}

/* Rows of both operands along K that do not begin where lines of 128 bytes do:
 * half of the copies take a line more, the memory queue is full, and a second
 * wave a SIMD has products where a single one stands (docs/loops.md). */
static bool
straddles(const kiln_problem *p)
{
    int64_t a = p->lda * kn_type_bits[p->a], b = p->ldb * kn_type_bits[p->b];

    return p->layout == KILN_NT && (a % 1024 || b % 1024);
}

/* Asked for, or where the model says that it wins: dense products, however
 * short K is; with tensor and row scales, whose epilogue takes longer here, of
 * a long K (8192x8192x4096 fp8: 226 us, 8-wave 214); of 6-bit types from four
 * K tiles on, wherever rows begin; and where other loops do not fill LDS
 * directly (`direct`), of nn and tn of up to 16 bits from 24 K tiles on. gfx942 is
 * without another loop that reads while it multiplies: from four K tiles on. */
static bool
four_waves_pay(const kiln_problem *p, const struct kn_config *g, bool direct)
{
    bool six = six_bits(p);
    bool old = kn_targets[p->target].slots_4wave == 1;
    int64_t least = p->scale == KILN_SCALE_ROW ? 16384
                  : p->scale == KILN_SCALE_TENSOR ? 8192
                  : six || kn_widens_scaled(p) ? 512 : 0;

    if (kn_widens_scaled(p) && p->k && p->k < 8 * (int64_t)g->bk)
        direct = true;
    if (!old && !direct && p->layout != KILN_NT && p->math != KILN_MATH_BF16X3 &&
        (kn_type_bits[p->a] >= 32 || (p->k && p->k < 24 * (int64_t)g->bk)))
        return kn_reads_of(g) == KN_READS_TILE;
    return g->lowering == KN_LOWERING_ASM || kn_reads_of(g) == KN_READS_TILE ||
           (old && (!p->k || p->k >= (kn_family_of(p)->routed ? 8 : 4) * g->bk) &&
            (!kn_family_of(p)->routed || kn_type_bits[p->a] == 16)) ||
           (!old && !kn_family_of(p)->routed &&
            (six || !straddles(p) || !direct) &&
            (!p->k || p->k >= least || (!direct && !six)));
}

/* Whether another loop that reads while it multiplies fills LDS directly: of
 * MX operands with a K tail, or scales that are no whole dwords, none. */
static bool
others_are_direct(const kiln_problem *p, const struct kn_config *four)
{
    struct kn_config other = *four;

    other.schedule = KN_SCHED_SIMPLE;
    return kn_direct(p, &other) &&
           !(kn_mx_scales(p) && four->domain.ktail);
}

/* Tiles of the schedule `4-wave`. Those below 256x256 are for gfx942, those above it
 * of the scored and who asks. */
static const struct tile tiles_4wave[] = {
    { 256, 352, 2, 2, 0 }, { 256, 320, 2, 2, 0 }, { 256, 288, 2, 2, 0 },
    { 256, 256, 2, 2, 0 }, { 256, 192, 2, 2, 0 }, { 256, 128, 2, 2, 0 },
    { 128, 256, 1, 4, 0 }, { 128, 192, 1, 4, 0 }, { 128, 128, 1, 4, 0 },
    { 320, 256, 1, 4, 0 }, { 288, 256, 1, 4, 0 }, { 224, 256, 1, 4, 0 },
    { 192, 256, 1, 4, 0 }, { 192, 192, 1, 4, 0 }, { 192, 128, 2, 2, 0 },
    { 160, 256, 1, 4, 0 }, { 160, 128, 1, 4, 0 }, { 96, 256, 1, 4, 0 },
};

static const struct tile *
tile_4wave(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_targets[p->target].slots_4wave > 1 && g->bm * g->bn < 256 * 256)
        return NULL;
    for (size_t i = 0; i < sizeof tiles_4wave / sizeof *tiles_4wave; i++)
        if (tiles_4wave[i].bm == g->bm && tiles_4wave[i].bn == g->bn)
            return &tiles_4wave[i];
    return NULL;
}

/* 6-bit types: copied by whole lines, or of groups of K, whose rows begin anywhere and go
 * through registers in every loop; those of two K tiles and of tiles for all compute
 * units. */
static bool
six_bits_pay(const kiln_problem *p, const struct kn_config *four)
{
    return !six_bits(p) || kn_4wave_packed(p, four) ||
           (kn_family_of(p)->ragged == 'k' && p->k >= 2 * (int64_t)four->bk * p->groups &&
            kn_tiles_of(p, four->bm, four->bn) >= kn_cus(p));
}

/* A tile that walks, by its score, was refused: without a walk it is for scores as well. */
static bool
walk_was_refused(const struct kn_ctx *c, const struct kn_config *g)
{
    struct kn_config walk = *g;

    walk.cus = 1;
    return kn_was_refused(c, &walk);
}

/* The largest tile goes to four waves with all registers of their SIMDs, unless
 * the user said otherwise: the matrix pipes work 99 % of the loop instead of 95
 * or less, with MX types 97 instead of 68 to 75, and it compiles in a third of
 * the time (docs/loops.md). On gfx942 smaller tiles too: 97 % instead of 50 to
 * 70. */
void
kn_prefer_4wave(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            const struct kn_openings *open)
{
    const struct tile *t = tile_4wave(p, g);
    struct kn_config four = *g;
    bool direct;

    if (!t || g->lowering == KN_LOWERING_LLVM || g->wm || g->stages > 2 ||
        (g->schedule && kn_reads_of(g) != KN_READS_TILE) ||
        (!g->schedule && g->split_k > 1))
        return;              /* eight waves add shares sooner than four */
    four.wm = t->wm;
    four.wn = t->wn;
    four.stages = kn_targets[p->target].slots_4wave;
    four.schedule = KN_SCHED_4WAVE;
    four.lowering = KN_LOWERING_ASM;
    if (kn_targets[p->target].slots_4wave == 1 && open->bk) /* rows of 128 bytes */
        four.bk = 1024 / kn_elems[kn_shape_of(p, g).ta].bits;
    if (kn_shuffled(p) && open->bk && kn_elems[kn_shape_of(p, g).ta].bits != 4)
        four.bk = 128;       /* half a block of scales */
    if (open->domain)
        four.domain = kn_domain_of(p, 256, four.bk);
    if (open->bk && open->domain && !kn_dequant(p) && p->a == KILN_MXFP4 &&
        p->b == KILN_MXFP4) {
        four.bk = 256;       /* rows of 128 bytes, whatever the K tail */
        four.domain = kn_domain_of(p, 256, four.bk);
    }
    direct = others_are_direct(p, &four);
    if (!kn_direct(p, &four))
        four.stages = kn_register_slots(c, p, &four);
    if (!kn_form_lacks(p, &four) && four_waves_pay(p, g, direct) && !walk_was_refused(c, &four) &&
        (!four.cus || kn_walks(p)) && six_bits_pay(p, &four) &&
        kn_tile_registers(c, p, &four) <= kn_register_limit(&four) &&
        kn_tile_lds(c, p, &four) <= kn_targets[p->target].lds) {
        *g = four;
        /* Rows of scales of no whole dwords are mostly of operands by lines. */
        if (ahead_pays(p, g) && (!kn_unaligned_scales(p, g) || p->k < 4 * (int64_t)g->bk))
            g->cus = kn_cus(p);
    }
}

static bool
narrow_loads(const struct kn_config *g)
{
    return g->domain.align_a < 4 || g->domain.align_b < 4;
}

/* A small tile waits for memory and for its scales once a K tile, so it wants
 * deeper ones: on gfx942 rows of 128 bytes (of 256 where the compute unit has
 * nothing else to run), of MX types 256 elements (docs/loops.md). `open`:
 * the domain follows the K of the tile. */
static void
deepen(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g, bool open,
       uint64_t workgroups)
{
    struct kn_shape s = kn_shape_of(p, g);
    uint32_t bits = kn_elems[s.ta].bits, most = 0;
    /* Of 6-bit types the next one spills (measured). */
    bool six = bits == 6 || kn_elems[s.tb].bits == 6;

    if ((kn_dequant(p) && !kn_widens_scaled(p)) || p->scale_layout ||
        kn_blocks(p) || g->bm * g->bn > (six ? 128 * 64 : 128 * 128))
        return;
    if (kn_mx_scales(p))
        most = 256;
    else if (kn_targets[p->target].slots_4wave == 1)
        most = (workgroups <= kn_cus(p) ? 256 : 128) * 8 / bits;
    for (uint32_t bk = 2 * g->bk; bk <= most && p->k >= 4 * bk; bk *= 2) {
        struct kn_config try = *g;

        try.bk = bk;
        if (open)
            try.domain = kn_domain_of(p, 256, bk);
        if ((kn_mx_scales(p) && try.domain.ktail) ||
            narrow_loads(&try) || kn_bk_lacks(c, p, &try) ||
            !kn_tile_fit(c, p, &try) || try.stages < 2)
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

/* Whether weights of moe are converted beside 16-bit rows of a long K, where LDS has room:
 * by K tiles of 128, whose scales come in half as many loads, and by twice as many
 * workgroups of a compute unit as tiles of 256 columns have (docs/moe.md). */
static bool
widens_routed(const kiln_problem *p)
{
    return kn_family_of(p)->routed && kn_weight_only(p) && !kn_prequant(p) &&
           kn_targets[p->target].dma == 16 && p->k >= 2048;
}

/* K tiles of moe whose rows are whole lines of 128 bytes, of 8-bit rows that are not copied
 * to LDS as they are: of half a line each is loaded twice (docs/moe.md). */
static void
deepen_routed(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g, bool open)
{
    bool lines = kn_type_bits[p->a] == 8 && !kn_dequant(p);
    struct kn_config try = *g;

    try.bk = 128;
    if (open)
        try.domain = kn_domain_of(p, 256, try.bk);
    if ((lines || widens_routed(p)) && g->bk < 128 && p->k > g->bk &&
        !kn_bk_lacks(c, p, &try) && kn_tile_fit(c, p, &try))
        *g = try;
}

/* The time of the launch in units of its tiles' costs: rounds over the compute
 * units. moe's block is given: 64 columns up to 32 rows (gate and up of 32
 * rows 128), else the largest tile that gives all compute units work, else the
 * one with the most workgroups. */
static double
launch_cost(const kiln_problem *p, const struct tile *t)
{
    uint64_t n = kn_tiles_of(p, t->bm, t->bn),
             cus = kn_cus(p);

    n = n ? n : 1;
    if (!kn_family_of(p)->routed && !p->m)  /* a kernel for rows to come */
        return t->cost * (p->n ? (double)((kn_b_columns(p) + t->bn - 1) / t->bn * t->bn)
                               : 1);
    if (kn_family_of(p)->routed && t->bm <= 32)
        return t->bn <= 64u * (1 + (t->bm == 32 &&
                                    p->stage == KILN_MOE_GATE_UP))
             ? 0 : t->bn;
    if (widens_routed(p) && t->bn > 128)
        return t->bn;
    if (kn_family_of(p)->routed)
        return n >= cus ? 0 : (double)(cus - n);
    return (double)((n + cus - 1) / cus) * t->bm * t->bn * t->cost;
}

/* Waves that have whole output scales are few; twice as many, up to eight, where
 * the rows of the tile do not fit. */
static bool
fits(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    if (kn_tile_fit(c, p, g))
        return true;
    if (!kn_writes_scales(p) || kn_family_of(p)->routed || g->wm * g->wn > 4)
        return false;
    g->wm *= 2;
    return kn_shareable(g) && kn_tile_fit(c, p, g);
}

bool
kn_pick_tile(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
          const struct kn_openings *open)
{
    bool moe = kn_family_of(p)->routed, found = false, tight = false;
    const struct tile *t = moe ? moe_tiles : tiles;
    size_t ntiles = moe ? sizeof moe_tiles / sizeof *moe_tiles
                        : sizeof tiles / sizeof *tiles;
    double best = 0;
    struct kn_config keep = *g, refused = *g;

    for (; ntiles--; t++) {
        struct kn_config try = *g;
        double cost = launch_cost(p, t);

        try.bm = t->bm;
        try.bn = t->bn;
        kn_prefer_4wave(c, p, &try, open);
        apply(&try, t);
        kn_quantising_waves(p, &try);
        if (!t->wm && (!try.wm || kn_reads_of(&try) != KN_READS_TILE))
            continue;
        if (moe ? t->bm != kn_block_rows(p)
                : found && t->bm < 64 && p->m > 32 && (t->bn < 64 || p->n > 32))
            continue;
        if (moe && found && t->bm == keep.bm && t->bn == keep.bn)
            continue;
        if ((found && cost >= best && (!moe || cost <= 0 || cost > best)) ||
            !kn_shareable(&try))
            continue;
        if (open->bk && moe)
            deepen_routed(c, p, &try, open->domain);
        else if (open->bk)
            deepen(c, p, &try, open->domain, kn_tiles_of(p, t->bm, t->bn));
        if (!fits(c, p, &try)) {
            tight |= kn_writes_scales(p) && !kn_form_lacks(p, &try);
            continue;
        }
        if (kn_form_lacks(p, &try)) {
            refused = found || refused.bm ? refused : try;
            continue;
        }
        best = cost;
        found = true;
        keep = try;
    }
    if (!found && tight)     /* the narrower lack columns of a scale */
        return false;
    *g = found ? keep : refused;
    return g->bm != 0;
}

/* Tiles of which loops that fill LDS have more K on its way, alone on a compute unit, but
 * for MX types, of 4 bits those of a short K: measured on both targets. */
static bool
few_tiles(const kiln_problem *p, const struct kn_config *g)
{
    bool slow = !kn_mx_scales(p) || (kn_type_bits[p->b] == 4 && p->k >= 4096);

    return slow && p->tokens && kn_tiles_of(p, g->bm, g->bn) < 3 * (uint64_t)kn_cus(p);
}

/* moe with stored layouts, blocks of few rows: a wave's pieces of B follow
 * each other in memory, so it loads them straight into registers. */
bool
kn_pick_direct(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
            struct kn_buf *why)
{
    struct kn_config try = *g;
    bool mx = kn_mx_scales(p);
    int most = kn_targets[p->target].scaled || kn_type_bits[p->b] == 16 ? 32 : 16;

    if (!kn_family_of(p)->routed || p->block_m > most || !p->b_layout || kn_in_words(p) ||
        (mx && !p->scale_layout) || !kn_form_open(g) || g->schedule || g->early ||
        g->lowering == KN_LOWERING_ASM)
        return false;
    try.bm = kn_block_rows(p);
    try.bn = kn_quantises(p) ? 64 : 32;
    try.wm = try.wn = 1;
    try.bk = kn_natural_bk(c, p);
    try.schedule = kn_form_straight(p, try.bk);
    if (few_tiles(p, &try))
        return false;
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
