/* cmd_parity.c - `kilnc parity`: two kernels side by side: what they consist
 * of, and, on the operands of one problem, what they compute and how long
 * the timing model gives them. */
#include <inttypes.h>
#include <string.h>

#include "../emit/isa/diff.h"
#include "../runtime/file.h"
#include "../runtime/sim/timing.h"
#include "facts.h"
#include "html.h"
#include "info.h"
#include "launchfile.h"
#include "progress.h"
#include "report.h"

struct side {
    struct kn_subject s;
    const char *launch_file; /* NULL: a kiln kernel's own arguments */
    struct kn_sim *sim;
    struct kn_operands_set ops;
    struct kn_launch_text l;
    struct kn_sim_result result;
    struct kn_time_result time;
    bool timed;
    uint8_t *out;            /* the output operand after the launch */
};

struct parity {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_problem p;
    struct side side[2];
    bool run;
    uint64_t bytes, differing, first; /* of the output */
    struct kn_diff d;
};

/* ---- execution ---------------------------------------------------------- */

static bool
takes_our_arguments(const struct side *x)
{
    return !strncmp(x->s.k->name, "kiln_", 5);
}

static kiln_status
plan_own(struct parity *q, struct side *x)
{
    const struct kn_operand *o = x->ops.o;
    struct kn_operands addr = {
        .a = o[KN_OPND_A].addr,   .b = o[KN_OPND_B].addr,
        .c = o[KN_OPND_C].addr,   .sa = o[KN_OPND_SA].addr,
        .sb = o[KN_OPND_SB].addr, .bias = o[KN_OPND_BIAS].addr,
    };
    struct kn_config cfg = x->s.config;
    struct kn_plan plan;

    if (!takes_our_arguments(x))
        return kn_fail(q->c, KILN_BAD_INPUT, "'%s' is no kernel of kiln: say "
                       "how to launch it with --launch-%s FILE", x->s.name,
                       x == q->side ? "a" : "b");
    if (!x->s.made) {
        KN_TRY(kn_config_parse(q->c, q->t->cli->config, &cfg));
        KN_TRY(kn_choose(q->c, &q->p, &cfg, NULL));
    }
    if (cfg.split_k > 1)
        return kn_fail(q->c, KILN_UNSUPPORTED,
                       "'parity' does not execute split-K kernels");
    KN_TRY(kn_plan_launch(q->c, &q->p, &cfg, &addr, &plan));
    memcpy(x->l.grid, plan.grid, sizeof plan.grid);
    memcpy(x->l.block, plan.block, sizeof plan.block);
    x->l.size = plan.kernarg_size;
    memcpy(x->l.kernarg, plan.kernarg, plan.kernarg_size);
    return KILN_OK;
}

static kiln_status
prepare(struct parity *q, struct side *x, struct kn_sim_launch *l)
{
    struct kn_sim_code *code;

    KN_TRY(x->launch_file ? kn_launch_read(q->c, x->launch_file, &q->p,
                                           &x->ops, &x->l)
                          : plan_own(q, x));
    KN_TRY(kn_sim_load(x->sim, x->s.name, x->s.bytes, x->s.size, &code));
    *l = (struct kn_sim_launch){ .code = code, .kernel = x->s.k->name,
                                 .kernarg = x->l.kernarg,
                                 .kernarg_size = x->l.size,
                                 .dynamic_lds = x->l.lds,
                                 .select = { .all = true } };
    memcpy(l->grid, x->l.grid, sizeof l->grid);
    memcpy(l->block, x->l.block, sizeof l->block);
    return KILN_OK;
}

static kiln_status
execute_on(struct parity *q, struct side *x)
{
    const struct kn_operand *out = &x->ops.o[KN_OPND_C];
    struct kn_sim_launch l;

    KN_TRY(kn_operands_alloc(x->sim, &q->p, &x->ops));
    KN_TRY(prepare(q, x, &l));
    kn_progress_stage(q->t->progress, "simulating workgroups");
    KN_TRY(kn_sim_run(x->sim, &l, &x->result));
    x->out = KN_NEW(q->c, uint8_t, out->size + 1);
    return kn_sim_read(x->sim, out->addr, x->out, out->size);
}

