/* contest.c - `kilnc compare` of three tables and more: of the rows that every
 * table has, means, geometric means of the ratios to the first, and wins, for
 * each family and operation and in all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../json.h"
#include "../run/run.h"
#include "bench.h"
#include "compare.h"
#include "results.h"

struct timed {
    const char *key;         /* values with unit separators behind them */
    const char *group;
    double us;
    size_t row;
};

struct table {
    struct kn_csv t;
    struct timed *row;       /* by key */
    size_t n;
};

struct sums {
    double us, log_ratio;
    size_t wins;
};

struct group {
    const char *name;
    size_t rows;
    struct sums *of;         /* a table each */
};

struct contest {
    struct kn_tool *t;
    struct kn_ctx *c;
    size_t n;
    struct table *table;
    const char **key, **path;
    size_t nkey;
    struct group *group;     /* the first: all */
    size_t ngroups, alone;   /* alone: timed rows that some table lacks */
};

/* ---- reading ------------------------------------------------------------- */

static void
find_key(struct contest *k)
{
    const struct kn_csv *first = &k->table[0].t;

    k->key = KN_NEW(k->c, const char *, first->ncols + 1);
    for (size_t i = 0; i < first->ncols; i++) {
        const char *name = first->head[i].s;
        size_t have = 0;

        for (size_t j = 0; j < k->n; j++)
            have += kn_csv_find(&k->table[j].t, name) >= 0;
        if (*name != '_' && strcmp(name, "us") && have == k->n)
            k->key[k->nkey++] = name;
    }
}

static const char *
key_of(struct contest *k, const struct kn_csv *t, size_t row)
{
    struct kn_buf b = { .c = k->c };

    for (size_t i = 0; i < k->nkey; i++)
        kn_putf(&b, "%s\x1f", kn_csv_field(t, row, k->key[i]));
    return b.s;
}

/* "grouped nn", "a8w8": what the table has of kernel or family, and op or
 * layout. */
static const char *
group_of(struct contest *k, const struct kn_csv *t, size_t row)
{
    static const char *const columns[2][2] = { { "kernel", "family" },
                                               { "op", "layout" } };
    struct kn_buf b = { .c = k->c };

    kn_put(&b, "");
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++) {
            const char *s = kn_csv_find(t, columns[i][j]) < 0
                                ? "" : kn_csv_field(t, row, columns[i][j]);

            if (*s) {
                kn_putf(&b, "%s%s", b.n ? " " : "", s);
                break;
            }
        }
    return b.n ? b.s : "rows";
}

static int
by_key(const void *a, const void *b)
{
    return strcmp(((const struct timed *)a)->key,
                  ((const struct timed *)b)->key);
}

static kiln_status
index_table(struct contest *k, struct table *s)
{
    int us = kn_csv_find(&s->t, "us");

    s->row = KN_NEW(k->c, struct timed, s->t.nrows + 1);
    for (size_t i = 0; i < s->t.nrows; i++) {
        const char *text = kn_csv_at(&s->t, i, us)->s;
        kn_decimal d;

        if (!*text)
            continue;
        if (!kn_decimal_read(text, &d) || !d)
            return kn_csv_fail(k->c, &s->t, i, us,
                               "this is no time in microseconds");
        s->row[s->n++] = (struct timed){ key_of(k, &s->t, i),
                                         group_of(k, &s->t, i),
                                         kn_decimal_real(d), i };
    }
    qsort(s->row, s->n, sizeof *s->row, by_key);
    for (size_t i = 1; i < s->n; i++)
        if (!strcmp(s->row[i - 1].key, s->row[i].key))
            return kn_csv_fail(k->c, &s->t, s->row[i].row, us,
                               "another line has the same key");
    return KILN_OK;
}

static kiln_status
read_tables(struct contest *k)
{
    k->table = KN_NEW(k->c, struct table, k->n);
    for (size_t i = 0; i < k->n; i++) {
        KN_TRY(kn_table_read(k->c, k->path[i], &k->table[i].t));
        if (kn_csv_find(&k->table[i].t, "us") < 0)
            return kn_fail(k->c, KILN_BAD_INPUT,
                           "'%s' has no column 'us', the time", k->path[i]);
    }
    find_key(k);
    if (!k->nkey)
        return kn_fail(k->c, KILN_BAD_INPUT, "the tables have no column in "
                       "common that could name a row");
    for (size_t i = 0; i < k->n; i++)
        KN_TRY(index_table(k, &k->table[i]));
    return KILN_OK;
}

/* ---- adding up ----------------------------------------------------------- */

static struct group *
group_named(struct contest *k, const char *name)
{
    for (size_t i = 0; i < k->ngroups; i++)
        if (!strcmp(k->group[i].name, name))
            return &k->group[i];
    k->group[k->ngroups] = (struct group){
        .name = name, .of = KN_NEW(k->c, struct sums, k->n),
    };
    return &k->group[k->ngroups++];
}

