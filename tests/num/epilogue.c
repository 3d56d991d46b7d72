/* Epilogues of the field (epilogues.def) as expressions: in every family that
 * has one, in both lowerings and by every way of storing, whole outputs against
 * the reference's own reading of the text; and the reference against values
 * worked out here.
 *
 * usage: epilogue TARGET [full]   full: each in each; else by turns */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/reference/expression.h"
#include "../kit/sweep.h"

struct row {
    const char *text, *from;
};
static const struct row rows[] = {
#define E(text, from) { text, from },
#include "epilogues.def"
#undef E
};
enum { NROWS = sizeof rows / sizeof *rows, NFORMS = 8 };

static kiln_target target;
static bool full;
static struct num_counts counts;

static const int64_t lens[] = { 20, 0, 1, 65, 0 };

/* A problem and a configuration for a number. */
static void
form(uint32_t n, kiln_problem *p, struct kn_config *g)
{
    static const kiln_family family[NFORMS] = {
        KILN_GEMM, KILN_GROUPED, KILN_BATCHED, KILN_GEMM,
        KILN_GEMM, KILN_WGRAD, KILN_GEMM, KILN_GEMM };
    static const kiln_type out[] = { KILN_F32, KILN_BF16, KILN_F16 };

    *p = (kiln_problem){ .size = sizeof *p, .target = target,
                         .family = family[n % NFORMS], .out = out[n % 3],
                         .a = KILN_BF16, .beta = n / 2 % 2 };
    *g = (struct kn_config){ .bm = 64, .bn = 64 };
    switch (n % NFORMS) {
    case 1:
        p->a = KILN_FP8;
        p->scale = KILN_SCALE_ROW;
        break;
    case 3:
        p->a = KILN_I8;
        p->scale = KILN_SCALE_TENSOR;
        g->lowering = KN_LOWERING_ASM;
        break;
    case 4:
        g->split_k = 2;
        break;
    case 5:
        p->layout = KILN_TN;
        break;
    case 6:
        g->store = KN_STORE_LDS;
        p->alpha_set = 1;
        break;
    case 7:                  /* the next tile is copied between stores */
        p->beta = n / NFORMS % 2;
        *g = (struct kn_config){ .bm = 256, .bn = 256, .bk = 64, .wm = 2,
                                 .wn = 2, .schedule = KN_SCHED_4WAVE,
                                 .cus = 1 };
        break;
    default:
        break;
    }
}

static void
run_form(const char *text, uint32_t n)
{
    struct num_job j = { .seed = n, .order_seed = n };
    struct num_result r = { .ok = true };
    struct num_kernel k;
    struct kn_config g;
    kiln_problem p;
    bool groups, gated;

    form(n, &p, &g);
    gated = kn_formula_names(text, "up");
    if (p.family == KILN_WGRAD && (gated || kn_formula_names(text, "bias")))
        return;
    if (gated && !kn_formula_names(text, "c"))
        p.beta = 0;
    groups = p.family == KILN_GROUPED || p.family == KILN_WGRAD;
    snprintf(p.expression, sizeof p.expression, "%s", text);
    g.domain = num_weakest(&p);
    if (n % 4 == 3) {        /* which rows at any address are refused */
        p.m = 70, p.n = 101, p.k = 96;
        if (n % NFORMS == 7)
            p.m = p.n = 512, p.k = 64;
        g.domain = kn_domain_of(&p, 16, 64);
    }
    if (!num_open(&k, &counts, &p, &g))
        fail_msg("%s, form %u: no kernel: %s", text, n, k.c.err.text);
    j.p.m = p.m ? p.m : 70, j.p.n = p.n ? p.n : 100;
    j.p.k = p.k ? p.k : n % 5 ? 96 : 0;
    j.p.groups = groups ? 5 : 0;
    j.p.batch = p.family == KILN_BATCHED ? 3 : 0;
    j.p.alpha = -0.25f;
    for (int i = 0; i < KILN_SCALARS; i++)
        j.p.scalar[i] = 1.5f - (float)i;
    j.lens = groups ? lens : NULL;
    if (!num_launch(&k, &j, &r))
        fail_msg("%s, form %u: %s", text, n, r.text);
    num_close(&k);
}

static void
test_row(void **state)
{
    const struct row *row = *state;
    uint32_t n = (uint32_t)(row - rows);

    for (uint32_t i = 0; i < (full ? 3 * NFORMS : 3); i++)
        run_form(row->text, full ? i : n + 3 * i);
}

/* ---- what would be wrong is seen ---- */

static void
add_a_bit(struct kn_sim *sim, uint64_t c, void *user)
{
    float v;

    assert_int_equal(kn_sim_read(sim, c, &v, sizeof v), KILN_OK);
    v *= *(const float *)user;
    assert_int_equal(kn_sim_write(sim, c, &v, sizeof v), KILN_OK);
}

