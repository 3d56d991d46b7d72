/* Epilogues of f64: those of the field (epilogues.def) and what f32 alone has not,
 * in every family, layout and both outputs, whole outputs against the reference in
 * long double; and what would be wrong is seen.
 *
 * usage: wide TARGET [some|full]   some: a fifth of the rows; full: each in each
 * form; else by turns */
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

static const char *const rows[] = {
#define E(text, from) text,
#include "epilogues.def"
#undef E
    "acc * 0.1 + 1e-300", "acc / 3 - 1e300 * (acc - acc)", "(acc + 2.5) / (acc * 0)",
    "row:s, s / (acc + 1000)", "1e200 * acc * 1e200 * 1e-300", "acc / 1e-320",
    "exp2(acc * 4)", "tanh(acc * 0.1)", "tanh(acc * 1e-9)", "sigmoid(acc * 100)",
    "silu(acc * 60)", "exp2(acc * 200)", "gelu_tanh(acc * 0.3) + tanh(acc - acc)",
    "dsilu(acc / 3) + dgelu_tanh(acc / 5)", "dgelu_tanh(acc * 0.2 + 7)",
    "erf(acc * 0.1)", "erf(acc * 1e-9)", "erf(acc * 3) - 1", "gelu(acc * 0.3)",
    "erf(acc * 1e-310) + erf(acc - acc)", "erf(1e300 * acc) + gelu(acc * 90)",
    "erf((acc - acc) / (acc - acc))", "gelu(acc * 0.01 - 6)",
    "dsilu(acc + 30)", "exp2((acc - acc) / (acc - acc))",
    "sigmoid(1e300 * acc) + tanh(1e300 * acc)", "tanh(acc * 1e-310 * 1e-9)",
    "dgelu(acc * 0.3)", "dgelu(acc * 1e-9)", "dgelu(acc * 0.1 - 6)", "dgelu(acc * 90 + 7)",
    "dgelu(acc * 1e200 * 1e100) + dgelu(acc - acc)", "dgelu((acc - acc) / (acc - acc))",
    "swiglu(gate * 60, up * 1e100)", "swiglu_oss(gate * 40, up * 3)",
    "swiglu_limited(gate * 1e-9, up * 9 + gate_bias)", "situ(gate * 3, up * 40)",
    "situ(gate * 1e-9, up * 1e-9)", "swiglu_oss(gate * 1e300, up * 1e300 + up_bias)",
    "gelu(gate) * dgelu(up * 0.3)", "situ((gate - gate) / (up - up), up) + c",
    "aux:gate + 0.1, up * 3, swiglu(aux_gate, aux_up)",
    "row:s, tensor:t, aux:gate * s, up + t, situ(aux_gate, aux_up) / 3",
    "aux:acc + 0.1, relu(aux) / 7", "row:s, tensor:t, aux:acc * s + c, aux * t - aux",
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
    static const kiln_layout layout[NFORMS] = {
        KILN_NT, KILN_NN, KILN_TN, KILN_NN, KILN_NT, KILN_TN, KILN_TT, KILN_NT };

    *p = (kiln_problem){ .size = sizeof *p, .target = target,
                         .family = family[n % NFORMS], .layout = layout[n % NFORMS],
                         .a = KILN_F64, .out = n % 3 ? KILN_F64 : KILN_F32,
                         .beta = n / 2 % 2, .alpha_set = n % 5 == 1,
                         .amax = n % 7 < 3,
                         .out2 = n / 4 % 3 == 1 ? KILN_F64
                               : n / 4 % 3 == 2 ? KILN_F32 : KILN_TYPE_NONE };
    *g = (struct kn_config){ .bm = 64, .bn = 32 };
    g->split_k = n % NFORMS == 4 ? 2 : 0;
    g->cus = n % NFORMS == 7 ? 3 : 0;
    if (n % NFORMS == 6)
        *g = (struct kn_config){ .bm = 32, .bn = 64, .wm = 1, .wn = 2 };
}

/* The launch of form n. */
static struct num_job
job(uint32_t n, const kiln_problem *p)
{
    struct num_job j = { .seed = n, .order_seed = n,
                         .mode = n / 3 % 2 ? KN_DATA_EXACT : KN_DATA_RANDOM };
    bool groups = p->family == KILN_GROUPED || p->family == KILN_WGRAD;

    j.p.m = 70, j.p.n = n % 2 ? 100 : 101, j.p.k = n % 5 ? 96 : 0;
    j.p.groups = groups ? 5 : 0;
    j.p.batch = p->family == KILN_BATCHED ? 3 : 0;
    j.p.alpha = -0.25f;
    for (int i = 0; i < KILN_SCALARS; i++)
        j.p.scalar[i] = 1.5f - (float)i;
    j.lens = groups ? lens : NULL;
    return j;
}

/* What f64 says to an expression; "": it has it. */
static void
read(const char *text, char *says, size_t size)
{
    struct kn_formula x;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    snprintf(says, size, "%s", kn_formula_parse(&c, NULL, text, true, &x) ? c.err.text
                                                                          : "");
    kn_ctx_free(&c);
}

