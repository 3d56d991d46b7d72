/* session.h - launches on a device, simulated or not: memory, plan, workspace,
 * code, launch, output. Whatever a command executes or predicts goes through
 * here; a layer of moe is three launches in one session. */
#ifndef KN_SESSION_H
#define KN_SESSION_H

#include "../../../runtime/sim/timing/timing.h"
#include "../bench/compare.h"
#include "operands.h"
#include "run.h"

/* Where a command executes. */
struct kn_place {
    kiln_target target;
    bool gpu;
    int number;              /* of the GPU */
    struct kn_device device; /* the GPU, open */
    struct kn_trial *trial;  /* of the command, or NULL */
    bool warm;               /* its timed launches repeat on the same buffers */
};

/* --device of commands that know GPUs; place->target is the default. NO_DEVICE
 * without a GPU, UNSUPPORTED for one there is no code for. */
kiln_status kn_tool_place(struct kn_tool *t, struct kn_place *place);
/* The GPU a value of such a flag names. */
kiln_status kn_place_open(struct kn_ctx *c, const struct kn_value *v,
                          struct kn_place *place);
/* kn_device_counts, if it is one. */
void kn_place_counts(const struct kn_place *place, kiln_problem *p);
/* BAD_INPUT for a flag that only the simulator can follow. */
kiln_status kn_place_flags(struct kn_tool *t, const struct kn_place *place);

/* gpu_facts.c - members of an object: name, units, clocks, versions, and the
 * partitions where the driver tells. */
void kn_put_gpu(struct kn_json *j, struct kn_ctx *c,
                const struct kn_device *d);
/* The shader clock now, as the driver writes it, NULL: it does not. */
const char *kn_gpu_clock(struct kn_ctx *c, const struct kn_device *d);

/* What a session has on a device: memory, or the code of a kernel. */
struct kn_held {
    struct kn_held *next;
    void *p;                 /* NULL: code */
    void *base;              /* of the allocation p is in */
    uint64_t size;
    bool output;
    uint8_t *copy;           /* of an output, after the launch */
    struct kn_loaded_code code;
};

struct kn_session {
    struct kn_ctx *c;
    struct kn_device dev;
    bool gpu;
    bool predicts;           /* set by a caller that executes nothing: a
                                split-K workspace is that of the last share */
    struct kn_held *held;    /* of a GPU, which does not forget by itself */
    struct kn_trial *trial;  /* its launches are tried, or NULL */
    bool warm;               /* of its place */
};

/* A launch. The caller sets p and g, operands in `at`, order and selection in
 * `l`; what is no kernel of kiln has its own grid and arguments in `l`. */
struct kn_job {
    const kiln_problem *p;
    const struct kn_generated *g;
    struct kn_operands at;
    struct kn_plan plan;
    const int64_t *host_offs; /* --group-table host: the groups, of which the
                                grid is; NULL: only the device knows them */
    struct kn_sim_launch l;
    struct kn_loaded_code code;
    uint64_t workgroups;     /* of the whole launch */
    /* of what is no kernel of kiln: its arguments for operands that are
     * elsewhere; NULL: nobody knows them */
    kiln_status (*arguments)(void *user, const struct kn_operands *at,
                             const void **kernarg);
    void *arguments_of;
    struct kn_sim_result result; /* of the simulator */
    double us[KN_STABLE_MOST]; /* of a GPU: each timed run */
    size_t runs;
    struct kn_stable time;
    uint64_t rotated;        /* bytes its timed launches went through before
                                one came again; 0: the same each time */
};

/* Opens a session, calls the body and closes it, whatever happened. The
 * findings of its launches outlive it. */
typedef kiln_status kn_session_fn(struct kn_session *s, void *user);
kiln_status kn_session_do(struct kn_ctx *c, const struct kn_place *place,
                          kn_session_fn *body, void *user);

/* Memory for as long as the session; no bytes have an address too. */
kiln_status kn_session_put(struct kn_session *s, const struct kn_memory *m,
                           uint64_t *at);
/* The same with a table that kernels only read. */
kiln_status kn_session_table(struct kn_session *s, const void *data, size_t n,
                             uint64_t *at);

/* A problem's operands and the table of its groups (offs, or NULL), where
 * j->at then says. */
kiln_status kn_session_operands(struct kn_session *s, struct kn_job *j,
                                struct kn_operands_set *set,
                                const int64_t *offs);

/* The tables of its groups alone. */
kiln_status kn_session_groups(struct kn_session *s, const kiln_problem *p,
                              const int64_t *offs, struct kn_operands *at);

/* Plans j->g->cfg for j->at, with a workspace where it asks for one. */
kiln_status kn_session_plan(struct kn_session *s, struct kn_job *j);
kiln_status kn_session_load(struct kn_session *s, struct kn_job *j,
                            const struct kn_object_bytes *o);
