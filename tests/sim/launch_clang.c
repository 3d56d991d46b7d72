/* Kernels that clang compiled (kernels/clang.cl): hidden arguments, LDS
 * reduction, scratch, 64-bit arithmetic, constants behind the program
 * counter. Results against C, no finding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../runtime/sim/sim.h"

enum { N = 1000, BLOCK = 256, GROUPS = 4 };

static const char *path;

struct device {
    struct kn_ctx ctx;
    struct kn_sim *sim;
    struct kn_sim_code *code;
};

static kiln_target
target_of_path(void)
{
    return strstr(path, "gfx942") ? KILN_GFX942 : KILN_GFX950;
}

static void
open_device(struct device *d)
{
    static char bytes[1 << 18];
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    kn_ctx_init(&d->ctx, NULL, NULL);
    assert_int_equal(kn_sim_open(&d->ctx, target_of_path(), &d->sim),
                     KILN_OK);
    if (kn_sim_load(d->sim, path, bytes, n, &d->code))
        fail_msg("%s", d->ctx.err.text);
}

static void
close_device(struct device *d)
{
    kn_sim_close(d->sim);
    kn_ctx_free(&d->ctx);
}

static uint64_t
buffer(struct device *d, const void *data, size_t n)
{
    uint64_t addr;

    assert_int_equal(kn_sim_alloc(d->sim, n, data ? 0 : KN_MEM_OUTPUT, NULL,
                                  NULL, &addr), KILN_OK);
    if (data)
        assert_int_equal(kn_sim_write(d->sim, addr, data, n), KILN_OK);
    return addr;
}

static void
run(struct device *d, const char *kernel, const void *args, size_t size)
{
    struct kn_sim_launch l = {
        .code = d->code, .kernel = kernel, .grid = { GROUPS, 1, 1 },
        .block = { BLOCK, 1, 1 }, .kernarg = args, .kernarg_size = size,
        .select = { .all = true }, .threads = 2,
    };
    struct kn_sim_result r;

    if (kn_sim_run(d->sim, &l, &r))
        fail_msg("%s", d->ctx.err.text);
    for (unsigned k = 0; k < r.nkept; k++)
        print_message("# [%d] 0x%llx: %s\n", r.findings[k].kind,
                      (unsigned long long)r.findings[k].pc,
                      r.findings[k].text);
    assert_int_equal(r.nfindings, 0);
    assert_int_equal(r.workgroups, GROUPS);
}

static void
vadd(void **state)
{
    struct { uint64_t a, b, c; int32_t n; } args = { .n = N };
    float a[N], b[N], c[N];
    struct device d;

    (void)state;
    open_device(&d);
    for (int k = 0; k < N; k++) {
        a[k] = (float)k * 0.25f;
        b[k] = (float)(N - k);
    }
    args.a = buffer(&d, a, sizeof a);
    args.b = buffer(&d, b, sizeof b);
    args.c = buffer(&d, NULL, sizeof c);
    run(&d, "vadd", &args, 28);
    assert_int_equal(kn_sim_unwritten(d.sim, args.c), 0);
    assert_int_equal(kn_sim_read(d.sim, args.c, c, sizeof c), KILN_OK);
    for (int k = 0; k < N; k++)
        assert_true(c[k] == a[k] + b[k]);
    close_device(&d);
}

static void
reduce(void **state)
{
    struct { uint64_t a, sum; int32_t n; } args = { .n = N };
    int32_t a[N], sum = 5, want = 5;
    struct device d;

    (void)state;
    open_device(&d);
    for (int k = 0; k < N; k++)
        want += a[k] = k * k % 101 - 40;
    args.a = buffer(&d, a, sizeof a);
    args.sum = buffer(&d, &sum, sizeof sum);
    run(&d, "reduce", &args, 20);
    assert_int_equal(kn_sim_read(d.sim, args.sum, &sum, 4), KILN_OK);
    assert_int_equal(sum, want);
    close_device(&d);
}

static int
by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static void
sort8(void **state)
{
    enum { COUNT = 8 * BLOCK * GROUPS };
    static int32_t in[COUNT], out[COUNT];
    struct { uint64_t in, out; } args;
    struct device d;

    (void)state;
    open_device(&d);
    for (int k = 0; k < COUNT; k++)
        in[k] = (int32_t)((uint32_t)k * 2654435761u >> 20) - 2000;
    args.in = buffer(&d, in, sizeof in);
    args.out = buffer(&d, NULL, sizeof out);
    run(&d, "sort8", &args, sizeof args);
    assert_int_equal(kn_sim_read(d.sim, args.out, out, sizeof out), KILN_OK);
    for (int k = 0; k < COUNT; k += 8) {
        int32_t v[8];

        memcpy(v, in + k, sizeof v);
        qsort(v, 8, sizeof *v, by_value);
        for (int j = 0; j < 8; j++)
            assert_int_equal(out[k + j], v[in[k + j] & 7]);
    }
    close_device(&d);
}

static int64_t
mix_of(int i, int64_t x, double scale)
{
    int64_t y = x % 7 + 3;

    switch (i % 5) {
    case 0: return x / y;
    case 1: return x % y;
    case 2: return (int64_t)((double)x * scale);
    case 3: return (int64_t)((uint64_t)x << (y & 15)) ^
                   (int64_t)((uint64_t)x >> y);
    default:
        return (int32_t)x / (int32_t)y + (uint8_t)x * (int16_t)x;
    }
}

static void
mix(void **state)
{
    enum { COUNT = BLOCK * GROUPS };
    struct { uint64_t in, out; double scale; } args = { .scale = 1.7 };
    static int64_t in[COUNT], out[COUNT];
    struct device d;

    (void)state;
    open_device(&d);
    for (int k = 0; k < COUNT; k++)
        in[k] = (int64_t)((uint64_t)k * 0x9e3779b97f4a7c15u >> 14);
    args.in = buffer(&d, in, sizeof in);
    args.out = buffer(&d, NULL, sizeof out);
    run(&d, "mix", &args, sizeof args);
    assert_int_equal(kn_sim_read(d.sim, args.out, out, sizeof out), KILN_OK);
    for (int k = 0; k < COUNT; k++)
        assert_true(out[k] == mix_of(k, in[k], args.scale));
    close_device(&d);
}

static void
lookup(void **state)
{
    enum { COUNT = BLOCK * GROUPS };
    static const int32_t table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
    struct { uint64_t in, out; } args;
    int32_t in[COUNT], out[COUNT];
    struct device d;

    (void)state;
    open_device(&d);
    for (int k = 0; k < COUNT; k++)
        in[k] = k * 5;
    args.in = buffer(&d, in, sizeof in);
    args.out = buffer(&d, NULL, sizeof out);
    run(&d, "lookup", &args, sizeof args);
    assert_int_equal(kn_sim_read(d.sim, args.out, out, sizeof out), KILN_OK);
    for (int k = 0; k < COUNT; k++)
        assert_int_equal(out[k], table[k * 5 & 7]);
    close_device(&d);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vadd),
        cmocka_unit_test(reduce),
        cmocka_unit_test(sort8),
        cmocka_unit_test(mix),
        cmocka_unit_test(lookup),
    };

    if (argc < 2)
        return 2;
    path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
