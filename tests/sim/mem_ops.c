/* What each memory instruction computes. A case leaves one dword per lane in
 * v2; the expectation is written here from the ISA text. The input buffer
 * holds the dwords 0, 1, 2, ..., so byte b of it is byte b%4 of b/4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

#define END "s_endpgm\n"
#define WAIT "s_waitcnt vmcnt(0) lgkmcnt(0)\n"

struct mem_case {
    const char *name, *text;
    uint32_t (*want)(unsigned lane);
    struct program_facts facts;
};

/* s[8:11]: the input buffer, stride, number of bytes. */
#define SRD(stride, bytes) \
    "s_mov_b32 s8, s4\ns_or_b32 s9, s5, (" #stride " << 16)\n" \
    "s_mov_b32 s10, " #bytes "\ns_mov_b32 s11, 0x20000\n"
/* s[12:15]: the output buffer. */
#define SRD_OUT(bytes) \
    "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_mov_b32 s14, " #bytes "\n" \
    "s_mov_b32 s15, 0x20000\n"

#define WANT(name, expr) \
    static uint32_t name(unsigned l) { (void)l; return (uint32_t)(expr); }

/* ---- buffer ------------------------------------------------------------- */

WANT(want_lane, l)
WANT(want_plus_6, l + 6)
WANT(want_records, l < 16 ? l : 0)
WANT(want_x4_last, l * 4 + 3 < 50 ? l * 4 + 3 : 0)
WANT(want_x4_first, l * 4 < 50 ? l * 4 : 0)
WANT(want_stride, 3 * l + 2)
WANT(want_stride_checked, 12 * l + 8 < 96 ? 3 * l + 2 : 0)
WANT(want_byte, l % 4 ? 0 : l / 4)
WANT(want_signed, (int32_t)(int8_t)(128 + l))
WANT(want_signed_short, (int32_t)(int16_t)(0x8000 + l))
WANT(want_d16_lo, 0x12340000u + (l & 0xff))
WANT(want_d16_hi, l << 16 | 0x5678)
WANT(want_dropped, l < 10 ? 77 : 0x7fc0dead)
WANT(want_partial_store, l < 11 ? 100 + l % 4 : 0x7fc0dead)
WANT(want_bytes_stored, 0x7fc0de00u | l)
WANT(want_high_byte, 0x7fc0de00u | 0x5a)
WANT(want_high_short, 0x7fc00000u | 0xa55a)

#define BL(op, rest) "buffer_load_" op " v2, v1, s[8:11], " rest "\n"

