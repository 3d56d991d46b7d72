/* alu_int.c - integer vector instructions. */
#include "alu_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 swide;

#define REF(name, value)                                                      \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c, int mask)        \
    {                                                                         \
        (void)a, (void)b, (void)c, (void)mask;                                \
        return value;                                                         \
    }
#define U32(v) ((uint64_t)(v) & UINT32_MAX)
#define U16(v) ((uint64_t)(v) & 0xffff)
#define S(v) ((int64_t)(int32_t)(v))
#define H(v) ((int64_t)(int16_t)(v))
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))

static int64_t
sat(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t
median(int64_t a, int64_t b, int64_t c)
{
    return a + b + c - MIN(MIN(a, b), c) - MAX(MAX(a, b), c);
}

static uint64_t
bits_of(uint64_t v, unsigned at, unsigned n, bool sign)
{
    uint64_t r = 0;

    for (unsigned k = 0; k < n && k + at < 32; k++)
        r |= (v >> (at + k) & 1) << k;
    for (unsigned k = 32 - at; at + n > 32 && k < n && sign; k++)
        r |= (v >> 31 & 1) << k;
    if (sign && n && r >> (n - 1) & 1)
        r |= ~0ull << n;
    return U32(r);
}

static uint64_t
pick_byte(uint64_t a, uint64_t b, uint64_t sel)
{
    uint8_t in[8];

    for (int k = 0; k < 8; k++)
        in[k] = (uint8_t)((k < 4 ? b : a) >> k % 4 * 8);
    if (sel < 8)
        return in[sel];
    if (sel >= 12)
        return sel == 12 ? 0 : 255;
    return in[(sel - 8) * 2 + 1] & 0x80 ? 255 : 0;
}

static uint64_t
ref_perm(uint64_t a, uint64_t b, uint64_t c, int mask)
{
    uint64_t r = 0;

    (void)mask;
    for (int k = 0; k < 4; k++)
        r |= pick_byte(a, b, c >> k * 8 & 255) << k * 8;
    return r;
}

static uint64_t
ref_bitop3(uint64_t a, uint64_t b, uint64_t c, int mask)
{
    uint64_t r = 0;

    (void)mask;
    for (int k = 0; k < 32; k++) {
        unsigned n = (unsigned)((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1));

        r |= (0x6cull >> n & 1) << k;
    }
    return r;
}

static uint64_t
ref_dot4(uint64_t a, uint64_t b, uint64_t c, int mask)
{
    int64_t r = S(c);

    (void)mask;
    for (int k = 0; k < 4; k++)
        r += (int64_t)(int8_t)(a >> k * 8) * (int8_t)(b >> k * 8);
    return U32(r);
}

static uint64_t
ref_dot8(uint64_t a, uint64_t b, uint64_t c, int mask)
{
    int64_t r = S(c);

    (void)mask;
    for (int k = 0; k < 8; k++)
        r += ((int64_t)(a >> k * 4 & 15) - (a >> k * 4 & 8 ? 16 : 0)) *
             ((int64_t)(b >> k * 4 & 15) - (b >> k * 4 & 8 ? 16 : 0));
    return U32(r);
}

static uint64_t
ref_sad(uint64_t a, uint64_t b, uint64_t c, int mask)
{
    uint64_t r = c;

    (void)mask;
    for (int k = 0; k < 4; k++) {
        int x = (int)(a >> k * 8 & 255), y = (int)(b >> k * 8 & 255);

        r += (uint64_t)(x > y ? x - y : y - x);
    }
    return U32(r);
}

static uint64_t
clz(uint64_t v)
{
    for (unsigned k = 0; k < 32; k++)
        if (v >> (31 - k) & 1)
            return k;
    return UINT32_MAX;
}

static uint64_t
ctz(uint64_t v)
{
    for (unsigned k = 0; k < 32; k++)
        if (v >> k & 1)
            return k;
    return UINT32_MAX;
}

static uint64_t
reverse(uint64_t v)
{
    uint64_t r = 0;

    for (unsigned k = 0; k < 32; k++)
        r |= (v >> k & 1) << (31 - k);
    return r;
}

/* Selectors that are all in use: 0..15. */
REF(r_perm_small, ref_perm(a, b, c & 0x0f0f0f0f, 0))
REF(r_mov, U32(a))
REF(r_mov64, a)
REF(r_not, U32(~a))
REF(r_rev, reverse(a))
REF(r_clz, clz(a))
REF(r_ctz, ctz(a))
REF(r_cls, clz(a >> 31 ? U32(~a) : a))
REF(r_add, U32(a + b))
REF(r_sub, U32(a - b))
REF(r_subrev, U32(b - a))
REF(r_addsat, MIN(a + b, UINT32_MAX))
REF(r_subsat, a > b ? a - b : 0)
REF(r_iaddsat, U32(sat(S(a) + S(b), INT32_MIN, INT32_MAX)))
REF(r_add16, U16(a + b))
REF(r_sub16, U16(a - b))
REF(r_add16sat, MIN(a + b, 0xffff))
REF(r_iadd16sat, U16(sat(H(a) + H(b), -32768, 32767)))
REF(r_and, a & b)
REF(r_or, a | b)
REF(r_xor, a ^ b)
REF(r_xnor, U32(~(a ^ b)))
REF(r_shl, U32(b << a % 32))
REF(r_shr, b >> a % 32)
REF(r_sar, U32(S(b) >> a % 32))
REF(r_shl16, U16(b << a % 16))
REF(r_shr16, b >> a % 16)
REF(r_sar16, U16(H(b) >> a % 16))
REF(r_shl64, b << a % 64)
REF(r_shr64, b >> a % 64)
REF(r_sar64, (uint64_t)((int64_t)b >> a % 64))
REF(r_umin, MIN(a, b))
REF(r_umax, MAX(a, b))
REF(r_imin, U32(MIN(S(a), S(b))))
REF(r_imax, U32(MAX(S(a), S(b))))
REF(r_imin16, U16(MIN(H(a), H(b))))
REF(r_imax16, U16(MAX(H(a), H(b))))
REF(r_mul, U32(a * b))
REF(r_mulhi, a * b >> 32)
REF(r_imulhi, U32((S(a) * S(b)) >> 32))
REF(r_mul16, U16(a * b))
REF(r_mul24, U32((a & 0xffffff) * (b & 0xffffff)))
REF(r_imul24, U32((S(a << 8) >> 8) * (S(b << 8) >> 8)))
REF(r_imulhi24, U32(((S(a << 8) >> 8) * (S(b << 8) >> 8)) >> 32))
REF(r_bfm, U32(((1ull << a % 32) - 1) << b % 32))
REF(r_bcnt, U32(b + (uint64_t)__builtin_popcountll(a)))
REF(r_add3, U32(a + b + c))
REF(r_addshl, U32((a + b) << c % 32))
REF(r_shladd, U32((a << b % 32) + c))
REF(r_shlor, U32(a << b % 32) | c)
REF(r_andor, (a & b) | c)
REF(r_or3, a | b | c)
REF(r_xad, U32((a ^ b) + c))
REF(r_shladd64, (a << b % 8) + c)
REF(r_bfe, bits_of(a, b % 32, c % 32, false))
REF(r_ibfe, bits_of(a, b % 32, c % 32, true))
REF(r_bfi, (a & b) | (U32(~a) & c))
REF(r_alignbit, U32((a << 32 | b) >> c % 32))
REF(r_alignbyte, U32((a << 32 | b) >> c % 4 * 8))
REF(r_mad24, U32((a & 0xffffff) * (b & 0xffffff) + c))
REF(r_imad24, U32((S(a << 8) >> 8) * (S(b << 8) >> 8) + S(c)))
REF(r_mad16, U16(a * b + c))
REF(r_madu16, U32(a * b + c))
REF(r_madi16, U32(H(a) * H(b) + S(c)))
REF(r_umin3, MIN(MIN(a, b), c))
REF(r_umax3, MAX(MAX(a, b), c))
REF(r_umed3, (uint64_t)median((int64_t)a, (int64_t)b, (int64_t)c))
REF(r_imed3, U32(median(S(a), S(b), S(c))))
REF(r_imed316, U16(median(H(a), H(b), H(c))))
REF(r_select, mask ? b : a)
REF(r_carry, (a + b) >> 32)
REF(r_addc, U32(a + b + (uint64_t)mask))
REF(r_carryc, (a + b + (uint64_t)mask) >> 32)
REF(r_borrow, a < b)
REF(r_subb, U32(a - b - (uint64_t)mask))
REF(r_borrowc, a < b + (uint64_t)mask)
REF(r_borrowrev, b < a + (uint64_t)mask)
REF(r_mad64, (uint64_t)((wide)a * b + c))
REF(r_mad64c, (uint64_t)(((wide)a * b + c) >> 64))
REF(r_imad64, (uint64_t)((swide)S(a) * S(b) + (int64_t)c))
REF(r_sadhi, U32((ref_sad(a, b, 0, 0) << 16) + c))
REF(r_prng, U32(a << 1) ^ (a >> 31 ? 197 : 0))
REF(r_ashrpk,
    (uint64_t)(sat(S(a) >> c % 32, -128, 127) & 255) |
        (uint64_t)(sat(S(b) >> c % 32, -128, 127) & 255) << 8)
REF(r_lt, S(a) < S(b))
REF(r_ult, a < b)
REF(r_ne, a != b)
REF(r_ge64, (int64_t)a >= (int64_t)b)
REF(r_gt16, H(a) > H(b))
REF(r_true, 1)
REF(r_lit, U32(a + 0x12345678))
REF(r_inline, U32(a - 16))

static const struct alu_row rows[] = {
    { "v_mov_b32_e32 v10, v20", "i", 'i', r_mov, 0 },
    { "v_mov_b64_e32 v[10:11], v[20:21]", "q", 'q', r_mov64, 0 },
    { "v_accvgpr_write_b32 a3, v20\nv_accvgpr_mov_b32 a4, a3\n"
      "v_accvgpr_read_b32 v10, a4", "i", 'i', r_mov, 0 },
    { "v_not_b32_e32 v10, v20", "i", 'i', r_not, 0 },
    { "v_bfrev_b32_e32 v10, v20", "i", 'i', r_rev, 0 },
    { "v_ffbh_u32_e32 v10, v20", "i", 'i', r_clz, 0 },
    { "v_ffbl_b32_e32 v10, v20", "i", 'i', r_ctz, 0 },
    { "v_ffbh_i32_e32 v10, v20", "i", 'i', r_cls, 0 },
    { "v_prng_b32_e32 v10, v20", "i", 'i', r_prng, 0 },
    { "v_add_u32_e32 v10, v20, v22", "ii", 'i', r_add, 0 },
    { "v_add_u32_e32 v10, 0x12345678, v20", "i", 'i', r_lit, 0 },
    { "v_add_u32_e32 v10, -16, v20", "i", 'i', r_inline, 0 },
    { "v_add_u32_e64 v10, v20, v22 clamp", "ii", 'i', r_addsat, 0 },
    { "v_sub_u32_e32 v10, v20, v22", "ii", 'i', r_sub, 0 },
    { "v_sub_u32_e64 v10, v20, v22 clamp", "ii", 'i', r_subsat, 0 },
    { "v_subrev_u32_e32 v10, v20, v22", "ii", 'i', r_subrev, 0 },
    { "v_add_i32 v10, v20, v22 clamp", "ii", 'i', r_iaddsat, 0 },
    { "v_add_i32 v10, v20, v22", "ii", 'i', r_add, 0 },
    { "v_sub_i32 v10, v20, v22", "ii", 'i', r_sub, 0 },
    { "v_add_u16_e32 v10, v20, v22", "yy", 'i', r_add16, 0 },
    { "v_sub_u16_e32 v10, v20, v22", "yy", 'i', r_sub16, 0 },
    { "v_add_u16_e64 v10, v20, v22 clamp", "yy", 'i', r_add16sat, 0 },
    { "v_add_i16 v10, v20, v22 clamp", "yy", 'i', r_iadd16sat, 0 },
    { "v_and_b32_e32 v10, v20, v22", "ii", 'i', r_and, 0 },
    { "v_or_b32_e32 v10, v20, v22", "ii", 'i', r_or, 0 },
    { "v_xor_b32_e32 v10, v20, v22", "ii", 'i', r_xor, 0 },
    { "v_xnor_b32_e32 v10, v20, v22", "ii", 'i', r_xnor, 0 },
    { "v_lshlrev_b32_e32 v10, v20, v22", "ii", 'i', r_shl, 0 },
    { "v_lshrrev_b32_e32 v10, v20, v22", "ii", 'i', r_shr, 0 },
    { "v_ashrrev_i32_e32 v10, v20, v22", "ii", 'i', r_sar, 0 },
    { "v_lshlrev_b16_e32 v10, v20, v22", "yy", 'i', r_shl16, 0 },
    { "v_lshrrev_b16_e32 v10, v20, v22", "yy", 'i', r_shr16, 0 },
    { "v_ashrrev_i16_e32 v10, v20, v22", "yy", 'i', r_sar16, 0 },
    { "v_lshlrev_b64 v[10:11], v20, v[22:23]", "iq", 'q', r_shl64, 0 },
    { "v_lshrrev_b64 v[10:11], v20, v[22:23]", "iq", 'q', r_shr64, 0 },
    { "v_ashrrev_i64 v[10:11], v20, v[22:23]", "iq", 'q', r_sar64, 0 },
    { "v_min_u32_e32 v10, v20, v22", "ii", 'i', r_umin, 0 },
    { "v_max_u32_e32 v10, v20, v22", "ii", 'i', r_umax, 0 },
    { "v_min_i32_e32 v10, v20, v22", "ii", 'i', r_imin, 0 },
    { "v_max_i32_e32 v10, v20, v22", "ii", 'i', r_imax, 0 },
    { "v_min_u16_e32 v10, v20, v22", "yy", 'i', r_umin, 0 },
    { "v_max_u16_e32 v10, v20, v22", "yy", 'i', r_umax, 0 },
    { "v_min_i16_e32 v10, v20, v22", "yy", 'i', r_imin16, 0 },
    { "v_max_i16_e32 v10, v20, v22", "yy", 'i', r_imax16, 0 },
    { "v_mul_lo_u32 v10, v20, v22", "ii", 'i', r_mul, 0 },
    { "v_mul_hi_u32 v10, v20, v22", "ii", 'i', r_mulhi, 0 },
    { "v_mul_hi_i32 v10, v20, v22", "ii", 'i', r_imulhi, 0 },
    { "v_mul_lo_u16_e32 v10, v20, v22", "yy", 'i', r_mul16, 0 },
    { "v_mul_u32_u24_e32 v10, v20, v22", "ii", 'i', r_mul24, 0 },
    { "v_mul_i32_i24_e32 v10, v20, v22", "ii", 'i', r_imul24, 0 },
    { "v_mul_hi_i32_i24_e32 v10, v20, v22", "ii", 'i', r_imulhi24, 0 },
    { "v_bfm_b32 v10, v20, v22", "ii", 'i', r_bfm, 0 },
    { "v_bcnt_u32_b32 v10, v20, v22", "ii", 'i', r_bcnt, 0 },
    { "v_add3_u32 v10, v20, v22, v24", "iii", 'i', r_add3, 0 },
    { "v_add_lshl_u32 v10, v20, v22, v24", "iii", 'i', r_addshl, 0 },
    { "v_lshl_add_u32 v10, v20, v22, v24", "iii", 'i', r_shladd, 0 },
    { "v_lshl_or_b32 v10, v20, v22, v24", "iii", 'i', r_shlor, 0 },
    { "v_and_or_b32 v10, v20, v22, v24", "iii", 'i', r_andor, 0 },
    { "v_or3_b32 v10, v20, v22, v24", "iii", 'i', r_or3, 0 },
    { "v_xad_u32 v10, v20, v22, v24", "iii", 'i', r_xad, 0 },
    { "v_lshl_add_u64 v[10:11], v[20:21], v22, v[24:25]", "qiq", 'q',
      r_shladd64, 0 },
    { "v_bfe_u32 v10, v20, v22, v24", "iii", 'i', r_bfe, 0 },
    { "v_bfe_i32 v10, v20, v22, v24", "iii", 'i', r_ibfe, 0 },
    { "v_bfi_b32 v10, v20, v22, v24", "iii", 'i', r_bfi, 0 },
    { "v_alignbit_b32 v10, v20, v22, v24", "iii", 'i', r_alignbit, 0 },
    { "v_alignbyte_b32 v10, v20, v22, v24", "iii", 'i', r_alignbyte, 0 },
    { "v_and_b32_e32 v24, 0x0f0f0f0f, v24\nv_perm_b32 v10, v20, v22, v24",
      "iii", 'i', r_perm_small, 0 },
    { "v_perm_b32 v10, v20, v22, v24", "iii", 'i', ref_perm, 0 },
    { "v_bitop3_b32 v10, v20, v22, v24 bitop3:0x6c", "iii", 'i', ref_bitop3,
      0 },
    { "v_mad_u32_u24 v10, v20, v22, v24", "iii", 'i', r_mad24, 0 },
    { "v_mad_i32_i24 v10, v20, v22, v24", "iii", 'i', r_imad24, 0 },
    { "v_mad_u16 v10, v20, v22, v24", "yyy", 'i', r_mad16, 0 },
    { "v_mad_u32_u16 v10, v20, v22, v24", "yyi", 'i', r_madu16, 0 },
    { "v_mad_i32_i16 v10, v20, v22, v24", "yyi", 'i', r_madi16, 0 },
    { "v_min3_u32 v10, v20, v22, v24", "iii", 'i', r_umin3, 0 },
    { "v_max3_u32 v10, v20, v22, v24", "iii", 'i', r_umax3, 0 },
    { "v_med3_u32 v10, v20, v22, v24", "iii", 'i', r_umed3, 0 },
    { "v_med3_i32 v10, v20, v22, v24", "iii", 'i', r_imed3, 0 },
    { "v_med3_i16 v10, v20, v22, v24", "yyy", 'i', r_imed316, 0 },
    { "v_cndmask_b32_e64 v10, v20, v22, s[20:21]", "ii", 'i', r_select, 0 },
    { "s_mov_b64 vcc, s[20:21]\nv_cndmask_b32_e32 v10, v20, v22, vcc", "ii",
      'i', r_select, 0 },
    { "v_add_co_u32_e64 v10, s[22:23], v20, v22", "ii", 'i', r_add, 0 },
    { "v_add_co_u32_e64 v10, s[22:23], v20, v22", "ii", 'm', r_carry, 0 },
    { "v_addc_co_u32_e64 v10, s[22:23], v20, v22, s[20:21]", "ii", 'i',
      r_addc, 0 },
    { "v_addc_co_u32_e64 v10, s[22:23], v20, v22, s[20:21]", "ii", 'm',
      r_carryc, 0 },
    { "v_sub_co_u32_e64 v10, s[22:23], v20, v22", "ii", 'm', r_borrow, 0 },
    { "v_subb_co_u32_e64 v10, s[22:23], v20, v22, s[20:21]", "ii", 'i',
      r_subb, 0 },
    { "v_subb_co_u32_e64 v10, s[22:23], v20, v22, s[20:21]", "ii", 'm',
      r_borrowc, 0 },
    { "v_subbrev_co_u32_e64 v10, s[22:23], v20, v22, s[20:21]", "ii", 'm',
      r_borrowrev, 0 },
    { "v_mad_u64_u32 v[10:11], s[22:23], v20, v22, v[24:25]", "iiq", 'q',
      r_mad64, 0 },
    { "v_mad_u64_u32 v[10:11], s[22:23], v20, v22, v[24:25]", "iiq", 'm',
      r_mad64c, 0 },
    { "v_mad_i64_i32 v[10:11], s[22:23], v20, v22, v[24:25]", "iiq", 'q',
      r_imad64, 0 },
    { "v_sad_u8 v10, v20, v22, v24", "iii", 'i', ref_sad, 0 },
    { "v_sad_hi_u8 v10, v20, v22, v24", "iii", 'i', r_sadhi, 0 },
    { "v_dot4_i32_i8 v10, v20, v22, v24", "iii", 'i', ref_dot4, 0 },
    { "v_mov_b32_e32 v10, v24\nv_dot4c_i32_i8_e32 v10, v20, v22", "iii", 'i',
      ref_dot4, 0 },
    { "v_dot8_i32_i4 v10, v20, v22, v24", "iii", 'i', ref_dot8, 0 },
    { "v_ashr_pk_i8_i32 v10, v20, v22, v24", "iii", 'i', r_ashrpk, 0 },
    { "v_cmp_lt_i32_e64 s[22:23], v20, v22", "ii", 'm', r_lt, 0 },
    { "v_cmp_lt_u32_e64 s[22:23], v20, v22", "ii", 'm', r_ult, 0 },
    { "v_cmp_ne_u32_e32 vcc, v20, v22\ns_mov_b64 s[22:23], vcc", "ii", 'm',
      r_ne, 0 },
    { "v_cmp_ge_i64_e64 s[22:23], v[20:21], v[22:23]", "qq", 'm', r_ge64, 0 },
    { "v_cmp_gt_i16_e64 s[22:23], v20, v22", "yy", 'm', r_gt16, 0 },
    { "v_cmp_t_u64_e64 s[22:23], v[20:21], v[22:23]", "qq", 'm', r_true, 0 },
};

static void
integers(void **state)
{
    (void)state;
    alu_check(rows, sizeof rows / sizeof *rows);
}

static uint64_t
qsad_of(uint64_t a, uint64_t b, uint64_t c, bool masked)
{
    uint64_t r = 0;

    for (int k = 0; k < 4; k++) {
        uint64_t sum = c >> k * 16 & 0xffff;

        for (int n = 0; n < 4; n++) {
            int x = (int)(a >> (k + n) * 8 & 255);
            int y = (int)(b >> n * 8 & 255);

            if (y || !masked)
                sum += (uint64_t)(x > y ? x - y : y - x);
        }
        r |= (sum & 0xffff) << k * 16;
    }
    return r;
}
REF(r_qsad, qsad_of(a, b, c, false))
REF(r_mqsad, qsad_of(a, b, c, true))

static void
byte_distances(void **state)
{
    static const struct alu_row t[] = {
        { "v_qsad_pk_u16_u8 v[10:11], v[20:21], v22, v[24:25]", "qiq", 'q',
          r_qsad, 0 },
        { "v_mqsad_pk_u16_u8 v[10:11], v[20:21], v22, v[24:25]", "qiq", 'q',
          r_mqsad, 0 },
    };

    (void)state;
    alu_check(t, 2);
}

/* v_mbcnt counts the set bits of lanes below. */
static void
lane_counts(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "v_mbcnt_lo_u32_b32 v10, s4, 3\n"
        "v_mbcnt_hi_u32_b32 v10, s5, v10");

    (void)state;
    s->w.s[4] = 0x80000011;
    s->w.s[5] = 0x80000003;
    snippet_run(s);
    for (unsigned l = 0; l < KN_LANES; l++) {
        uint64_t m = 0x8000000380000011, n = 3;

        for (unsigned k = 0; k < l; k++)
            n += m >> k & 1;
        assert_int_equal(s->v[10][l], n);
    }
    snippet_close(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(byte_distances),
        cmocka_unit_test(lane_counts),
    };

    return cmocka_run_group_tests_name("alu_int", tests, NULL, NULL);
}
