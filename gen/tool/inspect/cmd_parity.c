/* cmd_parity.c - `kilnc parity`: kernels side by side: what they consist of,
 * and, on the operands of one problem, what they compute and how long the
 * timing model gives them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "inspect.h"
#include "../run/run.h"

/* ---- the figures -------------------------------------------------------- */

/* A line of the table: a name and one figure for each kernel. */
struct line {
    const char *name;
    double v[KN_SIDES];
    bool real;
};

enum { MOST_LINES = 64 };

struct page {
    struct line line[MOST_LINES];
    int n, at;               /* lines; the next one of a kernel */
};

/* Every kernel has the same figures in the same order. */
static void
add(struct page *g, int side, const char *name, double v)
{
    struct line *l = &g->line[g->at++];

    g->n = g->at > g->n ? g->at : g->n;
    l->name = name;
    l->v[side] = v;
    l->real |= v != (double)(int64_t)v;
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

static const struct { const char *name, *each; int unit; } units[] = {
    { "loop VMEM", "loop VMEM a MFMA", KN_U_VMEM },
    { "loop LDS", "loop LDS a MFMA", KN_U_LDS },
    { "loop VALU", "loop VALU a MFMA", KN_U_VALU },
    { "loop SALU", "loop SALU a MFMA", KN_U_SALU },
    { "loop SMEM", "loop SMEM a MFMA", KN_U_SMEM },
};

static kiln_status
add_census(struct kn_parity *q, int i, struct page *g)
{
    const struct kn_cfg *f = &q->side[i].s.g;
    int32_t loop = kn_cfg_main_loop(f);
    struct kn_census t;
    uint64_t waits = 0;
    double mfma;

    KN_TRY(kn_census_take(q->c, f, loop, &t));
    for (uint32_t k = 0; k < t.nwaits; k++)
        waits += t.waits[k].n;
    mfma = t.unit[KN_U_MFMA];
    add(g, i, "loop instructions", t.n);
    add(g, i, "loop MFMA", mfma);
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        add(g, i, units[k].name, t.unit[units[k].unit]);
    add(g, i, "loop waits", (double)waits);
    add(g, i, "loop barriers", t.barriers);
    add(g, i, "loop FLOP of a wave", (double)loop_flops(f, loop));
    add(g, i, "loop MFMA cycles", (double)t.mfma_cycles);
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        add(g, i, units[k].each, mfma > 0 ? t.unit[units[k].unit] / mfma : 0);
    add(g, i, "loop waits a MFMA", mfma > 0 ? (double)waits / mfma : 0);
    return KILN_OK;
}

static void
add_facts(const struct kn_parity *q, int i, struct page *g)
{
    const struct kn_subject *s = &q->side[i].s;
    const struct kn_object_kernel *k = s->k;

    add(g, i, "VGPR", k->arch_vgpr);
    add(g, i, "AGPR", k->agpr);
    add(g, i, "SGPR", k->sgpr);
    add(g, i, "LDS bytes", k->lds);
    add(g, i, "scratch bytes", k->scratch);
    add(g, i, "work-items", k->max_workgroup);
    add(g, i, "waves a SIMD",
        kn_occupancy_of(s->o.target, k, 0).waves_per_simd);
    add(g, i, "code bytes", (double)k->code_size);
    add(g, i, "instructions", s->p.n);
}

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The rounds' times over those of the first kernel in the same round. */
static void
ratios_of(const struct kn_parity *q, int i, double ratio[KN_ROUNDS])
{
    for (int r = 0; r < KN_ROUNDS; r++)
        ratio[r] = q->side[i].us[r] / q->side[0].us[r];
    qsort(ratio, KN_ROUNDS, sizeof *ratio, by_size);
}

static void
add_measured(const struct kn_parity *q, int i, struct page *g)
{
    double us[KN_ROUNDS], ratio[KN_ROUNDS];

    memcpy(us, q->side[i].us, sizeof us);
    qsort(us, KN_ROUNDS, sizeof *us, by_size);
    ratios_of(q, i, ratio);
    add(g, i, "measured us", us[KN_ROUNDS / 2]);
    add(g, i, "measured over A", ratio[KN_ROUNDS / 2]);
    add(g, i, "least over A", ratio[0]);
    add(g, i, "most over A", ratio[KN_ROUNDS - 1]);
}

static void
add_run(const struct kn_parity *q, int i, struct page *g)
{
    const struct kn_side *x = &q->side[i];

    if (!q->run)
        return;
    if (q->place.gpu) {
        add_measured(q, i, g);
    } else {
        add(g, i, "findings", (double)x->result.nfindings);
        add(g, i, "advice", (double)x->result.nadvice);
        add(g, i, "executed instructions", (double)x->result.instructions);
    }
    add(g, i, "predicted us", x->time.us);
    add(g, i, "predicted loop cycles", x->time.loop_cycles);
    add(g, i, "predicted MFMA efficiency", x->time.mfma_efficiency);
}

static kiln_status
fill(struct kn_parity *q, struct page *g)
{
    for (int i = 0; i < q->n; i++) {
        g->at = 0;
        add_facts(q, i, g);
        KN_TRY(add_census(q, i, g));
        add_run(q, i, g);
    }
    return KILN_OK;
}

/* ---- what is said of them ----------------------------------------------- */

static void
put_difference(const struct kn_side *x, struct kn_buf *out)
{
    const char *sep = "";

    kn_put(out, "diff      ");
    if (x->d.equal)
        kn_put(out, "equal up to the names of registers");
    for (int k = 1; k < KN_NDIFFS; k++)
        if (x->d.count[k]) {
            kn_putf(out, "%s%" PRIu32 " %s", sep, x->d.count[k],
                    kn_diff_name((enum kn_diff_kind)k));
            sep = ", ";
        }
    kn_put(out, "\n");
}

/* Each against the first; of two, nobody is named. */
static void
put_conclusion(const struct kn_parity *q, struct kn_buf *out)
{
    for (int i = 1; i < q->n; i++) {
        const struct kn_side *x = &q->side[i];

        if (q->n > 2)
            kn_putf(out, "%c         against A\n", 'A' + i);
        if (q->run && !x->differing)
            kn_putf(out, "output    %" PRIu64 " bytes, bit for bit the same\n",
                    q->bytes);
        else if (q->run)
            kn_putf(out, "output    %" PRIu64 " of %" PRIu64 " bytes differ, "
                    "the first is %" PRIu64 "\n", x->differing, q->bytes,
                    x->first);
        put_difference(x, out);
    }
}

/* What the simulator said of each. */
static void
put_findings(const struct kn_parity *q, struct kn_buf *out)
{
    for (int i = 0; q->run && i < q->n; i++) {
        const struct kn_sim_result *r = &q->side[i].result;

        for (uint32_t k = 0; k < r->nkept; k++)
            kn_putf(out, "%-9s %c: %s%s%s\n",
                    r->findings[k].severity == KN_SEV_FINDING ? "finding"
                                                              : "advice",
                    'A' + i, r->findings[k].text,
                    *r->findings[k].place ? ", " : "", r->findings[k].place);
    }
}

static const char *
value(struct kn_ctx *c, const struct line *l, int i)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, l->real ? "%.3g" : "%.0f", l->v[i]);
    return b.s;
}

