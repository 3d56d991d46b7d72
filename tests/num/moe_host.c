/* moe_host.c - what the moe family does on the host: sort and align against their
 * definition, the MX quantiser against a search, layouts as peers have them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../gen/tool/run/cmd_run_moe.h"
#include "../../gen/layout.h"

static void
check_sorted(const struct kn_moe_routing *r, const struct kn_moe_sorted *s,
             uint32_t block_m)
{
    int64_t seen = 0, last = -1;

    assert_true(s->padded <= s->room && s->padded % block_m == 0);
    for (int32_t i = 0; i < s->padded; i++) {
        uint32_t id = (uint32_t)s->ids[i];
        int64_t at = (int64_t)(id & 0xffffff) * r->topk + (id >> 24);

        if (i % (int32_t)block_m == 0)
            last = -1;
        if (id == (uint32_t)r->tokens) {
            assert_true(s->weights[i] == 0);
            continue;
        }
        assert_true(at > last);
        assert_int_equal(r->expert[at], s->experts[i / (int32_t)block_m]);
        assert_true(s->weights[i] == r->weight[at]);
        last = at;
        seen++;
    }
    assert_int_equal(seen, r->tokens * r->topk);
}

static void
sort_is_its_definition(void **state)
{
    static const uint32_t blocks[] = { 16, 32, 64, 128 };

    (void)state;
    for (int64_t n = 0; n < 60; n++) {
        struct kn_moe_routing r = { .tokens = n * 3, .topk = 1 + n % 5,
                                    .experts = 5 + n };
        struct kn_moe_sorted s = { 0 };
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        assert_int_equal(kn_moe_route(&c, (uint64_t)n, 5 + n / 2, false, &r),
                         KILN_OK);
        if (n % 7 == 3)      /* slots of a token that share an expert */
            for (int64_t i = 0; i < r.tokens * r.topk; i++)
                r.expert[i] = (int32_t)(i % 2);
        assert_int_equal(kn_moe_sort(&c, &r, blocks[n % 4], &s), KILN_OK);
        check_sorted(&r, &s, blocks[n % 4]);
        if (r.tokens) {
            r.expert[0] = (int32_t)r.experts;
            assert_int_equal(kn_moe_sort(&c, &r, 16, &s), KILN_BAD_INPUT);
        }
        kn_ctx_free(&c);
    }
}

/* Rows of each expert; the slots of a token are different experts of the first among. */
static void
count_rows(const struct kn_moe_routing *r, int64_t among, int64_t *rows)
{
    for (int64_t i = 0; i < r->tokens * r->topk; i++) {
        assert_in_range(r->expert[i], 0, among - 1);
        for (int64_t j = i / r->topk * r->topk; j < i; j++)
            assert_int_not_equal(r->expert[i], r->expert[j]);
        rows[r->expert[i]]++;
    }
}

/* Balanced: the most and the least differ by one at most. Mild: a weight of 0.2 has fewer
 * than one of 1, and nobody none of 10,000. */
static void
routings_are_their_patterns(void **state)
{
    (void)state;
    for (int pattern = KN_MOE_DRAWN; pattern <= KN_MOE_MILD; pattern++)
        for (int64_t topk = 1; topk <= 9; topk += 4) {
            struct kn_moe_routing r = { .tokens = 10000 / topk, .topk = topk, .experts = 24,
                                        .pattern = (enum kn_moe_pattern)pattern };
            int64_t rows[24] = { 0 }, least = INT64_MAX, most = 0;
            struct kn_ctx c;

            kn_ctx_init(&c, NULL, NULL);
            assert_int_equal(kn_moe_route(&c, 3, 23, false, &r), KILN_OK);
            count_rows(&r, 23, rows);
            assert_int_equal(rows[23], 0);
            for (int e = 0; e < 23; e++) {
                least = rows[e] < least ? rows[e] : least;
                most = rows[e] > most ? rows[e] : most;
            }
            assert_true(least > 0);
            if (pattern == KN_MOE_BALANCED)
                assert_true(most - least <= 1);
            else if (pattern == KN_MOE_MILD)
                assert_true(most > least * 3 / 2 && most < least * 8);
            else
                assert_true(most < least * 3 / 2);
            kn_ctx_free(&c);
        }
}

