/* lld.h - linking by a spawned ld.lld (--linker lld): 12 ms a link, for
 * comparison with the in-process linker. No file is written. */
#ifndef KN_LLD_H
#define KN_LLD_H

#include "../ir/base.h"
#include "bytes.h"

/* `program` NULL: ld.lld-22, else LLVM 22's own folder, else ld.lld. */
kiln_status kn_lld_link(struct kn_ctx *c, const char *program,
                        struct kn_bytes rel, struct kn_bytes *out);

#endif
