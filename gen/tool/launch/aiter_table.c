/* aiter_table.c - the row that registers an object with aiter's loader: in the
 * table beside it, which is made if there is none. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../runtime/file.h"
#include "../../aiter.h"
#include "aiter_table.h"

static const char *
base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* `list` joined by commas; NULL ends it. */
static void
put_line(struct kn_buf *b, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        kn_putf(b, "%s%s", i ? "," : "", list[i]);
    kn_put(b, "\n");
}

/* The columns of a table's first line that is no comment. */
static const char **
columns_of(struct kn_ctx *c, const char *text)
{
    const char **all = KN_NEW(c, const char *, strlen(text) + 2);
    char *line, *save = NULL;
    size_t n = 0;

    while (*text == '#' || *text == '\n' || *text == ';' || *text == '/')
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    line = kn_strndup(c, text, strcspn(text, "\r\n"));
    for (char *w = strtok_r(line, ",", &save); w; w = strtok_r(NULL, ",", &save))
        all[n++] = w;
    return all;
}

/* The object's values in the order of a table's columns; one that the loader's
 * own tables have not is 0. */
static const char **
values_of(struct kn_ctx *c, const struct kn_aiter_object *o,
          const char *const *columns)
{
    size_t n = 0;
    const char **all;

    while (columns[n])
        n++;
    all = KN_NEW(c, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        all[i] = kn_loader_column(c, o->p, o->g, columns[i], base_of(o->path));
        all[i] = all[i] ? all[i] : "0";
    }
    return all;
}

/* Copies the table without lines of this kernel. */
static void
copy_others(const char *text, const char *kernel, struct kn_buf *b)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *line = kn_strndup(b->c, text, n), *at = strstr(line, kernel);

        if (!at && n)
            kn_putf(b, "%s\n", line);
        text += n + (text[n] != 0);
    }
}

/* The loader looks for the object beside the table, and for the table by its
 * name. */
static kiln_status
check_place(struct kn_ctx *c, const struct kn_aiter_object *o, const char *table)
{
    size_t dir = (size_t)(base_of(table) - table);
    struct kn_buf name = { .c = c };

    kn_putf(&name, "%s.csv", kn_loader_table(o->p, o->g));
    if (strcmp(base_of(table), name.s))
        return kn_fail(c, KILN_BAD_INPUT, "aiter's loader of this kernel reads "
                       "the table %s in its folder %s, not '%s'", name.s,
                       kn_loader_folder(c, o->p, o->g), base_of(table));
    if ((size_t)(base_of(o->path) - o->path) != dir ||
        strncmp(o->path, table, dir) != 0)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' does not lie beside '%s', where "
                       "aiter's loader looks for it", o->path, table);
    return KILN_OK;
}

void
kn_aiter_row(struct kn_ctx *c, const struct kn_aiter_object *o,
             struct kn_buf *out)
{
    put_line(out, values_of(c, o, kn_loader_columns(c, o->p, o->g)));
}

kiln_status
kn_aiter_register(struct kn_ctx *c, const struct kn_aiter_object *o,
                  const char *table)
{
    const char **columns = kn_loader_columns(c, o->p, o->g);
    struct kn_buf b = { .c = c };
    uint8_t *old;
    size_t n;

    KN_TRY(check_place(c, o, table));
    if (access(table, F_OK)) {
        put_line(&b, columns);
    } else {
        KN_TRY(kn_file_read(c, table, &old, &n));
        copy_others(kn_strndup(c, (const char *)old, n),
                    kn_kernel_name(c, o->p, o->g), &b);
        columns = columns_of(c, b.s ? b.s : "");
    }
    for (size_t i = 0; columns[i]; i++)
        if (!strcmp(columns[i], "knl_name")) {
            put_line(&b, values_of(c, o, columns));
            return kn_file_write(c, table, b.s, b.n);
        }
    return kn_fail(c, KILN_BAD_INPUT, "'%s' is no table of aiter's kernels: it "
                   "has no column knl_name", table);
}
