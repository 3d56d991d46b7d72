/* Kernels of the generator, each weakened in every way there is (mutants.h):
 * the proof must object to each mutant that is not harmless. Without arguments
 * a representative set; `all` takes every combination of family, target, types,
 * layout, scales, tile, stages and alignment that the generator has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gen/gen.h"
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
    unsigned matter = t->made - t->harmless;

    print_message("# %u kernels, %u mutants: %u killed, %u harmless (another "
                  "fence or path covers them), %u survive: kill rate %.2f %%\n",
                  kernels, t->made, t->killed, t->harmless, matter - t->killed,
                  100.0 * t->killed / matter);
    for (int m = 0; m < MUT_KINDS; m++)
        print_message("#   %-28s %6u made %6u killed %6u harmless\n",
                      mutation_text[m], t->made_by[m], t->killed_by[m],
                      t->harmless_by[m]);
    assert_int_equal(t->killed, matter);
    for (int m = 0; m < MUT_KINDS; m++)
        assert_true(t->killed_by[m] > 0);
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

static const struct {
    uint32_t bm, bn, wm, wn;
} tiles[] = {
    { 256, 256, 2, 4 }, { 128, 256, 2, 4 }, { 128, 128, 2, 2 },
    { 64, 128, 2, 2 },  { 64, 64, 2, 2 },   { 32, 32, 2, 2 },
};
static const struct {
    int64_t n, k;
    uint32_t base;
} shapes[] = {
    { 4096, 8192, 16 }, { 4096, 4104, 16 }, { 4100, 4100, 16 },
    { 4101, 4101, 4 },
};

static void
each_shape(struct pick x, unsigned *kernels, struct tally *t)
{
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (x.stages = 1; x.stages <= 3; x.stages++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                x.bm = tiles[i].bm;
                x.bn = tiles[i].bn;
                x.wm = tiles[i].wm;
                x.wn = tiles[i].wn;
                x.n = shapes[s].n;
                x.k = shapes[s].k;
                x.base = shapes[s].base;
                *kernels += one_kernel(&x, t);
            }
}

static void
each_operand(struct pick x, unsigned *kernels, struct tally *t)
{
    for (int type = 1; type < KILN_NTYPES; type++)
        for (int layout = 0; layout < KILN_NLAYOUTS; layout++)
            for (int scale = 0; scale < KILN_NSCALES; scale++) {
                x.type = (kiln_type)type;
                x.layout = (kiln_layout)layout;
                x.scale = (kiln_scale)scale;
                each_shape(x, kernels, t);
            }
}

static void
all_kernels(void **state)
{
    struct tally t = { .survivor = print_survivor };
    unsigned kernels = 0;

    (void)state;
    for (int family = 0; family < KILN_NFAMILIES; family++)
        for (int target = 1; target < KILN_NTARGETS; target++)
            for (uint32_t cus = 0; cus <= 256; cus += 256)
                each_operand((struct pick){ .family = (kiln_family)family,
                                            .target = (kiln_target)target,
                                            .cus = cus }, &kernels, &t);
    assert_true(kernels > 1000);
    report(kernels, &t);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest some[] = {
        cmocka_unit_test(representative_kernels),
    };
    const struct CMUnitTest all[] = { cmocka_unit_test(all_kernels) };

    if (argc > 1 && !strcmp(argv[1], "all"))
        return cmocka_run_group_tests_name("proof-mutants-all", all, NULL,
                                           NULL);
    return cmocka_run_group_tests_name("proof-mutants", some, NULL, NULL);
}
