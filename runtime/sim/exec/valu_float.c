/* valu_float.c - lane functions of valu_float.def. */
#include <fenv.h>

#include "lanes.h"

static inline bool
is_snan(float v)
{
    uint32_t u = kn_f32_bits(v) & 0x7fffffff;

    return u > 0x7f800000u && !(u & 0x400000);
}

static inline float
quiet(float v)
{
    return kn_bits_f32(kn_f32_bits(v) | 0x400000u);
}

/* V_MIN/MAX (CDNA3 ISA 12.8): a number beats a NaN, -0 is below +0, and in
 * IEEE mode a signalling NaN wins, made quiet. */
static inline float
min_f32(float a, float b, bool ieee)
{
    float r = a < b ? a : b;

    if (a == b)
        r = signbit(a) ? a : b;
    if (b != b)
        r = a;
    if (a != a)
        r = b;
    if (ieee && is_snan(b))
        r = quiet(b);
    if (ieee && is_snan(a))
        r = quiet(a);
    return r;
}

static inline float
max_f32(float a, float b, bool ieee)
{
    float r = a > b ? a : b;

    if (a == b)
        r = signbit(a) ? b : a;
    if (b != b)
        r = a;
    if (a != a)
        r = b;
    if (ieee && is_snan(b))
        r = quiet(b);
    if (ieee && is_snan(a))
        r = quiet(a);
    return r;
}

static inline float
med_f32(float a, float b, float c, bool ieee)
{
    float top = max_f32(max_f32(a, b, ieee), c, ieee);

    if (a != a || b != b || c != c)
        return min_f32(min_f32(a, b, ieee), c, ieee);
    if (top == a)
        return max_f32(b, c, ieee);
    return top == b ? max_f32(a, c, ieee) : max_f32(a, b, ieee);
}

/* IEEE 754-2019 minimum and maximum: a NaN wins. */
static inline float
minimum_f32(float a, float b)
{
    if (a != a || b != b)
        return quiet(a != a ? a : b);
    return min_f32(a, b, false);
}

static inline float
maximum_f32(float a, float b)
{
    if (a != a || b != b)
        return quiet(a != a ? a : b);
    return max_f32(a, b, false);
}

static inline bool
is_snan64(double v)
{
    uint64_t u = kn_f64_bits(v) & INT64_MAX;

    return u > 0x7ff0000000000000u && !(u >> 51 & 1);
}

static inline double
quiet64(double v)
{
    return kn_bits_f64(kn_f64_bits(v) | 1ull << 51);
}

