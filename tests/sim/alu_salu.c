/* alu_salu.c - scalar instructions against values worked out by hand or by
 * another formula on the host. */
#include "../kit/snippet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* s[4:5], s[6:7] are the operands, s[8:9] the result (-1 before). */
static const struct row {
    const char *text;
    uint64_t a, b;
    int scc_in;
    uint64_t want;
    int scc;
} rows[] = {
    { "s_add_u32 s8, s4, s6", 0xffffffff, 1, 0, 0, 1 },
    { "s_add_u32 s8, s4, s6", 5, 7, 1, 12, 0 },
    { "s_sub_u32 s8, s4, s6", 3, 5, 0, 0xfffffffe, 1 },
    { "s_add_i32 s8, s4, s6", 0x7fffffff, 1, 0, 0x80000000, 1 },
    { "s_add_i32 s8, s4, s6", 0xffffffff, 1, 1, 0, 0 },
    { "s_sub_i32 s8, s4, s6", 0x80000000, 1, 0, 0x7fffffff, 1 },
    { "s_addc_u32 s8, s4, s6", 0xffffffff, 0, 1, 0, 1 },
    { "s_addc_u32 s8, s4, s6", 1, 2, 1, 4, 0 },
    { "s_subb_u32 s8, s4, s6", 5, 5, 1, 0xffffffff, 1 },
    { "s_subb_u32 s8, s4, s6", 5, 4, 1, 0, 0 },
    { "s_min_i32 s8, s4, s6", 0xffffffff, 1, 0, 0xffffffff, 1 },
    { "s_min_u32 s8, s4, s6", 0xffffffff, 1, 1, 1, 0 },
    { "s_max_i32 s8, s4, s6", 0xffffffff, 1, 1, 1, 0 },
    { "s_max_u32 s8, s4, s6", 0xffffffff, 1, 0, 0xffffffff, 1 },
    { "s_cselect_b32 s8, s4, s6", 1, 2, 1, 1, 1 },
    { "s_cselect_b64 s[8:9], s[4:5], s[6:7]", 1, 1ull << 40, 0, 1ull << 40,
      0 },
    { "s_and_b32 s8, s4, s6", 0xf0, 0x0f, 1, 0, 0 },
    { "s_and_b64 s[8:9], s[4:5], s[6:7]", ~0ull, 1ull << 63, 0, 1ull << 63,
      1 },
    { "s_andn2_b64 s[8:9], s[4:5], s[6:7]", ~0ull, 1, 0, ~1ull, 1 },
    { "s_orn2_b32 s8, s4, s6", 0, 0xffffffff, 1, 0, 0 },
    { "s_nand_b32 s8, s4, s6", 0xffffffff, 0xffffffff, 1, 0, 0 },
    { "s_nor_b32 s8, s4, s6", 0, 0, 0, 0xffffffff, 1 },
    { "s_xnor_b32 s8, s4, s6", 0xff, 0xff, 0, 0xffffffff, 1 },
    { "s_xor_b64 s[8:9], s[4:5], s[6:7]", 7, 7, 1, 0, 0 },
    { "s_lshl_b32 s8, s4, s6", 1, 33, 0, 2, 1 },
    { "s_lshl_b64 s[8:9], s[4:5], s6", 1, 63, 0, 1ull << 63, 1 },
    { "s_lshr_b32 s8, s4, s6", 0x80000000, 31, 0, 1, 1 },
    { "s_lshr_b64 s[8:9], s[4:5], s6", 1, 1, 1, 0, 0 },
    { "s_ashr_i32 s8, s4, s6", 0x80000000, 31, 0, 0xffffffff, 1 },
    { "s_ashr_i64 s[8:9], s[4:5], s6", 1ull << 63, 60, 0, ~7ull, 1 },
    { "s_bfm_b32 s8, s4, s6", 3, 4, 1, 0x70, 1 },
    { "s_bfm_b64 s[8:9], s4, s6", 40, 8, 0, 0xffffffffff00, 0 },
    { "s_mul_i32 s8, s4, s6", 0xffffffff, 3, 1, 0xfffffffd, 1 },
    { "s_mul_hi_u32 s8, s4, s6", 0xffffffff, 0xffffffff, 0, 0xfffffffe, 0 },
    { "s_mul_hi_i32 s8, s4, s6", 0xffffffff, 2, 0, 0xffffffff, 0 },
    { "s_bfe_u32 s8, s4, s6", 0xabcd1234, 0x80008, 0, 0x12, 1 },
    { "s_bfe_u32 s8, s4, s6", 0xabcd1234, 0x200000, 0, 0xabcd1234, 1 },
    { "s_bfe_i32 s8, s4, s6", 0x0000f000, 0x4000c, 0, 0xffffffff, 1 },
    { "s_bfe_i32 s8, s4, s6", 0x0000f000, 0x5000c, 0, 0xf, 1 },
    { "s_bfe_i32 s8, s4, s6", 0x80000000, 0, 1, 0, 0 },
    { "s_bfe_u64 s[8:9], s[4:5], s6", 0xabull << 40, 0x80028, 0, 0xab, 1 },
    { "s_bfe_i64 s[8:9], s[4:5], s6", 0xabull << 40, 0x80028, 0,
      0xffffffffffffffab, 1 },
    { "s_absdiff_i32 s8, s4, s6", 3, 10, 0, 7, 1 },
    { "s_lshl1_add_u32 s8, s4, s6", 0x80000001, 1, 0, 3, 1 },
    { "s_lshl4_add_u32 s8, s4, s6", 2, 1, 1, 33, 0 },
    { "s_pack_ll_b32_b16 s8, s4, s6", 0x11112222, 0x33334444, 0, 0x44442222,
      0 },
    { "s_pack_lh_b32_b16 s8, s4, s6", 0x11112222, 0x33334444, 0, 0x33332222,
      0 },
    { "s_pack_hh_b32_b16 s8, s4, s6", 0x11112222, 0x33334444, 0, 0x33331111,
      0 },
    { "s_mov_b32 s8, -5", 0, 0, 1, 0xfffffffb, 1 },
    { "s_mov_b32 s8, 0x12345678", 0, 0, 0, 0x12345678, 0 },
    { "s_mov_b32 s8, 0.15915494", 0, 0, 0, 0x3e22f983, 0 },
    { "s_mov_b64 s[8:9], -1", 0, 0, 0, ~0ull, 0 },
    { "s_mov_b64 s[8:9], 1.0", 0, 0, 0, 0x3ff0000000000000, 0 },
    { "s_mov_b64 s[8:9], s[4:5]", 0x123456789abcdef0, 0, 0,
      0x123456789abcdef0, 0 },
    { "s_not_b32 s8, s4", 0xffffffff, 0, 1, 0, 0 },
    { "s_not_b64 s[8:9], s[4:5]", 1, 0, 0, ~1ull, 1 },
    { "s_wqm_b64 s[8:9], s[4:5]", 0x8001000000000020, 0, 0,
      0xf00f0000000000f0, 1 },
    { "s_quadmask_b32 s8, s4", 0x80000010, 0, 0, 0x82, 1 },
    { "s_brev_b32 s8, s4", 0x00000003, 0, 1, 0xc0000000, 1 },
    { "s_brev_b64 s[8:9], s[4:5]", 3, 0, 0, 3ull << 62, 0 },
    { "s_bcnt0_i32_b32 s8, s4", 0xffffffff, 0, 1, 0, 0 },
    { "s_bcnt1_i32_b64 s8, s[4:5]", 0xf00000000000000f, 0, 0, 8, 1 },
    { "s_ff0_i32_b32 s8, s4", 0xffffffff, 0, 1, 0xffffffff, 1 },
    { "s_ff1_i32_b32 s8, s4", 0x100, 0, 0, 8, 0 },
    { "s_ff1_i32_b64 s8, s[4:5]", 1ull << 50, 0, 0, 50, 0 },
    { "s_flbit_i32_b32 s8, s4", 0x00010000, 0, 0, 15, 0 },
    { "s_flbit_i32_b64 s8, s[4:5]", 1, 0, 0, 63, 0 },
    { "s_flbit_i32 s8, s4", 0xffff0000, 0, 0, 16, 0 },
    { "s_flbit_i32 s8, s4", 0xffffffff, 0, 0, 0xffffffff, 0 },
    { "s_flbit_i32_i64 s8, s[4:5]", 0xff, 0, 0, 56, 0 },
    { "s_sext_i32_i8 s8, s4", 0x180, 0, 0, 0xffffff80, 0 },
    { "s_sext_i32_i16 s8, s4", 0x18000, 0, 0, 0xffff8000, 0 },
    { "s_abs_i32 s8, s4", 0xfffffff0, 0, 0, 16, 1 },
    { "s_bitreplicate_b64_b32 s[8:9], s4", 0x80000001, 0, 0,
      0xc000000000000003, 0 },
    { "s_bitset0_b32 s8, s4", 4, 0, 0, 0xffffffef, 0 },
    { "s_bitset1_b64 s[8:9], s4", 4, 0, 0, ~0ull, 0 },
    { "s_cmov_b32 s8, s4", 4, 0, 0, 0xffffffff, 0 },
    { "s_cmov_b64 s[8:9], s[4:5]", 4, 0, 1, 4, 1 },
    { "s_movk_i32 s8, 0x8000", 0, 0, 0, 0xffff8000, 0 },
    { "s_cmovk_i32 s8, 0x10", 0, 0, 1, 16, 1 },
    { "s_addk_i32 s8, 2", 0, 0, 1, 1, 0 },
    { "s_mulk_i32 s8, 3", 0, 0, 1, 0xfffffffd, 1 },
};

