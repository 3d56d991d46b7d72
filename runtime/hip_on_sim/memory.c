/* memory.c - allocations and copies. */
#include <stdlib.h>
#include <string.h>

#include "hip_api.h"
#include "shim.h"

static struct block *
block_of(const struct shim *s, const void *p)
{
    uint64_t a = (uintptr_t)p;

    for (size_t i = 0; i < s->nblocks; i++)
        if (a >= s->block[i].addr && a - s->block[i].addr < s->block[i].size)
            return &s->block[i];
    return NULL;
}

bool
on_device(const struct shim *s, const void *p)
{
    return block_of(s, p) != NULL;
}

static int
allocate(struct shim *s, void **p, size_t n)
{
    uint64_t at;
    int e = need_sim(s);

    if (e)
        return e;
    if (s->nblocks == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        void *grown = realloc(s->block, cap * sizeof *s->block);

        if (!grown)
            return KN_hipErrorOutOfMemory;
        s->block = grown;
        s->cap = cap;
    }
    if (s->api->alloc(s->sim, n, 0, NULL, NULL, &at))
        return sim_error(s, "hipMalloc", KN_hipErrorOutOfMemory);
    s->block[s->nblocks++] = (struct block){ at, n };
    *p = (void *)(uintptr_t)at;
    return 0;
}

int
hipMalloc(void **p, size_t n)
{
    int e = enter_for(FN_hipMalloc, p);

    if (!e)
        *p = NULL;
    return leave(e || !n ? e : allocate(shim_state(), p, n));
}

int
hipFree(void *p)
{
    int e = enter(FN_hipFree);
    struct shim *s = shim_state();
    struct block *b = e || !p ? NULL : block_of(s, p);

    if (!e && p && (!b || b->addr != (uintptr_t)p))
        e = KN_hipErrorInvalidValue;
    if (!e && b) {
        if (s->api->free(s->sim, b->addr))
            e = sim_error(s, "hipFree", KN_hipErrorInvalidValue);
        *b = s->block[--s->nblocks];
    }
    return leave(e);
}

int
hipHostMalloc(void **p, size_t n, unsigned flags)
{
    int e = enter_for(FN_hipHostMalloc, p);

    (void)flags;
    if (!e) {
        *p = malloc(n ? n : 1);
        e = *p ? 0 : KN_hipErrorOutOfMemory;
    }
    return leave(e);
}

int
hipHostFree(void *p)
{
    int e = enter(FN_hipHostFree);

    if (!e)
        free(p);
    return leave(e);
}

static int
copy_on_device(struct shim *s, uint64_t dst, uint64_t src, size_t n)
{
    uint8_t *p = malloc(n);
    kiln_status st;

    if (!p)
        return KN_hipErrorOutOfMemory;
    st = s->api->read(s->sim, src, p, n);
    if (!st)
        st = s->api->write(s->sim, dst, p, n);
    free(p);
    return st ? sim_error(s, "hipMemcpy", KN_hipErrorInvalidValue) : 0;
}

/* By the addresses, as hipMemcpyDefault: the direction a program names must
 * agree with them anyway. */
int
copy_memory(struct shim *s, void *dst, const void *src, size_t n)
{
    bool to = on_device(s, dst), from = on_device(s, src);
    kiln_status st;

    if (!n)
        return 0;
    if (!dst || !src)
        return KN_hipErrorInvalidValue;
    if (!to && !from) {
        memmove(dst, src, n);
        return 0;
    }
    if (to && from)
        return copy_on_device(s, (uintptr_t)dst, (uintptr_t)src, n);
    st = to ? s->api->write(s->sim, (uintptr_t)dst, src, n)
            : s->api->read(s->sim, (uintptr_t)src, dst, n);
    return st ? sim_error(s, "hipMemcpy", KN_hipErrorInvalidValue) : 0;
}

int
set_memory(struct shim *s, void *dst, int byte, size_t n)
{
    uint8_t piece[4096];
    uint64_t at = (uintptr_t)dst;

    memset(piece, byte, sizeof piece);
    if (!on_device(s, dst))
        return n ? KN_hipErrorInvalidValue : 0;
    while (n) {
        size_t k = n < sizeof piece ? n : sizeof piece;

        if (s->api->write(s->sim, at, piece, k))
            return sim_error(s, "hipMemset", KN_hipErrorInvalidValue);
        at += k;
        n -= k;
    }
    return 0;
}

/* Host to device is 1, device to host 2, within it 3; 0 and 4 are any. */
static int
check_kind(const struct shim *s, const void *dst, const void *src, int kind)
{
    bool to = on_device(s, dst), from = on_device(s, src);

    if (kind < 0 || kind > 4 || !dst || !src)
        return KN_hipErrorInvalidValue;
    if ((kind == 1 && !(to && !from)) || (kind == 2 && !(!to && from)) ||
        (kind == 3 && !(to && from)))
        return KN_hipErrorInvalidValue;
    return 0;
}

int
hipMemcpy(void *dst, const void *src, size_t n, int kind)
{
    int e = enter(FN_hipMemcpy);

    if (!e && n)
        e = check_kind(shim_state(), dst, src, kind);
    return leave(e ? e : copy_memory(shim_state(), dst, src, n));
}

int
hipMemcpyHtoD(void *dst, void *src, size_t n)
{
    int e = enter(FN_hipMemcpyHtoD);

    return leave(e ? e : copy_memory(shim_state(), dst, src, n));
}

int
hipMemcpyDtoH(void *dst, void *src, size_t n)
{
    int e = enter(FN_hipMemcpyDtoH);

    return leave(e ? e : copy_memory(shim_state(), dst, src, n));
}

int
hipMemcpyDtoD(void *dst, void *src, size_t n)
{
    int e = enter(FN_hipMemcpyDtoD);

    return leave(e ? e : copy_memory(shim_state(), dst, src, n));
}

int
hipMemcpyAsync(void *dst, const void *src, size_t n, int kind, void *stream)
{
    int e = enter(FN_hipMemcpyAsync);
    struct stream *q = stream;
    struct node node = { .kind = NODE_COPY, .dst = dst, .src = src, .n = n,
                         .value = kind };

    if (!e && n)
        e = check_kind(shim_state(), dst, src, kind);
    if (!e)
        e = q && q->capturing ? record_node(q, &node)
                              : copy_memory(shim_state(), dst, src, n);
    return leave(e);
}

int
hipMemset(void *dst, int byte, size_t n)
{
    int e = enter(FN_hipMemset);

    return leave(e ? e : set_memory(shim_state(), dst, byte, n));
}

int
hipMemsetAsync(void *dst, int byte, size_t n, void *stream)
{
    int e = enter(FN_hipMemsetAsync);
    struct stream *q = stream;
    struct node node = { .kind = NODE_SET, .dst = dst, .n = n, .value = byte };

    if (!e)
        e = q && q->capturing ? record_node(q, &node)
                              : set_memory(shim_state(), dst, byte, n);
    return leave(e);
}