static kiln_status
predict_on(struct parity *q, struct side *x)
{
    struct kn_sim_launch l;
    struct kn_time_query query = {
        .sim = x->sim, .launch = &l,
        .flops = 2.0 * (double)q->p.m * (double)q->p.n * (double)q->p.k *
                 (double)(q->p.batch > 1 ? q->p.batch : 1) };

    KN_TRY(kn_operands_alloc(x->sim, &q->p, &x->ops));
    KN_TRY(prepare(q, x, &l));
    kn_progress_stage(q->t->progress, "predicting");
    KN_TRY(kn_time_predict(q->c, &query, &x->time));
    x->timed = true;
    return KILN_OK;
}

static kiln_status
on_device(struct parity *q, struct side *x,
          kiln_status (*what)(struct parity *, struct side *))
{
    jmp_buf *oom = q->c->oom;
    kiln_status s;

    KN_TRY(kn_sim_open(q->c, x->s.o.target, &x->sim));
    s = what(q, x);
    kn_sim_close(x->sim);
    q->c->oom = oom;
    return s;
}

static kiln_status
read_problem(struct parity *q, const char *family)
{
    struct kn_cli cli = *q->t->cli;

    cli.pos = &family;
    kn_cli_problem(&cli, q->side[0].s.o.target, &q->p);
    KN_TRY(kn_cli_family(q->c, &cli, &q->p.family));
    if (q->p.family != KILN_GEMM && q->p.family != KILN_BATCHED)
        return kn_fail(q->c, KILN_UNSUPPORTED,
                       "'parity' executes gemm and batched only; leave --run "
                       "out to compare without executing");
    if (q->side[0].s.o.target != q->side[1].s.o.target)
        return kn_fail(q->c, KILN_BAD_INPUT, "the two kernels are for "
                       "different targets");
    KN_TRY(kn_problem_normalise(q->c, &q->p));
    if (!q->p.m || !q->p.n || !q->p.k)
        return kn_fail(q->c, KILN_BAD_INPUT,
                       "'parity --run' needs -m, -n and -k");
    return KILN_OK;
}

static kiln_status
execute(struct parity *q, const char *family)
{
    KN_TRY(read_problem(q, family));
    for (int i = 0; i < 2; i++) {
        struct side *x = &q->side[i];

        KN_TRY(kn_operands_make(q->t, &q->p, &x->ops));
        KN_TRY(on_device(q, x, execute_on));
        KN_TRY(on_device(q, x, predict_on));
    }
    q->run = true;
    q->bytes = q->side[0].ops.o[KN_OPND_C].size;
    q->first = q->bytes;
    for (uint64_t i = q->bytes; i-- > 0;)
        if (q->side[0].out[i] != q->side[1].out[i]) {
            q->differing++;
            q->first = i;
        }
    return KILN_OK;
}

/* ---- the page ----------------------------------------------------------- */

/* A line of the table: a name and one figure for each kernel. */
struct line {
    const char *name;
    double v[2];
    bool real;
};

enum { MOST_LINES = 64 };

struct page {
    struct line line[MOST_LINES];
    int n;
};

static void
add_line(struct page *g, const char *name, double a, double b)
{
    if (g->n < MOST_LINES)
        g->line[g->n++] = (struct line){ name, { a, b },
                                         a != (double)(int64_t)a ||
                                             b != (double)(int64_t)b };
}

static uint32_t
count_unit(const struct kn_census *t, int unit)
{
    return t->unit[unit];
}

static uint64_t
loop_flops(const struct kn_cfg *g, int32_t loop)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < g->p->n; i++)
        if (loop >= 0 && kn_loop_contains(g, (uint32_t)loop, i))
            n += kn_inst_flops(&g->p->inst[i]);
    return n;
}

