/* The compute unit of the timing model on a few instructions: each law of
 * docs/timing.md, measured by a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../runtime/sim/timing/timing_impl.h"
#include "../kit/program.h"

/* warm: after a launch on the same buffers, beside `more` bytes. */
static struct kn_time_result
predict_after(const struct program_facts *f, const char *text, bool warm,
              uint64_t more)
{
    uint64_t at;
    struct kn_time_result r;
    struct kn_time_query q;
    struct program p;

    program_open(&p, f, text);
    q = (struct kn_time_query){ .sim = p.sim, .launch = &p.launch,
                                .warm = warm };
    if (more)
        assert_int_equal(kn_sim_alloc(p.sim, more, 0, kn_sim_zeros, NULL, &at),
                         KILN_OK);
    if (kn_time_predict(&p.ctx, &q, &r))
        fail_msg("%s", p.ctx.err.text);
    program_close(&p);
    return r;
}

static struct kn_time_result
predict(const struct program_facts *f, const char *text)
{
    return predict_after(f, text, false, 0);
}

/* Clocks of an iteration of `body`, 200 times. */
static double
loop_of(const struct program_facts *f, const char *setup, const char *body)
{
    char text[16384];

    snprintf(text, sizeof text,
             "%s\ns_movk_i32 s10, 200\n.Lloop:\n%s\ns_sub_u32 s10, s10, 1\n"
             "s_cmp_lg_u32 s10, 0\ns_cbranch_scc1 .Lloop\n"
             "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm\n", setup, body);
    return predict(f, text).loop_cycles;
}

/* The body n times over, without what the loop itself costs. */
static double
cost(const struct program_facts *f, const char *setup, const char *one,
     unsigned n)
{
    static char body[16384], twice[16384];
    double a, b;

    body[0] = twice[0] = 0;
    for (unsigned k = 0; k < n; k++)
        strcat(body, one);
    for (unsigned k = 0; k < 2 * n; k++)
        strcat(twice, one);
    a = loop_of(f, setup, body);
    b = loop_of(f, setup, twice);
    return (b - a) / n;
}

static void
assert_near(double got, double want, double within)
{
    if (got < want - within || got > want + within)
        fail_msg("%g, should be %g", got, want);
}

static const struct program_facts one = { .lds = 65536 };
static const struct program_facts four = { .lds = 65536, .waves = 4 };
static const struct program_facts old = { .target = KILN_GFX942,
                                          .lds = 65536 };
static const struct program_facts old_four = { .target = KILN_GFX942,
                                               .lds = 65536, .waves = 4 };

#define MFMA "v_mfma_f32_16x16x32_bf16 v[8:11], v[16:19], v[20:23], v[8:11]\n"
#define MFMA2 "v_mfma_f32_16x16x32_bf16 v[12:15], v[16:19], v[20:23], " \
              "v[12:15]\n"
#define BIG "v_mfma_f32_32x32x16_bf16 v[32:47], v[16:19], v[20:23], v[32:47]\n"
#define VALU "v_add_u32_e32 v2, v3, v4\n"

/* GL, amd_matrix_instruction_calculator: 16 and 32 clocks. */
static void
matrix_rate(void **state)
{
    (void)state;
    assert_near(cost(&one, "", MFMA, 8), 16, 0.1);
    assert_near(cost(&one, "", MFMA MFMA2, 8), 32, 0.1);
    assert_near(cost(&one, "", BIG, 8), 32, 0.1);
    assert_near(cost(&old, "", "v_mfma_f32_16x16x16_bf16 v[8:11], v[16:17], "
                     "v[20:21], v[8:11]\n", 8), 16, 0.1);
    assert_near(cost(&one, "", "v_mfma_f32_16x16x128_f8f6f4 v[8:11], "
                     "v[16:23], v[24:31], v[8:11]\n", 8), 32, 0.1);
}

/* A vector operation costs a slot alone, and nothing beside a matrix
 * operation once its operands are read. */
static void
vector_shadow(void **state)
{
    (void)state;
    assert_near(cost(&one, "", VALU, 16), 4, 0.1);
    assert_near(cost(&one, "", BIG VALU VALU VALU, 8), 32, 0.1);
    assert_near(cost(&one, "", BIG VALU VALU VALU VALU VALU VALU VALU, 8),
                36, 0.1);
    assert_near(cost(&one, "", BIG "v_pk_add_f32 v[2:3], v[4:5], v[6:7]\n",
                     8), 48, 4.1);
    assert_near(cost(&one, "", "v_exp_f32_e32 v2, v3\n", 16), 16, 0.1);
}

