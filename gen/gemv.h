/* gemv.h - the schedule for a few rows: no matrix instructions, no LDS
 * (templates/gemv.tir). Its configuration: bm rows (1, 2, 4, 8, 16) and bn/4
 * columns a wave, 4 waves, `stages` runs a lane in flight. */
#ifndef KN_GEMV_H
#define KN_GEMV_H

#include "gen.h"

/* NULL if the schedule can do the problem, else what it lacks. */
const char *kn_gemv_lacks(const kiln_problem *p);

/* Rows up to which it is faster than matrix instructions. */
uint32_t kn_gemv_rows(const kiln_problem *p);

/* Fills what g leaves open; BAD_INPUT or UNSUPPORTED with the reason. */
kiln_status kn_gemv_choose(struct kn_ctx *c, const kiln_problem *p,
                           struct kn_config *g);

kiln_status kn_gemv_instantiate(struct kn_ctx *c, const kiln_problem *p,
                                const struct kn_config *g, const char *name,
                                struct kn_fn **out);

#endif
