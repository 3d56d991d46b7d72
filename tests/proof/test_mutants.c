/* Kernels of the generator, each weakened in every way there is (mutants.h):
 * the proof must object to each mutant that is not harmless. Without arguments
 * a representative set; `all` takes the whole list (kernels.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels.h"
#include "mutants.h"

struct pick {
    kiln_family family;
    uint32_t cus;            /* 0: one tile a workgroup */
    kiln_target target;
    kiln_type type;
    kiln_layout layout;
    kiln_scale scale;
    uint32_t bm, bn, wm, wn, stages;
    int64_t n, k;
    uint32_t base;           /* alignment of the operands */
    uint32_t split;          /* shares of K, 0: not divided */
};

/* Every family and target, both ways into LDS, every loop and every compute
 * region. */
static const struct pick few[] = {
    { KILN_GEMM, 0, KILN_GFX950, KILN_BF16, KILN_NT, KILN_SCALE_NONE,
      256, 256, 2, 4, 2, 4096, 4104, 16, 0 },
    { KILN_GEMM, 304, KILN_GFX950, KILN_FP8, KILN_NN, KILN_SCALE_ROW,
      128, 128, 2, 2, 2, 4096, 4112, 16, 0 },
    { KILN_GEMM, 0, KILN_GFX950, KILN_F16, KILN_TN, KILN_SCALE_NONE,
      64, 64, 2, 2, 3, 4096, 4096, 16, 0 },
    { KILN_GEMM, 0, KILN_GFX950, KILN_MXFP4, KILN_NT, KILN_SCALE_MX32,
      64, 64, 2, 2, 2, 4096, 8192, 16, 0 },
    { KILN_GEMM, 0, KILN_GFX950, KILN_MXFP6, KILN_NT, KILN_SCALE_MX32,
      64, 64, 2, 2, 2, 4096, 4128, 16, 0 },
    { KILN_GEMM, 0, KILN_GFX950, KILN_FP8, KILN_NT, KILN_SCALE_BLOCK128,
      64, 64, 2, 2, 2, 4096, 4224, 16, 0 },
    { KILN_GEMM, 0, KILN_GFX950, KILN_FP8, KILN_NT, KILN_SCALE_TENSOR,
      64, 64, 2, 2, 2, 4096, 4100, 16, 0 },
    { KILN_GEMM, 304, KILN_GFX942, KILN_BF16, KILN_TN, KILN_SCALE_NONE,
      64, 64, 2, 2, 1, 4096, 4100, 16, 0 },
    { KILN_GEMM, 0, KILN_GFX942, KILN_I8, KILN_NN, KILN_SCALE_ROW,
      32, 64, 2, 2, 2, 4101, 4101, 1, 0 },
    { KILN_GEMM, 0, KILN_GFX942, KILN_FP8, KILN_NT, KILN_SCALE_BLOCK128,
      64, 64, 2, 2, 2, 4096, 4224, 16, 0 },
    { KILN_BATCHED, 0, KILN_GFX950, KILN_FP8, KILN_NT, KILN_SCALE_ROW,
      64, 64, 2, 2, 2, 4096, 4112, 16, 0 },
    { KILN_GROUPED, 256, KILN_GFX950, KILN_BF16, KILN_NT, KILN_SCALE_NONE,
      64, 64, 2, 2, 2, 4096, 4104, 16, 0 },
    { KILN_GROUPED, 0, KILN_GFX950, KILN_FP8, KILN_NN, KILN_SCALE_TENSOR,
      64, 64, 2, 2, 3, 4096, 4112, 16, 0 },
    { KILN_WGRAD, 256, KILN_GFX950, KILN_BF16, KILN_TN, KILN_SCALE_NONE,
      64, 64, 2, 2, 2, 4096, 4104, 16, 0 },
    { KILN_WGRAD, 0, KILN_GFX942, KILN_BF16, KILN_TN, KILN_SCALE_NONE,
      64, 64, 2, 2, 2, 4096, 4104, 16, 0 },
    { KILN_GEMM, 0, KILN_GFX950, KILN_MXFP8, KILN_NT, KILN_SCALE_MX32,
      64, 64, 2, 2, 2, 4096, 8192, 16, 4 },
    { KILN_GEMM, 304, KILN_GFX942, KILN_I8, KILN_NN, KILN_SCALE_ROW,
      32, 64, 2, 2, 2, 4101, 4101, 1, 2 },
};

static struct kernels share = { .of = 1 };