static kiln_status
add_census(struct parity *q, struct page *g)
{
    static const struct { const char *name; int unit; } units[] = {
        { "loop MFMA", KN_U_MFMA }, { "loop VMEM", KN_U_VMEM },
        { "loop LDS", KN_U_LDS }, { "loop VALU", KN_U_VALU },
        { "loop SALU", KN_U_SALU }, { "loop SMEM", KN_U_SMEM },
    };
    struct kn_census t[2];
    uint64_t waits[2] = { 0 }, flops[2];

    for (int i = 0; i < 2; i++) {
        const struct kn_cfg *f = &q->side[i].s.g;
        int32_t loop = kn_cfg_main_loop(f);

        KN_TRY(kn_census_take(q->c, f, loop, &t[i]));
        for (uint32_t k = 0; k < t[i].nwaits; k++)
            waits[i] += t[i].waits[k].n;
        flops[i] = loop_flops(f, loop);
    }
    add_line(g, "loop instructions", t[0].n, t[1].n);
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        add_line(g, units[k].name, count_unit(&t[0], units[k].unit),
                 count_unit(&t[1], units[k].unit));
    add_line(g, "loop waits", (double)waits[0], (double)waits[1]);
    add_line(g, "loop barriers", t[0].barriers, t[1].barriers);
    add_line(g, "loop FLOP of a wave", (double)flops[0], (double)flops[1]);
    add_line(g, "loop MFMA cycles", (double)t[0].mfma_cycles,
             (double)t[1].mfma_cycles);
    return KILN_OK;
}

static void
add_facts(const struct parity *q, struct page *g)
{
    const struct kn_object_kernel *a = q->side[0].s.k, *b = q->side[1].s.k;
    struct kn_occupancy x = kn_occupancy_of(q->side[0].s.o.target, a, 0);
    struct kn_occupancy y = kn_occupancy_of(q->side[1].s.o.target, b, 0);

    add_line(g, "VGPR", a->arch_vgpr, b->arch_vgpr);
    add_line(g, "AGPR", a->agpr, b->agpr);
    add_line(g, "SGPR", a->sgpr, b->sgpr);
    add_line(g, "LDS bytes", a->lds, b->lds);
    add_line(g, "scratch bytes", a->scratch, b->scratch);
    add_line(g, "work-items", a->max_workgroup, b->max_workgroup);
    add_line(g, "waves a SIMD", x.waves_per_simd, y.waves_per_simd);
    add_line(g, "code bytes", (double)a->code_size, (double)b->code_size);
    add_line(g, "instructions", q->side[0].s.p.n, q->side[1].s.p.n);
}

static void
add_run(const struct parity *q, struct page *g)
{
    const struct side *a = &q->side[0], *b = &q->side[1];

    if (!q->run)
        return;
    add_line(g, "findings", (double)a->result.nfindings,
             (double)b->result.nfindings);
    add_line(g, "executed instructions", (double)a->result.instructions,
             (double)b->result.instructions);
    add_line(g, "predicted us", a->time.us, b->time.us);
    add_line(g, "predicted loop cycles", a->time.loop_cycles,
             b->time.loop_cycles);
    add_line(g, "predicted MFMA efficiency", a->time.mfma_efficiency,
             b->time.mfma_efficiency);
}

static void
put_conclusion(const struct parity *q, struct kn_buf *out)
{
    const char *sep = "";

    if (q->run && !q->differing)
        kn_putf(out, "output    %" PRIu64 " bytes, bit for bit the same\n",
                q->bytes);
    else if (q->run)
        kn_putf(out, "output    %" PRIu64 " of %" PRIu64 " bytes differ, the "
                "first is %" PRIu64 "\n", q->differing, q->bytes, q->first);
    kn_put(out, "diff      ");
    if (q->d.equal)
        kn_put(out, "equal up to the names of registers");
    for (int k = 1; k < KN_NDIFFS; k++)
        if (q->d.count[k]) {
            kn_putf(out, "%s%" PRIu32 " %s", sep, q->d.count[k],
                    kn_diff_name((enum kn_diff_kind)k));
            sep = ", ";
        }
    kn_put(out, "\n");
}

static void
format_value(const struct line *l, int i, char *text, size_t n)
{
    snprintf(text, n, l->real ? "%.3g" : "%.0f", l->v[i]);
}

