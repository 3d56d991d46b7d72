/* cmd_compare.c - `kilnc compare`: two tables of times, joined by every column
 * both have except the time and those that begin with '_'. */
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../cmd.h"
#include "compare.h"
#include "results.h"
#include "../../tuning/tuning.h"
#include "../json.h"
#include "../run/run.h"
#include "bench.h"

struct entry {               /* a row with a time, found by its key */
    const char *key;         /* values with unit separators behind them */
    size_t row;
    kn_decimal us;
    kn_decimal error;        /* of a predicted time in percent, -1: unknown */
};

struct side {
    struct kn_csv t;
    int us, error;           /* columns; error: -1 if it has none */
    struct entry *sorted;
    size_t n;
};

struct line {
    const char *label, *group;
    const struct kn_csv *t;  /* whose row names the key */
    size_t row;
    const struct entry *golden, *now;
    enum kn_comparison verdict;
};

struct compare {
    struct kn_tool *t;
    struct kn_ctx *c;
    struct kn_rule rule;
    struct side golden, now, before;
    const char **key;        /* names of the key columns */
    size_t nkey;
    struct line *line;
    size_t nlines, count[KN_NVERDICTS];
};

static const struct {
    const char *text, *colour;
} verdicts[KN_NVERDICTS] = {
#define X(id, text, colour) { text, colour },
    KN_VERDICTS(X)
#undef X
};

/* ---- reading ------------------------------------------------------------ */

static kiln_status
read_table(struct compare *r, const char *path, struct side *s)
{
    KN_TRY(kn_table_read(r->c, path, &s->t));
    s->us = kn_csv_find(&s->t, "us");
    if (s->us < 0)
        return kn_fail(r->c, KILN_BAD_INPUT,
                       "'%s' has no column 'us', the time", path);
    s->error = kn_csv_find(&s->t, "_error_pct");
    return KILN_OK;
}

static void
find_key(struct compare *r)
{
    const struct kn_csv *g = &r->golden.t;

    r->key = KN_NEW(r->c, const char *, g->ncols);
    for (size_t i = 0; i < g->ncols; i++) {
        const char *name = g->head[i].s;

        if (*name != '_' && strcmp(name, "us") &&
            kn_csv_find(&r->now.t, name) >= 0 &&
            (!r->before.t.name || kn_csv_find(&r->before.t, name) >= 0))
            r->key[r->nkey++] = name;
    }
}

static const char *
key_of(struct compare *r, const struct kn_csv *t, size_t row)
{
    struct kn_buf b = { .c = r->c };

    for (size_t i = 0; i < r->nkey; i++)
        kn_putf(&b, "%s\x1f",
                kn_csv_at(t, row, kn_csv_find(t, r->key[i]))->s);
    return b.s;
}

static int
by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static kiln_status
read_error(struct compare *r, const struct side *s, struct entry *e)
{
    const char *text = kn_csv_field(&s->t, e->row, "_error_pct");

    e->error = -1;
    if (*text && !kn_decimal_read(text, &e->error))
        return kn_csv_fail(r->c, &s->t, e->row, s->error,
                           "this is no error in percent");
    return KILN_OK;
}

/* A row without a time (a kernel that was refused) counts as absent. */
static kiln_status
index_table(struct compare *r, struct side *s)
{
    s->sorted = KN_NEW(r->c, struct entry, s->t.nrows + 1);
    for (size_t i = 0; i < s->t.nrows; i++) {
        struct entry *e = &s->sorted[s->n];
        const char *text = kn_csv_at(&s->t, i, s->us)->s;

        if (!*text)
            continue;
        if (!kn_decimal_read(text, &e->us))
            return kn_csv_fail(r->c, &s->t, i, s->us,
                               "this is no time in microseconds");
        e->key = key_of(r, &s->t, i);
        e->row = i;
        KN_TRY(read_error(r, s, e));
        s->n++;
    }
    qsort(s->sorted, s->n, sizeof *s->sorted, by_key);
    for (size_t i = 1; i < s->n; i++)
        if (!strcmp(s->sorted[i - 1].key, s->sorted[i].key)) {
            struct kn_buf b = { .c = r->c };
            size_t first = s->sorted[i - 1].row;

            kn_putf(&b, "line %d has the same key",
                    kn_csv_at(&s->t, first, 0)->line);
            return kn_csv_fail(r->c, &s->t, s->sorted[i].row,
                               kn_csv_find(&s->t, r->key[0]), b.s);
        }
    return KILN_OK;
}

