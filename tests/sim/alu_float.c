/* alu_float.c - floating point and conversions of the vector unit. The
 * expected values are computed in a wider type and rounded once. */
#include <math.h>

#include "../../runtime/sim/num.h"
#include "../../runtime/sim/operand.h"
#include "alu_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

__extension__ typedef __float128 quad;

#define REF(name, value)                                                      \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c, int mask)        \
    {                                                                         \
        (void)a, (void)b, (void)c, (void)mask;                                \
        return value;                                                         \
    }
#define F(v) (double)alu_f(v)
#define D(v) alu_d(v)
#define H(v) alu_h(v)
#define TO_F(v) alu_fb((float)(v))
#define TO_D(v) alu_db((double)(v))
#define TO_H(v) alu_hb((double)(v))

static bool
nan32(uint64_t v)
{
    return alu_f(v) != alu_f(v);
}

static bool
snan32(uint64_t v)
{
    return nan32(v) && !(v & 0x400000);
}

/* MODE.IEEE is on: a signalling NaN wins; else the number wins. */
static uint64_t
pick(uint64_t a, uint64_t b, bool larger)
{
    bool less;

    if (snan32(a) || snan32(b))
        return 0x7fc00000;
    if (nan32(a) || nan32(b))
        return nan32(a) ? b : a;
    less = F(a) < F(b) || (F(a) == F(b) && a >> 31 > b >> 31);
    return less != larger ? a : b;
}

/* The maximum goes, the larger of the rest stays; zeroes are equal, so that
 * which of them goes is by position. */
static uint64_t
middle(uint64_t a, uint64_t b, uint64_t c)
{
    double top = fmax(fmax(F(a), F(b)), F(c));

    if (nan32(a) || nan32(b) || nan32(c))
        return pick(pick(a, b, false), c, false);
    if (F(a) >= top)
        return pick(b, c, true);
    return F(b) >= top ? pick(a, c, true) : pick(a, b, true);
}

static bool
tiny(uint64_t v)
{
    return !(v & 0x7f800000);
}

static uint64_t
flush(uint64_t v)
{
    return tiny(v) ? v & 0x80000000 : v;
}

static int64_t
saturate(double v, double lo, double hi)
{
    if (v != v)
        return 0;
    return (int64_t)trunc(v < lo ? lo : v > hi ? hi : v);
}

static uint64_t
class_bit(double v, uint64_t quiet, bool denormal)
{
    if (v != v)
        return quiet ? 1 : 0;
    if (isinf(v))
        return v < 0 ? 2 : 9;
    if (v == 0)
        return signbit(v) ? 5 : 6;
    if (denormal)
        return v < 0 ? 4 : 7;
    return v < 0 ? 3 : 8;
}

static uint64_t
to_bf16(double v)
{
    uint64_t u = alu_fb((float)v), lo = u >> 16, half = 0x8000, rest;

    if (v != v)
        return 0x7fc0;
    rest = u & 0xffff;
    return lo + (rest > half || (rest == half && lo & 1));
}

static double
from_bf16(uint64_t v)
{
    return F(v << 16);
}

static uint64_t
to_half_rtz(double v)
{
    uint64_t h = alu_hb(v);

    if (!isinf(v) && (h & 0x7fff) == 0x7c00)
        return h - 1;
    return v == v && fabs(H(h)) > fabs(v) ? h - 1 : h;
}

/* p + c for one rounding to a shorter type: what the sum in 113 bits loses
 * only matters by its sign. */
static quad
fused(quad p, quad c)
{
    quad s = p + c, t = s - p, err = (p - (s - t)) + (c - t);
    quad nudge = (s < 0 ? -s : s) * 0x1p-110;

    if (err > 0)
        return s + nudge;
    return err < 0 ? s - nudge : s;
}

