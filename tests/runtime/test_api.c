/* test_api.c - problem to result through the public interface, and every
 * refusal with its sentence. */
#include "../kit/api.h"

#include <string.h>

static struct {
    kiln_context *x;
    kiln_device *d;
} t;

static int
setup(void **state)
{
    (void)state;
    t.x = open_context(NULL, 0, NULL);
    t.d = open_device(t.x, "sim:gfx950");
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    kiln_close_device(t.d);
    kiln_close(t.x);
    return 0;
}

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
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &k, &e), &e);
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
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    kiln_release(k);         /* the function keeps it */
    make_operands(&o, t.d, &p);
    assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
    assert_ok(kiln_sync(t.d, NULL, &e), &e);
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
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64 align=4,4,16,16 vec=4 "
                           "ktail=1", &k, &e), &e);
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct operands o;
        kiln_plan plan;

        p = small_problem(sizes[i][0], sizes[i][1], sizes[i][2]);
        make_operands(&o, t.d, &p);
        assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
        assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
        check_output(&o);
        drop_operands(&o);
    }
    kiln_unload(f);
    kiln_release(k);
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
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64 split-k=4", &k, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    assert_int_equal(plan.grid[0], 16);
    assert_int_equal(plan.workspace, KILN_WORKSPACE_ZEROS + 16 * 32 * 32 * 4);
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    make_operands(&o, t.d, &p);
    assert_int_equal(kiln_launch(f, &plan, &o.args, &e), KILN_BAD_INPUT);
    assert_string_equal(e.text, "the kernel needs 'workspace', its address "
                        "is NULL");
    assert_ok(kiln_malloc(t.d, plan.workspace, &o.args.workspace, &e), &e);
    assert_ok(kiln_upload(t.d, o.args.workspace, zeros, sizeof zeros, &e), &e);
    for (int i = 0; i < 3; i++)
        assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
    check_output(&o);
    assert_ok(kiln_free(t.d, o.args.workspace, &e), &e);
    drop_operands(&o);
    kiln_unload(f);
    kiln_release(k);
}

static void *
put(const void *bytes, size_t n)
{
    kiln_error e;
    void *p;

    assert_ok(kiln_malloc(t.d, n, &p, &e), &e);
    assert_ok(kiln_upload(t.d, p, bytes, n, &e), &e);
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
    assert_int_equal(kiln_run(t.d, &p, &args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "needs 'padded'"));
    args.padded = put(padded, sizeof padded);
    assert_ok(kiln_run(t.d, &p, &args, &e), &e);
    assert_ok(kiln_download(t.d, out, args.c, sizeof out, &e), &e);
    /* silu(1) * 1 = 0.7311, silu(2) * 2 = 3.5232 */
    for (int i = 0; i < TOKENS * N; i++)
        assert_int_equal(out[i], i / N % 2 ? 0x4061 : 0x3f3b);
    for (int i = 0; i < 6; i++) {
        const void *all[] = { args.a, args.b, args.c, args.offsets,
                              args.experts, args.padded };

        assert_ok(kiln_free(t.d, (void *)all[i], &e), &e);
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
    assert_ok(kiln_compile(t.x, &p, NULL, &k, &e), &e);
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
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
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &a, &e), &e);
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &b, &e), &e);
    p.m = 1000;              /* no part of the key when the tile is given */
    assert_ok(kiln_lookup(t.x, &p, "tile=32x32x64", &c, &e), &e);
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
    assert_int_equal(kiln_lookup(t.x, &p, "tile=64x32x64", &k, &e),
                     KILN_NOT_FOUND);
    assert_null(k);
    assert_int_equal(e.status, KILN_NOT_FOUND);
    assert_non_null(strstr(e.text, "there is no kernel for family=gemm"));
}

static void
refuse(const kiln_problem *p, const char *config, kiln_status s,
       const char *text)
{
    kiln_kernel *k;
    kiln_error e;

    assert_int_equal(kiln_compile(t.x, p, config, &k, &e), s);
    assert_null(k);
    if (!strstr(e.text, text))
        fail_msg("'%s' does not say '%s'", e.text, text);
    /* The error record is optional. */
    assert_int_equal(kiln_compile(t.x, p, config, &k, NULL), s);
}

