/* gemv.h - the schedule for a few rows: no matrix instructions
 * (templates/gemv.tir). Its configuration: bm rows (1, 2, 4, 8, 16), bn columns
 * shared by wm waves, K by wn, 4 waves in all; `stages` runs a lane in
 * flight. */
#ifndef KN_GEMV_H
#define KN_GEMV_H

#include "gen.h"

/* NULL if the schedule can do the problem, else what it lacks. */
const char *kn_gemv_lacks(const kiln_problem *p);

/* Whether it is faster than matrix instructions, by predicted time. */
bool kn_gemv_wins(const kiln_problem *p);

/* Fills what g leaves open; BAD_INPUT or UNSUPPORTED with the reason. */
kiln_status kn_gemv_choose(struct kn_ctx *c, const kiln_problem *p,
                           struct kn_config *g);

kiln_status kn_gemv_instantiate(struct kn_ctx *c, const kiln_problem *p,
                                const struct kn_config *g, const char *name,
                                struct kn_fn **out);

#endif
