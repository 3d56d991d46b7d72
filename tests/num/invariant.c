/* Batch invariance: with kiln_problem.invariant the bits of a row are the same
 * whatever M is, among other rows and groups, in every form that the chooser
 * takes and in those it could take; without it they are not.
 *
 * usage: invariant TARGET [full [FIRST]]
 *   full    every M from 1 to 512 in three sizes, from the FIRST pair of a kind
 *           and a size on; all rows of the least M and of each 64th, of the others
 *           those of the last tiles and of tiles that are drawn */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kit/num.h"

enum { MOST = 512, KERNELS = 80, TILES = 256 };

static kiln_target target;
static bool full;
static struct num_counts counts;

static const struct kind {
    const char *name;
    kiln_type a, b, out;
    kiln_scale scale;
    kiln_layout layout;
    bool alpha, beta;
    const char *expression;
} kinds[] = {
    { "bf16", KILN_BF16, KILN_BF16, KILN_F32, KILN_SCALE_NONE, KILN_NT, 0, 0, "" },
    { "f16 nn", KILN_F16, KILN_F16, KILN_F16, KILN_SCALE_NONE, KILN_NN, 1, 1, "" },
    { "fp8 row", KILN_FP8, KILN_FP8, KILN_F32, KILN_SCALE_ROW, KILN_NT, 0, 0, "" },
    { "fp8 block128", KILN_FP8, KILN_FP8, KILN_F32, KILN_SCALE_BLOCK128,
      KILN_NT, 0, 0, "gelu(acc + bias)" },
    { "mxfp8", KILN_MXFP8, KILN_MXFP8, KILN_F32, KILN_SCALE_MX32, KILN_NT, 0, 0,
      "" },
    { "mxfp4", KILN_MXFP4, KILN_MXFP4, KILN_BF16, KILN_SCALE_MX32, KILN_NT, 1,
      0, "" },
    { "bf16 x mxfp4", KILN_BF16, KILN_MXFP4, KILN_F32, KILN_SCALE_MX32, KILN_NT,
      0, 0, "" },
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

static const struct sizes { int64_t n, k; } sizes[] = {
    { 132, 544 }, { 36, 2080 }, { 256, 192 },
};
enum { NSIZES = sizeof sizes / sizeof *sizes };

/* A kind in a size. */
struct subject {
    const struct kind *x;
    const struct sizes *z;
};

/* Kernels that are there, and what of the outputs is to be equal. */
struct store {
    struct num_kernel k[KERNELS];
    char *config[KERNELS];
    int n;
    uint8_t *golden;
    int64_t rows;            /* to compare; 0: golden is to be filled */
    size_t row, element;     /* bytes */
    struct kn_rect rect[TILES]; /* of them, what was computed */
    uint64_t ids[TILES];     /* by which workgroups */
    size_t nrects;
    bool same;
};

static void
compare(struct store *s, struct kn_sim *sim, uint64_t c)
{
    uint8_t *got = malloc(s->row);

    assert_non_null(got);
    s->same = s->nrects > 0;
    for (size_t i = 0; i < s->nrects; i++)
        for (int64_t m = 0; m < s->rect[i].rows; m++) {
            size_t size = (size_t)s->rect[i].cols * s->element;
            size_t at = (size_t)(s->rect[i].m0 + m) * s->row +
                        (size_t)s->rect[i].n0 * s->element;

            assert_int_equal(kn_sim_read(sim, c + at, got, size), KILN_OK);
            s->same &= !memcmp(got, s->golden + at, size);
        }
    free(got);
}

static void
read_rows(struct kn_sim *sim, uint64_t c, void *user)
{
    struct store *s = user;

    if (s->rows)
        compare(s, sim, c);
    else
        assert_int_equal(kn_sim_read(sim, c, s->golden, MOST * s->row),
                         KILN_OK);
}

static kiln_problem
problem(const struct kind *x, kiln_family family, const struct sizes *z)
{
    kiln_problem p = { .size = sizeof p, .target = target, .family = family,
                       .layout = x->layout, .a = x->a, .b = x->b,
                       .out = x->out, .scale = x->scale, .beta = x->beta,
                       .alpha_set = x->alpha, .alpha = 0.75f, .n = z->n,
                       .k = z->k, .invariant = 1 };

    snprintf(p.expression, sizeof p.expression, "%s", x->expression);
    return p;
}

/* The kernel for p in a configuration, made once. */
static struct num_kernel *
kernel(struct store *s, const kiln_problem *p, const struct kn_config *given)
{
    struct kn_config g = *given;
    kiln_problem normal = *p;
    struct kn_buf text;
    struct kn_ctx c;
    int i;

    kn_ctx_init(&c, NULL, NULL);
    text = (struct kn_buf){ .c = &c };
    if (kn_problem_normalise(&c, &normal) || kn_choose(&c, &normal, &g, NULL))
        fail_msg("%s", c.err.text);
    kn_putf(&text, "%d %d ", p->family, p->invariant);
    kn_config_print(&g, &text);
    for (i = 0; i < s->n && strcmp(s->config[i], text.s); i++)
        ;
    if (i == s->n) {
        assert_true(s->n < KERNELS);
        s->config[s->n++] = strdup(text.s);
        if (!num_open(&s->k[i], &counts, p, given))
            fail_msg("no kernel: %s", s->k[i].c.err.text);
    }
    kn_ctx_free(&c);
    return &s->k[i];
}

static void
close_all(struct store *s)
{
    while (s->n) {
        free(s->config[--s->n]);
        num_close(&s->k[s->n]);
    }
    free(s->golden);
    *s = (struct store){ 0 };
}

/* All rows of the first group; or of many the last ones, whose tile M cuts, and
 * those of a tile row that M draws. The others' workgroups do not run. */
static void
pick(struct store *s, const struct num_kernel *k, const kiln_problem *p,
     const int64_t *offs)
{
    int64_t m = s->rows, bm = (int64_t)k->g.cfg.bm;
    int64_t last = (m - 1) / bm, drawn = m * 7 % (last + 1);
    uint64_t total = kn_tile_count(p, &k->g.cfg, offs);

    s->nrects = 0;
    if (k->g.cfg.cus || m <= 16 || m % 64 == 0) {
        s->rect[s->nrects++] = (struct kn_rect){ .rows = m, .cols = p->n };
        return;
    }
    for (uint64_t id = 0; id < total; id++) {
        struct kn_rect t = kn_tile_rect(p, &k->g.cfg, offs, id);

        if (t.group || (t.m0 / bm != last && t.m0 / bm != drawn))
            continue;
        assert_true(s->nrects < TILES);
        s->ids[s->nrects] = id;
        s->rect[s->nrects++] = t;
    }
}

/* Runs p with m rows; of grouped they are the first group's. The reference judges
 * golden, which the others are compared with. */
static void
run(struct store *s, kiln_problem p, int64_t m, const struct kn_config *g)
{
    int64_t lens[] = { m, 0, 5 + m % 40, 1 };
    int64_t offs[] = { 0, m, m, m + lens[2], m + lens[2] + 1 };
    bool groups = p.family == KILN_GROUPED;
    struct num_job j = { .meddle = read_rows, .user = s, .seed = 7,
                         .lens = groups ? lens : NULL, .by_bits = s->rows };
    struct num_kernel *k;
    struct num_result r;

    p.m = groups ? offs[4] : m;
    p.groups = groups ? 4 : 0;
    k = kernel(s, &p, g);
    j.p = p;
    if (s->rows)
        pick(s, k, &p, offs);
    if (s->rows && s->rect[0].rows < m) {
        j.ids = s->ids;
        j.nids = s->nrects;
    }
    if (!num_launch(k, &j, &r))
        fail_msg("M %d: %s", (int)m, r.text);
}

static void
begin(struct store *s, const struct kind *x, const struct sizes *z)
{
    s->element = num_element_bytes(x->out);
    s->row = (size_t)z->n * s->element;
    s->golden = malloc(MOST * s->row);
    assert_non_null(s->golden);
    s->rows = 0;
    run(s, problem(x, KILN_GEMM, z), MOST, &(struct kn_config){ 0 });
}

static void
expect_same(struct store *s, kiln_problem p, int64_t m, const struct kn_config *g)
{
    s->rows = m;
    s->same = false;
    run(s, p, m, g);
    if (!s->same)
        fail_msg("family %d, %d rows, tile %ux%u: other bits", p.family, (int)m,
                 g->bm, g->bn);
}

/* M of a test: those around tiles and forms for few rows, else a step. */
static int64_t
next_m(int64_t m)
{
    static const int64_t edges[] = { 1, 2, 5, 8, 16, 33, 65, 130, 257, 511, 0 };

    for (int i = 0; !full && edges[i]; i++)
        if (edges[i] > m)
            return edges[i];
    return full && m < MOST ? m + 1 : 0;
}

static void
test_kind(void **state)
{
    const struct subject *t = *state;
    kiln_problem p = problem(t->x, KILN_GEMM, t->z);
    kiln_problem q = problem(t->x, KILN_GROUPED, t->z);
    static struct store s;

    begin(&s, t->x, t->z);
    for (int64_t m = next_m(0); m; m = next_m(m)) {
        expect_same(&s, p, m, &(struct kn_config){ 0 });
        if (full || m % 2)
            expect_same(&s, q, m, &(struct kn_config){ 0 });
    }
    close_all(&s);
}

static bool
is_possible(kiln_problem p, struct kn_config g)
{
    struct kn_ctx c;
    bool possible;

    p.m = 100;
    kn_ctx_init(&c, NULL, NULL);
    possible = !kn_problem_normalise(&c, &p) && !kn_choose(&c, &p, &g, NULL);
    kn_ctx_free(&c);
    return possible;
}

/* Forms that no choice takes here, too. */
static void
test_forms(void **state)
{
    static const struct kn_config forms[] = {
        { .bm = 64, .bn = 64, .schedule = KN_SCHED_SIMPLE },
        { .bm = 128, .bn = 128, .schedule = KN_SCHED_INTERLEAVE },
        { .bm = 256, .bn = 256, .wm = 2, .wn = 4 },
        { .bm = 32, .bn = 32, .wm = 1, .wn = 1, .schedule = KN_SCHED_DIRECT },
        { .bm = 256, .bn = 256, .wm = 2, .wn = 2, .schedule = KN_SCHED_4WAVE },
        { .bm = 64, .bn = 64, .cus = 3 },
        { .bm = 64, .bn = 64, .store = KN_STORE_LDS },
        { .bm = 64, .bn = 64, .lowering = KN_LOWERING_ASM },
    };
    static struct store s;
    int ran = 0;

    (void)state;
    for (int x = 0; x < 3; x += 2) {
        const struct sizes z = { 192, 1024 };

        begin(&s, &kinds[x], &z);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            kiln_problem p = problem(&kinds[x], KILN_GEMM, &z);

            if (!is_possible(p, forms[i]))
                continue;
            expect_same(&s, p, 100, &forms[i]);
            ran++;
        }
        close_all(&s);
    }
    assert_true(ran >= 10);
}

