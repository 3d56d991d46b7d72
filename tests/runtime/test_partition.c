/* test_partition.c - a GPU with other compute units than the full chip's: the
 * kernels of kiln_run are for its counts, those of a full chip are not.
 *
 * usage: test_partition LIBKILNHIP */
#include "../kit/api.h"

#include <stdlib.h>
#include <string.h>

static const char *library;

struct gpu {
    kiln_context *x;
    kiln_device *d;
};

static struct gpu
open_gpu(void)
{
    kiln_options o = { .size = sizeof o, .flags = KILN_NO_DISK,
                       .hip_library = library };
    struct gpu g;
    kiln_error e;

    assert_ok(kiln_open(&o, &g.x, &e), &e);
    g.d = open_device(g.x, "hip:0");
    return g;
}

static void
close_gpu(struct gpu *g)
{
    kiln_close_device(g->d);
    kiln_close(g->x);
}

static void
is_told(void **state)
{
    kiln_device_info info = { .size = sizeof info };
    struct gpu g = open_gpu();

    (void)state;
    kiln_get_device(g.d, &info);
    assert_int_equal(info.cus, 38);
    assert_int_equal(info.xcds, 1);
    close_gpu(&g);
}

/* Groups of more tiles than there are compute units: a persistent grid. */
static kiln_problem
many_tiles(void)
{
    return (kiln_problem){ .size = sizeof (kiln_problem),
                           .family = KILN_GROUPED, .target = KILN_GFX950,
                           .a = KILN_FP8, .b = KILN_FP8, .out = KILN_BF16,
                           .m = 16384, .n = 4096, .k = 1024, .groups = 8 };
}

static void
expect_config(kiln_device *d, kiln_problem p, const char *grid,
              const char *map)
{
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k = NULL;
    kiln_arguments args = { .size = sizeof args, .flags = KILN_PREPARE,
                            .used = &k };
    kiln_error e;

    assert_ok(kiln_run(d, &p, &args, &e), &e);
    kiln_get_kernel(k, &info);
    if (!strstr(info.config, grid) || !strstr(info.config, map))
        fail_msg("%s lacks %s or %s", info.config, grid, map);
    kiln_release(k);
}

static void
kernels_are_for_it(void **state)
{
    struct gpu g = open_gpu();
    kiln_problem p = many_tiles();

    (void)state;
    expect_config(g.d, p, " cus=38 ", " xcd=1 ");
    p.cus = 80;              /* who knows better says so */
    p.xcds = 4;
    expect_config(g.d, p, " cus=80 ", " xcd=4 ");
    close_gpu(&g);
}

static void
results_are_right(void **state)
{
    kiln_problem p = small_problem(70, 36, 100);
    struct gpu g = open_gpu();
    struct operands o;
    kiln_error e;

    (void)state;
    make_operands(&o, g.d, &p);
    clear_output(&o);
    assert_ok(kiln_run(g.d, &p, &o.args, &e), &e);
    assert_ok(kiln_sync(g.d, NULL, &e), &e);
    check_output(&o);
    drop_operands(&o);
    close_gpu(&g);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_told),
        cmocka_unit_test(kernels_are_for_it),
        cmocka_unit_test(results_are_right),
    };

    if (argc != 2)
        return 2;
    library = argv[1];
    setenv("KILNC_SHIM_CUS", "38", 1);
    setenv("KILNC_SHIM_XCDS", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
