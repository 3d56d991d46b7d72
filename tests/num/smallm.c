/* Few rows: the schedules gemv and skinny against the matrix path, and what the chooser
 * takes for the published small-M shapes.
 *
 * usage: smallm TARGET [shapes]   shapes: the published ones, sampled */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../kit/num.h"
#include "../../gen/tool/run/run.h"

static struct num_counts counts;
static kiln_target target;

enum { N = 150, K = 2080, MOST = 16 * N * 4 };

struct bytes {
    size_t n;
    uint8_t b[MOST];
};

static void
read_all(struct kn_sim *sim, uint64_t c, void *user)
{
    struct bytes *o = user;

    assert_int_equal(kn_sim_read(sim, c, o->b, o->n), KILN_OK);
}

/* Rows of groups: 23 of five, 40 of twelve. */
static const int64_t lens[] = { 3, 0, 17, 1, 2, 0, 0, 9, 1, 4, 1, 2 };

static void
run_one(const kiln_problem *p, const struct kn_config *g, struct bytes *o)
{
    struct num_job j = { .p = *p, .mode = KN_DATA_EXACT, .seed = 7 };
    struct num_result r;
    struct num_kernel k;

    j.lens = p->groups ? lens : NULL;
    o->n = (size_t)(p->m * p->n * (p->batch ? p->batch : 1)) * num_element_bytes(p->out);
    assert_true(o->n <= MOST);
    j.meddle = read_all;
    j.user = o;
    if (!num_open(&k, &counts, p, g))
        fail_msg("%s", k.c.err.text);
    if (!num_launch(&k, &j, &r) || !r.ok)
        fail_msg("m %d, %s: %s", (int)p->m, k.g.name, r.text);
    num_close(&k);
}

/* ---- gemv and matrix: the same bits where sums are exact ----------------- */

struct pair {
    kiln_type a, b, out;
    kiln_scale scale;
};

static const struct pair pairs[] = {
    { KILN_BF16, KILN_BF16, KILN_F32, KILN_SCALE_NONE },
    { KILN_F16, KILN_F16, KILN_F16, KILN_SCALE_NONE },
    { KILN_FP8, KILN_BF8, KILN_BF16, KILN_SCALE_ROW },
    { KILN_BF8, KILN_FP8, KILN_F32, KILN_SCALE_TENSOR },
    { KILN_MXFP8, KILN_MXFP8, KILN_BF16, KILN_SCALE_MX32 },
    { KILN_MXFP8, KILN_MXBF8, KILN_F32, KILN_SCALE_MX32 },
    { KILN_MXFP4, KILN_MXFP4, KILN_BF16, KILN_SCALE_MX32 },
    { KILN_MXFP6, KILN_MXFP6, KILN_BF16, KILN_SCALE_MX32 },
    { KILN_MXFP8, KILN_MXFP4, KILN_F32, KILN_SCALE_MX32 },
    { KILN_MXBF6, KILN_MXFP8, KILN_BF16, KILN_SCALE_MX32 },
    { KILN_BF16, KILN_MXFP4, KILN_BF16, KILN_SCALE_MX32 },
    { KILN_F16, KILN_MXBF6, KILN_F32, KILN_SCALE_MX32 },
    { KILN_BF16, KILN_MXFP8, KILN_F32, KILN_SCALE_MX32 },
    { KILN_I8, KILN_I8, KILN_I32, KILN_SCALE_NONE },
    { KILN_I8, KILN_I8, KILN_BF16, KILN_SCALE_ROW },
};

static void
gemv_is_the_matrix_path(void **state)
{
    static struct bytes one, two, three;

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct pair *x = &pairs[i];

        for (uint32_t m = 1; m <= 16;
             m = i > 6 ? 4 * m : 2 * m + (i % 2 && m < 8)) {
            kiln_problem p = { .target = target, .a = x->a, .b = x->b,
                               .out = x->out, .scale = x->scale, .m = m,
                               .n = N, .k = K, .bias = i % 2, .alpha = 0.5f,
                               .alpha_set = i % 3 == 1, .beta = i % 3 == 0 };
            bool ints = x->out == KILN_I32;
            struct kn_config gemv = { .schedule = KN_SCHED_GEMV };
            struct kn_config whole = { .bm = 16, .bn = 32, .wm = 1, .wn = 2,
                                       .split_k = 1 };
            struct kn_config split = whole;

            if (ints)
                p.bias = p.alpha_set = p.beta = 0;
            split.split_k = 8;
            run_one(&p, &gemv, &one);
            run_one(&p, &whole, &two);
            run_one(&p, &split, &three);
            assert_memory_equal(one.b, two.b, two.n);
            assert_memory_equal(three.b, two.b, two.n);
        }
    }
}

