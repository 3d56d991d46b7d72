/* isolate.h - work in a child process, because LLVM ends the process it is in
 * when it meets what kiln's verifier missed, or when memory runs out. */
#ifndef KN_ISOLATE_H
#define KN_ISOLATE_H

#include "../ir/base.h"

/* Runs in the child, with a context of its own (malloc); what it puts into
 * `out` comes back, and so does the error it records. */
typedef kiln_status kn_isolated_fn(struct kn_ctx *c, void *user,
                                   struct kn_buf *out);

/* What a child may use up before it is ended, and how its end is told. */
struct kn_cage {
    const char *who;         /* "the assembler" */
    kiln_status death;       /* of a child that died */
    uint64_t memory;         /* bytes besides what is mapped already */
    uint64_t written;        /* bytes of its result, and of its words */
    unsigned seconds;        /* of processor time; 0: no limit but `wall` */
    unsigned wall;           /* seconds by the clock; 0: no limit */
};

/* Forks; only the calling thread goes on in the child, so `fn` must not need
 * a lock that another thread may hold. The result is in c's arena. INTERNAL
 * with the child's last words if it dies. */
kiln_status kn_isolate(struct kn_ctx *c, kn_isolated_fn *fn, void *user,
                       struct kn_bytes *out);

/* The same for input that nobody vouches for: the child can open no file and
 * ends at the limits of the cage, which is one sentence. */
kiln_status kn_isolate_in(struct kn_ctx *c, const struct kn_cage *cage,
                          kn_isolated_fn *fn, void *user,
                          struct kn_bytes *out);

#endif
