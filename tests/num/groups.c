/* The families of many products in one launch: grouped, wgrad and batched,
 * every pair of types, layout and scale, over routings with empty groups,
 * single rows and rows past the last group.
 *
 * usage: groups TARGET [some|full]   some: a fifth; full: every mixture of MX
 * types, both classes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kit/sweep.h"

/* Rows of each group, -1: the end. The last rows of `mild` and `extreme` are
 * those of benchmark/ops/training/config.py of Primus-Turbo, small. */
static const int64_t routings[][8] = {
    { 24, 24, 24, 24, -1 },          /* balanced */
    { 13, 29, 17, 37, -1 },          /* mild */
    { 70, 0, 0, 0, -1 },             /* extreme:1 */
    { 48, 48, 0, 0, 0, -1 },         /* extreme:2 */
    { 0, 20, 3, -1 },                /* first empty */
    { 65, 0, 0, 2, -1 },             /* inner ones empty */
    { 20, 3, 0, -1 },                /* last empty */
    { 0, 0, 0, -1 },                 /* all empty */
    { 1, 1, 1, 1, 1, -1 },           /* single rows */
    { 129, -1 },                     /* one group */
};

static const struct {
    int64_t m, n, k;
} sizes[] = { { 33, 129, 100 }, { 150, 17, 160 }, { 16, 64, 128 },
              { 127, 40, 33 }, { 1, 200, 513 } };

enum { NROUTINGS = sizeof routings / sizeof *routings,
       NSIZES = sizeof sizes / sizeof *sizes, MANY = 131 };

/* Groups along K start where a scale block does. */
static int64_t
length(const struct num_variant *v, int64_t rows)
{
    int64_t block = v->p.family != KILN_WGRAD ? 1
                  : v->p.scale == KILN_SCALE_BLOCK128 ? 128
                  : num_is_mx(v->p.a) ? 32 : 1;

    return (rows + block - 1) / block * block;
}

static void
set_sizes(const struct num_variant *v, uint32_t salt, struct num_job *j)
{
    const uint32_t i = salt % NSIZES;

    j->p.m = sizes[i].m;
    j->p.n = num_class_n(v, sizes[i].n);
    j->p.k = num_class_k(v, sizes[i].k);
    j->p.alpha = 0.5f;
    j->seed = salt;
    j->mode = salt % 2 ? KN_DATA_RANDOM : KN_DATA_EXACT;
    j->order = salt % 5 ? KN_ORDER_LATEST : KN_ORDER_RANDOM;
}

static void
run_routing(struct num_kernel *k, const struct num_variant *v, uint32_t i,
            char *text)
{
    struct num_job j = { .spare = i % 3 ? 0 : 32 };
    int64_t lens[MANY], total = 0;
    uint32_t salt = v->number + i;

    set_sizes(v, salt, &j);
    if (i == NROUTINGS && k->g.cfg.lookup == KN_LOOKUP_FEW)
        for (j.p.groups = 0; j.p.groups < KN_FEW_GROUPS; j.p.groups++)
            lens[j.p.groups] = j.p.groups % 3 * 31;
    else if (i == NROUTINGS)
        for (j.p.groups = 0; j.p.groups < MANY; j.p.groups++)
            lens[j.p.groups] = length(v, j.p.groups * 7 % 5 % 4);
    else
        for (; routings[i][j.p.groups] >= 0; j.p.groups++)
            lens[j.p.groups] = length(v, routings[i][j.p.groups]);
    j.lens = lens;
    for (int64_t g = 0; g < j.p.groups; g++)
        total += lens[g];
    if (v->p.family == KILN_WGRAD)
        j.p.k = total + j.spare;
    num_align(v, salt, &j);
    num_try(k, &j, text);
}

/* Distance from problem to problem in whole rows, and a row more. */
static int64_t
stride(int64_t rows, int64_t ld, uint32_t salt)
{
    return salt % 2 ? 0 : (rows + 1) * ld;
}

