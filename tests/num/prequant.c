/* A of 16 bits quantised in the kernel: 128 K of a row at a time, times an
 * 8-bit B with one scale, one a column or 128-blocks, and 32 K at a time, times
 * an mxfp4 B. Families, types, layouts, scale modes and classes on edge shapes,
 * and rows whose scales are extreme.
 *
 * usage: prequant TARGET [full|rows]   full: every class of every kind; rows:
 *        those with extreme scales */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../kit/sweep.h"

static const int64_t shapes[][3] = {
    { 1, 1, 1 },     { 17, 129, 127 }, { 64, 66, 128 }, { 33, 40, 129 },
    { 130, 16, 300 }, { 20, 36, 0 },   { 0, 5, 128 },   { 48, 100, 640 },
};
static const int64_t lens[] = { 20, 0, 1, 65, 0 };

enum { NSHAPES = sizeof shapes / sizeof *shapes };

static void
run_variant(void **state)
{
    const struct num_variant *v = *state;
    bool grouped = v->p.family == KILN_GROUPED;
    struct kn_config g = num_config(v);
    struct num_kernel k;
    char text[900] = "";

    if (g.bm > 128)
        g.bm = g.bn = 128;
    if (v->number % 3 == 0)
        g.bm = g.bn = 32;
    if (v->number % 5 == 2)
        g.split_k = 2;
    if (g.split_k > 1)
        g.domain.ktail = 1;
    if (!num_open(&k, v->counts, &v->p, &g))
        snprintf(text, sizeof text, "no kernel: %s", k.c.err.text);
    for (uint32_t i = 0; k.code && i < NSHAPES; i++) {
        struct num_job j = { .seed = v->number + i,
                             .spare = grouped ? 3 * (i % 2) : 0,
                             .lens = grouped ? lens : NULL };

        j.p.m = shapes[i][0];
        j.p.n = num_class_n(v, shapes[i][1]);
        j.p.k = num_class_k(v, shapes[i][2]);
        j.p.groups = grouped ? 5 : 0;
        j.p.batch = v->p.family == KILN_BATCHED ? 1 + i % 3 : 0;
        j.p.alpha = 0.5f;
        num_align(v, v->number + i, &j);
        num_try(&k, &j, text);
    }
    num_close(&k);
    if (*text)
        fail_msg("%s", text);
}

/* Any bits: magnitudes from denormal to the largest, and with `special` NaN
 * and infinities, which make their group of a row NaN and no other. */
static void
test_any_bits(void **state)
{
    static const kiln_type a[] = { KILN_BF16, KILN_F16 };
    struct num_variants *s = *state;

    for (uint32_t i = 0; i < 12; i++) {
        kiln_problem p = { .size = sizeof p, .target = s->target, .a = a[i % 2],
                           .b = i < 2 ? KILN_I8 : KILN_FP8, .out = KILN_F32,
                           .layout = KILN_NT, .scale = KILN_SCALE_TENSOR };
        struct kn_config g = { .bm = 64, .bn = 32 };
        struct num_job j = { .seed = i };
        struct num_result r;
        struct num_kernel k;

        if (i > 3) {
            p.b = KILN_MXFP4;
            p.scale = KILN_SCALE_MX32;
            p.quant = (uint8_t)(i / 2 - 1);
            j.plain_b = true;    /* products of any scales leave f32 */
        }
        g.domain = num_weakest(&p);
        if (!num_open(&k, s->counts, &p, &g))
            fail_msg("no kernel: %s", k.c.err.text);
        j.p.m = 64, j.p.n = 32;
        j.p.k = p.quant && i % 2 == 0 ? 1 : 40; /* sums of bf16 leave f32 */
        for (int m = 0; m < 2; m++) {
            j.mode = m ? KN_DATA_SPECIAL : KN_DATA_BITS;
            if (!num_launch(&k, &j, &r))
                fail_msg("%s, quant %u, mode %d: %s", kiln_type_name(p.a),
                         p.quant, m, r.text);
        }
        num_close(&k);
    }
}

/* What is chosen for so few rows quantises too, or is not chosen. */
static void
test_few_rows(void **state)
{
    struct num_variants *s = *state;

    for (uint8_t m = 1; m <= 2; m++) {
        kiln_problem p = { .size = sizeof p, .target = s->target,
                           .a = KILN_BF16, .b = KILN_MXFP4, .out = KILN_F32,
                           .scale = KILN_SCALE_MX32, .quant = 3,
                           .m = m, .n = 512, .k = 2048 };
        struct num_job j = { .seed = m, .p = { .m = m, .n = 512, .k = 2048 } };
        struct kn_config g = { 0 };
        struct num_result r;
        struct num_kernel k;

        if (!num_open(&k, s->counts, &p, &g))
            fail_msg("no kernel: %s", k.c.err.text);
        if (!num_launch(&k, &j, &r))
            fail_msg("%u rows: %s", m, r.text);
        num_close(&k);
    }
}

