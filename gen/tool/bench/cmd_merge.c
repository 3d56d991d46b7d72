/* cmd_merge.c - `kilnc merge`: the tables of shards as one. Results of
 * `bench` have each problem once; of tuning tables, which have a column
 * `config`, the faster row of a problem stays. Files named like aiter's
 * configurations are tuning tables, read or written. */
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "bench.h"
#include "../cmd.h"
#include "compare.h"
#include "results.h"
#include "../../tuning/tuning.h"

struct row {
    const struct kn_csv *t;
    size_t at;
    const char *key;
    bool timed;
    kn_decimal us;
    unsigned long order;
};

struct merge {
    struct kn_ctx *c;
    struct kn_csv *t;
    size_t nt, n;
    struct row *row;
    struct kn_csv all;       /* the columns of any table; its rows at the end */
    bool tuning;
    const char *us;          /* column of the time */
};

/* Adds the columns of a table to those of all: information may be missing in
 * some, what names a row may not. */
static kiln_status
add_columns(struct merge *r, const struct kn_csv *t)
{
    struct kn_cell *head = KN_NEW(r->c, struct kn_cell,
                                  r->all.ncols + t->ncols);
    bool first = !r->all.ncols;

    memcpy(head, r->all.head, r->all.ncols * sizeof *head);
    r->all.head = head;
    for (size_t i = 0; i < r->all.ncols; i++)
        if (*head[i].s != '_' && kn_csv_find(t, head[i].s) < 0)
            return kn_fail_at(r->c, KILN_BAD_INPUT,
                              (struct kn_loc){ t->name, 1, 1, NULL },
                              "column '%s' is missing, which '%s' has",
                              head[i].s, r->t->name);
    for (size_t i = 0; i < t->ncols; i++) {
        if (kn_csv_find(&r->all, t->head[i].s) >= 0)
            continue;
        if (!first && *t->head[i].s != '_')
            return kn_fail_at(r->c, KILN_BAD_INPUT,
                              (struct kn_loc){ t->name, 1, 1, NULL },
                              "'%s' has no column '%s'", r->t->name,
                              t->head[i].s);
        head[r->all.ncols++] = t->head[i];
    }
    return KILN_OK;
}

static kiln_status
read_tables(struct merge *r, const struct kn_cli *cli, struct kn_buf *notes)
{
    size_t rows = 0;

    r->nt = cli->npos;
    r->t = KN_NEW(r->c, struct kn_csv, r->nt);
    r->all.head = KN_NEW(r->c, struct kn_cell, 1);
    for (size_t i = 0; i < r->nt; i++) {
        if (kn_aiter_name(cli->pos[i]))
            KN_TRY(kn_aiter_read(r->c, cli->pos[i], &r->t[i], notes));
        else
            KN_TRY(kn_table_read(r->c, cli->pos[i], &r->t[i]));
        if (kn_aiter_table(&r->t[i])) {
            struct kn_csv theirs = r->t[i];

            KN_TRY(kn_aiter_table_read(r->c, &theirs, &r->t[i], notes));
        }
        KN_TRY(add_columns(r, &r->t[i]));
        rows += r->t[i].nrows;
    }
    r->row = KN_NEW(r->c, struct row, rows + 1);
    r->tuning = kn_csv_find(&r->all, "config") >= 0;
    r->us = r->tuning ? "_us" : "us";
    return KILN_OK;
}

static const char *
key_of(struct merge *r, const struct kn_csv *t, size_t at)
{
    struct kn_buf b = { .c = r->c };

    kn_put(&b, "");
    for (size_t i = 0; i < r->all.ncols; i++) {
        const char *name = r->all.head[i].s;

        if (*name != '_' && strcmp(name, r->us) &&
            !(r->tuning && !strcmp(name, "config")))
            kn_putf(&b, "%s\x1f", kn_csv_field(t, at, name));
    }
    return b.s;
}

