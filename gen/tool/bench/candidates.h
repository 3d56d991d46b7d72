/* candidates.h - the configurations `kilnc tune` tries for a problem. */
#ifndef KN_CANDIDATES_H
#define KN_CANDIDATES_H

#include "../../gen.h"
#include "../../tuning/tuning.h"

struct kn_timing {              /* of a candidate */
    double us;               /* 0: not timed, or failed */
    double error_pct;        /* of a predicted time */
    uint32_t rows;           /* validated objects it comes from; 0: unknown */
};

struct kn_candidate {
    struct kn_config cfg;
    const char *text;        /* "tile=64x64x128 waves=2x2 stages=2" */
    double estimate;
    struct kn_timing time;
};

/* What kn_choose accepts: the rules' choice first, then the others by a rough
 * estimate; the parts that `given` names stay as they are. Returns how many. */
size_t kn_candidates(struct kn_ctx *c, const kiln_problem *p,
                     const struct kn_config *given,
                     struct kn_candidate **out);
/* The rules' choice and the configuration of a row there is. */
size_t kn_candidates_again(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *given, const char *config,
                           struct kn_candidate **out);

#endif
