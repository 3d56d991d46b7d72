/* What stands for a kernel in the mutation of the whole list (order.h): two
 * kernels share a program only if the proof cannot tell them apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gen/gen.h"
#include "order.h"

/* Direct copies and copies through registers, a persistent grid, shares of K,
 * halves of the waves a barrier apart, clips, no LDS at all. */
static const struct subject {
    kiln_family family;
    kiln_target target;
    kiln_type type, out;
    kiln_scale scale;
    int64_t k;
    struct kn_config config;
} subjects[] = {
    { KILN_GEMM, KILN_GFX950, KILN_BF16, KILN_BF16, KILN_SCALE_NONE, 4096,
      { .bm = 128, .bn = 128, .wm = 2, .wn = 2, .stages = 2 } },
    { KILN_GEMM, KILN_GFX942, KILN_FP8, KILN_BF16, KILN_SCALE_BLOCK128, 4224,
      { .bm = 64, .bn = 64, .wm = 2, .wn = 2, .cus = 256 } },
    { KILN_GEMM, KILN_GFX950, KILN_MXFP8, KILN_BF16, KILN_SCALE_MX32, 8192,
      { .bm = 64, .bn = 64, .wm = 2, .wn = 2, .split_k = 4 } },
    { KILN_GEMM, KILN_GFX950, KILN_BF16, KILN_BF16, KILN_SCALE_NONE, 4096,
      { .bm = 256, .bn = 256, .wm = 2, .wn = 4,
        .schedule = KN_SCHED_8WAVE } },
    { KILN_GEMM, KILN_GFX942, KILN_BF16, KILN_BF16, KILN_SCALE_NONE, 4100,
      { .bm = 64, .bn = 64, .wm = 2, .wn = 2, .stages = 1 } },
    { KILN_GEMM, KILN_GFX942, KILN_BF16, KILN_BF16, KILN_SCALE_NONE, 8192,
      { .bm = 64, .bn = 64, .wm = 2, .wn = 2,
        .schedule = KN_SCHED_DIRECT } },
};
enum { NSUBJECTS = sizeof subjects / sizeof *subjects };

/* Before the passes, or after them. */
static struct kn_fn *
make(struct kn_ctx *c, const struct subject *x, bool passes)
{
    kiln_problem p = { .size = sizeof p, .family = x->family,
                       .target = x->target, .a = x->type, .b = x->type,
                       .out = x->out, .scale = x->scale, .bias = 1, .m = 4096,
                       .n = 4096, .k = x->k };
    struct kn_config g = x->config;
    struct kn_fn *f = NULL;

    assert_int_equal(kn_problem_normalise(c, &p), KILN_OK);
    g.domain = kn_domain_of(&p, 16, 128);
    if (kn_choose(c, &p, &g, NULL) || kn_instantiate(c, &p, &g, &f) ||
        (passes && kn_run_passes(&f, NULL, NULL)))
        fail_msg("%s", c->err.text);
    return f;
}

/* A copy whose instructions may be changed. */
static struct kn_fn
copy_of(const struct kn_fn *f)
{
    struct kn_fn g = *f;

    g.ins = KN_NEW(f->c, struct kn_ins, f->nins);
    memcpy(g.ins, f->ins, f->nins * sizeof *f->ins);
    return g;
}

static uint64_t
digest_of(const struct kn_fn *f)
{
    struct order o;

    assert_int_equal(order_of(f, &o), KILN_OK);
    return order_digest(&o);
}

/* ---- kernels that are one to the proof ---- */

static void
types_of_one_width_are_one(void **state)
{
    struct subject x = subjects[0];
    uint64_t bf16, f16, tile;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    bf16 = digest_of(make(&c, &x, true));
    tile = kernel_digest(make(&c, &x, false));
    x.type = KILN_F16;
    f16 = digest_of(make(&c, &x, true));
    assert_true(bf16 == f16);
    assert_true(tile != kernel_digest(make(&c, &x, false)));
    x.config.group_m = 8;        /* the order of the tiles */
    assert_true(digest_of(make(&c, &x, true)) == bf16);
    x.config.stages = 3;
    assert_true(digest_of(make(&c, &x, true)) != bf16);
    kn_ctx_free(&c);
}