static kiln_status
read_row(struct merge *r, const struct kn_csv *t, size_t at)
{
    struct row *x = &r->row[r->n++];
    const char *text = kn_csv_field(t, at, r->us);

    *x = (struct row){ .t = t, .at = at, .key = key_of(r, t, at) };
    x->timed = *text != 0;
    if (x->timed && !kn_decimal_read(text, &x->us))
        return kn_csv_fail(r->c, t, at, kn_csv_find(t, r->us),
                           "this is no time in microseconds");
    x->order = strtoul(kn_csv_field(t, at, "_row"), NULL, 10);
    return KILN_OK;
}

static int
by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strverscmp(x->key, y->key);

    if (order)
        return order;
    if (x->timed != y->timed)
        return x->timed ? -1 : 1;
    if (x->timed && x->us != y->us)
        return x->us < y->us ? -1 : 1;
    return x->t != y->t ? (x->t > y->t) - (x->t < y->t)
                        : (x->at > y->at) - (x->at < y->at);
}

static int
by_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : by_key(a, b);
}

/* Leaves the first row of each key; two results that differ are a mistake of
 * whoever made them (another build, another device). */
static kiln_status
keep_one(struct merge *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        const struct row *x = &r->row[i], *have = n ? &r->row[n - 1] : NULL;
        struct kn_buf b = { .c = r->c };

        if (!have || strcmp(have->key, x->key)) {
            r->row[n++] = *x;
            continue;
        }
        if (r->tuning || !x->timed || x->us == have->us)
            continue;
        kn_putf(&b, "%s:%d has another time for the same problem",
                have->t->name, kn_csv_at(have->t, have->at, 0)->line);
        return kn_csv_fail(r->c, x->t, x->at, kn_csv_find(x->t, r->us), b.s);
    }
    r->n = n;
    return KILN_OK;
}

/* The rows that are left as a table of their own. */
static void
fill_table(struct merge *r)
{
    size_t cols = r->all.ncols;
    struct kn_cell *cell = KN_NEW(r->c, struct kn_cell, cols * r->n + 1);

    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < cols; k++) {
            const struct row *x = &r->row[i];
            int col = kn_csv_find(x->t, r->all.head[k].s);

            cell[i * cols + k] = col < 0 ? (struct kn_cell){ "", 0, 0 }
                                         : *kn_csv_at(x->t, x->at, col);
        }
    r->all.cells = cell;
    r->all.nrows = r->n;
    r->all.name = "the merged table";
}

static void
put_table(const struct kn_csv *t, struct kn_buf *b)
{
    for (size_t k = 0; k < t->ncols; k++) {
        kn_put(b, k ? "," : "");
        kn_csv_put(b, t->head[k].s);
    }
    kn_put(b, "\n");
    for (size_t i = 0; i < t->nrows; i++)
        for (size_t k = 0; k < t->ncols; k++) {
            kn_csv_put(b, kn_csv_at(t, i, (int)k)->s);
            kn_put(b, k + 1 < t->ncols ? "," : "\n");
        }
}

kiln_status
kn_cmd_merge(struct kn_tool *t)
{
    struct merge *r = KN_NEW(t->c, struct merge, 1);
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_buf b = { .c = t->c }, notes = { .c = t->c };

    r->c = t->c;
    KN_TRY(read_tables(r, t->cli, &notes));
    for (size_t i = 0; i < r->nt; i++)
        for (size_t k = 0; k < r->t[i].nrows; k++)
            KN_TRY(read_row(r, &r->t[i], k));
    qsort(r->row, r->n, sizeof *r->row, by_key);
    KN_TRY(keep_one(r));
    qsort(r->row, r->n, sizeof *r->row, by_order);
    fill_table(r);
    if (o->seen && kn_aiter_name(o->s))
        KN_TRY(kn_aiter_write(t->c, o->s, &r->all, &b));
    else if (o->seen && r->tuning && kn_aiter_table_name(o->s))
        KN_TRY(kn_aiter_table_write(t->c, o->s, &r->all, &b));
    else
        put_table(&r->all, &b);
    if (!o->seen || !strcmp(o->s, "-")) {
        kn_put(t->text, b.s);
        return KILN_OK;
    }
    kn_putf(t->text, "%s%zu rows of %zu tables\n", notes.s ? notes.s : "",
            r->n, r->nt);
    return kn_file_write(t->c, o->s, b.s, b.n);
}
