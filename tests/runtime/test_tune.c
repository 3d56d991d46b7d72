/* test_tune.c - KILN_TUNE and KILN_PREPARE of kiln_run: what goes wrong in
 * other autotuners. The GPU is odd_hip.c.
 *
 * usage: test_tune LIBODD_HIP */
#include "../kit/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINE, FAIL, DROP };

static const char *library;
static char folder[64]; /* kernels of one test serve the next */
static struct {
    kiln_context *x;
    kiln_device *d;
    kiln_problem p;
    struct operands o;
    void (*mode)(int mode);
    unsigned long (*calls)(const char *name);
    int warned;
    char last[256];
} t;

static void
listen(void *user, kiln_log_level level, const char *text)
{
    (void)user;
    if (level == KILN_LOG_WARNING) {
        t.warned++;
        snprintf(t.last, sizeof t.last, "%s", text);
    }
}

static int
setup(void **state)
{
    kiln_options o = { .size = sizeof o, .cache_dir = folder,
                       .log = listen, .hip_library = library };
    void *so = dlopen(library, RTLD_NOW | RTLD_LOCAL), *f;
    kiln_error e;

    (void)state;
    assert_non_null(so);
    f = dlsym(so, "odd_mode");
    assert_non_null(f);
    memset(&t, 0, sizeof t);
    memcpy(&t.mode, &f, sizeof t.mode);
    f = dlsym(so, "kilnhip_calls");
    assert_non_null(f);
    memcpy(&t.calls, &f, sizeof t.calls);
    assert_ok(kiln_open(&o, &t.x, &e), &e);
    t.d = open_device(t.x, "hip:0");
    t.p = small_problem(40, 36, 70);
    make_operands(&t.o, t.d, &t.p);
    t.mode(FINE);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    drop_operands(&t.o);
    kiln_close_device(t.d);
    kiln_close(t.x);
    return 0;
}

/* Runs the problem and keeps the name of the kernel that was used. */
static void
run(int64_t m, uint32_t flags, char key[65])
{
    kiln_kernel_info info = { .size = sizeof info };
    kiln_arguments args = t.o.args;
    kiln_problem p = t.p;
    kiln_kernel *k = NULL;
    kiln_error e;

    p.m = m;
    args.flags = flags;
    args.used = &k;
    assert_ok(kiln_run(t.d, &p, &args, &e), &e);
    assert_non_null(k);
    kiln_get_kernel(k, &info);
    snprintf(key, 65, "%s", info.key);
    kiln_release(k);
}

static void
the_fastest_is_remembered(void **state)
{
    char chosen[65], tuned[65], later[65];

    (void)state;
    run(40, KILN_PREPARE, chosen);
    run(40, KILN_TUNE, tuned);
    assert_string_not_equal(chosen, tuned);
    clear_output(&t.o);
    run(40, 0, later);
    assert_string_equal(tuned, later);
    check_output(&t.o);
}

/* A launch that failed took no time at all, and must not win by that. */
static void
a_failed_candidate_has_no_time(void **state)
{
    char chosen[65], tuned[65];

    (void)state;
    t.mode(FAIL);
    run(40, KILN_PREPARE, chosen);
    run(40, KILN_TUNE, tuned);
    assert_string_equal(chosen, tuned);
    assert_true(t.warned > 3);
    assert_non_null(strstr(t.last, "hipErrorLaunchFailure"));
}

static void
a_wrong_candidate_is_out(void **state)
{
    char chosen[65], tuned[65];

    (void)state;
    t.mode(DROP);
    run(40, KILN_PREPARE, chosen);
    run(40, KILN_TUNE, tuned);
    assert_string_equal(chosen, tuned);
    assert_non_null(strstr(t.last, "something else"));
}

/* What was measured for one M says nothing about a class it is not in. */
static void
another_m_is_another_class(void **state)
{
    char before[65], tuned[65], same[65], after[65];

    (void)state;
    run(16, KILN_PREPARE, before);
    run(40, KILN_TUNE, tuned);
    run(33, KILN_PREPARE, same);
    assert_string_equal(tuned, same);
    run(16, KILN_PREPARE, after);
    assert_string_equal(before, after);
}

/* Neither the stream nor the addresses are part of what is remembered. */
static void
another_stream_and_buffer_hit(void **state)
{
    char tuned[65], later[65];
    struct operands other, first = t.o;
    unsigned long loaded;

    (void)state;
    run(40, KILN_TUNE, tuned);
    loaded = t.calls("hipModuleLoadData");
    make_operands(&other, t.d, &t.p);
    t.o = other;
    run(40, 0, later);
    check_output(&t.o);
    drop_operands(&t.o);
    t.o = first;
    assert_string_equal(tuned, later);
    assert_int_equal(t.calls("hipModuleLoadData"), loaded);
}

/* The race has buffers of its own: the caller's output is not one of them. */
static void
the_callers_output_is_untouched(void **state)
{
    unsigned char before[40 * 36 * 4], after[sizeof before];
    char tuned[65];
    kiln_error e;

    (void)state;
    memset(before, 0x5a, sizeof before);
    assert_ok(kiln_upload(t.d, t.o.memory[2], before, sizeof before, &e), &e);
    run(40, KILN_TUNE, tuned);
    assert_ok(kiln_download(t.d, after, t.o.memory[2], sizeof after, &e), &e);
    assert_memory_equal(before, after, sizeof before);
}

static void
the_simulator_has_no_clock(void **state)
{
    kiln_device *d = open_device(t.x, "sim:gfx950");
    kiln_problem p = small_problem(16, 16, 64);
    struct operands o;
    kiln_error e;

    (void)state;
    make_operands(&o, d, &p);
    o.args.flags = KILN_TUNE;
    assert_int_equal(kiln_run(d, &p, &o.args, &e), KILN_UNSUPPORTED);
    assert_non_null(strstr(e.text, "no clock"));
    drop_operands(&o);
    kiln_close_device(d);
}

int
main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(the_fastest_is_remembered),
        CASE(a_failed_candidate_has_no_time),
        CASE(a_wrong_candidate_is_out),
        CASE(another_m_is_another_class),
        CASE(another_stream_and_buffer_hit),
        CASE(the_callers_output_is_untouched),
        CASE(the_simulator_has_no_clock),
    };

    int failed;

    if (argc != 2)
        return 2;
    library = argv[1];
    make_folder(folder);
    failed = cmocka_run_group_tests_name("runtime-tune", tests, NULL, NULL);
    drop_folder(folder);
    return failed;
}
