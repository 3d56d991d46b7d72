/* test_dispatch.c - kiln_run: one kernel a class of shapes, chosen for the
 * class and not for the first M that came. */
#include "../kit/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char lines[64][512];
static int nlines;

static void
count_compiles(void *user, kiln_log_level level, const char *text)
{
    (void)user;
    if (level == KILN_LOG_INFO && !strncmp(text, "compiled ", 9) &&
        nlines < 64)
        snprintf(lines[nlines++], sizeof lines[0], "%s", text);
}

static int
setup(void **state)
{
    kiln_options o = { .size = sizeof o, .flags = KILN_NO_DISK,
                       .log = count_compiles };
    kiln_error e;

    (void)state;
    assert_ok(kiln_open(&o, &shared.x, &e), &e);
    shared.d = open_device(shared.x, "sim:gfx950");
    nlines = 0;
    return 0;
}

static void
run(int64_t m, int64_t n, int64_t k)
{
    kiln_problem p = small_problem(m, n, k);
    struct operands o;
    kiln_error e;

    p.target = KILN_TARGET_NONE; /* the device's */
    make_operands(&o, shared.d, &p);
    assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
    check_output(&o);
    drop_operands(&o);
}

static void
one_kernel_a_bucket(void **state)
{
    (void)state;
    run(33, 32, 64);
    assert_int_equal(nlines, 1);
    run(64, 32, 64);
    run(40, 32, 64);
    assert_int_equal(nlines, 1);
}

/* The choice of a class does not depend on which M came first. */
static void
first_m_decides_nothing(void **state)
{
    char first[512];

    (void)state;
    run(65, 32, 64);
    assert_int_equal(nlines, 1);
    snprintf(first, sizeof first, "%s", strchr(lines[0], ':'));
    close_shared(NULL);
    setup(NULL);
    run(128, 32, 64);
    assert_int_equal(nlines, 1);
    assert_string_equal(strchr(lines[0], ':'), first);
}

/* Addresses that are aligned to less get a kernel for that. */
static void
alignment_is_part_of_the_class(void **state)
{
    kiln_problem p = small_problem(16, 32, 64);
    struct operands o;
    kiln_error e;
    char *a = NULL;
    unsigned char host[16 * 64 * 2];

    (void)state;
    make_operands(&o, shared.d, &p);
    assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
    assert_ok(kiln_download(shared.d, host, o.memory[0], sizeof host, &e), &e);
    assert_ok(kiln_malloc(shared.d, sizeof host + 2, (void **)&a, &e), &e);
    assert_ok(kiln_upload(shared.d, a + 2, host, sizeof host, &e), &e);
    o.args.a = a + 2;
    clear_output(&o);
    assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
    check_output(&o);
    assert_int_equal(nlines, 2);
    assert_ok(kiln_free(shared.d, a, &e), &e);
    drop_operands(&o);
}

/* What the device has of the groups is another kernel's argument. */
static void
group_table_is_part_of_the_class(void **state)
{
    static const uint8_t tables[] = { 0, KILN_GROUP_LENS, KILN_GROUP_ENDS32 };
    kiln_problem p = small_problem(64, 32, 64);
    struct operands o;
    kiln_error e;

    (void)state;
    make_operands(&o, shared.d, &p);
    p.family = KILN_GROUPED;
    p.groups = 2;
    o.args.offsets = o.memory[0];
    o.args.flags = KILN_PREPARE;
    for (int i = 0; i < 6; i++) {
        p.group_flags = tables[i % 3];
        assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
    }
    assert_int_equal(nlines, 3);
    drop_operands(&o);
}

/* K is divided where a workspace says it may be, for the class; one that is
 * too small for the class's largest M is as good as none. */
static void
divides_k_with_a_workspace(void **state)
{
    static const char zeros[KILN_WORKSPACE_ZEROS];
    kiln_problem p = small_problem(20, 256, 2048);
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;
    struct operands o;
    kiln_plan plan;
    kiln_error e;

    (void)state;
    make_operands(&o, shared.d, &p);
    o.args.workspace_bytes = UINT64_MAX;
    o.args.flags = KILN_PREPARE;
    o.args.used = &k;
    assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
    kiln_get_kernel(k, &info);
    assert_null(strstr(info.config, "split-k=1 "));
    p.m = 32;                /* the largest of the class */
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    p.m = 20;
    kiln_release(k);
    o.args.flags = 0;
    o.args.workspace_bytes = plan.workspace;
    assert_ok(kiln_malloc(shared.d, plan.workspace, &o.args.workspace, &e), &e);
    assert_ok(kiln_upload(shared.d, o.args.workspace, zeros, sizeof zeros, &e), &e);
    for (int small = 0; small < 2; small++) {
        o.args.workspace_bytes -= (uint64_t)small;
        clear_output(&o);
        assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
        check_output(&o);
        kiln_get_kernel(k, &info);
        assert_int_equal(strstr(info.config, "split-k=1 ") != NULL, small);
        kiln_release(k);
    }
    assert_int_equal(nlines, 2);
    assert_ok(kiln_free(shared.d, o.args.workspace, &e), &e);
    drop_operands(&o);
}