static void
bad_problems_are_refused(void **state)
{
    kiln_problem p = small_problem(8, 8, 8);

    (void)state;
    p.size = 3;
    refuse(&p, NULL, KILN_BAD_INPUT, "kiln_problem.size is 3");
    p.size = 4096;
    refuse(&p, NULL, KILN_BAD_INPUT, "kiln_problem.size is 4096");
    p = small_problem(8, 8, 8);
    p.a = (kiln_type)99;
    refuse(&p, NULL, KILN_BAD_INPUT, "kiln_problem.a is 99");
    p = small_problem(8, 8, 8);
    p.beta = 2;
    refuse(&p, NULL, KILN_BAD_INPUT, "kiln_problem.beta is 2");
    p = small_problem(8, 8, 8);
    p.target = KILN_TARGET_NONE;
    refuse(&p, NULL, KILN_BAD_INPUT, "name a target");
    p = small_problem(-1, 8, 8);
    refuse(&p, NULL, KILN_BAD_INPUT, "from 0 to 2147483647");
    p = small_problem(8, 8, 8);
    refuse(&p, "tile=banana", KILN_BAD_INPUT, "tile=banana");
    p.b = KILN_F16;
    refuse(&p, NULL, KILN_UNSUPPORTED, "bf16 cannot be multiplied by f16");
}

/* A shorter struct of an older program: what it lacks is the default. */
static void
older_structs_are_accepted(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel_info info;
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    p.size = offsetof(kiln_problem, batch);
    p.batch = 77;            /* beyond size: not read */
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &k, &e), &e);
    memset(&info, 0x5a, sizeof info);
    info.size = offsetof(kiln_kernel_info, why);
    kiln_get_kernel(k, &info);
    assert_non_null(info.config);
    assert_int_equal(*(unsigned char *)&info.why, 0x5a);
    kiln_release(k);
}

static void
bad_launches_are_refused(void **state)
{
    kiln_problem p = small_problem(50, 36, 70), other = p;
    struct operands o;
    kiln_function *f;
    kiln_kernel *k;
    kiln_plan plan;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &k, &e), &e);
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    other.out = KILN_BF16;
    assert_int_equal(kiln_make_plan(k, &other, &plan, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "of another kind"));
    other = p;
    other.k = other.lda = other.ldb = 71; /* rows at odd addresses */
    assert_int_equal(kiln_make_plan(k, &other, &plan, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "aligned"));
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    make_operands(&o, t.d, &p);
    o.args.b = NULL;
    assert_int_equal(kiln_launch(f, &plan, &o.args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "'b'"));
    o.args.b = (char *)o.memory[1] + 2;
    assert_int_equal(kiln_launch(f, &plan, &o.args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "multiple of 4"));
    o.args.b = o.memory[1];
    o.args.size = 2;
    assert_int_equal(kiln_launch(f, &plan, &o.args, &e), KILN_BAD_INPUT);
    o.args.size = sizeof o.args;
    plan.size = 0;
    assert_int_equal(kiln_launch(f, &plan, &o.args, &e), KILN_BAD_INPUT);
    drop_operands(&o);
    kiln_unload(f);
    kiln_release(k);
}

#define NULL_IS_REFUSED(call, name) \
    do { \
        memset(&e, 0, sizeof e); \
        assert_int_equal(call, KILN_BAD_INPUT); \
        assert_string_equal(e.text, "'" name "' is NULL"); \
    } while (0)