/* The lowest time wins; equal ones all do. */
static void
add_row(struct contest *k, struct group *g, const double *us)
{
    double least = us[0];

    for (size_t i = 1; i < k->n; i++)
        least = us[i] < least ? us[i] : least;
    for (size_t i = 0; i < k->n; i++) {
        g->of[i].us += us[i];
        g->of[i].log_ratio += log(us[i] / us[0]);
        g->of[i].wins += us[i] <= least;
    }
    g->rows++;
}

static void
add_all(struct contest *k)
{
    const struct table *first = &k->table[0];
    double *us = KN_NEW(k->c, double, k->n);
    size_t timed = 0;

    k->group = KN_NEW(k->c, struct group, first->n + 1);
    group_named(k, "all");
    for (size_t r = 0; r < first->n; r++) {
        size_t have = 0;

        for (size_t i = 0; i < k->n; i++) {
            const struct table *s = &k->table[i];
            const struct timed *e = s->n ? bsearch(&first->row[r], s->row,
                                                   s->n, sizeof *s->row,
                                                   by_key) : NULL;

            us[i] = e ? e->us : 0;
            have += e != NULL;
        }
        if (have < k->n)
            continue;
        add_row(k, &k->group[0], us);
        add_row(k, group_named(k, first->row[r].group), us);
    }
    for (size_t i = 0; i < k->n; i++)
        timed += k->table[i].n;
    k->alone = timed - k->n * k->group[0].rows;
}

/* ---- report -------------------------------------------------------------- */

static void
put_group(struct contest *k, const struct group *g)
{
    struct kn_buf *b = k->t->text;
    double rows = (double)g->rows;

    kn_putf(b, "%s, %zu rows\n  mean us ", g->name, g->rows);
    for (size_t i = 0; i < k->n; i++)
        kn_putf(b, " %10.3f", g->of[i].us / rows);
    kn_put(b, "\n  geo mean");
    for (size_t i = 0; i < k->n; i++)
        kn_putf(b, " %10.3f", exp(g->of[i].log_ratio / rows));
    kn_put(b, "\n  wins    ");
    for (size_t i = 0; i < k->n; i++)
        kn_putf(b, " %10zu", g->of[i].wins);
    kn_put(b, "\n");
}

static void
put_json(struct contest *k, struct kn_json *j)
{
    kn_json_open(j, NULL, '{');
    kn_json_open(j, "groups", '[');
    for (size_t g = 0; g < k->ngroups; g++) {
        kn_json_open(j, NULL, '{');
        kn_json_str(j, "name", k->group[g].name);
        kn_json_uint(j, "rows", k->group[g].rows);
        kn_json_open(j, "tables", '[');
        for (size_t i = 0; i < k->n; i++) {
            const struct sums *s = &k->group[g].of[i];
            double rows = (double)k->group[g].rows;

            kn_json_open(j, NULL, '{');
            kn_json_str(j, "file", k->path[i]);
            kn_json_real(j, "mean_us", s->us / rows);
            kn_json_real(j, "geomean_ratio", exp(s->log_ratio / rows));
            kn_json_uint(j, "wins", s->wins);
            kn_json_close(j, '}');
        }
        kn_json_close(j, ']');
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
    kn_json_uint(j, "alone", k->alone);
    kn_json_close(j, '}');
}

static kiln_status
refuse_flags(struct kn_tool *t)
{
    static const enum kn_flag_id of_two[] = {
        KN_FLAG_before, KN_FLAG_svg, KN_FLAG_o, KN_FLAG_factor, KN_FLAG_slack,
        KN_FLAG_ignore_below, KN_FLAG_strict,
    };

    for (size_t i = 0; i < sizeof of_two / sizeof *of_two; i++)
        if (t->cli->v[of_two[i]].seen)
            return kn_fail(t->c, KILN_BAD_INPUT, "%s is for two tables; more "
                           "are not judged, only added up",
                           kn_flags[of_two[i]].name);
    return KILN_OK;
}

kiln_status
kn_contest(struct kn_tool *t)
{
    struct contest *k = KN_NEW(t->c, struct contest, 1);
    struct kn_json j = { .b = { .c = t->c } };

    KN_TRY(refuse_flags(t));
    k->t = t;
    k->c = t->c;
    k->n = t->cli->npos;
    k->path = t->cli->pos;
    KN_TRY(read_tables(k));
    add_all(k);
    if (!k->group[0].rows)
        return kn_fail(t->c, KILN_BAD_INPUT, "no row has a time in all %zu "
                       "tables", k->n);
    for (size_t i = 0; i < k->n; i++)
        kn_putf(t->text, "%zu: %s\n", i + 1, k->path[i]);
    for (size_t g = 1; g < k->ngroups; g++)
        put_group(k, &k->group[g]);
    put_group(k, &k->group[0]);
    if (k->alone)
        kn_putf(t->text, "%zu time%s of rows that not all tables have: left "
                "out\n", k->alone, k->alone == 1 ? "" : "s");
    put_json(k, &j);
    return kn_report_write(t, &j);
}