static void
scalar_arithmetic(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct row *r = &rows[k];
        bool wide = strstr(r->text, "s[8:9]");
        struct snippet *s;
        uint64_t got;

        s = snippet_open(KILN_GFX950, r->text);
        for (int h = 0; h < 2; h++) {
            s->w.s[4 + h] = (uint32_t)(r->a >> h * 32);
            s->w.s[6 + h] = (uint32_t)(r->b >> h * 32);
            s->w.s[8 + h] = UINT32_MAX;
        }
        s->w.scc = r->scc_in;
        assert_int_equal(snippet_run(s), KILN_OK);
        got = s->w.s[8] | (uint64_t)s->w.s[9] << 32;
        if (!wide && s->w.s[9] != UINT32_MAX)
            fail_msg("%s wrote two registers", r->text);
        if (!wide)
            got = (uint32_t)got;
        if (got != r->want || s->w.scc != r->scc)
            fail_msg("%s: 0x%llx scc %d, want 0x%llx scc %d", r->text,
                     (unsigned long long)got, s->w.scc,
                     (unsigned long long)r->want, r->scc);
        snippet_close(s);
    }
}

/* Every compare of s4 with s6, as a 6-bit set of the signs of a - b. */
static void
scalar_compares(void **state)
{
    static const char *const cond[] = { "eq", "lg", "gt", "ge", "lt", "le" };
    static const uint32_t pairs[][2] = {
        { 1, 2 }, { 2, 1 }, { 5, 5 }, { 0xffffffff, 1 }, { 1, 0xffffffff }
    };

    (void)state;
    for (int c = 0; c < 6; c++)
        for (int is_signed = 0; is_signed < 2; is_signed++)
            for (int k = 0; k < 5; k++) {
                int64_t a = is_signed ? (int32_t)pairs[k][0]
                                      : (int64_t)pairs[k][0];
                int64_t b = is_signed ? (int32_t)pairs[k][1]
                                      : (int64_t)pairs[k][1];
                int lt = a < b, gt = a > b;
                int want[] = { !lt && !gt, lt || gt, gt, !lt, lt, !gt };
                char text[64];
                struct snippet *s;

                snprintf(text, sizeof text, "s_cmp_%s_%c32 s4, s6",
                         cond[c], is_signed ? 'i' : 'u');
                s = snippet_open(KILN_GFX942, text);
                s->w.s[4] = pairs[k][0];
                s->w.s[6] = pairs[k][1];
                snippet_run(s);
                assert_int_equal(s->w.scc, want[c]);
                snippet_close(s);
            }
}