static void
issue_slots(void **state)
{
    (void)state;
    assert_near(cost(&one, "", "s_mov_b32 s20, 0\n", 16), 4, 0.1);
    assert_near(cost(&one, "", "s_nop 7\n", 8), 32, 0.1);
    assert_near(cost(&one, "", MFMA "s_nop 2\n", 8), 16, 0.1);
    assert_near(cost(&one, "", MFMA "s_nop 3\n", 8), 20, 0.1);
}

#define ADDR "v_lshlrev_b32_e32 v1, 4, v0\nv_and_b32_e32 v1, 0x3ff, v1\n"
#define READ "ds_read_b128 v[8:11], v1\n"

/* GL docs/lds_throughput.md: a b128 read every 16 clocks on each SIMD when all
 * are busy; half of it with 2 lanes on every bank. gfx942: twice as long. */
static void
lds_rate(void **state)
{
    (void)state;
    assert_near(cost(&four, ADDR, READ, 16), 16, 0.5);
    assert_near(cost(&four, "v_lshlrev_b32_e32 v1, 5, v0\n"
                     "v_and_b32_e32 v1, 0x7ff, v1\n", READ, 16), 32, 1);
    assert_near(cost(&four, "v_lshlrev_b32_e32 v1, 3, v0\n"
                     "v_and_b32_e32 v1, 0x1ff, v1\n",
                     "ds_read_b64 v[8:9], v1\n", 16), 8, 0.5);
    assert_near(cost(&old_four, ADDR, READ, 16), 32, 1);
    assert_near(cost(&four, ADDR, "ds_write_b128 v1, v[8:11]\n", 16), 32, 1);
}

/* TLX, GL: 64 to 69 clocks from the read to its data. */
static void
lds_latency(void **state)
{
    (void)state;
    assert_near(cost(&one, ADDR, READ "s_waitcnt lgkmcnt(0)\n", 8), 72, 8);
}

#define LINE "v_lshlrev_b32_e32 v1, 4, v0\n"
#define LOAD "global_load_dwordx4 v[8:11], v1, s[4:5]\n"

/* GL: the L1 serves a dwordx4 instruction in 16 clocks, a dword one in 4; four
 * waves share it. Latency of an L1 hit: GPUB. */
static void
memory_rate(void **state)
{
    (void)state;
    assert_near(cost(&four, LINE, LOAD, 16), 64, 2);
    assert_near(cost(&four, "v_lshlrev_b32_e32 v1, 2, v0\n",
                     "global_load_dword v8, v1, s[4:5]\n", 16), 16, 2);
    assert_near(cost(&one, LINE, LOAD "s_waitcnt vmcnt(0)\n", 8), 144, 16);
}

/* Rows of 64 bytes touch twice the lines: twice the time. */
static void
half_lines(void **state)
{
    (void)state;
    assert_near(cost(&four, "v_lshrrev_b32_e32 v2, 2, v0\n"
                     "v_lshlrev_b32_e32 v2, 7, v2\n"
                     "v_and_b32_e32 v1, 3, v0\n"
                     "v_lshl_or_b32 v1, v1, 4, v2\n", LOAD, 16), 128, 4);
}

/* Waves meet: the late one sets the pace. */
static void
barriers(void **state)
{
    double even, late;

    (void)state;
    even = cost(&four, "", MFMA "s_barrier\n", 8);
    late = cost(&four, "v_readfirstlane_b32 s12, v0\ns_lshr_b32 s12, s12, 6\n"
                "s_cmp_lg_u32 s12, 3\ns_cselect_b64 vcc, -1, 0\n",
                "s_cbranch_vccnz 1f\n" MFMA MFMA MFMA "1:\ns_barrier\n" MFMA, 4);
    assert_true(even >= 16 && even <= 32);
    assert_true(late > even + 16);
}

/* ---- banks -------------------------------------------------------------- */

static uint32_t
banks(kiln_target t, unsigned bytes, bool write, uint32_t stride)
{
    uint32_t at[KN_LANES];
    struct kn_sim_access a = { .mask = ~(uint64_t)0, .bytes = bytes,
                               .write = write, .lds = at };

    for (unsigned l = 0; l < KN_LANES; l++)
        at[l] = l * stride;
    return kn_time_lds_clocks(t, &a);
}

