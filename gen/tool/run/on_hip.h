/* on_hip.h - a generated kernel on an AMD GPU, with the operands that the
 * simulator and the reference read. */
#ifndef KN_ON_HIP_H
#define KN_ON_HIP_H

#include "../../../runtime/hip.h"
#include "../bench/compare.h"
#include "operands.h"

/* Where a command executes. */
struct kn_place {
    kiln_target target;
    struct kn_hip *hip;      /* NULL: the simulator */
    int number;
    struct kn_hip_device facts;
};

/* --device of commands that know GPUs; place->target is the default. NO_DEVICE
 * without a GPU, UNSUPPORTED for one there is no code for. */
kiln_status kn_tool_place(struct kn_tool *t, struct kn_place *place);
/* The GPU a value of such a flag names. */
kiln_status kn_place_open(struct kn_ctx *c, const struct kn_value *v,
                          struct kn_place *place);

/* BAD_INPUT for a flag that only the simulator can follow. */
kiln_status kn_place_flags(struct kn_tool *t, const struct kn_place *place);

struct kn_hip_run {
    const kiln_problem *p;   /* normalised */
    struct kn_operands_set *ops;
    const int64_t *offs;     /* group offsets, NULL without groups */
    const struct kn_generated *g;
    bool timed;
    uint8_t *out;            /* out: the bytes of C, in c's arena */
    double us[KN_STABLE_MOST]; /* out: of each timed run */
    size_t runs;
    struct kn_stable time;
};

/* Launches once for the result; if `timed`, then repeatedly (compare.h says
 * how often) on the same buffers. Output bytes the kernel does not write are
 * 0xff, or what the problem's C has. */
kiln_status kn_hip_execute(struct kn_ctx *c, const struct kn_place *place,
                           struct kn_hip_run *r);

#endif
