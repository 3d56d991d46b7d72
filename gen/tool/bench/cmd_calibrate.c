/* cmd_calibrate.c - `kilnc calibrate`: how far the timing model is from what
 * GPUs measured, by what bounds a launch, and the constants that answer for
 * it. It changes none: a constant has its source beside it (timing.def). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../cmd.h"
#include "../json.h"
#include "../run/run.h"
#include "calibrate.h"

/* A group of fewer rows says nothing; one whose middle half is to one side of
 * the predictions by APART disagrees with them. */
enum { LEAST = 4 };
#define APART 0.02

/* More of the bars missed than this refutes them (docs/hour.md). */
#define MISSED 0.1

enum law { LAW_NONE, LAW_RATE, LAW_CLOCK, LAW_PLUS };

static const struct answers {
    const char *bound, *type;
    int warm;
    enum law law;
    const char *constants;
} answers[] = {
#define ANSWERS(bound, type, warm, law, constants) \
    { bound, type, warm, LAW_##law, constants },
#include "calibrate.def"
#undef ANSWERS
};
enum { NANSWERS = sizeof answers / sizeof *answers };

static const struct constant {
    const char *name;
    double value[KILN_NTARGETS];
    const char *unit;
} constants[] = {
#define X(name, gfx942, gfx950, unit, source) \
    { #name, { [KILN_GFX942] = gfx942, [KILN_GFX950] = gfx950 }, unit },
#include "../../../runtime/sim/timing/timing.def"
#undef X
};

struct calibrate {
    struct kn_tool *t;
    struct kn_calib x;
    struct kn_json j;
    double *scratch;         /* [x.n] */
    size_t barred, inside, disagreeing;
};

/* ---- numbers ------------------------------------------------------------ */

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of n sorted values the one that a share p of them is below. */
static double
quantile(const double *v, size_t n, double p)
{
    return v[(size_t)(p * (double)(n - 1) + 0.5)];
}

static double
ratio(const struct kn_calib_row *r)
{
    return r->us / r->predicted;
}

static const struct constant *
constant_of(const char *names)
{
    size_t n = strcspn(names, " ");

    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strlen(constants[i].name) == n &&
            !strncmp(constants[i].name, names, n))
            return &constants[i];
    return NULL;
}

static kiln_target
target_of(const char *arch)
{
    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++)
        if (!strcmp(kiln_target_name((kiln_target)t), arch))
            return (kiln_target)t;
    return KILN_TARGET_NONE;
}

/* ---- all rows ----------------------------------------------------------- */

static void
put_errors(struct calibrate *k)
{
    const struct kn_calib_row *worst = k->x.row;
    double sum = 0, *e = k->scratch;
    size_t n = k->x.n;

    for (size_t i = 0; i < n; i++) {
        e[i] = fabs(ratio(&k->x.row[i]) - 1);
        sum += e[i];
        if (e[i] > fabs(ratio(worst) - 1))
            worst = &k->x.row[i];
    }
    qsort(e, n, sizeof *e, by_size);
    kn_putf(k->t->text, "error     of %zu times: mean %.1f %%, half within "
            "%.1f %%, nine in ten within %.1f %%\n", n,
            100 * sum / (double)n, 100 * quantile(e, n, 0.5),
            100 * quantile(e, n, 0.9));
    kn_putf(k->t->text, "worst     %.2f us measured, %.2f predicted: %s\n",
            worst->us, worst->predicted, worst->name);
    kn_json_uint(&k->j, "times", n);
    kn_json_real(&k->j, "mean_error_pct", 100 * sum / (double)n);
    kn_json_real(&k->j, "median_error_pct", 100 * quantile(e, n, 0.5));
    kn_json_real(&k->j, "p90_error_pct", 100 * quantile(e, n, 0.9));
    kn_json_real(&k->j, "worst_ratio", ratio(worst));
    kn_json_str(&k->j, "worst", worst->name);
}

static void
put_bars(struct calibrate *k)
{
    for (size_t i = 0; i < k->x.n; i++) {
        const struct kn_calib_row *r = &k->x.row[i];

        if (!(r->high > 0))
            continue;
        k->barred++;
        k->inside += r->us >= r->low && r->us <= r->high;
    }
    kn_putf(k->t->text, "bars      %zu of %zu times within theirs, %zu have "
            "none\n", k->inside, k->barred, k->x.n - k->barred);
    kn_json_uint(&k->j, "with_bar", k->barred);
    kn_json_uint(&k->j, "within_bar", k->inside);
}

/* ---- by what bounds a launch -------------------------------------------- */