static const struct mem_case buffer_cases[] = {
    { "buffer_load offen", SRD(0, 0x10000) BL("dword", "0 offen"), want_lane,
      { 0 } },
    { "buffer_load offsets add", SRD(0, 0x10000) "s_movk_i32 s16, 0x10\n"
      BL("dword", "s16 offen offset:8"), want_plus_6, { 0 } },
    { "buffer_load out of range is zero", SRD(0, 64)
      BL("dword", "0 offen"), want_records, { 0 } },
    { "buffer_load_x4 by component, last", SRD(0, 200)
      "v_lshlrev_b32_e32 v3, 2, v1\n"
      "buffer_load_dwordx4 v[4:7], v3, s[8:11], 0 offen\n" WAIT
      "v_mov_b32_e32 v2, v7\n", want_x4_last, { 0 } },
    { "buffer_load_x4 by component, first", SRD(0, 200)
      "v_lshlrev_b32_e32 v3, 2, v1\n"
      "buffer_load_dwordx4 v[4:7], v3, s[8:11], 0 offen\n" WAIT
      "v_mov_b32_e32 v2, v4\n", want_x4_first, { 0 } },
    { "buffer_load idxen", SRD(12, 0x10000)
      "buffer_load_dword v2, v0, s[8:11], 0 idxen offset:8\n", want_stride,
      { 0 } },
    { "buffer_load idxen, range in bytes", SRD(12, 96)
      "buffer_load_dword v2, v0, s[8:11], 0 idxen offset:8\n",
      want_stride_checked, { 0 } },
    { "buffer_load idxen offen", SRD(12, 0x10000)
      "v_mov_b32_e32 v4, v0\nv_mov_b32_e32 v5, 8\n"
      "buffer_load_dword v2, v[4:5], s[8:11], 0 idxen offen\n", want_stride,
      { 0 } },
    { "buffer_load_ubyte", SRD(0, 0x10000)
      "buffer_load_ubyte v2, v0, s[8:11], 0 offen\n", want_byte, { 0 } },
    { "buffer_load_sbyte", SRD(0, 0x10000)
      BL("sbyte", "0 offen offset:512"), want_signed, { 0 } },
    { "buffer_load_sshort", SRD(0, 0x10000) "s_mov_b32 s10, -1\n"
      "s_add_u32 s8, s6, 0\ns_mov_b32 s9, s7\n"
      "v_add_u32_e32 v3, 0x8000, v0\n"
      "buffer_store_dword v3, v1, s[8:11], 0 offen offset:1024\n" WAIT
      BL("sshort", "0 offen offset:1024"), want_signed_short, { 0 } },
    { "buffer_load_ubyte_d16", SRD(0, 0x10000)
      "v_mov_b32_e32 v2, 0x12345678\n" BL("ubyte_d16", "0 offen"),
      want_d16_lo, { 0 } },
    { "buffer_load_short_d16_hi", SRD(0, 0x10000)
      "v_mov_b32_e32 v2, 0x12345678\n" BL("short_d16_hi", "0 offen"),
      want_d16_hi, { 0 } },
    { "buffer_store out of range is dropped", SRD_OUT(40)
      "v_mov_b32_e32 v3, 0x4d\nbuffer_store_dword v3, v1, s[12:15], 0 offen\n"
      WAIT "s_mov_b32 s14, -1\n"
      "buffer_load_dword v2, v1, s[12:15], 0 offen\n", want_dropped, { 0 } },
    { "buffer_store_x4 by component", SRD_OUT(44)
      "v_mov_b32_e32 v4, 100\nv_mov_b32_e32 v5, 101\nv_mov_b32_e32 v6, 102\n"
      "v_mov_b32_e32 v7, 103\ns_mov_b64 exec, 0xf\n"
      "v_lshlrev_b32_e32 v3, 4, v0\n"
      "buffer_store_dwordx4 v[4:7], v3, s[12:15], 0 offen\n" WAIT
      "s_mov_b64 exec, -1\ns_mov_b32 s14, -1\n"
      "buffer_load_dword v2, v1, s[12:15], 0 offen\n", want_partial_store,
      { 0 } },
    { "buffer_store_byte", SRD_OUT(0x10000)
      "buffer_store_byte v0, v1, s[12:15], 0 offen\n" WAIT
      "buffer_load_dword v2, v1, s[12:15], 0 offen\n", want_bytes_stored,
      { 0 } },
    { "buffer_store_byte_d16_hi", SRD_OUT(0x10000)
      "v_mov_b32_e32 v3, 0xa55affff\n"
      "buffer_store_byte_d16_hi v3, v1, s[12:15], 0 offen\n" WAIT
      "buffer_load_dword v2, v1, s[12:15], 0 offen\n", want_high_byte,
      { 0 } },
    { "buffer_store_short_d16_hi", SRD_OUT(0x10000)
      "v_mov_b32_e32 v3, 0xa55affff\n"
      "buffer_store_short_d16_hi v3, v1, s[12:15], 0 offen\n" WAIT
      "buffer_load_dword v2, v1, s[12:15], 0 offen\n", want_high_short,
      { 0 } },
};

/* ---- global, flat, scratch ---------------------------------------------- */

WANT(want_minus_2, l + 254)
WANT(want_x3, 3 * l + 2)
WANT(want_lds_value, l + 5)
WANT(want_scratch, 1000 + l)
WANT(want_agpr, l)
WANT(want_inactive, l % 2 ? 9 : l)

