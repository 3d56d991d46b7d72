/* test_hip.c - the HIP back end against libkilnhip, whose every call is
 * counted, and against a real libamdhip64 on a machine without a GPU.
 *
 * usage: test_hip LIBKILNHIP */
#include "../kit/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *library;
static struct {
    unsigned long (*calls)(const char *name);
    void (*fail_call)(const char *name, int error);
    int (*stream_create)(void **, unsigned);
    int (*stream_destroy)(void *);
    int (*begin)(void *, int);
    int (*end)(void *, void **);
    int (*instantiate)(void **, void *, void **, char *, size_t);
    int (*graph_launch)(void *, void *);
    int (*graph_destroy)(void *);
    int (*exec_destroy)(void *);
} hip;

static struct ready t;

static void *
symbol(void *so, const char *name)
{
    void *p = dlsym(so, name);

    assert_non_null(p);
    return p;
}

#define TAKE(so, field, name) \
    do { \
        void *p_ = symbol(so, name); \
        memcpy(&hip.field, &p_, sizeof p_); \
    } while (0)

static kiln_context *
open_hip_context(const char *path)
{
    kiln_options o = { .size = sizeof o, .flags = KILN_NO_DISK,
                       .hip_library = path };
    kiln_context *x;
    kiln_error e;

    assert_ok(kiln_open(&o, &x, &e), &e);
    return x;
}

static int
setup(void **state)
{
    void *so = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    (void)state;
    assert_non_null(so);
    TAKE(so, calls, "kilnhip_calls");
    TAKE(so, fail_call, "kilnhip_fail");
    TAKE(so, stream_create, "hipStreamCreateWithFlags");
    TAKE(so, stream_destroy, "hipStreamDestroy");
    TAKE(so, begin, "hipStreamBeginCapture");
    TAKE(so, end, "hipStreamEndCapture");
    TAKE(so, instantiate, "hipGraphInstantiate");
    TAKE(so, graph_launch, "hipGraphLaunch");
    TAKE(so, graph_destroy, "hipGraphDestroy");
    TAKE(so, exec_destroy, "hipGraphExecDestroy");
    t.x = open_hip_context(library);
    t.p = small_problem(40, 36, 70);
    make_ready(&t, "hip:0", "tile=32x32x64");
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    drop_ready(&t);
    return 0;
}

static void
probes_by_attributes(void **state)
{
    kiln_device_info info = { .size = sizeof info };

    (void)state;
    kiln_get_device(t.d, &info);
    assert_int_equal(info.target, KILN_GFX950);
    assert_int_equal(info.cus, 256);
    assert_int_equal(info.simulated, 0);
    assert_string_equal(info.name, "kiln simulator (gfx950)");
    assert_string_equal(info.bus, "0000:00:00.0");
    assert_int_equal(hip.calls("hipGetDeviceProperties"), 0);
}

static void
launch_computes(void **state)
{
    kiln_error e;

    (void)state;
    clear_output(&t.o);
    assert_ok(kiln_launch(t.f, &t.plan, &t.o.args, &e), &e);
    assert_ok(kiln_sync(t.d, NULL, &e), &e);
    check_output(&t.o);
}

/* The contract: a launch calls one function of HIP and no other. */
static void
launch_only_launches(void **state)
{
    unsigned long all = hip.calls(NULL);
    unsigned long launches = hip.calls("hipModuleLaunchKernel");
    kiln_error e;

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_ok(kiln_launch(t.f, &t.plan, &t.o.args, &e), &e);
    assert_int_equal(hip.calls("hipModuleLaunchKernel") - launches, 5);
    assert_int_equal(hip.calls(NULL) - all, 5);
}

/* kiln_run too, from its second call of a class on. */
static void
run_only_launches_when_warm(void **state)
{
    kiln_problem p = t.p;
    unsigned long all;
    kiln_error e;

    (void)state;
    assert_ok(kiln_run(t.d, &p, &t.o.args, &e), &e);
    all = hip.calls(NULL);
    clear_output(&t.o);
    all = hip.calls(NULL);
    assert_ok(kiln_run(t.d, &p, &t.o.args, &e), &e);
    p.m = 35;                /* the same class */
    assert_ok(kiln_run(t.d, &p, &t.o.args, &e), &e);
    assert_int_equal(hip.calls(NULL) - all, 2);
    check_output(&t.o);
}

static void
captured_launch_replays(void **state)
{
    enum { REPLAYS = 1000 };
    void *stream, *graph, *exec;
    kiln_arguments args = t.o.args;
    kiln_plan small = t.plan;
    kiln_error e;

    (void)state;
    assert_int_equal(hip.stream_create(&stream, 1), 0);
    args.stream = stream;
    clear_output(&t.o);
    assert_int_equal(hip.begin(stream, 0), 0);
    assert_ok(kiln_launch(t.f, &small, &args, &e), &e);
    memset(&small, 0xee, sizeof small); /* the graph has its own copy */
    assert_int_equal(hip.end(stream, &graph), 0);
    assert_int_equal(hip.instantiate(&exec, graph, NULL, NULL, 0), 0);
    assert_int_equal(hip.graph_destroy(graph), 0);
    for (int i = 0; i < REPLAYS; i++)
        assert_int_equal(hip.graph_launch(exec, stream), 0);
    check_output(&t.o);
    assert_int_equal(hip.exec_destroy(exec), 0);
    assert_int_equal(hip.stream_destroy(stream), 0);
}