/* The free choice for few rows adds in another order: the bits differ. */
static void
test_free_choice_differs(void **state)
{
    const struct sizes z = { 256, 4096 };
    kiln_problem p = problem(&kinds[0], KILN_GEMM, &z);
    static struct store s;
    int differ = 0;

    (void)state;
    begin(&s, &kinds[0], &z);
    p.invariant = 0;
    for (int64_t m = 1; m < 64; m = 4 * m + 1) {
        s.rows = m;
        run(&s, p, m, &(struct kn_config){ 0 });
        differ += !s.same;
    }
    assert_true(differ > 1);
    close_all(&s);
}

static void
test_refusals(void **state)
{
    static const struct {
        struct kn_config g;
        const char *says;
    } t[] = {
        { { .split_k = 2 }, "which --invariant excludes" },
        { { .stagger = 2 }, "which --invariant excludes" },
        { { .schedule = KN_SCHED_GEMV }, "which --invariant excludes" },
    };
    kiln_problem p = problem(&kinds[0], KILN_GEMM, &sizes[1]);
    struct num_kernel k;

    (void)state;
    p.m = 4;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        assert_false(num_open(&k, &counts, &p, &t[i].g));
        if (!strstr(k.c.err.text, t[i].says))
            fail_msg("%s", k.c.err.text);
        num_close(&k);
    }
}