/* ---- every field that the proof reads ---- */

enum field { F_NONE, F_REMOVED, F_VM, F_LGKM, F_SLOT, F_ADDRESS, F_LOADED,
             F_COHERENT, F_GOING, F_LATER };

/* Changes one field of f->ins[at]; false if it has none such. */
static bool
change(struct kn_fn *f, size_t at, enum field what)
{
    struct kn_ins *i = &f->ins[at], keep = *i;
    bool lds = i->op == KN_OP_lds_ld || i->op == KN_OP_lds_st;
    bool fence = i->op == KN_OP_fence;

    switch (what) {
    case F_REMOVED:
        i->op = KN_OP_sched;
        memset(i->arg, 0, sizeof i->arg);
        kn_default_attrs(i);
        return fence || keep.op == KN_OP_barrier || keep.op == KN_OP_stagger ||
               keep.op == KN_OP_rejoin;
    case F_VM:
        return fence && i->attr[KN_A_vm] < 62 && ++i->attr[KN_A_vm];
    case F_LGKM:
        return fence && i->attr[KN_A_lgkm] < 14 && ++i->attr[KN_A_lgkm];
    case F_SLOT:
        if ((!lds && i->op != KN_OP_dma) ||
            f->lds[KN_REF_LDS(i->arg[0])].slots < 2)
            return false;
        i->arg[0] ^= 1;
        return true;
    case F_ADDRESS:
        i->attr[KN_A_offset] ^= 16;
        return lds;
    case F_LOADED:               /* another is used, or none */
        i->arg[0] = KN_REF_TAG(i->arg[0]) == KN_R_VAL && i->arg[0]
                  ? kn_int(f, 0) : 0;
        return (i->op == KN_OP_mfma || i->op == KN_OP_mfmas) && i->arg[0];
    case F_COHERENT:
        i->attr[KN_A_coh] ^= 1;
        return i->op == KN_OP_ldg || i->op == KN_OP_stg;
    case F_GOING:
        i->attr[KN_A_going] ^= 1;
        return i->op == KN_OP_used;
    case F_LATER:
        if (at + 1 == f->nins || i[1].op == i->op ||
            (!fence && i->op != KN_OP_barrier && i->op != KN_OP_dma) ||
            (i[1].op != KN_OP_barrier && i[1].op != KN_OP_dma))
            return false;
        i[0] = i[1];
        i[1] = keep;
        return true;
    case F_NONE:
        break;
    }
    return false;
}

static void
each_field_read_is_in_the_digest(void **state)
{
    static const char *const text[] = {
        "", "removed", "vm", "lgkm", "slot", "address", "loaded register",
        "coh", "going", "later",
    };
    unsigned told[F_LATER + 1] = { 0 };

    (void)state;
    for (size_t s = 0; s < NSUBJECTS; s++) {
        struct kn_ctx c;
        struct kn_fn *f, g;
        struct proof *p;
        uint64_t digest;

        kn_ctx_init(&c, NULL, NULL);
        f = make(&c, &subjects[s], true);
        assert_int_equal(proof_prepare(f, &p), KILN_OK);
        digest = digest_of(f);
        g = copy_of(f);
        for (size_t i = 0; i < f->nins; i++)
            for (int w = F_REMOVED; w <= F_LATER; w++) {
                struct order o;

                if (change(&g, i, (enum field)w) &&
                    (w != F_LOADED || proof_place(p, f->ins[i].arg[0]))) {
                    bool tells = order_of(&g, &o) ||
                                 order_digest(&o) != digest;

                    if (!tells && w != F_ADDRESS)
                        fail_msg("subject %zu, line %d: %s is not in it", s,
                                 g.ins[i].at.line, text[w]);
                    told[w] += tells;
                    c.err = (kiln_error){ 0 };
                }
                memcpy(&g.ins[i], &f->ins[i], 2 * sizeof *f->ins -
                       (i + 1 == f->nins) * sizeof *f->ins);
            }
        kn_ctx_free(&c);
    }
    for (int w = F_REMOVED; w <= F_LATER; w++)
        if (!told[w])
            fail_msg("no kernel has anything to change: %s", text[w]);
}