/* Rows beyond a tile, no rows, no K, one column. */
static void
gemv_edges(void **state)
{
    static const int64_t sizes[][3] = { { 37, 5, 64 }, { 1, 1, 0 },
                                        { 3, 1, 16 }, { 2, 300, 1008 } };
    static struct bytes out;

    (void)state;
    for (int i = 0; i < 4; i++) {
        kiln_problem p = { .target = target, .a = KILN_FP8, .b = KILN_FP8,
                           .out = KILN_BF16, .m = sizes[i][0],
                           .n = sizes[i][1], .k = sizes[i][2] };
        struct kn_config g = { .schedule = KN_SCHED_GEMV, .bm = 4 };

        run_one(&p, &g, &out);
    }
}

/* Columns and K shared by the waves in every way, and what is open given. */
static void
gemv_forms(void **state)
{
    static const uint8_t waves[][2] = { { 4, 1 }, { 2, 2 }, { 1, 4 } };
    static const kiln_type types[] = { KILN_BF16, KILN_MXFP8, KILN_I8 };
    static struct bytes out[2];

    (void)state;
    for (int i = 0; i < 3 * 3 * 3; i++) {
        uint32_t wm = waves[i % 3][0], cols = 1u << i / 3 % 3;
        kiln_type t = types[i / 9];
        kiln_problem p = { .target = target, .a = t, .b = t, .out = KILN_BF16,
                           .scale = t == KILN_MXFP8 ? KILN_SCALE_MX32
                                                    : KILN_SCALE_NONE,
                           .m = 1 << i % 4, .n = 41, .k = 3136, .bias = 1 };
        struct kn_config one = { .schedule = KN_SCHED_GEMV,
                                 .bn = cols * wm, .wm = wm,
                                 .wn = waves[i % 3][1],
                                 .stages = 1 + (i % 2 && target == KILN_GFX950) };
        struct kn_config two = { .bm = 16, .bn = 32, .wm = 1, .wn = 2,
                                 .split_k = 1 };

        run_one(&p, &one, &out[0]);
        run_one(&p, &two, &out[1]);
        assert_memory_equal(out[0].b, out[1].b, out[0].n);
    }
}

static void
gemv_says_what_it_lacks(void **state)
{
    kiln_problem p = { .target = target, .a = KILN_BF16, .b = KILN_BF16,
                       .out = KILN_BF16, .m = 1, .n = 64, .k = 1001 };
    struct kn_config g = { .schedule = KN_SCHED_GEMV };
    struct num_kernel k;

    (void)state;
    assert_false(num_open(&k, &counts, &p, &g));
    assert_string_equal(k.c.err.text, "the schedule gemv needs rows of whole "
                        "16-byte runs");
    num_close(&k);
}

/* ---- skinny ---- */

static const kiln_problem weights[] = {
    { .a = KILN_BF16, .b = KILN_MXFP4 },
    { .a = KILN_BF16, .b = KILN_NVFP4 },
    { .a = KILN_F16, .b = KILN_NVFP4 },
    { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128,
      .scale_type = KILN_SCALE_TYPE_F16, .zero_points = KILN_ZEROS_I4 },
    { .a = KILN_F16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128 },
    { .a = KILN_F16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128, .zero_points = KILN_ZEROS_I4,
      .scale_layout = KILN_SCALE_TRANSPOSED },
    { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128, .b_layout = KILN_B_GPTQ,
      .scale_type = KILN_SCALE_TYPE_BF16, .scale_layout = KILN_SCALE_TRANSPOSED,
      .zero_points = KILN_ZEROS_I4 },
    { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128, .b_layout = KILN_B_GPTQ2,
      .scale_layout = KILN_SCALE_TRANSPOSED },
    { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128, .b_layout = KILN_B_AWQ,
      .scale_type = KILN_SCALE_TYPE_F16, .scale_layout = KILN_SCALE_TRANSPOSED,
      .zero_points = KILN_ZEROS_I4 },
    { .a = KILN_F16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128, .b_layout = KILN_B_AWQ,
      .scale_layout = KILN_SCALE_TRANSPOSED },
    { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128, .b_layout = KILN_B_GPTQ },
    { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128, .b_layout = KILN_B_AWQ },
};

enum { NWEIGHTS = sizeof weights / sizeof *weights };