static char names[NKINDS * NSIZES][48];
static struct subject subjects[NKINDS * NSIZES];

/* Each kind in a size, the sizes by turns; full: in every. */
static size_t
list_subjects(struct CMUnitTest *tests, size_t first)
{
    size_t n = 0;

    for (size_t i = first; i < NKINDS * NSIZES; i++) {
        size_t x = i / NSIZES, z = i % NSIZES;

        if (!full && z != x % NSIZES)
            continue;
        subjects[n] = (struct subject){ &kinds[x], &sizes[z] };
        snprintf(names[n], sizeof names[n], "%s, N %d K %d", kinds[x].name,
                 (int)sizes[z].n, (int)sizes[z].k);
        tests[n] = (struct CMUnitTest){ names[n], test_kind, NULL, NULL,
                                        &subjects[n] };
        n++;
    }
    return n;
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[NKINDS * NSIZES + 3];
    size_t n;

    if (argc < 2)
        return 2;
    target = !strcmp(argv[1], "gfx942") ? KILN_GFX942 : KILN_GFX950;
    full = argc > 2;
    n = list_subjects(tests, argc > 3 ? (size_t)atoi(argv[3]) : 0);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_forms);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_free_choice_differs);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_refusals);
    return _cmocka_run_group_tests("invariant", tests, n, NULL, NULL);
}