static const struct mem_case flat_cases[] = {
    { "global_load saddr and negative offset",
      "v_add_u32_e32 v3, 0x400, v1\n"
      "global_load_dword v2, v3, s[4:5] offset:-8\n", want_minus_2, { 0 } },
    { "global_load_dwordx3 64-bit address",
      "v_mad_u32_u24 v3, v0, 12, 0\nv_mov_b32_e32 v5, s5\n"
      "v_add_co_u32_e32 v4, vcc, s4, v3\ns_nop 1\n"
      "v_addc_co_u32_e32 v5, vcc, 0, v5, vcc\n"
      "global_load_dwordx3 v[6:8], v[4:5], off\n" WAIT
      "v_mov_b32_e32 v2, v8\n", want_x3, { 0 } },
    { "global_load into an AGPR", "global_load_dword a3, v1, s[4:5]\n" WAIT
      "v_accvgpr_read_b32 v2, a3\n", want_agpr, { 0 } },
    { "global_load keeps inactive lanes", "v_mov_b32_e32 v2, 9\n"
      "s_mov_b32 exec_lo, 0x55555555\ns_mov_b32 exec_hi, 0x55555555\n"
      "global_load_dword v2, v1, s[4:5]\n" WAIT "s_mov_b64 exec, -1\n",
      want_inactive, { 0 } },
    { "flat_load from the LDS aperture",
      "v_add_u32_e32 v3, 5, v0\nds_write_b32 v1, v3\n" WAIT
      "s_mov_b64 s[8:9], src_shared_base\nv_mov_b32_e32 v4, v1\n"
      "v_mov_b32_e32 v5, s9\nflat_load_dword v2, v[4:5]\n", want_lds_value,
      { .lds = 4096 } },
    { "flat_store to the LDS aperture",
      "v_add_u32_e32 v3, 5, v0\ns_mov_b64 s[8:9], src_shared_base\n"
      "v_mov_b32_e32 v4, v1\nv_mov_b32_e32 v5, s9\n"
      "flat_store_dword v[4:5], v3\n" WAIT "ds_read_b32 v2, v1\n",
      want_lds_value, { .lds = 4096 } },
    { "scratch is private to a lane",
      "v_add_u32_e32 v3, 0x3e8, v0\n"
      "scratch_store_dword off, v3, off offset:12\n" WAIT
      "v_mov_b32_e32 v4, 12\nscratch_load_dword v2, v4, off\n",
      want_scratch, { .scratch = 32 } },
    { "scratch saddr and the private aperture",
      "v_add_u32_e32 v3, 0x3e8, v0\ns_mov_b32 s8, 8\n"
      "scratch_store_dword off, v3, s8 offset:4\n" WAIT
      "s_mov_b64 s[8:9], src_private_base\nv_mov_b32_e32 v4, 12\n"
      "v_mov_b32_e32 v5, s9\nflat_load_dword v2, v[4:5]\n", want_scratch,
      { .scratch = 32 } },
};

/* ---- copies to LDS ------------------------------------------------------ */

WANT(want_dma, l)
WANT(want_dma_offset, l + 4)
WANT(want_dma_x4, l)
WANT(want_dma_oob, l < 16 ? l : 0)
WANT(want_dma_byte, l & 0xff)
WANT(want_dma_inactive, l % 2 ? 9 : l)

#define M0(v) "s_mov_b32 m0, " #v "\ns_nop 0\n"
#define LDS_LANE "ds_read_b32 v2, v1 offset:"

static const struct mem_case dma_cases[] = {
    { "buffer_load_dword lds", SRD(0, 0x10000) M0(0x100)
      "buffer_load_dword v1, s[8:11], 0 offen lds\n" WAIT LDS_LANE "256\n",
      want_dma, { .lds = 4096 } },
    { "lds copy offset counts on both sides", SRD(0, 0x10000) M0(0x100)
      "buffer_load_dword v1, s[8:11], 0 offen offset:16 lds\n" WAIT
      LDS_LANE "272\n", want_dma_offset, { .lds = 4096 } },
    { "buffer_load_dwordx4 lds", SRD(0, 0x10000) M0(0)
      "v_lshlrev_b32_e32 v3, 4, v0\n"
      "buffer_load_dwordx4 v3, s[8:11], 0 offen lds\n" WAIT LDS_LANE "0\n",
      want_dma_x4, { .lds = 4096 } },
    { "lds copy out of range writes zero", SRD(0, 64) M0(0)
      "buffer_load_dword v1, s[8:11], 0 offen lds\n" WAIT LDS_LANE "0\n",
      want_dma_oob, { .lds = 4096 } },
    { "lds copy of bytes has dword slots", SRD(0, 0x10000) M0(0)
      "buffer_load_ubyte v1, s[8:11], 0 offen lds\n" WAIT LDS_LANE "0\n",
      want_dma_byte, { .lds = 4096 } },
    { "global_load_lds_dwordx4", M0(0x200) "v_lshlrev_b32_e32 v3, 4, v0\n"
      "global_load_lds_dwordx4 v3, s[4:5]\n" WAIT LDS_LANE "512\n",
      want_dma_x4, { .lds = 4096 } },
    { "lds copy beyond 64 KB of M0", M0(0x20000)
      "global_load_lds_dword v1, s[4:5]\n" WAIT
      "v_add_u32_e32 v3, 0x20000, v1\nds_read_b32 v2, v3\n", want_dma,
      { .lds = 163840 } },
    { "lds copy skips inactive lanes, slots stay", M0(0)
      "v_mov_b32_e32 v3, 9\nds_write_b32 v1, v3\n" WAIT
      "s_mov_b32 exec_lo, 0x55555555\ns_mov_b32 exec_hi, 0x55555555\n"
      "global_load_lds_dword v1, s[4:5]\n" WAIT "s_mov_b64 exec, -1\n"
      LDS_LANE "0\n", want_dma_inactive, { .lds = 4096 } },
};

