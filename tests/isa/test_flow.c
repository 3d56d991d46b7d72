/* test_flow.c - control flow and census of flow.s, counted by hand, and of
 * Triton's kernels. */
#include "flow.h"

#include <string.h>

#include "emit/isa/cfg.h"

static const char *data_dir, *built_dir;

static void
test_one_loop(void **state)
{
    struct kn_cfg g;
    struct flow f;

    (void)state;
    flow_open(&f, built_dir, "flow.o", "pipeline");
    assert_int_equal(kn_cfg_build(&f.c, &f.p, &g), KILN_OK);
    assert_int_equal(g.nblocks, 3);
    assert_int_equal(g.nloops, 1);
    assert_int_equal(g.loops[0].header, 1);
    assert_int_equal(g.loops[0].nblocks, 1);
    assert_int_equal(g.loops[0].nback, 1);
    assert_int_equal(g.loops[0].depth, 1);
    assert_int_equal(g.blocks[0].loop, -1);
    assert_int_equal(g.blocks[1].first, 2);
    assert_int_equal(g.blocks[1].end, 16);
    assert_int_equal(g.blocks[1].succ[0], 2);
    assert_int_equal(g.blocks[1].succ[1], 1);
    assert_int_equal(g.blocks[2].succ[0], -1);
    assert_false(g.irreducible);
    assert_false(g.indirect);
    assert_int_equal(kn_cfg_main_loop(&g), 0);
    assert_false(kn_loop_contains(&g, 0, 1));
    assert_true(kn_loop_contains(&g, 0, 2));
    flow_close(&f);
}

static void
test_nested_loops(void **state)
{
    static const int32_t idom[] = { -1, 0, 1, 2, 3, 3, 3, 6, -1 };
    static const int32_t loop[] = { -1, 0, 1, 0, 0, 0, 0, -1, -1 };
    struct kn_cfg g;
    struct flow f;

    (void)state;
    flow_open(&f, built_dir, "flow.o", "nested");
    assert_int_equal(kn_cfg_build(&f.c, &f.p, &g), KILN_OK);
    assert_int_equal(g.nblocks, 9);
    for (int b = 0; b < 9; b++) {
        assert_int_equal(g.blocks[b].idom, idom[b]);
        assert_int_equal(g.blocks[b].loop, loop[b]);
        assert_int_equal(g.blocks[b].reached, b < 8);
    }
    assert_int_equal(g.nloops, 2);
    assert_int_equal(g.loops[0].header, 1);
    assert_int_equal(g.loops[0].nblocks, 6);
    assert_int_equal(g.loops[0].parent, -1);
    assert_int_equal(g.loops[1].header, 2);
    assert_int_equal(g.loops[1].parent, 0);
    assert_int_equal(g.loops[1].depth, 2);
    assert_int_equal(kn_cfg_main_loop(&g), 1);
    assert_false(g.irreducible);
    flow_close(&f);
}

static void
test_tangled_flow(void **state)
{
    struct kn_cfg g;
    struct flow f;

    (void)state;
    flow_open(&f, built_dir, "flow.o", "tangled");
    assert_int_equal(kn_cfg_build(&f.c, &f.p, &g), KILN_OK);
    assert_int_equal(g.nblocks, 4);
    assert_int_equal(g.nloops, 0);
    assert_true(g.irreducible);
    assert_true(g.indirect);
    assert_int_equal(kn_cfg_main_loop(&g), -1);
    flow_close(&f);
}

static uint32_t
count_op(const struct kn_census *t, uint16_t op, bool lds)
{
    for (uint32_t i = 0; i < t->nops; i++)
        if (t->ops[i].op == op && t->ops[i].lds == lds)
            return t->ops[i].n;
    return 0;
}