static int
scc_after(const char *text, uint32_t a)
{
    struct snippet *s = snippet_open(KILN_GFX950, text);
    int scc;

    s->w.s[4] = a;
    snippet_run(s);
    scc = s->w.scc;
    snippet_close(s);
    return scc;
}

static void
constant_compares(void **state)
{
    (void)state;
    assert_int_equal(scc_after("s_cmpk_lt_i32 s4, -1", (uint32_t)-2),
                     1);
    assert_int_equal(scc_after("s_cmpk_lt_i32 s4, -1", 0), 0);
    assert_int_equal(scc_after("s_cmpk_gt_u32 s4, 0xfffe", 0xffff),
                     1);
    assert_int_equal(scc_after("s_cmpk_eq_u32 s4, 0xffff",
                               UINT32_MAX), 0);
    assert_int_equal(scc_after("s_bitcmp1_b32 s4, 3", 8), 1);
    assert_int_equal(scc_after("s_bitcmp0_b32 s4, 3", 8), 0);
}

static void
saveexec(void **state)
{
    static const struct {
        const char *name;
        uint64_t want;
    } t[] = { /* a = 0xff0, exec = 0x0ff */
        { "and", 0x0f0 }, { "or", 0xfff }, { "xor", 0xf0f },
        { "andn2", 0xf00 }, { "andn1", 0x00f }, { "orn2", ~0x0full },
        { "orn1", ~0xf00ull }, { "nand", ~0x0f0ull }, { "nor", ~0xfffull },
        { "xnor", ~0xf0full }
    };

    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        char text[96];
        struct snippet *s;

        snprintf(text, sizeof text,
                 "s_%s_saveexec_b64 s[8:9], s[4:5]", t[k].name);
        s = snippet_open(KILN_GFX950, text);
        s->w.s[4] = 0xff0;
        s->w.s[KN_S_EXEC] = 0x0ff;
        s->w.s[KN_S_EXEC + 1] = 0;
        snippet_run(s);
        assert_int_equal(s->w.s[8], 0x0ff);
        assert_int_equal(s->w.s[9], 0);
        assert_int_equal(kn_exec_mask(&s->w), t[k].want);
        assert_int_equal(s->w.scc, t[k].want != 0);
        snippet_close(s);
    }
}

