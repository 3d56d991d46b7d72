/* test_uneven.c - the tiles that the chooser expects of groups whose rows differ, against mild
 * routing drawn many times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gen/choose/choose.h"
#include "gen/tool/run/run.h"

enum { DRAWS = 200, MOST = 256 };

/* Rows of tiles of all groups, as --routing mild deals `each` rows a group on average. */
static int64_t
dealt(int64_t groups, int64_t each, int64_t bm, uint64_t seed)
{
    int64_t left = groups * each, tiles = 0;
    double sum = 0;

    for (int64_t g = 0; g < groups; g++)
        sum += kn_mild_weight(seed, g);
    for (int64_t g = 0; g < groups; g++) {
        double part = kn_mild_weight(seed, g) / sum * (double)(groups * each);
        int64_t rows = g + 1 < groups ? (int64_t)part : left;

        left -= rows;
        tiles += (rows + bm - 1) / bm;
    }
    return tiles;
}

static void
check(int64_t groups, int64_t each, uint32_t bm)
{
    const kiln_problem p = { .family = KILN_GROUPED, .groups = groups, .m = groups * each };
    const struct kn_config g = { .bm = bm };
    double few = kn_uneven_rows(&p, &g, false) * (double)groups;
    double many = kn_uneven_rows(&p, &g, true) * (double)groups, mean = 0;

    for (uint64_t i = 0; i < DRAWS; i++)
        mean += (double)dealt(groups, each, bm, i * MOST);
    mean /= (double)DRAWS;
    assert_true(few <= many && few >= (double)groups);
    assert_true(fabs((few + many) / 2 - mean) < 0.05 * mean + 0.7);
}

static void
test_mild(void **state)
{
    static const int64_t groups[] = { 2, 4, 8, 32, 128 }, rows[] = { 4, 24, 100, 256, 1000 };
    static const uint32_t tiles[] = { 16, 48, 128, 256 };

    (void)state;
    for (size_t i = 0; i < 5 * 5 * 4; i++)
        check(groups[i % 5], rows[i / 5 % 5], tiles[i / 25]);
}

static void
test_none(void **state)
{
    const kiln_problem p = { .family = KILN_GROUPED, .groups = 8 };
    const struct kn_config g = { .bm = 128 };

    (void)state;
    assert_true(kn_uneven_rows(&p, &g, false) == 1 && kn_uneven_rows(&p, &g, true) == 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mild),
        cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