/* ---- LDS ---------------------------------------------------------------- */

/* LDS[k] = k as dwords, 0..1023, in front of each of these. */
#define FILL \
    "v_lshlrev_b32_e32 v20, 2, v0\nv_lshlrev_b32_e32 v21, 4, v0\n" \
    "v_add_u32_e32 v22, 0, v20\nv_add_u32_e32 v23, 1, v20\n" \
    "v_add_u32_e32 v24, 2, v20\nv_add_u32_e32 v25, 3, v20\n" \
    "ds_write_b128 v21, v[22:25]\n" \
    "v_add_u32_e32 v22, 0x100, v20\nv_add_u32_e32 v23, 0x101, v20\n" \
    "v_add_u32_e32 v24, 0x102, v20\nv_add_u32_e32 v25, 0x103, v20\n" \
    "ds_write_b128 v21, v[22:25] offset:1024\n" \
    "v_add_u32_e32 v22, 0x200, v20\nv_add_u32_e32 v23, 0x201, v20\n" \
    "v_add_u32_e32 v24, 0x202, v20\nv_add_u32_e32 v25, 0x203, v20\n" \
    "ds_write_b128 v21, v[22:25] offset:2048\n" \
    "v_add_u32_e32 v22, 0x300, v20\nv_add_u32_e32 v23, 0x301, v20\n" \
    "v_add_u32_e32 v24, 0x302, v20\nv_add_u32_e32 v25, 0x303, v20\n" \
    "ds_write_b128 v21, v[22:25] offset:3072\n" WAIT
#define LDS { .lds = 4096 }

WANT(want_b64, 2 * l + 1 + 4)
WANT(want_b96, 3 * l + 2)
WANT(want_b128, 4 * l + 3)
WANT(want_read2, l + 3 + (l + 200))
WANT(want_read2_64, 2 * l + 1 + 2 * (l + 100))
WANT(want_st64, l + 64 + (l + 3 * 64))
WANT(want_u8, (l + 256) & 0xff)
WANT(want_i8, (int32_t)(int8_t)(l + 128))
WANT(want_u16, l + 256)
WANT(want_d16_keeps, 0x12340000u | l)
WANT(want_d16_hi_keeps, (l + 256) << 16 | 0x5678)
WANT(want_write_b8, (l & ~0xffu) | 0x5a)
WANT(want_write_hi, (l & 0xffff0000u) | 0xa55a)
WANT(want_write2, l * 7 + 1)
WANT(want_add, l + 5)
WANT(want_same, l)
WANT(want_sum, 64 * 3)
WANT(want_max, (int32_t)(l - 30) > 0 ? l - 30 : 0)
WANT(want_inc, l >= 10 ? 0 : l + 1)
WANT(want_dec, !l || l > 10 ? 10 : l - 1)
WANT(want_cmpst, l == 7 ? 1000 : l)
WANT(want_mskor, (l & ~3u) | 8)
WANT(want_f32, 0x40a00000)   /* 2.0 + 3.0 */
WANT(want_pk_f16, 0x45004200) /* 5.0, 3.0 */
WANT(want_pk_bf16, 0x40a04040)
WANT(want_u64_carry, l + 1)

#define RMW(op) "v_mov_b32_e32 v3, 5\n" op " v1, v3\n" WAIT \
    "ds_read_b32 v2, v1\n"

