/* results.h - the table `bench` writes: what names a problem, its time, then
 * information whose columns begin with '_'. A file that exists is continued;
 * it is rewritten whole, so that it is never torn. */
#ifndef KN_RESULTS_H
#define KN_RESULTS_H

#include "bench.h"

/* X(id, column): everything after the key. */
#define KN_RESULTS(X) \
    X(us, "us") \
    X(kind, "_kind") \
    X(runs, "_runs") \
    X(tflops, "_tflops") \
    X(error_pct, "_error_pct") \
    X(bound, "_bound") \
    X(mfma, "_mfma_efficiency") \
    X(predicted, "_predicted_us") \
    X(low, "_low_us") \
    X(high, "_high_us") \
    X(type, "_type") \
    X(clock, "_clock_ghz") \
    X(config, "_config") \
    X(kernel, "_kernel") \
    X(regs, "_regs") \
    X(lds, "_lds") \
    X(code, "_code") \
    X(device, "_device") \
    X(check, "_check") \
    X(status, "_status") \
    X(row, "_row")

enum kn_result_column {
#define X(id, column) KN_R_##id,
    KN_RESULTS(X)
#undef X
    KN_NRESULTS
};

struct kn_result_row {
    const char **cell;       /* key, then enum kn_result_column */
    size_t order;            /* place in the file: its row of the list */
};

struct kn_results {
    struct kn_ctx *c;
    const char *path;        /* NULL: no file */
    size_t nkey, ncols;
    const char **head;
    int flag[KN_NFLAGS];     /* of key column i + 2, after family and arch */
    struct kn_result_row *row;
    size_t n, cap;
    double written;          /* seconds, when */
};

/* Columns for the list, and the rows of the file if it exists: BAD_INPUT if
 * those have other columns. */
kiln_status kn_results_open(struct kn_tool *t, const struct kn_worklist *list,
                            const char *path, struct kn_results *out);

/* The key of a problem: types and layout as normalised, the rest as given.
 * In the arena of `c`. */
const char **kn_results_key(const struct kn_results *r, struct kn_ctx *c,
                            const struct kn_work *w);

/* The row of a key, NULL if there is none. */
struct kn_result_row *kn_results_find(const struct kn_results *r,
                                      const char *const *key);

/* Adds or replaces a row; copies the texts. */
void kn_results_set(struct kn_results *r, size_t order,
                    const char *const *key, const char *const *field);

/* Writes the file, at most once a second unless `now`. */
kiln_status kn_results_save(struct kn_results *r, bool now);

/* The table as CSV, in the order of the list. */
void kn_results_put(struct kn_results *r, struct kn_buf *b);

/* import.c - times that others measured: the kernel trace of rocprofv3
 * (kernel_trace.csv) and what hipblaslt-bench prints. */

/* A table of times: kiln's own, or
 *   of JSON              the rows of `bench --json` (kn_json_table)
 *   of hipblaslt-bench   a row a problem, in the columns of a list, and us
 *   of rocprofv3         a row a kernel, grid (in workgroups) and block, and us,
 *                        the median of its launches
 * BAD_INPUT with file and line. */
kiln_status kn_table_read(struct kn_ctx *c, const char *path,
                          struct kn_csv *out);
/* Whether a table is rocprofv3's as it wrote it. */
bool kn_trace_is(const struct kn_csv *t);

/* What a row of a list is known by in such a table. */
struct kn_imported {
    const struct kn_results *table;
    const char *const *key;
    const char *kernel;      /* of a trace: its name and launch */
    uint64_t workgroups;
};

/* The table's row of it. BAD_INPUT: there is none, or there are several. */
kiln_status kn_import_row(struct kn_ctx *c, const struct kn_csv *t,
                          const struct kn_imported *of, size_t *at);

#endif
