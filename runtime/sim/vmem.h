/* vmem.h - lane accesses to device memory, shared by the buffer, flat and
 * scalar instructions. */
#ifndef KN_VMEM_H
#define KN_VMEM_H

#include "core.h"

/* One instruction's accesses. parts[lane] has a bit for each dword (or the
 * one narrower access) that is in range of the descriptor; the others read
 * zero and drop their store. */
struct kn_vmem {
    uint64_t mask;           /* active lanes */
    uint64_t addr[KN_LANES];
    bool partial;            /* parts[] is not all ones */
    uint8_t parts[KN_LANES];
    uint64_t undef[4];       /* lanes whose dword k was never written */
    uint8_t buf[KN_LANES][16];
};

/* memory -> buf; parts out of range become zero. */
void kn_vmem_gather(struct kn_wave *w, const struct kn_inst *i,
                    const struct kn_memop *m, struct kn_vmem *x);
/* buf -> memory. */
void kn_vmem_scatter(struct kn_wave *w, const struct kn_inst *i,
                     const struct kn_memop *m, struct kn_vmem *x);
/* Data registers -> buf, of lanes in x->mask. */
void kn_vmem_collect(const struct kn_wave *w, const struct kn_memop *m,
                     unsigned reg, unsigned nreg, uint8_t (*buf)[16]);
/* What an instruction loaded -> result rows of op (extension, d16), and which
 * lanes of each dword are undefined; kind: KN_F_UNINIT_*. */
struct kn_loaded {
    uint64_t mask;
    uint8_t (*buf)[16];
    const uint64_t *undef;
    uint8_t kind;
};
void kn_vmem_result(struct kn_wave *w, const struct kn_memop *m,
                    const struct kn_loaded *x, struct kn_op *op);
/* Load, store, atomic or copy to LDS at x->addr; op is issued. */
void kn_vmem_execute(struct kn_wave *w, const struct kn_inst *i,
                     struct kn_vmem *x, struct kn_op *op);
/* Does an observed launch access memory whose contents do not matter? */
bool kn_is_blank(const struct kn_wave *w, uint64_t addr);
/* An access that the memory refused. */
struct kn_fault {
    int lane;
    unsigned bytes;
    uint64_t addr;
    enum kn_access why;
};
void kn_vmem_fault(struct kn_wave *w, const struct kn_inst *i,
                   struct kn_fault f);

/* atomic.c: the new value of an atomic; old and data as raw bits. */
uint64_t kn_atomic_result(enum kn_atomic_kind kind, unsigned bytes,
                          uint64_t old, uint64_t data, uint64_t data1);
/* The data operands of a lane, data1 for the compare or second source. */
void kn_atomic_data(const struct kn_wave *w, const struct kn_memop *m,
                    unsigned lane, uint64_t *data, uint64_t *data1);
/* A lane's atomic on the bytes at p, which were `old` before. */
void kn_atomic_lane(const struct kn_wave *w, const struct kn_memop *m,
                    unsigned lane, uint8_t *p, uint8_t old[16]);
/* exec_ds.c: of the lanes in a->mask at a->addr; a->buf: what was there. */
void kn_lds_atomic(struct kn_wave *w, const struct kn_inst *i,
                   struct kn_lds_access *a, struct kn_op *op);
/* Atomics at x->addr of device memory; x->buf: what was there. */
void kn_vmem_atomic(struct kn_wave *w, const struct kn_inst *i,
                    const struct kn_memop *m, struct kn_vmem *x);

#endif
