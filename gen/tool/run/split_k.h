/* split_k.h - split-K launches on the simulator: their workspace, and samples
 * of workgroups that leave no tile half done. */
#ifndef KN_SHARES_H
#define KN_SHARES_H

#include "../../../runtime/sim/sim.h"
#include "../../gen.h"

/* `bytes` of workspace with counters of zero and sums nobody has written;
 * *addr is 0 for 0 bytes. */
kiln_status kn_shares_alloc(struct kn_ctx *c, struct kn_sim *sim,
                            uint64_t bytes, uint64_t *addr);

/* FINDING unless every counter is zero again. */
kiln_status kn_shares_check(struct kn_ctx *c, struct kn_sim *sim,
                            uint64_t addr);

/* Adds to the selected workgroups those of the other shares of their tiles.
 * UNSUPPORTED for a persistent launch, whose workgroups have many tiles. */
kiln_status kn_shares_select(struct kn_ctx *c, const kiln_problem *p,
                             const struct kn_config *cfg, const int64_t *offs,
                             struct kn_sim_select *s);

#endif