static void
run_form(const char *text, uint32_t n)
{
    struct num_result r = { .ok = true };
    struct num_kernel k;
    struct num_job j;
    struct kn_config g;
    kiln_problem p;

    form(n, &p, &g);
    if (p.family == KILN_WGRAD && (kn_formula_names(text, "bias") ||
                                   kn_formula_names(text, "up")))
        return;
    if (kn_formula_names(text, "up")) {
        p.beta = kn_formula_names(text, "c");
        g.bn = 64;           /* pairs of blocks in each wave */
    }
    j = job(n, &p);
    snprintf(p.expression, sizeof p.expression, "%s", text);
    if (kn_formula_aux(text) && !p.out2)
        p.out2 = KILN_F64;
    g.domain = num_weakest(&p);
    g.domain.align_a = g.domain.align_b = 4; /* there is no class of 8 bytes */
    if (n % 2) {             /* pairs of elements are stored */
        p.m = j.p.m, p.n = j.p.n, p.k = j.p.k;
        g.domain = kn_domain_of(&p, 16, 16);
    }
    if (!num_open(&k, &counts, &p, &g))
        fail_msg("%s, form %u: no kernel: %s", text, n, k.c.err.text);
    if (!num_launch(&k, &j, &r))
        fail_msg("%s, form %u: %s", text, n, r.text);
    num_close(&k);
}

static void
test_row(void **state)
{
    const char *const *row = *state;
    uint32_t n = (uint32_t)(row - rows);

    for (uint32_t i = 0; i < (full ? 3 * NFORMS : 4); i++)
        run_form(*row, full ? i : n + 3 * i);
}

/* ---- what would be wrong is seen ---- */

static void
move_a_little(struct kn_sim *sim, uint64_t at, void *user)
{
    double v;

    assert_int_equal(kn_sim_read(sim, at, &v, sizeof v), KILN_OK);
    v *= *(const double *)user;
    assert_int_equal(kn_sim_write(sim, at, &v, sizeof v), KILN_OK);
}

/* One element, by far less than f32 tells apart. */
static void
test_wrong(void **state)
{
    kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_F64,
                       .out2 = KILN_F64, .amax = 1,
                       .expression = "aux:acc + 3, aux * rcp(aux * aux + 1)" };
    struct kn_config g = { .bm = 64, .bn = 64 };
    double factor = 1 + 1e-13;
    struct num_job j = { .p = { .m = 64, .n = 64, .k = 8 },
                         .meddle = move_a_little, .user = &factor };
    struct num_result r;
    struct num_kernel k;

    (void)state;
    g.domain = num_weakest(&p);
    assert_true(num_open(&k, &counts, &p, &g));
    assert_false(num_launch(&k, &j, &r));
    assert_int_equal(r.check.bad, 1);
    j.meddle_second = j.meddle;
    j.meddle = NULL;
    assert_false(num_launch(&k, &j, &r));
    assert_non_null(strstr(r.text, "1 elements of the second output"));
    j.meddle_amax = j.meddle_second;
    j.meddle_second = NULL;
    assert_false(num_launch(&k, &j, &r));
    assert_non_null(strstr(r.text, "the amax is"));
    factor = NAN;
    assert_false(num_launch(&k, &j, &r));
    assert_non_null(strstr(r.text, "the amax is"));
    num_close(&k);
}

/* Numbers are f64's, in the kernel and in the reference, and so are errors. */
static void
test_reference(void **state)
{
    struct kn_ref_inexact v[KN_REF_NAMES] = { { 0.75, 0 } }, y;
    struct kn_ref_expression x;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_ref_expression_read(&c, "acc * 0.1 / 3", true, &x), KILN_OK);
    y = kn_ref_evaluate(&x, v);
    assert_true(fabs(y.value - 0.025) < 1e-17);
    assert_true(y.error > 0 && y.error < 1e-16);
    assert_int_equal(kn_ref_expression_read(&c, "acc * 1e300", true, &x), KILN_OK);
    assert_true(isfinite(kn_ref_evaluate(&x, v).value));
    v[0].value = 1e10;
    assert_true(isinf(kn_ref_evaluate(&x, v).value));
    kn_ctx_free(&c);
}

/* ---- refusals ---- */

/* Of problems that no text is to blame for. */
static void
test_types(void **state)
{
    static const struct {
        kiln_type a, out, out2;
        const char *says;
    } t[] = {
        { KILN_F64, KILN_F64, KILN_BF16, "the second output of f64 x f64 is f64 or "
          "f32, not bf16" },
        { KILN_F64, KILN_F32, KILN_F16, "is f64 or f32, not f16" },
        { KILN_F32, KILN_F32, KILN_F64, "of f64 x f64 of f64 or f32" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        kiln_problem p = { .size = sizeof p, .target = target, .a = t[i].a,
                           .out = t[i].out, .out2 = (uint8_t)t[i].out2 };
        struct kn_config g = { 0 };
        struct num_kernel k;

        assert_false(num_open(&k, &counts, &p, &g));
        assert_non_null(strstr(k.c.err.text, t[i].says));
        num_close(&k);
    }
}

static void
test_refusals(void **state)
{
    static const struct {
        const char *text, *says;
    } t[] = {
        { "acc + 1e999", "column 7: the number is beyond f64" },
        { "acc + 1e308 * 1e308", "column 13: this is no finite number" },
        { "1 +\n  situ(gate, acc)", "line 1, column 1: acc and bias are of one sum" },
    };
    char says[300];

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        read(t[i].text, says, sizeof says);
        if (!strstr(says, t[i].says))
            fail_msg("'%s': %s", t[i].text, says);
    }
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[NROWS + 4];
    size_t n = 0;

    if (argc < 2)
        return 2;
    target = !strcmp(argv[1], "gfx942") ? KILN_GFX942 : KILN_GFX950;
    full = argc > 2 && !strcmp(argv[2], "full");
    for (; n < NROWS; n++)
        tests[n] = (struct CMUnitTest){ rows[n], test_row, NULL, NULL,
                                        (void *)(uintptr_t)&rows[n] };
    n = num_thin(tests, n, target, num_every(argc, argv));
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_wrong);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_reference);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_refusals);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_types);
    return _cmocka_run_group_tests("wide", tests, n, NULL, NULL);
}