/* fp8 has 4 significant bits, fp4 has 2: what an A that is not quantised gives
 * is wrong nearly everywhere, so a kernel that forgot to would not pass. */
static void
try_unquantised(struct num_variants *s, kiln_problem p)
{
    struct kn_config g = { .bm = 64, .bn = 64 };
    struct num_job j = { .plain_a = true };
    struct num_result r;
    struct num_kernel k;

    g.domain = num_weakest(&p);
    if (!num_open(&k, s->counts, &p, &g))
        fail_msg("no kernel: %s", k.c.err.text);
    j.p.m = j.p.n = 64, j.p.k = 256;
    assert_false(num_launch(&k, &j, &r));
    assert_true(r.check.bad > 64 * 64 * 8 / 10);
    j.plain_a = false;
    if (!num_launch(&k, &j, &r))
        fail_msg("%s", r.text);
    num_close(&k);
}

static void
test_unquantised_result_is_wrong(void **state)
{
    struct num_variants *s = *state;
    kiln_problem p = { .size = sizeof p, .target = s->target, .a = KILN_BF16,
                       .b = KILN_FP8, .out = KILN_BF16, .layout = KILN_NT,
                       .scale = KILN_SCALE_TENSOR };

    try_unquantised(s, p);
    p.b = KILN_MXFP4;
    p.scale = KILN_SCALE_MX32;
    p.quant = 3;
    try_unquantised(s, p);
}

static void
add_blocks(struct num_variants *s, kiln_family family)
{
    kiln_problem p = { .size = sizeof p, .target = s->target, .family = family,
                       .layout = KILN_NT, .b = KILN_MXFP4,
                       .scale = KILN_SCALE_MX32 };

    for (uint32_t i = 0; i < 8; i++) {
        p.a = i % 2 ? KILN_F16 : KILN_BF16;
        p.quant = (uint8_t)(1 + i / 2);
        for (uint32_t d = 0; d < (s->full ? NUM_NCLASSES : 1); d++)
            num_add(s, p, (enum num_class)((i + i / 4 + family + d) %
                                           NUM_NCLASSES));
    }
}

static void
add_kinds(struct num_variants *s, kiln_family family)
{
    static const kiln_type a[] = { KILN_BF16, KILN_F16 };
    static const kiln_type b[] = { KILN_FP8, KILN_BF8, KILN_I8 };
    kiln_problem p = { .size = sizeof p, .target = s->target, .family = family,
                       .scale = KILN_SCALE_TENSOR };

    for (uint32_t i = 0; i < 12; i++) {
        p.a = a[i % 2];
        p.b = b[i / 2 % 3];
        p.layout = i / 6 ? KILN_NN : KILN_NT;
        p.scale = (uint8_t)(KILN_SCALE_TENSOR + (i + i / 3) % 3);
        for (uint32_t d = 0; d < (s->full ? NUM_NCLASSES : 1); d++)
            num_add(s, p, (enum num_class)((i + i / 4 + family + d) %
                                           NUM_NCLASSES));
    }
}

int
main(int argc, char **argv)
{
    static struct num_counts counts;
    static struct num_variants s = { .counts = &counts };
    const struct CMUnitTest own[] = {
        { "any bits", test_any_bits, NULL, NULL, &s },
        { "few rows", test_few_rows, NULL, NULL, &s },
        { "an unquantised result is wrong", test_unquantised_result_is_wrong,
          NULL, NULL, &s },
    };

    s.target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                      : KILN_GFX950;
    if (argc > 2 && !strcmp(argv[2], "rows"))
        return cmocka_run_group_tests_name("prequant rows", own, NULL, NULL);
    s.every = 1;
    s.full = argc > 2 && !strcmp(argv[2], "full");
    add_kinds(&s, KILN_GEMM);
    add_kinds(&s, KILN_BATCHED);
    add_kinds(&s, KILN_GROUPED);
    add_blocks(&s, KILN_GEMM);
    add_blocks(&s, KILN_BATCHED);
    add_blocks(&s, KILN_GROUPED);
    return num_run_variants(&s, "prequant", run_variant);
}