REF(r_add, TO_F((quad)F(a) + F(b)))
REF(r_sub, TO_F((quad)F(a) - F(b)))
REF(r_mul, TO_F(F(a) * F(b)))
REF(r_fma, TO_F(fused((quad)F(a) * F(b), F(c))))
REF(r_fma_neg, TO_F(fused(-(quad)F(a) * fabs(F(b)), F(c))))
REF(r_min, pick(a, b, false))
REF(r_max, pick(a, b, true))
REF(r_max3, pick(pick(a, b, true), c, true))
REF(r_med3, middle(a, b, c))
REF(r_ceil, TO_F(ceil(F(a))))
REF(r_floor, TO_F(floor(F(a))))
REF(r_trunc, TO_F(trunc(F(a))))
REF(r_rndne, TO_F(rint(F(a))))
REF(r_rcp, flush(TO_F(1.0L / F(flush(a)))))
REF(r_sqrt, TO_F(sqrtl((long double)F(a))))
REF(r_rsq, flush(TO_F(1.0L / sqrtl((long double)F(flush(a))))))
REF(r_exp, flush(TO_F(exp2l((long double)F(flush(a))))))
REF(r_log, flush(TO_F(log2l((long double)F(flush(a))))))
REF(r_ldexp, TO_F(ldexpl((long double)F(a), (int32_t)b)))
REF(r_add64, TO_D((quad)D(a) + D(b)))
REF(r_mul64, TO_D((quad)D(a) * D(b)))
REF(r_fma64, TO_D(fused((quad)D(a) * D(b), D(c))))
REF(r_sqrt64, TO_D(sqrt(D(a))))
REF(r_addh, TO_H(H(a) + H(b)))
REF(r_mulh, TO_H(H(a) * H(b)))
REF(r_floorh, TO_H(floor(H(a))))
REF(r_sqrth, TO_H(sqrt(H(a))))
REF(r_i2f, TO_F((int32_t)a))
REF(r_u2f, TO_F(a))
REF(r_ub1, TO_F(a >> 8 & 255))
REF(r_h2f, TO_F(H(a)))
REF(r_f2h, TO_H(F(a)))
REF(r_f2d, TO_D(F(a)))
REF(r_d2f, TO_F(D(a)))
REF(r_f2i, (uint32_t)saturate(F(a), -2147483648.0, 2147483647.0))
REF(r_f2u, (uint32_t)saturate(F(a), 0, 4294967295.0))
REF(r_d2i, (uint32_t)saturate(D(a), -2147483648.0, 2147483647.0))
REF(r_i2d, TO_D((int32_t)a))
REF(r_h2i, (uint64_t)saturate(H(a), -32768, 32767) & 0xffff)
REF(r_pkrtz, to_half_rtz(F(a)) | to_half_rtz(F(b)) << 16)
REF(r_pkh, TO_H(F(a)) | TO_H(F(b)) << 16)
REF(r_pkbf, to_bf16(F(a)) | to_bf16(F(b)) << 16)
REF(r_pku8, (c & ~(255ull << (b & 3) * 8)) |
            (uint64_t)saturate(nearbyint(F(a)), 0, 255) << (b & 3) * 8)
REF(r_bf2f, TO_F(from_bf16(a & 0xffff)))
REF(r_class,
    b >> class_bit(F(a), a & 0x400000, tiny(a)) & 1)
REF(r_class64,
    b >> class_bit(D(a), a >> 51 & 1, !(a >> 52 & 2047)) & 1)
REF(r_lt, F(a) < F(b))
REF(r_nlt, !(F(a) < F(b)))
REF(r_unord, nan32(a) || nan32(b))
REF(r_lg64, D(a) < D(b) || D(a) > D(b))
REF(r_eqh, H(a) == H(b))
REF(r_pkadd, TO_F(F(a) + F(b)) | TO_F(F(a >> 32) + F(b >> 32)) << 32)
REF(r_pkfma, TO_F(fused((quad)F(a) * F(b), F(c))) |
             TO_F(fused((quad)F(a >> 32) * F(b >> 32), F(c >> 32))) << 32)
REF(r_pkmul_lo, TO_F(F(a) * F(b)) | TO_F(F(a >> 32) * F(b)) << 32)
REF(r_pk_addh, TO_H(H(a & 0xffff) + H(b & 0xffff)) |
               TO_H(H(a >> 16) + H(b >> 16)) << 16)
REF(r_pk_addh_sel, TO_H(H(a >> 16) - H(b & 0xffff)) |
                   TO_H(H(a & 0xffff) + H(b & 0xffff)) << 16)
