/* choose.h - between the files that decide what the user left open: candidates
 * and few_rows know the tiles, fit says which can be, choose puts together. */
#ifndef KN_CHOOSE_H
#define KN_CHOOSE_H

#include "gen.h"

/* Whether nothing about the kernel's form was asked for. */
static inline bool
kn_form_open(const struct kn_config *g)
{
    return !g->bm && !g->bk && !g->wm && !g->stages && !g->cus;
}

/* What follows the choice of a tile. */
struct kn_openings {
    bool bk, domain;
};

/* ---- fit.c -------------------------------------------------------------- */

/* The K of a tile that nobody asked for; and less of it, where a given tile
 * does not fit. */
uint32_t kn_natural_bk(struct kn_ctx *c, const kiln_problem *p);
void kn_shorten_bk(struct kn_ctx *c, const kiln_problem *p,
                   struct kn_config *g);

/* Each wave gets whole 16x16 blocks of the tile. */
bool kn_shareable(const struct kn_config *g);

/* A wave that quantises has blocks of 32 output columns, hence 64 of B. */
void kn_quantising_waves(const kiln_problem *p, struct kn_config *g);
void kn_default_waves(struct kn_config *g);

/* Registers for what a loop of g's schedule has beside its fragments. */
bool kn_has_registers(struct kn_ctx *c, const kiln_problem *p,
                      const struct kn_config *g);

/* Slots a loop needs: a direct copy's target is not read meanwhile. */
uint32_t kn_least_stages(const kiln_problem *p, const struct kn_config *g);

/* Fills schedule and stages so that the tile fits; false if it does not. */
bool kn_tile_fit(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);

/* Why the types cannot have this K of a tile; NULL: they can. */
const char *kn_bk_lacks(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *g);

/* Waves of moe's tile where they are open; why its blocks or waves do not fit
 * the problem, NULL: they do. */
const char *kn_moe_lacks(struct kn_ctx *c, const kiln_problem *p,
                         struct kn_config *g);

/* ---- candidates.c ------------------------------------------------------- */

/* Tiles of the launch; ragged rows are taken as balanced. */
uint64_t kn_tiles_of(const kiln_problem *p, uint32_t bm, uint32_t bn);

/* Persistent grids that the schedule deep was measured with. */
bool kn_walks(const kiln_problem *p);

/* Makes g `deep` where that can be built, pays and nothing else was asked. */
void kn_prefer_deep(struct kn_ctx *c, const kiln_problem *p,
                    struct kn_config *g, const struct kn_openings *open);

/* The best tile of the tables, with its schedule; false: none fits. */
bool kn_pick_tile(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
                  const struct kn_openings *open);

/* moe's tiles that are read straight from memory; false: others. */
bool kn_pick_stream(struct kn_ctx *c, const kiln_problem *p,
                    struct kn_config *g, struct kn_buf *why);

/* ---- scored.c ----------------------------------------------------------- */

/* Whether a row of scores.def is clearly better than g, which the rules made of
 * what was given; it is put in g's place. */
bool kn_prefer_scored(struct kn_ctx *c, const kiln_problem *p,
                      const struct kn_config *given, struct kn_config *g);

/* ---- few_rows.c --------------------------------------------------------- */

/* Decides for M of 1 to 64 of dense products; false: others do. */
bool kn_pick_small(struct kn_ctx *c, const kiln_problem *p,
                   struct kn_config *g, struct kn_buf *why);

/* Fills what g leaves open of the schedule gemv, where forms.def lets it; else,
 * or if what is given is no tile of this schedule, a sentence. */
const char *kn_gemv_choose(const kiln_problem *p, struct kn_config *g);

#endif
