/* order.h - a kernel as the proof of its order sees it: what the proof does
 * not tell from nothing, and of that only what it reads. Kernels of one such
 * program are proven and weakened alike (test_order.c holds it so), so that a
 * mutant of one stands for those of all. */
#ifndef ORDER_H
#define ORDER_H

#include "ir/proof/proof.h"

/* Instructions that use no register that may be loading and order nothing are
 * left out, other arithmetic is one operation; of operands there are LDS slots
 * and registers that may be loading, numbered as they come. */
struct order {
    struct kn_fn f;
    struct proof p;          /* of f; f's names and places are the kernel's */
    size_t *from;            /* by instruction: the kernel's */
    const struct proof *kernel;  /* prepared */
};

/* f is at wave level, its fences placed. FINDING: it does not prove. */
kiln_status order_of(const struct kn_fn *f, struct order *o);

/* Of all that is in it, names and line numbers apart. */
uint64_t order_digest(const struct order *o);

/* Of a kernel of any level, all of it but names and places: what the passes
 * and all proofs see. */
uint64_t kernel_digest(const struct kn_fn *f);

/* Digests met, each with a number; all zeros: none. */
struct digests {
    struct digest {
        uint64_t digest;     /* 0: free */
        unsigned number;     /* 0 when it was met first */
    } *at;
    size_t cap;
    unsigned n;
};

/* The place of a digest, until the next call; *met: it was there. */
unsigned *digest_place(struct digests *s, uint64_t digest, bool *met);
void digests_free(struct digests *s);

#endif
