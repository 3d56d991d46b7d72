/* test_oom.c - kiln's allocator fails at its n-th call, for every n: a
 * status, no crash, nothing leaked, and the next try works.
 *
 * usage: test_oom LIBKILNHIP KILNC */
#include "../kit/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *library, *kilnc;

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

typedef kiln_status life(const char *device, bool compile,
                         const char *config);

static void
sweep_of(life *live, const char *device, bool compile, const char *config)
{
    long n;

    heap = (struct heap){ .fail_at = -1 };
    assert_int_equal(live(device, compile, config), KILN_OK);
    assert_int_equal(heap.live, 0);
    n = heap.calls;
    assert_true(n > 5);
    for (long i = 0; i < n; i++) {
        kiln_status s;

        heap = (struct heap){ .fail_at = i };
        s = live(device, compile, config);
        /* A call whose work is optional goes on without it. */
        if (s && s != KILN_NO_MEMORY)
            fail_msg("allocation %ld of %ld: %s", i, n, kiln_status_name(s));
        if (heap.live)
            fail_msg("allocation %ld of %ld: %ld blocks are lost", i, n,
                     heap.live);
    }
}

static void
sweep(const char *device, bool compile, const char *config)
{
    sweep_of(whole_life, device, compile, config);
}

/* kiln_run: choosing, finding, loading, remembering, launching. */
static kiln_status
run_life(const char *device, bool compile, const char *config)
{
    kiln_options o = { .size = sizeof o, .realloc = counted,
                       .realloc_user = &heap, .cache_dir = folder,
                       .hip_library = library };
    kiln_problem p = small_problem(50, 36, 70);
    kiln_arguments args = { .size = sizeof args };
    kiln_context *x = NULL;
    kiln_device *d = NULL;
    void *m[3] = { NULL, NULL, NULL };
    kiln_error e;
    kiln_status s = kiln_open(&o, &x, &e);

    (void)compile;
    (void)config;
    if (!s)
        s = kiln_open_device(x, device, &d, &e);
    for (int i = 0; i < 3 && !s; i++)
        s = kiln_malloc(d, 50 * 70 * 4, &m[i], &e);
    args.a = m[0];
    args.b = m[1];
    args.c = m[2];
    for (int i = 0; i < 2 && !s; i++) {
        s = kiln_run(d, &p, &args, &e);
        if (s == KILN_FINDING || s == KILN_IO)
            s = KILN_OK;     /* nothing was uploaded */
    }
    kiln_close_device(d);
    kiln_close(x);
    return s;
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

/* The kernel of a bundle, and one of it that serves instead of the chosen. */
static void
bundle_hit_and_substitute(void **state)
{
    static const char list[] = "family,m,n,k,a,out,tile\n"
                               "gemm,50,36,70,bf16,f32,32x32x64\n";
    char csv[128], command[700], cache[64];

    (void)state;
    snprintf(csv, sizeof csv, "%s/list.csv", folder);
    snprintf(bundle, sizeof bundle, "%s/lib.kpk", folder);
    write_bytes(csv, list, strlen(list));
    snprintf(command, sizeof command, "KILNC_CACHE_DIR=%s/other %s pack %s -o "
             "%s --arch gfx950 > /dev/null", folder, kilnc, csv, bundle);
    assert_int_equal(system(command), 0);
    memcpy(cache, folder, sizeof cache);
    snprintf(folder, sizeof folder, "%.40s/list.csv/kiln", cache);
    sweep("hip:0", false, "tile=32x32x64");
    sweep("hip:0", false, NULL);
    memcpy(folder, cache, sizeof folder);
    bundle[0] = '\0';
}

static void
run_on_hip(void **state)
{
    (void)state;
    assert_int_equal(run_life("hip:0", true, NULL), KILN_OK); /* fills it */
    sweep_of(run_life, "hip:0", true, NULL);
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
        cmocka_unit_test(bundle_hit_and_substitute),
        cmocka_unit_test(run_on_hip),
    };
    int failed;

    if (argc != 3)
        return 2;
    /* What nothing was uploaded to gives findings, which are not the point. */
    setenv("KILNC_SHIM_EXIT", "0", 1);
    library = argv[1];
    kilnc = argv[2];
    make_folder(folder);
    failed = cmocka_run_group_tests_name("runtime-oom", tests, NULL, NULL);
    drop_folder(folder);
    return failed;
}
