/* check_sums.c - `kilnc check FAMILY`: the order of the sums of a problem's
 * kernel; with --invariant, that it is one for a list of M. */
#include <string.h>

#include "../run/run.h"
#include "inspect.h"

/* One value of M. */
struct row {
    kiln_problem p;
    struct kn_config cfg;
    struct kn_generated g;
    struct kn_sums_facts facts;
    int64_t m;
};

kiln_status
kn_check_sums(struct kn_ctx *c, const kiln_problem *p, const int64_t *offs,
              const struct kn_generated *g, struct kn_sums_facts *out)
{
    struct kn_sums_table table = { 0 };
    struct kn_plan plan;

    *out = (struct kn_sums_facts){ 0 };
    KN_TRY(kn_plan_launch(c, p, &g->cfg, &(struct kn_operands){ 0 }, &plan));
    if (offs)
        table = kn_groups_table(c, p, offs);
    table.staggered = g->cfg.stagger > 1;
    return kn_launch_sums(c, g->tile, &plan, &table, out);
}

kiln_status
kn_run_sums(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
            const int64_t *offs, const struct kn_generated *g)
{
    struct kn_sums_facts facts;
    struct kn_ctx own;
    kiln_status s;

    if (!g->tile || !p->m || !p->n || !p->k)
        return KILN_OK;      /* an object, or no sum */
    kn_ctx_init(&own, t->c->realloc, t->c->user);
    s = kn_check_sums(&own, p, offs, g, &facts);
    if (s == KILN_FINDING)
        kn_fail(t->c, s, "%s", own.err.text);
    kn_ctx_free(&own);
    if (s == KILN_OK) {
        kn_json_open(j, "sums", '{');
        kn_json_uint(j, "followed", facts.sums);
        kn_json_int(j, "k", facts.k);
        kn_json_int(j, "step", facts.step);
        kn_json_close(j, '}');
    }
    return s == KILN_FINDING ? s : KILN_OK;
}

static bool
same_choice(const struct kn_config *x, const struct kn_config *y)
{
    return !memcmp(x, y, sizeof *x);
}

/* The kernel of row n: an earlier one's, where the choice is the same. */
static kiln_status
make(struct kn_tool *t, struct row *rows, size_t n)
{
    struct row *r = &rows[n];
    struct kn_watch watch = { .want = KN_WANT_TIR };
    struct kn_config given = { 0 };

    KN_TRY(kn_config_parse(t->c, t->cli->config, &given));
    r->cfg = given;
    KN_TRY(kn_choose(t->c, &r->p, &r->cfg, NULL));
    while (n--)
        if (same_choice(&rows[n].cfg, &r->cfg)) {
            r->g = rows[n].g;
            return KILN_OK;
        }
    KN_TRY(kn_generate(t->c, &r->p, &given, &watch, &r->g));
    r->cfg = r->g.cfg;
    return KILN_OK;
}

/* Row n: -m, of groups and moe --tokens, is m, unless that is 0. */
static kiln_status
prove(struct kn_tool *t, const char *word, int64_t m, struct row *rows,
      size_t n)
{
    const struct kn_family *f = &kn_families[
        kn_name_index(kn_family_names, KILN_NFAMILIES, word)];
    struct kn_cli cli = *t->cli;
    struct row *r = &rows[n];
    int64_t *offs;

    if (m)
        cli.v[f->ragged == 'm' || f->routed ? KN_FLAG_tokens : KN_FLAG_m] =
            (struct kn_value){ .seen = true, .i = m };
    KN_TRY(kn_subject_problem(t, &cli, word, &r->p, &offs));
    r->m = m ? m : r->p.m;
    if (!r->p.m || !r->p.n || !r->p.k)
        return kn_fail(t->c, KILN_BAD_INPUT, "the order of sums is proven of a "
                       "launch: its M, N and K are wanted");
    KN_TRY(make(t, rows, n));
    return kn_check_sums(t->c, &r->p, offs, &r->g, &r->facts);
}

