/* data.c - operand data: every element a pure function of (seed, operand,
 * index), so that a sampled run makes only the bytes it touches. */
#include "reference.h"

#include <math.h>
#include <string.h>

/* splitmix64's finaliser (public domain, Vigna 2015) over a counter. */
static uint64_t
hash(const struct kn_data *d, uint64_t index)
{
    uint64_t z = d->seed * 0x9e3779b97f4a7c15u +
                 (uint64_t)d->operand * 0xd1342543de82ef95u + index;

    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool
is_e8m0(const struct kn_data *d)
{
    return d->scale && d->type != KILN_F32;
}

static unsigned
element_bits(const struct kn_data *d)
{
    return is_e8m0(d) ? 8 : kn_ref_type_bits(d->type);
}

void
kn_data_shape(struct kn_data *d, int64_t ld, int64_t batch_stride)
{
    uint64_t bits = element_bits(d);
    uint64_t row = (uint64_t)(ld ? ld : d->cols);

    d->row_bytes = (row * bits + 7) / 8;
    d->batch_bytes = batch_stride ? (uint64_t)batch_stride * bits / 8
                                  : d->row_bytes * (uint64_t)d->rows;
}

uint64_t
kn_data_bytes(const struct kn_data *d)
{
    uint64_t used = ((uint64_t)d->cols * element_bits(d) + 7) / 8;

    if (d->batches <= 0 || d->rows <= 0)
        return 0;
    return d->batch_bytes * (uint64_t)(d->batches - 1) +
           d->row_bytes * (uint64_t)(d->rows - 1) + used;
}

/* Four uniform 16-bit numbers: mean 0, deviation 1, at most 3.5. Their sum is
 * cut to the format, denormals included, with integers only: a big tensor has
 * billions of these. */
static uint32_t
near_normal(struct kn_ref_fields f, uint64_t h)
{
    uint64_t sum = (h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) +
                   (h >> 48);
    float x = ((float)(int64_t)sum - 131070.0f) * (1 / 37836.8f);
    uint32_t u, sign;
    int e;

    memcpy(&u, &x, sizeof u);
    sign = u >> 31 << (f.ebits + f.mbits);
    e = (int)(u >> 23 & 0xff) - 127 + f.bias;
    if (e > 0)
        return sign | (uint32_t)e << f.mbits | (u & 0x7fffff) >> (23 - f.mbits);
    if (x == 0 || e < -23)
        return 0;
    u = ((u & 0x7fffff) | 0x800000) >> (24 - f.mbits - e);
    return u ? sign | u : 0;
}

static uint32_t
scale_code(const struct kn_data *d, uint64_t h)
{
    bool exact = d->mode == KN_DATA_EXACT;

    if (is_e8m0(d)) {
        if (d->mode >= KN_DATA_BITS)
            return (uint32_t)(h % (d->mode == KN_DATA_BITS ? 255 : 256));
        return 127 - (exact ? 1 : 4) + (uint32_t)(h % (exact ? 3 : 9));
    }
    if (exact)
        return (126 + (uint32_t)(h % 3)) << 23;
    return (126 + (uint32_t)(h >> 63)) << 23 | (uint32_t)(h & 0x7fffff);
}

/* Any code; KN_DATA_BITS draws again until it is finite. */
static uint32_t
any_code(const struct kn_data *d, uint64_t h)
{
    unsigned bits = element_bits(d);
    uint64_t mask = (UINT64_C(1) << bits) - 1;

    for (;;) {
        uint32_t code = (uint32_t)(h >> 20 & mask);

        if (d->mode != KN_DATA_BITS ||
            isfinite(kn_ref_decode(d->type, d->target, code)))
            return code;
        h = h * 0xd6e8feb86659fd93u + 1;
    }
}

static bool
is_normal(const struct kn_data *d)
{
    return d->mode == KN_DATA_RANDOM && !d->scale && element_bits(d) >= 8 &&
           d->type != KILN_I8 && d->type != KILN_I32;
}

uint32_t
kn_data_code(const struct kn_data *d, uint64_t index)
{
    uint64_t h = hash(d, index);

    if (is_normal(d))
        return near_normal(kn_ref_fields(d->type, d->target), h);
    if (d->scale)
        return scale_code(d, h);
    if (d->mode == KN_DATA_EXACT)
        return kn_ref_encode(d->type, d->target, (double)(h % 5) - 2);
    if (d->mode == KN_DATA_RANDOM && d->type == KILN_I32)
        return (uint32_t)(h % 2001) - 1000;
    return any_code(d, h);
}

/* Bytes [from, to) of a row of packed elements into dst. */
static void
fill_run(const struct kn_data *d, uint64_t first, uint64_t from, uint64_t to,
         uint8_t *dst)
{
    unsigned bits = element_bits(d);
    uint64_t begin = from * 8, end = to * 8, last = (uint64_t)d->cols * bits;

    memset(dst, 0, to - from);
    end = end < last ? end : last;
    for (uint64_t e = begin / bits; e * bits < end; e++) {
        uint64_t code = kn_data_code(d, first + e);

        for (uint64_t at = e * bits / 8; at * 8 < (e + 1) * bits; at++) {
            int64_t shift = (int64_t)(at * 8) - (int64_t)(e * bits);

            if (at >= from && at < to)
                dst[at - from] |=
                    (uint8_t)(shift >= 0 ? code >> shift : code << -shift);
        }
    }
}

/* The same for elements of whole bytes: most of what is ever filled. */
static void
fill_whole(const struct kn_data *d, uint64_t first, uint64_t from, uint64_t to,
           uint8_t *dst)
{
    struct kn_ref_fields f = kn_ref_fields(d->type, d->target);
    unsigned bytes = element_bits(d) / 8;
    uint64_t e = first + from / bytes;
    bool normal = is_normal(d);

    for (; from < to; e++) {
        unsigned skip = (unsigned)(from % bytes);
        unsigned n = to - from < bytes - skip ? (unsigned)(to - from)
                                              : bytes - skip;
        uint32_t code = normal ? near_normal(f, hash(d, e))
                               : kn_data_code(d, e);

        code >>= 8 * skip;
        memcpy(dst, &code, n);
        dst += n;
        from += n;
    }
}

/* Length of the row's elements in bytes. */
static uint64_t
used_bytes(const struct kn_data *d)
{
    return ((uint64_t)d->cols * element_bits(d) + 7) / 8;
}

/* Where a byte of the tensor is: in which run of elements, and how many bytes
 * from the run's first to the next run's first (none: UINT64_MAX). */
struct place {
    uint64_t batch, row, at, next;
};

/* Quotient by a stride, at most count - 1; *rest is what remains. */
static uint64_t
divide(uint64_t offset, uint64_t stride, int64_t count, uint64_t *rest)
{
    uint64_t q = stride ? offset / stride : 0;
    uint64_t most = count > 0 ? (uint64_t)count - 1 : 0;

    q = q < most ? q : most;
    *rest = offset - q * stride;
    return q;
}

/* Batches may lie between the elements of one row stride, or the other way
 * round: the larger stride is the outer one. */
static struct place
find_place(const struct kn_data *d, uint64_t offset)
{
    bool batch_outer = d->batch_bytes >= d->row_bytes;
    uint64_t so = batch_outer ? d->batch_bytes : d->row_bytes;
    uint64_t si = batch_outer ? d->row_bytes : d->batch_bytes;
    int64_t co = batch_outer ? d->batches : d->rows;
    int64_t ci = batch_outer ? d->rows : d->batches;
    uint64_t rest, at, o = divide(offset, so, co, &rest);
    uint64_t i = divide(rest, si, ci, &at), next = UINT64_MAX;

    if (i + 1 < (uint64_t)ci)
        next = si;
    else if (o + 1 < (uint64_t)co)
        next = at + so - rest;
    return batch_outer ? (struct place){o, i, at, next}
                       : (struct place){i, o, at, next};
}

/* Fills up to `size` bytes at `offset`, as far as the same row or the gap
 * after it goes; returns how many. */
static size_t
fill_piece(const struct kn_data *d, uint64_t offset, uint8_t *dst, size_t size)
{
    struct place p = find_place(d, offset);
    uint64_t used = used_bytes(d), end = p.at < used ? used : p.next;
    bool empty = d->batches <= 0 || d->rows <= 0;

    if (end > p.next)
        end = p.next;
    if (size > end - p.at)
        size = (size_t)(end - p.at);
    if (p.at < used && !empty) {
        uint64_t row = p.batch * (uint64_t)d->rows + p.row;

        (element_bits(d) < 8 ? fill_run : fill_whole)(
            d, row * (uint64_t)d->cols, p.at, p.at + size, dst);
    } else {
        memset(dst, 0xff, size);
    }
    return size;
}

void
kn_data_fill(void *user, uint64_t offset, void *dst, size_t size)
{
    const struct kn_data *d = user;
    uint8_t *p = dst;

    while (size) {
        size_t n = fill_piece(d, offset, p, size);

        offset += n;
        p += n;
        size -= n;
    }
}
