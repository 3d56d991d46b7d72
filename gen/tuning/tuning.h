/* tuning.h - tuned configurations as tables (docs/bench.md): what fits a
 * problem, from the user's files first, then from templates/tuned. A miss is no
 * error, the choice falls back to rules.
 *
 * Columns: arch family layout a b out scale batch n k m config; an empty field
 * fits anything. m is a number, or M_LEQ_16, M_GEQ_4096, any. Of moe, layout
 * is the stage, batch the experts and m the tokens. */
#ifndef KN_TUNING_H
#define KN_TUNING_H

#include "csv.h"
#include "../gen.h"

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

#endif