static const struct mem_case lds_cases[] = {
    { "ds_read_b64", FILL "v_lshlrev_b32_e32 v3, 3, v0\n"
      "ds_read_b64 v[4:5], v3 offset:16\n" WAIT "v_mov_b32_e32 v2, v5\n",
      want_b64, LDS },
    { "ds_read_b96", FILL "v_mul_u32_u24_e32 v3, 12, v0\n"
      "ds_read_b96 v[4:6], v3\n" WAIT "v_mov_b32_e32 v2, v6\n", want_b96,
      LDS },
    { "ds_read_b128", FILL "v_lshlrev_b32_e32 v3, 4, v0\n"
      "ds_read_b128 v[4:7], v3\n" WAIT "v_mov_b32_e32 v2, v7\n", want_b128,
      LDS },
    { "ds_read2_b32", FILL "ds_read2_b32 v[4:5], v1 offset0:3 offset1:200\n"
      WAIT "v_add_u32_e32 v2, v4, v5\n", want_read2, LDS },
    { "ds_read2_b64", FILL "v_lshlrev_b32_e32 v3, 3, v0\n"
      "ds_read2_b64 v[4:7], v3 offset0:0 offset1:100\n" WAIT
      "v_add_u32_e32 v2, v5, v6\n", want_read2_64, LDS },
    { "ds_read2st64_b32", FILL
      "ds_read2st64_b32 v[4:5], v1 offset0:1 offset1:3\n" WAIT
      "v_add_u32_e32 v2, v4, v5\n", want_st64, LDS },
    { "ds_read_u8", FILL "ds_read_u8 v2, v1 offset:1024\n", want_u8, LDS },
    { "ds_read_i8", FILL "ds_read_i8 v2, v1 offset:512\n", want_i8, LDS },
    { "ds_read_u16", FILL "ds_read_u16 v2, v1 offset:1024\n", want_u16,
      LDS },
    { "ds_read_u8_d16", FILL "v_mov_b32_e32 v2, 0x12345678\n"
      "ds_read_u8_d16 v2, v1\n", want_d16_keeps, LDS },
    { "ds_read_u16_d16_hi", FILL "v_mov_b32_e32 v2, 0x12345678\n"
      "ds_read_u16_d16_hi v2, v1 offset:1024\n", want_d16_hi_keeps, LDS },
    { "ds_write_b8", FILL "v_mov_b32_e32 v3, 0xa55a\nds_write_b8 v1, v3\n"
      WAIT "ds_read_b32 v2, v1\n", want_write_b8, LDS },
    { "ds_write_b16_d16_hi", FILL "v_mov_b32_e32 v3, 0xa55a1234\n"
      "ds_write_b16_d16_hi v1, v3\n" WAIT "ds_read_b32 v2, v1\n",
      want_write_hi, LDS },
    { "ds_write2st64_b32", FILL "v_mul_u32_u24_e32 v3, 7, v0\n"
      "v_mov_b32_e32 v4, 1\n"
      "ds_write2st64_b32 v1, v3, v4 offset0:2 offset1:5\n" WAIT
      "ds_read2st64_b32 v[4:5], v1 offset0:2 offset1:5\n" WAIT
      "v_add_u32_e32 v2, v4, v5\n", want_write2, LDS },
    { "ds_add_u32", FILL RMW("ds_add_u32"), want_add, LDS },
    { "ds_add_rtn_u32", FILL "v_mov_b32_e32 v3, 5\n"
      "ds_add_rtn_u32 v2, v1, v3\n", want_same, LDS },
    { "ds_add_u32 of all lanes to one", FILL "v_mov_b32_e32 v3, 3\n"
      "v_mov_b32_e32 v4, 0\nds_add_u32 v4, v3\n" WAIT "ds_read_b32 v2, v4\n",
      want_sum, LDS },
    { "ds_max_i32", FILL "v_subrev_u32_e32 v3, 30, v0\nv_mov_b32_e32 v4, 0\n"
      "ds_write_b32 v1, v4\nds_max_i32 v1, v3\n" WAIT "ds_read_b32 v2, v1\n",
      want_max, LDS },
    { "ds_inc_u32", FILL "v_mov_b32_e32 v3, 10\nds_inc_u32 v1, v3\n" WAIT
      "ds_read_b32 v2, v1\n", want_inc, LDS },
    { "ds_dec_u32", FILL "v_mov_b32_e32 v3, 10\nds_dec_u32 v1, v3\n" WAIT
      "ds_read_b32 v2, v1\n", want_dec, LDS },
    { "ds_cmpst_b32", FILL "v_mov_b32_e32 v3, 7\nv_mov_b32_e32 v4, 0x3e8\n"
      "ds_cmpst_b32 v1, v3, v4\n" WAIT "ds_read_b32 v2, v1\n", want_cmpst,
      LDS },
    { "ds_mskor_b32", FILL "v_mov_b32_e32 v3, 3\nv_mov_b32_e32 v4, 8\n"
      "v_and_b32_e32 v5, 7, v0\nds_write_b32 v1, v5\n"
      "v_lshrrev_b32_e32 v5, 3, v0\nds_mskor_b32 v1, v3, v4\n" WAIT
      "ds_read_b32 v2, v1\nv_and_b32_e32 v3, 0x38, v0\n" WAIT
      "v_or_b32_e32 v2, v2, v3\n", want_mskor, LDS },
    { "ds_add_f32", "v_mov_b32_e32 v3, 2.0\nv_mov_b32_e32 v4, 0x40400000\n"
      "ds_write_b32 v1, v3\nds_add_f32 v1, v4\n" WAIT "ds_read_b32 v2, v1\n",
      want_f32, LDS },
    { "ds_pk_add_f16", "v_mov_b32_e32 v3, 0x40003c00\n"
      "v_mov_b32_e32 v4, 0x42004000\nds_write_b32 v1, v3\n"
      "ds_pk_add_f16 v1, v4\n" WAIT "ds_read_b32 v2, v1\n", want_pk_f16,
      LDS },
    { "ds_pk_add_bf16", "v_mov_b32_e32 v3, 0x40003f80\n"
      "v_mov_b32_e32 v4, 0x40404000\nds_write_b32 v1, v3\n"
      "ds_pk_add_bf16 v1, v4\n" WAIT "ds_read_b32 v2, v1\n", want_pk_bf16,
      LDS },
    { "ds_add_u64 carries", "v_lshlrev_b32_e32 v3, 3, v0\n"
      "v_mov_b32_e32 v4, -1\nv_mov_b32_e32 v5, v0\n"
      "ds_write_b64 v3, v[4:5]\nv_mov_b32_e32 v6, 1\nv_mov_b32_e32 v7, 0\n"
      "ds_add_u64 v3, v[6:7]\n" WAIT "ds_read_b32 v2, v3 offset:4\n",
      want_u64_carry, LDS },
};