/* One element of a tanh, wrong by its 2000th part. */
static void
test_wrong(void **state)
{
    kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_BF16,
                       .out = KILN_F32, .expression = "tanh(acc + bias)" };
    struct kn_config g = { .bm = 64, .bn = 64 };
    float factor = 1.0005f;
    struct num_job j = { .p = { .m = 64, .n = 64, .k = 8 },
                         .meddle = add_a_bit, .user = &factor };
    struct num_result r;
    struct num_kernel k;

    (void)state;
    g.domain = num_weakest(&p);
    assert_true(num_open(&k, &counts, &p, &g));
    assert_false(num_launch(&k, &j, &r));
    assert_int_equal(r.check.bad, 1);
    num_close(&k);
}

/* ---- the reference alone ---- */

static struct kn_ref_inexact
evaluated(const char *text, double acc, double bias, double c)
{
    struct kn_ref_inexact v[KN_REF_NAMES] = {
        { acc, 1e-6 }, { bias, 0 }, { c, 0 }, { acc, 1e-6 }, { bias, 1e-6 },
        { c, 0 }, { -c, 0 } };
    struct kn_ref_expression x;
    struct kn_ctx ctx;

    kn_ctx_init(&ctx, NULL, NULL);
    if (kn_ref_expression_read(&ctx, text, false, &x))
        fail_msg("%s", ctx.err.text);
    kn_ctx_free(&ctx);
    return kn_ref_evaluate(&x, v);
}

