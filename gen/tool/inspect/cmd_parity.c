/* cmd_parity.c - `kilnc parity`: two kernels side by side: what they consist
 * of, and, on the operands of one problem, what they compute and how long
 * the timing model gives them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "inspect.h"
#include "../run/run.h"

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

/* Of everything if there is no loop, as the census. */
static uint64_t
loop_flops(const struct kn_cfg *g, int32_t loop)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < g->p->n; i++)
        if (loop < 0 || kn_loop_contains(g, (uint32_t)loop, i))
            n += kn_inst_flops(&g->p->inst[i]);
    return n;
}

static kiln_status
add_census(struct kn_parity *q, struct page *g)
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
add_facts(const struct kn_parity *q, struct page *g)
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
add_run(const struct kn_parity *q, struct page *g)
{
    const struct kn_side *a = &q->side[0], *b = &q->side[1];

    if (!q->run)
        return;
    add_line(g, "findings", (double)a->result.nfindings,
             (double)b->result.nfindings);
    add_line(g, "advice", (double)a->result.nadvice,
             (double)b->result.nadvice);
    add_line(g, "executed instructions", (double)a->result.instructions,
             (double)b->result.instructions);
    add_line(g, "predicted us", a->time.us, b->time.us);
    add_line(g, "predicted loop cycles", a->time.loop_cycles,
             b->time.loop_cycles);
    add_line(g, "predicted MFMA efficiency", a->time.mfma_efficiency,
             b->time.mfma_efficiency);
}

static void
put_conclusion(const struct kn_parity *q, struct kn_buf *out)
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
put_text(const struct kn_parity *q, const struct page *g, struct kn_buf *out)
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
put_html(const struct kn_parity *q, const struct page *g, struct kn_buf *out)
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
put_json(const struct kn_parity *q, const struct page *g, struct kn_json *j)
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
    struct kn_parity *q = KN_NEW(t->c, struct kn_parity, 1);
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
        KN_TRY(kn_parity_run(q, v[KN_FLAG_run].s));
    add_facts(q, g);
    KN_TRY(add_census(q, g));
    add_run(q, g);
    put_text(q, g, t->text);
    put_html(q, g, &html);
    if (v[KN_FLAG_o].seen)
        KN_TRY(kn_file_write(t->c, v[KN_FLAG_o].s, html.s, html.n));
    put_json(q, g, &j);
    KN_TRY(kn_report_write(t, &j));
    return q->differing || kn_run_found(t, &q->side[0].result) ||
           kn_run_found(t, &q->side[1].result) ? KILN_FINDING : KILN_OK;
}