/* ---- lane exchange and transposing reads -------------------------------- */

WANT(want_swap, l ^ 1)
WANT(want_swizzle, (l & ~31u) | ((l & 31) ^ 16))
WANT(want_broadcast, l & ~3u)
WANT(want_reverse, 63 - l)
WANT(want_rotate, (l & 32) | ((l + 3) & 31))
WANT(want_bperm_inactive, l < 32 ? 0 : l - 32)

/* Lane t of 16 lanes reads row t/4 (4 rows of 16 b16 elements, element e of
 * row r being 16 * r + e), the chunk t%4; it gets column t. */
WANT(want_tr_b16, (16 * 2 + l % 16) | (16 * 3 + l % 16) << 16)
WANT(want_tr_b8, ((l % 16) | (16 + l % 16) << 8 | (32 + l % 16) << 16) |
     (uint32_t)(48 + l % 16) << 24)
WANT(want_tr_b4, (l % 16) * 0x11111111u)
WANT(want_tr_b6, (l % 16) * 0x41041u | ((l % 16) & 3u) << 30 |
     (uint32_t)(l % 16) << 24)

/* LDS halfwords h[k] = k for k < 64, at byte 2k. */
#define HALVES \
    "v_lshlrev_b32_e32 v3, 1, v0\nds_write_b16 v3, v0\n" WAIT
#define BYTES "ds_write_b8 v0, v0\n" WAIT
/* nibble n of 16-nibble row r is n: bytes 0x10, 0x32, ... repeated */
#define NIBBLES \
    "v_and_b32_e32 v3, 7, v0\nv_mul_u32_u24_e32 v4, 0x22, v3\n" \
    "v_add_u32_e32 v4, 0x10, v4\nds_write_b8 v0, v4\n" \
    "ds_write_b8 v0, v4 offset:64\n" WAIT
/* 16 6-bit elements 0..15 in 12 bytes, 16 rows of them */
#define SIXES \
    "v_mul_u32_u24_e32 v3, 12, v0\nv_mov_b32_e32 v4, 0x440c2040\n" \
    "v_mov_b32_e32 v5, 0xa2481c61\nv_mov_b32_e32 v6, 0x3ce34c2c\n" \
    "ds_write_b96 v3, v[4:6]\n" WAIT

