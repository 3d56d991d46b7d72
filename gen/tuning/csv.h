/* csv.h - tables as comma-separated text (RFC 4180 with a header line; empty
 * lines and lines that begin with '#' are skipped). Every field knows its
 * place, so that a complaint can name file, line and field. */
#ifndef KN_CSV_H
#define KN_CSV_H

#include "../../ir/base.h"

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

#endif
