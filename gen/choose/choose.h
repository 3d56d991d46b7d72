/* choose.h - between the files that decide what the user left open: choose_ring has
 * kn_choose(), choose puts together, candidates and few_rows know the tiles, fit says which
 * can be, scored compares them by score.h, refine changes what was chosen. */
#ifndef KN_CHOOSE_H
#define KN_CHOOSE_H

#include "../forms.h"
#include "../gen.h"
#include "score.h"

/* Whether nothing about the kernel's form was asked for. */
static inline bool
kn_form_open(const struct kn_config *g)
{
    return !g->bm && !g->bk && !g->wm && !g->stages && !g->cus;
}

/* Whether runs of rows out of LDS take fewer stores than columns of accumulators:
 * where those would be single. The sum of a small tile, or of few columns, with beta 1
 * waits for C either way (docs/families.md, Stores). */
static inline bool
kn_runs_pay(const kiln_problem *p, const struct kn_config *g)
{
    bool large = g->bm * g->bn >= 64 * 64 && (!p->n || p->n >= g->bn);

    return kn_stores_singly(p, g) && !g->cus && (!p->beta || large);
}

/* What follows the choice of a tile. */
struct kn_openings {
    bool bk, domain;
};

/* ---- choose.c ----------------------------------------------------------- */

/* kn_choose() for rows that begin where they do. */
kiln_status kn_choose_as_it_is(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
                               struct kn_buf *why);

/* ---- fit.c -------------------------------------------------------------- */

/* Less K of a tile that does not fit. */
void kn_shorten_bk(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);

/* Rows or columns of a tile, beside 256, whose sums fill AGPRs and 96 VGPRs. */
enum { KN_WIDEST = 352 };
/* Whether a third K tile has registers on its way to LDS: of tiles up to 128x128, which do not
 * walk, of the assembly lowering. */
bool kn_third_slot_fits(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g);
/* Each wave gets whole 16x16 blocks of the tile. */
bool kn_shareable(const struct kn_config *g);

/* A wave that quantises has blocks of 32 output columns, hence 64 of B. */
void kn_quantising_waves(const kiln_problem *p, struct kn_config *g);
void kn_default_waves(const kiln_problem *p, struct kn_config *g);

/* Registers for what a loop of g's schedule has beside its fragments. */
bool kn_has_registers(struct kn_ctx *c, const kiln_problem *p,
                      const struct kn_config *g);

/* Slots a loop needs: a direct copy's target is not read meanwhile. */
uint32_t kn_least_stages(const kiln_problem *p, const struct kn_config *g);

/* Of n slots those that a K of few tiles fills, two at least: more would take LDS that
 * stores or another workgroup have a use for. Of a K to come all of them. */
uint32_t kn_filled_stages(const kiln_problem *p, const struct kn_config *g, uint32_t n);

/* Whether one slot is better than two, of a K that one K tile has all of. */
bool kn_one_slot(const kiln_problem *p, const struct kn_config *g);

/* Slots of LDS of a 4-wave loop that fills them through registers. */
uint32_t kn_register_slots(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g);

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

/* Persistent grids that the schedule 4-wave was measured with. */
bool kn_walks(const kiln_problem *p);

bool kn_walks_stored(const kiln_problem *p);

/* Whether such a grid waits for a group that is longer than the others. */
bool kn_deals_unevenly(const kiln_problem *p, const struct kn_config *g);

/* Of kn_walks_stored whether groups are short enough. */
bool kn_walk_pays(const kiln_problem *p, const struct kn_config *g);

/* Makes g `4-wave` where that can be built, pays and nothing else was asked. */
void kn_prefer_4wave(struct kn_ctx *c, const kiln_problem *p,
                    struct kn_config *g, const struct kn_openings *open);

/* The best tile of the tables, with its schedule; false: none fits. */
bool kn_pick_tile(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
                  const struct kn_openings *open);

/* moe's tiles that are read straight from memory; false: others. */
bool kn_pick_direct(struct kn_ctx *c, const kiln_problem *p,
                    struct kn_config *g, struct kn_buf *why);

/* MX weights whose widening takes no longer than products beside it. */
bool kn_widens_soon(const kiln_problem *p);

/* Copies lines where rows begin inside them and g can, of some K tiles: slots may
 * be more by one, a walk over tiles is none. False: g is as it was. fit.c */
bool kn_prefer_lines(struct kn_ctx *c, const kiln_problem *p,
                     const struct kn_config *given, struct kn_config *g);

