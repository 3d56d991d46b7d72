/* choose.h - between the files that decide what the user left open. */
#ifndef KN_CHOOSE_H
#define KN_CHOOSE_H

#include "gen.h"

/* Whether nothing about the kernel's form was asked for. */
static inline bool
kn_form_open(const struct kn_config *g)
{
    return !g->bm && !g->bk && !g->wm && !g->stages && !g->cus;
}

/* Fills schedule and stages so that the tile fits; false if it does not. */
bool kn_tile_fit(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);

/* BAD_INPUT if the types cannot have this K of a tile. */
kiln_status kn_check_bk(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *g);

/* Decides for M of 1 to 64 of dense products; false: others do. */
bool kn_pick_small(struct kn_ctx *c, const kiln_problem *p,
                   struct kn_config *g, struct kn_buf *why);

#endif