REF(r_mix, TO_F(fused((quad)H(a >> 16) * F(b), -F(c))))
REF(r_inline_h, TO_H(H(a) + 0.5))
REF(r_inline_f, TO_F(F(a) * -4.0))
REF(r_inline_d, TO_D(D(a) + 0.5))

/* fma of f16: products and sums of f16 are exact in 128 bits. */
REF(r_fmah, TO_H((long double)((quad)H(a) * H(b) + H(c))))

/* A NaN that is not in the result's own place is compared by its class. */
static const struct alu_row rows[] = {
    { "v_add_f32_e32 v10, v20, v22", "ff", 'f', r_add, 0 },
    { "v_sub_f32_e32 v10, v20, v22", "ff", 'f', r_sub, 0 },
    { "v_subrev_f32_e32 v10, v22, v20", "ff", 'f', r_sub, 0 },
    { "v_mul_f32_e32 v10, v20, v22", "ff", 'f', r_mul, 0 },
    { "v_mul_f32_e32 v10, -4.0, v20", "f", 'f', r_inline_f, 0 },
    { "v_fma_f32 v10, v20, v22, v24", "fff", 'f', r_fma, 0 },
    { "v_fma_f32 v10, -v20, |v22|, v24", "fff", 'f', r_fma_neg, 0 },
    { "v_mov_b32_e32 v10, v24\nv_fmac_f32_e32 v10, v20, v22", "fff", 'f',
      r_fma, 0 },
    { "v_min_f32_e32 v10, v20, v22", "ff", 'f', r_min, 0 },
    { "v_max_f32_e32 v10, v20, v22", "ff", 'f', r_max, 0 },
    { "v_max3_f32 v10, v20, v22, v24", "fff", 'f', r_max3, 0 },
    { "v_med3_f32 v10, v20, v22, v24", "fff", 'f', r_med3, 0 },
    { "v_ceil_f32_e32 v10, v20", "f", 'f', r_ceil, 0 },
    { "v_floor_f32_e32 v10, v20", "f", 'f', r_floor, 0 },
    { "v_trunc_f32_e32 v10, v20", "f", 'f', r_trunc, 0 },
    { "v_rndne_f32_e32 v10, v20", "f", 'f', r_rndne, 0 },
    { "v_rcp_f32_e32 v10, v20", "f", 'f', r_rcp, 0 },
    { "v_sqrt_f32_e32 v10, v20", "f", 'f', r_sqrt, 0 },
    { "v_rsq_f32_e32 v10, v20", "f", 'f', r_rsq, 0 },
    { "v_exp_f32_e32 v10, v20", "f", 'f', r_exp, 0 },
    { "v_log_f32_e32 v10, v20", "f", 'f', r_log, 0 },
    { "v_ldexp_f32 v10, v20, v22", "fi", 'f', r_ldexp, 0 },
    { "v_add_f64 v[10:11], v[20:21], v[22:23]", "dd", 'd', r_add64, 0 },
    { "v_add_f64 v[10:11], v[20:21], 0.5", "d", 'd', r_inline_d, 0 },
    { "v_mul_f64 v[10:11], v[20:21], v[22:23]", "dd", 'd', r_mul64, 0 },
    { "v_fma_f64 v[10:11], v[20:21], v[22:23], v[24:25]", "ddd", 'd',
      r_fma64, 0 },
    { "v_sqrt_f64_e32 v[10:11], v[20:21]", "d", 'd', r_sqrt64, 0 },
    { "v_add_f16_e32 v10, v20, v22", "hh", 'h', r_addh, 0 },
    { "v_add_f16_e32 v10, 0.5, v20", "h", 'h', r_inline_h, 0 },
    { "v_mul_f16_e32 v10, v20, v22", "hh", 'h', r_mulh, 0 },
    { "v_fma_f16 v10, v20, v22, v24", "hhh", 'h', r_fmah, 0 },
    { "v_floor_f16_e32 v10, v20", "h", 'h', r_floorh, 0 },
    { "v_sqrt_f16_e32 v10, v20", "h", 'h', r_sqrth, 0 },
    { "v_cvt_f32_i32_e32 v10, v20", "i", 'f', r_i2f, 0 },
    { "v_cvt_f32_u32_e32 v10, v20", "i", 'f', r_u2f, 0 },
    { "v_cvt_f32_ubyte1_e32 v10, v20", "i", 'f', r_ub1, 0 },
    { "v_cvt_f32_f16_e32 v10, v20", "h", 'f', r_h2f, 0 },
    { "v_cvt_f16_f32_e32 v10, v20", "f", 'h', r_f2h, 0 },
    { "v_cvt_f64_f32_e32 v[10:11], v20", "f", 'd', r_f2d, 0 },
    { "v_cvt_f32_f64_e32 v10, v[20:21]", "d", 'f', r_d2f, 0 },
    { "v_cvt_i32_f32_e32 v10, v20", "f", 'i', r_f2i, 0 },
    { "v_cvt_u32_f32_e32 v10, v20", "f", 'i', r_f2u, 0 },
    { "v_cvt_i32_f64_e32 v10, v[20:21]", "d", 'i', r_d2i, 0 },
    { "v_cvt_f64_i32_e32 v[10:11], v20", "i", 'd', r_i2d, 0 },
    { "v_cvt_pk_u8_f32 v10, v20, v22, v24", "fii", 'i', r_pku8, 0 },
    { "v_cvt_i16_f16_e32 v10, v20", "h", 'i', r_h2i, 0 },
    { "v_cvt_f32_bf16_e32 v10, v20", "i", 'f', r_bf2f, 0 },
    { "v_cmp_class_f32_e64 s[22:23], v20, v22", "fi", 'm', r_class, 0 },
    { "v_cmp_class_f64_e64 s[22:23], v[20:21], v22", "di", 'm', r_class64,
      0 },
    { "v_cmp_lt_f32_e64 s[22:23], v20, v22", "ff", 'm', r_lt, 0 },
    { "v_cmp_nlt_f32_e64 s[22:23], v20, v22", "ff", 'm', r_nlt, 0 },
    { "v_cmp_u_f32_e64 s[22:23], v20, v22", "ff", 'm', r_unord, 0 },
    { "v_cmp_lg_f64_e64 s[22:23], v[20:21], v[22:23]", "dd", 'm', r_lg64,
      0 },
    { "v_cmp_eq_f16_e64 s[22:23], v20, v22", "hh", 'm', r_eqh, 0 },
    { "v_fma_mix_f32 v10, v20, v22, -v24 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
      "pff", 'f', r_mix, 0 },
};