static bool
answers_for(const struct answers *a, const struct kn_calib_row *r)
{
    return !strcmp(a->bound, r->bound) &&
           (!*a->type || !strcmp(a->type, r->type)) &&
           (a->warm < 0 || a->warm == r->warm);
}

/* The first row of the table that a launch answers to; NANSWERS: none. */
static int
answer_of(const struct kn_calib_row *r)
{
    int i = 0;

    while (i < NANSWERS && !answers_for(&answers[i], r))
        i++;
    return i;
}

struct group {
    const struct answers *a;
    const char *arch;
    size_t n;
    double q[3];             /* quartiles of measured / predicted */
    double middle;           /* of what LAW asks for: us, GHz */
};

static double
asked(const struct answers *a, const struct kn_calib_row *r)
{
    return a->law == LAW_PLUS ? r->us - r->predicted
                              : r->clock / ratio(r);
}

/* Takes the rows of an architecture with this answer. */
static void
take_group(struct calibrate *k, int answer, const char *arch,
           struct group *g)
{
    *g = (struct group){ .a = &answers[answer], .arch = arch };
    for (size_t i = 0; i < k->x.n; i++)
        if (answer_of(&k->x.row[i]) == answer &&
            !strcmp(k->x.row[i].arch, arch))
            k->scratch[g->n++] = ratio(&k->x.row[i]);
    if (!g->n)
        return;
    qsort(k->scratch, g->n, sizeof *k->scratch, by_size);
    for (int i = 0; i < 3; i++)
        g->q[i] = quantile(k->scratch, g->n, 0.25 * (i + 1));
    g->n = 0;
    for (size_t i = 0; i < k->x.n; i++)
        if (answer_of(&k->x.row[i]) == answer &&
            !strcmp(k->x.row[i].arch, arch))
            k->scratch[g->n++] = asked(g->a, &k->x.row[i]);
    qsort(k->scratch, g->n, sizeof *k->scratch, by_size);
    g->middle = quantile(k->scratch, g->n, 0.5);
}

static const char *
verdict_of(const struct group *g)
{
    if (g->n < LEAST)
        return "too few";
    return g->q[0] > 1 + APART ? "slower" : g->q[2] < 1 - APART ? "faster"
                                                                : "agrees";
}

/* What the first constant would have to be for the median to be right. */
static void
put_wanted(struct calibrate *k, const struct group *g)
{
    const struct constant *x = constant_of(g->a->constants);
    kiln_target t = target_of(g->arch);
    double now = x && t ? x->value[t] : 0, wanted = 0;

    if (!(now > 0) || g->a->law == LAW_NONE)
        return;
    if (g->a->law == LAW_CLOCK) {
        if (!(g->middle > 0))
            return;
        kn_putf(k->t->text, "; a clock of %.2f GHz makes the median right",
                g->middle);
        kn_json_real(&k->j, "clock_ghz", g->middle);
        return;
    }
    wanted = g->a->law == LAW_PLUS ? now + g->middle : now / g->q[1];
    kn_putf(k->t->text, "; %.3g %s for %.3g makes the median right", wanted,
            x->unit, now);
    kn_json_real(&k->j, "now", now);
    kn_json_real(&k->j, "wanted", wanted);
}

static void
put_group(struct calibrate *k, const struct group *g)
{
    const char *verdict = verdict_of(g);
    bool apart = !strcmp(verdict, "slower") || !strcmp(verdict, "faster");

    kn_putf(k->t->text, "  %s %-8s%s%s%s %3zu times, measured / predicted "
            "%.2f %.2f %.2f: %s", g->arch, g->a->bound,
            *g->a->type ? " " : "", g->a->type, g->a->warm > 0 ? " warm" : "",
            g->n, g->q[0], g->q[1], g->q[2], verdict);
    kn_json_open(&k->j, NULL, '{');
    kn_json_str(&k->j, "arch", g->arch);
    kn_json_str(&k->j, "bound", g->a->bound);
    kn_json_str(&k->j, "type", g->a->type);
    kn_json_uint(&k->j, "times", g->n);
    kn_json_real(&k->j, "lower_quartile", g->q[0]);
    kn_json_real(&k->j, "median", g->q[1]);
    kn_json_real(&k->j, "upper_quartile", g->q[2]);
    kn_json_str(&k->j, "verdict", verdict);
    kn_json_str(&k->j, "constants", g->a->constants);
    if (apart) {
        kn_putf(k->t->text, "; look at %s", g->a->constants);
        put_wanted(k, g);
        k->disagreeing++;
    }
    kn_json_close(&k->j, '}');
    kn_put(k->t->text, "\n");
}

