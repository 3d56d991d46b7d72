/* hipblaslt_log.c - logs of hipBLASLt as lists of problems: lines with
 * `hipblaslt-bench FLAGS`, and YAML lines `- {M: 64, transA: T, ...}`. What
 * else a log holds is passed over. */
#include <string.h>

#include "bench.h"

static const char program[] = "hipblaslt-bench";

struct log {
    struct kn_ctx *c;
    struct kn_csv *t;
    struct kn_words *line;   /* in kiln's words, by row */
    size_t cap;
};

static void
push(struct kn_ctx *c, struct kn_words *w, const char *s, size_t n)
{
    size_t cap = (size_t)w->argc;
    char *word = KN_NEW(c, char, n + 1);

    memcpy(word, s, n);
    w->argv = kn_grow(c, w->argv, &cap, (size_t)w->argc + 1, sizeof *w->argv);
    w->argv[w->argc++] = word;
}

/* Words between blanks. */
static void
split_flags(struct kn_ctx *c, const char *s, const char *end,
            struct kn_words *w)
{
    while (s < end) {
        size_t n = strcspn(s, " \t\r\n");

        if (s + n > end)
            n = (size_t)(end - s);
        if (n)
            push(c, w, s, n);
        s += n + 1;
    }
}

/* `key: value, ...` as `--key value`; M, N, K are -m, -n, -k. */
static void
split_map(struct kn_ctx *c, const char *s, const char *end, struct kn_words *w)
{
    static const char cut[] = " \t\"',:{}";

    while (s < end) {
        struct kn_buf flag = { .c = c };
        size_t n;

        s += strspn(s, cut);
        n = strcspn(s, cut);
        if (s >= end || s + n >= end)
            return;
        if (n == 1 && strchr("MNK", *s))
            kn_putf(&flag, "-%c", *s | 32);
        else
            kn_putf(&flag, "--%.*s", (int)n, s);
        push(c, w, flag.s, flag.n);
        s += n;
        s += strspn(s, cut);
        n = strcspn(s, cut);
        push(c, w, s, n);
        s += n;
    }
}

/* The words of a line of theirs behind `kilnc bench`; false: it is none. */
static bool
read_line(struct kn_ctx *c, const char *s, const char *end, struct kn_words *w)
{
    const char *at = strstr(s, program);

    *w = (struct kn_words){ 0 };
    push(c, w, "kilnc", 5);
    push(c, w, "bench", 5);
    if (at && at < end) {
        split_flags(c, at + sizeof program - 1, end, w);
    } else {
        s += strspn(s, " \t");
        if (s[0] != '-' || s[1] != ' ' || s[2] != '{')
            return false;
        split_map(c, s + 2, end, w);
    }
    return w->argc > 2;
}

static bool
is_known(const struct log *l, const struct kn_words *w)
{
    for (size_t k = 0; k < l->t->nrows; k++) {
        int i = 0;

        while (i < w->argc && i < l->line[k].argc &&
               !strcmp(w->argv[i], l->line[k].argv[i]))
            i++;
        if (i == w->argc && i == l->line[k].argc)
            return true;
    }
    return false;
}

static kiln_status
add_line(struct log *l, struct kn_words *w, int number)
{
    kiln_status s = kn_hipblaslt_line(l->c, w);

    if (s) {
        const char *why = kn_strdup(l->c, l->c->err.text);

        memset(&l->c->err, 0, sizeof l->c->err);
        return kn_fail_at(l->c, s, (struct kn_loc){ l->t->name, number, 1,
                                                    NULL }, "%s", why);
    }
    if (is_known(l, w))
        return KILN_OK;
    for (int i = 3; i + 1 < w->argc; i += 2)
        kn_table_column(l->c, l->t, w->argv[i] + strspn(w->argv[i], "-"));
    l->line = kn_grow(l->c, l->line, &l->cap, l->t->nrows + 1,
                      sizeof *l->line);
    l->line[l->t->nrows++] = *w;
    return KILN_OK;
}

static void
fill_cells(struct log *l)
{
    struct kn_csv *t = l->t;
    struct kn_cell *cells = KN_NEW(l->c, struct kn_cell,
                                   t->nrows * t->ncols + 1);

    for (size_t i = 0; i < t->nrows * t->ncols; i++)
        cells[i].s = "";
    for (size_t k = 0; k < t->nrows; k++) {
        struct kn_cell *row = cells + k * t->ncols;
        const struct kn_words *w = &l->line[k];

        row[0].s = w->argv[2];
        for (int i = 3; i + 1 < w->argc; i += 2)
            row[kn_csv_find(t, w->argv[i] + strspn(w->argv[i], "-"))].s =
                w->argv[i + 1];
    }
    t->cells = cells;
}

kiln_status
kn_hipblaslt_log(struct kn_ctx *c, const char *name, const char *text,
                 struct kn_csv *out)
{
    struct log l = { .c = c, .t = out };
    int number = 1;

    *out = (struct kn_csv){ .name = name };
    kn_table_column(c, out, "family");
    for (const char *s = text; *s; number++) {
        const char *end = s + strcspn(s, "\n");
        struct kn_words w;

        if (read_line(c, s, end, &w))
            KN_TRY(add_line(&l, &w, number));
        s = *end ? end + 1 : end;
    }
    if (!out->nrows)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' has no line of %s", name,
                       program);
    fill_cells(&l);
    return KILN_OK;
}
