/* parity_run.c - executes the kernels of `kilnc parity` on one problem's
 * operands, each on a device of its own. */
#include <string.h>

#include "../run/cmd_run_moe.h"
#include "../run/run.h"
#include "inspect.h"
#include "../run/session.h"

/* ---- operands ----------------------------------------------------------- */

static kiln_status
place_operands(struct kn_session *s, struct kn_side *x)
{
    struct kn_parity *q = x->of;
    struct kn_operands_set *set = KN_NEW(q->c, struct kn_operands_set, 1);
    struct kn_job *j = &x->job;
    struct moe_run *m;

    if (kn_family_of(&q->p)->routed) {
        m = KN_NEW(q->c, struct moe_run, 1);
        m->t = q->t;
        m->c = q->c;
        m->target = x->s.o.target;
        m->s = s;
        KN_TRY(moe_place_stage(m, &x->on));
        j->p = x->on.p;
        j->at = x->on.o;
        return KILN_OK;
    }
    j->p = &q->p;
    KN_TRY(kn_operands_make(q->t, &q->p, set));
    KN_TRY(kn_session_operands(s, j, set, q->offs));
    x->on = (struct kn_launch_data){ .p = &q->p, .o = j->at,
                                     .out_size = set->o[KN_OPND_C].size };
    return KILN_OK;
}

/* ---- launches ----------------------------------------------------------- */

/* What an object says it was made with; of one that says nothing, what would
 * be chosen for the problem. */
static kiln_status
configure(struct kn_side *x, struct kn_generated *g)
{
    struct kn_parity *q = x->of;
    struct kn_config asked = { 0 };
    struct kn_stamp made;
    const char *text;

    KN_TRY(kn_object_stamped(q->c, x->s.bytes, x->s.size, &text));
    if (!text || !kn_stamp_read(q->c, text, &made)) {
        KN_TRY(kn_config_parse(q->c, q->t->cli->config, &asked));
        return kn_generate(q->c, x->job.p, &asked, NULL, g);
    }
    if (strcmp(made.problem, kn_problem_text(q->c, x->job.p)) != 0)
        return kn_fail(q->c, KILN_BAD_INPUT, "'%s' was made for %s, not for "
                       "%s", x->s.name, made.problem,
                       kn_problem_text(q->c, x->job.p));
    return kn_config_take(q->c, made.config, &g->cfg);
}

static kiln_status
plan_own(struct kn_session *s, struct kn_side *x)
{
    struct kn_parity *q = x->of;
    struct kn_generated *g = KN_NEW(q->c, struct kn_generated, 1);

    g->cfg = x->s.config;
    x->job.g = g;
    if (!kn_kernel_is_own(x->s.k))
        return kn_fail(q->c, KILN_BAD_INPUT, "'%s' is no kernel of kiln: say "
                       "how to launch it with --launch-%s FILE", x->s.name,
                       x == q->side ? "a" : "b");
    if (!x->s.made)
        KN_TRY(configure(x, g));
    return kn_session_plan(s, &x->job);
}

/* Of a foreign kernel, its operands being at `at`. */
static kiln_status
foreign_arguments(void *user, const struct kn_operands *at,
                  const void **kernarg)
{
    struct kn_side *x = user;
    struct kn_launch_text *text = KN_NEW(x->of->c, struct kn_launch_text, 1);
    struct kn_launch_data on = x->on;

    on.o = *at;
    KN_TRY(kn_launch_read(x->of->c, x->launch_file, &on, text));
    *kernarg = text->kernarg;
    return KILN_OK;
}

static kiln_status
plan_foreign(struct kn_side *x)
{
    struct kn_launch_text *text = KN_NEW(x->of->c, struct kn_launch_text, 1);

    KN_TRY(kn_launch_read(x->of->c, x->launch_file, &x->on, text));
    kn_job_take_launch(&x->job, text);
    x->job.arguments = foreign_arguments;
    x->job.arguments_of = x;
    return KILN_OK;
}

static kiln_status
prepare(struct kn_session *s, struct kn_side *x)
{
    x->job = (struct kn_job){ .l = { .kernel = x->s.k->name,
                                     .own = x->s.made || x->s.cert } };
    KN_TRY(place_operands(s, x));
    KN_TRY(x->launch_file ? plan_foreign(x) : plan_own(s, x));
    return kn_session_load(s, &x->job, &(struct kn_object_bytes){
        s->gpu ? x->s.k->name : x->s.name, x->s.bytes, x->s.size });
}

static kiln_status
execute(struct kn_session *s, void *user)
{
    struct kn_side *x = user;
    struct kn_tool *t = x->of->t;

    KN_TRY(prepare(s, x));
    kn_progress_stage(t->progress, s->gpu ? "executing"
                                          : "simulating workgroups");
    KN_TRY(kn_session_run(s, &x->job));
    KN_TRY(kn_report_stopped(t, NULL, &x->job.result));
    KN_TRY(kn_session_check_shares(s, &x->job));
    x->result = x->job.result;
    x->out = KN_NEW(s->c, uint8_t, x->on.out_size + 1);
    return kn_session_read(s, x->on.o.c, x->out, x->on.out_size);
}

