/* test_api.c - problem to result through the public interface. */
#include "../kit/api.h"

#include <string.h>

static void
compile_plan_launch(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel_info info = { .size = sizeof info };
    struct operands o;
    kiln_function *f;
    kiln_kernel *k;
    kiln_plan plan;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &k, &e), &e);
    kiln_get_kernel(k, &info);
    assert_int_equal(info.source, KILN_FROM_COMPILER);
    assert_int_equal(strlen(info.key), 64);
    assert_memory_equal(info.code, "\177ELF", 4);
    assert_true(info.compile_ms > 0);
    assert_ptr_equal(strstr(info.config, "tile=32x32x64 "), info.config);
    assert_non_null(strstr(info.versions, "LLVM 22."));
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    assert_int_equal(plan.grid[0], 4);
    assert_int_equal(plan.lds, info.lds);
    assert_int_equal(plan.npointers, 3);
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
    kiln_release(k);         /* the function keeps it */
    make_operands(&o, shared.d, &p);
    assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
    assert_ok(kiln_sync(shared.d, NULL, &e), &e);
    check_output(&o);
    drop_operands(&o);
    kiln_unload(f);
}

/* One kernel serves all shapes of its domain. */
static void
one_kernel_many_shapes(void **state)
{
    static const int64_t sizes[][3] = { { 1, 4, 70 }, { 33, 64, 130 },
                                        { 64, 32, 8 } };
    kiln_problem p = small_problem(50, 36, 72);
    kiln_function *f;
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64 align=4,4,16,16 vec=4 "
                           "ktail=1", &k, &e), &e);
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct operands o;
        kiln_plan plan;

        p = small_problem(sizes[i][0], sizes[i][1], sizes[i][2]);
        make_operands(&o, shared.d, &p);
        assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
        assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
        check_output(&o);
        drop_operands(&o);
    }
    kiln_unload(f);
    kiln_release(k);
}

/* What an aborted launch may leave is said before it is used, and nothing is
 * launched; unchecked it makes another wrong. */
static void
refuses_dirty_counters(kiln_function *f, const kiln_plan *plan,
                       struct operands *o)
{
    static const uint32_t two = 2, zero;
    char *counter = (char *)o->args.workspace + 3 * sizeof two;
    uint32_t now = 0;
    kiln_error e;

    assert_ok(kiln_upload(shared.d, counter, &two, sizeof two, &e), &e);
    assert_int_equal(kiln_launch(f, plan, &o->args, &e), KILN_BAD_INPUT);
    assert_string_equal(e.text, "counter 3 of the workspace is 2 before the "
                        "launch: its first 262144 bytes have to be zero, "
                        "clear them");
    assert_ok(kiln_download(shared.d, &now, counter, sizeof now, &e), &e);
    assert_int_equal(now, 2);
    assert_ok(kiln_upload(shared.d, counter, &zero, sizeof zero, &e), &e);
    assert_ok(kiln_launch(f, plan, &o->args, &e), &e);
    check_output(o);
}

/* A launch that ends before all shares of a tile have come, here for want of a
 * workgroup, leaves its counter: only who looks behind the launch knows. */
static void
finds_what_a_launch_left(kiln_function *f, const kiln_plan *plan,
                         struct operands *o)
{
    static const char zeros[KILN_WORKSPACE_ZEROS];
    kiln_plan fewer = *plan;
    kiln_error e;

    fewer.grid[0]--;
    assert_int_equal(kiln_launch(f, &fewer, &o->args, &e), KILN_FINDING);
    assert_non_null(strstr(e.text, " of the workspace is "));
    assert_non_null(strstr(e.text, " after the launch: its first 262144 bytes "
                           "have to be zero, clear them"));
    assert_int_equal(kiln_launch(f, plan, &o->args, &e), KILN_BAD_INPUT);
    assert_ok(kiln_upload(shared.d, o->args.workspace, zeros, sizeof zeros, &e), &e);
    o->args.flags = 0;
    assert_ok(kiln_launch(f, &fewer, &o->args, &e), &e);
    assert_ok(kiln_upload(shared.d, o->args.workspace, zeros, sizeof zeros, &e), &e);
    o->args.flags = KILN_CHECKED;
    assert_ok(kiln_launch(f, plan, &o->args, &e), &e);
    check_output(o);
}

