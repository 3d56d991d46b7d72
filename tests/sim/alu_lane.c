/* alu_lane.c - EXEC, lane moves, DPP, SDWA, halves of registers, conversions
 * to and from small floats, indexed registers. */
#include <math.h>

#include "alu_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* v20 = 1000 + lane, v22 = 7 * lane, v10 = 0xaaaa0000 + lane before. */
static struct snippet *
open_lanes(const char *text)
{
    struct snippet *s = snippet_open(KILN_GFX950, text);

    for (unsigned l = 0; l < KN_LANES; l++) {
        s->v[20][l] = 1000 + l;
        s->v[22][l] = 7 * l;
        s->v[10][l] = 0xaaaa0000 + l;
    }
    return s;
}

static void
set_exec(struct snippet *s, uint64_t m)
{
    s->w.s[KN_S_EXEC] = (uint32_t)m;
    s->w.s[KN_S_EXEC + 1] = (uint32_t)(m >> 32);
}

static void
inactive_lanes_keep(void **state)
{
    const uint64_t m = 0x8000000f0000ff01;
    struct snippet *s = open_lanes(
        "v_add_u32_e32 v10, v20, v22\n"
        "v_cmp_lt_u32_e64 s[22:23], v22, v20\n"
        "v_lshlrev_b64 v[12:13], 0, v[20:21]\n"
        "v_accvgpr_write_b32 a5, v20");

    (void)state;
    set_exec(s, m);
    s->w.s[22] = UINT32_MAX;
    assert_int_equal(snippet_run(s), KILN_OK);
    for (unsigned l = 0; l < KN_LANES; l++) {
        bool on = m >> l & 1;

        assert_int_equal(s->v[10][l], on ? 1000 + 8 * l : 0xaaaa0000 + l);
        assert_int_equal(s->v[12][l], on ? 1000 + l : 0);
        assert_int_equal(s->v[256 + 5][l], on ? 1000 + l : 0);
    }
    assert_int_equal(s->w.s[22] | (uint64_t)s->w.s[23] << 32, m);
    snippet_close(s);
}

static void
cmpx_writes_exec(void **state)
{
    struct snippet *s = open_lanes("v_cmpx_lt_u32_e32 vcc, v22, v20");
    uint64_t want = 0;

    (void)state;
    set_exec(s, ~0xfull);
    snippet_run(s);
    for (unsigned l = 4; l < KN_LANES; l++)
        want |= (uint64_t)(7 * l < 1000 + l) << l;
    assert_int_equal(kn_exec_mask(&s->w), want);
    assert_int_equal(s->w.s[KN_S_VCC], (uint32_t)want);
    snippet_close(s);
}

static void
lane_moves(void **state)
{
    struct snippet *s = open_lanes(
        "v_readlane_b32 s8, v20, 17\n"
        "v_readlane_b32 s9, v20, s4\n"
        "v_readfirstlane_b32 s10, v20\n"
        "v_writelane_b32 v10, s5, 63\n"
        "s_mov_b64 exec, 0\n"
        "v_readfirstlane_b32 s11, v20\n"
        "v_writelane_b32 v10, 9, s4");

    (void)state;
    s->w.s[4] = 64 + 5;      /* lane numbers wrap */
    s->w.s[5] = 77;
    set_exec(s, 0xf0);
    assert_int_equal(snippet_run(s), KILN_OK);
    assert_int_equal(s->w.s[8], 1017);
    assert_int_equal(s->w.s[9], 1005);
    assert_int_equal(s->w.s[10], 1004);
    assert_int_equal(s->w.s[11], 1000);
    assert_int_equal(s->v[10][63], 77);
    assert_int_equal(s->v[10][5], 9);
    assert_int_equal(s->v[10][6], 0xaaaa0006);
    snippet_close(s);
}

