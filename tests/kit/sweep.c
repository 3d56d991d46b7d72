#include "sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    uint32_t tile, align;
} classes[] = {
#define X(id, text, tile, align) { text, tile, align },
    NUM_CLASSES(X)
#undef X
};

static const kiln_type float_out[] = { KILN_BF16, KILN_F32, KILN_F16 };
static const kiln_type int_out[] = { KILN_I32, KILN_BF16, KILN_F32 };

void
num_add(struct num_variants *s, kiln_problem p, enum num_class domain)
{
    static const char *const layout[] = { "nt", "nn", "tn", "tt" };
    static const char *const family[] = { "gemm", "grouped", "wgrad",
                                          "batched" };
    static const char *const scale[] = { "none", "tensor", "row", "block128",
                                         "mx32" };
    uint32_t q = (uint32_t)s->n;
    struct num_variant *v;

    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->v = realloc(s->v, s->cap * sizeof *s->v);
        if (!s->v)
            abort();
    }
    if (!p.out)
        p.out = (p.a == KILN_I8 && !p.scale ? int_out : float_out)[q % 3];
    if (p.out != KILN_I32) {
        p.bias = (uint8_t)(p.family != KILN_WGRAD && q / 3 % 2);
        p.beta = (uint8_t)(q / 2 % 2);
        p.alpha_set = q % 4 == 1;
        p.alpha = 0.5f;
    }
    v = &s->v[s->n++];
    *v = (struct num_variant){ .p = p, .domain = domain, .number = q,
                               .counts = s->counts, .full = s->full };
    snprintf(v->name, sizeof v->name, "%u %s %s %s x %s -> %s %s, %s%s%s%s",
             q, family[p.family], layout[p.layout], kiln_type_name(p.a),
             kiln_type_name(p.b), kiln_type_name(p.out), scale[p.scale],
             classes[domain].text, p.bias ? ", bias" : "",
             p.beta ? ", beta" : "", p.alpha_set ? ", alpha" : "");
}

static bool
may_multiply(kiln_type a, kiln_type b)
{
    if (b == KILN_I4 || b == KILN_NVFP4)
        return a == KILN_BF16 || a == KILN_F16;
    if (num_is_mx(a) || num_is_mx(b))
        return num_is_mx(b) &&
               (num_is_mx(a) || a == KILN_BF16 || a == KILN_F16);
    return (a == b && a != KILN_I32) ||
           ((a == KILN_FP8 || a == KILN_BF8) &&
                      (b == KILN_FP8 || b == KILN_BF8));
}

static bool
has_layout(const kiln_problem *p)
{
    bool whole = kn_ref_type_bits(p->a) >= 8 && kn_ref_type_bits(p->b) >= 8;

    if (p->family == KILN_WGRAD &&
        (num_is_mx(p->a) != num_is_mx(p->b) || kn_type_mx[p->b] > 1))
        return false;
    if (p->family == KILN_WGRAD)
        return p->layout == (num_is_mx(p->a) ? KILN_NT : KILN_TN);
    if (p->family == KILN_GROUPED && !kn_along_k(p, 'a'))
        return false;
    return p->layout == KILN_NT || whole;
}

static bool
has_scale(const kiln_problem *p)
{
    bool f8 = p->a == KILN_FP8 || p->a == KILN_BF8;

    if (p->b == KILN_I4)
        return p->scale >= KILN_SCALE_GROUP32 && p->scale <= KILN_SCALE_GROUP128;
    if (p->b == KILN_NVFP4)
        return p->scale == KILN_SCALE_NV16;
    if (num_is_mx(p->b))
        return p->scale == KILN_SCALE_MX32;
    return p->scale == KILN_SCALE_NONE ||
           (p->scale <= KILN_SCALE_ROW && (f8 || p->a == KILN_I8)) ||
           (p->scale == KILN_SCALE_BLOCK128 && f8);
}

void
num_each_kind(kiln_target target, kiln_family family,
              void (*each)(void *user, const kiln_problem *p), void *user)
{
    kiln_problem p = { .size = sizeof p, .target = target, .family = family };

    for (int a = KILN_F32; a < KILN_NTYPES; a++)
        for (int b = KILN_F32; b < KILN_NTYPES; b++)
            for (int l = 0; l < KILN_NLAYOUTS; l++)
                for (int s = 0; s < KILN_NSCALES; s++) {
                    p.a = (kiln_type)a, p.b = (kiln_type)b;
                    p.layout = (kiln_layout)l, p.scale = (kiln_scale)s;
                    p.out = p.a == KILN_F64 ? p.a : KILN_TYPE_NONE;
                    if (may_multiply(p.a, p.b) && has_layout(&p) &&
                        has_scale(&p))
                        each(user, &p);
                }
}

/* K-contiguous groups start at a multiple of 32 elements of a row. */
static void
weaken_along_k(const kiln_problem *p, struct kn_domain *d)
{
    if (p->family != KILN_WGRAD || p->layout != KILN_NT)
        return;
    if (kn_ref_type_bits(p->a) == 6 && d->align_a > 4)
        d->align_a = 4;
    if (kn_ref_type_bits(p->b) == 6 && d->align_b > 4)
        d->align_b = 4;
    d->align_sa = d->align_sb = 1;
}