/* The counters are zero once; no launch needs them cleared again. */
static void
split_k_reuses_its_workspace(void **state)
{
    static const char zeros[KILN_WORKSPACE_ZEROS];
    kiln_problem p = small_problem(50, 36, 700);
    struct operands o;
    kiln_function *f;
    kiln_kernel *k;
    kiln_plan plan;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64 split-k=4", &k, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    assert_int_equal(plan.grid[0], 16);
    assert_int_equal(plan.workspace, KILN_WORKSPACE_ZEROS + 16 * 32 * 32 * 4);
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
    make_operands(&o, shared.d, &p);
    assert_int_equal(kiln_launch(f, &plan, &o.args, &e), KILN_BAD_INPUT);
    assert_string_equal(e.text, "the kernel needs 'workspace', its address "
                        "is NULL");
    assert_ok(kiln_malloc(shared.d, plan.workspace, &o.args.workspace, &e), &e);
    assert_ok(kiln_upload(shared.d, o.args.workspace, zeros, sizeof zeros, &e), &e);
    for (int i = 0; i < 3; i++)
        assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
    check_output(&o);
    o.args.flags = KILN_CHECKED;
    assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
    check_output(&o);
    refuses_dirty_counters(f, &plan, &o);
    finds_what_a_launch_left(f, &plan, &o);
    assert_ok(kiln_free(shared.d, o.args.workspace, &e), &e);
    drop_operands(&o);
    kiln_unload(f);
    kiln_release(k);
}

static void *
put(const void *bytes, size_t n)
{
    kiln_error e;
    void *p;

    assert_ok(kiln_malloc(shared.d, n, &p, &e), &e);
    assert_ok(kiln_upload(shared.d, p, bytes, n, &e), &e);
    return p;
}

/* moe's gemm1 by the public arguments: 4 tokens, 2 experts, one slot. Token i
 * goes to expert i % 2; A is 1, B 1/64 for expert 0 and 1/32 for expert 1. */
static void
moe_takes_sorted_ids(void **state)
{
    enum { TOKENS = 4, N = 32, K = 64, ROOM = 32 };
    kiln_problem p = { .size = sizeof p, .family = KILN_MOE,
                       .target = KILN_GFX950, .a = KILN_BF16,
                       .out = KILN_BF16, .stage = KILN_MOE_GATE_UP,
                       .block_m = 16, .m = ROOM, .n = N, .k = K, .groups = 2,
                       .tokens = TOKENS, .topk = 1 };
    static uint16_t a[TOKENS * K], b[2][2 * N * K], out[TOKENS * N];
    const int32_t experts[ROOM / 16] = { 0, 1 }, padded[1] = { ROOM };
    int32_t ids[ROOM];
    kiln_arguments args = { .size = sizeof args };
    kiln_error e;

    (void)state;
    for (int i = 0; i < TOKENS * K; i++)
        a[i] = 0x3f80;
    for (int i = 0; i < 2 * N * K; i++) {
        b[0][i] = 0x3c80;
        b[1][i] = 0x3d00;
    }
    for (int i = 0; i < ROOM; i++)
        ids[i] = i % 16 < 2 ? i % 16 * 2 + i / 16 : TOKENS;
    args.a = put(a, sizeof a);
    args.b = put(b, sizeof b);
    args.c = put(out, sizeof out);
    args.offsets = put(ids, sizeof ids);
    args.experts = put(experts, sizeof experts);
    assert_int_equal(kiln_run(shared.d, &p, &args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "needs 'padded'"));
    args.padded = put(padded, sizeof padded);
    assert_ok(kiln_run(shared.d, &p, &args, &e), &e);
    assert_ok(kiln_download(shared.d, out, args.c, sizeof out, &e), &e);
    /* silu(1) * 1 = 0.7311, silu(2) * 2 = 3.5232 */
    for (int i = 0; i < TOKENS * N; i++)
        assert_int_equal(out[i], i / N % 2 ? 0x4061 : 0x3f3b);
    for (int i = 0; i < 6; i++) {
        const void *all[] = { args.a, args.b, args.c, args.offsets,
                              args.experts, args.padded };

        assert_ok(kiln_free(shared.d, (void *)all[i], &e), &e);
    }
}

static void
empty_problem_launches_nothing(void **state)
{
    kiln_problem p = small_problem(0, 36, 64);
    kiln_arguments none = { .size = sizeof none };
    kiln_function *f;
    kiln_kernel *k;
    kiln_plan plan;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(shared.x, &p, NULL, &k, &e), &e);
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    assert_int_equal(plan.grid[0], 0);
    assert_ok(kiln_launch(f, &plan, &none, &e), &e);
    kiln_unload(f);
    kiln_release(k);
}

static void
second_compile_is_the_same_kernel(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel *a, *b, *c;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &a, &e), &e);
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &b, &e), &e);
    p.m = 1000;              /* no part of the key when the tile is given */
    assert_ok(kiln_lookup(shared.x, &p, "tile=32x32x64", &c, &e), &e);
    assert_ptr_equal(a, b);
    assert_ptr_equal(a, c);
    kiln_release(a);
    kiln_release(b);
    kiln_release(c);
}

static void
lookup_does_not_compile(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel *k = (kiln_kernel *)&p;
    kiln_error e;

    (void)state;
    assert_int_equal(kiln_lookup(shared.x, &p, "tile=64x32x64", &k, &e),
                     KILN_NOT_FOUND);
    assert_null(k);
    assert_int_equal(e.status, KILN_NOT_FOUND);
    assert_non_null(strstr(e.text, "there is no kernel for family=gemm"));
}