static void
swaps(void **state)
{
    struct snippet *s = open_lanes(
        "v_mov_b32_e32 v30, v20\nv_mov_b32_e32 v31, v22\n"
        "v_permlane32_swap_b32_e32 v30, v31\n"
        "v_mov_b32_e32 v32, v20\nv_mov_b32_e32 v33, v22\n"
        "v_permlane16_swap_b32_e32 v32, v33\n"
        "v_swap_b32 v20, v22");

    (void)state;
    assert_int_equal(snippet_run(s), KILN_OK);
    for (unsigned l = 0; l < KN_LANES; l++) {
        unsigned row = l / 16;

        assert_int_equal(s->v[30][l], l < 32 ? 1000 + l : 7 * (l - 32));
        assert_int_equal(s->v[31][l], l < 32 ? 1032 + l : 7 * l);
        assert_int_equal(s->v[32][l], row & 1 ? 7 * (l - 16) : 1000 + l);
        assert_int_equal(s->v[33][l], row & 1 ? 7 * l : 1016 + l);
        assert_int_equal(s->v[20][l], 7 * l);
        assert_int_equal(s->v[22][l], 1000 + l);
    }
    snippet_close(s);
}

/* ---- DPP: where lane l reads from, -1 nowhere ---- */

static int
dpp_quad(int l)
{
    static const int q[] = { 3, 1, 0, 2 };

    return l / 4 * 4 + q[l % 4];
}
static int
dpp_shl3(int l)
{
    return l % 16 + 3 < 16 ? l + 3 : -1;
}
static int
dpp_shr1(int l)
{
    return l % 16 >= 1 ? l - 1 : -1;
}
static int
dpp_ror5(int l)
{
    return l / 16 * 16 + (l % 16 + 11) % 16;
}
static int
dpp_wshl(int l)
{
    return l < 63 ? l + 1 : -1;
}
static int
dpp_wrol(int l)
{
    return (l + 1) % 64;
}
static int
dpp_wshr(int l)
{
    return l - 1;
}
static int
dpp_wror(int l)
{
    return (l + 63) % 64;
}
static int
dpp_mirror(int l)
{
    return l / 16 * 16 + 15 - l % 16;
}
static int
dpp_half_mirror(int l)
{
    return l / 8 * 8 + 7 - l % 8;
}
static int
dpp_bcast15(int l)
{
    return l / 16 * 16 - 1;
}
static int
dpp_bcast31(int l)
{
    return l < 32 ? -1 : 31;
}
static int
dpp_newbcast(int l)
{
    return l / 16 * 16 + 7;
}

static void
check_dpp(const char *ctrl, int (*from)(int), bool bound)
{
    const uint64_t exec = 0xfffffffffffffeff;    /* lane 8 is inactive */
    char text[128];
    struct snippet *s;

    snprintf(text, sizeof text,
             "v_mov_b32_dpp v10, v20 %s row_mask:0xd bank_mask:0x7%s", ctrl,
             bound ? " bound_ctrl:1" : "");
    s = open_lanes(text);
    set_exec(s, exec);
    if (snippet_run(s))
        fail_msg("%s: %s", text, s->run.error_text);
    for (int l = 0; l < KN_LANES; l++) {
        int f = from(l);
        bool valid = f >= 0 && exec >> f & 1;
        bool write = exec >> l & 1 && 0xd >> l / 16 & 1 && l % 16 < 12 &&
                     (valid || bound);
        uint32_t want = !write ? 0xaaaa0000 + (uint32_t)l
                        : valid ? 1000 + (uint32_t)f : 0;

        if (s->v[10][l] != want)
            fail_msg("%s lane %d: %x, want %x", text, l, s->v[10][l], want);
    }
    snippet_close(s);
}

static void
dpp_controls(void **state)
{
    static const struct {
        const char *ctrl;
        int (*from)(int);
    } t[] = {
        { "quad_perm:[3,1,0,2]", dpp_quad }, { "row_shl:3", dpp_shl3 },
        { "row_shr:1", dpp_shr1 }, { "row_ror:5", dpp_ror5 },
        { "wave_shl:1", dpp_wshl }, { "wave_rol:1", dpp_wrol },
        { "wave_shr:1", dpp_wshr }, { "wave_ror:1", dpp_wror },
        { "row_mirror", dpp_mirror }, { "row_half_mirror", dpp_half_mirror },
        { "row_bcast:15", dpp_bcast15 }, { "row_bcast:31", dpp_bcast31 },
        { "row_newbcast:7", dpp_newbcast }
    };

    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof *t; k++)
        for (int bound = 0; bound < 2; bound++)
            check_dpp(t[k].ctrl, t[k].from, bound);
}