static void
floats(void **state)
{
    (void)state;
    alu_check(rows, sizeof rows / sizeof *rows);
}

/* Results of two numbers in a register: NaNs would have to be compared half
 * by half, so the operands are numbers. */
static void
packed(void **state)
{
    static const struct {
        const char *text;
        char half;           /* 'f' or 'h': type of a half */
        uint64_t (*ref)(uint64_t, uint64_t, uint64_t, int);
    } t[] = {
        { "v_pk_add_f32 v[10:11], v[20:21], v[22:23]", 'f', r_pkadd },
        { "v_pk_fma_f32 v[10:11], v[20:21], v[22:23], v[24:25]", 'f',
          r_pkfma },
        { "v_pk_mul_f32 v[10:11], v[20:21], v[22:23] op_sel_hi:[1,0]", 'f',
          r_pkmul_lo },
        { "v_pk_add_f16 v10, v20, v22", 'h', r_pk_addh },
        { "v_pk_add_f16 v10, v20, v22 op_sel:[1,0] op_sel_hi:[0,0]"
          " neg_lo:[0,1]", 'h', r_pk_addh_sel },
        { "v_cvt_pkrtz_f16_f32 v10, v20, v22", 'F', r_pkrtz },
        { "v_cvt_pk_f16_f32 v10, v20, v22", 'F', r_pkh },
        { "v_cvt_pk_bf16_f32 v10, v20, v22", 'F', r_pkbf },
    };
    struct snippet_rng rng = { 77 };

    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        struct snippet *s = snippet_open(KILN_GFX950, t[k].text);
        uint64_t in[3], got, want;
        unsigned n = 0;

        while (n < 500) {
            bool good = true;

            for (int o = 0; o < 3; o++) {
                char c = t[k].half == 'h' ? 'p' : 'P';

                in[o] = snippet_operand(&rng, c);
                if (t[k].half == 'h')
                    good &= (in[o] & 0x7c00) != 0x7c00 &&
                            (in[o] & 0x7c000000) != 0x7c000000;
                else
                    good &= !nan32(in[o]) && !nan32(in[o] >> 32) &&
                            !isinf(F(in[o])) && !isinf(F(in[o] >> 32));
                s->v[20 + o * 2][5] = (uint32_t)in[o];
                s->v[21 + o * 2][5] = (uint32_t)(in[o] >> 32);
            }
            if (!good)
                continue;
            n++;
            assert_int_equal(snippet_run(s), KILN_OK);
            got = s->v[10][5];
            if (t[k].half == 'f')
                got |= (uint64_t)s->v[11][5] << 32;
            want = t[k].ref(in[0], in[1], in[2], 0);
            if (nan32(want) || nan32(want >> 32))
                continue;    /* overflow minus overflow */
            if (got != want)
                fail_msg("%s: %llx %llx %llx: %llx, want %llx", t[k].text,
                         (unsigned long long)in[0], (unsigned long long)in[1],
                         (unsigned long long)in[2], (unsigned long long)got,
                         (unsigned long long)want);
        }
        snippet_close(s);
    }
}

