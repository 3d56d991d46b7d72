/* Wait states, barriers, runaway waves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../kit/program.h"

#define END "s_endpgm\n"
#define STORE "s_nop 7\nglobal_store_dword v1, v2, s[6:7]\n"

static const struct program_facts lds = { .lds = 4096 };
static const struct program_facts on942 = { .target = KILN_GFX942 };
static const struct program_facts two = { .lds = 4096, .waves = 2 };

/* ---- wait states -------------------------------------------------------- */

/* `first`, need - 1 wait states, `then`: fires; with one more: clean. */
static void
needs(const struct program_facts *f, const char *first, unsigned need,
      const char *then)
{
    for (unsigned states = need - 1; states <= need; states++) {
        char text[2048];
        int n = snprintf(text, sizeof text, "%s", first);

        for (unsigned left = states; left;) {
            unsigned part = left < 8 ? left : 8;
            n += snprintf(text + n, sizeof text - (size_t)n, "s_nop %u\n",
                          part - 1);
            left -= part;
        }
        snprintf(text + n, sizeof text - (size_t)n, "%s" END, then);
        if (states < need)
            program_fires(f, text, KN_F_WAIT_STATES);
        else
            program_clean(f, text);
    }
}

#define ZERO(r) "v_mov_b32_e32 v" #r ", 0\n"
#define OPERANDS \
    ZERO(10) ZERO(11) ZERO(12) ZERO(13) ZERO(4) ZERO(5) ZERO(6) ZERO(7) \
    ZERO(20) ZERO(21) ZERO(22) ZERO(23) ZERO(2) "s_nop 1\n"
#define MFMA16 "v_mfma_f32_16x16x16_bf16 v[4:7], v[10:11], v[12:13], v[4:7]\n"

static void
mfma_result(void **state)
{
    (void)state;
    needs(NULL, OPERANDS MFMA16, 8, "v_mov_b32_e32 v2, v5\n" STORE);
    needs(&on942, OPERANDS MFMA16, 7, "v_mov_b32_e32 v2, v5\n" STORE);
    needs(NULL, OPERANDS MFMA16, 8,
          "global_store_dword v1, v5, s[6:7]\n");
    needs(NULL, OPERANDS MFMA16, 8, "v_mov_b32_e32 v5, 1\n");
    needs(NULL, OPERANDS MFMA16, 8,
          "v_mfma_f32_16x16x16_bf16 v[20:23], v[4:5], v[12:13], 0\n");
}

/* Of a chain of accumulations the last one counts. */
static void
mfma_chain(void **state)
{
    struct program p;
    const struct kn_finding *f;

    (void)state;
    program_open(&p, NULL, OPERANDS MFMA16 MFMA16 MFMA16
                 "s_nop 1\nv_mov_b32_e32 v2, v5\n" STORE END);
    program_run(&p);
    f = program_find(&p, KN_F_WAIT_STATES);
    assert_non_null(f);
    assert_non_null(strstr(f->text, "after 2 wait states, needs 8"));
    program_close(&p);
}

static void
mfma_accumulator(void **state)
{
    (void)state;
    program_clean(NULL, OPERANDS MFMA16 MFMA16 END);
    needs(NULL, OPERANDS MFMA16, 6,
          "v_mfma_f32_16x16x16_bf16 v[20:23], v[10:11], v[12:13], v[6:9]\n");
    needs(&on942, OPERANDS MFMA16, 5,
          "v_mfma_f32_16x16x16_bf16 v[20:23], v[10:11], v[12:13], v[6:9]\n");
    /* another opcode does not forward */
    needs(NULL, OPERANDS MFMA16, 6,
          "v_mfma_f32_16x16x16_f16 v[4:7], v[10:11], v[12:13], v[4:7]\n");
}

static void
mfma_c_overwritten(void **state)
{
    (void)state;
    needs(NULL, OPERANDS
          "v_mfma_f32_16x16x16_bf16 v[20:23], v[10:11], v[12:13], v[4:7]\n",
          3, "v_mov_b32_e32 v5, 1\n");
}