/* "1.03 times as long as A, 1.01 to 1.06 in 9 rounds" */
static void
put_ratio(const struct kn_parity *q, struct kn_buf *out)
{
    for (int i = 1; q->place.gpu && i < q->n; i++) {
        double ratio[KN_ROUNDS];

        ratios_of(q, i, ratio);
        kn_putf(out, "measured  %c takes %.3f times as long as A, %.3f to %.3f "
                "in %d rounds by turns, %s, on hip:%d, %s\n", 'A' + i,
                ratio[KN_ROUNDS / 2], ratio[0], ratio[KN_ROUNDS - 1],
                KN_ROUNDS, q->place.warm ? "warm" : "cold", q->place.number,
                q->place.device.info.name);
    }
}

static void
put_text(const struct kn_parity *q, const struct page *g, struct kn_buf *out)
{
    for (int i = 0; i < q->n; i++)
        kn_putf(out, "%c         %s: %s\n", 'A' + i, q->side[i].s.name,
                q->side[i].s.k->name);
    kn_putf(out, "%-28s", "");
    for (int i = 0; i < q->n; i++)
        kn_putf(out, " %12c", 'A' + i);
    for (int k = 0; k < g->n; k++) {
        kn_putf(out, "\n%-28s", g->line[k].name);
        for (int i = 0; i < q->n; i++)
            kn_putf(out, " %12s", value(q->c, &g->line[k], i));
    }
    kn_put(out, "\n");
    put_conclusion(q, out);
    put_ratio(q, out);
    put_findings(q, out);
}