static void
bank_conflicts(void **state)
{
    (void)state;
    assert_int_equal(banks(KILN_GFX950, 16, false, 16), 4);
    assert_int_equal(banks(KILN_GFX950, 16, false, 32), 8);
    assert_int_equal(banks(KILN_GFX950, 16, false, 256), 64);
    assert_int_equal(banks(KILN_GFX950, 16, false, 0), 4); /* broadcast */
    assert_int_equal(banks(KILN_GFX950, 8, false, 8), 2);
    assert_int_equal(banks(KILN_GFX950, 4, false, 4), 1);
    assert_int_equal(banks(KILN_GFX950, 16, true, 16), 8);
    assert_int_equal(banks(KILN_GFX950, 8, true, 8), 4);
    assert_int_equal(banks(KILN_GFX942, 16, false, 16), 8);
    assert_int_equal(banks(KILN_GFX942, 8, false, 8), 4);
    assert_int_equal(banks(KILN_GFX942, 4, false, 4), 2);
    assert_int_equal(banks(KILN_GFX942, 4, false, 128), 64);
}

/* ---- whole launches ----------------------------------------------------- */

/* A workgroup that runs four times as long as the others decides. */
static void
skewed_groups(void **state)
{
    static const char text[] =
        "s_movk_i32 s10, 100\ns_cmp_lg_u32 s2, 7\n"
        "s_cbranch_scc1 .Lloop\ns_movk_i32 s10, 400\n"
        ".Lloop:\n" BIG BIG BIG BIG BIG BIG BIG BIG
        "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
        "s_cbranch_scc1 .Lloop\ns_endpgm\n";
    struct program_facts f = { .groups = 8 };
    struct kn_time_result r = predict(&f, text);

    (void)state;
    assert_near(r.group_cycles, 400 * (8 * 32 + 16), 8000);
    assert_near(r.rounds, 1, 0.01);
    assert_int_equal(r.workgroups, 8);
}

/* 257 workgroups on 256 CUs, one at a time each: two rounds. */
static void
rounds(void **state)
{
    static const char text[] = "s_movk_i32 s10, 1000\n.Lloop:\n" BIG
        "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
        "s_cbranch_scc1 .Lloop\ns_endpgm\n";
    struct program_facts f = { .groups = 256, .lds = 163840 - 1280 };
    double once, twice;

    (void)state;
    once = predict(&f, text).us;
    f.groups = 257;
    twice = predict(&f, text).us;
    assert_near((twice - 2.6) / (once - 2.6), 2, 0.2);
}

#define WALK "s_movk_i32 s10, 200\nv_mov_b32_e32 v3, 0x1000\n.Lloop:\n" \
             "global_load_dword v8, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" \
             "v_add_u32_e32 v1, v1, v3\nv_and_b32_e32 v1, 0xffff, v1\n" \
             "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n" \
             "s_cbranch_scc1 .Lloop\ns_endpgm\n"

/* GPUB: 423 ns to HBM, 218 to the last-level cache, of 256 MB; 2.4 GHz. */
static void
warm_cache(void **state)
{
    const struct kn_time_result cold = predict_after(&one, WALK, false, 0);
    const struct kn_time_result warm = predict_after(&one, WALK, true, 0);
    const struct kn_time_result big = predict_after(&one, WALK, true,
                                                    256u << 20);

    (void)state;
    assert_near(cold.loop_cycles - warm.loop_cycles, (423 - 218) * 2.4, 8);
    assert_true(warm.warm && warm.hbm_share == 0);
    assert_true(!big.warm && big.us == cold.us);
}

/* Three turns of a long body: still the pipes that bound it, and the last
 * turn belongs to the loop. */
static void
few_turns(void **state)
{
    static char text[1 << 16];
    struct kn_time_result r;

    strcpy(text, "s_movk_i32 s10, 3\n.Lloop:\n");
    for (int k = 0; k < 512; k++)
        strcat(text, BIG);
    strcat(text, "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
                 "s_cbranch_scc1 .Lloop\ns_endpgm\n");
    r = predict(&four, text);
    (void)state;
    assert_int_equal(r.bound, KN_B_MFMA);
    assert_true(r.epilogue_cycles > 0 && r.epilogue_cycles < 1000);
    assert_near(r.ceiling_tflops, 2516.6 * 1.56 / 2.4, 1);
    for (uint32_t k = 0; k < r.nhot; k++)
        assert_true(r.hot[k].cause != KN_W_MFMA);
}