static void
null_is_refused(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_device_info info = { .size = sizeof info };
    kiln_arguments args = { .size = sizeof args };
    kiln_timing timing = { .size = sizeof timing };
    kiln_function *f;
    kiln_device *d;
    kiln_kernel *k;
    kiln_plan plan;
    kiln_error e;
    void *m;

    (void)state;
    NULL_IS_REFUSED(kiln_open(NULL, NULL, &e), "out");
    NULL_IS_REFUSED(kiln_add_bundle(NULL, "x", &e), "context");
    NULL_IS_REFUSED(kiln_add_bundle(t.x, NULL, &e), "path");
    NULL_IS_REFUSED(kiln_lookup(NULL, &p, NULL, &k, &e), "context");
    NULL_IS_REFUSED(kiln_lookup(t.x, NULL, NULL, &k, &e), "problem");
    NULL_IS_REFUSED(kiln_lookup(t.x, &p, NULL, NULL, &e), "out");
    NULL_IS_REFUSED(kiln_compile_text(NULL, "", &k, &e), "context");
    NULL_IS_REFUSED(kiln_compile_text(t.x, NULL, &k, &e), "text");
    NULL_IS_REFUSED(kiln_compile(NULL, &p, NULL, &k, &e), "context");
    NULL_IS_REFUSED(kiln_compile(t.x, NULL, NULL, &k, &e), "problem");
    NULL_IS_REFUSED(kiln_compile(t.x, &p, NULL, NULL, &e), "out");
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &k, &e), &e);
    NULL_IS_REFUSED(kiln_make_plan(NULL, &p, &plan, &e), "kernel");
    NULL_IS_REFUSED(kiln_make_plan(k, NULL, &plan, &e), "problem");
    NULL_IS_REFUSED(kiln_make_plan(k, &p, NULL, &e), "plan");
    NULL_IS_REFUSED(kiln_open_device(NULL, "sim:gfx950", &d, &e), "context");
    NULL_IS_REFUSED(kiln_open_device(t.x, NULL, &d, &e), "name");
    NULL_IS_REFUSED(kiln_open_device(t.x, "sim:gfx950", NULL, &e), "out");
    NULL_IS_REFUSED(kiln_malloc(NULL, 1, &m, &e), "device");
    NULL_IS_REFUSED(kiln_malloc(t.d, 1, NULL, &e), "out");
    NULL_IS_REFUSED(kiln_free(NULL, NULL, &e), "device");
    NULL_IS_REFUSED(kiln_upload(NULL, &p, &p, 1, &e), "device");
    NULL_IS_REFUSED(kiln_upload(t.d, NULL, &p, 1, &e), "dst");
    NULL_IS_REFUSED(kiln_upload(t.d, &p, NULL, 1, &e), "src");
    NULL_IS_REFUSED(kiln_download(NULL, &p, &p, 1, &e), "device");
    NULL_IS_REFUSED(kiln_download(t.d, NULL, &p, 1, &e), "dst");
    NULL_IS_REFUSED(kiln_download(t.d, &p, NULL, 1, &e), "src");
    NULL_IS_REFUSED(kiln_load(NULL, k, &f, &e), "device");
    NULL_IS_REFUSED(kiln_load(t.d, NULL, &f, &e), "kernel");
    NULL_IS_REFUSED(kiln_load(t.d, k, NULL, &e), "out");
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    NULL_IS_REFUSED(kiln_launch(NULL, &plan, &args, &e), "function");
    NULL_IS_REFUSED(kiln_launch(f, NULL, &args, &e), "plan");
    NULL_IS_REFUSED(kiln_launch(f, &plan, NULL, &e), "args");
    NULL_IS_REFUSED(kiln_sync(NULL, NULL, &e), "device");
    NULL_IS_REFUSED(kiln_time(NULL, &plan, &args, &timing, &e), "function");
    NULL_IS_REFUSED(kiln_time(f, NULL, &args, &timing, &e), "plan");
    NULL_IS_REFUSED(kiln_time(f, &plan, NULL, &timing, &e), "args");
    NULL_IS_REFUSED(kiln_time(f, &plan, &args, NULL, &e), "timing");
    NULL_IS_REFUSED(kiln_run(NULL, &p, &args, &e), "device");
    NULL_IS_REFUSED(kiln_run(t.d, NULL, &args, &e), "problem");
    NULL_IS_REFUSED(kiln_run(t.d, &p, NULL, &e), "args");
    kiln_get_kernel(NULL, NULL);
    kiln_get_kernel(k, NULL);
    kiln_get_device(NULL, &info);
    kiln_get_device(t.d, NULL);
    kiln_unload(f);
    kiln_release(k);
}

/* A plan that kiln_make_plan did not make, each time with one lie. */
static void
bad_plans_are_refused(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_plan good, bad[10];
    struct operands o;
    kiln_function *f;
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &k, &e), &e);
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &good, &e), &e);
    make_operands(&o, t.d, &p);
    for (int i = 0; i < 10; i++)
        bad[i] = good;
    bad[0] = (kiln_plan){ .size = sizeof good, .grid = { 1, 1, 1 },
                          .npointers = 1 };
    bad[1].pointer[0].align = 0;
    bad[2].pointer[0].align = 3;
    bad[3].pointer[1].offset = 250;
    bad[4].pointer[2].operand = KILN_NOPERANDS;
    bad[5].npointers = 17;
    bad[6].kernarg_size = 257;
    bad[7].block[1] = 0;
    bad[8].grid[2] = 0;
    bad[9].offsets_size = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        kiln_timing timing = { .size = sizeof timing };

        assert_int_equal(kiln_launch(f, &bad[i], &o.args, &e),
                         KILN_BAD_INPUT);
        assert_non_null(strstr(e.text, "no plan that kiln_make_plan made"));
        assert_int_equal(kiln_time(f, &bad[i], &o.args, &timing, &e),
                         KILN_BAD_INPUT);
    }
    assert_ok(kiln_launch(f, &good, &o.args, &e), &e);
    check_output(&o);
    drop_operands(&o);
    kiln_unload(f);
    kiln_release(k);
}