static const struct mem_case lane_cases[] = {
    { "ds_swizzle quad permute", "ds_swizzle_b32 v2, v0 "
      "offset:swizzle(QUAD_PERM, 1, 0, 3, 2)\n", want_swap, { 0 } },
    { "ds_swizzle swap 16", "ds_swizzle_b32 v2, v0 "
      "offset:swizzle(SWAP, 16)\n", want_swizzle, { 0 } },
    { "ds_swizzle broadcast", "ds_swizzle_b32 v2, v0 "
      "offset:swizzle(BROADCAST, 4, 0)\n", want_broadcast, { 0 } },
    { "ds_swizzle rotate", "ds_swizzle_b32 v2, v0 offset:0xc060\n",
      want_rotate, { 0 } },
    { "ds_bpermute_b32", "v_sub_u32_e32 v3, 63, v0\n"
      "v_lshlrev_b32_e32 v3, 2, v3\nds_bpermute_b32 v2, v3, v0\n",
      want_reverse, { 0 } },
    { "ds_permute_b32", "v_sub_u32_e32 v3, 63, v0\n"
      "v_lshlrev_b32_e32 v3, 2, v3\nds_permute_b32 v2, v3, v0\n",
      want_reverse, { 0 } },
    { "ds_permute_b32 from few lanes", "v_add_u32_e32 v3, 32, v0\n"
      "v_lshlrev_b32_e32 v3, 2, v3\nv_mov_b32_e32 v2, 0\n"
      "ds_permute_b32 v2, v3, v0\n" WAIT
      "v_cmp_lt_u32_e32 vcc, 31, v0\ns_nop 1\n"
      "v_cndmask_b32_e32 v2, 0, v2, vcc\n", want_bperm_inactive, { 0 } },
    { "ds_read_b64_tr_b16", HALVES "v_and_b32_e32 v3, 15, v0\n"
      "v_lshlrev_b32_e32 v3, 3, v3\nds_read_b64_tr_b16 v[4:5], v3\n" WAIT
      "v_mov_b32_e32 v2, v5\n", want_tr_b16, LDS },
    { "ds_read_b64_tr_b8", BYTES "v_and_b32_e32 v3, 7, v0\n"
      "v_lshlrev_b32_e32 v3, 3, v3\nds_read_b64_tr_b8 v[4:5], v3\n" WAIT
      "v_mov_b32_e32 v2, v4\n", want_tr_b8, LDS },
    { "ds_read_b64_tr_b4", NIBBLES "v_and_b32_e32 v3, 15, v0\n"
      "v_lshlrev_b32_e32 v3, 3, v3\nds_read_b64_tr_b4 v[4:5], v3\n" WAIT
      "v_mov_b32_e32 v2, v4\n", want_tr_b4, LDS },
    { "ds_read_b96_tr_b6", SIXES "ds_read_b96_tr_b6 v[4:6], v3\n" WAIT
      "v_mov_b32_e32 v2, v4\n", want_tr_b6, LDS },
};

/* ---- scalar memory and atomics ------------------------------------------ */

WANT(want_s16, 15 + 4)
WANT(want_sbuf, 0)
WANT(want_s_add, 11)
WANT(want_s_stored, 1234)
WANT(want_time, 1)
WANT(want_g_add, 200 + l)
WANT(want_g_old, 100)
WANT(want_g_swap, l)
WANT(want_g_umax, l > 40 ? l : 40)
WANT(want_g_sum_f32, 0x43000000) /* 64 * 2.0 */
WANT(want_dec_wraps, 6)

#define INIT(value) "v_mov_b32_e32 v3, " value "\n" \
    "global_store_dword v1, v3, s[6:7]\n"
#define RELOAD WAIT "global_load_dword v2, v1, s[6:7]\n"

