/* routed.h - moe's blocks of sorted rows, and the tiles of routed.def that serve them. */
#ifndef KN_ROUTED_H
#define KN_ROUTED_H

#include "gen.h"

/* Sorted rows of a block of moe, of block_m as a problem has it. */
static inline uint32_t
kn_rows_of_block(uint8_t block_m)
{
    return block_m == KILN_BLOCK_256 ? 256 : block_m;
}

static inline uint32_t
kn_block_rows(const kiln_problem *p)
{
    return kn_rows_of_block(p->block_m);
}

/* routed.c - whether there can be such a stage of moe. */
kiln_status kn_routed_check(struct kn_ctx *c, const kiln_problem *p);

/* routed_tiles.c - moe's first tile of routed.def that can be; false: none. */
bool kn_pick_routed(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);
/* Of groups and batches of few rows beside 4-bit floats that LDS has as memory does. */
bool kn_pick_codes(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *asked,
                   struct kn_config *g);

/* routed_walk.c - makes g, moe's tile, walk over the launch's tiles where that pays. */
void kn_walk_routed(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);

/* Sorted rows of a block of moe's p, up to 128, by operands and by tokens, slots,
 * experts and gate's n and k, as block_m has them. */
uint8_t kn_routed_block(const kiln_problem *p);

/* Whether blocks of 256 sorted rows are better for p, whose tile is chosen beside what
 * is given, than of 128. */
bool kn_routed_doubles(struct kn_ctx *c, const kiln_problem *p,
                       const struct kn_config *given);

#endif
