/* memory.c - allocations. Host memory that kernels may touch has a block of
 * the simulator at the same address, whose bytes are exchanged around each
 * launch. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hip_api.h"
#include "shim.h"

struct block *
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
    const struct block *b = block_of(s, p);

    return b && !b->host;
}

static int
room_for_block(struct shim *s)
{
    size_t cap = s->cap ? 2 * s->cap : 64;
    void *grown;

    if (s->nblocks < s->cap)
        return 0;
    grown = realloc(s->block, cap * sizeof *s->block);
    if (!grown)
        return KN_hipErrorOutOfMemory;
    s->block = grown;
    s->cap = cap;
    return 0;
}

/* Host memory at the block's address. */
static int
map_host(struct block *b)
{
    const size_t most = (size_t)1 << 32; /* all of it goes with each launch */
    void *want = (void *)(uintptr_t)b->addr;
    void *p = b->size > most ? MAP_FAILED
              : mmap(want, b->size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (p == want) {
        b->host = p;
        return 0;
    }
    if (p != MAP_FAILED)
        munmap(p, b->size);
    return KN_hipErrorOutOfMemory;
}

/* host: the caller's memory, of OF_CALLER. */
static int
add_block(struct shim *s, struct block *b)
{
    int e = need_sim(s);

    if (!e)
        e = room_for_block(s);
    if (e)
        return e;
    /* An aligned dword with a byte of the block is the block's. */
    if (s->api->alloc(s->sim, b->size + (-b->size & 3), 0, NULL, NULL,
                      &b->addr))
        return sim_error(s, "hipMalloc", KN_hipErrorOutOfMemory);
    if (b->owner == OF_HOST || b->owner == OF_BOTH)
        e = map_host(b);
    if (e)
        s->api->free(s->sim, b->addr);
    else
        s->block[s->nblocks++] = *b;
    return e;
}

int
know_variable(struct shim *s, const struct block *b)
{
    int e;

    if (block_of(s, (const void *)(uintptr_t)b->addr))
        return 0;
    e = room_for_block(s);
    if (!e)
        s->block[s->nblocks++] = *b;
    return e;
}

int
allocate(struct shim *s, void **p, size_t n, enum owner owner)
{
    struct block b = { .size = n, .owner = owner };
    int e;

    *p = NULL;
    if (!n)
        return 0;
    e = add_block(s, &b);
    if (!e)
        *p = (void *)(uintptr_t)b.addr;
    return e;
}

static int
drop_block(struct shim *s, struct block *b)
{
    int e = 0;

    if (s->api->free(s->sim, b->addr))
        e = sim_error(s, "hipFree", KN_hipErrorInvalidValue);
    if (b->host && b->owner != OF_CALLER)
        munmap(b->host, b->size);
    *b = s->block[--s->nblocks];
    return e;
}

static int
free_block(struct shim *s, void *p)
{
    struct block *b = p ? block_of(s, p) : NULL;

    if (!p)
        return 0;
    if (!b || b->addr != (uintptr_t)p || b->owner == OF_CALLER ||
        b->owner == OF_CODE)
        return KN_hipErrorInvalidValue;
    return drop_block(s, b);
}

int
share_host(struct shim *s, bool to_device)
{
    for (size_t i = 0; i < s->nblocks; i++) {
        const struct block *b = &s->block[i];
        kiln_status st;

        if (!b->host)
            continue;
        st = to_device ? s->api->write(s->sim, b->addr, b->host, b->size)
                       : s->api->read(s->sim, b->addr, b->host, b->size);
        if (st)
            return sim_error(s, "host memory", KN_hipErrorLaunchFailure);
    }
    return 0;
}

/* ---- HIP ----------------------------------------------------------------- */

static int
allocate_call(enum hip_call f, void **p, size_t n, enum owner owner)
{
    int e = enter_for(f, p);

    return leave(e ? e : allocate(shim_state(), p, n, owner));
}

static int
free_call(enum hip_call f, void *p)
{
    int e = enter(f);

    return leave(e ? e : free_block(shim_state(), p));
}

int
hipMalloc(void **p, size_t n)
{
    return allocate_call(FN_hipMalloc, p, n, OF_DEVICE);
}

int
hipExtMallocWithFlags(void **p, size_t n, unsigned flags)
{
    (void)flags;
    return allocate_call(FN_hipExtMallocWithFlags, p, n, OF_DEVICE);
}

int
hipMallocAsync(void **p, size_t n, void *stream)
{
    (void)stream;
    return allocate_call(FN_hipMallocAsync, p, n, OF_DEVICE);
}

int
hipMallocManaged(void **p, size_t n, unsigned flags)
{
    if (flags > 4)
        p = NULL;
    return allocate_call(FN_hipMallocManaged, p, n, OF_BOTH);
}

int
hipHostMalloc(void **p, size_t n, unsigned flags)
{
    (void)flags;
    return allocate_call(FN_hipHostMalloc, p, n ? n : 1, OF_HOST);
}

int
hipHostAlloc(void **p, size_t n, unsigned flags)
{
    (void)flags;
    return allocate_call(FN_hipHostAlloc, p, n ? n : 1, OF_HOST);
}

int
hipMallocHost(void **p, size_t n)
{
    return allocate_call(FN_hipMallocHost, p, n ? n : 1, OF_HOST);
}

int
hipMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
    int e = enter_for(FN_hipMallocPitch, pitch ? p : NULL);
    size_t row = (width + 255) & ~(size_t)255, n;

    if (!e && (row < width || __builtin_mul_overflow(row, height, &n)))
        e = KN_hipErrorInvalidValue;
    if (!e)
        e = allocate(shim_state(), p, n, OF_DEVICE);
    if (!e)
        *pitch = row;
    return leave(e);
}

