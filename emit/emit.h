/* emit.h - wave-level tile IR to an AMDGPU object, through the LLVM C API.
 * The only folder that includes llvm-c/. */
#ifndef KN_EMIT_H
#define KN_EMIT_H

#include "../ir/ir.h"

struct kn_emitted {
    uint8_t *rel;            /* ET_REL bytes, in the arena */
    size_t rel_size;
    const char *llvm;        /* module text after optimisation, if asked */
    const char *assembly;    /* if asked */
};

enum { KN_EMIT_LLVM = 1, KN_EMIT_ASM = 2 };

/* Requires: verified wave-level kernel. The same kernel gives the same bytes.
 * INTERNAL with LLVM's own sentence if it objects to what we built. */
kiln_status kn_emit(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
                    struct kn_emitted *out);

/* The same by the second lowering (asm.h): registers, waits and wait states of
 * our own, LLVM only assembles. UNSUPPORTED for what it does not do, and for a
 * kernel that needs more registers than there are. */
kiln_status kn_emit_asm(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
                        struct kn_emitted *out);

/* A code object and its certificate, if it has one. */
struct kn_code {
    const char *name;        /* of the file, for sentences */
    const uint8_t *co;
    size_t size;
    const char *cert;
    size_t cert_size;
};

/* Holds every kernel of a code object to a whole verdict (prove/verdict.h):
 * FINDING with the first reason why it is not clean, LDS order and advice
 * included. cert: NULL or empty: the bytes alone. */
kiln_status kn_verdict_replay(struct kn_ctx *c, const struct kn_code *code);

/* LLVM's version as "22.1.8", part of the kernel key. */
void kn_llvm_version(char *buf, size_t n);

#endif
