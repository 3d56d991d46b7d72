/* cmd_time.c - `kilnc time`: generates a kernel and predicts its time on a
 * chip nobody has to have. Nothing is executed on real data. */
#include <string.h>

#include "run.h"
#include "moe.h"
#include "../inspect/inspect.h"
#include "session.h"
#include "../progress.h"

struct timed {
    struct kn_tool *t;
    kiln_problem p;
    int64_t *offs;
    struct kn_generated g;
    struct kn_time_result r;
};

static kiln_target
target_of(const struct kn_tool *t)
{
    kiln_target asked = kn_cli_target(t->cli);

    return asked ? asked : KN_TARGET_DEFAULT;
}

static kiln_status
read_problem(struct timed *r)
{
    const struct kn_cli *cli = r->t->cli;

    KN_TRY(kn_cli_problem(r->t->c, cli, target_of(r->t), &r->p));
    KN_TRY(kn_groups_make(r->t->c, cli, &r->p, &r->offs));
    KN_TRY(kn_problem_normalise(r->t->c, &r->p));
    if (!r->p.m || !r->p.n || !r->p.k)
        return kn_fail(r->t->c, KILN_BAD_INPUT, "'time' needs a problem with "
                       "work in it: sizes that are not zero");
    return KILN_OK;
}

static kiln_status
predict(struct timed *r, struct kn_json *j)
{
    struct kn_tool *t = r->t;
    struct kn_buf trace = { .c = t->c }, svg = { .c = t->c };
    struct kn_places from;
    struct kn_predict q = {
        .p = &r->p, .offs = r->offs, .g = &r->g,
        .host = kn_cli_host_groups(t->cli),
        .trace = t->cli->v[KN_FLAG_trace].seen ? &trace : NULL,
        .svg = t->cli->v[KN_FLAG_svg].seen ? &svg : NULL,
        .warm = t->cli->v[KN_FLAG_warm].seen,
        .whole = t->cli->v[KN_FLAG_whole].seen,
        .constants = t->cli->v[KN_FLAG_constants].s };

    kn_progress_stage(t->progress, "predicting");
    KN_TRY(kn_predict_generated(t->c, &q, &r->r));
    KN_TRY(kn_places_generated(t->c, &r->g, &from));
    kn_report_predicted(t, j, &r->r, &from.p);
    return kn_write_pictures(t, &trace, &svg);
}

/* What --invariant costs: beside the free choice of the same problem. */
static kiln_status
put_price(struct timed *r, struct kn_json *j)
{
    struct kn_tool *t = r->t;
    kiln_problem p = r->p;
    struct kn_config cfg = { 0 };
    struct kn_time_result open;
    struct kn_generated g;
    const struct kn_predict q = { .p = &p, .offs = r->offs, .g = &g,
                                  .host = kn_cli_host_groups(t->cli),
                                  .warm = t->cli->v[KN_FLAG_warm].seen,
                                  .whole = t->cli->v[KN_FLAG_whole].seen,
                                  .constants = t->cli->v[KN_FLAG_constants].s };

    if (!p.invariant)
        return KILN_OK;
    p.invariant = 0;
    KN_TRY(kn_config_parse(t->c, t->cli->config, &cfg));
    KN_TRY(kn_generate(t->c, &p, &cfg, &(struct kn_watch){
        .link = kn_tool_linker(t->cli) }, &g));
    KN_TRY(kn_predict_generated(t->c, &q, &open));
    kn_putf(t->text, "invariant %.2f times the free choice's %.2f us\n",
            r->r.us / open.us, open.us);
    kn_json_real(j, "free_us", open.us);
    return KILN_OK;
}

kiln_status
kn_cmd_time(struct kn_tool *t)
{
    struct timed *r = KN_NEW(t->c, struct timed, 1);
    struct kn_json j = { .b = { .c = t->c } };

    r->t = t;
    if (!strcmp(t->cli->pos[0], "moe"))
        return kn_time_moe(t, target_of(t));
    KN_TRY(read_problem(r));
    kn_json_open(&j, NULL, '{');
    KN_TRY(kn_job_make(t, &j, &r->p, &r->g));
    KN_TRY(predict(r, &j));
    KN_TRY(put_price(r, &j));
    kn_json_close(&j, '}');
    return kn_report_write(t, &j);
}
