/* test_gates.c - every gate passes where it should, fires where it should,
 * and can be waived by its name only. */
#include "flow.h"

#include <string.h>

#include "emit/prove/gates.h"

static const char *data_dir, *built_dir;
static const uint8_t fences[] = { 6, 4 };

static bool
is_crowded(const char *refusal)
{
    return refusal && (!strncmp(refusal, "gate spills", 11) ||
                       !strncmp(refusal, "gate scratch", 12) ||
                       !strncmp(refusal, "gate accvgpr-moves", 18) ||
                       !strncmp(refusal, "gate vgpr", 9));
}

static void
expect(const char *dir, const char *file, const char *kernel,
       const struct kn_gate_plan *plan, const char *text)
{
    struct flow f;
    kiln_status s;

    flow_open(&f, dir, file, kernel);
    s = kn_gates_check(&f.c, &f.p, plan);
    if (s != (text ? KILN_FINDING : KILN_OK) ||
        strcmp(f.c.err.text, text ? text : ""))
        fail_msg("status %d: %s", s, f.c.err.text);
    assert_int_equal(f.c.crowded, is_crowded(text));
    flow_close(&f);
}

static void
expect_flow(const char *kernel, const struct kn_gate_plan *plan,
            const char *text)
{
    expect(built_dir, "flow.o", kernel, plan, text);
}

static void
test_a_kernel_as_planned_passes(void **state)
{
    struct kn_gate_plan plan = { .max_regs = 24, .max_lds = 4096, .mfma = 2,
                                 .vm = fences, .nvm = 2 };

    (void)state;
    expect_flow("pipeline", &plan, NULL);
    plan.max_regs = plan.max_lds = plan.mfma = 0;
    expect_flow("pipeline", &plan, NULL);
}

static void
test_spills(void **state)
{
    const struct kn_gate_plan plan = { 0 };

    (void)state;
    expect_flow("spilling", &plan, "gate spills: kernel spilling: 3 vector "
                "and 1 scalar registers are spilled");
}

static void
test_scratch(void **state)
{
    static const char *const waived[] = { "spills" };
    const struct kn_gate_plan plan = { .waived = waived, .nwaived = 1 };

    (void)state;
    expect_flow("spilling", &plan, "gate scratch: kernel spilling: scratch "
                "is used: scratch_store_dword off, v0, off offset:4 at "
                "0x1d00");
}

static void
test_registers(void **state)
{
    const struct kn_gate_plan plan = { .max_regs = 16, .vm = fences,
                                       .nvm = 2 };

    (void)state;
    expect_flow("pipeline", &plan, "gate vgpr: kernel pipeline: 24 vector "
                "registers, planned were 16");
}

static void
test_lds(void **state)
{
    const struct kn_gate_plan plan = { .max_lds = 4095, .vm = fences,
                                       .nvm = 2 };

    (void)state;
    expect_flow("pipeline", &plan, "gate lds: kernel pipeline: 4096 bytes of "
                "LDS, planned were 4095");
}

static void
test_mfma_count(void **state)
{
    struct kn_gate_plan plan = { .mfma = 3, .vm = fences, .nvm = 2 };

    (void)state;
    expect_flow("pipeline", &plan, "gate mfma-count: kernel pipeline: 2 "
                "matrix instructions in the main loop, planned were 3; the "
                "first is at 0x1a38");
    expect_flow("tangled", &plan, "gate mfma-count: kernel tangled: no loop "
                "has matrix instructions, planned were 3");
}

static void
test_accumulator_moves(void **state)
{
    const struct kn_gate_plan plan = { .mfma = 1 };

    (void)state;
    expect_flow("nested", &plan, "gate accvgpr-moves: kernel nested: the "
                "main loop moves an accumulator: v_accvgpr_read_b32 v8, a0 "
                "at 0x1b10");
}

/* What LLVM does when our fence is too weak: a stronger or an extra wait. */
static void
test_waits(void **state)
{
    static const uint8_t weaker[] = { 8, 6 }, same[] = { 4, 6, 0 };
    static const uint8_t one[] = { 0 };
    struct kn_gate_plan plan = { .vm = weaker, .nvm = 2 };

    (void)state;
    expect_flow("pipeline", &plan, "gate vm-wait: kernel pipeline: a wait "
                "stronger than the vm=6 asked for is in the main loop: "
                "s_waitcnt vmcnt(4) at 0x1a40");
    plan = (struct kn_gate_plan){ .vm = same, .nvm = 3 };
    expect_flow("pipeline", &plan, NULL);
    plan = (struct kn_gate_plan){ .vm = one, .nvm = 1 };
    expect_flow("pipeline", &plan, "gate vm-wait: kernel pipeline: a wait "
                "nobody asked for is in the main loop: s_waitcnt vmcnt(6) "
                "lgkmcnt(0) at 0x1a1c");
    plan.walks = true;
    expect_flow("pipeline", &plan, NULL);
}

static void
test_every_gate_can_be_waived(void **state)
{
    static const char *waived[KN_NGATES];
    const struct kn_gate_plan plan = { .max_regs = 1, .max_lds = 1,
                                       .mfma = 9, .waived = waived,
                                       .nwaived = KN_NGATES };

    (void)state;
    for (int g = 0; g < KN_NGATES; g++)
        waived[g] = kn_gate_name((enum kn_gate)g);
    expect_flow("spilling", &plan, NULL);
    expect_flow("nested", &plan, NULL);
    expect_flow("pipeline", &plan, NULL);
}

static void
test_unknown_waiver(void **state)
{
    static const char *const waived[] = { "spill" };
    const struct kn_gate_plan plan = { .waived = waived, .nwaived = 1 };
    struct flow f;

    (void)state;
    flow_open(&f, built_dir, "flow.o", "pipeline");
    assert_int_equal(kn_gates_check(&f.c, &f.p, &plan), KILN_BAD_INPUT);
    assert_string_equal(f.c.err.text,
                        "no gate spill to waive, there is: spills, scratch, "
                        "vgpr, lds, mfma-count, accvgpr-moves, vm-wait");
    flow_close(&f);
}

/* A compiler's real spills, not only ours. */
static void
test_triton_spills(void **state)
{
    const struct kn_gate_plan plan = { 0 };

    (void)state;
    expect(data_dir, "gfx950_wgrad_fp8_tn_256x256x128.co", NULL, &plan,
           "gate spills: kernel wgrad_tn: 232 vector and 0 scalar registers "
           "are spilled");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kernel_as_planned_passes),
        cmocka_unit_test(test_spills),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_lds),
        cmocka_unit_test(test_mfma_count),
        cmocka_unit_test(test_accumulator_moves),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_every_gate_can_be_waived),
        cmocka_unit_test(test_unknown_waiver),
        cmocka_unit_test(test_triton_spills),
    };

    if (argc != 3)
        return 2;
    data_dir = argv[1];
    built_dir = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