static void
mfma_operand(void **state)
{
    (void)state;
    needs(NULL, OPERANDS ZERO(10), 2, MFMA16);
    needs(NULL, OPERANDS "v_accvgpr_write_b32 a0, 0\nv_accvgpr_write_b32 a1, "
          "0\n", 2,
          "v_mfma_f32_16x16x16_bf16 v[4:7], a[0:1], v[12:13], 0\n");
}

static void
mfma_eight_passes(void **state)
{
    static const char first[] =
        "v_accvgpr_write_b32 a30, 0\n" OPERANDS
        "v_mfma_f32_32x32x8_bf16 a[0:15], v[10:11], v[12:13], 0\n";

    (void)state;
    needs(NULL, first, 12, "v_accvgpr_read_b32 v2, a9\n" STORE);
    needs(&on942, first, 11, "v_accvgpr_read_b32 v2, a9\n" STORE);
}

/* An 8-bit operand doubles the passes; f32 inputs have numbers of their own. */
static void
mfma_by_format(void **state)
{
#define SCALED(ab, format) \
    ZERO(8) ZERO(9) ZERO(14) ZERO(15) ZERO(16) ZERO(17) ZERO(18) OPERANDS \
    "v_mfma_scale_f32_32x32x64_f8f6f4 a[0:15], " ab ", 0, v20, v21 " \
    "op_sel_hi:[0,0,0] " format "\n"
    (void)state;
    needs(NULL, SCALED("v[4:7], v[10:13]", "cbsz:4 blgp:4"), 12,
          "v_accvgpr_read_b32 v2, a9\n" STORE);
    needs(NULL, SCALED("v[4:11], v[10:17]", ""), 20,
          "v_accvgpr_read_b32 v2, a9\n" STORE);
    needs(NULL, OPERANDS "v_mfma_f32_16x16x4_f32 a[0:3], v4, v5, 0\n", 10,
          "v_accvgpr_read_b32 v2, a2\n" STORE);
}

static void
scalar_results(void **state)
{
    (void)state;
    needs(NULL, "v_readfirstlane_b32 s8, v0\n", 2,
          "v_mov_b32_e32 v3, s8\n");
    program_clean(NULL, "v_readfirstlane_b32 s8, v0\ns_mov_b32 s9, s8\n"
                  END);
}

static void
vmem_reads_sgpr(void **state)
{
    (void)state;
    needs(NULL, "v_mov_b32_e32 v3, s4\nv_mov_b32_e32 v4, s5\ns_nop 0\n"
          "v_readfirstlane_b32 s8, v3\nv_readfirstlane_b32 s9, v4\n", 5,
          "global_load_dword v2, v1, s[8:9]\n");
}

static void
valu_reads_mask(void **state)
{
    (void)state;
    needs(NULL, ZERO(2) ZERO(3) "v_cmp_eq_u32_e32 vcc, 0, v1\n", 2,
          "v_cndmask_b32_e32 v2, v2, v3, vcc\n" STORE);
}

static void
lane_select(void **state)
{
    (void)state;
    needs(NULL, ZERO(3) "s_nop 0\nv_readfirstlane_b32 s8, v3\n", 4,
          "v_readlane_b32 s9, v1, s8\n");
}

static void
cross_lane_reads(void **state)
{
    (void)state;
    needs(NULL, ZERO(3), 2, "v_mov_b32_dpp v2, v3 quad_perm:[1,0,3,2] "
          "row_mask:0xf bank_mask:0xf\n");
    needs(NULL, ZERO(3), 1, "v_readfirstlane_b32 s8, v3\n");
    needs(NULL, ZERO(2) ZERO(3), 2, "v_permlane32_swap_b32_e32 v2, v3\n");
}

static void
transcendental(void **state)
{
    (void)state;
    needs(NULL, "v_mov_b32_e32 v3, 1.0\nv_rcp_f32_e32 v2, v3\n", 1,
          "v_add_f32_e32 v2, v2, v3\n" STORE);
    program_clean(NULL, "v_mov_b32_e32 v3, 1.0\nv_rcp_f32_e32 v2, v3\n"
                  "v_rcp_f32_e32 v2, v2\n" STORE END);
}

