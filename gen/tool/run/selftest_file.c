/* selftest_file.c - what became of each row of selftest, a line each. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "../../../runtime/file.h"
#include "selftest.h"

static kiln_status
fail(struct kn_row_file *f, const char *what)
{
    return kn_fail(f->c, KILN_IO, "cannot %s '%s': %s", what, f->path,
                   strerror(errno));
}

/* A line of a row's beginning or end puts its name there. */
static void
read_line(struct kn_row_file *f, const char *line)
{
    json_t *o = json_loads(line, 0, NULL);
    const char *row = json_string_value(json_object_get(o, "row"));
    const char *state = json_string_value(json_object_get(o, "state"));

    if (row && state) {
        struct kn_rows *to = strcmp(state, "started") ? &f->done : &f->begun;

        to->row[to->n++].name = kn_strdup(f->c, row);
    }
    json_decref(o);
}

/* A line that was cut off, of a machine that went down, is none. */
static kiln_status
read_lines(struct kn_row_file *f, bool *torn)
{
    char *text, *save = NULL;
    uint8_t *bytes;
    size_t size, n = 1;

    KN_TRY(kn_file_read(f->c, f->path, &bytes, &size));
    *torn = size && bytes[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        n += bytes[i] == '\n';
    f->begun.row = KN_NEW(f->c, struct kn_row, n);
    f->done.row = KN_NEW(f->c, struct kn_row, n);
    text = kn_strndup(f->c, (const char *)bytes, size);
    for (char *l = strtok_r(text, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save))
        read_line(f, l);
    return KILN_OK;
}

kiln_status
kn_row_file_open(struct kn_row_file *f, const char *path, bool resume)
{
    bool torn = false;

    f->path = path;
    f->fd = -1;
    if (!path)
        return KILN_OK;
    if (resume)
        KN_TRY(read_lines(f, &torn));
    f->fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC |
                 (resume ? O_APPEND : O_TRUNC), 0644);
    if (f->fd < 0)
        return fail(f, "write");
    return torn ? kn_row_file_put(f, "") : KILN_OK;
}

kiln_status
kn_row_file_put(struct kn_row_file *f, const char *line)
{
    struct kn_buf b = { .c = f->c };

    if (f->fd < 0)
        return KILN_OK;
    kn_putf(&b, "%s\n", line);
    for (size_t at = 0; at < b.n;) {
        ssize_t k = write(f->fd, b.s + at, b.n - at);

        if (k < 0 && errno != EINTR)
            return fail(f, "write");
        at += k > 0 ? (size_t)k : 0;
    }
    (void)fdatasync(f->fd);  /* a pipe has no disk */
    return KILN_OK;
}

void
kn_row_file_close(struct kn_row_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

bool
kn_rows_have(const struct kn_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n; i++)
        if (!strcmp(rows->row[i].name, name))
            return true;
    return false;
}
