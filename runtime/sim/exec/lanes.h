/* lanes.h - vector instructions as functions of 64 lanes.
 *
 * A lane function computes every lane, whatever EXEC says, from operands that
 * exec_valu.c has resolved: modifiers, DPP, SDWA and denormal flushing are
 * done before it, clamping, rounding to 16 bits' place and EXEC after it. */
#ifndef KN_LANES_H
#define KN_LANES_H

#include <math.h>

#include "../../../ir/clones.h"
#include "../machine.h"
#include "../num.h"

struct kn_lanes {
    /* Sources and result in the order of the signature: uint32_t[64], or
     * uint64_t[64] where the signature says 64 bits. */
    const void *s[3];
    void *d;
    uint64_t mask;           /* carry in, select mask, or VCC */
    uint64_t out;            /* lane mask result: compare, carry out */
    kiln_target target;
    bool ieee, clamp, ovfl;  /* MODE.IEEE, clamp bit, MODE.FP16_OVFL */
    uint8_t op_sel, bitop3;
};

typedef void kn_lane_fn(struct kn_lanes *x);

/* Declarations of every lane function. */
#define V1(id, D, A, value) kn_lane_fn kn_lane_##id;
#define V2(id, D, A, B, value) kn_lane_fn kn_lane_##id;
#define V3(id, D, A, B, C, value) kn_lane_fn kn_lane_##id;
#define VC(id, A, test) kn_lane_fn kn_lane_##id;
#define VF(id) kn_lane_fn kn_lane_##id;
#include "valu.def"
#undef V1
#undef V2
#undef V3
#undef VC
#undef VF

/* ---- loads, stores, conversions by type name of the .def files ---- */

#define S_u32 uint32_t
#define S_i32 uint32_t
#define S_f32 uint32_t
#define S_u16 uint32_t
#define S_i16 uint32_t
#define S_f16 uint32_t
#define S_u64 uint64_t
#define S_i64 uint64_t
#define S_f64 uint64_t
#define T_u32 uint32_t
#define T_i32 int32_t
#define T_f32 float
#define T_u16 uint32_t
#define T_i16 int32_t
#define T_f16 float
#define T_u64 uint64_t
#define T_i64 int64_t
#define T_f64 double

/* f16 in float is exact; a NaN comes out quiet. */
static inline float
kn_half_to_float(uint32_t h)
{
    uint32_t em = h & 0x7fff, u = em << 13;
    uint32_t r = kn_f32_bits(kn_bits_f32(u) * 0x1p112f);

    r = em >= 0x7c00 ? u | 0x7f800000u : r;
    r = em > 0x7c00 ? r | 0x400000u : r;
    return kn_bits_f32(r | (h & 0x8000) << 16);
}

/* Round to nearest even. */
static inline uint32_t
kn_float_to_half(float f)
{
    uint32_t u = kn_f32_bits(f), a = u & 0x7fffffff;
    uint32_t tiny = kn_f32_bits(kn_bits_f32(a) + 0.5f) - 0x3f000000u;
    uint32_t r = (a + 0xc8000fffu + (a >> 13 & 1)) >> 13;

    r = a < 0x38800000u ? tiny : r;
    r = a >= 0x477ff000u ? 0x7c00 : r;
    r = a > 0x7f800000u ? 0x7e00 | (a >> 13 & 0x3ff) : r;
    return r | (u >> 16 & 0x8000);
}

static inline float
kn_bf16_to_float(uint32_t b)
{
    return kn_bits_f32(b << 16);
}

static inline uint32_t
kn_float_to_bf16(float f)
{
    uint32_t u = kn_f32_bits(f);
    uint32_t r = (u + 0x7fff + (u >> 16 & 1)) >> 16;

    return (u & 0x7fffffff) > 0x7f800000u ? u >> 16 | 0x40 : r;
}

