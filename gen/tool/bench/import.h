/* import.h - times that others measured: the kernel trace of rocprofv3
 * (kernel_trace.csv) and what hipblaslt-bench prints. */
#ifndef KN_IMPORT_H
#define KN_IMPORT_H

#include "results.h"

/* A table of times: kiln's own, or
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
