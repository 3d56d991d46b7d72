/* valu_int.c - lane functions of valu_int.def. */
#include "lanes.h"

static inline uint32_t
reverse32(uint32_t v)
{
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}

static inline uint32_t
first_unlike_sign(int32_t v)
{
    uint32_t u = (uint32_t)(v ^ v >> 31);

    return u ? (uint32_t)__builtin_clz(u) : UINT32_MAX;
}

static inline int32_t
clamp16(int64_t v)
{
    return v < -32768 ? -32768 : v > 32767 ? 32767 : (int32_t)v;
}

static inline uint32_t
sat_u8(int32_t v)
{
    return v < 0 ? 0u : v > 255 ? 255u : (uint32_t)v;
}

static inline uint32_t
sat_i8(int32_t v)
{
    return (v < -128 ? 0x80u : v > 127 ? 0x7fu : (uint32_t)v) & 255;
}

static inline uint32_t
narrow32(int64_t v, bool clamp)
{
    if (clamp)
        v = v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
    return (uint32_t)v;
}

static inline uint32_t
clamp_u32(uint64_t v, bool clamp)
{
    return clamp && v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static inline uint32_t
min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t
max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline int32_t
min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t
max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

#define min3_u32(a, b, c) min_u32(min_u32(a, b), c)
#define max3_u32(a, b, c) max_u32(max_u32(a, b), c)
#define med3_u32(a, b, c) \
    max_u32(min_u32(a, b), min_u32(max_u32(a, b), c))
#define min3_i32(a, b, c) min_i32(min_i32(a, b), c)
#define max3_i32(a, b, c) max_i32(max_i32(a, b), c)
#define med3_i32(a, b, c) \
    max_i32(min_i32(a, b), min_i32(max_i32(a, b), c))

static inline uint32_t
u24(uint32_t v)
{
    return v & 0xffffff;
}

static inline int32_t
i24(uint32_t v)
{
    return (int32_t)(v << 8) >> 8;
}

/* Lanes below this one. */
static inline uint64_t
below(unsigned lane)
{
    return (1ull << lane) - 1;
}

static inline uint32_t
field_i32(int32_t v, uint32_t n)
{
    return n ? (uint32_t)((int32_t)((uint32_t)v << (32 - n)) >> (32 - n)) : 0;
}

/* v_perm_b32 (CDNA3 ISA 12.11): a byte, a sign, 0 or 0xff for each byte of
 * hi:lo. No branch and 32 bits, so that lanes go together. */
static inline uint32_t
permute_byte(uint32_t hi, uint32_t lo, uint32_t sel)
{
    uint32_t byte = (sel & 4 ? hi : lo) >> (sel & 3) * 8;
    uint32_t word = (sel & 2 ? hi : lo) >> (sel & 1) * 16;
    uint32_t sign = 0u - (word >> 15 & 1);
    uint32_t constant = sel == 12 ? 0 : UINT32_MAX;
    uint32_t other = sel < 12 ? sign : constant;

    return (sel < 8 ? byte : other) & 255;
}

static inline uint32_t
permute_bytes(uint32_t hi, uint32_t lo, uint32_t sel)
{
    return permute_byte(hi, lo, sel & 255) |
           permute_byte(hi, lo, sel >> 8 & 255) << 8 |
           permute_byte(hi, lo, sel >> 16 & 255) << 16 |
           permute_byte(hi, lo, sel >> 24) << 24;
}

/* Bit k of the table is the result for a, b, c = the bits of k, a highest. */
static inline uint32_t
truth3(uint32_t table, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t r = 0;

    for (uint32_t k = 0; k < 8; k++)
        r |= (0u - (table >> k & 1)) & (k & 4 ? a : ~a) & (k & 2 ? b : ~b) &
             (k & 1 ? c : ~c);
    return r;
}

static inline uint32_t
distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* Byte distances where the byte of `where` is not zero. */
static inline uint32_t
sad_u8(uint32_t a, uint32_t b, uint32_t where)
{
    uint32_t r = 0;

    for (unsigned k = 0; k < 32; k += 8)
        r += where >> k & 255 ? distance(a >> k & 255, b >> k & 255) : 0;
    return r;
}

static inline uint64_t
qsad(uint64_t a, uint32_t b, uint64_t c, uint32_t where)
{
    uint64_t r = 0;

    for (unsigned k = 0; k < 4; k++) {
        uint64_t s = sad_u8((uint32_t)(a >> k * 8), b, where) +
                     (c >> k * 16 & 0xffff);
        r |= (s & 0xffff) << k * 16;
    }
    return r;
}

static inline uint32_t
lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t r = 0;

    for (unsigned k = 0; k < 32; k += 8)
        r |= ((a >> k & 255) + (b >> k & 255) + (c >> k & 1)) >> 1 << k;
    return r;
}