/* Offsets on the host: one copy on the stream beside the launch, no waiting;
 * a replay takes the offsets that are there by then. */
static void
host_offsets_travel_by_stream(void **state)
{
    enum { G = 3, M = 8, N = 32, K = 64 };
    kiln_problem p = { .size = sizeof p, .family = KILN_GROUPED,
                       .target = KILN_GFX950, .a = KILN_BF16, .out = KILN_F32,
                       .m = M, .n = N, .k = K, .groups = G };
    static uint16_t a[M * K], b[G][N * K];
    static const int64_t splits[2][G + 1] = { { 0, 3, 3, 8 }, { 0, 5, 6, 8 } };
    static const uint16_t value[G] = { 0x3f80, 0x4000, 0x4040 }; /* 1 2 3 */
    int64_t offsets[G + 1];
    kiln_arguments args = { .size = sizeof args, .host_offsets = offsets };
    void *stream, *graph, *exec, *m[4];
    unsigned long all;
    kiln_function *f;
    kiln_kernel *k;
    kiln_plan plan;
    kiln_error e;
    float c[M * N];

    (void)state;
    for (int i = 0; i < M * K; i++)
        a[i] = value[0];
    for (int i = 0; i < G * N * K; i++)
        b[i / (N * K)][i % (N * K)] = value[i / (N * K)];
    assert_ok(kiln_compile(t.x, &p, NULL, &k, &e), &e);
    assert_ok(kiln_make_plan(k, &p, &plan, &e), &e);
    assert_int_equal(plan.offsets_size, sizeof offsets);
    assert_ok(kiln_load(t.d, k, &f, &e), &e);
    assert_ok(kiln_malloc(t.d, sizeof a, &m[0], &e), &e);
    assert_ok(kiln_malloc(t.d, sizeof b, &m[1], &e), &e);
    assert_ok(kiln_malloc(t.d, sizeof c, &m[2], &e), &e);
    assert_ok(kiln_malloc(t.d, plan.workspace, &m[3], &e), &e);
    assert_ok(kiln_upload(t.d, m[0], a, sizeof a, &e), &e);
    assert_ok(kiln_upload(t.d, m[1], b, sizeof b, &e), &e);
    assert_int_equal(hip.stream_create(&stream, 1), 0);
    args.a = m[0];
    args.b = m[1];
    args.c = m[2];
    args.stream = stream;
    assert_int_equal(kiln_launch(f, &plan, &args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "workspace"));
    args.workspace = m[3];
    assert_int_equal(hip.begin(stream, 0), 0);
    all = hip.calls(NULL);
    assert_ok(kiln_launch(f, &plan, &args, &e), &e);
    assert_int_equal(hip.calls(NULL) - all, 2);
    assert_int_equal(hip.end(stream, &graph), 0);
    assert_int_equal(hip.instantiate(&exec, graph, NULL, NULL, 0), 0);
    for (int i = 0; i < 2; i++) {
        memcpy(offsets, splits[i], sizeof offsets);
        assert_int_equal(hip.graph_launch(exec, stream), 0);
        assert_ok(kiln_download(t.d, c, m[2], sizeof c, &e), &e);
        for (int g = 0; g < G; g++)
            for (int64_t r = offsets[g]; r < offsets[g + 1]; r++)
                assert_true(c[r * N] == (float)(K * (g + 1)));
    }
    assert_int_equal(hip.graph_destroy(graph), 0);
    assert_int_equal(hip.exec_destroy(exec), 0);
    assert_int_equal(hip.stream_destroy(stream), 0);
    for (int i = 0; i < 4; i++)
        assert_ok(kiln_free(t.d, m[i], &e), &e);
    kiln_unload(f);
    kiln_release(k);
}

/* The detector itself: what may not happen under capture breaks it. */
static void
forbidden_calls_break_a_capture(void **state)
{
    void *stream, *graph, *p;
    kiln_error e;

    (void)state;
    assert_int_equal(hip.stream_create(&stream, 1), 0);
    assert_int_equal(hip.begin(stream, 0), 0);
    assert_int_equal(kiln_malloc(t.d, 64, &p, &e), KILN_IO);
    assert_non_null(strstr(e.text, "hipErrorStreamCaptureUnsupported"));
    assert_int_equal(hip.end(stream, &graph), 901);
    assert_int_equal(hip.begin(stream, 0), 0);
    assert_int_equal(kiln_sync(t.d, NULL, &e), KILN_IO);
    assert_int_equal(hip.end(stream, &graph), 901);
    assert_int_equal(hip.stream_destroy(stream), 0);
}