static uint32_t
one(const char *text, uint32_t a, uint32_t mode_clear)
{
    struct snippet *s = snippet_open(KILN_GFX950, text);
    uint32_t r;

    s->w.mode &= ~mode_clear;
    for (unsigned l = 0; l < KN_LANES; l++)
        s->v[20][l] = a;
    assert_int_equal(snippet_run(s), KILN_OK);
    r = s->v[10][63];
    snippet_close(s);
    return r;
}

/* Denormals by MODE, clamp, output modifiers, rounding mode. */
static void
modes(void **state)
{
    (void)state;
    /* bit 4: f32 inputs, bit 5: f32 outputs, bits 6, 7: f16 */
    assert_int_equal(one("v_mul_f32_e32 v10, 1.0, v20", 1, 0), 1);
    assert_int_equal(one("v_mul_f32_e32 v10, 1.0, v20", 0x80000001, 0x10),
                     0x80000000);
    assert_int_equal(one("v_mul_f32_e32 v10, 0.5, v20", 0x00800000, 0x20),
                     0);
    assert_int_equal(one("v_mul_f32_e32 v10, 0.5, v20", 0x00800000, 0x10),
                     0x00400000);
    assert_int_equal(one("v_add_f16_e32 v10, 0, v20", 1, 0), 1);
    assert_int_equal(one("v_add_f16_e32 v10, 0, v20", 1, 0x40), 0);
    assert_int_equal(one("v_mov_b32_e32 v10, v20", 1, 0xf0), 1);
    /* clamp: NaN is 0 with DX10_CLAMP, kept without */
    assert_int_equal(one("v_add_f32_e64 v10, v20, 1.0 clamp", 0x40000000, 0),
                     0x3f800000);
    assert_int_equal(one("v_add_f32_e64 v10, v20, 0 clamp", 0xbf800000, 0), 0);
    assert_int_equal(one("v_add_f32_e64 v10, v20, 0 clamp", 0x7fc00000, 0), 0);
    assert_int_equal(one("v_add_f32_e64 v10, v20, 0 clamp", 0x7fc00000,
                         1 << 8), 0x7fc00000);
    assert_int_equal(one("v_mul_f32_e64 v10, v20, 1.0 mul:4", 0x3f800000, 0),
                     0x40800000);
    assert_int_equal(one("v_mul_f32_e64 v10, v20, 1.0 div:2", 0x3f800000, 0),
                     0x3f000000);
    /* 1 + 2^-24: to nearest 1, upward 1 + 2^-23 */
    assert_int_equal(one("v_add_f32_e32 v10, 1.0, v20", 0x33800000, 0),
                     0x3f800000);
    assert_int_equal(one("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n"
                         "v_add_f32_e32 v10, 1.0, v20", 0x33800000, 0),
                     0x3f800001);
    /* 2.5 and 3.5: halves go to even; the place counts modulo 4 */
    assert_int_equal(one("v_cvt_pk_u8_f32 v10, v20, 2, 0", 0x40200000, 0),
                     0x020000);
    assert_int_equal(one("v_cvt_pk_u8_f32 v10, v20, 5, -1", 0x40600000, 0),
                     0xffff04ff);
    /* the GPU's default NaN is positive, a NaN operand keeps its payload */
    assert_int_equal(one("v_sub_f32_e32 v10, v20, v20", 0x7f800000, 0),
                     0x7fc00000);
    assert_int_equal(one("v_add_f32_e32 v10, 1.0, v20", 0xffc01234, 0),
                     0xffc01234);
}

