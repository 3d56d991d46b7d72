/* Published grouped-GEMM shapes at full size, a few workgroups of each: the
 * first tile, the borders of groups, the last tile at the highest addresses.
 *
 *   96 rows  Primus-Turbo pull request 284: bf16, DeepSeek-V3 with 16 and 32
 *            groups, gpt-oss-20b with 4 and 32; gateup, down; 2048 and 4096
 *            rows a group; balanced and mild; fwd, dgrad, wgrad
 *   36 rows  pull request 384: tensorwise fp8, the 12 shapes of three models
 *            with 8 groups, balanced, each as fwd, dgrad and wgrad
 *
 * Sizes come from gen/tool/bench/models.def. usage: shapes TARGET */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gen/tool/bench/bench.h"
#include "../kit/num.h"

enum { MAX_GROUPS = 32, MAX_ROWS = 256, MAX_KERNELS = 64 };

struct kernel_slot {
    char key[300];           /* family, layout, type, configuration */
    struct num_kernel k;
};

struct suite {
    kiln_target target;
    struct num_counts counts;
    struct kernel_slot *slot;
    size_t nslots, nrows;
};

struct row {
    struct suite *s;
    const char *model;
    char op[16], name[120];
    kiln_type type;
    int64_t groups, rows;    /* rows a group on average */
    bool mild;
};