static void
put_groups(struct calibrate *k)
{
    kn_put(k->t->text, "bound by, quartiles:\n");
    kn_json_open(&k->j, "groups", '[');
    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++)
        for (int i = 0; i < NANSWERS; i++) {
            struct group g;

            take_group(k, i, kiln_target_name((kiln_target)t), &g);
            if (g.n)
                put_group(k, &g);
        }
    kn_json_close(&k->j, ']');
}

/* ---- probes ------------------------------------------------------------- */

static void
put_icache(struct calibrate *k, const struct kn_calib_probe *p)
{
    const double lines = 512;
    const struct constant *x = constant_of("icache_miss");

    kn_putf(k->t->text, "  %s a line that is not cached: %.0f clk more than "
            "one that is; icache_miss is %.0f\n", p->arch,
            (p->shows[0] - p->shows[1]) / lines,
            x->value[target_of(p->arch)]);
    kn_json_real(&k->j, "icache_miss_clk",
                 (p->shows[0] - p->shows[1]) / lines);
}

/* 64 instructions with i additions after each. */
static void
put_issue(struct calibrate *k, const struct kn_calib_probe *p)
{
    kn_putf(k->t->text, "  %s clk a scaled matrix instruction of fp4 with 0 "
            "to %zu additions:", p->arch, p->n - 1);
    kn_json_open(&k->j, "scaled_issue_clk", '[');
    for (size_t i = 0; i < p->n; i++) {
        kn_putf(k->t->text, " %.1f", p->shows[i] / 64);
        kn_json_real(&k->j, NULL, p->shows[i] / 64);
    }
    kn_json_close(&k->j, ']');
    kn_put(k->t->text, "; 16 16 16 16 20 if it takes one slot\n");
}

static void
put_probes(struct calibrate *k)
{
    static const struct {
        const char *name;
        size_t words;
        void (*put)(struct calibrate *k, const struct kn_calib_probe *p);
    } known[] = { { "instruction-cache", 2, put_icache },
                  { "scaled-issue", 5, put_issue } };

    if (k->x.nprobes || k->x.fitting || k->x.unfit.n)
        kn_put(k->t->text, "probes:\n");
    kn_json_open(&k->j, "probes", '[');
    for (size_t i = 0; i < k->x.nprobes; i++)
        for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
            const struct kn_calib_probe *p = &k->x.probe[i];

            if (strcmp(p->name, known[n].name) || p->n != known[n].words ||
                !target_of(p->arch))
                continue;
            kn_json_open(&k->j, NULL, '{');
            kn_json_str(&k->j, "arch", p->arch);
            known[n].put(k, p);
            kn_json_close(&k->j, '}');
        }
    kn_json_close(&k->j, ']');
    kn_json_uint(&k->j, "matrix_instructions_as_modelled", k->x.fitting);
    kn_json_str(&k->j, "matrix_instructions_otherwise",
                k->x.unfit.s ? k->x.unfit.s : "");
    if (k->x.fitting || k->x.unfit.n)
        kn_putf(k->t->text, "  %zu matrix instructions as modelled%s%s",
                k->x.fitting, k->x.unfit.n ? ", others:\n" : "\n",
                k->x.unfit.s ? k->x.unfit.s : "");
}

/* ---- the command -------------------------------------------------------- */

kiln_status
kn_cmd_calibrate(struct kn_tool *t)
{
    struct calibrate *k = KN_NEW(t->c, struct calibrate, 1);
    struct kn_calib *x = &k->x;

    k->t = t;
    k->j.b.c = x->c = x->unfit.c = x->from.c = t->c;
    for (size_t i = 0; i < t->cli->npos; i++)
        KN_TRY(kn_calib_read(x, t->cli->pos[i]));
    if (!x->n && !x->nprobes && !x->fitting && !x->unfit.n)
        return kn_fail(t->c, KILN_BAD_INPUT, "nothing was measured on a GPU in "
                       "'%s'", t->cli->pos[0]);
    k->scratch = KN_NEW(t->c, double, x->n + 1);
    kn_put(t->text, x->from.s);
    kn_json_open(&k->j, NULL, '{');
    if (x->n) {
        put_errors(k);
        put_bars(k);
        put_groups(k);
    }
    put_probes(k);
    kn_json_uint(&k->j, "disagreeing", k->disagreeing);
    kn_json_close(&k->j, '}');
    KN_TRY(kn_report_write(t, &k->j));
    return k->disagreeing ||
           (double)(k->barred - k->inside) > MISSED * (double)k->barred
         ? KILN_FINDING : KILN_OK;
}
