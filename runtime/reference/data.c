/* data.c - operand data: every element a pure function of (seed, operand,
 * index), so that a sampled run makes only the bytes it touches. */
#include "reference.h"

#include <math.h>
#include <string.h>

#include "../../ir/clones.h"

/* Elements made at once: whole bytes of every type. */
enum { RUN = 64 };

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

/* E8M0, of nvfp4 E4M3. */
static bool
is_byte(const struct kn_data *d)
{
    return d->scale && kn_ref_type_bits(d->type) <= 8;
}

static unsigned
element_bits(const struct kn_data *d)
{
    return is_byte(d) ? 8 : kn_ref_type_bits(d->type);
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
static inline uint32_t
near_normal(struct kn_ref_fields f, uint64_t h)
{
    uint32_t lo = (uint32_t)h, hi = (uint32_t)(h >> 32);
    uint32_t sum = (lo & 0xffff) + (lo >> 16) + (hi & 0xffff) + (hi >> 16);
    float x = ((float)(int32_t)sum - 131070.0f) * (1 / 37836.8f);
    uint32_t u, sign, normal, small;
    int e, shift;

    memcpy(&u, &x, sizeof u);
    sign = u >> 31 << (f.ebits + f.mbits);
    e = (int)(u >> 23 & 0xff) - 127 + f.bias;
    shift = 24 - f.mbits - e;
    normal = (uint32_t)e << f.mbits | (u & 0x7fffff) >> (23 - f.mbits);
    small = ((u & 0x7fffff) | 0x800000) >> (shift < 0 ? 0 : shift > 31 ? 31
                                                                     : shift);
    small = x == 0 ? 0 : small;
    return e > 0 ? sign | normal : small ? sign | small : 0;
}

/* The same with 53 random bits. */
static uint64_t
near_normal_wide(uint64_t h)
{
    uint32_t lo = (uint32_t)h, hi = (uint32_t)(h >> 32);
    uint32_t sum = (lo & 0xffff) + (lo >> 16) + (hi & 0xffff) + (hi >> 16);
    double below = (double)(h * 0x9e3779b97f4a7c15u >> 11) * 0x1p-53;
    double x = ((double)(int32_t)sum - 131070.5 + below) / 37836.8;
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

/* All but NaN's, both signs. */
static uint32_t
e4m3_code(const struct kn_data *d, uint64_t h)
{
    if (d->mode == KN_DATA_SPECIAL)
        return (uint32_t)(h % 256);
    return (uint32_t)(h % 127 | (h >> 32 & 1) << 7);
}

static uint32_t
scale_code(const struct kn_data *d, uint64_t h)
{
    bool exact = d->mode == KN_DATA_EXACT, e4m3 = d->type == KILN_NVFP4;
    double v;

    if (e4m3 && d->mode >= KN_DATA_BITS)
        return e4m3_code(d, h);
    if (is_byte(d) && !e4m3) {
        if (d->mode >= KN_DATA_BITS)
            return (uint32_t)(h % (d->mode == KN_DATA_BITS ? 255 : 256));
        return 127 - (exact ? 1 : 4) + (uint32_t)(h % (exact ? 3 : 9));
    }
    if (d->type != KILN_F32) {
        v = ldexp(exact ? 1 : 1 + (double)(h & 1023) / 1024,
                  (int)(h >> 20) % 3 - 1);
        return (uint32_t)kn_ref_encode(e4m3 ? KILN_MXFP8 : d->type, d->target,
                                       v);
    }
    if (exact)
        return (126 + (uint32_t)(h % 3)) << 23;
    return (126 + (uint32_t)(h >> 63)) << 23 | (uint32_t)(h & 0x7fffff);
}

/* Any code; KN_DATA_BITS draws again until it is finite. */
static uint64_t
any_code(const struct kn_data *d, uint64_t h)
{
    unsigned bits = element_bits(d);
    uint64_t mask = (UINT64_C(1) << (bits & 63)) - 1;

    for (;;) {
        uint64_t code = bits == 64 ? h : h >> 20 & mask;

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

uint64_t
kn_data_code(const struct kn_data *d, uint64_t index)
{
    uint64_t h = hash(d, index);

    if (is_normal(d) && d->type == KILN_F64)
        return near_normal_wide(h);
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

/* kn_data_code of RUN elements, where that is near_normal or any code. */
KN_WIDE_CLONES static void
make_run(const struct kn_data *d, uint64_t first, bool normal, uint32_t *code)
{
    struct kn_ref_fields f = kn_ref_fields(d->type, d->target);
    uint64_t mask = (UINT64_C(1) << element_bits(d)) - 1, h[RUN];

    for (unsigned i = 0; i < RUN; i++)
        h[i] = hash(d, first + i);
    for (unsigned i = 0; i < RUN && normal; i++)
        code[i] = near_normal(f, h[i]);
    for (unsigned i = 0; i < RUN && !normal; i++)
        code[i] = (uint32_t)(h[i] >> 20 & mask);
}

/* Codes of the RUN elements from `first` on, of which n exist; of 64 bits, its two
 * halves. */
static void
make_codes(const struct kn_data *d, uint64_t first, uint64_t n, uint32_t *code)
{
    bool drawn = d->mode == KN_DATA_RANDOM && !d->scale && d->type != KILN_I32;

    for (unsigned i = 0; i < RUN && element_bits(d) == 64; i++) {
        uint64_t all = i < n ? kn_data_code(d, first + i) : 0;

        memcpy(code + 2 * i, &all, sizeof all);
    }
    if (element_bits(d) == 64)
        return;

    n = n < RUN ? n : RUN;
    if (drawn && n > RUN / 8)
        make_run(d, first, is_normal(d), code);
    for (unsigned i = 0; i < n && !(drawn && n > RUN / 8); i++)
        code[i] = (uint32_t)kn_data_code(d, first + i);
    for (unsigned i = (unsigned)n; i < RUN; i++)
        code[i] = 0;
}

/* RUN codes as the bytes they fill. */
static void
pack(unsigned bits, const uint32_t *code, uint8_t *out)
{
    for (unsigned i = 0; i < RUN && bits == 4; i += 2)
        *out++ = (uint8_t)(code[i] | code[i + 1] << 4);
    for (unsigned i = 0; i < RUN && bits == 6; i += 4, out += 3) {
        uint32_t w = code[i] | code[i + 1] << 6 | code[i + 2] << 12 |
                     code[i + 3] << 18;

        memcpy(out, &w, 3);
    }
    for (unsigned i = 0; i < RUN && bits == 8; i++)
        out[i] = (uint8_t)code[i];
    for (unsigned i = 0; i < RUN && bits == 16; i++)
        memcpy(out + 2 * i, &code[i], 2);
    if (bits >= 32)
        memcpy(out, code, RUN * (bits / 8));
}

/* Bytes [from, to) of a row of elements, whose first is number `first`. */
static void
fill_row(const struct kn_data *d, uint64_t first, uint64_t from, uint64_t to,
         uint8_t *dst)
{
    unsigned bits = element_bits(d);
    unsigned unit = bits == 6 ? 4 : bits == 4 ? 2 : 1;

    while (from < to) {
        uint8_t bytes[RUN * 8];
        uint32_t code[RUN * 2];
        uint64_t skip = from % (unit * bits / 8);
        uint64_t e = (from - skip) * 8 / bits;
        uint64_t want = ((skip + to - from) * 8 + bits - 1) / bits;
        uint64_t exist = (uint64_t)d->cols - e, n = RUN * bits / 8 - skip;

        n = n < to - from ? n : to - from;
        make_codes(d, first + e, exist < want ? exist : want, code);
        pack(bits, code, bytes);
        memcpy(dst, bytes + skip, n);
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
    if (end <= p.at)         /* rows of nothing, one on the other */
        end = UINT64_MAX;
    if (size > end - p.at)
        size = (size_t)(end - p.at);
    if (p.at < used && !empty) {
        uint64_t row = p.batch * (uint64_t)d->rows + p.row;

        fill_row(d, row * (uint64_t)d->cols, p.at, p.at + size, dst);
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