static double
flops_of(const struct kn_parity *q)
{
    int64_t twice = q->p.stage == KILN_MOE_GATE_UP ? 2 : 1;

    if (!kn_family_of(&q->p)->routed)
        return kn_launch_flops(&q->p, q->offs);
    return 2.0 * (double)(q->p.tokens * q->p.topk) *
           (double)(twice * q->p.n) * (double)q->p.k;
}

static kiln_status
predict(struct kn_session *s, void *user)
{
    struct kn_side *x = user;
    struct kn_time_query query = { .flops = flops_of(x->of),
                                   .warm = x->of->place.warm };

    s->predicts = true;
    KN_TRY(prepare(s, x));
    kn_progress_stage(x->of->t->progress, "predicting");
    return kn_session_predict(s, &x->job, &query, &x->time);
}

static kiln_status
read_problem(struct kn_parity *q, const char *family)
{
    struct kn_cli cli = *q->t->cli;
    kiln_target target = q->side[0].s.o.target;

    for (int i = 1; i < q->n; i++)
        if (target != q->side[i].s.o.target)
            return kn_fail(q->c, KILN_BAD_INPUT, "the kernels are for "
                           "different targets");
    cli.pos = &family;
    KN_TRY(kn_cli_problem(q->c, &cli, target, &q->p));
    if (kn_family_of(&q->p)->routed)
        return kn_moe_problem(q->c, &cli, target,
                              (int)cli.v[KN_FLAG_stage].i, &q->p);
    KN_TRY(kn_groups_make(q->c, &cli, &q->p, &q->offs));
    KN_TRY(kn_problem_normalise(q->c, &q->p));
    if (!q->p.m || !q->p.n || !q->p.k)
        return kn_fail(q->c, KILN_BAD_INPUT, "'parity --run' needs a problem "
                       "with work in it: sizes that are not zero");
    return KILN_OK;
}

static void
compare_outputs(struct kn_side *x)
{
    const struct kn_parity *q = x->of;

    x->first = q->bytes;
    for (uint64_t i = q->bytes; i-- > 0;)
        if (q->side[0].out[i] != x->out[i]) {
            x->differing++;
            x->first = i;
        }
}

/* ---- on a GPU ----------------------------------------------------------- */

static kiln_status
time_by_turns(struct kn_session *s, struct kn_parity *q,
              const struct kn_rotation *r)
{
    for (size_t round = 0; round < KN_ROUNDS; round++)
        for (int i = 0; i < q->n; i++)
            KN_TRY(kn_rotation_time(s, &q->side[i].job, &r[i], round,
                                    &q->side[i].us[round]));
    return KILN_OK;
}

/* All of them on one device, each with operands of its own. */
static kiln_status
contest(struct kn_session *s, void *user)
{
    struct kn_parity *q = user;
    struct kn_rotation r[KN_SIDES] = { { 0 } };
    kiln_status st = KILN_OK;

    for (int i = 0; i < q->n; i++)
        KN_TRY(execute(s, &q->side[i]));
    for (int i = 0; i < q->n && !st && !s->warm; i++)
        st = kn_rotation_open(s, &q->side[i].job, &r[i]);
    if (!st)
        st = time_by_turns(s, q, r);
    for (int i = 0; i < q->n; i++)
        kn_rotation_close(s, &r[i]);
    return st;
}

static kiln_status
open_place(struct kn_parity *q)
{
    kiln_target target = q->side[0].s.o.target;

    q->place.target = target;
    KN_TRY(kn_tool_place(q->t, &q->place));
    if (q->place.target != target)
        return kn_fail(q->c, KILN_BAD_INPUT, "the kernels are for %s, the "
                       "device is %s", kiln_target_name(target),
                       kiln_target_name(q->place.target));
    return KILN_OK;
}

kiln_status
kn_parity_run(struct kn_parity *q, const char *family)
{
    KN_TRY(read_problem(q, family));
    KN_TRY(open_place(q));
    for (int i = 0; i < q->n; i++)
        q->side[i].of = q;
    if (q->place.gpu)
        KN_TRY(kn_session_do(q->c, &q->place, contest, q));
    for (int i = 0; i < q->n; i++) {
        struct kn_side *x = &q->side[i];
        const struct kn_place place = { .target = x->s.o.target };

        if (!q->place.gpu)
            KN_TRY(kn_session_do(q->c, &place, execute, x));
        KN_TRY(kn_session_do(q->c, &place, predict, x));
        q->bytes = q->side[0].on.out_size;
        compare_outputs(x);
    }
    q->run = true;
    return KILN_OK;
}