static void
put_page(const struct kn_parity *q, const struct page *g, struct kn_buf *out)
{
    struct kn_json j = { .b = { .c = q->c } };
    struct kn_buf end = { .c = q->c };
    const char *cell[1 + KN_SIDES] = { "" };

    for (int i = 0; i < q->n; i++)
        cell[1 + i] = q->side[i].s.name;
    kn_page_open(&j, "Parity of kernels");
    kn_page_section(&j, &(struct kn_section){ .id = "figures",
                                              .form = "table" });
    kn_page_row(&j, "head", 1 + q->n, cell);
    kn_json_open(&j, "rows", '[');
    for (int k = 0; k < g->n; k++) {
        cell[0] = g->line[k].name;
        for (int i = 0; i < q->n; i++)
            cell[1 + i] = value(q->c, &g->line[k], i);
        kn_page_row(&j, NULL, 1 + q->n, cell);
    }
    kn_json_close(&j, ']');
    kn_page_end(&j);
    put_conclusion(q, &end);
    put_ratio(q, &end);
    put_findings(q, &end);
    kn_page_text(&j, &(struct kn_section){
        "conclusion", NULL, "Conclusion", q->place.gpu
        ? "Executed by the GPU, by turns; predicted times are not measured."
        : "Executed by the simulator; times are predicted, not measured." },
        end.s);
    kn_page_close(&j, out);
}

static void
put_json(const struct kn_parity *q, const struct page *g, struct kn_json *j)
{
    const struct kn_side *b = &q->side[1];

    kn_json_open(j, NULL, '{');
    for (int i = 0; i < q->n; i++) {
        const struct kn_side *x = &q->side[i];

        kn_json_open(j, (char[]){ (char)('a' + i), 0 }, '{');
        kn_json_str(j, "file", x->s.name);
        kn_json_str(j, "kernel", x->s.k->name);
        for (int k = 0; k < g->n; k++)
            kn_json_real(j, g->line[k].name, g->line[k].v[i]);
        kn_json_uint(j, "differing_bytes", x->differing);
        kn_json_bool(j, "equal_code", !i || x->d.equal);
        kn_json_close(j, '}');
    }
    kn_json_bool(j, "executed", q->run);
    kn_json_uint(j, "output_bytes", q->bytes);
    kn_json_uint(j, "differing_bytes", b->differing);
    kn_json_bool(j, "equal_code", b->d.equal);
    kn_json_close(j, '}');
}

static kiln_status
open_sides(struct kn_tool *t, struct kn_parity *q)
{
    const struct kn_value *v = t->cli->v;

    for (; q->n < (int)t->cli->npos; q->n++) {
        struct kn_side *x = &q->side[q->n];

        x->launch_file = v[q->n ? KN_FLAG_launch_b : KN_FLAG_launch_a].s;
        KN_TRY(kn_subject_open(t, t->cli->pos[q->n], &x->s));
        if (q->n)
            KN_TRY(kn_diff_take(t->c, &q->side[0].s.g, &x->s.g, &x->d));
    }
    return KILN_OK;
}

kiln_status
kn_cmd_parity(struct kn_tool *t)
{
    struct kn_parity *q = KN_NEW(t->c, struct kn_parity, 1);
    struct page *g = KN_NEW(t->c, struct page, 1);
    const struct kn_value *v = t->cli->v;
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_buf html = { .c = t->c };
    bool wrong = false;

    q->t = t;
    q->c = t->c;
    KN_TRY(open_sides(t, q));
    if (v[KN_FLAG_run].seen)
        KN_TRY(kn_parity_run(q, v[KN_FLAG_run].s));
    KN_TRY(fill(q, g));
    put_text(q, g, t->text);
    put_page(q, g, &html);
    if (v[KN_FLAG_o].seen)
        KN_TRY(kn_file_write(t->c, v[KN_FLAG_o].s, html.s, html.n));
    put_json(q, g, &j);
    KN_TRY(kn_report_write(t, &j));
    for (int i = 0; i < q->n; i++)
        wrong |= q->side[i].differing || kn_run_found(t, &q->side[i].result);
    return wrong ? KILN_FINDING : KILN_OK;
}