/* Every kind of weight in every form, undivided and in shares of K, of rows in part, columns
 * and K that end inside of a wave's (rows of scales of MX that begin at any byte) or before it,
 * against the matrix path. */
static void
skinny_forms(void **state)
{
    static const uint8_t forms[][3] = { { 1, 4, 16 }, { 2, 2, 32 }, { 1, 8, 16 }, { 4, 1, 64 } };
    static struct bytes one, two;

    (void)state;
    for (int i = 0; i < NWEIGHTS * 8; i++) {
        const uint8_t *f = forms[i % 4];
        kiln_problem p = weights[i / 8];
        bool words_of_n = p.b_layout == KILN_B_AWQ;
        struct kn_config skinny = { .schedule = KN_SCHED_SKINNY, .bm = 2u << i % 3,
                                    .bn = (uint32_t)f[0] * (words_of_n ? 128 : f[2]),
                                    .wm = f[0], .wn = f[1], .split_k = i / 4 % 2 ? 3 : 1 };
        struct kn_config whole = { .schedule = KN_SCHED_SIMPLE, .bm = 16, .bn = 64, .bk = 128,
                                   .wm = 1, .wn = 4, .split_k = 1 };

        p.target = target;
        p.out = i % 2 ? KILN_BF16 : KILN_F32;
        p.m = 1 + i % 5;
        p.n = i % 4 == 3 ? 40 : 136;
        p.k = i % 3 ? 1504 : 2080;
        p.bias = (uint8_t)(i % 2);
        p.beta = i % 3 == 0;
        run_one(&p, &skinny, &one);
        run_one(&p, &whole, &two);
        assert_memory_equal(one.b, two.b, two.n);
    }
}

/* Batches, and groups of rows that differ, some of none, against the reference: exact sums. */
static void
many_products(void **state)
{
    static struct bytes out;

    (void)state;
    for (int i = 0; i < 2 * (NWEIGHTS + 3); i++) {
        int kind = i / 2;
        kiln_problem p = kind < NWEIGHTS ? weights[kind]
                       : (kiln_problem){ .a = pairs[2 * (kind - NWEIGHTS)].a,
                                         .b = pairs[2 * (kind - NWEIGHTS)].b,
                                         .scale = pairs[2 * (kind - NWEIGHTS)].scale };
        struct kn_config runs = { .schedule = kind < NWEIGHTS ? KN_SCHED_SKINNY
                                                              : KN_SCHED_GEMV };

        p.target = target;
        p.out = KILN_BF16;
        p.family = i % 2 ? KILN_GROUPED : KILN_BATCHED;
        p.groups = i % 2 ? i % 3 ? 5 : 12 : 0;
        p.batch = i % 2 ? 0 : 3;
        p.m = !(i % 2) ? 1 + i % 5 : p.groups == 5 ? 23 : 40;
        p.n = 104;
        p.k = 640;
        run_one(&p, &runs, &out);
    }
}

static void
skinny_says_what_it_lacks(void **state)
{
    kiln_problem p = { .target = target, .a = KILN_BF16, .b = KILN_I4,
                       .scale = KILN_SCALE_GROUP64, .out = KILN_BF16, .m = 1, .n = 64, .k = 1024 };
    struct kn_config g = { .schedule = KN_SCHED_SKINNY };
    struct num_kernel k;

    (void)state;
    assert_false(num_open(&k, &counts, &p, &g));
    assert_string_equal(k.c.err.text, "the schedule skinny is for bf16 or f16 times rows of 4-bit "
                        "weights: mxfp4 beside bf16, nvfp4, i4 in groups of 128 with zero points "
                        "of i4 or none, or in words of GPTQ or AWQ");
    num_close(&k);
}

/* ---- published shapes ---------------------------------------------------- */

/* (N, K) of MiniMax-M3 at 1, 2, 4 and 8 tensor-parallel devices
 * (ROCm/aiter pull request 3783), then what its owner's list adds. */
static const int64_t shapes[][2] = {
    { 9216, 6144 }, { 6144, 6144 }, { 6144, 8192 }, { 4608, 6144 },
    { 3072, 6144 }, { 6144, 4096 }, { 6144, 3072 }, { 2304, 6144 },
    { 1536, 6144 }, { 6144, 2048 }, { 6144, 1536 }, { 1152, 6144 },
    { 768, 6144 },  { 6144, 1024 }, { 6144, 768 },  { 2560, 6144 },
};
static const int64_t rows[] = { 1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64 };

