/* annotate.h - says in LLVM IR and assembly which operation of which template
 * line each instruction came from. */
#ifndef KN_ANNOTATE_H
#define KN_ANNOTATE_H

#include "../../../ir/ir.h"

/* Text of kn_emit for `f`, whose debug "lines" count f's operations from 1;
 * the result assembles or parses to the same. */
char *kn_annotate_assembly(struct kn_ctx *c, const char *text,
                           const struct kn_fn *f);
char *kn_annotate_llvm(struct kn_ctx *c, const char *text,
                       const struct kn_fn *f);

#endif
