/* parity_run.c - executes the two kernels of `kilnc parity` on one problem's
 * operands, each on a device of its own. */
#include <string.h>

#include "../run/cmd_run_moe.h"
#include "../run/groups.h"
#include "parity.h"
#include "../run/predict.h"
#include "../run/split_k.h"

enum purpose { EXECUTE, PREDICT };

/* ---- operands ----------------------------------------------------------- */

static kiln_status
place_operands(struct kn_parity *q, struct kn_side *x)
{
    struct kn_operands_set *s = KN_NEW(q->c, struct kn_operands_set, 1);
    struct moe_run *m;

    if (q->p.family == KILN_MOE) {
        m = KN_NEW(q->c, struct moe_run, 1);
        m->t = q->t;
        m->c = q->c;
        m->target = x->s.o.target;
        m->sim = x->sim;
        return moe_place_stage(m, &x->on);
    }
    KN_TRY(kn_operands_make(q->t, &q->p, s));
    KN_TRY(kn_operands_alloc(x->sim, &q->p, s));
    x->on = (struct kn_launch_data){
        .p = &q->p,
        .o = { .a = s->o[KN_OPND_A].addr, .b = s->o[KN_OPND_B].addr,
               .c = s->o[KN_OPND_C].addr, .sa = s->o[KN_OPND_SA].addr,
               .sb = s->o[KN_OPND_SB].addr, .bias = s->o[KN_OPND_BIAS].addr },
        .out_size = s->o[KN_OPND_C].size,
    };
    return kn_groups_place(q->c, x->sim, &q->p, q->offs, &x->on.o.offs);
}

/* ---- launches ----------------------------------------------------------- */

static kiln_status
own_config(struct kn_parity *q, struct kn_side *x, struct kn_config *cfg)
{
    *cfg = x->s.config;
    if (!kn_kernel_is_own(x->s.k))
        return kn_fail(q->c, KILN_BAD_INPUT, "'%s' is no kernel of kiln: say "
                       "how to launch it with --launch-%s FILE", x->s.name,
                       x == q->side ? "a" : "b");
    if (x->s.made)
        return KILN_OK;
    KN_TRY(kn_config_parse(q->c, q->t->cli->config, cfg));
    return kn_choose(q->c, x->on.p, cfg, NULL);
}

static kiln_status
plan_own(struct kn_parity *q, struct kn_side *x, enum purpose what)
{
    struct kn_operands *o = &x->on.o;
    struct kn_config *cfg = KN_NEW(q->c, struct kn_config, 1);
    struct kn_plan plan;

    KN_TRY(own_config(q, x, cfg));
    KN_TRY(kn_plan_launch(q->c, x->on.p, cfg, o, &plan));
    if (plan.workspace && what == EXECUTE)
        KN_TRY(kn_shares_alloc(q->c, x->sim, plan.workspace, &o->workspace));
    else if (plan.workspace)
        KN_TRY(kn_sim_alloc(x->sim, plan.workspace, 0, kn_fill_last_share,
                            cfg, &o->workspace));
    KN_TRY(kn_plan_launch(q->c, x->on.p, cfg, o, &plan));
    memcpy(x->l.grid, plan.grid, sizeof plan.grid);
    memcpy(x->l.block, plan.block, sizeof plan.block);
    x->l.size = plan.kernarg_size;
    memcpy(x->l.kernarg, plan.kernarg, plan.kernarg_size);
    return KILN_OK;
}

static kiln_status
prepare(struct kn_parity *q, struct kn_side *x, enum purpose what,
        struct kn_sim_launch *l)
{
    struct kn_sim_code *code;

