/* api.c - the public functions about kernels and plans. */
#include <string.h>

#include "context.h"

/* What is asked for, complete. */
static kiln_status
request(struct kn_ctx *c, const kiln_problem *asked, const char *config,
        struct kn_request *r)
{
    kiln_problem *p = KN_NEW(c, kiln_problem, 1);
    struct kn_config *g = KN_NEW(c, struct kn_config, 1);
    struct kn_config *given = KN_NEW(c, struct kn_config, 1);
    struct kn_buf why = { .c = c };

    KN_TRY(kn_problem_take(c, asked, KILN_TARGET_NONE, p));
    KN_TRY(kn_config_parse(c, config ? config : "", g));
    if (!g->split_k)
        g->split_k = 1;      /* only who asks for it has a workspace */
    *given = *g;
    KN_TRY(kn_choose(c, p, g, &why));
    r->problem = p;
    r->config = g;
    r->given = given;
    r->why = why.s;
    r->chosen = !config || !config[0];
    return KILN_OK;
}

struct question {
    const kiln_problem *problem;
    const char *config;
    bool compile;
};

static kiln_status
find(struct kn_ctx *c, kiln_context *x, const struct question *q,
     kiln_kernel **out)
{
    struct kn_request r = { .compile = q->compile };

    KN_ENTER(c);
    KN_TRY(request(c, q->problem, q->config, &r));
    return kn_find_kernel(x, c, &r, out);
}

static kiln_status
ask(kiln_context *x, const struct question *q, kiln_kernel **out,
    kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, out, "out");
    *out = NULL;
    KN_NEEDS(error, x, "context");
    KN_NEEDS(error, q->problem, "problem");
    kn_choice_begin(x, &c);
    return kn_call_end(&c, find(&c, x, q, out), error);
}

kiln_status
kiln_lookup(kiln_context *x, const kiln_problem *problem, const char *config,
            kiln_kernel **out, kiln_error *error)
{
    return ask(x, &(struct question){ problem, config, false }, out, error);
}

kiln_status
kiln_compile(kiln_context *x, const kiln_problem *problem, const char *config,
             kiln_kernel **out, kiln_error *error)
{
    return ask(x, &(struct question){ problem, config, true }, out, error);
}

kiln_status
kiln_compile_text(kiln_context *x, const char *text, kiln_kernel **out,
                  kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, out, "out");
    *out = NULL;
    KN_NEEDS(error, x, "context");
    KN_NEEDS(error, text, "text");
    kn_call_begin(&x->host, &c);
    return kn_call_end(&c, kn_find_text(x, &c, text, out), error);
}

static kiln_status
make_plan(struct kn_ctx *c, const kiln_kernel *k, const kiln_problem *given,
          kiln_plan *plan)
{
    kiln_problem p;

    KN_ENTER(c);
    KN_TRY(kn_problem_take(c, given, KILN_TARGET_NONE, &p));
    return kn_launch_plan(c, k, &p, plan);
}

kiln_status
kiln_make_plan(const kiln_kernel *kernel, const kiln_problem *problem,
               kiln_plan *plan, kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, kernel, "kernel");
    KN_NEEDS(error, problem, "problem");
    KN_NEEDS(error, plan, "plan");
    kn_call_begin(&kernel->host, &c);
    return kn_call_end(&c, make_plan(&c, kernel, problem, plan), error);
}
