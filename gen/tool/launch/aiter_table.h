/* aiter_table.h - an object in aiter's tables of assembly kernels. */
#ifndef KN_AITER_TABLE_H
#define KN_AITER_TABLE_H

#include "../../gen.h"

/* Of abi=aiter: what it computes, and the file it is in. */
struct kn_aiter_object {
    const kiln_problem *p;
    const struct kn_config *g;
    const char *path;
};

/* Appends its row, in the columns of aiter's own table. */
void kn_aiter_row(struct kn_ctx *c, const struct kn_aiter_object *o,
                  struct kn_buf *out);

/* Puts its row into a table, instead of one of the same kernel, in the table's
 * columns; makes the table if there is none. BAD_INPUT: the loader would not find
 * the table or the object, or it is another table. */
kiln_status kn_aiter_register(struct kn_ctx *c, const struct kn_aiter_object *o,
                              const char *table);

#endif