static void
wide_store_data(void **state)
{
    (void)state;
    needs(NULL, OPERANDS "global_store_dwordx4 v1, v[4:7], s[6:7]\n", 2,
          "v_mov_b32_e32 v6, 1\n");
    program_clean(NULL, OPERANDS "global_store_dwordx2 v1, v[4:5], s[6:7]\n"
                  "v_mov_b32_e32 v4, 1\n" END);
}

static void
partial_register(void **state)
{
    (void)state;
    needs(NULL, ZERO(2) ZERO(3) "v_mov_b32_sdwa v2, v3 dst_sel:WORD_1 "
          "dst_unused:UNUSED_PRESERVE src0_sel:DWORD\n", 1,
          "v_add_u32_e32 v2, 1, v2\n" STORE);
}

static void
m0_of_a_copy(void **state)
{
    (void)state;
    needs(&lds, "s_mov_b32 m0, 0\n", 1,
          "global_load_lds_dword v1, s[4:5]\n");
}

/* Findings and advice that `text` gives. */
static void
gives(bool own, const struct program_facts *f, const char *text,
      unsigned findings, unsigned advice)
{
    struct program p;

    program_open(&p, f, text);
    p.launch.own = own;
    program_run(&p);
    assert_int_equal(p.status, KILN_OK);
    if (p.result.nfindings != findings || p.result.nadvice != advice)
        fail_msg("%s%llu findings, %llu advice", text,
                 (unsigned long long)p.result.nfindings,
                 (unsigned long long)p.result.nadvice);
    for (unsigned i = 0; i < p.result.nkept; i++)
        assert_int_equal(p.result.findings[i].severity,
                         i < findings ? KN_SEV_FINDING : KN_SEV_ADVICE);
    program_close(&p);
}

/* Two rules, in kernels kiln did not make; an instruction that breaks another
 * one too has a finding of its own. */
static void
advice_for_foreign_kernels(void **state)
{
    static const struct {
        const struct program_facts *f;
        const char *text;
        bool advice;
        unsigned others;
    } list[] = {
        { &lds, "s_mov_b32 m0, 0\nglobal_load_lds_dword v1, s[4:5]\n" END,
          true, 0 },
        { NULL, OPERANDS MFMA16 "v_mov_b32_e32 v2, v5\n" STORE END, true, 0 },
        { NULL, OPERANDS MFMA16 "v_mov_b32_e32 v5, v5\n" END, true, 1 },
        { NULL, OPERANDS MFMA16 "v_mov_b32_e32 v5, 1\n" END, false, 1 },
        { NULL, OPERANDS MFMA16 "global_store_dword v1, v5, s[6:7]\n" END,
          false, 1 },
        { NULL, OPERANDS MFMA16 "v_mfma_f32_16x16x16_bf16 v[20:23], v[4:5], "
          "v[12:13], 0\n" END, false, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        gives(false, list[i].f, list[i].text, list[i].others, list[i].advice);
        gives(true, list[i].f, list[i].text, 1, 0);
    }
}

static void
exec_of_dpp(void **state)
{
    (void)state;
    needs(NULL, ZERO(3) ZERO(2) "s_nop 1\nv_cmpx_le_u32_e32 0, v1\n", 5,
          "v_mov_b32_dpp v2, v3 quad_perm:[1,0,3,2] row_mask:0xf "
          "bank_mask:0xf\n");
}

static void
mode_register(void **state)
{
    (void)state;
    needs(NULL, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0\n", 2,
          "s_getreg_b32 s8, hwreg(HW_REG_MODE, 0, 4)\n");
}

/* ---- barriers and runaways ---------------------------------------------- */

static void
wave_leaves_early(void **state)
{
#define LEAVE(early) \
    "v_readfirstlane_b32 s8, v1\ns_cmp_eq_u32 s8, 0\n" \
    "s_cbranch_scc1 .Lstay\n" early "s_endpgm\n.Lstay:\ns_barrier\n" END
    (void)state;
    program_fires(&two, LEAVE(""), KN_F_BARRIER);
    program_clean(&two, LEAVE("s_barrier\n"));
}

static void
runaway_stops(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, &two, ".L:\ns_branch .L\n" END);
    p.launch.max_steps = 1000;
    program_run(&p);
    assert_int_equal(p.status, KILN_OK);
    assert_int_equal(p.result.nfindings, 1);
    assert_non_null(program_find(&p, KN_F_RUNAWAY));
    assert_non_null(strstr(p.result.stopped, "wave 0 of workgroup 0 was at 0x"));
    assert_non_null(strstr(p.result.stopped, "(s_branch) after 1000 "
                           "instructions"));
    program_close(&p);
}

