#include "tuning.h"

#include <stdlib.h>
#include <string.h>

/* X(id): the columns, in the order they are written. */
#define COLUMNS(X) \
    X(arch) X(family) X(layout) X(a) X(b) X(out) X(scale) X(batch) X(n) X(k) \
    X(m) X(config)

enum column {
#define X(id) C_##id,
    COLUMNS(X)
#undef X
    NCOLUMNS
};

static const char *const names[NCOLUMNS] = {
#define X(id) #id,
    COLUMNS(X)
#undef X
};

int64_t
kn_tuning_rows(const kiln_problem *p)
{
    return kn_family_of(p)->ragged == 'm' && p->groups
           ? (p->m + p->groups - 1) / p->groups : p->m;
}

const char *
kn_tuning_a(const kiln_problem *p)
{
    if (!p->quant)
        return kiln_type_name(p->a);
    return p->a == KILN_F16 ? "f16q" : "bf16q";
}

#define POWERS "block128-e8m0"

const char *
kn_tuning_scale(const kiln_problem *p)
{
    return kn_powers(p) ? POWERS : kn_scale_names[p->scale];
}

/* ---- fields ------------------------------------------------------------- */

static bool
read_number(const char *s, int64_t *out)
{
    char *end;

    if (*s < '0' || *s > '9')
        return false;
    *out = strtoll(s, &end, 10);
    return !*end && *out < (int64_t)1 << 31;
}

enum bucket { B_ANY, B_GEQ, B_LEQ, B_SAME, B_BAD };

static enum bucket
read_bucket(const char *s, int64_t *bound)
{
    *bound = 0;
    if (!*s || !strcmp(s, "any"))
        return B_ANY;
    if (!strncmp(s, "M_LEQ_", 6))
        return read_number(s + 6, bound) ? B_LEQ : B_BAD;
    if (!strncmp(s, "M_GEQ_", 6))
        return read_number(s + 6, bound) ? B_GEQ : B_BAD;
    return read_number(s, bound) ? B_SAME : B_BAD;
}

static bool
is_target(const char *s)
{
    for (int t = 1; t < KILN_NTARGETS; t++)
        if (!strcmp(s, kiln_target_name((kiln_target)t)))
            return true;
    return false;
}

/* What is wrong with a field, NULL if nothing. */
static const char *
complaint(struct kn_ctx *c, enum column col, const char *s)
{
    struct kn_config cfg = { 0 };
    int64_t number;

    if (!*s && col != C_config)
        return NULL;
    switch (col) {
    case C_arch:
        return is_target(s) ? NULL : "there is no such target";
    case C_family:
        return kn_name_index(kn_family_names, KILN_NFAMILIES, s) >= 0
               ? NULL : "there is no such family";
    case C_layout:
        return kn_name_index(kn_layout_names, KILN_NLAYOUTS, s) >= 0 ||
               kn_name_index(kn_stage_names, KILN_NMOESTAGES, s) >= 0
               ? NULL : "there is no such layout";
    case C_scale:
        return kn_name_index(kn_scale_names, KILN_NSCALES, s) >= 0 || !strcmp(s, POWERS)
               ? NULL : "there are no such scales";
    case C_a:
        if (!strcmp(s, "bf16q") || !strcmp(s, "f16q"))
            return NULL;
        return kn_name_index(kn_type_names, KILN_NTYPES, s) > 0
               ? NULL : "there is no such type";
    case C_b:
    case C_out:
        return kn_name_index(kn_type_names, KILN_NTYPES, s) > 0
               ? NULL : "there is no such type";
    case C_batch:
    case C_n:
    case C_k:
        return read_number(s, &number) ? NULL : "this is no size";
    case C_m:
        return read_bucket(s, &number) != B_BAD
               ? NULL : "this is no size, M_LEQ_size, M_GEQ_size or any";
    case C_config:
    case NCOLUMNS:
        break;
    }
    if (!strcmp(s, KN_FALLBACK))
        return NULL;
    return !kn_config_read(c, s, &cfg) && cfg.bm
           ? NULL : "this is no configuration with a tile, nor fallback";
}

static kiln_status
check_columns(struct kn_ctx *c, const struct kn_csv *t)
{
    for (int i = 0; i < NCOLUMNS; i++)
        if (kn_csv_find(t, names[i]) < 0)
            return kn_fail_at(c, KILN_BAD_INPUT,
                              (struct kn_loc){ t->name, t->head[0].line, 1, NULL },
                              "a tuning table has a column '%s'", names[i]);
    for (size_t i = 0; i < t->ncols; i++)
        if (*t->head[i].s != '_' &&
            kn_name_index(names, NCOLUMNS, t->head[i].s) < 0)
            return kn_fail_at(c, KILN_BAD_INPUT,
                              (struct kn_loc){ t->name, t->head[i].line,
                                               t->head[i].col, NULL },
                              "a tuning table has no column '%s'",
                              t->head[i].s);
    return KILN_OK;
}

kiln_status
kn_tuning_check(struct kn_ctx *c, const struct kn_csv *t)
{
    KN_TRY(check_columns(c, t));
    for (size_t row = 0; row < t->nrows; row++)
        for (int i = 0; i < NCOLUMNS; i++) {
            int col = kn_csv_find(t, names[i]);
            const char *text = complaint(c, (enum column)i,
                                         kn_csv_at(t, row, col)->s);

            if (text)
                return kn_csv_fail(c, t, row, col, text);
        }
    return KILN_OK;
}