static void
dpp_arithmetic(void **state)
{
    struct snippet *s = open_lanes(
        "v_add_u32_dpp v10, v20, v22 row_newbcast:3 row_mask:0xf "
        "bank_mask:0xf\n"
        "v_cvt_f32_u32_e32 v12, v20\n"
        "v_mul_f32_dpp v11, -v12, v12 quad_perm:[0,0,0,0] row_mask:0xf "
        "bank_mask:0xf\n"
        "v_mov_b64_dpp v[30:31], v[20:21] row_newbcast:2 row_mask:0xf "
        "bank_mask:0xf");

    (void)state;
    assert_int_equal(snippet_run(s), KILN_OK);
    for (unsigned l = 0; l < KN_LANES; l++) {
        float x = (float)(1000 + l), y = (float)(1000 + l / 4 * 4);

        assert_int_equal(s->v[10][l], 1003 + l / 16 * 16 + 7 * l);
        assert_int_equal(s->v[11][l], alu_fb(-x * y));
        assert_int_equal(s->v[30][l], 1002 + l / 16 * 16);
        assert_int_equal(s->v[31][l], 0);
    }
    snippet_close(s);
}

/* ---- SDWA and op_sel ---- */

static uint32_t
run_one(const char *text, uint32_t a, uint32_t b, uint32_t old)
{
    struct snippet *s = snippet_open(KILN_GFX950, text);
    uint32_t r;

    s->v[20][3] = a;
    s->v[22][3] = b;
    s->v[10][3] = old;
    if (snippet_run(s))
        fail_msg("%s: %s", text, s->run.error_text);
    r = s->v[10][3];
    snippet_close(s);
    return r;
}

static void
sdwa(void **state)
{
    static const struct {
        const char *text;
        uint32_t a, b, old, want;
    } t[] = {
        { "v_mov_b32_sdwa v10, v20 dst_sel:DWORD dst_unused:UNUSED_PAD "
          "src0_sel:BYTE_2", 0x11223344, 0, 0, 0x22 },
        { "v_mov_b32_sdwa v10, sext(v20) dst_sel:DWORD dst_unused:UNUSED_PAD "
          "src0_sel:WORD_1", 0x81223344, 0, 0, 0xffff8122 },
        { "v_mov_b32_sdwa v10, v20 dst_sel:BYTE_1 "
          "dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0", 0x44, 0, 0xaabbccdd,
          0xaabb44dd },
        { "v_or_b32_sdwa v10, v20, v22 dst_sel:WORD_1 dst_unused:UNUSED_PAD "
          "src0_sel:DWORD src1_sel:DWORD", 0x1234, 0x4321, 0xffffffff,
          0x53350000 },
        { "v_add_u32_sdwa v10, v20, v22 dst_sel:BYTE_1 "
          "dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:BYTE_3", 0x80,
          0x01000000, 0x55, 0xffff8100 },
        { "v_lshrrev_b32_sdwa v10, v20, v22 dst_sel:DWORD "
          "dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_1",
          0xffffff04, 0x12345678, 0, 0x123 },
        { "v_cvt_pk_f32_fp8_sdwa v[10:11], v20 src0_sel:WORD_1", 0x38400000,
          0, 0, 0x40000000 },
        { "v_cvt_f32_fp8_sdwa v10, v20 src0_sel:BYTE_3", 0xb8000000, 0, 0,
          0xbf800000 },
        { "v_mul_f32_sdwa v10, v20, -|v22| dst_sel:DWORD "
          "dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD", 0x40000000,
          0xbf800000, 0, 0xc0000000 },
    };

    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        uint32_t got = run_one(t[k].text, t[k].a, t[k].b, t[k].old);

        if (got != t[k].want)
            fail_msg("%s: %08x, want %08x", t[k].text, got, t[k].want);
    }
}

