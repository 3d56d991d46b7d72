/* store.c - the kernels a context holds in memory: open addressing by
 * digest, at most half full, never shrinking. */
#include <string.h>

#include "context.h"

static size_t
home_of(const uint8_t *digest, size_t nslots)
{
    uint64_t h;

    memcpy(&h, digest, sizeof h);
    return (size_t)h & (nslots - 1);
}

/* The slot that holds the digest, or the empty one where it belongs. */
static kiln_kernel **
slot_of(kiln_kernel **slot, size_t nslots, const uint8_t *digest)
{
    size_t i = home_of(digest, nslots);

    while (slot[i] && memcmp(slot[i]->digest, digest, KN_DIGEST) != 0)
        i = (i + 1) & (nslots - 1);
    return &slot[i];
}

kiln_kernel *
kn_store_find(struct kiln_context *x, const uint8_t *digest)
{
    return x->nslots ? *slot_of(x->slot, x->nslots, digest) : NULL;
}

static bool
grow(struct kiln_context *x)
{
    size_t n = x->nslots ? 2 * x->nslots : 64;
    kiln_kernel **slot = kn_host_alloc(&x->host, n * sizeof *slot);

    if (!slot)
        return false;
    memset(slot, 0, n * sizeof *slot);
    for (size_t i = 0; i < x->nslots; i++)
        if (x->slot[i])
            *slot_of(slot, n, x->slot[i]->digest) = x->slot[i];
    kn_host_free(&x->host, x->slot, x->nslots * sizeof *slot);
    x->slot = slot;
    x->nslots = n;
    return true;
}

bool
kn_store_add(struct kiln_context *x, kiln_kernel *k)
{
    if (2 * (x->nkernels + 1) > x->nslots && !grow(x))
        return false;
    *slot_of(x->slot, x->nslots, k->digest) = k;
    x->nkernels++;
    kn_kernel_retain(k);
    return true;
}

void
kn_store_free(struct kiln_context *x)
{
    for (size_t i = 0; i < x->nslots; i++)
        kiln_release(x->slot[i]);
    kn_host_free(&x->host, x->slot, x->nslots * sizeof *x->slot);
    x->slot = NULL;
    x->nslots = x->nkernels = 0;
}