/* What nobody defined must be zero, so that it can mean something later. */
static void
reserved_bits_are_refused(void **state)
{
    kiln_options options = { .size = sizeof options, .flags = 64 };
    kiln_problem p = small_problem(8, 8, 8);
    kiln_context *x;
    struct operands o;
    kiln_error e;

    (void)state;
    assert_int_equal(kiln_open(&options, &x, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "kiln_options.flags is 64"));
    p.reserved[1] = 1;
    refuse(&p, NULL, KILN_BAD_INPUT, "reserved fields of kiln_problem");
    p = small_problem(8, 8, 8);
    p.reserved2 = 1;
    refuse(&p, NULL, KILN_BAD_INPUT, "reserved fields of kiln_problem");
    p = small_problem(8, 8, 8);
    make_operands(&o, t.d, &p);
    o.args.flags = 8;
    assert_int_equal(kiln_run(t.d, &p, &o.args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "kiln_arguments.flags is 8"));
    drop_operands(&o);
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
    make_operands(&o, t.d, &p);
    assert_ok(kiln_malloc(t.d, 4096, &less, &e), &e);
    o.args.a = less;         /* never written */
    assert_int_equal(kiln_run(t.d, &p, &o.args, &e), KILN_FINDING);
    assert_non_null(strstr(e.text, "findings)"));
    o.args.a = o.memory[0];  /* the device is as good as before */
    assert_ok(kiln_run(t.d, &p, &o.args, &e), &e);
    check_output(&o);
    drop_operands(&o);
    assert_ok(kiln_free(t.d, less, &e), &e);
}

static void
devices_by_name(void **state)
{
    kiln_device_info info = { .size = sizeof info };
    kiln_device *d;
    kiln_error e;

    (void)state;
    kiln_get_device(t.d, &info);
    assert_int_equal(info.target, KILN_GFX950);
    assert_int_equal(info.cus, 256);
    assert_int_equal(info.simulated, 1);
    assert_int_equal(kiln_open_device(t.x, "sim:gfx90a", &d, &e),
                     KILN_BAD_INPUT);
    assert_int_equal(kiln_open_device(t.x, "hip:x", &d, &e), KILN_BAD_INPUT);
    assert_null(d);
    assert_non_null(strstr(e.text, "'hip:x'"));
    assert_ok(kiln_open_device(t.x, "sim:gfx942", &d, &e), &e);
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
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64", &k, &e), &e);
    assert_int_equal(kiln_load(t.d, k, &f, &e), KILN_BAD_INPUT);
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
    assert_ok(kiln_compile(t.x, &p, "tile=32x32x64 split-k=2", &k, &e), &e);
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    make_operands(&o, t.d, &p);
    assert_ok(kiln_malloc(t.d, plan.workspace, &o.args.workspace, &e), &e);
    assert_ok(kiln_upload(t.d, o.args.workspace, zeros, sizeof zeros, &e), &e);
    assert_ok(kiln_time(f, &plan, &o.args, &timing, &e), &e);
    assert_true(timing.us > 1 && timing.us < 1000);
    assert_ok(kiln_time(f, &plan, &o.args, &again, &e), &e);
    assert_true(timing.us == again.us);
    assert_ok(kiln_launch(f, &plan, &o.args, &e), &e);
    check_output(&o);
    assert_ok(kiln_free(t.d, o.args.workspace, &e), &e);
    drop_operands(&o);
    kiln_unload(f);
    kiln_release(k);
}

static void
bad_options_are_refused(void **state)
{
    kiln_options o = { .size = 9999 };
    kiln_context *x;
    kiln_error e;

    (void)state;
    assert_int_equal(kiln_open(&o, &x, &e), KILN_BAD_INPUT);
    assert_null(x);
    assert_non_null(strstr(e.text, "9999"));
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
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(older_structs_are_accepted),
        cmocka_unit_test(bad_launches_are_refused),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(bad_plans_are_refused),
        cmocka_unit_test(reserved_bits_are_refused),
        cmocka_unit_test(limits_stop_the_launch),
        cmocka_unit_test(findings_fail_the_launch),
        cmocka_unit_test(devices_by_name),
        cmocka_unit_test(kernel_and_device_must_agree),
        cmocka_unit_test(simulator_predicts),
        cmocka_unit_test(bad_options_are_refused),
    };

    return cmocka_run_group_tests_name("runtime-api", tests, setup, teardown);
}