/* A launch that meets the context's limit is no answer, and the device is as
 * good as before. */
static void
limits_stop_the_launch(void **state)
{
    kiln_options options = { .size = sizeof options, .flags = KILN_NO_DISK,
                             .max_steps = 50 };
    kiln_problem p = small_problem(50, 36, 70);
    struct operands o;
    kiln_context *x;
    kiln_device *d;
    kiln_error e;

    (void)state;
    assert_ok(kiln_open(&options, &x, &e), &e);
    d = open_device(x, "sim:gfx950");
    make_operands(&o, d, &p);
    assert_int_equal(kiln_run(d, &p, &o.args, &e), KILN_UNSUPPORTED);
    assert_non_null(strstr(e.text, "stopped: wave 0 of workgroup 0 was at"));
    drop_operands(&o);
    kiln_close_device(d);
    kiln_close(x);
    options.max_seconds = -1;
    assert_int_equal(kiln_open(&options, &x, &e), KILN_BAD_INPUT);
}

/* An operand shorter than the problem says: the simulator tells. */
static void
findings_fail_the_launch(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    struct operands o;
    kiln_error e;
    void *less;

    (void)state;
    make_operands(&o, shared.d, &p);
    assert_ok(kiln_malloc(shared.d, 4096, &less, &e), &e);
    o.args.a = less;         /* never written */
    assert_int_equal(kiln_run(shared.d, &p, &o.args, &e), KILN_FINDING);
    assert_non_null(strstr(e.text, "findings)"));
    o.args.a = o.memory[0];  /* the device is as good as before */
    assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
    check_output(&o);
    drop_operands(&o);
    assert_ok(kiln_free(shared.d, less, &e), &e);
}

static void
devices_by_name(void **state)
{
    kiln_device_info info = { .size = sizeof info };
    kiln_device *d;
    kiln_error e;

    (void)state;
    kiln_get_device(shared.d, &info);
    assert_int_equal(info.target, KILN_GFX950);
    assert_int_equal(info.cus, 256);
    assert_int_equal(info.simulated, 1);
    assert_int_equal(kiln_open_device(shared.x, "sim:gfx90a", &d, &e),
                     KILN_BAD_INPUT);
    assert_int_equal(kiln_open_device(shared.x, "hip:x", &d, &e), KILN_BAD_INPUT);
    assert_null(d);
    assert_non_null(strstr(e.text, "'hip:x'"));
    assert_ok(kiln_open_device(shared.x, "sim:gfx942", &d, &e), &e);
    kiln_get_device(d, &info);
    assert_int_equal(info.cus, 304);
    kiln_close_device(d);
}

static void
kernel_and_device_must_agree(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_function *f;
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    p.target = KILN_GFX942;
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &k, &e), &e);
    assert_int_equal(kiln_load(shared.d, k, &f, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "for gfx942, the device is gfx950"));
    kiln_release(k);
}

/* Predicted, the same every time, and no memory changes: the launch after it
 * finds its counters zero and writes every element. */
static void
simulator_predicts(void **state)
{
    static const char zeros[KILN_WORKSPACE_ZEROS];
    kiln_problem p = small_problem(50, 36, 200);
    kiln_timing timing = { .size = sizeof timing, .runs = 3 }, again = timing;
    struct operands o;
    kiln_function *f;
    kiln_kernel *k;
    kiln_plan plan;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64 split-k=2", &k, &e), &e);
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    make_operands(&o, shared.d, &p);
    assert_ok(kiln_malloc(shared.d, plan.workspace, &o.args.workspace, &e), &e);
    assert_ok(kiln_upload(shared.d, o.args.workspace, zeros, sizeof zeros, &e), &e);
    assert_ok(kiln_time(f, &plan, &o.args, &timing, &e), &e);
    assert_true(timing.us > 1 && timing.us < 1000);
    assert_ok(kiln_time(f, &plan, &o.args, &again, &e), &e);
    assert_true(timing.us == again.us);
    assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
    check_output(&o);
    assert_ok(kiln_free(shared.d, o.args.workspace, &e), &e);
    drop_operands(&o);
    kiln_unload(f);
    kiln_release(k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compile_plan_launch),
        cmocka_unit_test(one_kernel_many_shapes),
        cmocka_unit_test(split_k_reuses_its_workspace),
        cmocka_unit_test(moe_takes_sorted_ids),
        cmocka_unit_test(empty_problem_launches_nothing),
        cmocka_unit_test(second_compile_is_the_same_kernel),
        cmocka_unit_test(lookup_does_not_compile),
        cmocka_unit_test(limits_stop_the_launch),
        cmocka_unit_test(findings_fail_the_launch),
        cmocka_unit_test(devices_by_name),
        cmocka_unit_test(kernel_and_device_must_agree),
        cmocka_unit_test(simulator_predicts),
    };

    return cmocka_run_group_tests_name("runtime-api", tests, open_shared, close_shared);
}
