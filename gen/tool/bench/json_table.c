/* json_table.c - JSON lists as tables. */
#include <jansson.h>
#include <string.h>

#include "bench.h"

/* A value as it would be typed; NULL for what no flag takes. */
static const char *
text_of(struct kn_ctx *c, json_t *v)
{
    struct kn_buf b = { .c = c };
    json_t *item;
    size_t i;

    switch (json_typeof(v)) {
    case JSON_STRING:
        return kn_strdup(c, json_string_value(v));
    case JSON_INTEGER:
        kn_putf(&b, "%lld", (long long)json_integer_value(v));
        return b.s;
    case JSON_REAL:
        kn_putf(&b, "%.17g", json_real_value(v));
        return b.s;
    case JSON_ARRAY:
        json_array_foreach(v, i, item) {
            if (!json_is_integer(item))
                return NULL;
            kn_putf(&b, "%s%lld", i ? "," : "",
                    (long long)json_integer_value(item));
        }
        return b.s ? b.s : "";
    case JSON_NULL:
        return "";
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_OBJECT:
        break;
    }
    return NULL;
}

size_t
kn_table_column(struct kn_ctx *c, struct kn_csv *t, const char *name)
{
    int at = kn_csv_find(t, name);
    size_t cap = t->ncols;
    struct kn_cell *head;

    if (at >= 0)
        return (size_t)at;
    head = kn_grow(c, (void *)t->head, &cap, t->ncols + 1, sizeof *head);
    head[t->ncols].s = kn_strdup(c, name);
    t->head = head;
    return t->ncols++;
}

static kiln_status
read_row(struct kn_ctx *c, const struct kn_csv *t, json_t *row,
         struct kn_cell *cells)
{
    const char *key;
    json_t *v;

    json_object_foreach(row, key, v) {
        struct kn_cell *cell = &cells[kn_csv_find(t, key)];

        cell->s = text_of(c, v);
        if (!cell->s)
            return kn_fail_at(c, KILN_BAD_INPUT, (struct kn_loc){ .file = t->name },
                              "row %zu, field '%s': no flag takes such a value",
                              t->nrows + 1, key);
    }
    return KILN_OK;
}

static kiln_status
read_rows(struct kn_ctx *c, json_t *rows, struct kn_csv *t)
{
    size_t i, n = json_array_size(rows);
    struct kn_cell *cells;
    const char *key;
    json_t *row, *v;

    json_array_foreach(rows, i, row) {
        if (!json_is_object(row))
            return kn_fail_at(c, KILN_BAD_INPUT, (struct kn_loc){ .file = t->name },
                              "row %zu is no object", i + 1);
        json_object_foreach(row, key, v)
            kn_table_column(c, t, key);
    }
    t->cells = cells = KN_NEW(c, struct kn_cell, n * t->ncols + 1);
    for (i = 0; i < n * t->ncols; i++)
        cells[i].s = "";
    for (; t->nrows < n; t->nrows++)
        KN_TRY(read_row(c, t, json_array_get(rows, t->nrows),
                        cells + t->nrows * t->ncols));
    return KILN_OK;
}

kiln_status
kn_json_table(struct kn_ctx *c, const char *name, const char *text,
              struct kn_csv *out)
{
    json_error_t e;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &e), *rows = root;
    kiln_status s;

    *out = (struct kn_csv){ .name = name };
    if (!root)
        return kn_fail_at(c, KILN_BAD_INPUT,
                          (struct kn_loc){ name, e.line, e.column, NULL }, "%s",
                          e.text);
    if (json_is_object(root))
        rows = json_object_get(root, "rows");
    s = json_is_array(rows)
        ? read_rows(c, rows, out)
        : kn_fail_at(c, KILN_BAD_INPUT, (struct kn_loc){ name, 1, 1, NULL },
                     "a list is an array of objects, or an object with such "
                     "an array as \"rows\"");
    json_decref(root);
    return s;
}
