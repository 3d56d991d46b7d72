/* split_k.h - split-K launches on the simulator: their workspace, and samples
 * of workgroups that leave no tile half done. */
#ifndef KN_SHARES_H
#define KN_SHARES_H

#include "../../../runtime/sim/sim.h"
#include "../../gen.h"

/* FINDING unless every counter of a workspace is zero again. */
kiln_status kn_shares_check(struct kn_ctx *c,
                            const uint32_t count[KN_COUNTERS]);

/* kn_fill_fn of a workspace where every share is the last to come, the longest
 * way; user is the struct kn_config. */
void kn_fill_last_share(void *user, uint64_t offset, void *dst, size_t size);

/* Adds to the selected workgroups those of the other shares of their tiles.
 * UNSUPPORTED for a persistent launch, whose workgroups have many tiles. */
kiln_status kn_shares_select(struct kn_ctx *c, const kiln_problem *p,
                             const struct kn_config *cfg, const int64_t *offs,
                             struct kn_sim_select *s);

#endif