/* Runs it to its end. */
kiln_status kn_session_run(struct kn_session *s, struct kn_job *j);
/* Loads the kernel j->g and runs it in the orders the command line says. */
kiln_status kn_session_execute(struct kn_session *s, struct kn_tool *t,
                               struct kn_job *j);
/* Measures it on a GPU, on copies of its buffers (rotate.c), or on the same
 * ones if the session is warm: compare.h says how often. What is read
 * afterwards is what kn_session_run left. */
kiln_status kn_session_time(struct kn_session *s, struct kn_job *j);
/* FINDING unless a split-K workspace is left as it was found. */
kiln_status kn_session_check_shares(struct kn_session *s,
                                    const struct kn_job *j);
kiln_status kn_session_predict(struct kn_session *s, const struct kn_job *j,
                               struct kn_time_query *q,
                               struct kn_time_result *out);

/* Addresses of a launch and the operands they are. */
struct kn_operand_place {
    size_t at;               /* in struct kn_operands */
    kiln_operand operand;
};
enum { KN_NPLACES = 20 };
extern const struct kn_operand_place kn_operand_places[KN_NPLACES];

/* rotate.c - a launch many times over, its buffers with it. n 0: more than a
 * cache has is in them anyway, or nobody knows its arguments. */
struct kn_rotation {
    uint32_t n;
    uint64_t bytes;          /* of all copies */
    const void **kernarg;    /* of each */
    void *slab[KN_NPLACES];
};
kiln_status kn_rotation_open(struct kn_session *s, const struct kn_job *j,
                             struct kn_rotation *r);
/* The time of one of many rounds of launches on them. */
kiln_status kn_rotation_time(struct kn_session *s, const struct kn_job *j,
                             const struct kn_rotation *r, size_t round,
                             double *us);
void kn_rotation_close(struct kn_session *s, struct kn_rotation *r);

/* The memory that an address is in, NULL: nobody's. */
struct kn_held *kn_session_held(const struct kn_session *s, uint64_t at);

/* Device memory after the launches. */
kiln_status kn_session_read(const struct kn_session *s, uint64_t at, void *to,
                            size_t n);
/* Adds a finding if the simulator saw other than `want` bytes of the output at
 * `at` written: all of the executed tiles and nothing else. */
void kn_session_check_written(const struct kn_session *s, struct kn_job *j,
                              uint64_t at, uint64_t size, uint64_t want);

/* amax.c: the largest magnitude that a launch has left at j->at.amax: a finding
 * if it is not between the reference's, and the file of --amax-file. */
struct kn_ref_amax;
kiln_status kn_amax_check(struct kn_tool *t, struct kn_json *json,
                          const struct kn_session *s, struct kn_job *j,
                          const struct kn_ref_amax *want);
kiln_status kn_amax_write(struct kn_tool *t, const struct kn_session *s,
                          const struct kn_job *j);

/* second.c: the second output of a launch. */
struct kn_second {
    struct kn_session *s;
    struct kn_job *job;
    const int64_t *offs;
    const struct kn_data *data;      /* its shape */
    uint64_t size, written;          /* bytes: of it, and what tiles wrote */
    struct kn_ref_check check;
};
/* A tile of it; first: the same of the output. */
kiln_status kn_second_check(struct kn_ctx *c, struct kn_second *x,
                            const struct kn_ref_problem *p,
                            const struct kn_rect *t,
                            const struct kn_ref_result *first);
/* A line and a member of the report; findings of what is wrong. */
void kn_second_report(struct kn_tool *t, struct kn_json *json,
                      struct kn_second *x);
/* The file of --out2-file. */
kiln_status kn_second_write(struct kn_tool *t, const struct kn_second *x);

/* Generates the kernel of the command's configuration and reports it; `link`
 * as in struct kn_watch. */
kiln_status kn_job_make(struct kn_tool *t, struct kn_json *j,
                        const kiln_problem *p, struct kn_generated *g);
/* object.c - the kernel of --object in its place: BAD_INPUT if that is for another
 * target, problem or configuration; with --launch, g->cfg stays as it is. */
kiln_status kn_object_take(struct kn_tool *t, struct kn_json *j,
                           const kiln_problem *p, struct kn_generated *g);
/* The one that the flags want. */
kiln_status kn_kernel_take(struct kn_tool *t, struct kn_json *j,
                           const kiln_problem *p, struct kn_generated *g);
/* Gives findings of the job in a kernel of ours the template lines they come from. */
kiln_status kn_job_places(struct kn_ctx *c, struct kn_job *j);
/* What a GPU measured; flops 0: not known. */
void kn_job_measured(struct kn_tool *t, struct kn_json *j,
                     const struct kn_place *place, const struct kn_job *job,
                     double flops);

/* predict.c - predicted time of a generated kernel (runtime/sim/timing/timing.h), on
 * a device of its own whose operands have sizes but no contents. */

