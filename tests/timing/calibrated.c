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
    double low[MOST], high[MOST];              /* of all that compare */
};

/* Rows of a line of the table in docs/timing.md. */
struct group {
    kiln_target target;
    enum kn_time_type type;
    bool shares, above;      /* a compute unit; 50 us */
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

static bool
is_of(const struct group *g, const struct kn_time_row *r)
{
    return !g || (r->target == g->target && r->type == g->type &&
                  (r->resident > 1) == g->shares &&
                  (r->measured > 50) == g->above);
}

static void
judge_row(struct judged *j, const struct kn_time_row *bars,
          const struct kn_time_row *r)
{
    struct kn_time_table t = { bars, kn_time_nrows, r->object };
    struct kn_time_error e = kn_time_error_of(&t, &(struct kn_time_like){
        r->target, r->type, r->resident, r->predicted, r->rate, r->loop });
    size_t k = j->rows++ - j->alone;

    if (!e.rows) {
        j->alone++;
        return;
    }
    j->held += holds(&e, r);
    j->low[k] = e.low;
    j->high[k] = e.high;
    if (r->measured > 50)
        j->wide[j->nwide++] = 0.5 * (e.high - e.low);
}

/* The rows of a group, NULL: all of them. */
static struct judged
judge_group(const struct kn_time_row *bars, const struct group *g)
{
    struct judged j = { 0 };

    for (size_t k = 0; k < kn_time_nrows; k++)
        if (is_of(g, &kn_time_rows[k]))
            judge_row(&j, bars, &kn_time_rows[k]);
    qsort(j.wide, j.nwide, sizeof *j.wide, ascending);
    qsort(j.low, j.rows - j.alone, sizeof *j.low, ascending);
    qsort(j.high, j.rows - j.alone, sizeof *j.high, ascending);
    return j;
}

static struct judged
judge(const struct kn_time_row *bars)
{
    return judge_group(bars, NULL);
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

/* A line of the table in docs/timing.md. */
static void
print_group(const struct group *g)
{
    struct judged j = judge_group(kn_time_rows, g);
    size_t n = j.rows - j.alone;

    if (!n)
        return;
    print_message("# | %s | %s | %s | %s | %zu | %.0f %% | %.0f to +%.0f %% | "
                  "%.0f %% |\n", kiln_target_name(g->target),
                  kn_time_type_name(g->type), g->shares ? "2 and more" : "1",
                  g->above ? "above 50 us" : "up to 50 us", n,
                  100 * share_held(&j), 100 * j.low[n / 2],
                  100 * j.high[n / 2], 50 * (j.high[n / 2] - j.low[n / 2]));
}

static void
print_groups(void)
{
    static const kiln_target targets[] = { KILN_GFX942, KILN_GFX950 };

    for (int k = 0; k < 2 * KN_NTIMETYPES * 4; k++)
        print_group(&(struct group){ targets[k / (KN_NTIMETYPES * 4)],
                                     (enum kn_time_type)(k / 4 % KN_NTIMETYPES),
                                     k / 2 % 2, k % 2 == 0 });
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
    print_groups();
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

#define R(us, type, resident, rate, error) \
    { KILN_GFX950, KN_TT_##type, resident, KN_B_MFMA, (us) * (1 + (error)), \
      us, rate, 1, "gemm", "one", "", "" }

static const struct kn_time_row few[] = {
    R(100, F16, 1, 40, .01), R(100, F16, 1, 40, -.02),
    R(100, F16, 1, 40, .03),
    R(100, MX4, 4, 40, .10), R(100, MX4, 4, 40, .10),
    R(100, F8, 1, 40, .10), R(100, F8, 1, 40, .11), R(100, F8, 1, 40, .12),
};

static struct kn_time_error
ask(enum kn_time_type type, uint32_t resident)
{
    struct kn_time_table t = { few, sizeof few / sizeof *few, NULL };

    return kn_time_error_of(&t, &(struct kn_time_like){
        KILN_GFX950, type, resident, 100, 40, 1 });
}

/* Rows of one kind whose reads differ: 16 of 40 with errors of 1 to 16 %, and
 * `n` of another rate or kind far off. */
static struct kn_time_error
among(struct kn_time_row far, int n, double us)
{
    struct kn_time_row rows[40];
    struct kn_time_table t = { rows, 16 + (size_t)n, NULL };

    for (int k = 0; k < 16 + n; k++)
        rows[k] = k < n ? far : (struct kn_time_row)
            R(us, F16, 1, 40, .01 * (k - n + 1));
    return kn_time_error_of(&t, &(struct kn_time_like){
        KILN_GFX950, KN_TT_F16, 1, us, 40, 1 });
}

static void
test_nearest_rows_decide(void **state)
{
    static const struct kn_time_row far[] = {
        R(100, F16, 1, 90, -.50), R(100, MX4, 1, 40, -.50),
        R(100, F16, 2, 40, -.50), R(1000, F16, 1, 40, -.50)
    };

    (void)state;
    for (int k = 0; k < 4; k++) {
        struct kn_time_error e = among(far[k], 20, 100);

        assert_int_equal(e.rows, 16);
        assert_true(fabs(e.low) < 1e-9 && fabs(e.high - 0.153) < 1e-9);
    }
}

/* A share of the rows is beyond each end, of short launches a smaller one. */
static void
test_ends_leave_rows_out(void **state)
{
    static const struct kn_time_row none = R(100, F16, 1, 90, 0);
    struct kn_time_error e = among(none, 0, 20);

    (void)state;
    assert_true(fabs(e.high - 0.1598) < 1e-9);
    e = among(none, 0, 100);
    assert_true(fabs(e.high - 0.153) < 1e-9);
}

/* A bar has its prediction in it, though all took longer. */
static void
test_prediction_is_in_its_bar(void **state)
{
    struct kn_time_error e = ask(KN_TT_F8, 1);

    (void)state;
    assert_int_equal(e.rows, 8);
    assert_true(e.low < 0 && e.high > 0.1);
    e = among((struct kn_time_row)R(100, F16, 1, 90, 0), 0, 100);
    assert_true(fabs(e.low) < 1e-9);
}

/* Others help out, but only where three are of the kind itself. */
static void
test_what_does_not_compare(void **state)
{
    struct kn_time_table t = { few, sizeof few / sizeof *few, "one" };
    struct kn_time_like q = { KILN_GFX950, KN_TT_F16, 1, 100, 40, 1 };

    (void)state;
    assert_int_equal(ask(KN_TT_F16, 1).rows, 8);
    assert_int_equal(ask(KN_TT_MX4, 4).rows, 0); /* two rows */
    assert_int_equal(ask(KN_TT_F16, 2).rows, 0);
    assert_int_equal(ask(KN_TT_I8, 1).rows, 0);
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
        cmocka_unit_test(test_prediction_is_in_its_bar),
        cmocka_unit_test(test_what_does_not_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
