/* hipblaslt_log.c - logs of hipBLASLt as lists of problems: lines with
 * `hipblaslt-bench FLAGS`, and YAML lines `- {M: 64, transA: T, ...}`; and what
 * hipblaslt-bench prints, `[0]:transA,...,us` and values below, as a table of
 * times. What else a log holds is passed over. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char program[] = "hipblaslt-bench";

struct log {
    struct kn_ctx *c;
    struct kn_csv *t;
    struct kn_words *line;   /* in kiln's words, by row */
    int *number;             /* of its line in the file */
    const char **us;         /* its time, by row; NULL: problems alone */
    size_t cap, number_cap, us_cap;
    struct kn_words head;    /* of the results that follow */
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

/* The row of a line, nrows if there is none. */
static size_t
row_of(const struct log *l, const struct kn_words *w)
{
    size_t k = 0;

    for (; k < l->t->nrows; k++) {
        int i = 0;

        while (i < w->argc && i < l->line[k].argc &&
               !strcmp(w->argv[i], l->line[k].argv[i]))
            i++;
        if (i == w->argc && i == l->line[k].argc)
            break;
    }
    return k;
}

static kiln_status
fail_at(struct log *l, kiln_status s, int number, const char *why)
{
    memset(&l->c->err, 0, sizeof l->c->err);
    return kn_fail_at(l->c, s, (struct kn_loc){ l->t->name, number, 1, NULL },
                      "%s", why);
}

/* Of several times of a problem, the shortest stays. us: NULL, none. */
static kiln_status
add_line(struct log *l, struct kn_words *w, int number, const char *us)
{
    kiln_status s = kn_hipblaslt_line(l->c, w);
    size_t row, n = l->t->nrows;

    if (s)
        return fail_at(l, s, number, kn_strdup(l->c, l->c->err.text));
    row = row_of(l, w);
    if (row == n) {
        for (int i = 3; i + 1 < w->argc; i += 2)
            kn_table_column(l->c, l->t, w->argv[i] + strspn(w->argv[i], "-"));
        l->line = kn_grow(l->c, l->line, &l->cap, n + 1, sizeof *l->line);
        l->number = kn_grow(l->c, l->number, &l->number_cap, n + 1,
                            sizeof *l->number);
        l->us = kn_grow(l->c, l->us, &l->us_cap, n + 1, sizeof *l->us);
        l->line[l->t->nrows++] = *w;
        l->number[n] = number;
        l->us[n] = us;
    } else if (us && strtod(us, NULL) < strtod(l->us[row], NULL)) {
        l->us[row] = us;
    }
    return KILN_OK;
}

/* ---- results -------------------------------------------------------------- */

static void
split_fields(struct kn_ctx *c, const char *s, const char *end,
             struct kn_words *w)
{
    *w = (struct kn_words){ 0 };
    for (;; s++) {
        size_t n;

        s += strspn(s, " \t");
        n = strcspn(s, ",\r\n");
        while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
            n--;
        push(c, w, s, n);
        s += strcspn(s, ",\r\n");
        if (s >= end || *s != ',')
            return;
    }
}

/* `[0]:transA,...` or `[0]:function,transA,...`; the number may be missing. */
static bool
is_head(const char **s)
{
    const char *at = *s + strspn(*s, " \t");

    if (*at == '[') {
        at += strcspn(at, "]\n");
        at += *at == ']';
        at += *at == ':';
    }
    if (strncmp(at, "transA,", 7) && strncmp(at, "function,transA,", 16))
        return false;
    *s = at;
    return true;
}

static bool
is_value(const char *s)
{
    s += strspn(s, " \t");
    return (*s && strchr("NTC", *s) && s[1] == ',') ||
           !strncmp(s, "matmul,", 7);
}

/* What a field says of the problem; the others are of the run. */
static void
push_field(struct log *l, struct kn_words *w, const char *name,
           const char *value)
{
    struct kn_buf flag = { .c = l->c };

    kn_putf(&flag, "%s%s", name[1] ? "--" : "-", name);
    if (!kn_hipblaslt_takes(flag.s) || !*value)
        return;
    push(l->c, w, flag.s, flag.n);
    push(l->c, w, value, strlen(value));
}

