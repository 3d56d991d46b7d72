/* compile.h - a cache miss: the code generator in this process or, with
 * KILN_ISOLATE, in a child of it. */
#ifndef KN_COMPILE_H
#define KN_COMPILE_H

#include "context.h"

struct kn_code;              /* emit/emit.h */

struct kn_compiled {
    const uint8_t *co;
    size_t size;
    const char *name;
    double ms;
    bool own_llvm;           /* the LLVM this library was built with */
};

/* All in c's arena. */
kiln_status kn_compile(struct kn_ctx *c, struct kiln_context *x,
                       const struct kn_request *r, struct kn_compiled *out);

/* The proof once more on bytes that are there (emit/prove/verdict.h); loads
 * libkiln-cg. */
kiln_status kn_replay(struct kn_ctx *c, struct kiln_context *x,
                      const struct kn_code *code);

#endif
