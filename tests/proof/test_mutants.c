/* Kernels of the generator, each weakened in every way there is (mutants.h):
 * the proof must object to each mutant that is not harmless. Without arguments
 * a representative set; `all` takes the whole list (kernels.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"
#include "mutants.h"
#include "values.h"

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
    { KILN_GEMM, 0, KILN_GFX950, KILN_MXFP8, KILN_NT, KILN_SCALE_MX32,
      256, 256, 2, 4, 2, 4096, 8192, 16, 0 },
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

/* ---- mutants of another value ---- */

/* The kernel whose program is being weakened. */
struct subject {
    const struct kn_fn *f;
    struct order o;
    struct values v;
    struct kn_ins *ins;      /* a copy */
};

static bool
stored_value_tells(void *user, const struct kn_fn *mutant)
{
    struct subject *x = user;
    size_t bytes = x->f->nins * sizeof *x->ins;

    if (!x->ins) {
        x->ins = KN_NEW(x->f->c, struct kn_ins, x->f->nins);
        values_of(x->o.kernel, &x->v);
    }
    memcpy(x->ins, x->f->ins, bytes);
    for (size_t n = 0; n < mutant->nins; n++)
        if (KN_REF_TAG(mutant->ins[n].arg[0]) == KN_R_LDS)
            x->ins[x->o.from[n]].arg[0] = mutant->ins[n].arg[0];
    assert_true(memcmp(x->ins, x->f->ins, bytes) != 0);
    return stores_otherwise(&x->v, x->ins);
}

/* Each kernel's program as the proof sees it is weakened like the kernel. */
static void
try_pick(const struct pick *x, struct tally *t)
{
    struct tally whole = { 0 };
    struct subject s = { 0 };
    struct kn_ctx c;
    struct kn_fn *f;

    kn_ctx_init(&c, NULL, NULL);
    f = generate(&c, x);
    if (!f)
        fail_msg("a kernel of the list is not generated: %s", c.err.text);
    try_mutants(f, &whole);
    s.f = f;
    assert_int_equal(order_of(f, &s.o), KILN_OK);
    assert_true(s.o.f.nins < f->nins);
    t->user = &s;
    t->verdicts = 0;
    try_order_mutants(&s.o, t);
    assert_int_equal(whole.verdicts, t->verdicts);
    kn_ctx_free(&c);
}

static void
report(const struct tally *t)
{
    uint64_t killed = mutants_of(t, MUT_KILLED) + mutants_of(t, MUT_TOLD);
    uint64_t survive = mutants_of(t, MUT_VALUE) + mutants_of(t, MUT_SURVIVES);
    uint64_t made = 0;

    for (int m = 0; m < MUT_KINDS; m++) {
        print_message("#   %-28s %8" PRIu64 " made", mutation_text[m],
                      mutants_made(t, (enum mutation)m));
        for (int v = 0; v < MUT_VERDICTS; v++)
            print_message(" %8" PRIu64 " %s", t->n[v][m], verdict_text[v]);
        print_message("\n");
        made += mutants_made(t, (enum mutation)m);
    }
    print_message("# %" PRIu64 " mutants: %" PRIu64 " killed by the proof, %"
                  PRIu64 " of another slot told by what they store, %" PRIu64
                  " harmless (another fence or path covers them), %" PRIu64
                  " that keep the halves' turns (order proven without), %"
                  PRIu64 " survive: kill rate %.2f %%\n", made,
                  mutants_of(t, MUT_KILLED), mutants_of(t, MUT_TOLD),
                  mutants_of(t, MUT_HARMLESS), mutants_of(t, MUT_TURN),
                  survive, 100.0 * (double)killed / (double)(killed + survive));
    assert_int_equal(survive, 0);
    for (int m = 0; m < MUT_KINDS && share.of == 1; m++)  /* a share may lack one */
        assert_true(t->n[MUT_KILLED][m] > 0 || t->n[MUT_TOLD][m] > 0 ||
                    !mutants_made(t, (enum mutation)m));
}

static void
representative_kernels(void **state)
{
    struct tally t = { .survivor = print_survivor,
                       .other_value = stored_value_tells };

    (void)state;
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        try_pick(&few[i], &t);
    report(&t);
}

/* ---- the whole list ---- */

/* Kernels of one program, by its number, and what became of its mutants. */
struct alike {
    unsigned kernels;
    struct tally tally;
};

struct tried {
    struct digests programs;
    struct alike *alike;
    size_t cap;
    struct kn_ctx c;         /* of the array */
    struct tally all;
};

static void
add_tally(struct tally *to, const struct tally *t, unsigned times)
{
    for (int v = 0; v < MUT_VERDICTS; v++)
        for (int m = 0; m < MUT_KINDS; m++)
            to->n[v][m] += times * t->n[v][m];
}

static void
try_kernel(void *user, const struct made *m)
{
    struct tried *x = user;
    unsigned n = x->programs.n, *place;
    struct subject s = { .f = m->f };
    bool met;

    assert_int_equal(order_of(m->f, &s.o), KILN_OK);
    place = digest_place(&x->programs, order_digest(&s.o), &met);
    if (!met) {
        *place = n;
        x->alike = kn_grow(&x->c, x->alike, &x->cap, n + 1u,
                           sizeof *x->alike);
        x->alike[n].tally = (struct tally){
            .survivor = print_survivor, .other_value = stored_value_tells,
            .user = &s,
        };
        try_order_mutants(&s.o, &x->alike[n].tally);
        add_tally(&x->all, &x->alike[n].tally, 1);
    }
    *m->number = *place;
    x->alike[*place].kernels++;
}

static void
once_more(void *user, unsigned number)
{
    struct tried *x = user;

    x->alike[number].kernels++;
}

/* What there is so far, should the rest take too long. */
static void
print_part(void *user, const struct kernels *k, const char *name)
{
    const struct tried *x = user;

    print_message("# up to %s: %u kernels, %u refused, %u programs, %" PRIu64
                  " mutants killed, %" PRIu64 " survive\n", name, k->made,
                  k->refused, x->programs.n, mutants_of(&x->all, MUT_KILLED) +
                  mutants_of(&x->all, MUT_TOLD),
                  mutants_of(&x->all, MUT_VALUE) +
                  mutants_of(&x->all, MUT_SURVIVES));
    fflush(stdout);
}

static void
all_kernels(void **state)
{
    static struct tried x;
    struct tally sum = { 0 };
    struct kernels k = share;

    (void)state;
    kn_ctx_init(&x.c, NULL, NULL);
    k.kernel = try_kernel;
    k.again = once_more;
    k.part = print_part;
    k.user = &x;
    each_kernel(&k);
    assert_int_equal(k.refused, 0);
    for (unsigned n = 0; n < x.programs.n; n++)
        add_tally(&sum, &x.alike[n].tally, x.alike[n].kernels);
    print_message("# %u kernels of the list, %u of them distinct but for their "
                  "names, of %u programs as the proof sees them; %u more "
                  "refused\n", k.made, k.distinct, x.programs.n, k.refused);
    print_message("# mutants of each program, once:\n");
    report(&x.all);
    print_message("# they stand for those of all kernels:\n");
    report(&sum);
    digests_free(&x.programs);
    kn_ctx_free(&x.c);
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
