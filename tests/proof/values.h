/* values.h - what a wave-level kernel stores, as an expression of what is in
 * memory: a mutant that reads another LDS slot than the kernel did stores
 * another expression, or it is no mutant.
 *
 * The kernel is walked with an expression in each register and each part of an
 * LDS slot: an operation of its operands, a load of its address, a read of the
 * youngest writes that fill its bytes. Each is a number, drawn by a hash but
 * for sums and products, so that two are one by accident only. Loops turn a
 * few times and branches go as the way says, alike in kernel and mutant. */
#ifndef VALUES_H
#define VALUES_H

#include "ir/proof/proof.h"

enum { VALUE_WAYS = 4 };

struct values {
    const struct proof *p;   /* of the kernel, prepared */
    uint64_t *does;          /* by instruction: operation and attributes */
    uint64_t stores[VALUE_WAYS];  /* digest of all addresses and values */
};

void values_of(const struct proof *p, struct values *v);

/* Whether `ins`, the kernel's instructions with other slots, store something
 * else on one of the ways at least. */
bool stores_otherwise(const struct values *v, const struct kn_ins *ins);

#endif
