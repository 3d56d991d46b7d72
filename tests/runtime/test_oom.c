/* test_oom.c - kiln's allocator fails at its n-th call, for every n: a
 * status, no crash, nothing leaked, and the next try works.
 *
 * usage: test_oom LIBKILNHIP */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *library;

static struct heap {
    long calls, fail_at;     /* fail_at < 0: never */
    long live;
} heap;

static void *
counted(void *user, void *p, size_t old, size_t bytes)
{
    struct heap *h = user;
    void *q;

    (void)old;
    if (!bytes) {
        h->live -= p != NULL;
        free(p);
        return NULL;
    }
    if (h->calls++ == h->fail_at)
        return NULL;
    q = realloc(p, bytes);
    h->live += q && !p;
    return q;
}

static char folder[64], bundle[128];

/* Everything from opening to a launch, with the kernel from `config`'s
 * place; the first failure ends it. */
static kiln_status
whole_life(const char *device, bool compile, const char *config)
{
    kiln_options o = { .size = sizeof o, .realloc = counted,
                       .realloc_user = &heap, .cache_dir = folder,
                       .hip_library = library };
    kiln_problem p = small_problem(50, 36, 70);
    kiln_arguments args = { .size = sizeof args };
    kiln_context *x = NULL;
    kiln_device *d = NULL;
    kiln_kernel *k = NULL;
    kiln_function *f = NULL;
    void *m[3] = { NULL, NULL, NULL };
    kiln_plan plan;
    kiln_error e;
    kiln_status s = kiln_open(&o, &x, &e);

    if (!s && bundle[0])
        s = kiln_add_bundle(x, bundle, &e);
    if (!s)
        s = compile ? kiln_compile(x, &p, config, &k, &e)
                    : kiln_lookup(x, &p, config, &k, &e);
    if (!s)
        s = kiln_make_plan(k, &p, &plan, &e);
    if (!s)
        s = kiln_open_device(x, device, &d, &e);
    for (int i = 0; i < 3 && !s; i++)
        s = kiln_malloc(d, 50 * 70 * 4, &m[i], &e);
    if (!s)
        s = kiln_load(d, k, &f, &e);
    args.a = m[0];
    args.b = m[1];
    args.c = m[2];
    if (!s) {
        long calls = heap.calls;

        /* Nothing was uploaded: the simulator finds that, HIP does not run
         * the kernel's findings through kiln's allocator. */
        s = kiln_launch(f, &plan, &args, &e);
        if (!strncmp(device, "hip", 3) && heap.calls != calls)
            fail_msg("a launch allocated");
        if (s == KILN_FINDING || s == KILN_IO)
            s = KILN_OK;
    }
    kiln_unload(f);
    kiln_release(k);
    kiln_close_device(d);
    kiln_close(x);
    if (s && s != e.status)
        fail_msg("status %d, error record %d", (int)s, (int)e.status);
    return s;
}

static void
sweep(const char *device, bool compile, const char *config)
{
    long n;

    heap = (struct heap){ .fail_at = -1 };
    assert_int_equal(whole_life(device, compile, config), KILN_OK);
    assert_int_equal(heap.live, 0);
    n = heap.calls;
    assert_true(n > 5);
    for (long i = 0; i < n; i++) {
        kiln_status s;

        heap = (struct heap){ .fail_at = i };
        s = whole_life(device, compile, config);
        /* A call whose work is optional goes on without it. */
        if (s && s != KILN_NO_MEMORY)
            fail_msg("allocation %ld of %ld: %s", i, n, kiln_status_name(s));
        if (heap.live)
            fail_msg("allocation %ld of %ld: %ld blocks are lost", i, n,
                     heap.live);
    }
}

static void
fill_cache(void)
{
    kiln_context *x = open_context(folder, 0, NULL);
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel *k;
    kiln_error e;

    assert_ok(kiln_compile(x, &p, "tile=32x32x64", &k, &e), &e);
    kiln_release(k);
    kiln_close(x);
}

static void
disk_hit_and_hip(void **state)
{
    (void)state;
    fill_cache();
    sweep("hip:0", false, "tile=32x32x64");
}

static void
disk_hit_and_simulator(void **state)
{
    (void)state;
    fill_cache();
    sweep("sim:gfx950", false, "tile=32x32x64");
}

/* Through the generator; what LLVM allocates is not kiln's. */
static void
compilation(void **state)
{
    char json[512];

    (void)state;
    heap = (struct heap){ .fail_at = -1 };
    for (long i = 0, n = 1; i < n; i++) {
        kiln_status s;

        if (count_files(folder, ".json")) {
            find_file(folder, ".json", json);
            assert_int_equal(remove(json), 0);
        }
        heap = (struct heap){ .fail_at = i };
        s = whole_life("hip:0", true, "tile=32x32x64");
        n = heap.calls > n ? heap.calls : n;
        if (s && s != KILN_NO_MEMORY)
            fail_msg("allocation %ld: %s", i, kiln_status_name(s));
        if (heap.live)
            fail_msg("allocation %ld: %ld blocks are lost", i, heap.live);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compilation),
        cmocka_unit_test(disk_hit_and_hip),
        cmocka_unit_test(disk_hit_and_simulator),
    };
    int failed;

    if (argc != 2)
        return 2;
    library = argv[1];
    make_folder(folder);
    failed = cmocka_run_group_tests_name("runtime-oom", tests, NULL, NULL);
    drop_folder(folder);
    return failed;
}