static void
test_values(void **state)
{
    static const struct {
        const char *text;
        double want;         /* of acc and gate 0.75, bias and up -2, c and
                                gate_bias 3, up_bias -3 */
    } t[] = {
        { "acc + bias * c", -5.25 }, { "(acc + bias) * c", -3.75 },
        { "acc - bias - c", -0.25 }, { "acc - (bias - c)", 5.75 },
        { "c / acc / 2", 2 }, { "-acc * -bias", -1.5 },
        { "2 - -acc", 2.75 }, { "max(acc, c) - min(acc, bias)", 5 },
        { "clamp(acc, 1, 2) + clamp(c, 1, 2)", 3 },
        { "fma(acc, bias, c)", 1.5 }, { "exp2(bias)", 0.25 },
        { "rcp(bias + 0 * acc)", -0.5 }, { "rsqrt(acc + c + .25)", 0.5 },
        { "relu(bias) + relu(acc)", 0.75 },
        { "select(acc, c, bias) + select(bias, 8, 1)", 4 },
        { "select(acc - .5, 1, 2)", 1 }, { "drelu(acc) - drelu(bias)", 1 },
        { "dsilu(acc)", 0.84259994449674 }, { "dgelu(acc)", 0.99922572173924 },
        { "dgelu_tanh(acc)", 0.99893825613741 },
        { "tanh(acc)", 0.63514895238728731 },
        { "erf(acc)", 0.71115563365351513 },
        { "sigmoid(acc)", 0.67917869917539297 },
        { "silu(acc)", 0.50938402438154473 },
        { "gelu(acc)", 0.58002960671503187 },
        { "gelu_tanh(acc)", 0.57996055516562039 },
        { "swiglu(gate, up)", -1.0187680487630895 },
        { "swiglu_oss(gate, up)", -0.58639005753463792 },
        { "swiglu_oss(4 * gate_bias, 4 * up_bias)", -41.999718769819914 },
        { "swiglu_limited(4 * gate_bias, 4 * up_bias)", -99.995460213129767 },
        { "situ(gate, up)", -1.0048521225744218 },
        { "gate * up + gate_bias - up_bias", 4.5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct kn_ref_inexact y = evaluated(t[i].text, 0.75, -2, 3);

        if (!(fabs(y.value - t[i].want) < 1e-6 * (1 + fabs(t[i].want))))
            fail_msg("%s is %.17g, should be %.17g", t[i].text, y.value,
                     t[i].want);
        if (!(y.error < 1e-4))
            fail_msg("%s may be off by %g", t[i].text, y.error);
    }
}

/* Where a function is steep the sum's error counts more, where it is flat less;
 * what is beyond f32 is infinite. */
static void
test_errors(void **state)
{
    (void)state;
    assert_true(evaluated("8 * acc", 1, 0, 0).error > 7.9e-6);
    assert_true(evaluated("tanh(acc)", 12, 0, 0).error < 2e-6);
    assert_true(evaluated("relu(acc)", -1, 0, 0).error < 1e-20);
    assert_true(evaluated("rcp(acc)", 0.01, 0, 0).error > 9e-3);
    assert_true(isinf(evaluated("exp2(acc)", 200, 0, 0).value));
    assert_true(evaluated("silu(acc)", -300, 0, 0).value == 0 ||
                evaluated("silu(acc)", -300, 0, 0).value < 0);
}

/* ---- refusals ---- */

static void
test_refusals(void **state)
{
    static const struct {
        const char *text, *says;
    } t[] = {
        { "", "line 1, column 1: a value is missing" },
        { "acc +", "line 1, column 6: a value is missing" },
        { "acc +\n  * 2", "line 2, column 3: expected a value" },
        { "acc 2", "column 5: expected an operator" },
        { "(acc", "column 5: expected ')'" },
        { "acc)", "column 4: expected an operator" },
        { "erg(acc)", "column 1: there is no value and no function" },
        { "acc * gelu", "column 7: a function is followed" },
        { "max(acc)", "column 8: the function takes more values" },
        { "tanh(acc, 2)", "column 9: the function takes no more values" },
        { "acc + exp2(3)", "column 7: this function of numbers" },
        { "clamp(1, 2, acc)", "column 1: this function of numbers" },
        { "acc * 1e39", "column 7: the number is beyond f32" },
        { "acc * 2x", "column 7: this is no number" },
        { "acc + 1 / 0", "column 9: this is no finite number" },
        { "bias * 2", "column 1: the expression does not name acc" },
        { "aux:bias, aux", "column 1: what aux is names acc, and not itself" },
        { "aux:acc + aux, aux", "column 1: what aux is names acc" },
        { "aux:acc", "column 8: expected ',' behind what aux is" },
        { "aux:acc, acc + aux", "column 1: behind aux: the expression is of aux" },
        { "aux:acc, bias", "column 1: behind aux: the expression is of aux" },
        { "acc + aux", "column 1: the expression names aux, which aux:" },
        { "aux:acc, swiglu(aux, up)", "column 1: aux is of one sum an element" },
        { "aux:gate, swiglu(aux_gate, up)", "column 31: expected ',' behind what aux is of up" },
        { "aux:gate, up, swiglu(gate, aux_up)", "column 1: behind aux: the expression is of "
          "aux_gate and aux_up" },
        { "aux:gate, up, silu(aux_gate)", "column 1: behind aux: the expression is of aux_gate" },
        { "aux:gate, up, aux", "column 1: behind aux: the expression is of aux_gate" },
        { "aux:up, gate, swiglu(aux_gate, aux_up)", "column 1: what aux is of gate names gate" },
        { "aux:gate * up, up, swiglu(aux_gate, aux_up)", "column 1: what aux is of gate names" },
        { "aux:gate, aux_gate + up, swiglu(aux_gate, aux_up)", "column 1: what aux is names acc" },
        { "aux:acc, swiglu(aux_gate, aux_up)", "column 1: behind aux: the expression is of aux," },
        { "gate * up + aux_up", "column 1: the expression names aux, which aux:" },
        { "silu(gate) * 2", "column 1: the expression names not both of gate" },
        { "gate_bias", "column 1: the expression names not both of gate" },
        { "gate * up + acc", "column 1: acc and bias are of one sum" },
        { "gate * up + bias", "column 1: acc and bias are of one sum" },
        { "swiglu(gate)", "column 12: the function takes more values" },
        { "col:up, acc + up", "column 5: this name has a meaning of its own" },
        { "((((((((((((((((((((((((((((((((((((acc))))))))))))))))))))))))))))))))))))",
          "nested too deeply" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct kn_formula x;
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        if (kn_formula_parse(&c, NULL, t[i].text, false, &x) != KILN_BAD_INPUT ||
            !strstr(c.err.text, t[i].says))
            fail_msg("'%s': %s", t[i].text, c.err.text);
        kn_ctx_free(&c);
    }
}

/* A function alone is of the sum, or of both. */
static void
test_shorthands(void **state)
{
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_string_equal(kn_formula_text(&c, "gelu"), "gelu(acc)");
    assert_string_equal(kn_formula_text(&c, "swiglu"), "swiglu(gate,up)");
    assert_string_equal(kn_formula_text(&c, "max"), "max");
    kn_ctx_free(&c);
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[NROWS + 5];
    size_t n = 0;

    if (argc < 2)
        return 2;
    target = !strcmp(argv[1], "gfx942") ? KILN_GFX942 : KILN_GFX950;
    full = argc > 2;
    for (; n < NROWS; n++)
        tests[n] = (struct CMUnitTest){ rows[n].text, test_row, NULL, NULL,
                                        (void *)(uintptr_t)&rows[n] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_wrong);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_values);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_errors);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_refusals);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_shorthands);
    return _cmocka_run_group_tests("epilogue", tests, n, NULL, NULL);
}
