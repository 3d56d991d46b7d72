/* isolate.h - work in a child process, because LLVM ends the process it is in
 * when it meets what kiln's verifier missed, or when memory runs out. */
#ifndef KN_ISOLATE_H
#define KN_ISOLATE_H

#include "../ir/base.h"
#include "bytes.h"

/* Runs in the child, with a context of its own (malloc); what it puts into
 * `out` comes back, and so does the error it records. */
typedef kiln_status kn_isolated_fn(struct kn_ctx *c, void *user,
                                   struct kn_buf *out);

/* Forks; only the calling thread goes on in the child, so `fn` must not need
 * a lock that another thread may hold. The result is in c's arena. INTERNAL
 * with the child's last words if it dies. */
kiln_status kn_isolate(struct kn_ctx *c, kn_isolated_fn *fn, void *user,
                       struct kn_bytes *out);

#endif
