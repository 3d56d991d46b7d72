/* scale_turns.c - weights that are widened: where LDS has their codes, how many K tiles' scales
 * come at once, and where that pays. */
#include "choose.h"
#include "../forms.h"
#include "../instantiate.h"

/* Integers of groups, and 4-bit floats whose scales are read of four K steps at a time. */
static bool
has_codes(const kiln_problem *p, const struct kn_config *g)
{
    return p->b == KILN_I4 ? kn_adds_groups(p)
         : kn_widens_scaled(p) && kn_type_bits[p->b] == 4 && !p->scale_layout &&
           g->bk % 128 == 0 && g->domain.align_sb >= 4;
}

/* Small tiles of several products' weights, whose codes take a quarter of the LDS and let more
 * workgroups wait for memory; one product's take up to 1.06 times as long (50 drawn). */
static bool
may_read(const kiln_problem *p, const struct kn_config *g)
{
    bool routed = kn_family_of(p)->routed;

    return !kn_one_product(p) && kn_reads_of(g) == KN_READS_STEP &&
           g->bm <= 64 && g->bn >= 32 && g->wm == 1 && p->layout == KILN_NT && !p->b_layout &&
           !p->zero_points && g->domain.align_b == 16 && g->domain.align_a >= 4 &&
           (routed || g->domain.align_sb >= 4) && has_codes(p, g) &&
           g->lowering != KN_LOWERING_LLVM;
}

/* Floats where their scales come in turns: with few tiles what is widened behind its reads
 * comes late. */
bool
kn_widens_read(const kiln_problem *p, const struct kn_config *g)
{
    return may_read(p, g) && (p->b == KILN_I4 || g->scale_turns == KN_TURNS_OF_CODES);
}

uint32_t
kn_b_scale_bytes(const kiln_problem *p, const struct kn_config *g)
{
    return kn_widens_scaled(p) ? g->bk / (uint32_t)kn_scale_k(p) : KN_SCALES_RUN;
}

/* K tiles of as many groups as LDS has room for beside several workgroups: f32, or bytes of
 * which it has four times as many (measured). */
static uint32_t
groups_at_once(const kiln_problem *p, const struct kn_config *g)
{
    enum { MOST = 8 };       /* K tiles of an unrolled turn */
    uint32_t groups = kn_targets[p->target].dma == 16 ? 32 : 16;
    uint32_t many = kn_widens_scaled(p) ? 4 * groups : groups;
    uint32_t tiles = many * (uint32_t)kn_scale_k(p) / g->bk;

    return tiles < 1 ? 1 : tiles < MOST ? tiles : MOST;
}

/* LLVM would wait for another turn's loads. */
uint32_t
kn_b_scale_tiles(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t bytes = kn_b_scale_bytes(p, g), most = kn_targets[p->target].dma == 16 ? 8 : 4;

    if (kn_widens_scaled(p) && kn_reads_of(g) == KN_READS_TILE)
        return 4;
    if (g->scale_turns && kn_widens_read(p, g) &&
        (p->b != KILN_I4 || g->lowering == KN_LOWERING_ASM))
        return groups_at_once(p, g);
    if (!g->scale_turns || g->lowering != KN_LOWERING_ASM)
        return 1;
    if (bytes >= KN_SCALES_RUN)
        return 1;
    return most * bytes <= KN_SCALES_RUN ? most : KN_SCALES_RUN / bytes;
}

/* Of a hundred compute units (measured). */
static uint64_t
least_tiles(const kiln_problem *p)
{
    if (kn_family_of(p)->routed)
        return p->b == KILN_I4 ? 100 : kn_targets[p->target].dma == 16 ? 130 : 60;
    return kn_targets[p->target].dma == 16 ? 150 : 90;
}

/* Those of groups, which lie in LDS: where compute units have enough to do for as many tiles of
 * 128 columns, else a turn's first loads and its code come late (measured). A share of K begins
 * where a K tile does, a load at whole dwords; rows along N have a K tile's side by side. */
static bool
groups_in_turns(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t tile = g->bk / (uint32_t)kn_scale_k(p) * (uint32_t)kn_scale_size(p);
    bool routed = kn_family_of(p)->routed, open = routed ? !p->tokens : !p->m || !p->n;
    uint64_t tiles = open ? 0 : kn_tiles_of(p, g->bm, 128), percent = least_tiles(p);
    bool turns = !p->k || p->k > g->bk || (p->k == g->bk && p->b != KILN_I4);

    return !p->scale_layout && g->domain.align_sb >= 4 && (g->split_k < 2 || tile % 4 == 0) &&
           turns && (open || 100 * tiles >= percent * kn_cus(p));
}