static const struct entry *
find(const struct side *s, const char *key)
{
    struct entry want = { .key = key };
    size_t lo = 0, hi = s->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (strcmp(s->sorted[mid].key, want.key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->n && !strcmp(s->sorted[lo].key, key) ? &s->sorted[lo] : NULL;
}

/* ---- judging ------------------------------------------------------------ */

/* Where both times are predictions of known error, a difference that the
 * larger one covers is none. */
static enum kn_comparison
judge(const struct compare *r, const struct entry *golden,
      const struct entry *now)
{
    enum kn_comparison v;
    kn_decimal error;

    if (!golden)
        return KN_V_EXTRA;
    if (!now)
        return KN_V_MISSING;
    v = kn_rule_judge(&r->rule, golden->us, now->us);
    error = golden->error > now->error ? golden->error : now->error;
    if ((v == KN_V_REGRESSION || v == KN_V_IMPROVED) && golden->error >= 0 &&
        now->error >= 0 && kn_within_percent(golden->us, now->us, error))
        return KN_V_WITHIN;
    return v;
}

static const char *
label_of(struct compare *r, const struct kn_csv *t, size_t row)
{
    struct kn_buf b = { .c = r->c };

    kn_put(&b, "");
    for (size_t i = 0; i < r->nkey; i++) {
        const char *v = kn_csv_at(t, row, kn_csv_find(t, r->key[i]))->s;

        if (*v)
            kn_putf(&b, "%s%s=%s", b.n ? " " : "", r->key[i], v);
    }
    return b.s;
}

static void
add_line(struct compare *r, const struct side *s, size_t row)
{
    struct line *l = &r->line[r->nlines];
    const char *key = key_of(r, &s->t, row);
    const struct entry *mine = find(s, key);
    int group = kn_csv_find(&s->t, "kernel");

    if (!mine || mine->row != row)
        return;
    l->golden = find(&r->golden, key);
    l->now = find(&r->now, key);
    if (s == &r->now && l->golden)
        return;
    l->t = &s->t;
    l->row = row;
    l->label = label_of(r, &s->t, row);
    group = group < 0 ? kn_csv_find(&s->t, "family") : group;
    l->group = group < 0 ? "" : kn_csv_at(&s->t, row, group)->s;
    l->verdict = judge(r, l->golden, l->now);
    r->count[l->verdict]++;
    r->nlines++;
}

static void
judge_all(struct compare *r)
{
    size_t most = r->golden.t.nrows + r->now.t.nrows;

    r->line = KN_NEW(r->c, struct line, most + 1);
    for (size_t i = 0; i < r->golden.t.nrows; i++)
        add_line(r, &r->golden, i);
    for (size_t i = 0; i < r->now.t.nrows; i++)
        add_line(r, &r->now, i);
}

/* Regressions of one group (NULL: all) of one side, and rows in both. */
static size_t
regressions(const struct compare *r, const struct side *s, const char *group,
            size_t *both)
{
    size_t n = 0;

    *both = 0;
    for (size_t i = 0; i < r->nlines; i++) {
        const struct line *l = &r->line[i];
        const struct entry *e;

        if (!l->golden || (group && strcmp(group, l->group)))
            continue;
        e = find(s, l->golden->key);
        *both += e != NULL;
        n += judge(r, l->golden, e) == KN_V_REGRESSION;
    }
    return n;
}

/* ---- report ------------------------------------------------------------- */

static const char *
time_of(const struct side *s, const struct entry *e)
{
    return e ? kn_csv_at(&s->t, e->row, s->us)->s : "";
}

static double
ratio_of(const struct line *l)
{
    if (!l->golden || !l->now || !l->golden->us)
        return 0;
    return kn_decimal_real(l->now->us) / kn_decimal_real(l->golden->us);
}

static void
put_line(struct compare *r, const struct line *l)
{
    struct kn_buf *b = r->t->text;
    double ratio = ratio_of(l);

    kn_putf(b, "%-10s  %s ", verdicts[l->verdict].text, l->label);
    if (l->golden)
        kn_putf(b, " %s", time_of(&r->golden, l->golden));
    if (l->golden && l->now)
        kn_put(b, " ->");
    if (l->now)
        kn_putf(b, " %s", time_of(&r->now, l->now));
    kn_put(b, " us");
    if (ratio > 0)
        kn_putf(b, ", ratio %.3f", ratio);
    kn_put(b, "\n");
}

static void
put_count(struct compare *r, const char *group)
{
    size_t both, old, n = regressions(r, &r->now, group, &both);
    struct kn_buf *b = r->t->text;

    kn_putf(b, "%s%s: ", group ? "  " : "", group ? group : "regressions");
    if (r->before.t.name)
        kn_putf(b, "%zu -> ", regressions(r, &r->before, group, &old));
    kn_putf(b, "%zu of %zu", n, both);
}

/* Each group once, if there are more than one. */
static void
put_groups(struct compare *r)
{
    for (size_t i = 0, shown = 0; i < r->nlines; i++) {
        size_t k = 0, others = 0;

        while (k < i && strcmp(r->line[k].group, r->line[i].group))
            k++;
        for (size_t o = 0; o < r->nlines; o++)
            others += strcmp(r->line[o].group, r->line[i].group) != 0;
        if (k < i || (!others && !shown))
            continue;
        put_count(r, r->line[i].group);
        kn_put(r->t->text, "\n");
        shown++;
    }
}

static void
put_text(struct compare *r)
{
    struct kn_buf *b = r->t->text;

    for (size_t i = 0; i < r->nlines; i++)
        put_line(r, &r->line[i]);
    put_count(r, NULL);
    kn_putf(b, " (%zu ok, %zu improved, ", r->count[KN_V_OK],
            r->count[KN_V_IMPROVED]);
    if (r->golden.error >= 0 && r->now.error >= 0)
        kn_putf(b, "%zu within error, ", r->count[KN_V_WITHIN]);
    kn_putf(b, "%zu ignored, %zu missing, %zu extra)\n",
            r->count[KN_V_IGNORED], r->count[KN_V_MISSING],
            r->count[KN_V_EXTRA]);
    put_groups(r);
}

static void
put_csv(struct compare *r, struct kn_buf *b)
{
    for (size_t i = 0; i < r->nkey; i++) {
        kn_csv_put(b, r->key[i]);
        kn_put(b, ",");
    }
    kn_put(b, "golden_us,new_us,ratio,verdict\n");
    for (size_t i = 0; i < r->nlines; i++) {
        const struct line *l = &r->line[i];
        double ratio = ratio_of(l);

        for (size_t k = 0; k < r->nkey; k++) {
            kn_csv_put(b, kn_csv_at(l->t, l->row,
                                    kn_csv_find(l->t, r->key[k]))->s);
            kn_put(b, ",");
        }
        kn_putf(b, "%s,%s,", time_of(&r->golden, l->golden),
                time_of(&r->now, l->now));
        if (ratio > 0)
            kn_putf(b, "%.6f", ratio);
        kn_putf(b, ",%s\n", verdicts[l->verdict].text);
    }
}

static void
put_json(struct compare *r, struct kn_json *j)
{
    kn_json_open(j, NULL, '{');
    kn_json_open(j, "counts", '{');
    for (int v = 0; v < KN_NVERDICTS; v++)
        kn_json_uint(j, verdicts[v].text, r->count[v]);
    kn_json_close(j, '}');
    kn_json_open(j, "rows", '[');
    for (size_t i = 0; i < r->nlines; i++) {
        const struct line *l = &r->line[i];

        kn_json_open(j, NULL, '{');
        for (size_t k = 0; k < r->nkey; k++)
            kn_json_str(j, r->key[k], kn_csv_at(l->t, l->row,
                        kn_csv_find(l->t, r->key[k]))->s);
        if (l->golden)
            kn_json_real(j, "golden_us", kn_decimal_real(l->golden->us));
        if (l->now)
            kn_json_real(j, "new_us", kn_decimal_real(l->now->us));
        kn_json_str(j, "verdict", verdicts[l->verdict].text);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
    kn_json_close(j, '}');
}

static void
put_svg(struct compare *r, struct kn_buf *b)
{
    struct kn_svg_bar *bar = KN_NEW(r->c, struct kn_svg_bar, r->nlines + 1);

    for (size_t i = 0; i < r->nlines; i++)
        bar[i] = (struct kn_svg_bar){ r->line[i].label,
                                      verdicts[r->line[i].verdict].colour,
                                      ratio_of(&r->line[i]) };
    kn_svg_ratios(b, "new / golden, right of 1 is slower", bar, r->nlines);
}

static kiln_status
write_files(struct compare *r)
{
    const struct kn_value *v = r->t->cli->v;
    struct kn_buf csv = { .c = r->c }, svg = { .c = r->c };
    struct kn_json j = { .b = { .c = r->c } };

    put_csv(r, &csv);
    put_svg(r, &svg);
    put_json(r, &j);
    if (v[KN_FLAG_svg].seen)
        KN_TRY(kn_file_write(r->c, v[KN_FLAG_svg].s, svg.s, svg.n));
    if (v[KN_FLAG_o].seen && strcmp(v[KN_FLAG_o].s, "-"))
        KN_TRY(kn_file_write(r->c, v[KN_FLAG_o].s, csv.s, csv.n));
    else if (v[KN_FLAG_o].seen)
        *r->t->text = csv;
    return kn_report_write(r->t, &j);
}

/* ---- command ------------------------------------------------------------ */

static kiln_status
read_limit(struct compare *r, enum kn_flag_id flag, const char *standard,
           kn_decimal *out)
{
    const struct kn_value *v = &r->t->cli->v[flag];

    if (!kn_decimal_read(v->seen ? v->s : standard, out))
        return kn_fail(r->c, KILN_BAD_INPUT, "%s is a number from 0 to 10^9, "
                       "not '%s'", kn_flags[flag].name, v->s);
    return KILN_OK;
}

static kiln_status
read_inputs(struct compare *r)
{
    const struct kn_cli *cli = r->t->cli;
    const struct kn_value *before = &cli->v[KN_FLAG_before];

    KN_TRY(read_limit(r, KN_FLAG_factor, "1.005", &r->rule.factor));
    KN_TRY(read_limit(r, KN_FLAG_slack, "0.5", &r->rule.slack));
    KN_TRY(read_limit(r, KN_FLAG_ignore_below, "4", &r->rule.floor));
    KN_TRY(read_table(r, cli->pos[0], &r->golden));
    KN_TRY(read_table(r, cli->pos[1], &r->now));
    if (before->seen)
        KN_TRY(read_table(r, before->s, &r->before));
    find_key(r);
    if (!r->nkey)
        return kn_fail(r->c, KILN_BAD_INPUT, "'%s' and '%s' have no column in "
                       "common that could name a row", cli->pos[0],
                       cli->pos[1]);
    KN_TRY(index_table(r, &r->golden));
    KN_TRY(index_table(r, &r->now));
    return before->seen ? index_table(r, &r->before) : KILN_OK;
}

kiln_status
kn_cmd_compare(struct kn_tool *t)
{
    struct compare *r = KN_NEW(t->c, struct compare, 1);
    bool differ;

    if (t->cli->npos > 2)
        return kn_contest(t);
    r->t = t;
    r->c = t->c;
    KN_TRY(read_inputs(r));
    judge_all(r);
    put_text(r);
    KN_TRY(write_files(r));
    differ = r->count[KN_V_MISSING] || r->count[KN_V_EXTRA];
    return r->count[KN_V_REGRESSION] ||
           (differ && t->cli->v[KN_FLAG_strict].seen) ? KILN_FINDING : KILN_OK;
}
