/* test_refuse.c - every refusal of the public interface with its sentence. */
#include "../kit/api.h"

#include <string.h>

static void
refuse(const kiln_problem *p, const char *config, kiln_status s,
       const char *text)
{
    kiln_kernel *k;
    kiln_error e;

    assert_int_equal(kiln_compile(shared.x, p, config, &k, &e), s);
    assert_null(k);
    if (!strstr(e.text, text))
        fail_msg("'%s' does not say '%s'", e.text, text);
    /* The error record is optional. */
    assert_int_equal(kiln_compile(shared.x, p, config, &k, NULL), s);
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

/* What is of one family says so of another, where it would be half believed. */
static void
foreign_fields_are_refused(void **state)
{
    static const struct { size_t field; const char *text; } rows[] = {
        { offsetof(kiln_problem, stage), "are moe's" },
        { offsetof(kiln_problem, act), "are moe's" },
        { offsetof(kiln_problem, atomic), "are moe's" },
        { offsetof(kiln_problem, id_format), "are moe's" },
        { offsetof(kiln_problem, weigh), "are moe's" },
        { offsetof(kiln_problem, group_flags), "tables of groups are for" },
    };
    kiln_problem p;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        p = small_problem(8, 8, 8);
        ((uint8_t *)&p)[rows[i].field] = 1;
        refuse(&p, NULL, KILN_BAD_INPUT, rows[i].text);
    }
    p = small_problem(8, 8, 8);
    p.groups = -1;
    refuse(&p, NULL, KILN_BAD_INPUT, "groups are for grouped");
    p = small_problem(8, 8, 8);
    p.batch = -1;
    refuse(&p, NULL, KILN_BAD_INPUT, "--batch is for batched");
    p = small_problem(64, 64, 64);
    p.family = KILN_MOE;
    p.a = p.b = KILN_I8;
    p.out = KILN_I32;
    p.stage = KILN_MOE_GATE_UP;
    p.groups = p.topk = 1;
    p.tokens = p.block_m = 64;
    refuse(&p, NULL, KILN_UNSUPPORTED, "no scale, bias, activation, alpha");
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
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &k, &e), &e);
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
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &k, &e), &e);
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
    other.out = KILN_BF16;
    assert_int_equal(kiln_make_plan(k, &other, &plan, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "of another kind"));
    other = p;
    other.k = other.lda = other.ldb = 71; /* rows at odd addresses */
    assert_int_equal(kiln_make_plan(k, &other, &plan, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "aligned"));
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    make_operands(&o, shared.d, &p);
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
    NULL_IS_REFUSED(kiln_add_bundle(shared.x, NULL, &e), "path");
    NULL_IS_REFUSED(kiln_lookup(NULL, &p, NULL, &k, &e), "context");
    NULL_IS_REFUSED(kiln_lookup(shared.x, NULL, NULL, &k, &e), "problem");
    NULL_IS_REFUSED(kiln_lookup(shared.x, &p, NULL, NULL, &e), "out");
    NULL_IS_REFUSED(kiln_compile_text(NULL, "", &k, &e), "context");
    NULL_IS_REFUSED(kiln_compile_text(shared.x, NULL, &k, &e), "text");
    NULL_IS_REFUSED(kiln_compile(NULL, &p, NULL, &k, &e), "context");
    NULL_IS_REFUSED(kiln_compile(shared.x, NULL, NULL, &k, &e), "problem");
    NULL_IS_REFUSED(kiln_compile(shared.x, &p, NULL, NULL, &e), "out");
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &k, &e), &e);
    NULL_IS_REFUSED(kiln_make_plan(NULL, &p, &plan, &e), "kernel");
    NULL_IS_REFUSED(kiln_make_plan(k, NULL, &plan, &e), "problem");
    NULL_IS_REFUSED(kiln_make_plan(k, &p, NULL, &e), "plan");
    NULL_IS_REFUSED(kiln_open_device(NULL, "sim:gfx950", &d, &e), "context");
    NULL_IS_REFUSED(kiln_open_device(shared.x, NULL, &d, &e), "name");
    NULL_IS_REFUSED(kiln_open_device(shared.x, "sim:gfx950", NULL, &e), "out");
    NULL_IS_REFUSED(kiln_malloc(NULL, 1, &m, &e), "device");
    NULL_IS_REFUSED(kiln_malloc(shared.d, 1, NULL, &e), "out");
    NULL_IS_REFUSED(kiln_free(NULL, NULL, &e), "device");
    NULL_IS_REFUSED(kiln_upload(NULL, &p, &p, 1, &e), "device");
    NULL_IS_REFUSED(kiln_upload(shared.d, NULL, &p, 1, &e), "dst");
    NULL_IS_REFUSED(kiln_upload(shared.d, &p, NULL, 1, &e), "src");
    NULL_IS_REFUSED(kiln_download(NULL, &p, &p, 1, &e), "device");
    NULL_IS_REFUSED(kiln_download(shared.d, NULL, &p, 1, &e), "dst");
    NULL_IS_REFUSED(kiln_download(shared.d, &p, NULL, 1, &e), "src");
    NULL_IS_REFUSED(kiln_load(NULL, k, &f, &e), "device");
    NULL_IS_REFUSED(kiln_load(shared.d, NULL, &f, &e), "kernel");
    NULL_IS_REFUSED(kiln_load(shared.d, k, NULL, &e), "out");
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
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
    NULL_IS_REFUSED(kiln_run(shared.d, NULL, &args, &e), "problem");
    NULL_IS_REFUSED(kiln_run(shared.d, &p, NULL, &e), "args");
    kiln_get_kernel(NULL, NULL);
    kiln_get_kernel(k, NULL);
    kiln_get_device(NULL, &info);
    kiln_get_device(shared.d, NULL);
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
    assert_ok(kiln_compile(shared.x, &p, "tile=32x32x64", &k, &e), &e);
    assert_ok(kiln_load(shared.d, k, &f, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &good, &e), &e);
    make_operands(&o, shared.d, &p);
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
    p.reserved[0] = 1;
    refuse(&p, NULL, KILN_BAD_INPUT, "reserved fields of kiln_problem");
    p = small_problem(8, 8, 8);
    p.cus = 4;
    refuse(&p, NULL, KILN_BAD_INPUT, "not 4 on 8");
    p.cus = 5000;
    refuse(&p, NULL, KILN_BAD_INPUT, "4096 compute units on 1 to 64 chiplets");
    p = small_problem(8, 8, 8);
    make_operands(&o, shared.d, &p);
    o.args.flags = 16;
    assert_int_equal(kiln_run(shared.d, &p, &o.args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "kiln_arguments.flags is 16"));
    o.args.flags = 0;
    o.args.reserved = 1;
    assert_int_equal(kiln_run(shared.d, &p, &o.args, &e),
                     KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "reserved field of kiln_arguments"));
    drop_operands(&o);
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
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(foreign_fields_are_refused),
        cmocka_unit_test(older_structs_are_accepted),
        cmocka_unit_test(bad_launches_are_refused),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(bad_plans_are_refused),
        cmocka_unit_test(reserved_bits_are_refused),
        cmocka_unit_test(bad_options_are_refused),
    };

    return cmocka_run_group_tests_name("runtime-refuse", tests, open_shared,
                                       close_shared);
}
