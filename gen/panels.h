/* panels.h - what an output asks of its problem and tile; and rows with one scale that
 * are wider than a tile: the tiles of a row park their sums in the workspace, behind
 * those of split-K, and the last to come makes the scales and codes
 * (ir/distribute/distribute_panel.c). */
#ifndef KN_PANELS_H
#define KN_PANELS_H

#include "gen.h"

/* output.c - whether there can be such an output; its scales made complete. */
kiln_status kn_output_check(struct kn_ctx *c, kiln_problem *p);
/* A seed is of stochastic rounding. */
kiln_status kn_round_check(struct kn_ctx *c, const kiln_problem *p);
/* Whether a second output has what aux is of gate and of up, N columns of either. */
bool kn_second_pair(const kiln_problem *p);
/* Columns that a wave of the configuration has a multiple of. */
uint32_t kn_output_columns(const kiln_problem *p, const struct kn_config *g);

/* Whether waves have some of its columns each, whose largest pass LDS. */
bool kn_shares_rows(const kiln_problem *p, const struct kn_config *g);
/* Whether the kernel's rows may be of several tiles. */
bool kn_panels(const kiln_problem *p, const struct kn_config *g);
/* Waves beside each other that meet tell each other in LDS, if it has room for that in as many
 * workgroups. */
void kn_meet_beside(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
                    uint32_t beside);

/* Waves that share a scale; so many tell each other of it in LDS at no gain. */
enum { KN_FEW_STRIPS = 40 };
uint32_t kn_panel_strips(const kiln_problem *p, const struct kn_config *g);
/* Of a compute unit that has so many workgroups beside each other: whether all waves of
 * such a row run at once, so that each makes its own codes; who makes them, and the order
 * of tiles in which they do, of several rounds; and what such a launch takes longer, of 1,
 * since tiles of a row that have begun in the round before the others wait for them. */
bool kn_panels_meet(const kiln_problem *p, const struct kn_config *g, uint32_t beside);
void kn_map_panels(const kiln_problem *p, struct kn_config *g, uint32_t beside);
double kn_panels_wait(const kiln_problem *p, const struct kn_config *g, uint32_t beside);

/* Bytes that the workspace may have for the parked sums. */
#define KN_PANEL_ROOM (INT64_C(64) << 30)

/* Rows are judged whole: false unless r is the panel's first tile, which becomes all of
 * it. Of other kernels as it is. */
bool kn_rect_judged(const kiln_problem *p, const struct kn_config *cfg,
                    struct kn_rect *r);

#endif