static void
test_census(void **state)
{
    static const struct kn_census_wait waits[] = {
        { 4, 15, 7, 1 }, { 6, 0, 7, 1 }, { 63, 0, 7, 1 },
    };
    struct kn_census t;
    struct kn_cfg g;
    struct flow f;

    (void)state;
    flow_open(&f, built_dir, "flow.o", "pipeline");
    assert_int_equal(kn_cfg_build(&f.c, &f.p, &g), KILN_OK);
    assert_int_equal(kn_census_take(&f.c, &g, 0, &t), KILN_OK);
    assert_int_equal(t.n, 14);
    assert_int_equal(t.bytes, 80);
    assert_int_equal(t.unit[KN_U_MFMA], 2);
    assert_int_equal(t.unit[KN_U_VMEM], 2);
    assert_int_equal(t.unit[KN_U_LDS], 2);
    assert_int_equal(t.unit[KN_U_SALU], 2);
    assert_int_equal(t.unit[KN_U_VALU], 0);
    assert_int_equal(t.unit[KN_U_BRANCH], 1);
    assert_int_equal(t.unit[KN_U_INTERNAL], 5);
    assert_int_equal(t.barriers, 1);
    assert_int_equal(t.snops, 1);
    assert_int_equal(t.mfma_cycles, 32);
    assert_int_equal(t.nwaits, 3);
    assert_memory_equal(t.waits, waits, sizeof waits);
    assert_int_equal(count_op(&t, KN_I_buffer_load_dwordx4, true), 1);
    assert_int_equal(count_op(&t, KN_I_buffer_load_dwordx4, false), 1);
    assert_int_equal(count_op(&t, KN_I_ds_read_b128, false), 2);
    assert_int_equal(kn_census_take(&f.c, &g, -1, &t), KILN_OK);
    assert_int_equal(t.n, 17);
    assert_int_equal(t.unit[KN_U_MFMA], 3);
    flow_close(&f);
}

static void
test_census_leaves_out_dead_code(void **state)
{
    struct kn_census t;
    struct kn_cfg g;
    struct flow f;

    (void)state;
    flow_open(&f, built_dir, "flow.o", "nested");
    assert_int_equal(kn_cfg_build(&f.c, &f.p, &g), KILN_OK);
    assert_int_equal(kn_census_take(&f.c, &g, -1, &t), KILN_OK);
    assert_int_equal(t.n, f.p.n - 1);
    assert_int_equal(t.accvgpr, 1);
    flow_close(&f);
}

/* A 256x256x64 bf16 tile of 8 waves takes 64 16x16x32 or 32 32x32x16 matrix
 * instructions a wave and turn; Triton's object has the latter. */
static void
test_triton_main_loop(void **state)
{
    struct kn_census t;
    struct kn_cfg g;
    struct flow f;
    int32_t loop;

    (void)state;
    flow_open(&f, data_dir, "gfx950_bf16_nt_256x256x64.co", NULL);
    assert_int_equal(kn_cfg_build(&f.c, &f.p, &g), KILN_OK);
    assert_false(g.irreducible);
    assert_false(g.indirect);
    loop = kn_cfg_main_loop(&g);
    assert_true(loop >= 0);
    assert_int_equal(kn_census_take(&f.c, &g, loop, &t), KILN_OK);
    assert_int_equal(t.unit[KN_U_MFMA] * 16384ull * 2 * 8,
                     2ull * 256 * 256 * 64);
    assert_true(t.barriers > 0);
    flow_close(&f);
}

static void
test_no_instructions(void **state)
{
    struct kn_program p = { 0 };
    struct kn_cfg g;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_cfg_build(&c, &p, &g), KILN_BAD_INPUT);
    kn_ctx_free(&c);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_loop),
        cmocka_unit_test(test_nested_loops),
        cmocka_unit_test(test_tangled_flow),
        cmocka_unit_test(test_census),
        cmocka_unit_test(test_census_leaves_out_dead_code),
        cmocka_unit_test(test_triton_main_loop),
        cmocka_unit_test(test_no_instructions),
    };

    if (argc != 3)
        return 2;
    data_dir = argv[1];
    built_dir = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
