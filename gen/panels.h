/* panels.h - outputs with one scale a row whose rows are wider than a tile: the tiles of
 * a row park their sums in the workspace, behind those of split-K, and the last to come
 * makes the scales and codes (ir/distribute/distribute_panel.c). */
#ifndef KN_PANELS_H
#define KN_PANELS_H

#include "gen.h"

/* Whether the kernel's rows may be of several tiles. */
bool kn_panels(const kiln_problem *p, const struct kn_config *g);

/* Bytes that the workspace may have for the parked sums. */
#define KN_PANEL_ROOM (INT64_C(64) << 30)

/* Rows are judged whole: false unless r is the panel's first tile, which becomes all of
 * it. Of other kernels as it is. */
bool kn_rect_judged(const kiln_problem *p, const struct kn_config *cfg,
                    struct kn_rect *r);

#endif
