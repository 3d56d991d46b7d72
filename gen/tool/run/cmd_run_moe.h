/* cmd_run_moe.h - one `run moe` and its launches. */
#ifndef KN_CMD_RUN_MOE_H
#define KN_CMD_RUN_MOE_H

#include "moe.h"
#include "on_hip.h"
#include "../progress.h"
#include "report.h"

struct moe_run {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_target target, timed;       /* timed: of `time`, which has no device */
    bool exact, wrong;
    bool single;             /* one stage, not a layer */
    uint8_t id_format;
    const int32_t *raw_ids;  /* as a file has them, or NULL */
    uint32_t block_m;
    struct kn_moe_routing r;
    struct kn_moe_sorted sorted;
    struct kn_place place;
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
    uint64_t scales;         /* of a quantised output */
    struct kn_ref_sums sums; /* atomic: by token, column */
    double *rounded;
    int32_t *adds;
    double us[KN_STABLE_MOST];       /* of a GPU: each timed run, the verdict */
    size_t runs;
    struct kn_stable time;
};

/* moe_hip.c: the launch, with the simulator's addresses. */
kiln_status moe_launch_hip(struct moe_run *m, struct moe_part *s,
                           const struct kn_operands *o);
void moe_report_measured(struct moe_run *m, const struct moe_part *s,
                         struct kn_json *j);

/* What gemm1 made, as gemm2's A: x are its numbers, rows of down->p.k. */
kiln_status moe_hand_plain(struct kn_ctx *c, const double *x, size_t n,
                           struct moe_part *down);
kiln_status moe_hand_mx(struct kn_ctx *c, const double *x, int64_t rows,
                        struct moe_part *down);
/* Rows of so many numbers, each run of at most `most` with its own scale. */
struct moe_parts {
    size_t rows, cols, most;
};
kiln_status moe_hand_scaled(struct kn_ctx *c, const double *x,
                            struct moe_parts p, struct moe_part *down);

/* A block of a quantised output and what it should be. */
struct moe_block {
    double value[32], error[32];
    uint8_t code[32], scale;
};
/* Rows ids[] of want's rectangle. */
kiln_status moe_check_quantised(struct moe_run *m, struct moe_part *s,
                                const int32_t *ids,
                                const struct kn_ref_result *want);
kiln_status moe_hand_quantised(struct moe_run *m, const struct moe_part *up,
                               struct moe_part *down);

/* Rows and columns of tile number `id` in the sorted rows and the output;
 * rows = 0: past the padded count. */
struct kn_rect moe_tile_of(const struct moe_run *m, const kiln_problem *p,
                           const struct kn_config *cfg, uint64_t id);

/* moe_work.c, what the routing makes of a launch: turns of the K loop of each
 * of n workgroups, 0 where it ends at once; bytes of the operands that it
 * touches, each once. */
const uint32_t *moe_work(const struct moe_run *m, const kiln_problem *p,
                         const struct kn_config *cfg, uint64_t n);
double moe_bytes(const struct moe_run *m, const kiln_problem *p);

/* moe_files.c: --ids-file and --weights-file by token and slot; the sorted
 * arrays, which make the routing; a stage's operands; --out-file. */
kiln_status moe_read_routing(struct moe_run *m);
kiln_status moe_read_sorted(struct moe_run *m);
kiln_status moe_read_operands(struct moe_run *m, struct moe_part *s);
kiln_status moe_write_output(struct moe_run *m, const struct moe_part *s);

/* The steps of `run moe`: routing and sorting, their copies on the device,
 * then launches and checks. m->t, m->c are set before, m->sim in between. */
kiln_status moe_prepare(struct moe_run *m, int stage);
kiln_status moe_upload(struct moe_run *m);
kiln_status moe_run_stages(struct moe_run *m, int stage, struct kn_json *j);
kiln_status moe_run_part(struct moe_run *m, struct moe_part *s,
                         struct kn_json *j);

/* Routing and operands of the command's --stage on a device, for a launch
 * that somebody else describes; out->p is the problem of that stage. */
struct kn_launch_data;
kiln_status moe_place_stage(struct moe_run *m, struct kn_launch_data *out);

/* Predicts q->g, the kernel of the command's --stage, on that routing. Sets
 * q->p; m->t, m->c and m->target are set before. */
struct kn_predict;
struct kn_time_result;
kiln_status moe_predict(struct moe_run *m, struct kn_predict *q,
                        struct kn_time_result *r);

#endif