/* ---- scored.c ----------------------------------------------------------- */

/* Whether a row of scores.def is clearly better than g, which the rules made of
 * what was given; it is put in g's place. */
bool kn_prefer_scored(struct kn_ctx *c, const kiln_problem *p,
                      const struct kn_config *given, struct kn_config *g);

/* ---- refine.c ----------------------------------------------------------- */

/* What was not asked for of a chosen tile: waves and slots. */
void kn_refine(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *asked,
               struct kn_config *g);
/* Elements of A that a lane quantises at once where that is not as many as it may, or 0. Two
 * loads side by side each ask for all lines of their rows: where rows begin inside half lines
 * that takes longer than the steps of a maximum which it saves. Not so of small tiles and of
 * the largest beside B by lines, where arithmetic takes longer: codes of i8, and f16 (measured,
 * gfx950). */
uint32_t kn_quantised_run(const kiln_problem *p, const struct kn_config *g);
/* Whether K, or a share of it, is so short that folding scales takes longer than it saves. */
bool kn_stays_unfolded(const kiln_problem *p, const struct kn_config *g);
/* Says so of g where LDS has room for scales that multiply products. */
void kn_settle_folds(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);
/* Whether scales of a row of B that is widened had better come for several K tiles at once, and the
 * 4-bit floats that they are of stay in LDS as in memory. */
enum kn_scale_turns { KN_NO_TURNS, KN_TURNS, KN_TURNS_OF_CODES };
enum kn_scale_turns kn_scales_in_turns(const kiln_problem *p, const struct kn_config *g);
void kn_settle_scale_turns(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);
/* Workgroups that LDS has room for beside codes and scales of several K tiles: scores were measured
 * with scales of f16, of f32 they are twice as long. */
uint32_t kn_room_beside_scales(const kiln_problem *p, const struct kn_config *g, uint32_t stages);
/* domain.ktail of a configuration that is decided. */
uint8_t kn_tail_of(const kiln_problem *p, const struct kn_config *g);

/* ---- few_rows.c --------------------------------------------------------- */

/* Decides for M of 1 to 64 of dense products; false: others do. */
bool kn_pick_small(struct kn_ctx *c, const kiln_problem *p,
                   struct kn_config *g, struct kn_buf *why);

/* Few rows of bf16 by weights that the target widens: tiles of 64 columns and a
 * K of 256 read them in whole lines (docs/smallm.md). */
bool kn_few_widened(const kiln_problem *p);

/* Shares of K of a tile in g that the rules chose, whose rows are unaligned. */
void kn_share_unaligned(const kiln_problem *p, const struct kn_config *given,
                        struct kn_config *g);

/* Fills what g leaves open of its schedule, gemv or skinny, where forms.def lets it; else,
 * or if what is given is no tile of this schedule, a sentence. kn_gemv_choose: of gemv,
 * whatever g has. */
const char *kn_runs_choose(const kiln_problem *p, struct kn_config *g);
const char *kn_gemv_choose(const kiln_problem *p, struct kn_config *g);

/* ---- skinny.c ----------------------------------------------------------- */

/* The same of the schedule skinny; whether it takes less than other kernels, where
 * kn_skinny_types() has it. */
const char *kn_skinny_choose(const kiln_problem *p, struct kn_config *g);
bool kn_skinny_wins(const kiln_problem *p);
/* Where it takes less than g, which has a score: in its place, with the reason for `why`
 * (NULL: none). */
bool kn_prefer_skinny(const kiln_problem *p, const struct kn_config *asked, struct kn_config *g,
                      struct kn_buf *why);
void kn_skinny_explain(const struct kn_config *g, struct kn_buf *why);

/* ---- routed_tiles.c, routed_walk.c --------------------------------------- */

/* moe's first tile of routed.def that can be; false: none. */
bool kn_pick_routed(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);

/* Makes g, moe's tile, walk over the launch's tiles where that pays. */
void kn_walk_routed(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);

/* Sorted rows of a block of moe's p, up to 128, by operands and by tokens, slots,
 * experts and gate's n and k, as block_m has them. */
uint8_t kn_routed_block(const kiln_problem *p);

/* Whether blocks of 256 sorted rows are better for p, whose tile is chosen beside what
 * is given, than of 128. */
bool kn_routed_doubles(struct kn_ctx *c, const kiln_problem *p,
                       const struct kn_config *given);

#endif
