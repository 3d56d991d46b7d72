/* test_load.c - what a process maps, and when: no LLVM before the first miss
 * of the cache. One case a process: libraries are never unmapped.
 *
 * usage: test_load LIBKILNHIP */
#include "../kit/api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *library;
static char folder[64];

static int
in_child(void (*body)(void))
{
    pid_t child = fork();
    int status;

    if (!child) {
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* exit code = which expectation failed */
#define WANT(n, cond) \
    do { \
        if (!(cond)) \
            _exit(n); \
    } while (0)

static kiln_kernel *
get(kiln_context *x, int *failed)
{
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel *k;

    *failed = kiln_compile(x, &p, "tile=32x32x64", &k, NULL);
    return k;
}

static kiln_context *
open_here(void)
{
    kiln_options o = { .size = sizeof o, .cache_dir = folder,
                       .hip_library = library };
    kiln_context *x = NULL;

    WANT(1, !kiln_open(&o, &x, NULL));
    return x;
}

static void
miss(void)
{
    kiln_context *x = open_here();
    int failed;

    WANT(2, !is_mapped("libLLVM") && !is_mapped("libkiln-cg"));
    kiln_release(get(x, &failed));
    WANT(3, !failed);
    WANT(4, is_mapped("libLLVM") && is_mapped("libkiln-cg"));
    kiln_close(x);
}

/* With KILN_ISOLATE a miss compiles elsewhere: never any LLVM in here. */
static void
isolated_miss(void)
{
    kiln_options o = { .size = sizeof o, .flags = KILN_NO_DISK | KILN_ISOLATE };
    kiln_kernel_info info = { .size = sizeof info };
    kiln_context *x = NULL;
    kiln_kernel *k;
    int failed;

    WANT(1, !kiln_open(&o, &x, NULL));
    k = get(x, &failed);
    WANT(2, !failed);
    WANT(3, !is_mapped("libLLVM") && !is_mapped("libkiln-cg"));
    kiln_get_kernel(k, &info);
    WANT(4, info.source == KILN_FROM_COMPILER && info.compile_ms > 0);
    kiln_release(k);
    kiln_close(x);
}

/* From nothing to a kernel loaded on a HIP device. Without comgr, which has
 * an LLVM of its own: a GPU's runtime has mapped both already. */
static void
hit(void)
{
    kiln_function *f = NULL;
    kiln_device *d = NULL;
    kiln_context *x;
    kiln_kernel *k;
    int failed;

    setenv("KILNC_COMGR_LIBRARY", "none", 1);
    x = open_here();
    k = get(x, &failed);
    WANT(2, !failed);
    WANT(3, !kiln_open_device(x, "hip:0", &d, NULL));
    WANT(4, !kiln_load(d, k, &f, NULL));
    WANT(5, !is_mapped("libLLVM") && !is_mapped("libkiln-cg") &&
                !is_mapped("libkiln-sim"));
    kiln_unload(f);
    kiln_release(k);
    kiln_close_device(d);
    kiln_close(x);
}

static void
simulator(void)
{
    kiln_context *x = open_here();
    kiln_device *d = NULL;

    WANT(2, !is_mapped("libkiln-sim"));
    WANT(3, !kiln_open_device(x, "sim:gfx950", &d, NULL));
    WANT(4, is_mapped("libkiln-sim") && !is_mapped("libkiln-cg"));
    kiln_close_device(d);
    kiln_close(x);
}

static void
a_miss_maps_llvm(void **state)
{
    (void)state;
    assert_int_equal(in_child(miss), 0);
}

static void
an_isolated_miss_does_not(void **state)
{
    (void)state;
    assert_int_equal(in_child(isolated_miss), 0);
}

static void
a_hit_does_not(void **state)
{
    (void)state;
    assert_int_equal(in_child(hit), 0);
}

static void
the_simulator_is_opened_by_its_device(void **state)
{
    (void)state;
    assert_int_equal(in_child(simulator), 0);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_miss_maps_llvm),
        cmocka_unit_test(an_isolated_miss_does_not),
        cmocka_unit_test(a_hit_does_not),
        cmocka_unit_test(the_simulator_is_opened_by_its_device),
    };
    int failed;

    if (argc != 2)
        return 2;
    library = argv[1];
    make_folder(folder);
    failed = cmocka_run_group_tests_name("runtime-load", tests, NULL, NULL);
    drop_folder(folder);
    return failed;
}
