/* cmd_run_moe.h - one `run moe` and its launches. */
#ifndef KN_CMD_RUN_MOE_H
#define KN_CMD_RUN_MOE_H

#include "moe.h"
#include "../progress.h"
#include "session.h"

struct moe_run {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_target target, timed;       /* timed: of `time`, which has no device */
    bool exact, wrong;
    int stage;               /* 0: the layer of all */
    uint8_t id_format;
    const int32_t *raw_ids;  /* as a file has them, or NULL */
    uint32_t block_m;
    struct kn_moe_routing r;
    struct kn_moe_sorted sorted;
    struct kn_place place;
    struct kn_json j;
    struct kn_session *s;
    uint64_t ids, experts, padded, weights;  /* on the device */
    int launches, predicted; /* of them, and how many have a prediction */
    double us;               /* the sum of these */
};

/* One launch. */
struct moe_part {
    kiln_problem p;
    struct kn_operand a, b, sa, sb, bias, c, x[KN_FORMULA_ARRAYS];
    struct kn_generated g;
    struct kn_job job;
    struct kn_ref_check check;
    uint64_t out, out_size, out_row, written;
    uint64_t scales;         /* of a quantised output */
    struct kn_ref_amax amax;
    struct kn_second second;
    struct kn_data second_data;
    struct kn_ref_sums sums; /* atomic: by token, column */
    double *rounded;
    int32_t *adds;
};

/* moe_hand.c: gemm1 writes what gemm2 reads, where its epilogue can; what gemm1
 * made is what gemm2 reads. */
kiln_status moe_requantise(struct moe_run *m, struct moe_part *up,
                           const struct moe_part *down);
kiln_status moe_hand_over(struct moe_run *m, const struct moe_part *up,
                          struct moe_part *down);

/* moe_beside.c: an operand of the seed's data, number `id` of them; the arrays that the
 * expression declares; what the output holds, if that is read. */
void moe_shape_operand(struct moe_run *m, struct kn_operand *o, uint32_t id,
                       struct kn_data d);
void moe_shape_arrays(struct moe_run *m, struct moe_part *s);
void moe_shape_c(struct moe_run *m, struct moe_part *s);
/* The second output of first->rows: D, or what the expression says of aux. */
kiln_status moe_check_beside(struct kn_ctx *c, struct moe_part *s,
                             const struct kn_moe_stage *st,
                             const struct kn_ref_result *first);

/* The output of a launch, as far as the selected workgroups have it. */
kiln_status moe_check(struct moe_run *m, struct moe_part *s);

/* A block of a quantised output and what it should be. */
struct moe_block {
    double value[32], error[32], random[32];
    uint8_t code[32], scale;
};
/* Of want->rows. */
kiln_status moe_check_quantised(struct moe_run *m, struct moe_part *s,
                                const struct kn_ref_result *want);

/* Rows and columns of tile number `id` in the sorted rows and the output;
 * rows = 0: past the padded count. */
struct kn_rect moe_tile_of(const struct moe_run *m, const kiln_problem *p,
                           const struct kn_config *cfg, uint64_t id);

/* moe_work.c: whose rows are wider than a tile, all tiles of the rows of a selected
 * one. */
kiln_status moe_select_rows(struct moe_run *m, struct moe_part *s);

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
/* The output's rows, one behind the other. */
kiln_status moe_read_output(struct moe_run *m, const struct moe_part *s,
                            uint8_t *to);

/* The steps of `run moe`: target, routing and sorting of the command's problem;
 * then its launches and checks in a session (kn_session_fn of m). */
kiln_status moe_prepare(struct kn_tool *t, struct moe_run *m);
kiln_status moe_run_stages(struct kn_session *session, void *user);

/* Routing and operands of the command's --stage on m->s, for a launch that
 * somebody else describes; out->p is the problem of that stage. m->t, m->c and
 * m->target are set before. */
struct kn_launch_data;
kiln_status moe_place_stage(struct moe_run *m, struct kn_launch_data *out);

/* ... and what they are made of: sorted ids, weights and experts; the problem and the
 * operands of a stage; their memory and the output's. */
kiln_status moe_upload(struct moe_run *m);
kiln_status moe_make_part(struct moe_run *m, int stage, struct moe_part **out);
kiln_status moe_alloc_part(struct moe_run *m, struct moe_part *s);
/* The launches of a layer, in order, *n of them; what its report begins with. */
enum { KN_MOE_LAUNCHES = 3 };
kiln_status moe_make_layer(struct moe_run *m, struct moe_part *out[KN_MOE_LAUNCHES], int *n);
void moe_open_layer(struct moe_run *m, const struct moe_part *up,
                    const struct moe_part *down);

/* moe_time.c: the predicted time of a launch that was executed; that of all. */
void moe_predict_run(struct moe_run *m, struct moe_part *s);
void moe_report_sum(struct moe_run *m);

struct kn_predict;
/* Predicts q->g, the kernel of the command's --stage, on that routing. */
kiln_status moe_predict(struct kn_tool *t, const struct kn_predict *q,
                        struct kn_time_result *r);

#endif
