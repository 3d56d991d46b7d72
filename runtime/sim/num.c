/* num.c - decode and encode of the formats of num.h. */
#include "num.h"

#include <math.h>

const struct kn_num_format kn_num_format[KN_NNUMS] = {
#define X(id, e, m, bias, max, over, nan) \
    [KN_NUM_##id] = {#id, 1 + (e) + (m), e, m, bias, max, over, nan},
    KN_NUMS(X)
#undef X
};

static bool
is_fnuz(enum kn_num f)
{
    return f == KN_NUM_E4M3Z || f == KN_NUM_E5M2Z;
}

/* 2^e as f64 for -1022 <= e <= 1023. */
static double
pow2(int e)
{
    return kn_bits_f64((uint64_t)(e + 1023) << 52);
}

/* Value of a finite code: the exponent and mantissa fields moved into an f64
 * are 2^(1023-bias) too small, denormals included (the multiply is exact). */
static double
finite_value(const struct kn_num_format *n, uint32_t mag)
{
    return kn_bits_f64((uint64_t)mag << (52 - n->mbits)) *
           pow2(1023 - n->bias);
}

double
kn_num_to_f64(enum kn_num f, uint32_t bits)
{
    const struct kn_num_format *n = &kn_num_format[f];
    uint32_t sign = bits >> (n->bits - 1) & 1;
    uint32_t mag = bits & ((1u << (n->bits - 1)) - 1);
    double v;

    if (is_fnuz(f) && sign && mag == 0)
        return kn_bits_f64(0x7ff8000000000000u);
    if (mag <= n->max)
        v = finite_value(n, mag);
    else if (mag == n->over && n->over != n->nan)
        v = (double)INFINITY;
    else
        v = kn_bits_f64(0x7ff8000000000000u |
                        (uint64_t)(mag & ((1u << n->mbits) - 1))
                            << (52 - n->mbits));
    return sign ? -v : v;
}

float
kn_num_to_f32(enum kn_num f, uint32_t bits)
{
    if (f == KN_NUM_BF16)
        return kn_bits_f32(bits << 16);
    return (float)kn_num_to_f64(f, bits);
}

static uint32_t
with_sign(enum kn_num f, uint32_t code, uint64_t sign)
{
    if (is_fnuz(f) && (code == 0 || code == 0x80))
        return code;
    return code | (uint32_t)sign << (kn_num_format[f].bits - 1);
}

/* sig * 2^-shift rounded to an integer; 0 <= sig < 2^53, shift > 0. */
static uint64_t
round_shift(uint64_t sig, int shift, struct kn_rounding r)
{
    uint64_t low, half;

    if (shift > 63)
        return 0; /* below 2^-10 of a unit */
    low = sig & ((UINT64_C(1) << shift) - 1);
    sig >>= shift;
    if (r.mode == KN_RTZ)
        return sig;
    if (r.mode == KN_SR) {
        uint64_t top = shift >= 32 ? low >> (shift - 32) : low << (32 - shift);
        return sig + ((top + r.random) >> 32);
    }
    half = UINT64_C(1) << (shift - 1);
    return sig + (low > half || (low == half && (sig & 1)));
}

uint32_t
kn_num_from_f64(enum kn_num f, double x, struct kn_rounding r)
{
    const struct kn_num_format *n = &kn_num_format[f];
    uint64_t u = kn_f64_bits(x), sign = u >> 63, sig, code;
    int e = (int)(u >> 52 & 0x7ff), emin = 1 - n->bias;

    sig = u & ((UINT64_C(1) << 52) - 1);
    if (e == 0x7ff && !sig && r.saturate && n->bits == 8)
        return with_sign(f, n->max, sign);
    if (e == 0x7ff)
        return with_sign(f, sig ? n->nan : n->over, sign);
    if (e == 0) /* zero, or an f64 denormal: below every format's half unit */
        return with_sign(f, 0, sign);
    sig |= UINT64_C(1) << 52;
    e -= 1023;
    code = round_shift(sig, 52 - n->mbits + (e < emin ? emin - e : 0), r);
    if (e > emin)
        code += (uint64_t)(e - emin) << n->mbits;
    if (code > n->max)
        code = r.saturate || r.mode == KN_RTZ ? n->max : n->over;
    return with_sign(f, (uint32_t)code, sign);
}

uint32_t
kn_num_from_scaled(enum kn_num f, double x, uint32_t scale_f32,
                   struct kn_rounding r)
{
    int s = (int)(scale_f32 >> 23 & 0xff);

    if (s == 255)
        return kn_num_from_f64(f, (double)NAN, r);
    return kn_num_from_f64(f, x * pow2(127 - s), r);
}

double
kn_num_to_scaled(enum kn_num f, uint32_t bits, uint32_t scale_f32)
{
    int s = (int)(scale_f32 >> 23 & 0xff);

    return s == 255 ? (double)NAN : kn_num_to_f64(f, bits) * pow2(s - 127);
}

double
kn_e8m0_to_f64(uint8_t x)
{
    return x == 255 ? (double)NAN : pow2((int)x - 127);
}