static void
branches(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "s_mov_b32 s8, 0\n"
        "s_mov_b32 s4, 5\n"
        "loop:\n"
        "s_addk_i32 s8, 3\n"
        "s_add_i32 s4, s4, -1\n"
        "s_cmp_lg_u32 s4, 0\n"
        "s_cbranch_scc1 loop\n"
        "s_mov_b64 vcc, 0\n"
        "s_cbranch_vccnz bad\n"
        "s_cbranch_vccz good\n"
        "bad:\n"
        "s_mov_b32 s9, 1\n"
        "good:\n"
        "s_mov_b64 exec, 0\n"
        "s_cbranch_execnz bad\n"
        "s_cbranch_execz end\n"
        "s_mov_b32 s9, 2\n"
        "end:\n"
        "s_branch last\n"
        "s_mov_b32 s9, 3\n"
        "last:\n");

    (void)state;
    assert_int_equal(snippet_run(s), KILN_OK);
    assert_int_equal(s->w.s[8], 15);
    assert_int_equal(s->w.s[9], 0);
    snippet_close(s);
}

static void
mode_register(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "s_getreg_b32 s8, hwreg(HW_REG_MODE, 4, 4)\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 1\n"
        "s_getreg_b32 s9, hwreg(HW_REG_MODE, 0, 8)\n");

    (void)state;
    assert_int_equal(snippet_run(s), KILN_OK);
    assert_int_equal(s->w.s[8], 15);
    assert_int_equal(s->w.s[9], 0xd0);
    snippet_close(s);
}

static void
unknown_register_is_refused(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "s_getreg_b32 s8, hwreg(HW_REG_TRAPSTS)");

    (void)state;
    assert_int_equal(snippet_run(s), KILN_UNSUPPORTED);
    assert_non_null(strstr(s->run.error_text, "hardware register"));
    snippet_close(s);
}

static void
relative_moves(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "s_mov_b32 m0, 3\n"
        "s_movrels_b32 s8, s4\n"
        "s_movreld_b32 s20, s5\n");

    (void)state;
    s->w.s[7] = 77;
    s->w.s[5] = 55;
    assert_int_equal(snippet_run(s), KILN_OK);
    assert_int_equal(s->w.s[8], 77);
    assert_int_equal(s->w.s[23], 55);
    snippet_close(s);
}

static void
program_counter(void **state)
{
    struct snippet *s = snippet_open(KILN_GFX950,
        "s_nop 0\ns_getpc_b64 s[8:9]");

    (void)state;
    assert_int_equal(snippet_run(s), KILN_OK);
    assert_int_equal(s->w.s[8], s->group.code_base + s->prog.inst[2].pc);
    snippet_close(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_arithmetic),
        cmocka_unit_test(scalar_compares),
        cmocka_unit_test(constant_compares),
        cmocka_unit_test(saveexec),
        cmocka_unit_test(branches),
        cmocka_unit_test(mode_register),
        cmocka_unit_test(unknown_register_is_refused),
        cmocka_unit_test(relative_moves),
        cmocka_unit_test(program_counter),
    };

    return cmocka_run_group_tests_name("alu_salu", tests, NULL, NULL);
}
