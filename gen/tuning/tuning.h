/* tuning.h - tuned configurations as tables (docs/bench.md): what fits a
 * problem, from the user's files first, then from templates/tuned, which are of
 * full chips. A miss is no error, the choice falls back to rules.
 *
 * Columns: arch family layout a b out scale batch n k m config; an empty field
 * fits anything. m is a number, or M_LEQ_16, M_GEQ_4096, any. Of moe, layout
 * is the stage, batch the experts and m the tokens. The configuration
 * "fallback": another library is faster there (KILN_FALLBACK), unless the
 * caller names a tile. */
#ifndef KN_TUNING_H
#define KN_TUNING_H

#include "../gen.h"

/* csv.c - tables as comma-separated text (RFC 4180 with a header line; empty
 * lines and lines that begin with '#' are skipped). Every field knows its
 * place, so that a complaint can name file, line and field. */

struct kn_cell {
    const char *s;
    int line, col;           /* of its first character, from 1; 0: unknown */
};

struct kn_csv {
    const char *name;        /* of the file */
    size_t ncols, nrows;
    const struct kn_cell *head;
    const struct kn_cell *cells; /* row after row */
};

/* BAD_INPUT with the place for text that is no table: no header, a column
 * without a name or named twice, a row of another length, an open quote. */
kiln_status kn_csv_parse(struct kn_ctx *c, const char *name, const char *text,
                         struct kn_csv *out);
kiln_status kn_csv_read(struct kn_ctx *c, const char *path,
                        struct kn_csv *out);

/* Column of a name, -1 if there is none. */
int kn_csv_find(const struct kn_csv *t, const char *name);
/* Text of a field, "" if there is no such column. */
const char *kn_csv_field(const struct kn_csv *t, size_t row, const char *name);
const struct kn_cell *kn_csv_at(const struct kn_csv *t, size_t row, int col);

/* Complains about a field: place, the column's name, the sentence. */
kiln_status kn_csv_fail(struct kn_ctx *c, const struct kn_csv *t, size_t row,
                        int col, const char *sentence);

/* Tables that are compiled in; a NULL name ends a list. */
struct kn_text {
    const char *name;        /* of the file, without ".csv" */
    const char *text;
};
extern const struct kn_text kn_presets[];   /* gen/tool/bench/presets */
extern const struct kn_text kn_tuned_tables[]; /* templates/tuned */

/* A field, quoted where it has to be; the caller puts commas and ends. */
void kn_csv_put(struct kn_buf *b, const char *s);

#define KN_FALLBACK "fallback"  /* instead of a configuration */

struct kn_tuning {           /* kn_ctx.tuning */
    struct kn_csv *t;
    size_t n;
    bool alone;              /* shipped tables are not looked at */
};

/* Rows that fit, best first: a named (batch, n, k) before a named (n, k)
 * before others; then the same m, the least M_LEQ, the greatest M_GEQ, any. */
struct kn_tuned {
    const char *config;
    const char *place;       /* "FILE:LINE (M_LEQ_64)" */
};
kiln_status kn_tuning_find(struct kn_ctx *c, const kiln_problem *p,
                           struct kn_tuned **out, size_t *n);

/* Every field of every row: BAD_INPUT with file, line and field. */
kiln_status kn_tuning_check(struct kn_ctx *c, const struct kn_csv *t);

/* The tables of a colon list of files, in c's arena. */
kiln_status kn_tuning_load(struct kn_ctx *c, const char *files,
                           struct kn_tuning *out);

/* The rows of a problem's m that tables count by: of one group or batch. */
int64_t kn_tuning_rows(const kiln_problem *p);
/* The type of A as rows name it: "bf16q" is bf16 quantised in the kernel. */
const char *kn_tuning_a(const kiln_problem *p);
/* The scale mode as rows name it: "block128-e8m0" is of powers of two, which other
 * kernels serve best (docs/choosing.md). */
const char *kn_tuning_scale(const kiln_problem *p);

#endif