static void
halves(void **state)
{
    (void)state;
    /* a 16-bit result zeroes the upper half, unless op_sel puts it there */
    assert_int_equal(run_one("v_add_u16_e32 v10, v20, v22", 0xffff0005, 3,
                             0x12345678), 8);
    assert_int_equal(run_one("v_add_f16_e32 v10, v20, v22", 0x3c00, 0x3c00,
                             0x12345678), 0x4000);
    assert_int_equal(run_one("v_mad_u16 v10, v20, v22, 1 op_sel:[1,0,0,1]",
                             0x00030000, 5, 0x12345678), 0x00105678);
    assert_int_equal(run_one("v_pack_b32_f16 v10, v20, v22 op_sel:[1,0,0]",
                             0x11112222, 0x33334444, 0), 0x44441111);
    assert_int_equal(run_one("v_fma_mixhi_f16 v10, v20, 1.0, v22 "
                             "op_sel_hi:[0,0,0]", 0x3f800000, 0x3f800000,
                             0x12345678), 0x40005678);
    assert_int_equal(run_one("v_fma_mixlo_f16 v10, v20, 1.0, v22 "
                             "op_sel_hi:[0,0,0]", 0x3f800000, 0x3f800000,
                             0x12345678), 0x12344000);
    assert_int_equal(run_one("v_pk_add_u16 v10, v20, v22 op_sel_hi:[1,0]",
                             0x00050001, 0x000a0002, 0), 0x00070003);
    assert_int_equal(run_one("v_dot2_f32_f16 v10, v20, v22, 1.0",
                             0x40003c00, 0x42004000, 0), 0x41100000);
    assert_int_equal(run_one("v_pk_mov_b32 v[10:11], v[20:21], v[22:23] "
                             "op_sel:[0,0]", 5, 6, 0), 5);
}

/* ---- small floats (OCP on gfx950, FNUZ on gfx942) ---- */

static void
small_floats(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX942,
                                     "v_cvt_f32_fp8_e32 v10, v20");

    (void)state;
    s->v[20][3] = 0x40;      /* FNUZ: bias 8 */
    assert_int_equal(snippet_run(s), KILN_OK);
    assert_int_equal(s->v[10][3], 0x3f800000);
    snippet_close(s);
    assert_int_equal(run_one("v_cvt_pk_fp8_f32 v10, v20, v22", 0x3f800000,
                             0xc0000000, 0x12345678), 0x1234c038);
    assert_int_equal(run_one("v_cvt_pk_fp8_f32 v10, v20, v22 op_sel:[0,0,1]",
                             0x3f800000, 0xc0000000, 0x12345678),
                     0xc0385678);
    assert_int_equal(run_one("v_cvt_pk_bf8_f32 v10, v20, v22", 0x3f800000,
                             0xc0000000, 0), 0xc03c);
    /* op_sel[3:2] is the byte: 2 */
    assert_int_equal(run_one("v_cvt_sr_fp8_f32 v10, v20, v22 "
                             "op_sel:[0,0,0,1]", 0x3f800000, 0, 0x12345678),
                     0x12385678);
    /* scale 2: the value is divided on the way down, multiplied up */
    assert_int_equal(run_one("v_cvt_scalef32_pk_fp4_f32 v10, v20, v22, 2.0 "
                             "op_sel:[0,0,1,0]", 0x40000000, 0xc0800000,
                             0x11111111), 0x1111c211);
    assert_int_equal(run_one("v_cvt_scalef32_pk_f32_fp4 v[10:11], v20, 2.0 "
                             "op_sel:[1,0,0]", 0x0000c200, 0, 0),
                     0x40000000);
    assert_int_equal(run_one("v_cvt_scalef32_f32_fp8 v10, v20, 4.0 "
                             "op_sel:[0,1]", 0x00380000, 0, 0),
                     0x40800000);
    assert_int_equal(run_one("v_cvt_scalef32_pk_fp8_bf16 v10, v20, 1.0",
                             0x40003f80, 0, 0x12345678), 0x12344038);
}

