/* test_grid.c - persistent grids of fewer workgroups than the plan's, by
 * kiln_arguments.max_cus: one kernel, right numbers, and a plan whose grid and
 * arguments disagree is refused. */
#include "../kit/api.h"

#include <string.h>

enum { CUS = 5 };

static struct ready t;

static int
setup(void **state)
{
    (void)state;
    t.x = open_context(NULL, KILN_NO_DISK, NULL);
    t.p = small_problem(200, 100, 70);  /* 28 tiles */
    make_ready(&t, "sim:gfx950", "tile=32x32x64 cus=5");
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
any_number_is_right(void **state)
{
    kiln_error e;

    (void)state;
    assert_int_equal(t.plan.grid[0], CUS);
    for (uint32_t n = 0; n <= CUS + 1; n++) {
        t.o.args.max_cus = n;
        clear_output(&t.o);
        assert_ok(kiln_launch(t.f, &t.plan, &t.o.args, &e), &e);
        check_output(&t.o);
    }
    t.o.args.max_cus = 0;
}

static double
us_of(uint32_t most)
{
    kiln_timing us = { .size = sizeof us };
    kiln_error e;

    t.o.args.max_cus = most;
    assert_ok(kiln_time(t.f, &t.plan, &t.o.args, &us, &e), &e);
    t.o.args.max_cus = 0;
    return us.us;
}

/* 28 tiles one after the other, or six. */
static void
fewer_take_longer(void **state)
{
    (void)state;
    assert_true(us_of(1) > 1.5 * us_of(CUS));
    assert_true(us_of(CUS) == us_of(0));
}

/* The same kernel on a device of fewer compute units. */
static void
plans_are_for_the_device(void **state)
{
    kiln_problem p = t.p;
    kiln_plan plan;
    kiln_error e;

    (void)state;
    p.cus = 3;
    p.xcds = 1;
    assert_ok(kiln_make_plan(t.k, &p, &plan, &e), &e);
    assert_int_equal(plan.grid[0], 3);
    clear_output(&t.o);
    assert_ok(kiln_launch(t.f, &plan, &t.o.args, &e), &e);
    check_output(&t.o);
}

static void
grid_and_arguments_agree(void **state)
{
    kiln_plan plan = t.plan;
    kiln_error e;

    (void)state;
    plan.grid[0]++;
    assert_int_equal(kiln_launch(t.f, &plan, &t.o.args, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "no plan"));
    plan = t.plan;
    plan.cus_at = plan.kernarg_size;
    assert_int_equal(kiln_launch(t.f, &plan, &t.o.args, &e), KILN_BAD_INPUT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_is_right),
        cmocka_unit_test(fewer_take_longer),
        cmocka_unit_test(plans_are_for_the_device),
        cmocka_unit_test(grid_and_arguments_agree),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