/* splitmix64 (Steele, Lea, Flood 2014), as a number in [0, 1). */
static double
uniform(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* benchmark/ops/training/config.py: weights 0.2 + 0.8 U, the rest to the
 * last. */
static void
route(const struct row *r, int64_t *lens)
{
    int64_t left = r->groups * r->rows;
    double sum = 0;

    for (int64_t g = 0; g < r->groups; g++)
        sum += 0.2 + 0.8 * uniform((uint64_t)g);
    for (int64_t g = 0; g < r->groups; g++) {
        lens[g] = !r->mild ? r->rows
                : (int64_t)((0.2 + 0.8 * uniform((uint64_t)g)) / sum *
                            (double)(r->groups * r->rows));
        left -= lens[g];
    }
    lens[r->groups - 1] += left;
}

/* One kernel for all rows that choose the same configuration. */
static struct num_kernel *
kernel_of(struct suite *s, const kiln_problem *p)
{
    struct kn_config cfg = { 0 };
    kiln_problem q = *p;
    struct kn_ctx c;
    struct kn_buf text = { .c = &c };
    struct kernel_slot *at = NULL;
    char key[300];

    kn_ctx_init(&c, NULL, NULL);
    if (kn_problem_normalise(&c, &q) || kn_choose(&c, &q, &cfg, NULL))
        fail_msg("%s", c.err.text);
    kn_config_print(&cfg, &text);
    snprintf(key, sizeof key, "%d %d %d %s", p->family, p->layout, p->a,
             text.s);
    kn_ctx_free(&c);
    for (size_t i = 0; i < s->nslots; i++)
        if (!strcmp(s->slot[i].key, key))
            return &s->slot[i].k;
    assert_true(s->nslots < MAX_KERNELS);
    at = &s->slot[s->nslots++];
    memcpy(at->key, key, sizeof key);
    if (!num_open(&at->k, &s->counts, p, &cfg))
        fail_msg("no kernel: %s", at->k.c.err.text);
    return &at->k;
}

/* Workgroup of the first (or last) tile of group g; a persistent one has
 * others too, which are checked with it. */
static uint64_t
tile_of(const struct num_kernel *k, const kiln_problem *p,
        const int64_t *offs, int64_t g, bool last)
{
    uint64_t n = kn_tile_count(p, &k->g.cfg, offs), best = 0;
    struct kn_rect found = { 0 };
    bool any = false;

    for (uint64_t i = 0; i < n; i++) {
        struct kn_rect t = kn_tile_rect(p, &k->g.cfg, offs, i);
        bool after = t.m0 > found.m0 || (t.m0 == found.m0 && t.n0 > found.n0);

        if (t.group == g && (!any || after == last)) {
            any = true;
            found = t;
            best = i;
        }
    }
    assert_true(any);
    return k->g.cfg.cus ? best % k->g.cfg.cus : best;
}

static int
by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static size_t
sample(const struct num_kernel *k, const kiln_problem *p, const int64_t *offs,
       uint64_t ids[4])
{
    size_t n = 1, want = 4;

    ids[0] = tile_of(k, p, offs, 0, false);
    ids[1] = tile_of(k, p, offs, p->groups / 2 - 1, true);
    ids[2] = tile_of(k, p, offs, p->groups / 2, false);
    ids[3] = tile_of(k, p, offs, p->groups - 1, true);
    if (k->g.cfg.cus)        /* each has tiles of many groups */
        want = 2, ids[1] = ids[3];
    qsort(ids, want, sizeof *ids, by_number);
    for (size_t i = 1; i < want; i++)
        if (ids[i] != ids[n - 1])
            ids[n++] = ids[i];
    return n;
}

static void
run_row(void **state)
{
    const struct row *r = *state;
    int64_t lens[MAX_GROUPS], offs[MAX_GROUPS + 1] = { 0 };
    kiln_problem p = { .target = r->s->target, .a = r->type, .b = r->type,
                       .groups = r->groups };
    struct num_job j = { .mode = KN_DATA_RANDOM, .lens = lens };
    struct num_kernel *k;
    struct num_result res;
    struct kn_layer l;
    uint64_t ids[4];
    char text[400];

    assert_true(kn_layer_of(kn_model_find(r->model), r->op, &l));
    route(r, lens);
    for (int64_t g = 0; g < r->groups; g++)
        offs[g + 1] = offs[g] + lens[g];
    p.family = l.family;
    p.layout = l.layout;
    p.scale = r->type == KILN_FP8 ? KILN_SCALE_TENSOR : KILN_SCALE_NONE;
    p.m = l.m ? l.m : offs[r->groups];
    p.n = l.n;
    p.k = l.k ? l.k : offs[r->groups];
    k = kernel_of(r->s, &p);
    j.p = p;
    j.ids = ids;
    j.nids = sample(k, &p, offs, ids);
    r->s->nrows++;
    if (!num_launch(k, &j, &res)) {
        num_describe(k, &j, text, sizeof text);
        fail_msg("%s: %s", text, res.text);
    }
    assert_true(res.elements > 0);
}

static void
test_every_row_ran_on_few_kernels(void **state)
{
    struct suite *s = *state;

    assert_int_equal(s->nrows, 96 + 36);
    assert_int_equal(s->counts.compilations, s->nslots);
    assert_true(s->nslots * 3 < s->nrows);
}

static size_t
add_ops(struct row *rows, size_t n, const struct row *like)
{
    static const char *const ops[] = { "fwd", "dgrad", "wgrad" };
    static const char *const layers[] = { "gateup", "down" };

    for (int i = 0; i < 6; i++) {
        struct row *r = &rows[n++];

        *r = *like;
        snprintf(r->op, sizeof r->op, "%s.%s", layers[i / 3], ops[i % 3]);
        snprintf(r->name, sizeof r->name, "%s %s %s, %d groups of %d rows, %s",
                 r->model, r->op, kiln_type_name(r->type), (int)r->groups,
                 (int)r->rows, r->mild ? "mild" : "balanced");
    }
    return n;
}

static size_t
add_rows(struct suite *s, struct row *rows)
{
    static const struct {
        const char *model;
        int64_t groups[2];
    } bf16[] = { { "deepseek-v3", { 16, 32 } }, { "gpt-oss-20b", { 4, 32 } } };
    static const char *const fp8[] = { "deepseek-v3", "qwen3-235b-a22b",
                                       "gpt-oss-20b" };
    size_t n = 0;

    for (int i = 0; i < 16; i++) {
        struct row r = { .s = s, .model = bf16[i / 8].model,
                         .type = KILN_BF16,
                         .groups = bf16[i / 8].groups[i / 4 % 2],
                         .rows = i / 2 % 2 ? 4096 : 2048, .mild = i % 2 };

        n = add_ops(rows, n, &r);
    }
    for (int i = 0; i < 6; i++) {
        struct row r = { .s = s, .model = fp8[i / 2], .type = KILN_FP8,
                         .groups = 8, .rows = i % 2 ? 4096 : 2048 };

        n = add_ops(rows, n, &r);
    }
    return n;
}

int
main(int argc, char **argv)
{
    static struct kernel_slot slots[MAX_KERNELS];
    static struct suite s = { .slot = slots };
    static struct row rows[MAX_ROWS];
    static struct CMUnitTest tests[MAX_ROWS + 1];
    size_t n = add_rows(&s, rows);
    int failed;

    s.target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                      : KILN_GFX950;
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, run_row, NULL, NULL,
                                        &rows[i] };
    tests[n] = (struct CMUnitTest){ "every row ran, on few kernels",
                                    test_every_row_ran_on_few_kernels, NULL,
                                    NULL, &s };
    failed = _cmocka_run_group_tests("shapes", tests, n + 1, NULL, NULL);
    for (size_t i = 0; i < s.nslots; i++)
        num_close(&s.slot[i].k);
    return failed;
}
