/* split_k.c - the tiles of a launch, and who adds up the shares of a tile's K. */
#include "forms.h"
#include "instantiate.h"
#include "panels.h"

uint64_t
kn_tiles_of(const kiln_problem *p, uint32_t bm, uint32_t bn)
{
    int64_t many = kn_products(p), rows = kn_mean_rows(p), n = kn_b_columns(p);

    if (kn_family_of(p)->routed) {
        int64_t used = p->tokens * p->topk;

        many = used < p->groups ? used : p->groups;
        rows = many ? (used + many - 1) / many : 0;
    }
    return (uint64_t)(many * ((rows + bm - 1) / bm) *
                      ((n + bn - 1) / bn));
}

bool
kn_fills_rounds(const kiln_problem *p, const struct kn_config *g)
{
    return kn_tiles_of(p, g->bm, g->bn) * (g->split_k ? g->split_k : 1) > kn_cus(p);
}

bool
kn_may_join_all(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_panels(p, g))
        return true;
    return g->split_k > 1 && kn_reads_of(g) != KN_READS_RUNS && !g->split_after && !g->cus &&
           g->abi != KN_ABI_AITER &&
           !kn_writes_scales(p) && !p->amax && !p->out2 && !p->round && !kn_wide_sums(p);
}

enum { ROWS = 48, MANY = 6 }; /* of a tile; shares */

static uint32_t
blocks_of(const struct kn_config *g)
{
    return g->wm && g->wn ? g->bm * g->bn / (256 * g->wm * g->wn) : 0;
}

/* Registers for a slice beside all blocks: sums are few, or AGPRs. */
static bool
has_room(const struct kn_config *g)
{
    return blocks_of(g) <= 16 || kn_schedules[g->schedule].asm_only;
}

/* A wave with one block, and of gate and up in a tile of few rows with two or three, reads those
 * of few shares as fast as it meets them; one with many has no registers for both, but where sums
 * are AGPRs (docs/loops.md). Slices of gate and up are pairs, of which there are at least half as
 * many as shares. */
static bool
has_slices(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t parts = blocks_of(g) >> kn_gated(p);

    return (parts >= 4 ||
            (parts >= 2 && (!kn_gated(p) || g->bm >= ROWS || g->split_k >= MANY))) &&
           (!kn_gated(p) || 2 * parts >= g->split_k) &&
           has_room(g);
}

/* Shares wait for each other, so all of them run at once. */
bool
kn_joins_all(const kiln_problem *p, const struct kn_config *g)
{
    if (g->join)
        return g->join == KN_JOIN_ALL;
    return kn_may_join_all(p, g) && !kn_panels(p, g) && !kn_family_of(p)->ragged && p->m && p->n &&
           has_slices(p, g) &&
           kn_tiles_of(p, g->bm, g->bn) * g->split_k <= kn_cus(p);
}

bool
kn_joins_slices(const kiln_problem *p, const struct kn_config *g)
{
    return g->split_k > 1 && kn_reads_of(g) != KN_READS_RUNS && kn_joins_all(p, g) &&
           !kn_panels(p, g);
}

bool
kn_slices_in_turns(const kiln_problem *p, const struct kn_config *g)
{
    return kn_joins_slices(p, g) && !kn_gated(p) && !kn_family_of(p)->routed &&
           g->store != KN_STORE_LDS && has_room(g) &&
           kn_even_slice(kn_fragment_of(p, g, 'a').count, kn_fragment_of(p, g, 'b').count,
                         g->split_k);
}