struct kn_config
num_config(const struct num_variant *v)
{
    struct kn_config g = { .cus = v->cus };
    uint8_t align = (uint8_t)classes[v->domain].align;

    g.bm = g.bn = classes[v->domain].tile;
    if (v->p.scale == KILN_SCALE_BLOCK128 && g.bm > 128)
        g.bm = 128;
    if (v->p.a == KILN_F64 && g.bm > 128)
        g.bm = g.bn = 128;
    if (v->p.b == KILN_I4 && g.bm > 64)
        g.bm = g.bn = 64;    /* larger ones have no room beside scales of groups */
    g.domain = num_weakest(&v->p);
    if (v->domain == NUM_WEAK)
        return g;
    g.domain.align_a = g.domain.align_b = align;
    g.domain.align_sa = g.domain.align_sb = 4;
    if (v->domain >= NUM_STRONG && v->number % 2)
        g.domain.vec = v->p.out == KILN_F64 ? 2 : 4;
    if (v->domain == NUM_WHOLE)
        g.domain.ktail = 0;
    weaken_along_k(&v->p, &g.domain);
    return g;
}

/* Elements in the least run of whole `bytes` and whole elements. */
static int64_t
run_of(kiln_type t, int64_t bytes)
{
    int64_t n = 1;

    while (n * kn_ref_type_bits(t) % (8 * bytes))
        n++;
    return n;
}

static int64_t
round_up(int64_t a, int64_t to)
{
    return (a + to - 1) / to * to;
}

/* Dense where that is aligned enough; every third time wider. */
static int64_t
leading(int64_t row, kiln_type t, int64_t bytes, uint32_t salt)
{
    int64_t unit = run_of(t, bytes), ld = round_up(row, unit);

    if (salt % 3 == 0)
        ld += unit;
    return ld ? ld : unit;
}

void
num_align(const struct num_variant *v, uint32_t salt, struct num_job *j)
{
    const kiln_problem *p = &v->p;
    struct kn_config g = num_config(v);
    uint32_t esize = num_element_bytes(p->out);
    int64_t arow = kn_along_k(p, 'a') ? j->p.k : j->p.m;
    int64_t brow = kn_along_k(p, 'b') ? j->p.k : j->p.n;
    int64_t crow = g.domain.vec * (int64_t)esize;

    j->p.lda = leading(arow, p->a, g.domain.align_a, salt);
    j->p.ldb = leading(brow, p->b, g.domain.align_b, salt + 1);
    j->p.ldc = leading(j->p.n, p->out, crow, salt + 2);
    j->skew[NUM_A] = g.domain.align_a * (salt % 4);
    j->skew[NUM_B] = g.domain.align_b * (salt / 2 % 4);
    j->skew[NUM_C] = (uint32_t)crow * (salt % 3);
    j->skew[NUM_SA] = (p->scale == KILN_SCALE_NV16 ? 4 : g.domain.align_sa) *
                      (salt % 2);    /* nvfp4: the one factor of the weight, f32 */
    j->skew[NUM_SB] = g.domain.align_sb * (salt / 2 % 2);
}

int64_t
num_class_k(const struct num_variant *v, int64_t k)
{
    int64_t block = v->p.scale == KILN_SCALE_MX32 ? 32
                  : v->p.scale == KILN_SCALE_NV16 ? 16 : 0;
    int64_t blocks = block ? (k + block - 1) / block : 0;

    if (v->domain == NUM_WHOLE)
        return round_up(k ? k : 1, 128);
    if (v->domain == NUM_WEAK || blocks % 4 == 0)
        return k;
    return block * (round_up(blocks, 4) - 1) + (k - 1) % block + 1;
}

int64_t
num_class_n(const struct num_variant *v, int64_t n)
{
    return num_config(v).domain.vec > 1 ? round_up(n, 4) : n;
}

void
num_try(struct num_kernel *k, const struct num_job *j, char *text)
{
    struct num_result r;
    char job[400];
    size_t n = strlen(text);

    if (num_launch(k, j, &r) || n > 700)
        return;
    num_describe(k, j, job, sizeof job);
    snprintf(text + n, 900 - n, "%s: %s\n", job, r.text);
}

static void
test_each_kernel_is_compiled_once(void **state)
{
    const struct num_variants *s = *state;

    assert_int_equal(s->counts->compilations, s->n);
    assert_int_equal(s->counts->kernels, s->n);
    assert_true(s->counts->launches > 5 * s->n);
}

unsigned
num_every(int argc, char **argv)
{
    return argc > 2 && !strcmp(argv[2], "some") ? 5 : 1;
}

size_t
num_thin(struct CMUnitTest *tests, size_t n, kiln_target target, unsigned every)
{
    size_t kept = 0;

    for (size_t i = (size_t)target % every; i < n; i += every)
        tests[kept++] = tests[i];
    return kept;
}

int
num_run_variants(struct num_variants *s, const char *name,
                 void (*run)(void **state))
{
    struct CMUnitTest *tests = calloc(s->n + 1, sizeof *tests);

    if (!tests)
        return 1;
    for (size_t i = 0; i < s->n; i++)
        tests[i] = (struct CMUnitTest){ s->v[i].name, run, NULL, NULL,
                                        &s->v[i] };
    s->n = num_thin(tests, s->n, s->target, s->every);
    tests[s->n] = (struct CMUnitTest){ "each kernel is compiled once",
                                       test_each_kernel_is_compiled_once,
                                       NULL, NULL, s };
    return _cmocka_run_group_tests(name, tests, s->n + 1, NULL, NULL);
}
