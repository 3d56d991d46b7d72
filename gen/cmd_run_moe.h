/* cmd_run_moe.h - one `run moe` and its launches. */
#ifndef KN_CMD_RUN_MOE_H
#define KN_CMD_RUN_MOE_H

#include "moe.h"
#include "progress.h"
#include "report.h"

struct moe_run {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_target target;
    bool exact, wrong;
    uint32_t block_m;
    struct kn_moe_routing r;
    struct kn_moe_sorted sorted;
    struct kn_sim *sim;
    uint64_t ids, experts, padded, weights;  /* on the device */
};

/* One launch. */
struct moe_part {
    kiln_problem p;
    struct kn_operand a, b, sa, sb;
    struct kn_generated g;
    struct kn_plan plan;
    struct kn_sim_select select;
    struct kn_sim_result result;
    struct kn_ref_check check;
    uint64_t out, out_size, out_row, written;
    double *value, *abssum, *rounded;        /* atomic: by token, column */
    int32_t *adds;
};

kiln_status moe_run_part(struct moe_run *m, struct moe_part *s,
                         struct kn_json *j);

#endif