/* ---- anything changed anywhere ---- */

/* Any instruction, or the first from there that is no arithmetic. */
static struct kn_ins *
pick(struct kn_fn *f, uint64_t seed)
{
    size_t at = kn_mix(seed) % f->nins;

    while (seed % 3 && at + 1 < f->nins &&
           kn_op_kind((enum kn_op)f->ins[at].op) == KN_ALU)
        at++;
    return &f->ins[at];
}

/* One field of one instruction becomes that of another, or a number more. */
static void
disturb(struct kn_fn *f, uint64_t seed)
{
    struct kn_ins *i = pick(f, seed);
    const struct kn_ins *other = pick(f, seed + 1);
    static const enum kn_attr read[] = { KN_A_vm, KN_A_lgkm, KN_A_coh,
                                         KN_A_going, KN_A_offset, KN_A_bytes };
    uint64_t how = kn_mix(seed + 2), n = kn_mix(seed + 3);

    switch (how % 4) {
    case 0:
        if (i->arg[n % 3] && other->arg[n % 3] &&
            KN_REF_TAG(i->arg[n % 3]) == KN_REF_TAG(other->arg[n % 3]))
            i->arg[n % 3] = other->arg[n % 3];
        break;
    case 1:
        i->attr[n % 2 ? n / 2 % KN_NATTR : read[n / 2 % 6]]++;
        break;
    case 2:
        if (kn_op_kind((enum kn_op)i->op) != KN_CTL &&
            kn_op_kind((enum kn_op)other->op) != KN_CTL)
            *i = *other;
        break;
    default:
        if (i->dst && other->dst &&
            !memcmp(&kn_val(f, i->dst)->type, &kn_val(f, other->dst)->type,
                    sizeof(struct kn_type)))
            i->dst = other->dst;
    }
}

/* The program proves when the kernel does, and one of the same digest as a
 * kernel that proves does. */
static void
one_digest_is_one_verdict(void **state)
{
    enum { TRIES = 400 };
    unsigned same = 0, refused = 0, other = 0;

    (void)state;
    for (uint64_t n = 0; n < NSUBJECTS * TRIES; n++) {
        const struct subject *x = &subjects[n / TRIES];
        static struct kn_fn *f;
        static struct kn_ctx c;
        static uint64_t digest;
        struct kn_ctx d;
        struct order o;
        struct kn_fn g;
        struct proof *p;
        kiln_status s;

        if (n % TRIES == 0) {
            kn_ctx_init(&c, NULL, NULL);
            f = make(&c, x, true);
            digest = digest_of(f);
        }
        kn_ctx_init(&d, NULL, NULL);
        g = *f;
        g.c = &d;
        g = copy_of(&g);
        disturb(&g, 5 * n);
        if (!proof_prepare(&g, &p)) {
            s = proof_order(p);
            d.err = (kiln_error){ 0 };
            assert_int_equal(order_of(&g, &o), KILN_OK);
            assert_int_equal(proof_order(&o.p), s);
            assert_true(s == KILN_OK || order_digest(&o) != digest);
            same += order_digest(&o) == digest;
            other += order_digest(&o) != digest;
            refused += s != KILN_OK;
        }
        kn_ctx_free(&d);
        if (n % TRIES == TRIES - 1)
            kn_ctx_free(&c);
    }
    print_message("# %u kernels with a change the proof does not see, %u with "
                  "another, %u of them refused\n", same, other, refused);
    assert_true(same > TRIES && other > TRIES / 2 && refused > TRIES / 8);
}

