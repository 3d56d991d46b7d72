/* csv.c - tables as comma-separated text (tuning.h). */
#include "tuning.h"

#include <string.h>

struct reader {
    struct kn_ctx *c;
    const char *name, *s, *bol;
    int line;
    struct kn_cell *cell;
    size_t n, cap;
};

static kiln_status
fail(struct reader *r, int line, int col, const char *sentence)
{
    return kn_fail_at(r->c, KILN_BAD_INPUT,
                      (struct kn_loc){ r->name, line, col, NULL }, "%s", sentence);
}

static void
new_line(struct reader *r)
{
    r->s += *r->s == '\r';
    r->s += *r->s == '\n';
    r->bol = r->s;
    r->line++;
}

/* Behind the opening quote; a quote is doubled inside. */
static kiln_status
read_quoted(struct reader *r, struct kn_cell *cell)
{
    char *out = KN_NEW(r->c, char, strlen(r->s) + 1), *w = out;

    for (; *r->s != '"' || r->s[1] == '"'; w++) {
        if (!*r->s)
            return fail(r, cell->line, cell->col, "this quote is not closed");
        if (*r->s == '\n') {
            r->line++;
            r->bol = r->s + 1;
        }
        r->s += *r->s == '"';
        *w = *r->s++;
    }
    r->s++;
    cell->s = kn_strdup(r->c, out);
    if (*r->s && !strchr(",\r\n", *r->s))
        return fail(r, r->line, (int)(r->s - r->bol) + 1,
                    "a quoted field ends at its quote");
    return KILN_OK;
}

static kiln_status
read_cell(struct reader *r)
{
    struct kn_cell *cell;
    size_t n;

    r->cell = kn_grow(r->c, r->cell, &r->cap, r->n + 1, sizeof *r->cell);
    cell = &r->cell[r->n++];
    cell->line = r->line;
    cell->col = (int)(r->s - r->bol) + 1;
    if (*r->s == '"') {
        r->s++;
        return read_quoted(r, cell);
    }
    n = strcspn(r->s, ",\r\n");
    cell->s = kn_strndup(r->c, r->s, n);
    r->s += n;
    return KILN_OK;
}

static kiln_status
read_row(struct reader *r)
{
    for (;; r->s++) {
        KN_TRY(read_cell(r));
        if (*r->s != ',')
            break;
    }
    new_line(r);
    return KILN_OK;
}

static void
skip_lines(struct reader *r)
{
    while (*r->s && strchr("#\r\n", *r->s)) {
        r->s += strcspn(r->s, "\n");
        new_line(r);
    }
}

static kiln_status
check_head(struct reader *r, const struct kn_csv *t)
{
    for (size_t i = 0; i < t->ncols; i++) {
        if (!*r->cell[i].s)
            return fail(r, r->cell[i].line, r->cell[i].col,
                        "this column has no name");
        for (size_t k = 0; k < i; k++)
            if (!strcmp(r->cell[k].s, r->cell[i].s))
                return fail(r, r->cell[i].line, r->cell[i].col,
                            "two columns have this name");
    }
    return KILN_OK;
}

static kiln_status
check_row(struct reader *r, const struct kn_csv *t, size_t from)
{
    struct kn_buf b = { .c = r->c };
    size_t have = r->n - from;

    if (have == t->ncols)
        return KILN_OK;
    kn_putf(&b, "this row has %zu fields, the header has %zu", have, t->ncols);
    if (have < t->ncols)
        kn_putf(&b, " ('%s' is missing)", r->cell[have].s);
    return fail(r, r->cell[from].line, r->cell[r->n - 1].col, b.s);
}

kiln_status
kn_csv_parse(struct kn_ctx *c, const char *name, const char *text,
             struct kn_csv *out)
{
    struct reader r = { .c = c, .name = name, .s = text, .line = 1 };

    *out = (struct kn_csv){ .name = name };
    if (!strncmp(text, "\xef\xbb\xbf", 3))
        r.s += 3;
    r.bol = r.s;
    skip_lines(&r);
    if (!*r.s)
        return fail(&r, r.line, 1, "there is no header line");
    KN_TRY(read_row(&r));
    out->ncols = r.n;
    KN_TRY(check_head(&r, out));
    for (skip_lines(&r); *r.s; skip_lines(&r), out->nrows++) {
        size_t from = r.n;

        KN_TRY(read_row(&r));
        KN_TRY(check_row(&r, out, from));
    }
    out->head = r.cell;
    out->cells = r.cell + out->ncols;
    return KILN_OK;
}

int
kn_csv_find(const struct kn_csv *t, const char *name)
{
    for (size_t i = 0; i < t->ncols; i++)
        if (!strcmp(t->head[i].s, name))
            return (int)i;
    return -1;
}

const struct kn_cell *
kn_csv_at(const struct kn_csv *t, size_t row, int col)
{
    return &t->cells[row * t->ncols + (size_t)col];
}

const char *
kn_csv_field(const struct kn_csv *t, size_t row, const char *name)
{
    int col = kn_csv_find(t, name);

    return col < 0 ? "" : kn_csv_at(t, row, col)->s;
}

kiln_status
kn_csv_fail(struct kn_ctx *c, const struct kn_csv *t, size_t row, int col,
            const char *sentence)
{
    const struct kn_cell *at = kn_csv_at(t, row, col);

    if (!at->line)
        return kn_fail_at(c, KILN_BAD_INPUT, (struct kn_loc){ .file = t->name },
                          "row %zu, field '%s': %s", row + 1,
                          t->head[col].s, sentence);
    return kn_fail_at(c, KILN_BAD_INPUT,
                      (struct kn_loc){ t->name, at->line, at->col, NULL },
                      "field '%s': %s", t->head[col].s, sentence);
}

void
kn_csv_put(struct kn_buf *b, const char *s)
{
    if (!s[strcspn(s, ",\"\r\n")] && *s != '#') {
        kn_put(b, s);
        return;
    }
    kn_put(b, "\"");
    for (; *s; s++)
        kn_putf(b, "%s%c", *s == '"' ? "\"" : "", *s);
    kn_put(b, "\"");
}