/* No code of the type is nearer to the number than the one chosen. */
static void
quantised_is_nearest(void **state)
{
    uint8_t payload[48], scale[2];
    double row[48], v, amax = 0;

    (void)state;
    for (int i = 0; i < 48; i++)
        row[i] = sin(i * 1.7) * ldexp(1, i % 11 - 5);
    kn_moe_quantise(&(struct kn_moe_row){ KILN_MXFP4, KILN_GFX950, row, 48,
                                          KN_MX_FLOOR },
                    payload, scale);
    for (int i = 0; i < 48; i++) {
        uint32_t code = payload[i / 2] >> (i % 2 * 4) & 15;
        double unit = ldexp(1, scale[i / 32] - 127), best = INFINITY;

        v = kn_ref_decode(KILN_MXFP4, KILN_GFX950, code) * unit;
        for (uint32_t x = 0; x < 16; x++)
            best = fmin(best, fabs(kn_ref_decode(KILN_MXFP4, KILN_GFX950, x) *
                                   unit - row[i]));
        assert_true(fabs(v - row[i]) == best);
    }
    for (int i = 0; i < 32; i++)
        amax = fmax(amax, fabs(row[i]));
    assert_int_equal(scale[0], 127 + ilogb(amax) - 2);
}

/* dst = src viewed as dim[0..n) and permuted, as numpy and torch define it. */
static void
permute(uint8_t *dst, const uint8_t *src, const int *dim, const int *order,
        int n)
{
    int at[8] = { 0 }, stride[8], total = 1;

    for (int i = n; i-- > 0; total *= dim[i])
        stride[i] = total;
    for (int k = 0; k < total; k++) {
        int from = 0;

        for (int i = 0; i < n; i++)
            from += at[i] * stride[order[i]];
        dst[k] = src[from];
        for (int i = n; i-- > 0 && ++at[i] == dim[order[i]];)
            at[i] = 0;
    }
}

enum { ROWS = 96, BYTES = 160, BLOCKS = 24 };

static void
panels_are_aiters(void **state)
{
    static const int order[] = { 0, 2, 3, 1, 4 };
    const int dim[] = { ROWS / 16, 16, BYTES / 32, 2, 16 };
    static uint8_t src[ROWS * BYTES], want[ROWS * BYTES], got[ROWS * BYTES],
        back[ROWS * BYTES];

    (void)state;
    for (int i = 0; i < ROWS * BYTES; i++)
        src[i] = (uint8_t)(i * 2654435761u >> 24);
    permute(want, src, dim, order, 5);
    kn_to_panels(got, src, ROWS, BYTES);
    assert_memory_equal(got, want, sizeof got);
    kn_from_panels(back, got, ROWS, BYTES);
    assert_memory_equal(back, src, sizeof src);
    for (uint64_t i = 0; i < sizeof src; i++) {
        uint64_t row, at;

        kn_panel_source(i, BYTES, &row, &at);
        assert_int_equal(kn_panel_place(row, at, BYTES), i);
    }
}

static void
scales_are_aiters(void **state)
{
    static const int order[] = { 0, 3, 5, 2, 4, 1 };
    const int dim[] = { ROWS / 32, 2, 16, BLOCKS / 8, 2, 4 };
    static uint8_t src[ROWS * BLOCKS], want[ROWS * BLOCKS], got[ROWS * BLOCKS];

    (void)state;
    for (int i = 0; i < ROWS * BLOCKS; i++)
        src[i] = (uint8_t)(i * 2654435761u >> 24);
    permute(want, src, dim, order, 6);
    assert_int_equal(kn_scale_bytes(ROWS, BLOCKS), sizeof got);
    kn_shuffle_scales(got, src, ROWS, BLOCKS);
    assert_memory_equal(got, want, sizeof got);
}

