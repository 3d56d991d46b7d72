/* memory.c - device memory of the simulator: allocations, pages backed on
 * first touch, and which bytes hold a value. Worker threads share the pages;
 * they are published once with compare-and-swap and live until the allocation
 * is freed. The host allocator must therefore be callable from any thread. */
#include <stdlib.h>

#include "core.h"

/* The first address; the gap between allocations makes an access a few
 * megabytes out of bounds land nowhere. Freed addresses are never reused. */
#define FIRST_ADDRESS 0x100000000000u
#define GUARD ((uint64_t)2 << 20)
#define ADDRESS_LIMIT ((uint64_t)1 << 47)

static void *
host_alloc(struct kn_sim *s, size_t n)
{
    return s->c->realloc(s->c->user, NULL, 0, n);
}

static void
host_free(struct kn_sim *s, void *p, size_t n)
{
    if (p)
        s->c->realloc(s->c->user, p, n, 0);
}

/* ---- allocations -------------------------------------------------------- */

/* Index of the first block that starts above addr. */
static size_t
upper_block(const struct kn_sim *s, uint64_t addr)
{
    size_t lo = 0, hi = s->nblocks;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->block[mid]->addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct kn_region *
kn_block_at(const struct kn_sim *s, uint64_t addr)
{
    size_t i = upper_block(s, addr);

    if (!i || addr - s->block[i - 1]->addr >= s->block[i - 1]->size)
        return NULL;
    return s->block[i - 1];
}

const struct kn_region *
kn_block_near(const struct kn_sim *s, uint64_t addr)
{
    size_t i = upper_block(s, addr);
    const struct kn_region *below = i ? s->block[i - 1] : NULL;
    const struct kn_region *above = i < s->nblocks ? s->block[i] : NULL;

    if (!below || !above)
        return below ? below : above;
    return addr - (below->addr + below->size) <= above->addr - addr ? below
                                                                   : above;
}

kiln_status
kn_sim_open(struct kn_ctx *c, kiln_target target, struct kn_sim **out)
{
    KN_ENTER(c);
    if (!kn_is_target(target))
        return kn_fail(c, KILN_UNSUPPORTED, "the simulator has no target %s",
                       kiln_target_name(target));
    *out = KN_NEW(c, struct kn_sim, 1);
    (*out)->c = c;
    (*out)->target = target;
    (*out)->next = FIRST_ADDRESS;
    return KILN_OK;
}

static bool
add_block(struct kn_sim *s, struct kn_region *b)
{
    if (s->nblocks == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        void *p = s->c->realloc(s->c->user, s->block, s->cap * sizeof b,
                                cap * sizeof b);
        if (!p)
            return false;
        s->block = p;
        s->cap = cap;
    }
    s->block[s->nblocks++] = b;  /* addresses only grow */
    return true;
}

static kiln_status
no_memory(struct kn_sim *s, uint64_t size)
{
    return kn_fail(s->c, KILN_NO_MEMORY,
                   "no host memory for the page table of %llu device bytes",
                   (unsigned long long)size);
}

kiln_status
kn_block_add(struct kn_sim *s, uint64_t size, unsigned flags, kn_fill_fn fill,
             void *user, uint64_t *addr)
{
    uint64_t nleaves = (size + KN_LEAF_BYTES - 1) / KN_LEAF_BYTES;
    struct kn_region *b;

    if (!size)
        return kn_fail(s->c, KILN_BAD_INPUT,
                       "a device allocation of zero bytes");
    if (size > ADDRESS_LIMIT - s->next - 2 * GUARD)
        return kn_fail(s->c, KILN_BAD_INPUT,
                       "a device allocation of %llu bytes exceeds the 47-bit "
                       "address space", (unsigned long long)size);
    b = host_alloc(s, sizeof *b);
    if (!b)
        return no_memory(s, size);
    /* calloc, not the host allocator: a sparse table must stay untouched. */
    *b = (struct kn_region){ s->next, size, flags, fill, user, nleaves,
                            calloc(nleaves, sizeof *b->leaf) };
    if (!b->leaf || !add_block(s, b)) {
        free(b->leaf);
        host_free(s, b, sizeof *b);
        return no_memory(s, size);
    }
    *addr = b->addr;
    s->next = (b->addr + size + 2 * GUARD) & ~(GUARD - 1);
    return KILN_OK;
}

kiln_status
kn_sim_alloc(struct kn_sim *s, uint64_t size, unsigned flags, kn_fill_fn fill,
             void *user, uint64_t *addr)
{
    return kn_block_add(s, size, flags, fill, user, addr);
}

static void
free_page(struct kn_sim *s, struct kn_page *p)
{
    if (!p)
        return;
    host_free(s, p->map, KN_PAGE_SIZE);
    free(p);
}

static void
free_block(struct kn_sim *s, struct kn_region *b)
{
    for (size_t i = 0; i < b->nleaves; i++) {
        struct kn_leaf *leaf = atomic_load(&b->leaf[i]);

        for (size_t k = 0; leaf && k < KN_LEAF; k++)
            free_page(s, atomic_load(&leaf->page[k]));
        free(leaf);
    }
    free(b->leaf);
    host_free(s, b, sizeof *b);
}

kiln_status
kn_sim_free(struct kn_sim *s, uint64_t addr)
{
    size_t i = upper_block(s, addr);

    if (!i || s->block[i - 1]->addr != addr)
        return kn_fail(s->c, KILN_BAD_INPUT,
                       "0x%llx is not the address of an allocation",
                       (unsigned long long)addr);
    free_block(s, s->block[i - 1]);
    memmove(&s->block[i - 1], &s->block[i],
            (s->nblocks - i) * sizeof *s->block);
    s->nblocks--;
    return KILN_OK;
}

uint64_t
kn_sim_size(const struct kn_sim *s)
{
    uint64_t size = 0;

    for (size_t i = 0; i < s->nblocks; i++)
        size += s->block[i]->size;
    return size;
}

void
kn_sim_close(struct kn_sim *s)
{
    for (size_t i = 0; i < s->nblocks; i++)
        free_block(s, s->block[i]);
    host_free(s, s->block, s->cap * sizeof *s->block);
    kn_store_free_idle(s);
    s->block = NULL;
    s->nblocks = s->cap = 0;
}

/* ---- pages -------------------------------------------------------------- */

static void
fill_poison(uint8_t *p)
{
    static const uint32_t poison = KN_POISON;

    for (size_t i = 0; i < KN_PAGE_SIZE; i += sizeof poison)
        memcpy(p + i, &poison, sizeof poison);
}

/* The initial contents of page i of b. An OUTPUT block counts kernel stores
 * even if a fill defines its bytes. */
static struct kn_page *
make_page(struct kn_sim *s, struct kn_region *b, size_t i)
{
    uint64_t offset = (uint64_t)i << KN_PAGE_SHIFT;
    uint64_t left = b->size - offset;
    struct kn_page *p = aligned_alloc(64, sizeof *p);

    if (!p)
        return NULL;
    p->base = b->addr + offset;
    p->lo = 0;
    p->hi = left < KN_PAGE_SIZE ? (uint32_t)left : KN_PAGE_SIZE;
    p->readonly = b->flags & KN_MEM_READONLY;
    p->counted = b->flags & KN_MEM_OUTPUT;
    p->map = NULL;
    if (!b->fill || b->flags & KN_MEM_OUTPUT) {
        p->map = host_alloc(s, KN_PAGE_SIZE);
        if (!p->map) {
            free(p);
            return NULL;
        }
        memset(p->map, b->fill ? KN_MAP_INIT : 0, KN_PAGE_SIZE);
    }
    if (b->fill)
        b->fill(b->user, offset, p->data, p->hi);
    else
        fill_poison(p->data);
    return p;
}

static struct kn_leaf *
block_leaf(struct kn_region *b, size_t i)
{
    struct kn_leaf *leaf = atomic_load_explicit(&b->leaf[i],
                                                memory_order_acquire);
    struct kn_leaf *none = NULL;

    if (leaf)
        return leaf;
    leaf = calloc(1, sizeof *leaf);
    if (leaf && !atomic_compare_exchange_strong(&b->leaf[i], &none, leaf)) {
        free(leaf);          /* another thread was first */
        leaf = none;
    }
    return leaf;
}

struct kn_page *
kn_page_known(struct kn_region *b, size_t i)
{
    struct kn_leaf *leaf = atomic_load_explicit(&b->leaf[i / KN_LEAF],
                                                memory_order_acquire);

    return leaf ? atomic_load_explicit(&leaf->page[i % KN_LEAF],
                                       memory_order_acquire) : NULL;
}

static struct kn_page *
block_page(struct kn_sim *s, struct kn_region *b, size_t i)
{
    struct kn_page *p = kn_page_known(b, i), *none = NULL;
    struct kn_leaf *leaf;

    if (p)
        return p;
    leaf = block_leaf(b, i / KN_LEAF);
    p = leaf ? make_page(s, b, i) : NULL;
    if (!p)
        return NULL;
    if (!atomic_compare_exchange_strong(&leaf->page[i % KN_LEAF], &none, p)) {
        free_page(s, p);
        p = none;
    }
    return p;
}

struct kn_page *
kn_page_fault(struct kn_worker *k, uint64_t addr)
{
    uint64_t number = addr >> KN_PAGE_SHIFT;
    struct kn_sim *s = k->run->sim;
    struct kn_region *b = kn_block_at(s, addr);
    struct kn_page *p;

    if (!b)
        return NULL;
    p = block_page(s, b, (size_t)((addr - b->addr) >> KN_PAGE_SHIFT));
    if (!p) {
        k->out_of_memory = true;
        return NULL;
    }
    k->tlb[number % KN_TLB].number = number;
    k->tlb[number % KN_TLB].page = p;
    return p;
}

/* ---- accesses of a kernel ----------------------------------------------- */

static bool
nothing_written(const struct kn_page *p, uint32_t off, unsigned n)
{
    uint8_t any = 0;

    for (unsigned k = 0; k < n; k++)
        any |= p->map[off + k];
    return !any;
}

enum kn_access
kn_mem_load(struct kn_worker *k, uint64_t addr, void *dst, unsigned n,
            bool *undef)
{
    struct kn_page *p = kn_page_of(k, addr);
    uint32_t off;
    unsigned head;
    bool tail = true;

    if (!p)
        return KN_A_UNMAPPED;
    off = (uint32_t)(addr - p->base);
    if (off + n <= p->hi) {
        memcpy(dst, p->data + off, n);
        *undef = p->map && nothing_written(p, off, n);
        return KN_A_OK;
    }
    head = p->hi - off;
    if (off >= p->hi || p->hi != KN_PAGE_SIZE)
        return KN_A_UNMAPPED;
    if (kn_mem_load(k, addr + head, (uint8_t *)dst + head, n - head, &tail))
        return KN_A_UNMAPPED;
    memcpy(dst, p->data + off, head);
    *undef = tail && p->map && nothing_written(p, off, head);
    return KN_A_OK;
}

/* A page may hold code beside variables. */
static bool
is_code(const struct kn_worker *k, uint64_t addr, unsigned n)
{
    return addr < k->run->code_hi && addr + n > k->run->code_lo;
}

enum kn_access
kn_mem_store(struct kn_worker *k, uint64_t addr, const void *src, unsigned n)
{
    struct kn_page *p = kn_page_of(k, addr);
    enum kn_access a;
    uint32_t off;
    unsigned head;

    if (!p)
        return KN_A_UNMAPPED;
    if (p->readonly || is_code(k, addr, n))
        return KN_A_READONLY;
    off = (uint32_t)(addr - p->base);
    if (off + n <= p->hi) {
        memcpy(p->data + off, src, n);
        if (p->map)
            memset(p->map + off, KN_MAP_INIT | KN_MAP_KERNEL, n);
        return KN_A_OK;
    }
    head = p->hi - off;
    if (off >= p->hi || p->hi != KN_PAGE_SIZE)
        return KN_A_UNMAPPED;
    a = kn_mem_store(k, addr + head, (const uint8_t *)src + head, n - head);
    return a ? a : kn_mem_store(k, addr, src, head);
}

enum kn_access
kn_mem_atomic(struct kn_worker *k, uint64_t addr, unsigned n, void **out,
              bool *undef)
{
    struct kn_page *p = kn_page_of(k, addr);
    uint32_t off;

    if (!p || !kn_page_holds(p, addr, n))
        return KN_A_UNMAPPED;
    if (p->readonly || is_code(k, addr, n))
        return KN_A_READONLY;
    off = (uint32_t)(addr - p->base);
    *undef = p->map && nothing_written(p, off, n);
    if (p->map)
        memset(p->map + off, KN_MAP_INIT | KN_MAP_KERNEL, n);
    *out = p->data + off;
    return KN_A_OK;
}

/* ---- accesses of the host ----------------------------------------------- */

/* Finds the block and checks that [addr, addr + n) is inside it. */
static kiln_status
host_range(struct kn_sim *s, uint64_t addr, size_t n, struct kn_region **b)
{
    *b = kn_block_at(s, addr);
    if (!*b || n > (*b)->size - (addr - (*b)->addr))
        return kn_fail(s->c, KILN_BAD_INPUT,
                       "%zu bytes at 0x%llx are not inside an allocation", n,
                       (unsigned long long)addr);
    return KILN_OK;
}

struct host_bytes {
    uint8_t *p;
    size_t n;
    bool write;              /* from the host */
};

static void
visit_page(struct kn_sim *s, struct kn_page *p, size_t off,
           struct host_bytes h)
{
    if (!h.write) {
        memcpy(h.p, p->data + off, h.n);
        return;
    }
    memcpy(p->data + off, h.p, h.n);
    if (h.n == p->hi && p->map && !p->counted) {
        host_free(s, p->map, KN_PAGE_SIZE);
        p->map = NULL;       /* every byte has a value now */
    }
    for (size_t k = 0; p->map && k < h.n; k++)
        p->map[off + k] |= KN_MAP_INIT;
}

/* What a page holds that nobody has touched and no fill defines: reading it
 * makes none. */
static void
read_poison(size_t off, struct host_bytes h)
{
    static const uint32_t poison = KN_POISON;

    for (size_t k = 0; k < h.n; k++)
        h.p[k] = ((const uint8_t *)&poison)[(off + k) % sizeof poison];
}

/* The part of h in page `number` of b, from `off` in it. */
static bool
visit_part(struct kn_sim *s, struct kn_region *b, size_t number, size_t off,
           struct host_bytes h)
{
    struct kn_page *p = kn_page_known(b, number);

    if (!p && !h.write && !b->fill) {
        read_poison(off, h);
        return true;
    }
    if (!p)
        p = block_page(s, b, number);
    if (p)
        visit_page(s, p, off, h);
    return p;
}

static kiln_status
visit_range(struct kn_sim *s, uint64_t addr, struct host_bytes h)
{
    struct kn_region *b;

    KN_TRY(host_range(s, addr, h.n, &b));
    while (h.n) {
        uint64_t at = addr - b->addr;
        size_t off = at % KN_PAGE_SIZE;
        size_t part = h.n < KN_PAGE_SIZE - off ? h.n : KN_PAGE_SIZE - off;

        if (!visit_part(s, b, (size_t)(at >> KN_PAGE_SHIFT), off,
                        (struct host_bytes){ h.p, part, h.write }))
            return no_memory(s, h.n);
        addr += part;
        h.p += part;
        h.n -= part;
    }
    return KILN_OK;
}

kiln_status
kn_sim_write(struct kn_sim *s, uint64_t addr, const void *src, size_t n)
{
    return visit_range(s, addr, (struct host_bytes){
        (uint8_t *)(uintptr_t)src, n, true });
}

kiln_status
kn_sim_read(struct kn_sim *s, uint64_t addr, void *dst, size_t n)
{
    return visit_range(s, addr, (struct host_bytes){ dst, n, false });
}

/* ---- shadows ------------------------------------------------------------ */

/* What the page at `offset` of the original holds; its lack of a value, where
 * nobody gave it one, is not kept. */
static void
fill_as(void *user, uint64_t offset, void *dst, size_t size)
{
    struct kn_region *b = user;
    struct kn_page *p = kn_page_known(b, (size_t)(offset >> KN_PAGE_SHIFT));

    if (p)
        memcpy(dst, p->data + offset % KN_PAGE_SIZE, size);
    else if (b->fill)
        b->fill(b->user, offset, dst, size);
    else
        memset(dst, 0, size);
}

kiln_status
kn_sim_shadow(struct kn_ctx *c, struct kn_sim *s, struct kn_sim **out)
{
    kiln_status st = kn_sim_open(c, s->target, out);
    uint64_t addr;

    if (st)
        return st;
    for (size_t i = 0; !st && i < s->nblocks; i++) {
        (*out)->next = s->block[i]->addr;
        st = kn_block_add(*out, s->block[i]->size, s->block[i]->flags, fill_as,
                          s->block[i], &addr);
    }
    if (st)
        kn_sim_close(*out);
    return st;
}
