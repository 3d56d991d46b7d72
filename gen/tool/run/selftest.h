/* selftest.h - rows of `kilnc selftest`: which there are, what one does, and
 * the file that keeps what became of each. */
#ifndef KN_SELFTEST_H
#define KN_SELFTEST_H

#include <jansson.h>

#include "session.h"

/* Parts of the set, in their order; X(id, text, minutes to plan for it on a
 * GPU): instructions (probe.h); the arithmetic of matrix instructions; a class
 * of configurations the chooser answers with; launches as large as users have
 * them. */
#define KN_ROW_PARTS(X) \
    X(PROBE, "probes", 3) X(TYPES, "arithmetic", 5) X(CLASS, "classes", 30) \
    X(GRID, "large launches", 15)

enum kn_row_kind {
#define X(id, text, minutes) KN_ROW_##id,
    KN_ROW_PARTS(X)
#undef X
    KN_NPARTS
};

struct kn_row {
    kiln_target target;
    enum kn_row_kind kind;
    const char *command;     /* words of `kilnc run`, or the probe */
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
    bool warm;               /* timed launches repeat on the same buffers */
};

/* Tests a row here: members of a JSON object, on one line. */
kiln_status kn_selftest_row(struct kn_ctx *c, const struct kn_row_test *w,
                            struct kn_buf *out);

/* selftest_probe.c: the same for a probe, and such a line for people. */
kiln_status kn_selftest_probe(struct kn_ctx *c, const struct kn_row_test *w,
                              struct kn_buf *out);
void kn_selftest_probe_text(json_t *line, struct kn_buf *b);

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