/* The microseconds as decimals, NULL if it is no time. */
static const char *
time_of(struct kn_ctx *c, const char *text)
{
    struct kn_buf b = { .c = c };
    char *end;
    double us = strtod(text, &end);

    if (*end || end == text || !(us > 0 && us < 1e9))
        return NULL;
    kn_putf(&b, "%.4f", us);
    return b.s;
}

static kiln_status
add_result(struct log *l, const char *s, const char *end, int number)
{
    struct kn_words f, w = { 0 };
    struct kn_buf why = { .c = l->c };
    const char *us = NULL;

    split_fields(l->c, s, end, &f);
    kn_putf(&why, "this result has %d fields, its header has %d", f.argc,
            l->head.argc);
    if (f.argc != l->head.argc)
        return fail_at(l, KILN_BAD_INPUT, number, why.s);
    push(l->c, &w, "kilnc", 5);
    push(l->c, &w, "bench", 5);
    for (int i = 0; i < f.argc; i++) {
        if (!strcmp(l->head.argv[i], "us"))
            us = time_of(l->c, f.argv[i]);
        else
            push_field(l, &w, l->head.argv[i], f.argv[i]);
    }
    if (!us)
        return fail_at(l, KILN_BAD_INPUT, number, "the field us of this result "
                       "is no time in microseconds");
    return add_line(l, &w, number, us);
}

/* A header is followed by a result, and by more of the same fields. */
static kiln_status
add_results(struct log *l, const char *text)
{
    bool after = false, behind = false;
    int number = 1;

    for (const char *s = text; *s; number++) {
        const char *end = s + strcspn(s, "\n"), *next = *end ? end + 1 : end;

        if (is_head(&s)) {
            split_fields(l->c, s, end, &l->head);
            after = behind = true;
        } else if (after || (behind && is_value(s))) {
            KN_TRY(add_result(l, s, end, number));
            after = false;
        } else {
            behind = false;
        }
        s = next;
    }
    return KILN_OK;
}

bool
kn_hipblaslt_results(const char *text)
{
    for (const char *s = text; *s; s += *s == '\n') {
        const char *at = s;

        if (is_head(&at))
            return true;
        s += strcspn(s, "\n");
    }
    return false;
}

/* ---- the table ------------------------------------------------------------ */

static void
set_cell(struct log *l, struct kn_cell *row, const char *name, const char *text,
         int line)
{
    row[kn_csv_find(l->t, name)] = (struct kn_cell){ text, line, 1 };
}

static void
fill_cells(struct log *l, bool timed)
{
    struct kn_csv *t = l->t;
    size_t us = timed ? kn_table_column(l->c, t, "us") : 0;
    struct kn_cell *cells;

    if (timed)
        kn_table_column(l->c, t, "_kind");
    cells = KN_NEW(l->c, struct kn_cell, t->nrows * t->ncols + 1);
    for (size_t i = 0; i < t->nrows * t->ncols; i++)
        cells[i].s = "";
    for (size_t k = 0; k < t->nrows; k++) {
        struct kn_cell *row = cells + k * t->ncols;
        const struct kn_words *w = &l->line[k];

        row[0].s = w->argv[2];
        for (int i = 3; i + 1 < w->argc; i += 2)
            set_cell(l, row, w->argv[i] + strspn(w->argv[i], "-"),
                     w->argv[i + 1], l->number[k]);
        if (timed) {
            row[us] = (struct kn_cell){ l->us[k], l->number[k], 1 };
            set_cell(l, row, "_kind", "measured", l->number[k]);
        }
    }
    t->cells = cells;
}

static kiln_status
add_lines(struct log *l, const char *text)
{
    int number = 1;

    for (const char *s = text; *s; number++) {
        const char *end = s + strcspn(s, "\n");
        struct kn_words w;

        if (read_line(l->c, s, end, &w))
            KN_TRY(add_line(l, &w, number, NULL));
        s = *end ? end + 1 : end;
    }
    return KILN_OK;
}

kiln_status
kn_hipblaslt_log(struct kn_ctx *c, const char *name, const char *text,
                 struct kn_csv *out)
{
    struct log l = { .c = c, .t = out };
    bool timed = kn_hipblaslt_results(text);

    *out = (struct kn_csv){ .name = name };
    kn_table_column(c, out, "family");
    KN_TRY(timed ? add_results(&l, text) : add_lines(&l, text));
    if (!out->nrows)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' has no %s of %s", name,
                       timed ? "result" : "line", program);
    fill_cells(&l, timed);
    return KILN_OK;
}
