/* predict.h - predicted time of a generated kernel (runtime/sim/timing/timing.h), on
 * a device of its own whose operands have sizes but no contents. */
#ifndef KN_PREDICT_H
#define KN_PREDICT_H

#include "session.h"

struct kn_predict {
    const kiln_problem *p;   /* normalised, complete */
    const int64_t *offs;     /* group offsets, NULL without groups */
    const struct kn_generated *g;
    struct kn_buf *trace, *svg; /* may be NULL */
    bool warm, whole;        /* of struct kn_time_query */
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

#endif
