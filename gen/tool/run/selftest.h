/* selftest.h - rows of `kilnc selftest`: which there are, what one does, and
 * the file that keeps what became of each. */
#ifndef KN_SELFTEST_H
#define KN_SELFTEST_H

#include "session.h"

/* What a row is for: a class of configurations the chooser answers with; the
 * arithmetic of a matrix instruction; a launch as large as users have it. */
enum kn_row_kind { KN_ROW_CLASS, KN_ROW_TYPES, KN_ROW_GRID };

struct kn_row {
    kiln_target target;
    enum kn_row_kind kind;
    const char *command;     /* words of `kilnc run` */
    const char *class;       /* of its configuration */
    const char *name;        /* "class: command", of this row alone */
};

struct kn_rows {
    struct kn_row *row;
    size_t n;
};

/* The rows of a target, NONE: of all; `only`: those with it in their names, or
 * NULL; size: m, n, k of the grids, m 0: without them. */
struct kn_row_choice {
    kiln_target target;
    const char *only;
    int64_t size[3];
};
kiln_status kn_selftest_rows(struct kn_ctx *c, const struct kn_row_choice *w,
                             struct kn_rows *out);

/* How each row is tested. */
struct kn_row_test {
    const struct kn_row *row;
    const char *device;      /* "hip:0"; NULL: the simulator alone */
    uint32_t launches;
};

/* Tests a row here: members of a JSON object, on one line. */
kiln_status kn_selftest_row(struct kn_ctx *c, const struct kn_row_test *w,
                            struct kn_buf *out);

/* selftest_file.c: the report as it grows, a JSON object a line, each written
 * and flushed by itself. NULL path: nothing is kept. */
struct kn_row_file {
    struct kn_ctx *c;
    const char *path;
    int fd;
    struct kn_rows begun, done; /* of a resumed report: names */
};
kiln_status kn_row_file_open(struct kn_row_file *f, const char *path,
                             bool resume);
kiln_status kn_row_file_put(struct kn_row_file *f, const char *line);
void kn_row_file_close(struct kn_row_file *f);
/* Whether a resumed report's rows of such a list have the name. */
bool kn_rows_have(const struct kn_rows *rows, const char *name);

#endif
