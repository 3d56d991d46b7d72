/* lld.h - linking by a spawned ld.lld (--linker lld): 12 ms a link, for
 * comparison with the in-process linker. No file is written. */
#ifndef KN_LLD_H
#define KN_LLD_H

#include "../ir/base.h"

/* `program` NULL: ld.lld-22, else LLVM 22's own folder, else ld.lld. */
kiln_status kn_lld_link(struct kn_ctx *c, const char *program,
                        const void *rel, size_t size, uint8_t **out,
                        size_t *out_size);

#endif
