/* cmd_merge.c - `kilnc merge`: the tables of shards as one. Results of
 * `bench` have each problem once; of tuning tables, which have a column
 * `config`, the faster row of a problem stays. */
#include <stdlib.h>
#include <string.h>

#include "../runtime/file.h"
#include "cmd.h"
#include "compare.h"
#include "csv.h"

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
    int us, config, order;   /* columns, -1: none */
};

static kiln_status
read_tables(struct merge *r, const struct kn_cli *cli)
{
    size_t rows = 0;

    r->nt = cli->npos;
    r->t = KN_NEW(r->c, struct kn_csv, r->nt);
    for (size_t i = 0; i < r->nt; i++) {
        struct kn_csv *t = &r->t[i];

        KN_TRY(kn_csv_read(r->c, cli->pos[i], t));
        for (size_t k = 0; k < t->ncols || k < r->t[0].ncols; k++)
            if (t->ncols != r->t[0].ncols ||
                strcmp(t->head[k].s, r->t[0].head[k].s))
                return kn_fail_at(r->c, KILN_BAD_INPUT,
                                  (struct kn_loc){ t->name, t->head[0].line, 1 },
                                  "its columns are not those of '%s'",
                                  cli->pos[0]);
        rows += t->nrows;
    }
    r->row = KN_NEW(r->c, struct row, rows + 1);
    r->config = kn_csv_find(r->t, "config");
    r->order = kn_csv_find(r->t, "_row");
    r->us = kn_csv_find(r->t, r->config < 0 ? "us" : "_us");
    return KILN_OK;
}

static const char *
key_of(struct merge *r, const struct kn_csv *t, size_t at)
{
    struct kn_buf b = { .c = r->c };

    kn_put(&b, "");
    for (size_t i = 0; i < t->ncols; i++)
        if (*t->head[i].s != '_' && (int)i != r->us && (int)i != r->config)
            kn_putf(&b, "%s\x1f", kn_csv_at(t, at, (int)i)->s);
    return b.s;
}

static kiln_status
read_row(struct merge *r, const struct kn_csv *t, size_t at)
{
    struct row *x = &r->row[r->n++];
    const char *text = r->us < 0 ? "" : kn_csv_at(t, at, r->us)->s;

    *x = (struct row){ .t = t, .at = at, .key = key_of(r, t, at) };
    x->timed = *text != 0;
    if (x->timed && !kn_decimal_read(text, &x->us))
        return kn_csv_fail(r->c, t, at, r->us,
                           "this is no time in microseconds");
    if (r->order >= 0)
        x->order = strtoul(kn_csv_at(t, at, r->order)->s, NULL, 10);
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
        if (r->config >= 0 || !x->timed || x->us == have->us)
            continue;
        kn_putf(&b, "%s:%d has another time for the same problem",
                have->t->name, kn_csv_at(have->t, have->at, 0)->line);
        return kn_csv_fail(r->c, x->t, x->at, r->us, b.s);
    }
    r->n = n;
    return KILN_OK;
}

static void
put_table(struct merge *r, struct kn_buf *b)
{
    for (size_t k = 0; k < r->t->ncols; k++) {
        kn_put(b, k ? "," : "");
        kn_csv_put(b, r->t->head[k].s);
    }
    kn_put(b, "\n");
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->t->ncols; k++) {
            kn_csv_put(b, kn_csv_at(r->row[i].t, r->row[i].at, (int)k)->s);
            kn_put(b, k + 1 < r->t->ncols ? "," : "\n");
        }
}

kiln_status
kn_cmd_merge(struct kn_tool *t)
{
    struct merge *r = KN_NEW(t->c, struct merge, 1);
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_buf b = { .c = t->c };

    r->c = t->c;
    KN_TRY(read_tables(r, t->cli));
    for (size_t i = 0; i < r->nt; i++)
        for (size_t k = 0; k < r->t[i].nrows; k++)
            KN_TRY(read_row(r, &r->t[i], k));
    qsort(r->row, r->n, sizeof *r->row, by_key);
    KN_TRY(keep_one(r));
    if (r->order >= 0)
        qsort(r->row, r->n, sizeof *r->row, by_order);
    put_table(r, &b);
    if (!o->seen || !strcmp(o->s, "-")) {
        kn_put(t->text, b.s);
        return KILN_OK;
    }
    kn_putf(t->text, "%zu rows of %zu tables\n", r->n, r->nt);
    return kn_file_write(t->c, o->s, b.s, b.n);
}
