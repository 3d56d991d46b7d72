/* gemv.h - the schedule for a few rows: no matrix instructions
 * (templates/gemv.tir). Its configuration: bm rows (1, 2, 4, 8, 16), bn columns
 * shared by wm waves, K by wn, 4 waves in all; `stages` runs a lane in
 * flight. */
#ifndef KN_GEMV_H
#define KN_GEMV_H

#include "gen.h"

/* Whether there is arithmetic for these types. */
bool kn_gemv_types(const kiln_problem *p);

/* How elements become f32: the words of the facts widen_a and widen_b. */
#define KN_WIDENS \
    "none as_16 as_8 as_6 as_4 ocp_8 ocp_6 ocp_5 ocp_4"

enum kn_widen {
    KN_WIDEN_NONE, KN_WIDEN_AS_16, KN_WIDEN_AS_8, KN_WIDEN_AS_6, KN_WIDEN_AS_4,
    KN_WIDEN_OCP_8, KN_WIDEN_OCP_6, KN_WIDEN_OCP_5, KN_WIDEN_OCP_4
};

enum kn_widen kn_gemv_widen(const kiln_problem *p, kiln_type t);

/* Elements of a run; what the exponents of its scales have too much. */
uint32_t kn_gemv_run(const kiln_problem *p);
int kn_gemv_exponent_bias(const kiln_problem *p);

/* A 16-bit A beside an MX B has no scales. */
static inline bool
kn_gemv_a_scaled(const kiln_problem *p)
{
    return p->a >= KILN_MXFP8;
}

#endif
