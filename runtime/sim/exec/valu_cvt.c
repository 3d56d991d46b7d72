/* valu_cvt.c - lane functions of valu_cvt.def. */
#include "lanes.h"

static inline int32_t
to_i32(double v)
{
    if (v != v)
        return 0;
    return v >= 2147483647.0 ? INT32_MAX : v <= -2147483648.0 ? INT32_MIN
                                                             : (int32_t)v;
}

static inline uint32_t
to_u32(double v)
{
    if (!(v > 0))
        return 0;
    return v >= 4294967295.0 ? UINT32_MAX : (uint32_t)v;
}

static inline int32_t
clamp16(int32_t v)
{
    return v < -32768 ? -32768 : v > 32767 ? 32767 : v;
}

static inline uint32_t
min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Normalised integers: clamp to [-1, 1] or [0, 1], scale, round. */
static inline int32_t
to_snorm(float v)
{
    v = v != v ? 0.0f : v < -1.0f ? -1.0f : v > 1.0f ? 1.0f : v;
    return (int32_t)rintf(v * 32767.0f);
}

static inline uint32_t
to_unorm(float v)
{
    v = !(v > 0.0f) ? 0.0f : v > 1.0f ? 1.0f : v;
    return (uint32_t)rintf(v * 65535.0f);
}

/* Nearest even and saturating, which CDNA3 ISA does not say; measured by
 * others on gfx90c and GCN2 (docs/sim.md). */
static inline uint32_t
to_byte(float v)
{
    v = !(v > 0.0f) ? 0.0f : v > 255.0f ? 255.0f : v;
    return (uint32_t)rintf(v);
}

static inline uint32_t
put_byte(uint32_t byte, uint32_t place, uint32_t into)
{
    uint32_t at = (place & 3) * 8;

    return (into & ~(255u << at)) | byte << at;
}

static inline uint32_t
half_rtz(float v)
{
    return kn_num_from_f32(KN_NUM_F16, v,
                           (struct kn_rounding){ .mode = KN_RTZ });
}

/* To an 8-bit format, nearest even: what kn_num_from_f32 gives, in integer
 * steps a compiler can do for many lanes at once. MODE.FP16_OVFL makes the
 * formats saturate (CDNA3 ISA 3.3). */
struct small {
    uint32_t mbits, bias, max, over, nan;
    bool fnuz;               /* no -0 */
};

static inline uint32_t
to_small(struct small n, float v)
{
    uint32_t u = kn_f32_bits(v), a = u & 0x7fffffff, drop = 23 - n.mbits;
    uint32_t smallest = (128 - n.bias) << 23; /* normal number */
    uint32_t magic = (128 - n.bias + drop) << 23; /* ulp = denormal ulp */
    uint32_t tiny = kn_f32_bits(kn_bits_f32(a) + kn_bits_f32(magic)) - magic;
    uint32_t r = (a + ((1u << (drop - 1)) - 1) + (a >> drop & 1)) >> drop;

    r = a < smallest ? tiny : r - ((127 - n.bias) << n.mbits);
    r = r > n.max ? n.over : r;
    r = a > 0x7f800000u ? n.nan : r;
    return n.fnuz && (!r || r == n.nan) ? r : r | (u >> 24 & 0x80);
}

static inline __attribute__((always_inline)) void
pack_small(struct kn_lanes *x, enum kn_num f, bool saturate)
{
    const struct kn_num_format *k = &kn_num_format[f];
    struct small n = { k->mbits, k->bias, k->max,
                       saturate ? k->max : k->over, k->nan, k->nan == 0x80 };
    const uint32_t *restrict a = x->s[0], *restrict b = x->s[1];
    uint32_t *restrict d = x->d;

    for (unsigned l = 0; l < KN_LANES; l++)
        d[l] = to_small(n, kn_bits_f32(a[l])) |
               to_small(n, kn_bits_f32(b[l])) << 8;
}

static inline uint32_t
round_sr(const struct kn_lanes *x, enum kn_num f, float a, uint32_t random)
{
    struct kn_rounding r = { KN_SR, x->ovfl, random };

    return kn_num_from_f32(f, a, r);
}

#define VALU_PART
#define V1 KN_DEF_V1
#define V2 KN_DEF_V2
#define V3 KN_DEF_V3
#define VF(id)
#include "valu_cvt.def"

static void
unpack_f32(struct kn_lanes *x, enum kn_num f)
{
    const uint32_t *a = x->s[0];
    uint64_t *d = x->d;

    for (unsigned l = 0; l < KN_LANES; l++)
        d[l] = kn_f32_bits(kn_num_to_f32(f, a[l] & 255)) |
               (uint64_t)kn_f32_bits(kn_num_to_f32(f, a[l] >> 8 & 255)) << 32;
}

void
kn_lane_v_cvt_pk_f32_fp8(struct kn_lanes *x)
{
    unpack_f32(x, kn_num_fp8(x->target));
}

void
kn_lane_v_cvt_pk_f32_bf8(struct kn_lanes *x)
{
    unpack_f32(x, kn_num_bf8(x->target));
}

KN_CLONES void
kn_lane_v_cvt_pk_fp8_f32(struct kn_lanes *x)
{
    pack_small(x, kn_num_fp8(x->target), x->ovfl);
}

KN_CLONES void
kn_lane_v_cvt_pk_bf8_f32(struct kn_lanes *x)
{
    pack_small(x, kn_num_bf8(x->target), x->ovfl);
}