#define get_u32(v) (v)
#define get_i32(v) (int32_t)(v)
#define get_f32(v) kn_bits_f32(v)
#define get_u16(v) ((v) & 0xffff)
#define get_i16(v) (int32_t)(int16_t)((v) & 0xffff)
#define get_f16(v) kn_half_to_float((v) & 0xffff)
#define get_u64(v) (v)
#define get_i64(v) (int64_t)(v)
#define get_f64(v) kn_bits_f64(v)
#define put_u32(v) (uint32_t)(v)
#define put_i32(v) (uint32_t)(v)
#define put_f32(v) kn_f32_bits(v)
#define put_u16(v) ((uint32_t)(v) & 0xffff)
#define put_i16(v) ((uint32_t)(v) & 0xffff)
#define put_f16(v) kn_float_to_half(v)
#define put_u64(v) (uint64_t)(v)
#define put_i64(v) (uint64_t)(v)
#define put_f64(v) kn_f64_bits(v)

/* ---- definitions of lane functions ---- */

#define KN_DEF_V1(id, D, A, value)                                            \
    KN_CLONES void kn_lane_##id(struct kn_lanes *x)                           \
    {                                                                         \
        const S_##A *restrict pa = x->s[0];                                   \
        S_##D *restrict pd = x->d;                                            \
        for (unsigned l = 0; l < KN_LANES; l++) {                             \
            T_##A a = get_##A(pa[l]);                                         \
            pd[l] = put_##D(value);                                           \
        }                                                                     \
    }
#define KN_DEF_V2(id, D, A, B, value)                                         \
    KN_CLONES void kn_lane_##id(struct kn_lanes *x)                           \
    {                                                                         \
        const S_##A *restrict pa = x->s[0];                                   \
        const S_##B *restrict pb = x->s[1];                                   \
        S_##D *restrict pd = x->d;                                            \
        for (unsigned l = 0; l < KN_LANES; l++) {                             \
            T_##A a = get_##A(pa[l]);                                         \
            T_##B b = get_##B(pb[l]);                                         \
            pd[l] = put_##D(value);                                           \
        }                                                                     \
    }
#define KN_DEF_V3(id, D, A, B, C, value)                                      \
    KN_CLONES void kn_lane_##id(struct kn_lanes *x)                           \
    {                                                                         \
        const S_##A *restrict pa = x->s[0];                                   \
        const S_##B *restrict pb = x->s[1];                                   \
        const S_##C *restrict pc = x->s[2];                                   \
        S_##D *restrict pd = x->d;                                            \
        for (unsigned l = 0; l < KN_LANES; l++) {                             \
            T_##A a = get_##A(pa[l]);                                         \
            T_##B b = get_##B(pb[l]);                                         \
            T_##C c = get_##C(pc[l]);                                         \
            pd[l] = put_##D(value);                                           \
        }                                                                     \
    }
#define KN_DEF_VC(id, A, test)                                                \
    KN_CLONES void kn_lane_##id(struct kn_lanes *x)                           \
    {                                                                         \
        const S_##A *restrict pa = x->s[0];                                   \
        const S_##A *restrict pb = x->s[1];                                   \
        uint8_t t[KN_LANES];                                                  \
        for (unsigned l = 0; l < KN_LANES; l++) {                             \
            T_##A a = get_##A(pa[l]), b = get_##A(pb[l]);                     \
            bool r = test;                                                    \
            (void)a, (void)b;                                                 \
            t[l] = r;                                                         \
        }                                                                     \
        x->out = kn_pack_lanes(t);                                            \
    }

/* 64 bytes of 0 or 1 -> a lane mask. */
static inline uint64_t
kn_pack_lanes(const uint8_t t[KN_LANES])
{
    uint64_t m = 0, v;

    for (unsigned k = 0; k < 8; k++) {
        memcpy(&v, t + k * 8, 8);
        m |= (v * 0x0102040810204080ull >> 56) << k * 8;
    }
    return m;
}

#endif