int
hipFree(void *p)
{
    return free_call(FN_hipFree, p);
}

int
hipFreeAsync(void *p, void *stream)
{
    (void)stream;
    return free_call(FN_hipFreeAsync, p);
}

int
hipHostFree(void *p)
{
    return free_call(FN_hipHostFree, p);
}

int
hipFreeHost(void *p)
{
    return free_call(FN_hipFreeHost, p);
}

/* ---- the caller's memory -------------------------------------------------- */

/* The registered block with this byte, by its host address. */
static struct block *
registered(const struct shim *s, const void *p)
{
    for (size_t i = 0; i < s->nblocks; i++) {
        const struct block *b = &s->block[i];

        if (b->host && (uintptr_t)p - (uintptr_t)b->host < b->size)
            return &s->block[i];
    }
    return NULL;
}

int
hipHostRegister(void *p, size_t n, unsigned flags)
{
    int e = enter_for(FN_hipHostRegister, n ? p : NULL);
    struct block b = { .size = n, .owner = OF_CALLER, .host = p };

    (void)flags;
    if (!e && registered(shim_state(), p))
        e = KN_hipErrorHostMemoryAlreadyRegistered;
    return leave(e ? e : add_block(shim_state(), &b));
}

int
hipHostUnregister(void *p)
{
    int e = enter_for(FN_hipHostUnregister, p);
    struct block *b = e ? NULL : registered(shim_state(), p);

    if (!e && (!b || b->owner != OF_CALLER || b->host != p))
        e = KN_hipErrorHostMemoryNotRegistered;
    return leave(e ? e : drop_block(shim_state(), b));
}

int
hipHostGetDevicePointer(void **out, void *p, unsigned flags)
{
    int e = enter_for(FN_hipHostGetDevicePointer, out);
    const struct block *b = e ? NULL : registered(shim_state(), p);

    (void)flags;
    if (!e && !b)
        e = KN_hipErrorInvalidValue;
    if (!e)
        *out = (void *)(uintptr_t)(b->addr +
                                   ((uintptr_t)p - (uintptr_t)b->host));
    return leave(e);
}

int
hipHostGetFlags(unsigned *flags, void *p)
{
    int e = enter_for(FN_hipHostGetFlags, flags);

    if (!e && !registered(shim_state(), p))
        e = KN_hipErrorInvalidValue;
    if (!e)
        *flags = 0;
    return leave(e);
}

/* ---- what is known of an address ------------------------------------------ */

int
hipPointerGetAttributes(void *out, const void *p)
{
    /* hipPointerAttribute_t of ROCm 5; 6 has the type in the same place. */
    struct {
        int type, device;
        void *on_device, *on_host;
        int managed;
        unsigned flags;
    } a = { 0 };
    int e = enter_for(FN_hipPointerGetAttributes, out);
    const struct block *b = e ? NULL : block_of(shim_state(), p);

    if (!e && !b)
        b = registered(shim_state(), p);
    if (!e && !b)
        e = KN_hipErrorInvalidValue;
    if (!e) {
        a.type = b->owner == OF_DEVICE;
        a.on_device = (void *)(uintptr_t)b->addr;
        a.on_host = b->host;
        a.managed = b->owner == OF_BOTH;
        memcpy(out, &a, sizeof a);
    }
    return leave(e);
}

int
hipMemGetAddressRange(void **base, size_t *n, void *p)
{
    int e = enter_for(FN_hipMemGetAddressRange, base && n ? base : NULL);
    const struct block *b = e ? NULL : block_of(shim_state(), p);

    if (!e && !b)
        e = KN_hipErrorNotFound;
    if (!e) {
        *base = (void *)(uintptr_t)b->addr;
        *n = b->size;
    }
    return leave(e);
}

int
hipMemPrefetchAsync(const void *p, size_t n, int device, void *stream)
{
    (void)n;
    (void)device;
    (void)stream;
    return leave(enter_for(FN_hipMemPrefetchAsync, p));
}

int
hipMemAdvise(const void *p, size_t n, int advice, int device)
{
    (void)n;
    (void)advice;
    (void)device;
    return leave(enter_for(FN_hipMemAdvise, p));
}