static inline int32_t
dot_i8(uint32_t a, uint32_t b)
{
    int32_t r = 0;

    for (unsigned k = 0; k < 32; k += 8)
        r += (int8_t)(a >> k & 255) * (int8_t)(b >> k & 255);
    return r;
}

static inline uint32_t
dot_u8(uint32_t a, uint32_t b)
{
    uint32_t r = 0;

    for (unsigned k = 0; k < 32; k += 8)
        r += (a >> k & 255) * (b >> k & 255);
    return r;
}

static inline int32_t
dot_i4(uint32_t a, uint32_t b)
{
    int32_t r = 0;

    for (unsigned k = 0; k < 32; k += 4)
        r += ((int32_t)(a << (28 - k)) >> 28) * ((int32_t)(b << (28 - k)) >> 28);
    return r;
}

static inline uint32_t
dot_u4(uint32_t a, uint32_t b)
{
    uint32_t r = 0;

    for (unsigned k = 0; k < 32; k += 4)
        r += (a >> k & 15) * (b >> k & 15);
    return r;
}

#define VALU_PART
#define V1 KN_DEF_V1
#define V2 KN_DEF_V2
#define V3 KN_DEF_V3
#define VF(id)
#include "valu_int.def"

/* sum is 33 bits wide: bit 32 is the carry or borrow. */
#define CARRY(id, sum)                                                        \
    void kn_lane_##id(struct kn_lanes *x)                                     \
    {                                                                         \
        const uint32_t *pa = x->s[0], *pb = x->s[1];                          \
        uint32_t *pd = x->d;                                                  \
        uint64_t out = 0;                                                     \
        for (unsigned l = 0; l < KN_LANES; l++) {                             \
            uint64_t a = pa[l], b = pb[l], in = x->mask >> l & 1;             \
            uint64_t s = sum;                                                 \
            (void)in;                                                         \
            pd[l] = x->clamp && s >> 32 ? overflow_##id : (uint32_t)s;        \
            out |= (s >> 32 & 1) << l;                                        \
        }                                                                     \
        x->out = out;                                                         \
    }
#define overflow_v_add_co_u32 UINT32_MAX
#define overflow_v_addc_co_u32 UINT32_MAX
#define overflow_v_sub_co_u32 0
#define overflow_v_subrev_co_u32 0
#define overflow_v_subb_co_u32 0
#define overflow_v_subbrev_co_u32 0
CARRY(v_add_co_u32, a + b)
CARRY(v_sub_co_u32, a - b)
CARRY(v_subrev_co_u32, b - a)
CARRY(v_addc_co_u32, a + b + in)
CARRY(v_subb_co_u32, a - b - in)
CARRY(v_subbrev_co_u32, b - a - in)

void
kn_lane_v_mad_u64_u32(struct kn_lanes *x)
{
    const uint32_t *a = x->s[0], *b = x->s[1];
    const uint64_t *c = x->s[2];
    uint64_t *d = x->d, out = 0;

    for (unsigned l = 0; l < KN_LANES; l++) {
        uint64_t p = (uint64_t)a[l] * b[l], r = p + c[l];

        out |= (uint64_t)(r < p) << l;
        d[l] = r;
    }
    x->out = out;
}

void
kn_lane_v_mad_i64_i32(struct kn_lanes *x)
{
    const uint32_t *a = x->s[0], *b = x->s[1];
    const uint64_t *c = x->s[2];
    uint64_t *d = x->d, out = 0;

    for (unsigned l = 0; l < KN_LANES; l++) {
        int64_t p = (int64_t)(int32_t)a[l] * (int32_t)b[l], r;

        out |= (uint64_t)__builtin_add_overflow(p, (int64_t)c[l], &r) << l;
        d[l] = (uint64_t)r;
    }
    x->out = out;
}