/* ---- lookup ------------------------------------------------------------- */

struct hit {
    const struct kn_csv *t;
    size_t row;
    uint64_t rank;
};

struct search {
    struct kn_ctx *c;
    const char *want[NCOLUMNS]; /* up to scale, as text */
    int64_t size[NCOLUMNS];     /* batch, n, k, m */
    struct hit *hit;
    size_t n, cap;
};

static const char *
field(const struct kn_csv *t, size_t row, enum column col)
{
    return kn_csv_at(t, row, kn_csv_find(t, names[col]))->s;
}

/* How well M fits: 0 not at all; else the kind, then how tight. */
static uint64_t
rank_m(const char *s, int64_t m)
{
    const uint64_t span = (uint64_t)1 << 32;
    int64_t bound;

    switch (read_bucket(s, &bound)) {
    case B_SAME:
        return m == bound ? 4 * span : 0;
    case B_LEQ:
        return m && m <= bound ? 3 * span + (span - 1 - (uint64_t)bound) : 0;
    case B_GEQ:
        return m >= bound ? 2 * span + (uint64_t)bound : 0;
    case B_ANY:
        return span;
    case B_BAD:
        break;
    }
    return 0;
}

/* 0: the row is not for this problem. */
static uint64_t
rank_row(const struct search *s, const struct kn_csv *t, size_t row)
{
    uint64_t named[NCOLUMNS] = { 0 }, m = rank_m(field(t, row, C_m),
                                                 s->size[C_m]);
    uint64_t nk, rank;

    for (int i = 0; i <= C_scale; i++) {
        const char *v = field(t, row, (enum column)i);

        if (*v && strcmp(v, s->want[i]))
            return 0;
    }
    for (int i = C_batch; i <= C_k; i++) {
        const char *v = field(t, row, (enum column)i);
        int64_t number;

        if (*v && (!read_number(v, &number) || number != s->size[i]))
            return 0;
        named[i] = *v != 0;
    }
    nk = named[C_n] && named[C_k];
    rank = nk && named[C_batch] ? 3 : nk ? 2 : 1;
    return m ? rank << 40 | m : 0;
}

static void
search_table(struct search *s, const struct kn_csv *t)
{
    size_t first = s->n;

    for (size_t row = 0; row < t->nrows; row++) {
        uint64_t rank = rank_row(s, t, row);
        size_t at;

        if (!rank)
            continue;
        s->hit = kn_grow(s->c, s->hit, &s->cap, s->n + 1, sizeof *s->hit);
        for (at = s->n++; at > first && s->hit[at - 1].rank < rank; at--)
            s->hit[at] = s->hit[at - 1];
        s->hit[at] = (struct hit){ t, row, rank };
    }
}

static void
describe(struct search *s, const kiln_problem *p)
{
    s->want[C_arch] = kiln_target_name(p->target);
    s->want[C_family] = kn_family_names[p->family];
    s->want[C_layout] = kn_layout_names[p->layout];
    s->want[C_a] = kn_tuning_a(p);
    s->want[C_b] = kiln_type_name(p->b);
    s->want[C_out] = kiln_type_name(p->out);
    s->want[C_scale] = kn_tuning_scale(p);
    s->size[C_batch] = p->batch > 1 ? p->batch : 1;
    s->size[C_n] = p->n;
    s->size[C_k] = p->k;
    s->size[C_m] = kn_tuning_rows(p);
    if (kn_family_of(p)->routed) {
        s->want[C_layout] = kn_stage_names[p->stage]; /* rows of moe have it there */
        s->size[C_batch] = p->groups;
        s->size[C_m] = p->tokens;
    }
}

/* The compiled-in table of the problem's target and family. */
static kiln_status
search_shipped(struct search *s, const kiln_problem *p)
{
    struct kn_buf name = { .c = s->c };

    kn_putf(&name, "%s-%s", kiln_target_name(p->target),
            kn_family_names[p->family]);
    for (const struct kn_text *x = kn_tuned_tables; x->name; x++)
        if (!strcmp(x->name, name.s)) {
            struct kn_csv *t = KN_NEW(s->c, struct kn_csv, 1);

            KN_TRY(kn_csv_parse(s->c, x->name, x->text, t));
            search_table(s, t);
        }
    return KILN_OK;
}

kiln_status
kn_tuning_find(struct kn_ctx *c, const kiln_problem *p, struct kn_tuned **out,
               size_t *n)
{
    struct search s = { .c = c };

    describe(&s, p);
    for (size_t i = 0; c->tuning && i < c->tuning->n; i++)
        search_table(&s, &c->tuning->t[i]);
    if ((!c->tuning || !c->tuning->alone) && kn_full_chip(p))
        KN_TRY(search_shipped(&s, p));
    *out = KN_NEW(c, struct kn_tuned, s.n + 1);
    *n = s.n;
    for (size_t i = 0; i < s.n; i++) {
        const char *m = field(s.hit[i].t, s.hit[i].row, C_m);
        struct kn_buf b = { .c = c };

        kn_putf(&b, "%s:%d (m %s)", s.hit[i].t->name,
                kn_csv_at(s.hit[i].t, s.hit[i].row, 0)->line,
                *m ? m : "any");
        (*out)[i].config = field(s.hit[i].t, s.hit[i].row, C_config);
        (*out)[i].place = b.s;
    }
    return KILN_OK;
}
