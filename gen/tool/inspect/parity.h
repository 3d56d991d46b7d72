/* parity.h - `kilnc parity`: two kernels, and what executing them on the
 * operands of one problem gave. */
#ifndef KN_PARITY_H
#define KN_PARITY_H

#include "../../../emit/isa/diff.h"
#include "launchfile.h"
#include "input.h"
#include "../run/session.h"

struct kn_side {
    struct kn_parity *of;
    struct kn_subject s;
    const char *launch_file; /* NULL: a kiln kernel's own arguments */
    struct kn_launch_data on;        /* the operands on its device */
    struct kn_job job;       /* the last one */
    struct kn_sim_result result;
    struct kn_time_result time;
    uint8_t *out;            /* the output operand after the launch */
};

struct kn_parity {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_problem p;
    int64_t *offs;           /* of the groups, or NULL */
    struct kn_side side[2];
    bool run;
    uint64_t bytes, differing, first; /* of the output */
    struct kn_diff d;
};

/* Executes both kernels on the operands of the command's problem, compares
 * the outputs byte by byte, and predicts both times. */
kiln_status kn_parity_run(struct kn_parity *q, const char *family);

#endif