static bool
same_order(const struct kn_sums_facts *x, const struct kn_sums_facts *y)
{
    return x->mfma == y->mfma && x->step == y->step && x->sub == y->sub &&
           x->scaled == y->scaled && x->k == y->k;
}

static void
put_order(struct kn_buf *b, const struct kn_sums_facts *f)
{
    kn_putf(b, "K 0 to %lld, ascending%s, each once, %lld a step of %u x mfma %s",
            (long long)f->k, f->rotated ? " from a tile's own and round" : "",
            (long long)f->step, f->sub, kn_mfmas[f->mfma].text);
    if (f->scaled)
        kn_putf(b, "; scaled, then added, by %lld", (long long)f->scaled);
}

static void
put_json(struct kn_json *j, const struct row *r)
{
    kn_json_open(j, NULL, '{');
    kn_json_int(j, "m", r->m);
    kn_json_str(j, "kernel", r->g.name);
    kn_json_int(j, "k", r->facts.k);
    kn_json_int(j, "step", r->facts.step);
    kn_json_int(j, "scaled", r->facts.scaled);
    kn_json_str(j, "mfma", kn_mfmas[r->facts.mfma].text);
    kn_json_uint(j, "sums", r->facts.sums);
    kn_json_close(j, '}');
}

/* Each kernel once, with the values of M it serves; what differs from the
 * first is a finding. */
static kiln_status
report(struct kn_tool *t, struct kn_json *j, const struct row *rows, size_t n)
{
    uint32_t kernels = 0, others = 0;

    kn_json_open(j, "rows", '[');
    for (size_t i = 0; i < n; i++) {
        put_json(j, &rows[i]);
        if (i && !same_order(&rows[i].facts, &rows[0].facts))
            others++;
    }
    kn_json_close(j, ']');
    for (size_t i = 0; i < n; i++) {
        size_t x = 0;

        while (rows[x].g.name != rows[i].g.name)
            x++;
        if (x < i)
            continue;
        kernels++;
        kn_putf(t->text, "kernel    %s: M", rows[i].g.name);
        for (; x < n; x++)
            if (rows[x].g.name == rows[i].g.name)
                kn_putf(t->text, " %lld", (long long)rows[x].m);
        kn_put(t->text, "\norder     ");
        put_order(t->text, &rows[i].facts);
        kn_put(t->text, "\n");
    }
    if (rows[0].p.invariant)
        kn_putf(t->text, "invariant %zu values of M, %u kernels: %s\n", n,
                kernels, others ? "more than one order" : "one order");
    kn_json_uint(j, "other_orders", others);
    return others && rows[0].p.invariant ? KILN_FINDING : KILN_OK;
}

static void
report_finding(struct kn_tool *t, struct kn_json *j, const kiln_error *e)
{
    kn_putf(t->text, "finding   %s:%d: %s\n", e->file, e->line, e->text);
    kn_json_str(j, "finding", e->text);
    kn_json_str(j, "file", e->file);
    kn_json_int(j, "line", e->line);
}

kiln_status
kn_check_problem(struct kn_tool *t, const char *word)
{
    const struct kn_value *list = &t->cli->v[KN_FLAG_m_list];
    size_t n = list->seen ? list->n : 1;
    struct row *rows = KN_NEW(t->c, struct row, n);
    struct kn_json j = { .b = { .c = t->c } };
    kiln_status s = KILN_OK;

    if (list->seen && !t->cli->v[KN_FLAG_invariant].seen)
        return kn_fail(t->c, KILN_BAD_INPUT, "--m-list goes with --invariant");
    for (size_t i = 0; i < n && !s; i++)
        s = prove(t, word, list->seen ? list->list[i] : 0, rows, i);
    if (s && s != KILN_FINDING)
        return s;
    kn_json_open(&j, NULL, '{');
    kn_report_problem(t, &j, &rows[0].p);
    if (s)
        report_finding(t, &j, &t->c->err);
    else
        s = report(t, &j, rows, n);
    kn_json_close(&j, '}');
    memset(&t->c->err, 0, sizeof t->c->err);
    KN_TRY(kn_report_write(t, &j));
    return s;
}