/* Of other than moe: large tiles, of a share of K with some turns, which ask for a line a row with
 * each K tile else: 0.81 to 1.00 of the time. e4m3 has turns half as long, in which rows at 16
 * bytes, f16 and one slot pay more for conversion's wait than lines cost (300 drawn). */
static bool
large_in_turns(const kiln_problem *p, const struct kn_config *g)
{
    enum { LEAST_K = 1024 };
    int64_t shares = g->split_k ? g->split_k : 1;
    bool e4m3 = p->scale == KILN_SCALE_NV16, four = kn_type_bits[p->b] == 4 && !e4m3;

    return kn_targets[p->target].dma == 16 && !kn_family_of(p)->routed && p->b != KILN_I4 &&
           g->bm >= 64 && g->bm * g->bn >= (four ? 64u : 128u) * 64 &&
           p->k >= LEAST_K * shares &&
           kn_b_scale_bytes(p, g) < KN_SCALES_RUN && kn_reads_of(g) != KN_READS_TILE &&
           (!e4m3 || (p->a == KILN_BF16 && g->domain.align_sb < 16 && g->stages > 1));
}

/* Of moe, whose experts' scales are read once, a line a row each time (measured): where such a
 * turn comes again and compute units have workgroups to wait for, of blocks of 16 rows more, of
 * one wave or with LDS for one. Not of a K tile's 16 bytes in rows that begin at as
 * many, and where copies have 4 bytes of one slot alone. */
enum kn_scale_turns
kn_scales_in_turns(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_target_info *t = &kn_targets[p->target];
    bool wide = t->dma == 16, many = 4 * (g->bm + g->bn) * g->bk > t->lds / 2 || g->wn == 1;
    uint64_t least = g->bm > 16 ? g->wn < 4 : many ? 4 : 2;
    bool whole = g->domain.align_sb >= 16;
    uint32_t bytes = kn_b_scale_bytes(p, g);
    int64_t turns = !wide ? 12 : bytes == 8 && whole ? 16 : 8;
    bool fits = wide ? bytes != 16 || !whole
                     : g->stages == 1 && p->scale != KILN_SCALE_NV16, pays;

    if (p->b == KILN_I4 && may_read(p, g))
        return groups_in_turns(p, g) ? KN_TURNS : KN_NO_TURNS;
    if (may_read(p, g) && groups_in_turns(p, g))
        return KN_TURNS_OF_CODES;
    if (large_in_turns(p, g))
        return KN_TURNS;
    pays = fits && bytes < KN_SCALES_RUN && kn_reads_of(g) != KN_READS_TILE &&
           (g->bm <= 64 || (wide && g->bk >= 128)) && kn_family_of(p)->routed &&
           (!p->k || p->k >= turns * g->bk) &&
           (!p->tokens || kn_tiles_of(p, g->bm, g->bn) >= least * kn_cus(p));
    return pays ? KN_TURNS : KN_NO_TURNS;
}

void
kn_settle_codes(const kiln_problem *p, struct kn_config *g)
{
    if (p->b != KILN_I4 && may_read(p, g) && groups_in_turns(p, g))
        g->scale_turns = KN_TURNS_OF_CODES;
}

uint32_t
kn_room_beside_scales(const kiln_problem *p, const struct kn_config *g, uint32_t stages)
{
    struct kn_config turns = *g;
    uint32_t tile = (g->bm * kn_type_bits[p->a] + g->bn * kn_type_bits[p->b]) * g->bk / 8, scales;

    turns.scale_turns = KN_TURNS;
    turns.lowering = KN_LOWERING_ASM;
    scales = kn_b_scale_tiles(p, &turns) * g->bk / (uint32_t)kn_scale_k(p);
    return kn_targets[p->target].lds /
           (stages * tile + scales * g->bn * (uint32_t)kn_scale_size(p));
}

void
kn_settle_scale_turns(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config try = *g;

    try.scale_turns = kn_scales_in_turns(p, g);
    if (kn_form_assembly(p, g))
        try.lowering = KN_LOWERING_ASM;
    if (!try.scale_turns && g->scale_turns != KN_TURNS_OF_CODES)
        return;
    g->scale_turns = kn_tile_lds(c, p, &try) <= kn_targets[p->target].lds ? try.scale_turns : 0;
}