/* Padding is 127 and nothing is lost, whatever the size. */
static void
scales_are_padded(void **state)
{
    (void)state;
    for (uint64_t rows = 1; rows < 70; rows += 7)
        for (uint64_t blocks = 1; blocks < 20; blocks += 3) {
            uint8_t src[70 * 20], back[70 * 20], to[96 * 24];
            uint64_t all = kn_scale_bytes(rows, blocks), pads = 0;

            for (uint64_t i = 0; i < rows * blocks; i++)
                src[i] = (uint8_t)(i % 100);
            kn_shuffle_scales(to, src, rows, blocks);
            kn_unshuffle_scales(back, to, rows, blocks);
            assert_memory_equal(back, src, rows * blocks);
            for (uint64_t i = 0; i < all; i++) {
                uint64_t row, block;

                kn_scale_source(i, blocks, &row, &block);
                assert_int_equal(kn_scale_place(row, block, blocks), i);
                if (row >= rows || block >= blocks)
                    pads += to[i] == KN_SCALE_PAD;
            }
            assert_int_equal(pads, all - rows * blocks);
        }
    for (uint64_t r = 0; r < 96; r++)
        assert_int_equal(kn_gate_source(kn_gate_place(r, 48), 48), r);
    assert_int_equal(kn_gate_place(48, 48), 16);
}

/* Each mode by its definition, over the powers of two around it. */
static void
scale_modes(void **state)
{
    static const struct {
        kiln_type t;
        double most;
        int top, m;
    } ts[] = { { KILN_MXFP4, 6, 2, 1 }, { KILN_MXFP8, 448, 8, 3 },
               { KILN_MXFP6, 7.5, 2, 3 }, { KILN_MXBF8, 57344, 15, 2 } };

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (int i = 0; i < 4000; i++) {
            double amax = (1 + (double)(i % 64) / 64) * ldexp(1, i / 64 - 30);
            float r = (float)amax;
            uint32_t u;
            int want[KN_NMXMODES] = { -200, -200, -200, -200 };

            memcpy(&u, &r, 4);
            u += 1u << (23 - ts[t].m - 1);
            want[KN_MX_EVEN] = (int)(u >> 23) - 127 - ts[t].top;
            for (int e = -60; e < 60; e++) {
                if (ldexp(1, e + ts[t].top) <= amax)
                    want[KN_MX_FLOOR] = e;
                if (want[KN_MX_ROUND_UP] == -200 &&
                    amax <= ldexp(ts[t].most, e))
                    want[KN_MX_ROUND_UP] = e;
                if (want[KN_MX_CEIL] == -200 &&
                    amax <= ldexp(1, e + ts[t].top))
                    want[KN_MX_CEIL] = e;
            }
            for (int m = 0; m < KN_NMXMODES; m++)
                assert_int_equal(kn_mx_scale((enum kn_mx_mode)m, ts[t].t,
                                             KILN_GFX950, amax) - 127,
                                 want[m]);
        }
    assert_int_equal(kn_mx_scale(KN_MX_EVEN, KILN_MXFP4, KILN_GFX950, 0), 0);
    assert_int_equal(kn_mx_scale(KN_MX_CEIL, KILN_MXFP4, KILN_GFX950, 1e300),
                     254);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sort_is_its_definition),
        cmocka_unit_test(routings_are_their_patterns),
        cmocka_unit_test(quantised_is_nearest),
        cmocka_unit_test(panels_are_aiters),
        cmocka_unit_test(scales_are_aiters),
        cmocka_unit_test(scales_are_padded),
        cmocka_unit_test(scale_modes),
    };

    return cmocka_run_group_tests_name("moe-host", tests, NULL, NULL);
}