/* What a persistent workgroup does between two tiles is not its loop's. */
static void
between_tiles(void **state)
{
    static const char tile[] =
        "s_movk_i32 s11, 4\n.Ltile:\ns_movk_i32 s10, 20\n.Lloop:\n" MFMA
        MFMA MFMA MFMA "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
        "s_cbranch_scc1 .Lloop\n%s"
        "s_sub_u32 s11, s11, 1\ns_cmp_lg_u32 s11, 0\n"
        "s_cbranch_scc1 .Ltile\ns_endpgm\n";
    char text[4096], wait[2048] = "";
    struct kn_time_result r, far;

    (void)state;
    for (int k = 0; k < 100; k++)
        strcat(wait, "s_nop 15\n");
    snprintf(text, sizeof text, tile, "");
    r = predict(&four, text);
    snprintf(text, sizeof text, tile, wait);
    far = predict(&four, text);
    assert_near(far.loop_cycles, r.loop_cycles, 0.1);
    assert_near(far.mfma_efficiency, r.mfma_efficiency, 0.001);
    assert_true(far.group_cycles > r.group_cycles + 4 * 100 * 16);
}

/* Nobody is there to release it: the spin is not the wave's work. */
static void
waits_for_another(void **state)
{
    static const char text[] =
        BIG ".Lspin:\ns_load_dword s12, s[4:5], 0x4\ns_waitcnt lgkmcnt(0)\n"
        "s_cmp_eq_u32 s12, 0\ns_cbranch_scc0 .Lspin\ns_endpgm\n";
    struct kn_time_result r = predict(&one, text);

    (void)state;
    assert_true(r.group_cycles > 0 && r.group_cycles < 5000);
}

/* Workgroups of a CU load 16 lines each: their own, or the same. */
static void
own_lines(void **state)
{
    static const struct program_facts two = { .lds = 65536, .groups = 512 };
    static const char loads[] = "%ss_movk_i32 s10, 8\n.Lloop:\n"
        "global_load_dword v2, v1, s[4:5]\ns_add_u32 s4, s4, 0x100\n"
        "s_addc_u32 s5, s5, 0\ns_sub_u32 s10, s10, 1\n"
        "s_cmp_lg_u32 s10, 0\ns_cbranch_scc1 .Lloop\ns_endpgm\n";
    static const char apart[] = "s_lshr_b32 s12, s2, 8\n"
        "s_lshl_b32 s12, s12, 15\ns_add_u32 s4, s4, s12\n"
        "s_addc_u32 s5, s5, 0\n";
    char text[1024];
    struct kn_time_result r;

    (void)state;
    snprintf(text, sizeof text, loads, apart);
    r = predict(&two, text);
    assert_int_equal(r.resident, 2);
    assert_near(r.read_bytes, 512 * 16 * 128, 1);
    snprintf(text, sizeof text, loads, "");
    r = predict(&two, text);
    assert_near(r.read_bytes, 256 * 16 * 128, 1);
}

/* Every second chiplet has nothing to do: the others' rounds count. */
static void
idle_chiplets(void **state)
{
    static const struct program_facts two = { .lds = 65536, .groups = 4096 };
    struct kn_time_result r;

    (void)state;
    r = predict(&two, "s_and_b32 s12, s2, 1\ns_cmp_lg_u32 s12, 0\n"
                      "s_cbranch_scc1 .Lnone\ns_movk_i32 s10, 100\n.Lloop:\n"
                      MFMA "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
                      "s_cbranch_scc1 .Lloop\n.Lnone:\ns_endpgm\n");
    assert_int_equal(r.resident, 2);
    assert_near(r.rounds, 8, 0.01);
}

/* ORI: what goes to the memory that all chiplets see. */
static void
shared_memory(void **state)
{
    (void)state;
    assert_near(cost(&one, "v_mov_b32_e32 v2, 1\n",
                     "global_atomic_add v1, v2, s[6:7]\n"
                     "s_waitcnt vmcnt(0)\n", 2), 1930, 30);
    assert_near(cost(&one, "v_mov_b32_e32 v2, 1\n",
                     "global_atomic_add v3, v1, v2, s[6:7] sc0\n"
                     "s_waitcnt vmcnt(0)\n", 2), 1930, 30);
    assert_near(cost(&one, "", "s_load_dword s12, s[4:5], 0x0 glc\n"
                     "s_waitcnt lgkmcnt(0)\n", 2), 1905, 10);
    assert_near(cost(&one, "", "s_load_dword s12, s[4:5], 0x0\n"
                     "s_waitcnt lgkmcnt(0)\n", 2), 205, 10);
}

/* Counts itself in at a counter of its own lane; the last of the shares turns
 * a loop. */