enum { SHARED_M = 4096, SHARED_K = 64 };

struct quantised {
    uint8_t codes[SHARED_K * SHARED_M];
    uint32_t scales[SHARED_K];
};

/* Into the same two buffers, each time, and read back. */
static void
quantise(kiln_arguments *args, struct quantised *to, char config[256])
{
    kiln_problem p = { .size = sizeof p, .family = KILN_QUANT, .a = KILN_BF16, .out = KILN_FP8,
                       .out_scale = KILN_OUT_ROW, .m = SHARED_M, .k = SHARED_K,
                       .quant_flags = KILN_QUANT_TURNED };
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;
    kiln_error e;

    args->used = &k;
    assert_ok(kiln_run(shared.d, &p, args, &e), &e);
    kiln_get_kernel(k, &info);
    snprintf(config, 256, "%s", info.config);
    kiln_release(k);
    assert_ok(kiln_download(shared.d, to->codes, args->c, sizeof to->codes, &e), &e);
    assert_ok(kiln_download(shared.d, to->scales, args->sc, sizeof to->scales, &e), &e);
}

/* Columns of A with a scale each are shared where there is a workspace; the codes are the
 * same, and the counters zero. */
static void
shares_columns_with_a_workspace(void **state)
{
    static const char zeros[KILN_WORKSPACE_ZEROS];
    static struct quantised one, all;
    static uint16_t a[SHARED_M * SHARED_K];
    kiln_arguments args = { .size = sizeof args };
    char alone[256], together[256];
    void *at[4];
    kiln_error e;

    (void)state;
    for (uint32_t i = 0; i < SHARED_M * SHARED_K; i++)
        a[i] = (uint16_t)(0x3f80 + i * 2654435761u % 0x300);
    assert_ok(kiln_malloc(shared.d, sizeof a, &at[0], &e), &e);
    assert_ok(kiln_malloc(shared.d, sizeof one.codes, &at[1], &e), &e);
    assert_ok(kiln_malloc(shared.d, sizeof one.scales, &at[2], &e), &e);
    assert_ok(kiln_malloc(shared.d, sizeof zeros, &at[3], &e), &e);
    assert_ok(kiln_upload(shared.d, at[0], a, sizeof a, &e), &e);
    assert_ok(kiln_upload(shared.d, at[3], zeros, sizeof zeros, &e), &e);
    args.a = at[0];
    args.c = at[1];
    args.sc = at[2];
    quantise(&args, &one, alone);
    args.workspace = at[3];
    args.workspace_bytes = sizeof zeros;
    args.flags = KILN_CHECKED;
    quantise(&args, &all, together);
    assert_string_not_equal(alone, together);
    assert_memory_equal(&one, &all, sizeof one);
    args.workspace_bytes--;
    args.flags = 0;
    quantise(&args, &all, together);
    assert_string_equal(alone, together);
    for (int i = 0; i < 4; i++)
        assert_ok(kiln_free(shared.d, at[i], &e), &e);
}

/* An error of one call is that call's: the next one runs. */
static void
errors_do_not_stick(void **state)
{
    kiln_problem p = small_problem(16, 32, 64), bad = p;
    struct operands o;
    kiln_error e;

    (void)state;
    make_operands(&o, shared.d, &p);
    bad.b = KILN_F16;
    assert_int_equal(kiln_run(shared.d, &bad, &o.args, &e), KILN_UNSUPPORTED);
    o.args.c = NULL;
    assert_int_equal(kiln_run(shared.d, &p, &o.args, &e), KILN_BAD_INPUT);
    o.args.c = o.memory[2];
    assert_ok(kiln_run(shared.d, &p, &o.args, &e), &e);
    check_output(&o);
    assert_int_equal(nlines, 1);
    drop_operands(&o);
}