static void
run_batch(struct num_kernel *k, const struct num_variant *v, uint32_t i,
          char *text)
{
    bool ka = kn_along_k(&v->p, 'a'), kb = kn_along_k(&v->p, 'b');
    uint32_t salt = v->number + i;
    struct num_job j = { 0 };

    set_sizes(v, salt, &j);
    if (i >= NSIZES)
        j.p.k = num_class_k(v, i == NSIZES ? 0 : 1);
    j.p.batch = 1 + i % 4;
    num_align(v, salt, &j);
    j.p.stride_a = stride(ka ? j.p.m : j.p.k, j.p.lda, salt);
    j.p.stride_b = stride(kb ? j.p.n : j.p.k, j.p.ldb, salt / 2);
    j.p.stride_c = stride(j.p.m, j.p.ldc, salt / 3);
    num_try(k, &j, text);
}

static void
run_variant(void **state)
{
    const struct num_variant *v = *state;
    bool batched = v->p.family == KILN_BATCHED;
    struct kn_config g = num_config(v);
    struct num_kernel k;
    char text[900] = "";

    if (g.bm > 64)
        g.bm = g.bn = 64;
    if (v->p.family == KILN_GROUPED && v->number % 4 > 1)
        g.bm = 32;
    if (v->p.family == KILN_GROUPED && v->number / 2 % 2 && !v->cus)
        g.lookup = KN_LOOKUP_FEW;
    if (v->number % 3 == 1 && !v->cus && v->p.a != KILN_F64)
        g.store = KN_STORE_LDS;
    if (v->number % 5 == 2 && !v->cus)
        g.group_n = 2;
    if (v->number % 7 > 4 && !v->cus)
        g.xcd_run = v->number % 7;
    if (!num_open(&k, v->counts, &v->p, &g))
        snprintf(text, sizeof text, "no kernel: %s", k.c.err.text);
    for (uint32_t i = 0; k.code && i < (batched ? NSIZES + 2 : NROUTINGS + 1);
         i++)
        (batched ? run_batch : run_routing)(&k, v, i, text);
    num_close(&k);
    if (*text)
        fail_msg("%s", text);
}

/* Lengths instead of offsets, and zeros past the last group, by turns. A
 * persistent kernel with blocks of scales has no scalar registers for them. */
static void
add_flags(struct num_variant *v)
{
    bool tight = v->cus && v->p.scale >= KILN_SCALE_BLOCK128;

    if (v->p.family == KILN_WGRAD && v->p.scale == KILN_SCALE_BLOCK128)
        v->cus = 0;
    if (v->p.family == KILN_BATCHED || tight)
        return;
    if (v->number / 3 % 2)
        v->p.group_flags |= KILN_GROUP_LENS;
    if (v->p.family == KILN_GROUPED && v->number % 3)
        v->p.group_flags |= KILN_TAIL_ZERO;
}

/* A class and a grid by turns; persistent grids are smaller than the number
 * of tiles, so that a workgroup has several. */
static void
add_kind(void *user, const kiln_problem *p)
{
    struct num_variants *s = user;
    bool mixed = p->a != p->b && num_is_mx(p->b) &&
                 !(p->a == KILN_MXFP8 && p->b == KILN_MXFP4);

    if (mixed && !s->full)
        return;
    for (uint32_t i = 0; i < (s->full ? 3 : 1); i++) {
        static const uint32_t cus[] = { 0, 3, 0, 1, 0, 8 };
        uint32_t q = (uint32_t)s->n;

        num_add(s, *p, q % 2 ? NUM_STRONG : q % 4 ? NUM_DWORD : NUM_WEAK);
        s->v[q].cus = cus[q / 2 % 6];
        add_flags(&s->v[q]);
    }
}

int
main(int argc, char **argv)
{
    static struct num_counts counts;
    static struct num_variants s = { .counts = &counts };

    s.target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                      : KILN_GFX950;
    s.full = argc > 2 && !strcmp(argv[2], "full");
    s.every = num_every(argc, argv);
    num_each_kind(s.target, KILN_GROUPED, add_kind, &s);
    num_each_kind(s.target, KILN_WGRAD, add_kind, &s);
    num_each_kind(s.target, KILN_BATCHED, add_kind, &s);
    return num_run_variants(&s, "groups", run_variant);
}