/* Three tiles of the launch, with all of their shares. */
static void
sample(struct num_kernel *k, const kiln_problem *p, struct num_job *j)
{
    uint64_t *ids = KN_NEW(&k->c, uint64_t, 3);
    uint64_t n = kn_tile_count(p, &k->g.cfg, NULL);
    struct kn_sim_select s = { .ids = ids, .n = 3 };

    ids[1] = n / 2;
    ids[2] = n - 1;
    if (kn_shares_select(&k->c, p, &k->g.cfg, NULL, &s))
        fail_msg("%s", k->c.err.text);
    j->ids = s.ids;
    j->nids = s.n;
}

/* Whether the kernel at hand is what would be chosen for p. */
static bool
serves(const struct num_kernel *k, const kiln_problem *p)
{
    struct kn_config g = { 0 };
    kiln_problem q = *p;
    struct kn_ctx c;
    bool same;

    kn_ctx_init(&c, NULL, NULL);
    q.size = sizeof q;
    same = !kn_problem_normalise(&c, &q) && !kn_choose(&c, &q, &g, NULL) &&
           !memcmp(&g, &k->g.cfg, sizeof g);
    kn_ctx_free(&c);
    return same;
}

static void
run_cell(struct num_kernel *k, const kiln_problem *p)
{
    struct num_job j = { .p = *p, .mode = KN_DATA_EXACT, .seed = (uint32_t)p->m };
    struct num_result r;
    kiln_problem q = k->p;

    q.m = p->m;
    sample(k, &q, &j);
    if (!num_launch(k, &j, &r) || !r.ok)
        fail_msg("m %d n %d k %d: %s", (int)p->m, (int)p->n, (int)p->k, r.text);
}

/* mxfp8: every M to 64. A kernel serves those it is chosen for. */
static void
published(void **state)
{
    const kiln_problem *type = *state;
    bool all = type->a == KILN_MXFP8 && type->b == KILN_MXFP8;
    size_t cells = 0, many = all ? 64 : sizeof rows / sizeof *rows;

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct num_kernel k;
        bool open = false;

        for (size_t m = 0; m < many; m++, cells++) {
            kiln_problem p = *type;

            p.m = all ? (int64_t)m + 1 : rows[m];
            p.n = shapes[i][0], p.k = shapes[i][1];
            if (open && !serves(&k, &p)) {
                num_close(&k);
                open = false;
            }
            if (!open && !num_open(&k, &counts, &p, NULL))
                fail_msg("%s", k.c.err.text);
            open = true;
            run_cell(&k, &p);
        }
        num_close(&k);
    }
    print_message("# %zu shapes\n", cells);
}

static kiln_problem kinds[] = {
    { .a = KILN_MXFP8, .b = KILN_MXFP8, .out = KILN_BF16 },
    { .a = KILN_BF16, .b = KILN_BF16, .out = KILN_BF16 },
    { .a = KILN_FP8, .b = KILN_FP8, .out = KILN_BF16 },
    { .a = KILN_MXFP4, .b = KILN_MXFP4, .out = KILN_BF16 },
    { .a = KILN_MXFP6, .b = KILN_MXFP6, .out = KILN_BF16 },
    { .a = KILN_MXFP8, .b = KILN_MXFP4, .out = KILN_BF16 },
    { .a = KILN_BF16, .b = KILN_MXFP4, .out = KILN_BF16 },
};

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemv_is_the_matrix_path),
        cmocka_unit_test(gemv_edges),
        cmocka_unit_test(gemv_forms),
        cmocka_unit_test(gemv_says_what_it_lacks),
        cmocka_unit_test(skinny_forms),
        cmocka_unit_test(many_products),
        cmocka_unit_test(skinny_says_what_it_lacks),
    };
    enum { NKINDS = sizeof kinds / sizeof *kinds };
    struct CMUnitTest full[NKINDS];
    char names[NKINDS][24];

    target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                    : KILN_GFX950;
    for (size_t i = 0; i < NKINDS; i++) {
        kinds[i].target = target;
        snprintf(names[i], sizeof names[i], "%s x %s",
                 kiln_type_name(kinds[i].a), kiln_type_name(kinds[i].b));
        full[i] = (struct CMUnitTest){ names[i], published, NULL, NULL,
                                       &kinds[i] };
    }
    if (argc > 2 && !strcmp(argv[2], "shapes"))
        return _cmocka_run_group_tests("smallm", full, NKINDS, NULL,
                                       NULL);
    return cmocka_run_group_tests_name("smallm", tests, NULL, NULL);
}