static inline double
min_f64(double a, double b, bool ieee)
{
    if (ieee && (is_snan64(a) || is_snan64(b)))
        return quiet64(is_snan64(a) ? a : b);
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static inline double
max_f64(double a, double b, bool ieee)
{
    if (ieee && (is_snan64(a) || is_snan64(b)))
        return quiet64(is_snan64(a) ? a : b);
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* x - floor(x), kept below 1. */
static inline float
fract_f32(float a)
{
    float r = a - floorf(a);

    return r >= 1.0f ? 0x1.fffffep-1f : r;
}

static inline float
fract_f16(float a)
{
    float r = a - floorf(a);

    return r >= 0x1.ffep-1f ? 0x1.ffcp-1f : r;
}

static inline double
fract_f64(double a)
{
    double r = a - floor(a);

    return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}

/* The operand is in turns; the reduction is exact. */
static inline double
sin_turns(double a)
{
    return sin(remainder(a, 1.0) * 6.283185307179586476925);
}

static inline double
cos_turns(double a)
{
    return cos(remainder(a, 1.0) * 6.283185307179586476925);
}

static inline double
mantissa(double a)
{
    int e;

    return isfinite(a) ? frexp(a, &e) : a;
}

static inline int32_t
exponent_of(double a)
{
    int e = 0;

    if (!isfinite(a))
        return 0;
    frexp(a, &e);
    return e;
}

/* V_CUBEID, SC, TC, MA (CDNA3 ISA 12.11). */
static float
cube(float x, float y, float z, int what)
{
    float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);

    if (az >= ax && az >= ay) {
        float r[] = { z < 0 ? 5.0f : 4.0f, z < 0 ? -x : x, -y, z * 2.0f };
        return r[what];
    }
    if (ay >= ax) {
        float r[] = { y < 0 ? 3.0f : 2.0f, x, y < 0 ? -z : z, y * 2.0f };
        return r[what];
    }
    float r[] = { x < 0 ? 1.0f : 0.0f, x < 0 ? z : -z, -y, x * 2.0f };
    return r[what];
}

/* p + c in f64, made odd when it is not exact, so that a second rounding to
 * a shorter format cannot go wrong. */
static inline double
sum_odd(double p, double c)
{
    double s = p + c, t = s - p;
    double err = (p - (s - t)) + (c - t);
    uint64_t u = kn_f64_bits(s);

    if (!isfinite(s) || err == 0 || u & 1)
        return s;
    /* toward zero, then set the last bit */
    return kn_bits_f64((err < 0) == (s < 0) ? u | 1 : u - 1);
}

static inline uint32_t
fma_f16(float a, float b, float c)
{
    double s = sum_odd((double)a * b, (double)c);

    if (!isfinite(s))
        return kn_float_to_half((float)s);
    return kn_num_from_f64(KN_NUM_F16, s, (struct kn_rounding){ 0 });
}

static inline float
half_round(float v)
{
    return kn_half_to_float(kn_float_to_half(v));
}

static inline float
dot_f16(uint32_t a, uint32_t b, float c)
{
    c = fmaf(kn_half_to_float(a & 0xffff), kn_half_to_float(b & 0xffff), c);
    return fmaf(kn_half_to_float(a >> 16), kn_half_to_float(b >> 16), c);
}

/* V_DOT2_F32_BF16 adds C last (CDNA4 ISA 12.9), the accumulating form
 * first. */
static inline float
dot_bf16(uint32_t a, uint32_t b, float c)
{
    float r = kn_bf16_to_float(a & 0xffff) * kn_bf16_to_float(b & 0xffff);

    r = fmaf(kn_bf16_to_float(a >> 16), kn_bf16_to_float(b >> 16), r);
    return r + c;
}

static inline float
dotc_bf16(uint32_t a, uint32_t b, float c)
{
    c = fmaf(kn_bf16_to_float(a & 0xffff), kn_bf16_to_float(b & 0xffff), c);
    return fmaf(kn_bf16_to_float(a >> 16), kn_bf16_to_float(b >> 16), c);
}

static inline int64_t
dot_i16(uint32_t a, uint32_t b)
{
    return (int64_t)(int16_t)(a & 0xffff) * (int16_t)(b & 0xffff) +
           (int64_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
}

static inline uint64_t
dot_u16(uint32_t a, uint32_t b)
{
    return (uint64_t)(a & 0xffff) * (b & 0xffff) +
           (uint64_t)(a >> 16) * (b >> 16);
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

/* ---- division (CDNA3 ISA 12.11 V_DIV_*) ---- */

static inline int
exponent32(float v)
{
    return (int)(kn_f32_bits(v) >> 23 & 255);
}

static inline int
exponent64(double v)
{
    return (int)(kn_f64_bits(v) >> 52 & 2047);
}

static inline bool
is_denormal(float v)
{
    return v != 0 && !exponent32(v);
}

static inline bool
is_denormal64(double v)
{
    return v != 0 && !exponent64(v);
}

/* The exceptional quotients common to all widths; false: an ordinary one. */
static inline bool
special_quotient(double b, double c, double *r)
{
    double sign = signbit(b) != signbit(c) ? -1.0 : 1.0;

    if (c != c || b != b)
        *r = c != c ? c : b;
    else if ((b == 0 && c == 0) || (isinf(b) && isinf(c)))
        *r = kn_bits_f64(0xfff8000000000000u);
    else if (b == 0 || isinf(c))
        *r = sign * INFINITY;
    else if (isinf(b) || c == 0)
        *r = sign * 0.0;
    else
        return false;
    return true;
}

/* An ordinary quotient is never NaN: the refinement steps make one (Inf - Inf)
 * when it overflows. */
static inline float
fixup_f32(float q, float b, float c)
{
    float sign = signbit(b) != signbit(c) ? -1.0f : 1.0f;
    double r;

    if (c != c || b != b)
        return quiet(c != c ? c : b);
    if (special_quotient((double)b, (double)c, &r))
        return (float)r;
    if (exponent32(c) - exponent32(b) < -150)
        return sign * 0.0f;
    return copysignf(q != q ? INFINITY : fabsf(q), sign);
}

static inline double
fixup_f64(double q, double b, double c)
{
    double sign = signbit(b) != signbit(c) ? -1.0 : 1.0, r;

    if (c != c || b != b)
        return quiet64(c != c ? c : b);
    if (special_quotient(b, c, &r))
        return r;
    if (exponent64(c) - exponent64(b) < -1075)
        return sign * 0.0;
    return copysign(q != q ? (double)INFINITY : fabs(q), sign);
}

static inline float
fixup_f16(float q, float b, float c)
{
    double r;

    if (special_quotient((double)b, (double)c, &r))
        return (float)r;
    return copysignf(fabsf(q), signbit(b) != signbit(c) ? -1.0f : 1.0f);
}

/* V_DIV_FMAS scales a marked quotient back: up if it was made smaller, that
 * is, if the addend is 2 or more, else down; fma and scaling round once. */
static inline float
fmas_f32(float a, float b, float c, bool scale)
{
    if (!scale)
        return fmaf(a, b, c);
    return (float)ldexp(sum_odd((double)a * b, (double)c),
                        fabsf(c) >= 2.0f ? 64 : -64);
}

static double
fmas_f64(double a, double b, double c, bool scale)
{
    volatile double x = a, y = b, z = c, r;
    uint64_t u;

    if (!scale)
        return fma(a, b, c);
    fesetround(FE_TOWARDZERO);
    feclearexcept(FE_INEXACT);
    r = fma(x, y, z);
    u = kn_f64_bits(r);
    if (fetestexcept(FE_INEXACT))
        u |= 1;
    fesetround(FE_TONEAREST);
    return ldexp(kn_bits_f64(u), fabs(c) >= 2.0 ? 128 : -128);
}

/* a is b (the denominator) or c (the numerator); *vcc: v_div_fmas scales the
 * quotient back. Where reciprocal and quotient are both denormal the ISA text
 * scales the denominator up, which overflows; down is what divides right. */
static float
scale_f32(float a, float b, float c, bool *vcc)
{
    *vcc = false;
    if (b == 0 || c == 0)
        return NAN;
    if (exponent32(c) - exponent32(b) >= 96) {
        *vcc = true;
        return a == b ? ldexpf(a, 64) : a;
    }
    if (is_denormal(b))
        return ldexpf(a, 64);
    if (is_denormal(1.0f / b) && is_denormal(c / b)) {
        *vcc = true;
        return a == b ? ldexpf(a, -64) : a;
    }
    if (is_denormal(1.0f / b))
        return ldexpf(a, -64);
    if (is_denormal(c / b)) {
        *vcc = true;
        return a == c ? ldexpf(a, 64) : a;
    }
    return exponent32(c) <= 23 ? ldexpf(a, 64) : a;
}

static double
scale_f64(double a, double b, double c, bool *vcc)
{
    *vcc = false;
    if (b == 0 || c == 0)
        return (double)NAN;
    if (exponent64(c) - exponent64(b) >= 768) {
        *vcc = true;
        return a == b ? ldexp(a, 128) : a;
    }
    if (is_denormal64(b))
        return ldexp(a, 128);
    if (is_denormal64(1.0 / b) && is_denormal64(c / b)) {
        *vcc = true;
        return a == b ? ldexp(a, -128) : a;
    }
    if (is_denormal64(1.0 / b))
        return ldexp(a, -128);
    if (is_denormal64(c / b)) {
        *vcc = true;
        return a == c ? ldexp(a, 128) : a;
    }
    return exponent64(c) <= 53 ? ldexp(a, 128) : a;
}

#define VALU_PART
#define V1 KN_DEF_V1
#define V2 KN_DEF_V2
#define V3 KN_DEF_V3
#define VF(id)
#include "valu_float.def"

void
kn_lane_v_div_scale_f32(struct kn_lanes *x)
{
    const uint32_t *a = x->s[0], *b = x->s[1], *c = x->s[2];
    uint32_t *d = x->d;
    bool vcc;

    x->out = 0;
    for (unsigned l = 0; l < KN_LANES; l++) {
        d[l] = kn_f32_bits(scale_f32(kn_bits_f32(a[l]), kn_bits_f32(b[l]),
                                     kn_bits_f32(c[l]), &vcc));
        x->out |= (uint64_t)vcc << l;
    }
}

void
kn_lane_v_div_scale_f64(struct kn_lanes *x)
{
    const uint64_t *a = x->s[0], *b = x->s[1], *c = x->s[2];
    uint64_t *d = x->d;
    bool vcc;

    x->out = 0;
    for (unsigned l = 0; l < KN_LANES; l++) {
        d[l] = kn_f64_bits(scale_f64(kn_bits_f64(a[l]), kn_bits_f64(b[l]),
                                     kn_bits_f64(c[l]), &vcc));
        x->out |= (uint64_t)vcc << l;
    }
}