/* 32 elements of 6 bits to f32 and back. */
static void
six_bits(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "v_cvt_scalef32_pk32_f32_fp6 v[64:95], v[20:25], 1.0\n"
        "v_cvt_scalef32_2xpk16_fp6_f32 v[40:45], v[64:79], v[80:95], 1.0\n");
    const uint8_t *bytes;
    uint32_t words[6];

    (void)state;
    for (unsigned k = 0; k < 6; k++)
        s->v[20 + k][9] = words[k] = 0x9e3779b9u * (k + 1);
    assert_int_equal(snippet_run(s), KILN_OK);
    bytes = (const uint8_t *)words;
    for (unsigned e = 0; e < 32; e++) {
        unsigned at = e * 6, code = 0, m, x;
        float v;

        for (unsigned b = 0; b < 6; b++)
            code |= (unsigned)(bytes[(at + b) / 8] >> (at + b) % 8 & 1) << b;
        m = code & 7;
        x = code >> 3 & 3;   /* e2m3, bias 1 */
        v = x ? ldexpf((float)(8 + m), (int)x - 4) : ldexpf((float)m, -3);
        assert_int_equal(s->v[64 + e][9], alu_fb(code & 32 ? -v : v));
        /* packed again, elements of the two sources interleaved */
        at = (e % 16 * 2 + e / 16) * 6;
        m = 0;
        for (unsigned b = 0; b < 6; b++)
            m |= (s->v[40 + (at + b) / 32][9] >> (at + b) % 32 & 1) << b;
        assert_int_equal(m, code);
    }
    snippet_close(s);
}

/* ---- s_set_gpr_idx ---- */

static void
indexed_registers(void **state)
{
    struct snippet *s = open_lanes(
        "s_mov_b32 s4, 2\n"
        "s_set_gpr_idx_on s4, gpr_idx(SRC0)\n"
        "v_mov_b32_e32 v10, v20\n"
        "s_set_gpr_idx_off\n"
        "s_set_gpr_idx_on s4, gpr_idx(DST)\n"
        "v_mov_b32_e32 v10, v20\n"
        "s_set_gpr_idx_off\n"
        "v_mov_b32_e32 v11, v20");

    (void)state;
    assert_int_equal(snippet_run(s), KILN_OK);
    assert_int_equal(s->v[10][4], 28);
    assert_int_equal(s->v[12][4], 1004);
    assert_int_equal(s->v[11][4], 1004);
    snippet_close(s);
}

/* A packed source moves as a pair; AMD's I8 GEMM of 112x256 needs it. */
static void
indexed_pairs(void **state)
{
    struct snippet *s = open_lanes(
        "s_mov_b32 s4, 2\n"
        "s_set_gpr_idx_on s4, gpr_idx(SRC0)\n"
        "v_pk_mul_f32 v[10:11], v[20:21], v[30:31]\n"
        "s_set_gpr_idx_off");

    (void)state;
    for (unsigned r = 20; r < 32; r++)
        for (unsigned l = 0; l < KN_LANES; l++) {
            float f = (float)(r + l);
            memcpy(&s->v[r][l], &f, 4);
        }
    assert_int_equal(snippet_run(s), KILN_OK);
    for (unsigned l = 0; l < KN_LANES; l++) {
        float f[2];

        memcpy(&f[0], &s->v[10][l], 4);
        memcpy(&f[1], &s->v[11][l], 4);
        assert_true(f[0] == (float)((22 + l) * (30 + l)));
        assert_true(f[1] == (float)((23 + l) * (31 + l)));
    }
    snippet_close(s);
}

/* What is not simulated is refused by name, never computed. */
static void
refusals(void **state)
{
    static const struct {
        const char *text, *what;
    } t[] = {
        { "v_pk_add_f32 v[10:11], v[20:21], 1.0", "upper half" },
        { "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 3\n"
          "v_add_f16_e32 v10, v20, v22", "rounding mode" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        struct snippet *s = open_lanes(t[k].text);

        assert_int_equal(snippet_run(s), KILN_UNSUPPORTED);
        assert_non_null(strstr(s->run.error_text, t[k].what));
        snippet_close(s);
    }
    assert_null(kn_exec_lookup(KN_I_v_trig_preop_f64));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inactive_lanes_keep),
        cmocka_unit_test(cmpx_writes_exec),
        cmocka_unit_test(lane_moves),
        cmocka_unit_test(swaps),
        cmocka_unit_test(dpp_controls),
        cmocka_unit_test(dpp_arithmetic),
        cmocka_unit_test(sdwa),
        cmocka_unit_test(halves),
        cmocka_unit_test(small_floats),
        cmocka_unit_test(six_bits),
        cmocka_unit_test(indexed_registers),
        cmocka_unit_test(indexed_pairs),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests_name("alu_lane", tests, NULL, NULL);
}
