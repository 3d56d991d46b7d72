/* num.h - bit-exact number formats of the CDNA3/CDNA4 ISA for the simulator.
 *
 * Every format here is a subset of f64, so that decoding is exact and every
 * encoder rounds once, from the exact f64 value. Formats below 32 bits always
 * keep denormals (the 8-bit and smaller ones have no flush mode; flushing f16
 * by MODE is the caller's business). */
#ifndef KN_NUM_H
#define KN_NUM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../ir/base.h"

/* X(id, exponent bits, mantissa bits, bias, largest finite code without
 * sign, code of +overflow (no Inf: the NaN or the largest), code of NaN).
 * E4M3Z/E5M2Z are FNUZ: 0x80 is the only NaN and there is no -0 (gfx942).
 * E4M3 is e4m3fn (gfx950). E2M3, E3M2, E2M1: no Inf, no NaN, so that they
 * saturate, and a NaN becomes the largest value with the NaN's sign. */
#define KN_NUMS(X) \
    X(F16, 5, 10, 15, 0x7bff, 0x7c00, 0x7e00) \
    X(BF16, 8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0) \
    X(E4M3, 4, 3, 7, 0x7e, 0x7f, 0x7f) \
    X(E5M2, 5, 2, 15, 0x7b, 0x7c, 0x7e) \
    X(E4M3Z, 4, 3, 8, 0x7f, 0x80, 0x80) \
    X(E5M2Z, 5, 2, 16, 0x7f, 0x80, 0x80) \
    X(E2M3, 2, 3, 1, 0x1f, 0x1f, 0x1f) \
    X(E3M2, 3, 2, 3, 0x1f, 0x1f, 0x1f) \
    X(E2M1, 2, 1, 1, 0x7, 0x7, 0x7)

enum kn_num {
#define X(id, e, m, bias, max, over, nan) KN_NUM_##id,
    KN_NUMS(X)
#undef X
    KN_NNUMS
};

struct kn_num_format {
    const char *name;        /* "F16", "E4M3", ... */
    uint8_t bits, ebits, mbits, bias;
    uint16_t max, over, nan; /* codes without sign */
};
extern const struct kn_num_format kn_num_format[KN_NNUMS];

/* The fp8 ("fp8" e4m3 / "bf8" e5m2) of a target: OCP or FNUZ. */
static inline enum kn_num
kn_num_fp8(kiln_target t)
{
    return kn_targets[t].fnuz ? KN_NUM_E4M3Z : KN_NUM_E4M3;
}
static inline enum kn_num
kn_num_bf8(kiln_target t)
{
    return kn_targets[t].fnuz ? KN_NUM_E5M2Z : KN_NUM_E5M2;
}

enum kn_round { KN_RNE, KN_RTZ, KN_SR };

/* How an encoder rounds. saturate: finite overflow gives the largest finite
 * value (MODE.FP16_OVFL = 1, or the instruction's clamp); otherwise it gives
 * `over`. An Inf saturates too in the 8-bit formats (CDNA4 ISA 7.3), not in
 * f16 and bf16; otherwise it gives Inf where there is one and else NaN.
 * random: KN_SR only, its top bits are added just below the last kept bit
 * (32 of them), and the rest is cut off (CDNA3 ISA, V_CVT_SR_FP8_F32). */
struct kn_rounding {
    enum kn_round mode;
    bool saturate;
    uint32_t random;
};

/* Exact value; bits above the format's width are ignored. */
float kn_num_to_f32(enum kn_num f, uint32_t bits);
double kn_num_to_f64(enum kn_num f, uint32_t bits);

/* Code of x, in the low bits, the rest zero. From f64 there is one rounding
 * (f32 is exact in f64). NaN keeps its sign (FNUZ: 0x80). */
uint32_t kn_num_from_f64(enum kn_num f, double x, struct kn_rounding r);
static inline uint32_t
kn_num_from_f32(enum kn_num f, float x, struct kn_rounding r)
{
    return kn_num_from_f64(f, (double)x, r);
}

/* Round to nearest even, overflow to Inf/NaN: v_cvt_f16_f32 in the default
 * mode, v_cvt_pk_bf16_f32, v_cvt_pk_fp8_f32, v_cvt_pk_bf8_f32, ... */
static inline uint32_t
kn_num_rne(enum kn_num f, float x)
{
    return kn_num_from_f64(f, (double)x, (struct kn_rounding){0});
}

/* v_cvt_scalef32_*: the scale operand is an f32 of which only the exponent
 * byte counts. From wide: x * 2^-(scale-127), then one rounding; to wide: the
 * value times 2^(scale-127) as f64 (exact; round it to the destination).
 * Exponent byte 255 gives NaN. */
uint32_t kn_num_from_scaled(enum kn_num f, double x, uint32_t scale_f32,
                            struct kn_rounding r);
double kn_num_to_scaled(enum kn_num f, uint32_t bits, uint32_t scale_f32);

/* E8M0: 2^(x-127), 255 is NaN (OCP MX v1.0, 5.4.1). */
double kn_e8m0_to_f64(uint8_t x);

/* IEEE bits. */
static inline uint32_t
kn_f32_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float
kn_bits_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static inline uint64_t
kn_f64_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline double
kn_bits_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* v_prng_b32: one step of the 32-bit shift register (CDNA4 ISA). */
static inline uint32_t
kn_prng_b32(uint32_t x)
{
    return x << 1 ^ (x >> 31 ? 197u : 0u);
}

/* Element i of a packed run (little-endian bit stream, low bits first):
 * 4-, 6-, 8- and 16-bit elements in 32-bit registers. */
static inline uint32_t
kn_num_extract(const uint32_t *words, unsigned i, unsigned bits)
{
    unsigned at = i * bits;
    uint64_t w = words[at / 32];
    if (at % 32 + bits > 32)
        w |= (uint64_t)words[at / 32 + 1] << 32;
    return (uint32_t)(w >> at % 32) & ((1u << bits) - 1);
}

#endif