/* Every rounding of v_cvt_pk_{fp8,bf8}_f32 is the table's of num.h. */
static void
small_packs(void **state)
{
    struct snippet_rng rng = { 11 };

    (void)state;
    for (int k = 0; k < 8; k++) {
        kiln_target t = k & 1 ? KILN_GFX942 : KILN_GFX950;
        enum kn_num f = k & 2 ? kn_num_bf8(t) : kn_num_fp8(t);
        struct kn_rounding r = { .saturate = k & 4 };
        struct snippet *s = snippet_open(t,
            k & 2 ? "v_cvt_pk_bf8_f32 v10, v20, v22"
                  : "v_cvt_pk_fp8_f32 v10, v20, v22");

        if (k & 4)
            s->w.mode |= KN_MODE_FP16_OVFL;
        for (int round = 0; round < 300; round++) {
            for (unsigned l = 0; l < KN_LANES; l++) {
                s->v[20][l] = (uint32_t)snippet_operand(&rng, 'f');
                s->v[22][l] = (uint32_t)snippet_next(&rng);
                if (round & 1)   /* exponents of the format, ties */
                    s->v[22][l] = (s->v[22][l] & 0x80f80000) |
                                  (107 + s->v[22][l] % 40) << 23;
            }
            assert_int_equal(snippet_run(s), KILN_OK);
            for (unsigned l = 0; l < KN_LANES; l++) {
                uint32_t want =
                    kn_num_from_f32(f, kn_bits_f32(s->v[20][l]), r) |
                    kn_num_from_f32(f, kn_bits_f32(s->v[22][l]), r) << 8;

                if (s->v[10][l] != want)
                    fail_msg("format %d of %08x %08x: %04x, want %04x", f,
                             s->v[20][l], s->v[22][l], s->v[10][l], want);
            }
        }
        snippet_close(s);
    }
}

/* The whole division sequence gives the correctly rounded quotient. */
static void
division(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "v_div_scale_f32 v30, s[8:9], v22, v22, v20\n"
        "v_div_scale_f32 v31, vcc, v20, v22, v20\n"
        "v_rcp_f32_e32 v32, v30\n"
        "v_fma_f32 v33, -v30, v32, 1.0\n"
        "v_fma_f32 v32, v33, v32, v32\n"
        "v_mul_f32_e32 v33, v31, v32\n"
        "v_fma_f32 v34, -v30, v33, v31\n"
        "v_fma_f32 v33, v34, v32, v33\n"
        "v_fma_f32 v30, -v30, v33, v31\n"
        "v_div_fmas_f32 v30, v30, v32, v33\n"
        "v_div_fixup_f32 v10, v30, v22, v20");
    struct snippet_rng rng = { 5 };

    (void)state;
    for (int round = 0; round < 200; round++) {
        for (unsigned l = 0; l < KN_LANES; l++) {
            s->v[20][l] = (uint32_t)snippet_operand(&rng, 'f');
            s->v[22][l] = (uint32_t)snippet_operand(&rng, 'f');
        }
        assert_int_equal(snippet_run(s), KILN_OK);
        for (unsigned l = 0; l < KN_LANES; l++) {
            uint64_t want = TO_F(F(s->v[20][l]) / F(s->v[22][l]));

            if (nan32(want) && nan32(s->v[10][l]))
                continue;
            if (want != s->v[10][l])
                fail_msg("%08x / %08x: %08x, want %08x", s->v[20][l],
                         s->v[22][l], s->v[10][l], (uint32_t)want);
        }
    }
    snippet_close(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),
        cmocka_unit_test(packed),
        cmocka_unit_test(modes),
        cmocka_unit_test(small_packs),
        cmocka_unit_test(division),
    };

    return cmocka_run_group_tests_name("alu_float", tests, NULL, NULL);
}
