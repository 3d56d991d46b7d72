/* granule.h - runs of granules of the LDS shadow, those of all lanes of an
 * access together: nearly every access has nothing to be said of it, and is
 * told from the others without a branch for each lane. */
#ifndef KN_GRANULE_H
#define KN_GRANULE_H

#include "core.h"

#define KN_INLINE static inline __attribute__((always_inline))

typedef uint32_t kn_stamps __attribute__((vector_size(16), aligned(4)));
typedef uint16_t kn_marks __attribute__((vector_size(8), aligned(2)));

/* Top bits of whatever was doubtful. */
struct kn_doubt {
    kn_stamps four;
    uint32_t one;
};

/* Reading: a stamp that is 0, undefined or above `safe`. */
KN_INLINE void
kn_doubt_read(struct kn_doubt *d, const uint32_t *writer, unsigned n,
              uint32_t safe)
{
    for (unsigned k = 0; k < n && n % 4 == 0; k += 4) {
        kn_stamps w = *(const kn_stamps *)(writer + k);

        d->four |= w | (w - 1) | (safe - w);
    }
    for (unsigned k = 0; k < n && n % 4; k++)
        d->one |= writer[k] | (writer[k] - 1) | (safe - writer[k]);
}

/* Writing: one that is undefined or above `safe`. */
KN_INLINE void
kn_doubt_write(struct kn_doubt *d, const uint32_t *writer, unsigned n,
               uint32_t safe)
{
    for (unsigned k = 0; k < n && n % 4 == 0; k += 4) {
        kn_stamps w = *(const kn_stamps *)(writer + k);

        d->four |= w | (safe - w);
    }
    for (unsigned k = 0; k < n && n % 4; k++)
        d->one |= writer[k] | (safe - writer[k]);
}

KN_INLINE bool
kn_in_doubt(const struct kn_doubt *d)
{
    return (d->one | d->four[0] | d->four[1] | d->four[2] | d->four[3]) >> 31;
}

/* Notes a read of n granules. */
KN_INLINE void
kn_mark_run(uint16_t *reader, unsigned n, uint16_t mark)
{
    uint64_t four = mark * (uint64_t)0x0001000100010001;

    for (unsigned k = 0; k < n && n % 4 == 0; k += 4)
        memcpy(reader + k, &four, sizeof four);
    for (unsigned k = 0; k < n && n % 4; k++)
        reader[k] = mark;
}

/* Notes a write of n granules. */
KN_INLINE void
kn_stamp_run(uint32_t *writer, unsigned n, uint32_t stamp)
{
    const kn_stamps four = { stamp, stamp, stamp, stamp };

    for (unsigned k = 0; k < n && n % 4 == 0; k += 4)
        *(kn_stamps *)(writer + k) = four;
    for (unsigned k = 0; k < n && n % 4; k++)
        writer[k] = stamp;
}

/* A reader after `limit` among n granules of some lane. */
KN_INLINE bool
kn_read_later(const uint16_t *reader, const struct kn_lds_access *x,
              unsigned shift, unsigned n, uint16_t limit)
{
    const kn_marks least = { limit, limit, limit, limit };
    kn_marks four = { 0 };
    unsigned one = 0;

    for (uint64_t m = x->mask; m; m &= m - 1) {
        const uint16_t *row = reader + (x->addr[__builtin_ctzll(m)] >> shift);

        for (unsigned k = 0; k < n && n % 4 == 0; k += 4)
            four |= (kn_marks)(*(const kn_marks *)(row + k) > least);
        for (unsigned k = 0; k < n && n % 4; k++)
            one |= row[k] > limit;
    }
    return one | (four[0] | four[1] | four[2] | four[3]);
}

KN_INLINE void
kn_put_each(uint8_t *lds, const uint32_t *addr, const uint8_t *row,
            uint64_t mask, unsigned n)
{
    for (; mask; mask &= mask - 1) {
        unsigned l = (unsigned)__builtin_ctzll(mask);

        memcpy(lds + addr[l], row + 16 * l, n);
    }
}

/* Data of n bytes a lane, in rows of 16 that may be over-read, to LDS. Sizes
 * that the compiler knows are moved at once. */
static inline void
kn_put_rows(uint8_t *lds, const uint32_t *addr, const uint8_t *row,
            uint64_t mask, unsigned n)
{
    switch (n) {
    case 4: kn_put_each(lds, addr, row, mask, 4); break;
    case 8: kn_put_each(lds, addr, row, mask, 8); break;
    case 16: kn_put_each(lds, addr, row, mask, 16); break;
    default: kn_put_each(lds, addr, row, mask, n); break;
    }
}

#endif