#define LAST_OF_FOUR \
    "s_load_dwordx2 s[14:15], s[0:1], 0x10\nv_mov_b32_e32 v2, 1\n" \
    "s_waitcnt lgkmcnt(0)\nglobal_atomic_add v3, v1, v2, s[14:15] sc0\n" \
    "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s12, v3\n" \
    "s_cmp_lg_u32 s12, 3\ns_cbranch_scc1 .Lnone\ns_movk_i32 s10, 100\n" \
    ".Lloop:\n" MFMA "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n" \
    "s_cbranch_scc1 .Lloop\n.Lnone:\ns_endpgm\n"

static uint64_t
turns_of_share(uint32_t shares)
{
    static const struct program_facts f = { .lds = 65536, .groups = 16 };
    struct kn_time_query q;
    struct kn_time_result r;
    struct program p;
    uint64_t at;

    program_open(&p, &f, LAST_OF_FOUR);
    assert_int_equal(kn_sim_alloc(p.sim, KILN_WORKSPACE_ZEROS, 0,
                                  kn_sim_zeros, NULL, &at), KILN_OK);
    p.args[2] = at;
    p.launch.kernarg = (const uint8_t *)p.args;
    p.launch.kernarg_size = sizeof p.args;
    q = (struct kn_time_query){ .sim = p.sim, .launch = &p.launch,
                                .shares = { .workspace = at, .n = shares } };
    if (kn_time_predict(&p.ctx, &q, &r))
        fail_msg("%s", p.ctx.err.text);
    program_close(&p);
    return r.loop_iterations;
}

/* Each workgroup that is looked at comes last, however many were before. */
static void
last_share(void **state)
{
    (void)state;
    assert_int_equal(turns_of_share(4), 100);
    assert_int_equal(turns_of_share(3), 0);
    assert_int_equal(turns_of_share(0), 0);
}

/* What no chip can do is refused, each law by itself. */
static void
refused(void **state)
{
    static const struct kn_time_result fine = {
        .us = 100, .rounds = 2, .read_bytes = 1e9
    };
    static const struct kn_time_work work = {
        .bytes = 7e8, .left_l2 = 1e9, .mfma = 2e8, .longest = 50000,
        .groups = 500, .slots = 256
    };
    struct kn_time_work w[6] = { work, work, work, work, work, work };
    struct kn_time_result r = fine;
    struct kn_time_chip chip;
    struct program p;

    (void)state;
    program_open(&p, &one, "s_endpgm\n");
    kn_time_chip_of(KILN_GFX950, &chip);
    assert_int_equal(kn_time_check(&p.ctx, &chip, &work, &fine), KILN_OK);
    w[0].bytes = 8.1e8;
    w[1].left_l2 = 1.73e9;
    w[2].mfma = 2.5e8;
    w[3].longest = 60001;
    w[4].groups = 513;
    r.read_bytes = 4e9;
    for (int k = 0; k < 5; k++)
        assert_int_equal(kn_time_check(&p.ctx, &chip, &w[k], &fine),
                         KILN_INTERNAL);
    assert_int_equal(kn_time_check(&p.ctx, &chip, &work, &r), KILN_INTERNAL);
    r = fine;
    r.warm = true;           /* in the last-level cache */
    w[5].bytes = 2.5e8;
    r.us = 20;
    w[5].left_l2 = w[5].mfma = 0;
    w[5].longest = 0;
    r.read_bytes = 0;
    assert_int_equal(kn_time_check(&p.ctx, &chip, &w[5], &r), KILN_OK);
    r.warm = false;
    assert_int_equal(kn_time_check(&p.ctx, &chip, &w[5], &r), KILN_INTERNAL);
    program_close(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_rate),   cmocka_unit_test(vector_shadow),
        cmocka_unit_test(issue_slots),   cmocka_unit_test(lds_rate),
        cmocka_unit_test(lds_latency),   cmocka_unit_test(memory_rate),
        cmocka_unit_test(half_lines),    cmocka_unit_test(barriers),
        cmocka_unit_test(bank_conflicts), cmocka_unit_test(skewed_groups),
        cmocka_unit_test(rounds),        cmocka_unit_test(warm_cache),
        cmocka_unit_test(few_turns),     cmocka_unit_test(waits_for_another),
        cmocka_unit_test(between_tiles), cmocka_unit_test(own_lines),
        cmocka_unit_test(idle_chiplets), cmocka_unit_test(shared_memory),
        cmocka_unit_test(last_share),    cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