/* ---- the kernel before the passes ---- */

static void
tell_words(const struct kn_fn *f, void *field, size_t size)
{
    uint64_t digest = kernel_digest(f);

    for (size_t n = 0; n < size; n++) {
        ((uint8_t *)field)[n] ^= 1;
        if (kernel_digest(f) == digest)
            fail_msg("byte %zu of a field of %zu is not in it", n, size);
        ((uint8_t *)field)[n] ^= 1;
    }
}
#define TELL(f, field) tell_words(f, &(field), sizeof(field))

static void
tell_tile(const struct kn_fn *f, struct kn_lds *l)
{
    TELL(f, l->side);
    TELL(f, l->elem);
    TELL(f, l->mem);
    TELL(f, l->rows);
    TELL(f, l->cols);
    TELL(f, l->slots);
    TELL(f, l->gk);
    TELL(f, l->lk);
    TELL(f, l->unit);
    TELL(f, l->shift);
    TELL(f, l->kdiv);
    TELL(f, l->panel);
    TELL(f, l->words);
    TELL(f, l->unaligned);
    TELL(f, l->run);
    TELL(f, l->shuf);
    TELL(f, l->share);
    TELL(f, l->line);
    TELL(f, l->lag);
    TELL(f, l->swz_s);
    TELL(f, l->swz_n);
    TELL(f, l->swz_t);
}

static void
tell_values(struct kn_fn *f)
{
    for (size_t i = 1; i < f->nval; i += 1 + f->nval / 8) {
        TELL(f, f->val[i].type);
        TELL(f, f->val[i].arg);
        TELL(f, f->val[i].max);
    }
    for (size_t i = 0; i < f->nconst; i += 1 + f->nconst / 8) {
        TELL(f, f->konst[i].i);
        TELL(f, f->konst[i].f);
        TELL(f, f->konst[i].is_float);
    }
    for (size_t i = 0; i < f->nins; i += 1 + f->nins / 16) {
        TELL(f, f->ins[i].op);
        TELL(f, f->ins[i].dst);
        for (int a = 0; a < KN_MAXARG && f->ins[i].arg[a]; a++)
            TELL(f, f->ins[i].arg[a]);
        TELL(f, f->ins[i].attr);
    }
}

/* Names apart, so that a kernel of the same text is the same to everything. */
static void
all_of_a_kernel_is_in_its_digest(void **state)
{
    struct kn_ctx c;
    struct kn_fn *f;
    uint64_t digest;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    f = make(&c, &subjects[1], false);
    digest = kernel_digest(f);
    f->name = "another";
    f->val[1].name = "another";
    assert_true(kernel_digest(f) == digest);
    TELL(f, f->level);
    TELL(f, f->target);
    TELL(f, f->shape.bm);
    TELL(f, f->shape.bn);
    TELL(f, f->shape.bk);
    TELL(f, f->shape.wm);
    TELL(f, f->shape.wn);
    TELL(f, f->shape.mfma);
    TELL(f, f->shape.block);
    TELL(f, f->shape.simd);
    TELL(f, f->shape.ta);
    TELL(f, f->shape.tb);
    for (size_t i = 0; i < f->nlds; i++)
        tell_tile(f, &f->lds[i]);
    tell_values(f);
    kn_ctx_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_of_one_width_are_one),
        cmocka_unit_test(each_field_read_is_in_the_digest),
        cmocka_unit_test(one_digest_is_one_verdict),
        cmocka_unit_test(all_of_a_kernel_is_in_its_digest),
    };

    return cmocka_run_group_tests_name("proof-order", tests, NULL, NULL);
}
