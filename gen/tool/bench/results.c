#include "results.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../runtime/file.h"
#include "../../gen.h"

static const char *const columns[] = {
#define X(id, column) column,
    KN_RESULTS(X)
#undef X
};

/* Columns every table has, so that tables of different lists compare. */
static bool
is_standard(int flag)
{
    static const enum kn_flag_id standard[] = {
        KN_FLAG_layout, KN_FLAG_a, KN_FLAG_b, KN_FLAG_out, KN_FLAG_scale,
        KN_FLAG_epilogue, KN_FLAG_batch, KN_FLAG_groups, KN_FLAG_m, KN_FLAG_n,
        KN_FLAG_k,
    };

    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if ((int)standard[i] == flag)
            return true;
    return false;
}

static void
make_head(struct kn_results *r, const struct kn_worklist *list)
{
    r->head = KN_NEW(r->c, const char *, (size_t)KN_NFLAGS + KN_NRESULTS + 2);
    r->head[r->nkey++] = "family";
    r->head[r->nkey++] = "arch";
    for (int i = 0; i < KN_NFLAGS; i++)
        if (is_standard(i) || list->used[i]) {
            r->flag[r->nkey - 2] = i;
            r->head[r->nkey++] = kn_flags[i].name +
                                 strspn(kn_flags[i].name, "-");
        }
    for (int i = 0; i < KN_NRESULTS; i++)
        r->head[r->nkey + i] = columns[i];
    r->ncols = r->nkey + KN_NRESULTS;
}

static kiln_status
check_head(struct kn_results *r, const struct kn_csv *t)
{
    for (size_t i = 0; i < r->ncols; i++)
        if (i >= t->ncols || t->ncols > r->ncols ||
            strcmp(t->head[i].s, r->head[i]))
            return kn_fail_at(r->c, KILN_BAD_INPUT,
                              (struct kn_loc){ t->name, t->head[0].line, 1, NULL },
                              "these columns are not those of this list "
                              "('%s' is one); -o another file", r->head[i]);
    return KILN_OK;
}

static kiln_status
load(struct kn_results *r)
{
    const char **cell = KN_NEW(r->c, const char *, r->ncols);
    struct kn_csv t;

    KN_TRY(kn_csv_read(r->c, r->path, &t));
    KN_TRY(check_head(r, &t));
    for (size_t i = 0; i < t.nrows; i++) {
        size_t order;
        char *end;

        for (size_t k = 0; k < r->ncols; k++)
            cell[k] = kn_csv_at(&t, i, (int)k)->s;
        order = strtoul(cell[r->nkey + KN_R_row], &end, 10);
        if (*end || end == cell[r->nkey + KN_R_row])
            return kn_csv_fail(r->c, &t, i, (int)(r->nkey + KN_R_row),
                               "this is no number of a row");
        kn_results_set(r, order, cell, cell + r->nkey);
    }
    return KILN_OK;
}

kiln_status
kn_results_open(struct kn_tool *t, const struct kn_worklist *list,
                const char *path, struct kn_results *out)
{
    *out = (struct kn_results){ .c = t->c, .path = path };
    make_head(out, list);
    if (!path || access(path, F_OK))
        return KILN_OK;
    return load(out);
}

/* ---- keys --------------------------------------------------------------- */

/* Texts of what a problem leaves to its family; false if it is refused. */
static bool
normalise(struct kn_ctx *c, const struct kn_work *w, const char **value)
{
    static const char *const none[] = { NULL };
    struct kn_cli *cli = KN_NEW(c, struct kn_cli, 1);
    kiln_problem p;

    if (kn_work_cli(c, w, KN_CMD_generate, none, cli))
        return false;
    if (kn_cli_problem(c, cli, w->target, &p) || kn_problem_normalise(c, &p))
        return false;
    value[KN_FLAG_layout] = kn_layout_names[p.layout];
    value[KN_FLAG_a] = kiln_type_name(p.a);
    value[KN_FLAG_b] = kiln_type_name(p.b);
    value[KN_FLAG_out] = kiln_type_name(p.out);
    value[KN_FLAG_scale] = kn_scale_names[p.scale];
    return true;
}

static bool
normalise_alone(struct kn_ctx *own, const struct kn_work *w,
                const char **value)
{
    jmp_buf oom;

    own->oom = &oom;
    if (setjmp(oom))
        return false;
    return normalise(own, w, value);
}

const char **
kn_results_key(const struct kn_results *r, struct kn_ctx *c,
               const struct kn_work *w)
{
    const char **key = KN_NEW(c, const char *, r->nkey);
    const char *value[KN_NFLAGS];
    struct kn_ctx own;

    memcpy(value, w->value, sizeof value);
    kn_ctx_init(&own, c->realloc, c->user);
    normalise_alone(&own, w, value);
    kn_ctx_free(&own);
    key[0] = w->family;
    key[1] = kiln_target_name(w->target);
    for (size_t i = 2; i < r->nkey; i++) {
        const char *v = value[r->flag[i - 2]];

        key[i] = v ? v : "";
    }
    return key;
}

struct kn_result_row *
kn_results_find(const struct kn_results *r, const char *const *key)
{
    for (size_t i = 0; i < r->n; i++) {
        size_t k = 0;

        while (k < r->nkey && !strcmp(r->row[i].cell[k], key[k]))
            k++;
        if (k == r->nkey)
            return &r->row[i];
    }
    return NULL;
}

void
kn_results_set(struct kn_results *r, size_t order, const char *const *key,
               const char *const *field)
{
    struct kn_result_row *row = kn_results_find(r, key);
    const char **cell = KN_NEW(r->c, const char *, r->ncols);

    for (size_t i = 0; i < r->ncols; i++)
        cell[i] = kn_strdup(r->c, i < r->nkey ? key[i] : field[i - r->nkey]);
    if (!row) {
        r->row = kn_grow(r->c, r->row, &r->cap, r->n + 1, sizeof *r->row);
        row = &r->row[r->n++];
    }
    row->cell = cell;
    row->order = order;
}

/* ---- writing ------------------------------------------------------------ */

static int
by_order(const void *a, const void *b)
{
    const struct kn_result_row *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

static void
put_cells(struct kn_buf *b, const char *const *cell, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kn_put(b, i ? "," : "");
        kn_csv_put(b, cell[i]);
    }
    kn_put(b, "\n");
}

void
kn_results_put(struct kn_results *r, struct kn_buf *b)
{
    if (r->n)
        qsort(r->row, r->n, sizeof *r->row, by_order);
    put_cells(b, r->head, r->ncols);
    for (size_t i = 0; i < r->n; i++)
        put_cells(b, r->row[i].cell, r->ncols);
}

/* In an arena of its own: the text is written many times. */
static kiln_status
save_in(struct kn_ctx *own, struct kn_results *r)
{
    struct kn_buf b = { .c = own };

    KN_ENTER(own);
    kn_results_put(r, &b);
    return kn_file_write(own, r->path, b.s, b.n);
}

kiln_status
kn_results_save(struct kn_results *r, bool now)
{
    struct kn_ctx own;
    kiln_status s;

    if (!r->path || (!now && kn_seconds() - r->written < 1))
        return KILN_OK;
    kn_ctx_init(&own, r->c->realloc, r->c->user);
    s = save_in(&own, r);
    if (s)
        kn_fail(r->c, s, "%s", own.err.text);
    kn_ctx_free(&own);
    r->written = kn_seconds();
    return s;
}
