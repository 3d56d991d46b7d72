/* test_hip.c - the HIP binding against a library that logs its calls, and
 * what it says of the machine it runs on. */
#include "../kit/slurp.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/hip.h"

static const char *built_dir;

static struct kn_hip *
open_fake(struct kn_ctx *c, const char *name, const char *(**log)(void))
{
    struct kn_hip *h = NULL;
    char path[1024];
    void *so, *f;

    kn_ctx_init(c, NULL, NULL);
    snprintf(path, sizeof path, "%s/%s", built_dir, name);
    if (kn_hip_open(c, path, &h))
        return NULL;
    so = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    f = dlsym(so, "fake_log");
    memcpy(log, &f, sizeof f);
    dlclose(so);
    return h;
}

static void
test_whole_launch(void **state)
{
    static const char want[] =
        "SetDevice 0\n"
        "Memcpy 4 kind 1\n"
        "Launch 3 2 1, 256 1 1, lds 64, stream 7, 5 bytes 'abcde'\n"
        "Sync 7\n"
        "Memcpy 4 kind 2\n"
        "Unload\n";
    struct kn_hip_launch l = { .grid = { 3, 2, 1 }, .block = { 256, 1, 1 },
                               .dynamic_lds = 64, .kernarg = "abcde",
                               .kernarg_size = 5, .stream = (void *)7 };
    struct kn_hip_device d;
    const char *(*log)(void);
    void *mem, *module;
    struct kn_hip *h;
    struct kn_ctx c;
    char back[5] = "";

    (void)state;
    h = open_fake(&c, "libfake_hip.so", &log);
    assert_non_null(h);
    assert_int_equal(kn_hip_count(h), 1);
    assert_int_equal(kn_hip_use(h, &c, 0, &d), KILN_OK);
    assert_int_equal(d.target, KILN_GFX950);
    assert_int_equal(d.cus, 256);
    assert_string_equal(d.name, "Fake 0");
    assert_string_equal(d.bus, "0000:00:00.0");
    assert_int_equal(kn_hip_alloc(h, &c, 4, &mem), KILN_OK);
    assert_int_equal(kn_hip_fill(h, &c, mem, 0, 4), KILN_OK);
    assert_int_equal(kn_hip_upload(h, &c, mem, "wxyz", 4), KILN_OK);
    assert_int_equal(kn_hip_load(h, &c, "\177ELF", &module), KILN_OK);
    assert_int_equal(kn_hip_function(h, &c, module, "alpha", &l.function),
                     KILN_OK);
    assert_int_equal(kn_hip_launch(h, &c, &l), KILN_OK);
    assert_int_equal(kn_hip_wait(h, &c, l.stream), KILN_OK);
    assert_int_equal(kn_hip_download(h, &c, back, mem, 4), KILN_OK);
    assert_string_equal(back, "wxyz");
    assert_int_equal(kn_hip_unload(h, &c, module), KILN_OK);
    assert_int_equal(kn_hip_free(h, &c, mem), KILN_OK);
    assert_string_equal(log(), want);
    /* M = 0: an empty grid is no work and no call. */
    l.grid[0] = 0;
    assert_int_equal(kn_hip_launch(h, &c, &l), KILN_OK);
    assert_string_equal(log(), want);
    kn_ctx_free(&c);
}

static void
test_time_is_per_run(void **state)
{
    struct kn_hip_launch l = { .function = &l, .grid = { 1, 1, 1 },
                               .block = { 64, 1, 1 } };
    const char *(*log)(void);
    struct kn_hip *h;
    struct kn_ctx c;
    const char *at;
    double us;

    (void)state;
    h = open_fake(&c, "libfake_hip.so", &log);
    at = log() + strlen(log());
    assert_int_equal(kn_hip_time(h, &c, &l, 3, &us), KILN_OK);
    assert_true(us == 500);
    assert_string_equal(at, "Event\nEvent\nRecord 0\n"
                            "Launch 1 1 1, 64 1 1, lds 0, stream 0\n"
                            "Launch 1 1 1, 64 1 1, lds 0, stream 0\n"
                            "Launch 1 1 1, 64 1 1, lds 0, stream 0\n"
                            "Record 0\nDestroy\nDestroy\n");
    kn_ctx_free(&c);
}

static void
test_errors_name_the_call(void **state)
{
    struct kn_hip_device d;
    const char *(*log)(void);
    struct kn_hip *h;
    struct kn_ctx c;
    void *p;

    (void)state;
    h = open_fake(&c, "libfake_hip.so", &log);
    assert_int_equal(kn_hip_function(h, &c, &c, "beta", &p), KILN_IO);
    assert_string_equal(c.err.text,
                        "hipModuleGetFunction: hipErrorFake (500)");
    c.err.status = KILN_OK;
    assert_int_equal(kn_hip_use(h, &c, 1, &d), KILN_NO_DEVICE);
    assert_string_equal(c.err.text, "no device hip:1, there is 1");
    kn_ctx_free(&c);
    h = open_fake(&c, "libfake_hip_fail.so", &log);
    assert_int_equal(kn_hip_alloc(h, &c, 1, &p), KILN_NO_MEMORY);
    assert_string_equal(c.err.text, "hipMalloc: hipErrorOutOfMemory (2)");
    kn_ctx_free(&c);
}

static void
test_no_gpu_is_an_answer(void **state)
{
    const char *(*log)(void);
    struct kn_hip *h;
    struct kn_ctx c;

    (void)state;
    assert_null(open_fake(&c, "libfake_hip_nogpu.so", &log));
    assert_int_equal(c.err.status, KILN_NO_DEVICE);
    assert_string_equal(c.err.text,
                        "no AMD GPU: HIP reports hipErrorNoDevice (100)");
    kn_ctx_free(&c);
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_hip_open(&c, "./no-such.so", &h), KILN_NO_DEVICE);
    kn_ctx_free(&c);
}

/* Whatever this machine has: an open library with a device, or NO_DEVICE
 * with a sentence; never a crash or a message on the terminal. */
static void
test_this_machine(void **state)
{
    struct kn_hip *h;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    if (kn_hip_open(&c, NULL, &h)) {
        assert_int_equal(c.err.status, KILN_NO_DEVICE);
        assert_int_equal(strncmp(c.err.text, "no AMD GPU", 10), 0);
    } else {
        assert_true(kn_hip_count(h) > 0);
    }
    kn_ctx_free(&c);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_launch),
        cmocka_unit_test(test_time_is_per_run),
        cmocka_unit_test(test_errors_name_the_call),
        cmocka_unit_test(test_no_gpu_is_an_answer),
        cmocka_unit_test(test_this_machine),
    };

    if (argc != 2)
        return 2;
    built_dir = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
