/* routed_walk.c - whether workgroups of moe go through several tiles each (docs/moe.md). */
#include "choose.h"
#include "../forms.h"
#include "../instantiate.h"
#include "../panels.h"

/* Workgroups that a compute unit has room for. */
static uint32_t
room_of(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_target_info *t = &kn_targets[p->target];
    uint32_t waves = 512 / 8 / ((kn_tile_registers(c, p, g) - 1) / 8 + 1); /* of a SIMD */
    uint32_t lds = (kn_tile_lds(c, p, g) + t->lds_granule - 1) / t->lds_granule * t->lds_granule;
    uint32_t n = 4 * (waves < 8 ? waves : 8) / (g->wm * g->wn);

    if (lds && t->lds / lds < n)
        n = t->lds / lds;
    return n ? n : 1;
}

/* Rounds of its compute unit's workgroups that a walk needs: of small tiles two, so that no round
 * of few is most of the launch, of weights that are widened behind their reads beside a long K
 * four, but of 32 rows by parts, more of which read B apart without (measured, docs/moe.md). */
static uint64_t
least_rounds(const kiln_problem *p, const struct kn_config *g, uint32_t room, bool codes)
{
    enum { LONG_K = 2048 };
    bool apart = kn_widens_late(p, g) && g->bm <= 32;
    uint32_t small_room = kn_targets[p->target].walks ? 1 : 2;

    return codes && !apart && p->k > LONG_K ? 4 : room > small_room ? 2 : 1;
}

/* Whether a walk takes less: not of gfx950's smallest tiles of such weights, of which many wait for
 * memory, nor of 256 rows by halves of a K that hides what is between tiles (measured). */
static bool
walk_lasts(const kiln_problem *p, const struct kn_config *g, uint32_t room)
{
    enum { HALVES_TURNS = 12, MOST = 4096 }; /* args.tir */
    uint64_t tiles = kn_tiles_of(p, g->bm, g->bn), slots = (uint64_t)kn_cus(p) * room;
    bool codes = kn_widens_late(p, g) || kn_widens_read(p, g);

    if ((kn_targets[p->target].walks && codes && g->bm < 32) ||
        (kn_reads_of(g) == KN_READS_HALVES && g->bm > 128 && p->k > HALVES_TURNS * (int64_t)g->bk))
        return false;
    return slots <= MOST && tiles > slots && tiles >= slots * least_rounds(p, g, room, codes);
}

void
kn_walk_routed(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config walk = *g;
    uint32_t room;

    if (g->cus || g->split_k > 1 || kn_direct_to_reg(g) || kn_panels(p, g) ||
        g->abi == KN_ABI_AITER)
        return;
    room = room_of(c, p, g);
    walk.cus = kn_cus(p) * room;
    if (walk_lasts(p, g, room) && !kn_form_lacks(p, &walk) && kn_form_allows(p, &walk) &&
        kn_has_registers(c, p, &walk) && !kn_was_refused(c, &walk))
        *g = walk;
}
