/* Operand data: where its elements lie, in any range of bytes, and how they are
 * distributed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/reference/reference.h"
#include "element.h"

/* Of gfx950 until told otherwise. */
static struct kn_data
tensor(uint32_t operand, kiln_type type, int64_t rows, int64_t cols,
       int64_t ld)
{
    struct kn_data d = {.seed = 42, .operand = operand, .type = type,
                        .target = KILN_GFX950, .batches = 1, .rows = rows,
                        .cols = cols};

    kn_data_shape(&d, ld, 0);
    return d;
}

/* Any byte range is the same bytes as the whole. */
static void
check_fill(struct kn_data *d)
{
    size_t size = (size_t)kn_data_bytes(d) + 9;
    uint8_t *all = malloc(size), *part = malloc(size);
    uint64_t x = 17;

    kn_data_fill(d, 0, all, size);
    for (int i = 0; i < 300; i++) {
        size_t from, n;

        x = x * 6364136223846793005u + 1442695040888963407u;
        from = (size_t)((x >> 33) % size);
        n = (size_t)((x >> 13 & 0xffff) % (size - from + 1));
        kn_data_fill(d, from, part, n);
        assert_memory_equal(all + from, part, n);
    }
    free(all);
    free(part);
}

static void
test_fill(void **state)
{
    static const kiln_type types[] = {KILN_F32,   KILN_BF16,  KILN_FP8,
                                      KILN_I8,    KILN_MXFP6, KILN_MXFP4,
                                      KILN_MXBF6, KILN_I32,   KILN_F64};

    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct kn_data d = tensor(i, types[i], 13, 37, 40);

        check_fill(&d);
        d.batches = 3;
        kn_data_shape(&d, 40, 13 * 40 + 8);
        check_fill(&d);
        kn_data_shape(&d, 3 * 40, 40); /* batches inside the row stride */
        check_fill(&d);
        d.scale = true;
        kn_data_shape(&d, 0, 0);
        check_fill(&d);
    }
}

/* Where the elements lie: packing, gaps, zero bits at the end of a run. */
static void
test_fill_places(void **state)
{
    struct kn_data d = tensor(1, KILN_MXFP6, 3, 7, 10);
    uint8_t b[24];

    (void)state;
    assert_int_equal(d.row_bytes, 8);
    kn_data_fill(&d, 0, b, 24);
    for (unsigned r = 0; r < 3; r++) {
        for (unsigned c = 0; c < 7; c++) {
            unsigned bit = c * 6;
            unsigned w = b[r * 8 + bit / 8] | b[r * 8 + bit / 8 + 1] << 8;

            assert_int_equal(w >> bit % 8 & 63, kn_data_code(&d, r * 7 + c));
        }
        assert_int_equal(b[r * 8 + 5] >> 2, 0);
        assert_int_equal(b[r * 8 + 6], 0xff);
        assert_int_equal(b[r * 8 + 7], 0xff);
    }
    d = tensor(1, KILN_MXFP4, 1, 2, 0);
    kn_data_fill(&d, 0, b, 1);
    assert_int_equal(b[0], kn_data_code(&d, 0) | kn_data_code(&d, 1) << 4);
    d = tensor(1, KILN_MXFP8, 17, 0, 0);   /* K 0: nothing is there */
    kn_data_fill(&d, 0, b, 3);
    assert_true(b[0] == 0xff && b[1] == 0xff && b[2] == 0xff);
}

/* f64 as the host has it, denormals and infinities too. */
static void
test_f64_is_the_hosts(void **state)
{
    uint64_t x = 3, code;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        double v;

        x = x * 6364136223846793005u + 1442695040888963407u;
        code = i % 4 ? x : i % 8 ? x >> 63 << 63 | (x >> 12 & ~(~0ull << i % 52))
                                 : x >> 63 << 63 | 2047ull << 52;
        memcpy(&v, &code, sizeof v);
        if (isnan(v))
            continue;
        assert_true(kn_ref_decode(KILN_F64, KILN_GFX950, code) == v);
        assert_true(kn_ref_encode(KILN_F64, KILN_GFX950, v) == code);
    }
    code = kn_ref_encode(KILN_F64, KILN_GFX950, (double)NAN);
    assert_true(isnan(kn_ref_decode(KILN_F64, KILN_GFX950, code)));
}

/* No value between 0 and the step of the generator, in any format. */
static void
check_fine(struct kn_data *d)
{
    static const kiln_type types[] = {KILN_F32, KILN_BF16, KILN_F16, KILN_FP8,
                                      KILN_BF8};

    for (unsigned t = 0; t < 5; t++)
        for (unsigned i = 0; i < 1000000; i++) {
            double v;

            d->type = types[t];
            v = fabs(element(d, 0, i));
            assert_true(v == 0 || v > 0x1p-17);
        }
}

static void
test_distribution(void **state)
{
    struct kn_data d = tensor(9, KILN_F32, 1, 100000, 0);
    double sum = 0, square = 0;
    unsigned special = 0;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        double v = element(&d, 0, i);

        assert_true(fabs(v) < 4);
        sum += v;
        square += v * v;
    }
    assert_true(fabs(sum / 1e5) < 0.02 && fabs(square / 1e5 - 1) < 0.02);
    check_fine(&d);
    d.type = KILN_BF16;
    for (d.mode = KN_DATA_BITS; d.mode <= KN_DATA_SPECIAL; d.mode++)
        for (unsigned i = 0; i < 100000; i++)
            special += !isfinite(element(&d, 0, i)) * (1 + 1000000 *
                       (d.mode == KN_DATA_BITS));
    assert_in_range(special, 200, 700); /* 2 of 512 exponents, none in BITS */
    d.mode = KN_DATA_EXACT;
    for (unsigned i = 0; i < 1000; i++) {
        double v = element(&d, 0, i);

        assert_true(v == rint(v) && fabs(v) <= 2);
    }
    d.scale = true;
    d.type = KILN_MXFP4;
    for (unsigned i = 0; i < 1000; i++)
        assert_in_range(kn_data_code(&d, i), 126, 128);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_fill_places),
        cmocka_unit_test(test_f64_is_the_hosts),
        cmocka_unit_test(test_distribution),
    };

    return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}
