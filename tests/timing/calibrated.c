/* calibrated.c - whether the error bars of predictions are honest: those made
 * without an object hold its measured times neither too rarely nor too often.
 * The judge is shown tables whose bars are doctored, and has to fire. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/sim/timing/timing_error.h"

enum { MOST = 2000 };

static struct kn_time_row doctored[MOST];

struct judged {
    size_t rows, alone, held;  /* alone: no other object compares */
    size_t nwide;
    double wide[MOST];       /* half bars of the rows above 50 us */
};

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Measured times of the true table beside bars from `bars`, leaving out the
 * object itself. */
static bool
holds(const struct kn_time_error *e, const struct kn_time_row *r)
{
    double off = r->measured / r->predicted - 1;

    return e->low <= off && off <= e->high;
}

static struct judged
judge(const struct kn_time_row *bars)
{
    struct judged j = { 0 };

    for (size_t k = 0; k < kn_time_nrows; k++) {
        const struct kn_time_row *r = &kn_time_rows[k];
        struct kn_time_table t = { bars, kn_time_nrows, r->object };
        struct kn_time_error e = kn_time_error_of(&t, &(struct kn_time_like){
            r->target, r->type, r->resident, r->bound, r->predicted });

        j.rows++;
        if (!e.rows) {
            j.alone++;
            continue;
        }
        j.held += holds(&e, r);
        if (r->measured > 50)
            j.wide[j.nwide++] = 0.5 * (e.high - e.low);
    }
    qsort(j.wide, j.nwide, sizeof *j.wide, ascending);
    return j;
}

static double
share_held(const struct judged *j)
{
    return (double)j->held / (double)(j->rows - j->alone);
}

static double
median_width(const struct judged *j)
{
    return j->wide[j->nwide / 2];
}

static bool
is_calibrated(const struct judged *j)
{
    double held = share_held(j);

    return held >= 0.80 && held <= 0.95;
}

/* The table with every error times `factor`. */
static const struct kn_time_row *
doctor(double factor)
{
    assert_true(kn_time_nrows <= MOST);
    for (size_t k = 0; k < kn_time_nrows; k++) {
        struct kn_time_row r = kn_time_rows[k];

        r.measured = r.predicted *
                     (1 + factor * (r.measured / r.predicted - 1));
        doctored[k] = r;
    }
    return doctored;
}

static void
test_bars_are_calibrated(void **state)
{
    struct judged j = judge(kn_time_rows);

    (void)state;
    print_message("# %zu rows, %zu without another object that compares, "
                  "%.1f %% of the others held, median bar above 50 us "
                  "+-%.1f %% (%zu rows)\n", j.rows, j.alone,
                  100 * share_held(&j), 100 * median_width(&j), j.nwide);
    assert_true(j.rows > 100);
    assert_true(j.alone * 10 < j.rows);
    assert_true(is_calibrated(&j));
}

static void
test_narrow_bars_are_found(void **state)
{
    struct judged j = judge(doctor(0.5));

    (void)state;
    assert_true(share_held(&j) < 0.80);
    assert_false(is_calibrated(&j));
}

static void
test_wide_bars_are_found(void **state)
{
    struct judged j = judge(doctor(3));

    (void)state;
    assert_true(share_held(&j) > 0.95);
    assert_false(is_calibrated(&j));
}

/* ---- what compares ------------------------------------------------------ */

#define R(us, type, resident, bound, error) \
    { KILN_GFX950, KN_TT_##type, resident, KN_B_##bound, (us) * (1 + (error)), \
      us, "gemm", "one", "", "" }

static const struct kn_time_row few[] = {
    R(100, F16, 1, MFMA, .01), R(100, F16, 1, MFMA, -.02),
    R(100, F16, 1, MFMA, .03), R(100, F16, 1, MFMA, .04),
    R(100, F16, 1, MFMA, .05), R(100, F16, 1, MFMA, .06),
    R(100, F16, 1, MFMA, .07), R(100, F16, 1, MFMA, -.08),
    R(20, F16, 1, LATENCY, .20), R(20, F16, 1, LATENCY, .30),
    R(100, MX4, 4, HBM, .10), R(100, MX4, 4, HBM, .10),
    R(100, F8, 1, HBM, .10), R(100, F8, 1, HBM, .11), R(100, F8, 1, HBM, .12),
};

static struct kn_time_error
ask(enum kn_time_type type, uint32_t resident, enum kn_time_bound bound,
    double us)
{
    struct kn_time_table t = { few, sizeof few / sizeof *few, NULL };

    return kn_time_error_of(&t, &(struct kn_time_like){
        KILN_GFX950, type, resident, bound, us });
}

static void
test_nearest_rows_decide(void **state)
{
    struct kn_time_error e = ask(KN_TT_F16, 1, KN_B_MFMA, 80);

    (void)state;
    assert_int_equal(e.rows, 8);
    assert_true(fabs(e.low + 0.08) < 1e-9 && fabs(e.high - 0.07) < 1e-9);
    e = ask(KN_TT_F16, 1, KN_B_MFMA, 20);  /* short: no eight, so all ten */
    assert_int_equal(e.rows, 10);
    assert_true(fabs(e.low + 0.08) < 1e-9 && fabs(e.high - 0.30) < 1e-9);
    e = ask(KN_TT_F8, 1, KN_B_HBM, 100);   /* all longer: not below itself */
    assert_true(fabs(e.low) < 1e-9 && fabs(e.high - 0.12) < 1e-9);
}

/* Of many rows each end leaves some beyond it. */
static void
test_ends_leave_rows_out(void **state)
{
    struct kn_time_row many[49];
    struct kn_time_table t = { many, 49, NULL };
    struct kn_time_error e;

    (void)state;
    for (int k = 0; k < 49; k++)
        many[k] = (struct kn_time_row){ KILN_GFX950, KN_TT_F16, 1, KN_B_MFMA,
                                        100 + k - 24, 100, "", "", "", "" };
    e = kn_time_error_of(&t, &(struct kn_time_like){
        KILN_GFX950, KN_TT_F16, 1, KN_B_MFMA, 100 });
    assert_int_equal(e.rows, 49);
    assert_true(fabs(e.low + 0.22) < 1e-9 && fabs(e.high - 0.22) < 1e-9);
}

static void
test_what_does_not_compare(void **state)
{
    struct kn_time_table t = { few, sizeof few / sizeof *few, "one" };
    struct kn_time_like q = { KILN_GFX950, KN_TT_F16, 1, KN_B_MFMA, 80 };

    (void)state;
    assert_int_equal(ask(KN_TT_F8, 1, KN_B_MFMA, 20).rows, 3);
    assert_int_equal(ask(KN_TT_MX4, 4, KN_B_HBM, 100).rows, 0); /* two rows */
    assert_int_equal(ask(KN_TT_F16, 2, KN_B_MFMA, 80).rows, 0);
    assert_int_equal(ask(KN_TT_I8, 1, KN_B_MFMA, 80).rows, 0);
    assert_int_equal(kn_time_error_of(&t, &q).rows, 0);
    q.target = KILN_GFX942;
    t.without = NULL;
    assert_int_equal(kn_time_error_of(&t, &q).rows, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bars_are_calibrated),
        cmocka_unit_test(test_narrow_bars_are_found),
        cmocka_unit_test(test_wide_bars_are_found),
        cmocka_unit_test(test_nearest_rows_decide),
        cmocka_unit_test(test_ends_leave_rows_out),
        cmocka_unit_test(test_what_does_not_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