static void
the_choice_is_explained(void **state)
{
    kiln_problem p = small_problem(512, 512, 64);
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    assert_ok(kiln_compile(shared.x, &p, NULL, &k, &e), &e);
    kiln_get_kernel(k, &info);
    assert_non_null(strstr(info.why, "tile"));
    kiln_release(k);
}

#define TABLE "arch,family,layout,a,b,out,scale,batch,n,k,m,config\n" \
              "gfx950,gemm,,,,,,,,,"

/* KILNC_TUNING_FILE of a table; the row is for one M only. */
static void
with_table(const char *text, kiln_status want, void (*use)(kiln_context *))
{
    kiln_options o = { .size = sizeof o, .flags = KILN_NO_DISK };
    char folder[64], path[128];
    kiln_context *x;
    kiln_error e;

    make_folder(folder);
    snprintf(path, sizeof path, "%s/tuned.csv", folder);
    write_bytes(path, text, strlen(text));
    setenv("KILNC_TUNING_FILE", path, 1);
    assert_int_equal(kiln_open(&o, &x, &e), want);
    unsetenv("KILNC_TUNING_FILE");
    drop_folder(folder);     /* it was read once */
    if (want)
        assert_non_null(strstr(e.file, "tuned.csv"));
    else
        use(x);
    kiln_close(x);
}

static void
expect_table_tile(kiln_context *x)
{
    kiln_problem p = small_problem(48, 64, 128);
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;
    kiln_error e;

    assert_ok(kiln_compile(x, &p, NULL, &k, &e), &e);
    kiln_get_kernel(k, &info);
    assert_non_null(strstr(info.config, "tile=32x32x64"));
    assert_non_null(strstr(info.why, "tuned.csv:2"));
    kiln_release(k);
    p.m = 512;
    assert_ok(kiln_compile(x, &p, NULL, &k, &e), &e);
    kiln_get_kernel(k, &info);
    assert_null(strstr(info.why, "tuned.csv"));
    kiln_release(k);
}

static void
tuning_file_decides(void **state)
{
    (void)state;
    with_table(TABLE "48,tile=32x32x64 waves=2x2\n", KILN_OK,
               expect_table_tile);
}

/* A row that says another library is faster: the caller is told so, of the shapes
 * it is for, and no kernel is made; who names a tile gets it. kiln_run asks for the
 * largest M of a class. */
static void
expect_fallback(kiln_context *x)
{
    kiln_problem p = small_problem(48, 64, 128);
    kiln_kernel_info info = { .size = sizeof info };
    struct operands o;
    kiln_device *d = open_device(x, "sim:gfx950");
    kiln_kernel *k = NULL;
    kiln_error e;

    assert_int_equal(kiln_compile(x, &p, NULL, &k, &e), KILN_FALLBACK);
    assert_null(k);
    assert_non_null(strstr(e.text, "tuned.csv:2"));
    assert_non_null(strstr(e.text, "use another library here"));
    make_operands(&o, d, &p);
    assert_int_equal(kiln_run(d, &p, &o.args, &e), KILN_FALLBACK);
    drop_operands(&o);
    assert_ok(kiln_compile(x, &p, "tile=32x32x64", &k, &e), &e);
    kiln_release(k);
    p.m = 512;
    assert_ok(kiln_compile(x, &p, NULL, &k, &e), &e);
    kiln_get_kernel(k, &info);
    assert_null(strstr(info.why, "tuned.csv"));
    kiln_release(k);
    kiln_close_device(d);
}

static void
tuning_file_leaves_it_to_others(void **state)
{
    (void)state;
    with_table(TABLE "M_LEQ_64,fallback\n", KILN_OK, expect_fallback);
}

static void
bad_tuning_file_is_refused(void **state)
{
    (void)state;
    with_table(TABLE "many,tile=32x32x64\n", KILN_BAD_INPUT, NULL);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, close_shared)
    const struct CMUnitTest tests[] = {
        CASE(one_kernel_a_bucket),
        CASE(first_m_decides_nothing),
        CASE(alignment_is_part_of_the_class),
        CASE(group_table_is_part_of_the_class),
        CASE(divides_k_with_a_workspace),
        CASE(shares_columns_with_a_workspace),
        CASE(errors_do_not_stick),
        CASE(the_choice_is_explained),
        CASE(tuning_file_decides),
        CASE(tuning_file_leaves_it_to_others),
        CASE(bad_tuning_file_is_refused),
    };

    return cmocka_run_group_tests_name("runtime-dispatch", tests, NULL, NULL);
}