    KN_TRY(place_operands(q, x));
    KN_TRY(x->launch_file ? kn_launch_read(q->c, x->launch_file, &x->on,
                                           &x->l)
                          : plan_own(q, x, what));
    KN_TRY(kn_sim_load(x->sim, x->s.name, x->s.bytes, x->s.size, &code));
    *l = (struct kn_sim_launch){ .code = code, .kernel = x->s.k->name,
                                 .kernarg = x->l.kernarg,
                                 .kernarg_size = x->l.size,
                                 .dynamic_lds = x->l.lds,
                                 .own = x->s.made || x->s.cert,
                                 .select = { .all = true } };
    memcpy(l->grid, x->l.grid, sizeof l->grid);
    memcpy(l->block, x->l.block, sizeof l->block);
    return KILN_OK;
}

static kiln_status
execute_on(struct kn_parity *q, struct kn_side *x)
{
    struct kn_sim_launch l;

    KN_TRY(prepare(q, x, EXECUTE, &l));
    kn_progress_stage(q->t->progress, "simulating workgroups");
    KN_TRY(kn_sim_run(x->sim, &l, &x->result));
    KN_TRY(kn_report_stopped(q->t, NULL, &x->result));
    KN_TRY(kn_shares_check(q->c, x->sim, x->on.o.workspace));
    x->out = KN_NEW(q->c, uint8_t, x->on.out_size + 1);
    return kn_sim_read(x->sim, x->on.o.c, x->out, x->on.out_size);
}

static double
flops_of(const struct kn_parity *q)
{
    int64_t twice = q->p.stage == KILN_MOE_GATE_UP ? 2 : 1;

    if (q->p.family != KILN_MOE)
        return kn_launch_flops(&q->p, q->offs);
    return 2.0 * (double)(q->p.tokens * q->p.topk) *
           (double)(twice * q->p.n) * (double)q->p.k;
}

static kiln_status
predict_on(struct kn_parity *q, struct kn_side *x)
{
    struct kn_sim_launch l;
    struct kn_time_query query = { .sim = x->sim, .launch = &l,
                                   .flops = flops_of(q) };

    KN_TRY(prepare(q, x, PREDICT, &l));
    kn_progress_stage(q->t->progress, "predicting");
    return kn_time_predict(q->c, &query, &x->time);
}

static kiln_status
on_device(struct kn_parity *q, struct kn_side *x,
          kiln_status (*what)(struct kn_parity *, struct kn_side *))
{
    kiln_status s;

    KN_TRY(kn_sim_open(q->c, x->s.o.target, &x->sim));
    s = what(q, x);
    kn_sim_close(x->sim);
    return s;
}

static kiln_status
read_problem(struct kn_parity *q, const char *family)
{
    struct kn_cli cli = *q->t->cli;
    kiln_target target = q->side[0].s.o.target;

    if (target != q->side[1].s.o.target)
        return kn_fail(q->c, KILN_BAD_INPUT, "the two kernels are for "
                       "different targets");
    cli.pos = &family;
    kn_cli_problem(&cli, target, &q->p);
    KN_TRY(kn_cli_family(q->c, &cli, &q->p.family));
    if (q->p.family == KILN_MOE)
        return kn_moe_problem(q->c, &cli, target,
                              (int)cli.v[KN_FLAG_stage].i, &q->p);
    KN_TRY(kn_groups_make(q->c, &cli, &q->p, &q->offs));
    KN_TRY(kn_problem_normalise(q->c, &q->p));
    if (!q->p.m || !q->p.n || !q->p.k)
        return kn_fail(q->c, KILN_BAD_INPUT, "'parity --run' needs a problem "
                       "with work in it: sizes that are not zero");
    return KILN_OK;
}

kiln_status
kn_parity_run(struct kn_parity *q, const char *family)
{
    KN_TRY(read_problem(q, family));
    for (int i = 0; i < 2; i++) {
        KN_TRY(on_device(q, &q->side[i], execute_on));
        KN_TRY(on_device(q, &q->side[i], predict_on));
    }
    q->run = true;
    q->bytes = q->side[0].on.out_size;
    q->first = q->bytes;
    for (uint64_t i = q->bytes; i-- > 0;)
        if (q->side[0].out[i] != q->side[1].out[i]) {
            q->differing++;
            q->first = i;
        }
    return KILN_OK;
}