static void
time_by_events(void **state)
{
    kiln_timing timing = { .size = sizeof timing, .runs = 3 };
    unsigned long launches = hip.calls("hipModuleLaunchKernel");
    kiln_error e;

    (void)state;
    assert_ok(kiln_time(t.f, &t.plan, &t.o.args, &timing, &e), &e);
    assert_true(timing.us > 0);
    assert_int_equal(hip.calls("hipModuleLaunchKernel") - launches, 3);
}

/* One use of everything; the first failure is the answer. */
static kiln_status
use_all(kiln_context *x, kiln_error *e)
{
    kiln_timing timing = { .size = sizeof timing, .runs = 1 };
    kiln_device *d = NULL;
    kiln_function *f = NULL;
    kiln_arguments args = t.o.args;
    kiln_status s = kiln_open_device(x, "hip:0", &d, e);
    char text[16] = "0123456789";
    void *p = NULL;

    if (!s)
        s = kiln_malloc(d, 16, &p, e);
    if (!s)
        s = kiln_upload(d, p, text, 16, e);
    if (!s)
        s = kiln_download(d, text, p, 16, e);
    if (!s)
        s = kiln_load(d, t.k, &f, e);
    if (!s)
        s = kiln_launch(f, &t.plan, &args, e);
    if (!s)
        s = kiln_time(f, &t.plan, &args, &timing, e);
    if (!s)
        s = kiln_sync(d, NULL, e);
    if (!s)
        s = kiln_free(d, p, e);
    kiln_unload(f);
    kiln_close_device(d);
    return s;
}

/* Every function of HIP that kiln calls fails once: a status, no crash. */
static void
every_failure_is_a_status(void **state)
{
    static const char *const names[] = {
        "hipInit", "hipGetDeviceCount", "hipSetDevice",
        "hipDeviceGetAttribute", "hipDeviceGetName", "hipDeviceGetPCIBusId",
        "hipMalloc", "hipFree", "hipMemcpy", "hipModuleLoadData",
        "hipModuleGetFunction", "hipModuleLaunchKernel",
        "hipStreamSynchronize", "hipEventCreateWithFlags", "hipEventRecord",
        "hipEventSynchronize", "hipEventElapsedTime",
    };
    kiln_context *x = open_hip_context(library);
    kiln_error e;

    (void)state;
    assert_ok(use_all(x, &e), &e);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned long before = hip.calls(names[i]);
        kiln_status s;

        hip.fail_call(names[i], 2);
        s = use_all(x, &e);
        hip.fail_call(NULL, 0);
        if (hip.calls(names[i]) == before)
            fail_msg("%s was not called", names[i]);
        if (i < 2)
            assert_int_equal(s, KILN_NO_DEVICE);
        else
            assert_int_equal(s, KILN_NO_MEMORY);
        assert_non_null(strstr(e.text, "hipErrorOutOfMemory"));
    }
    kiln_close(x);
}

static void
another_gpu_is_refused(void **state)
{
    kiln_device *d;
    kiln_error e;

    (void)state;
    assert_int_equal(kiln_open_device(t.x, "hip:1", &d, &e), KILN_NO_DEVICE);
    assert_non_null(strstr(e.text, "no device hip:1"));
}

static void
expect_no_device(const char *path)
{
    kiln_context *x = open_hip_context(path);
    kiln_device *d;
    kiln_error e;

    assert_int_equal(kiln_open_device(x, "hip:0", &d, &e), KILN_NO_DEVICE);
    assert_null(d);
    assert_true(e.text[0]);
    kiln_close(x);
}

static void
no_library_is_no_device(void **state)
{
    (void)state;
    expect_no_device("./no-such/libamdhip64.so.6");
    expect_no_device("libm.so.6"); /* a library, but not HIP */
}

/* Debian's 5.2.3 answers hipInit with an error where there is no GPU. */
static void
real_library_without_gpu(void **state)
{
    void *so = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);

    (void)state;
    if (!so)
        skip();
    expect_no_device("libamdhip64.so.5");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_by_attributes),
        cmocka_unit_test(launch_computes),
        cmocka_unit_test(launch_only_launches),
        cmocka_unit_test(run_only_launches_when_warm),
        cmocka_unit_test(captured_launch_replays),
        cmocka_unit_test(host_offsets_travel_by_stream),
        cmocka_unit_test(forbidden_calls_break_a_capture),
        cmocka_unit_test(time_by_events),
        cmocka_unit_test(every_failure_is_a_status),
        cmocka_unit_test(another_gpu_is_refused),
        cmocka_unit_test(no_library_is_no_device),
        cmocka_unit_test(real_library_without_gpu),
    };

    if (argc != 2)
        return 2;
    library = argv[1];
    return cmocka_run_group_tests_name("runtime-hip", tests, setup, teardown);
}
