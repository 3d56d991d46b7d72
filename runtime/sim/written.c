/* written.c - which bytes of device memory have a value, and which of an
 * output no kernel has written. */
#include <inttypes.h>
#include <string.h>

#include "core.h"

static bool
all_written(const struct kn_page *p, size_t off, size_t n)
{
    for (size_t k = 0; p->map && k < n; k++)
        if (!p->map[off + k])
            return false;
    return true;
}

int
kn_sim_written(struct kn_sim *s, uint64_t addr, size_t n)
{
    struct kn_region *b = kn_block_at(s, addr);

    if (!b || n > b->size - (addr - b->addr))
        return 0;
    while (n) {
        uint64_t at = addr - b->addr;
        size_t off = at % KN_PAGE_SIZE;
        size_t part = n < KN_PAGE_SIZE - off ? n : KN_PAGE_SIZE - off;
        struct kn_page *p = kn_page_known(b, (size_t)(at >> KN_PAGE_SHIFT));

        if (p ? !all_written(p, off, part) : !b->fill)
            return 0;
        addr += part;
        n -= part;
    }
    return 1;
}

/* Bytes of a page no kernel has written, and the offset of the first. */
static uint32_t
count_unwritten(const struct kn_page *p, uint64_t left, uint32_t *first)
{
    uint32_t count = 0, end = left < KN_PAGE_SIZE ? (uint32_t)left
                                                  : KN_PAGE_SIZE;

    if (!p) {
        *first = 0;
        return end;
    }
    for (uint32_t k = 0; k < p->hi; k++) {
        bool missing = !(p->map[k] & KN_MAP_KERNEL);

        if (missing && !count)
            *first = k;
        count += missing;
    }
    return count;
}

/* The same from `at` to the end of its leaf, a moment where nobody came. */
static uint64_t
unwritten_in_leaf(struct kn_region *b, uint64_t at, uint64_t *first)
{
    uint64_t end = b->size - at < KN_LEAF_BYTES ? b->size : at + KN_LEAF_BYTES;
    uint64_t count = 0;

    if (!atomic_load(&b->leaf[at / KN_LEAF_BYTES])) {
        *first = b->addr + at;
        return end - at;
    }
    for (; at < end; at += KN_PAGE_SIZE) {
        uint32_t off = 0;
        uint32_t n = count_unwritten(
            kn_page_known(b, (size_t)(at >> KN_PAGE_SHIFT)), b->size - at, &off);

        if (n && !count)
            *first = b->addr + at + off;
        count += n;
    }
    return count;
}

static uint64_t
unwritten_from(struct kn_sim *s, uint64_t addr, uint64_t *first)
{
    struct kn_region *b = kn_block_at(s, addr);
    uint64_t count = 0, at_first = 0;

    if (!b || !(b->flags & KN_MEM_OUTPUT))
        return 0;
    for (uint64_t at = 0; at < b->size; at += KN_LEAF_BYTES) {
        uint64_t n = unwritten_in_leaf(b, at, &at_first);

        if (n && !count)
            *first = at_first;
        count += n;
    }
    return count;
}

uint64_t
kn_sim_unwritten(struct kn_sim *s, uint64_t addr)
{
    uint64_t first;

    return unwritten_from(s, addr, &first);
}

bool
kn_sim_find_unwritten(struct kn_sim *s, uint64_t addr, const char *name,
                      struct kn_finding *f)
{
    uint64_t first = 0, n = unwritten_from(s, addr, &first);
    size_t len = strlen(name), most = sizeof f->text / 3;
    const char *dots = len > most ? "..." : "";

    name += len > most ? len - most : 0;  /* a path says most at its end */
    *f = (struct kn_finding){ .kind = KN_F_UNWRITTEN, .address = first,
                              .count = 1 };
    if (n)
        snprintf(f->text, sizeof f->text, "%" PRIu64 " bytes of '%s%s' were "
                 "never written, the first at offset %" PRIu64, n, dots, name,
                 first - addr);
    return n;
}