static const struct mem_case other_cases[] = {
    { "s_load_dwordx16", "s_load_dwordx16 s[16:31], s[4:5], 0x10\n" WAIT
      "v_mov_b32_e32 v2, s31\n", want_s16, { 0 } },
    { "s_buffer_load past the range is zero", SRD(0, 8)
      "s_buffer_load_dword s16, s[8:11], 0x8\n" WAIT "v_mov_b32_e32 v2, s16\n",
      want_sbuf, { 0 } },
    { "s_buffer_load", SRD(0, 0x10000) "s_movk_i32 s17, 0x4c\n"
      "s_buffer_load_dword s16, s[8:11], s17\n" WAIT "v_mov_b32_e32 v2, s16\n",
      want_s16, { 0 } },
    { "s_store_dword", "s_movk_i32 s16, 0x4d2\n"
      "s_store_dword s16, s[6:7], 0x0\n" WAIT "s_dcache_wb\n" WAIT
      "v_mov_b32_e32 v3, 0\nglobal_load_dword v2, v3, s[6:7]\n",
      want_s_stored, { 0 } },
    { "s_atomic_add", INIT("4") WAIT "s_mov_b32 s16, 7\n"
      "s_atomic_add s16, s[6:7], 0x0\n" WAIT "v_mov_b32_e32 v3, 0\n"
      "global_load_dword v2, v3, s[6:7]\n", want_s_add, { 0 } },
    { "s_atomic_dec returns the old value", INIT("6") WAIT
      "s_mov_b32 s16, 7\ns_atomic_dec s16, s[6:7], 0x0 glc\n" WAIT
      "v_mov_b32_e32 v2, s16\n", want_dec_wraps, { 0 } },
    { "s_memtime advances", "s_memtime s[16:17]\n" WAIT "s_nop 7\n"
      "s_memtime s[18:19]\n" WAIT "s_cmp_gt_u32 s18, s16\n"
      "s_cselect_b32 s16, 1, 0\nv_mov_b32_e32 v2, s16\n", want_time, { 0 } },
    { "global_atomic_add", INIT("100") "v_add_u32_e32 v4, 100, v0\n"
      "global_atomic_add v1, v4, s[6:7]\n" RELOAD, want_g_add, { 0 } },
    { "global_atomic_add returns", INIT("100") "v_mov_b32_e32 v4, 5\n"
      "global_atomic_add v2, v1, v4, s[6:7] sc0\n", want_g_old, { 0 } },
    { "global_atomic_swap", INIT("100")
      "global_atomic_swap v1, v0, s[6:7]\n" RELOAD, want_g_swap, { 0 } },
    { "global_atomic_umax", INIT("40")
      "global_atomic_umax v1, v0, s[6:7]\n" RELOAD, want_g_umax, { 0 } },
    { "global_atomic_cmpswap",
      "global_store_dword v1, v0, s[6:7]\nv_mov_b32_e32 v4, 0x3e8\n"
      "v_mov_b32_e32 v5, 7\nglobal_atomic_cmpswap v1, v[4:5], s[6:7]\n"
      RELOAD, want_cmpst, { 0 } },
    { "global_atomic_add_f32 of all lanes to one", INIT("0")
      "v_mov_b32_e32 v4, 2.0\nv_mov_b32_e32 v5, 0\n"
      "global_atomic_add_f32 v5, v4, s[6:7]\n" WAIT
      "global_load_dword v2, v5, s[6:7]\n", want_g_sum_f32, { 0 } },
    { "global_atomic_pk_add_bf16", INIT("0x40003f80")
      "v_mov_b32_e32 v4, 0x40404000\n"
      "global_atomic_pk_add_bf16 v1, v4, s[6:7]\n" RELOAD, want_pk_bf16,
      { 0 } },
    { "buffer_atomic_pk_add_f16 in range only", INIT("0x40003c00")
      SRD_OUT(256) "v_mov_b32_e32 v4, 0x42004000\n"
      "buffer_atomic_pk_add_f16 v4, v1, s[12:15], 0 offen\n" RELOAD,
      want_pk_f16, { 0 } },
    { "buffer_atomic_add returns in its data", INIT("100") SRD_OUT(0x10000)
      "v_mov_b32_e32 v2, 5\n"
      "buffer_atomic_add v2, v1, s[12:15], 0 offen sc0\n", want_g_old,
      { 0 } },
};

/* ---- driver ------------------------------------------------------------- */

static void
run_case(void **state)
{
    const struct mem_case *c = *state;
    struct program p;
    char text[4096];
    unsigned wrong = 0;

    snprintf(text, sizeof text,
             "%s" WAIT "s_nop 4\nglobal_store_dword v1, v2, s[6:7] "
             "offset:4092\n" END, c->text);
    program_open(&p, &c->facts, text);
    program_run(&p);
    if (p.status)
        fail_msg("%s", p.ctx.err.text);
    for (unsigned l = 0; l < 64; l++) {
        uint32_t got;

        assert_int_equal(kn_sim_read(p.sim, p.out + 4092 + 4u * l, &got, 4),
                         KILN_OK);
        if (got != c->want(l) && wrong++ < 4)
            print_message("# lane %u: 0x%x, want 0x%x\n", l, got,
                          c->want(l));
    }
    for (unsigned k = 0; k < p.result.nkept; k++)
        if (p.result.findings[k].kind != KN_F_UNINIT_MEM)
            print_message("# %s\n", p.result.findings[k].text);
    program_close(&p);
    assert_int_equal(wrong, 0);
}

#define COUNT(a) (sizeof a / sizeof a[0])

static size_t
add_cases(struct CMUnitTest *t, const struct mem_case *c, size_t n)
{
    for (size_t k = 0; k < n; k++)
        t[k] = (struct CMUnitTest){ c[k].name, run_case, NULL, NULL,
                                    (void *)(uintptr_t)&c[k] };
    return n;
}

int
main(void)
{
    struct CMUnitTest tests[COUNT(buffer_cases) + COUNT(flat_cases) +
                            COUNT(dma_cases) + COUNT(lds_cases) +
                            COUNT(lane_cases) + COUNT(other_cases)];
    size_t n = 0;

    n += add_cases(tests + n, buffer_cases, COUNT(buffer_cases));
    n += add_cases(tests + n, flat_cases, COUNT(flat_cases));
    n += add_cases(tests + n, dma_cases, COUNT(dma_cases));
    n += add_cases(tests + n, lds_cases, COUNT(lds_cases));
    n += add_cases(tests + n, lane_cases, COUNT(lane_cases));
    n += add_cases(tests + n, other_cases, COUNT(other_cases));
    assert_int_equal(n, COUNT(tests));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