struct kn_predict {
    const kiln_problem *p;   /* normalised, complete */
    const int64_t *offs;     /* group offsets, NULL without groups */
    bool host;               /* the host has them (kn_job.host_offs) */
    const struct kn_generated *g;
    struct kn_buf *trace, *svg; /* may be NULL */
    bool warm, whole;        /* of struct kn_time_query */
    const char *constants;   /* the same */
    const char *launch;      /* how g is launched, if it is not kiln's; or NULL */
};

/* Floating-point operations of the launch. */
double kn_launch_flops(const kiln_problem *p, const int64_t *offs);

kiln_status kn_predict_generated(struct kn_ctx *c, const struct kn_predict *q,
                                 struct kn_time_result *out);

/* The same for a launch that is planned; t says what it has to do. */
kiln_status kn_predict_job(struct kn_session *s, struct kn_job *j,
                           const struct kn_predict *q, struct kn_time_query t,
                           struct kn_time_result *out);

/* The prediction as lines and as the member "predicted" of the report.
 * program: names instructions, may be NULL. */
void kn_report_predicted(struct kn_tool *t, struct kn_json *j,
                         const struct kn_time_result *r,
                         const struct kn_program *program);

/* "+-8 % (18 rows)", or that nothing comparable was measured. */
void kn_put_error(struct kn_buf *b, double percent, uint32_t rows);
/* "-2 to +8 % (18 rows)", or the same. */
void kn_put_bar(struct kn_buf *b, const struct kn_time_result *r);

/* Predicts and reports what `run` executed. A launch the model cannot follow
 * costs the report one line and nothing else. */
void kn_predict_run(struct kn_tool *t, struct kn_json *j,
                    const struct kn_predict *q);

/* Writes what --trace and --svg asked for. */
kiln_status kn_write_pictures(struct kn_tool *t, const struct kn_buf *trace,
                              const struct kn_buf *svg);

/* trial.c - launches of a row of selftest: the same one many times, on two
 * sets of buffers by turns and on two streams, each set surrounded by a
 * pattern, the second with every operand at the least alignment the kernel
 * allows; and as a graph. A session with a trial runs its jobs so. */

/* An output of a launch, as the first one left it. */
struct kn_output {
    struct kn_output *next;
    kiln_type type;
    uint64_t size;
    uint8_t *bytes;
};

/* What a trial counts; X(id, text of the report). */
#define KN_TRIAL_COUNTS(X) \
    X(launches, "launches") \
    X(replays, "replays of a graph") \
    X(unequal, "launches with other bits than the first") \
    X(overwritten, "buffers written around") \
    X(changed, "operands changed") \
    X(dirty, "launches that left workspace counters")

struct kn_trial {
    struct kn_ctx *c;        /* arena of the outputs */
    uint32_t wanted;         /* launches of each kernel on a GPU, at least 1 */
    bool timed;              /* they are measured too, and predicted */
    bool unchecked;          /* operands whose sums overflow or not by order */
    struct kn_output *first, **last;
#define X(id, text) uint64_t id;
    KN_TRIAL_COUNTS(X)
#undef X
};

void kn_trial_init(struct kn_trial *t, struct kn_ctx *c);

/* Memory with a pattern before and behind it, `shift` bytes further than
 * aligned: h->base, h->p and h->size. On the simulator, which sees every
 * access by itself, it is only memory. */
kiln_status kn_trial_put(struct kn_session *s, const struct kn_memory *m,
                         uint32_t shift, struct kn_held *h);

/* kn_session_run of a session with a trial. */
kiln_status kn_trial_run(struct kn_session *s, struct kn_job *j);

/* Whether what was counted is no fault. */
bool kn_trial_fine(const struct kn_trial *t);

/* cmd_run_quant.c - `run` of family quant. */

kiln_status kn_run_quant(struct kn_tool *t);

/* Bytes that a launch reads and writes, each once. */
double kn_quant_bytes(const kiln_problem *p);

/* quant_check.c - part of a row of the output, of which numbers it is made. */
struct kn_quant_row {
    const kiln_problem *p;
    int64_t row, first, n;   /* its number, the column of its first element, and
                                how many it has */
    const double *value;     /* before they are quantised */
    const double *error;     /* bounds of it; NULL: it is exact */
    const uint8_t *codes;    /* packed */
    const void *scales;      /* f32 or E8M0, one for each block */
};
/* Counts what is wrong; of a wrong scale the first element of its block. */
void kn_quant_check(const struct kn_quant_row *r, struct kn_ref_check *k);

/* quant_tiles.c - in how many parts a workgroup has an output; which a part is, rows from m on
 * and elements from n on, counted through all workgroups; and to those that were asked for,
 * those that share their rows with them. */
uint32_t kn_quant_parts(const kiln_problem *p, const struct kn_config *g);
struct kn_rect kn_quant_tile(const kiln_problem *p, const struct kn_config *g, bool turned,
                             uint64_t id);
kiln_status kn_quant_select(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
                            struct kn_sim_select *s);

#endif
