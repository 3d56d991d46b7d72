/* moe_time.c - predicted times of moe's launches, each on memory without contents and the
 * routing of the command. */
#include <inttypes.h>
#include <string.h>

#include "cmd_run_moe.h"
#include "../inspect/inspect.h"

/* A slot's row is read, a token's written. */
static double
reduce_bytes(const kiln_problem *p)
{
    return (double)(p->tokens * (p->topk + 1)) * (double)p->n * kn_type_bits[p->out] / 8;
}

static kiln_status
predict_job(struct moe_run *m, struct kn_job *j, const struct kn_predict *q,
            struct kn_time_result *r)
{
    const kiln_problem *p = j->p;
    bool sums = p->stage == KILN_MOE_REDUCE;
    int64_t n = p->stage == KILN_MOE_GATE_UP ? 2 * p->n : p->n;

    j->g = q->g;
    m->s->predicts = true;
    KN_TRY(kn_session_plan(m->s, j));
    return kn_predict_job(m->s, j, q, (struct kn_time_query){
        .work = moe_work(m, p, &q->g->cfg, j->plan.grid[0]),
        .bytes = sums ? reduce_bytes(p) : moe_bytes(m, p),
        .flops = sums ? 0 : 2.0 * (double)(m->r.tokens * m->r.topk) * (double)n *
                            (double)p->k }, r);
}

struct prediction {
    struct moe_run *m;
    const struct moe_part *part;
    const struct kn_predict *q;
    struct kn_time_result *r;
};

static kiln_status
predict_part(struct kn_session *session, void *user)
{
    const struct prediction *x = user;
    struct moe_run m = *x->m;
    struct moe_part s = *x->part;

    m.s = session;
    m.c = session->c;
    m.timed = m.target;
    s.job = (struct kn_job){ .p = &s.p };
    if (s.p.stage == KILN_MOE_REDUCE)
        moe_shape_operand(&m, &s.a, 0, (struct kn_data){
            .type = s.p.a, .rows = s.p.tokens * s.p.topk, .cols = s.p.n });
    KN_TRY(moe_upload(&m));
    KN_TRY(moe_alloc_part(&m, &s));
    return predict_job(&m, &s.job, x->q, x->r);
}

static kiln_status
predict_in(struct kn_ctx *c, struct moe_run *m, struct moe_part *s,
           const struct kn_predict *q)
{
    const struct kn_place place = { .target = m->target };
    struct kn_time_result r;
    struct kn_places from;

    KN_ENTER(c);
    KN_TRY(kn_session_do(c, &place, predict_part, &(struct prediction){ m, s, q, &r }));
    KN_TRY(kn_places_generated(c, q->g, &from));
    kn_report_predicted(m->t, &m->j, &r, &from.p);
    m->us += r.us;
    m->predicted++;
    return KILN_OK;
}

/* In a context of its own: its failure is not the command's. */
void
moe_predict_run(struct moe_run *m, struct moe_part *s)
{
    const struct kn_predict q = { .p = &s->p, .g = &s->g,
                                  .warm = m->t->cli->v[KN_FLAG_warm].seen };
    const struct kn_trial *trial = m->t->trial;
    struct kn_ctx own;

    m->launches++;
    if (!s->job.workgroups || (trial && !trial->timed))
        return;
    kn_ctx_init(&own, m->c->realloc, m->c->user);
    if (predict_in(&own, m, s, &q))
        kn_putf(m->t->text, "predicted nothing: %s\n", own.err.text);
    kn_ctx_free(&own);
}

void
moe_report_sum(struct moe_run *m)
{
    if (!m->predicted || m->predicted < m->launches)
        return;
    kn_putf(m->t->text, "layer     predicted %.1f us, %d launches one after the other\n",
            m->us, m->launches);
    kn_json_open(&m->j, "predicted", '{');
    kn_json_real(&m->j, "us", m->us);
    kn_json_uint(&m->j, "launches", (uint64_t)m->launches);
    kn_json_close(&m->j, '}');
}

/* ---- of the command's stage, by whoever asks ---- */

struct subject {
    struct kn_tool *t;
    const struct kn_predict *q;
    struct kn_time_result *r;
};

static kiln_status
predict_subject(struct kn_session *s, void *user)
{
    const struct subject *x = user;
    struct moe_run *m = KN_NEW(s->c, struct moe_run, 1);
    struct kn_launch_data on;
    struct kn_job j = { 0 };

    m->t = x->t;
    m->c = s->c;
    m->target = x->q->p->target;
    m->s = s;
    KN_TRY(moe_place_stage(m, &on));
    j.p = on.p;
    j.at = on.o;
    return predict_job(m, &j, x->q, x->r);
}

kiln_status
moe_predict(struct kn_tool *t, const struct kn_predict *q,
            struct kn_time_result *r)
{
    const struct kn_place place = { .target = q->p->target };

    return kn_session_do(t->c, &place, predict_subject, &(struct subject){ t, q, r });
}

/* ---- kilnc time ---- */

static kiln_status
time_part(struct moe_run *m, struct moe_part *s)
{
    const struct kn_value *v = m->t->cli->v;
    struct kn_buf trace = { .c = m->c }, svg = { .c = m->c };
    struct kn_predict q = { .p = &s->p, .g = &s->g,
                            .trace = v[KN_FLAG_trace].seen ? &trace : NULL,
                            .svg = v[KN_FLAG_svg].seen ? &svg : NULL,
                            .warm = v[KN_FLAG_warm].seen,
                            .whole = v[KN_FLAG_whole].seen,
                            .constants = v[KN_FLAG_constants].s };

    KN_TRY(kn_job_make(m->t, &m->j, &s->p, &s->g));
    m->launches++;
    KN_TRY(predict_in(m->c, m, s, &q));
    return kn_write_pictures(m->t, &trace, &svg);
}

static kiln_status
time_layer(struct moe_run *m)
{
    const struct kn_value *v = m->t->cli->v;
    struct moe_part *part[KN_MOE_LAUNCHES];
    int n;

    if (v[KN_FLAG_trace].seen || v[KN_FLAG_svg].seen)
        return kn_fail(m->c, KILN_BAD_INPUT, "--trace and --svg are of one launch, not of a "
                       "layer: name a --stage");
    KN_TRY(moe_make_layer(m, part, &n));
    moe_open_layer(m, part[0], part[1]);
    for (int i = 0; i < n; i++) {
        kn_json_open(&m->j, NULL, '{');
        KN_TRY(time_part(m, part[i]));
        kn_json_close(&m->j, '}');
    }
    kn_json_close(&m->j, ']');
    moe_report_sum(m);
    return KILN_OK;
}

kiln_status
kn_time_moe(struct kn_tool *t, kiln_target target)
{
    struct moe_run *m = KN_NEW(t->c, struct moe_run, 1);
    struct moe_part *s;

    m->timed = target;
    KN_TRY(moe_prepare(t, m));
    if (!m->r.tokens)
        return kn_fail(t->c, KILN_BAD_INPUT, "'time' needs a problem with work in it: "
                       "--tokens that is not zero");
    kn_json_open(&m->j, NULL, '{');
    if (m->stage) {
        KN_TRY(moe_make_part(m, m->stage, &s));
        KN_TRY(time_part(m, s));
    } else {
        KN_TRY(time_layer(m));
    }
    kn_json_close(&m->j, '}');
    return kn_report_write(t, &m->j);
}