static void
put_text(const struct parity *q, const struct page *g, struct kn_buf *out)
{
    char a[32], b[32];

    kn_putf(out, "A         %s: %s\nB         %s: %s\n", q->side[0].s.name,
            q->side[0].s.k->name, q->side[1].s.name, q->side[1].s.k->name);
    kn_putf(out, "%-28s %12s %12s\n", "", "A", "B");
    for (int i = 0; i < g->n; i++) {
        format_value(&g->line[i], 0, a, sizeof a);
        format_value(&g->line[i], 1, b, sizeof b);
        kn_putf(out, "%-28s %12s %12s\n", g->line[i].name, a, b);
    }
    put_conclusion(q, out);
}

static void
put_html(const struct parity *q, const struct page *g, struct kn_buf *out)
{
    struct kn_buf end = { .c = q->c };
    char a[32], b[32];

    kn_html_begin(out, "Parity of two kernels");
    kn_put(out, "<p>A: ");
    kn_html_text(out, q->side[0].s.name);
    kn_put(out, "<br>B: ");
    kn_html_text(out, q->side[1].s.name);
    kn_put(out, "</p>\n<table>\n");
    kn_html_row(out, "th", 3, (const char *const[]){ "", "A", "B" });
    for (int i = 0; i < g->n; i++) {
        format_value(&g->line[i], 0, a, sizeof a);
        format_value(&g->line[i], 1, b, sizeof b);
        kn_html_row(out, "td", 3, (const char *const[]){ g->line[i].name, a,
                                                         b });
    }
    put_conclusion(q, &end);
    kn_put(out, "</table>\n<pre>");
    kn_put(out, end.s);
    kn_put(out, "</pre>\n<p>Executed by the simulator; times are predicted, "
                "not measured.</p>\n");
    kn_html_end(out);
}

static void
put_json(const struct parity *q, const struct page *g, struct kn_json *j)
{
    kn_json_open(j, NULL, '{');
    for (int i = 0; i < 2; i++) {
        kn_json_open(j, i ? "b" : "a", '{');
        kn_json_str(j, "file", q->side[i].s.name);
        kn_json_str(j, "kernel", q->side[i].s.k->name);
        for (int k = 0; k < g->n; k++)
            kn_json_real(j, g->line[k].name, g->line[k].v[i]);
        kn_json_close(j, '}');
    }
    kn_json_bool(j, "executed", q->run);
    kn_json_uint(j, "output_bytes", q->bytes);
    kn_json_uint(j, "differing_bytes", q->differing);
    kn_json_bool(j, "equal_code", q->d.equal);
    kn_json_close(j, '}');
}

kiln_status
kn_cmd_parity(struct kn_tool *t)
{
    struct parity *q = KN_NEW(t->c, struct parity, 1);
    struct page *g = KN_NEW(t->c, struct page, 1);
    const struct kn_value *v = t->cli->v;
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_buf html = { .c = t->c };

    q->t = t;
    q->c = t->c;
    q->side[0].launch_file = v[KN_FLAG_launch_a].s;
    q->side[1].launch_file = v[KN_FLAG_launch_b].s;
    for (int i = 0; i < 2; i++)
        KN_TRY(kn_subject_open(t, t->cli->pos[i], &q->side[i].s));
    KN_TRY(kn_diff_take(t->c, &q->side[0].s.g, &q->side[1].s.g, &q->d));
    if (v[KN_FLAG_run].seen)
        KN_TRY(execute(q, v[KN_FLAG_run].s));
    add_facts(q, g);
    KN_TRY(add_census(q, g));
    add_run(q, g);
    put_text(q, g, t->text);
    put_html(q, g, &html);
    if (v[KN_FLAG_o].seen)
        KN_TRY(kn_file_write(t->c, v[KN_FLAG_o].s, html.s, html.n));
    put_json(q, g, &j);
    KN_TRY(kn_report_write(t, &j));
    return q->differing || q->side[0].result.nfindings ||
           q->side[1].result.nfindings ? KILN_FINDING : KILN_OK;
}