/* Waves that meet at barriers for ever stop as well. */
static void
barriers_stop(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, &two, ".L:\ns_barrier\ns_branch .L\n" END);
    p.launch.max_steps = 1000;
    program_run(&p);
    assert_non_null(p.result.stopped);
    program_close(&p);
    program_open(&p, &two, ".L:\ns_barrier\ns_branch .L\n" END);
    p.launch.max_seconds = 0.05;
    program_run(&p);
    assert_int_equal(p.status, KILN_OK);
    assert_non_null(strstr(p.result.stopped, "after 0.05 s"));
    program_close(&p);
}

/* A wave that spins until another writes LDS gets its answer. */
static void
spinning_ends(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, &two,
                 "v_mov_b32_e32 v3, 0\nv_mov_b32_e32 v2, 1\n"
                 "v_readfirstlane_b32 s8, v1\ns_cmp_eq_u32 s8, 0\n"
                 "s_cbranch_scc0 .Lwait\nds_write_b32 v3, v3\n.Lwait:\n"
                 "s_waitcnt lgkmcnt(0)\ns_barrier\n"
                 "s_cbranch_scc0 .Lset\n"
                 ".Lspin:\nds_or_rtn_b32 v4, v3, v3\ns_waitcnt lgkmcnt(0)\n"
                 "v_readfirstlane_b32 s8, v4\ns_cmp_eq_u32 s8, 0\n"
                 "s_cbranch_scc1 .Lspin\ns_branch .Ldone\n"
                 ".Lset:\nds_or_b32 v3, v2\n"
                 ".Ldone:\ns_waitcnt lgkmcnt(0)\n" STORE END);
    program_run(&p);
    assert_int_equal(p.status, KILN_OK);
    assert_int_equal(p.result.nfindings, 0);
    assert_int_equal(program_out(&p, 0), 1);
    program_close(&p);
}

static void
traps_stop(void **state)
{
    struct program p;

    (void)state;
    program_open(&p, NULL, "s_trap 2\n" END);
    program_run(&p);
    assert_int_equal(p.status, KILN_FINDING);
    assert_non_null(strstr(p.ctx.err.text, "s_trap"));
    program_close(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mfma_result),
        cmocka_unit_test(mfma_chain),
        cmocka_unit_test(mfma_accumulator),
        cmocka_unit_test(mfma_c_overwritten),
        cmocka_unit_test(mfma_operand),
        cmocka_unit_test(mfma_eight_passes),
        cmocka_unit_test(mfma_by_format),
        cmocka_unit_test(scalar_results),
        cmocka_unit_test(vmem_reads_sgpr),
        cmocka_unit_test(valu_reads_mask),
        cmocka_unit_test(lane_select),
        cmocka_unit_test(cross_lane_reads),
        cmocka_unit_test(transcendental),
        cmocka_unit_test(wide_store_data),
        cmocka_unit_test(partial_register),
        cmocka_unit_test(m0_of_a_copy),
        cmocka_unit_test(advice_for_foreign_kernels),
        cmocka_unit_test(exec_of_dpp),
        cmocka_unit_test(mode_register),
        cmocka_unit_test(wave_leaves_early),
        cmocka_unit_test(runaway_stops),
        cmocka_unit_test(barriers_stop),
        cmocka_unit_test(spinning_ends),
        cmocka_unit_test(traps_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