static void
print_survivor(void *user, const struct kn_fn *f, size_t at, enum mutation m)
{
    (void)user;
    print_message("# survives: %s, %s:%d: %s of %s\n", f->name,
                  f->ins[at].at.file, f->ins[at].at.line, mutation_text[m],
                  kn_op_info((enum kn_op)f->ins[at].op).text);
}

/* The kernel after all passes, NULL if the generator does not make it. */
static struct kn_fn *
generate(struct kn_ctx *c, const struct pick *x)
{
    kiln_problem p = { .size = sizeof p, .family = x->family,
                       .target = x->target, .layout = x->layout, .a = x->type,
                       .b = x->type, .out = KILN_BF16, .scale = x->scale,
                       .bias = x->family != KILN_WGRAD, .beta = 1, .m = 4096,
                       .n = x->n, .k = x->k };
    struct kn_config g = { .bm = x->bm, .bn = x->bn, .wm = x->wm, .wn = x->wn,
                           .stages = x->stages, .cus = x->cus,
                           .split_k = x->split };
    struct kn_fn *f;

    p.batch = x->family == KILN_BATCHED ? 4 : 0;
    p.groups = x->family == KILN_GROUPED || x->family == KILN_WGRAD ? 4 : 0;
    if (kn_problem_normalise(c, &p))
        return NULL;
    g.domain = kn_domain_of(&p, x->base, 128);
    if (kn_choose(c, &p, &g, NULL) || kn_instantiate(c, &p, &g, &f) ||
        kn_run_passes(&f, NULL, NULL))
        return NULL;
    return f;
}

static bool
one_kernel(const struct pick *x, struct tally *t)
{
    struct kn_ctx c;
    struct kn_fn *f;

    kn_ctx_init(&c, NULL, NULL);
    f = generate(&c, x);
    if (f)
        try_mutants(f, t);
    kn_ctx_free(&c);
    return f != NULL;
}

static void
report(unsigned kernels, const struct tally *t)
{
    unsigned matter = t->made - t->harmless - t->value - t->turn;

    print_message("# %u kernels, %u mutants: %u killed, %u harmless (another "
                  "fence or path covers them), %u of another slot (a "
                  "value, no order), %u that keep the halves' turns (order "
                  "proven without), %u survive: kill rate %.2f %%\n", kernels,
                  t->made, t->killed, t->harmless, t->value, t->turn,
                  matter - t->killed, 100.0 * t->killed / matter);
    for (int m = 0; m < MUT_KINDS; m++)
        print_message("#   %-28s %8u made %8u killed %7u harmless %6u value "
                      "%6u turn\n", mutation_text[m], t->made_by[m],
                      t->killed_by[m], t->harmless_by[m], t->value_by[m],
                      t->turn_by[m]);
    assert_int_equal(t->killed, matter);
    for (int m = 0; m < MUT_KINDS && share.of == 1; m++)  /* a share may lack one */
        assert_true(t->killed_by[m] > 0 || !t->made_by[m]);
}

static void
representative_kernels(void **state)
{
    struct tally t = { .survivor = print_survivor };

    (void)state;
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        if (!one_kernel(&few[i], &t))
            fail_msg("kernel %zu of the list is not generated", i);
    report(sizeof few / sizeof *few, &t);
}

struct tried {
    struct orders *orders;
    struct tally *tally;
};

static void
try_kernel(void *user, const struct made *m)
{
    struct tried *x = user;

    if (order_is_new(x->orders, m))
        try_mutants(m->f, x->tally);
}

static void
all_kernels(void **state)
{
    struct tally t = { .survivor = print_survivor };
    static struct orders seen;
    struct tried x = { .orders = &seen, .tally = &t };
    struct kernels k = share;

    (void)state;
    k.kernel = try_kernel;
    k.user = &x;
    each_kernel(&k);
    assert_int_equal(k.refused, 0);
    print_message("# %u kernels of the list, %u of them distinct in order\n",
                  k.made, seen.n);
    report(seen.n, &t);
}

/* all [OF SHARD]: the SHARD-th of every OF kernels of the list */
int
main(int argc, char **argv)
{
    const struct CMUnitTest some[] = {
        cmocka_unit_test(representative_kernels),
    };
    const struct CMUnitTest all[] = { cmocka_unit_test(all_kernels) };

    if (take_share(&share, argc, argv))
        return cmocka_run_group_tests_name("proof-mutants-all", all, NULL,
                                           NULL);
    return cmocka_run_group_tests_name("proof-mutants", some, NULL, NULL);
}
