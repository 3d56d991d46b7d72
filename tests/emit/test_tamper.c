/* Kernels of the generator with bytes changed or cut off, the same ones every
 * time: the check with certificate is never clean, the check without never
 * clean where code is missing, and neither crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/prove/cert.h"
#include "gen/gen.h"

enum { FLIPS = 350, CUTS = 60 };

static const struct {
    kiln_target target;
    kiln_type type;
    kiln_layout layout;
    enum kn_lowering lowering;
} rows[] = {
    { KILN_GFX950, KILN_FP8, KILN_NT, KN_LOWERING_LLVM },
    { KILN_GFX950, KILN_BF16, KILN_NT, KN_LOWERING_ASM },
    { KILN_GFX942, KILN_BF16, KILN_TN, KN_LOWERING_LLVM },
};

static uint32_t
next(uint64_t *x)
{
    return (uint32_t)kn_mix((*x)++);
}

struct tally {
    unsigned refused, claims, digest, findings, undecided;
};

static void
make(struct kn_ctx *c, size_t row, struct kn_generated *g)
{
    kiln_problem p = { .size = sizeof p, .target = rows[row].target,
                       .a = rows[row].type, .layout = rows[row].layout,
                       .m = 512, .n = 512, .k = 512 };
    struct kn_config cfg = { .lowering = rows[row].lowering };

    kn_ctx_init(c, NULL, NULL);
    assert_int_equal(kn_generate(c, &p, &cfg, NULL, g), KILN_OK);
}

/* The bytes checked as kilnc check does; certificate may be NULL. code: so
 * many bytes of the kernel, 0: all. Whether they are clean. */
static bool
clean(const uint8_t *co, size_t size, const char *certificate, uint64_t code,
      struct tally *t)
{
    const struct kn_object_kernel *kernel;
    struct kn_object_kernel part;
    struct kn_check_result r = { 0 };
    struct kn_slots slots;
    struct kn_program p;
    struct kn_object o;
    struct kn_ctx c;
    kiln_status s;

    kn_ctx_init(&c, NULL, NULL);
    s = kn_object_read(&c, "k", co, size, &o);
    s = s ? s : kn_object_kernel(&c, &o, NULL, &kernel);
    if (!s) {
        part = *kernel;
        part.code_size = code ? code : kernel->code_size;
        s = kn_decode(&c, &o, &part, false, &p);
    }
    t->refused += s != KILN_OK;
    if (!s && certificate) {
        s = kn_cert_read(&c, certificate, strlen(certificate), &p, &slots);
        t->digest += s && strstr(c.err.text, "digest") != NULL;
        t->claims += s && !strstr(c.err.text, "digest");
    }
    if (!s) {
        s = kn_check_program(&c, &p, certificate ? &slots : NULL, &r);
        t->findings += r.nfindings > 0;
        t->undecided += !r.nfindings && r.undecided;
    }
    assert_true(!s == !c.err.text[0]);
    kn_ctx_free(&c);
    return !s && !r.nfindings && !r.undecided;
}

/* Where the kernel's code lies in the file. */
static size_t
code_of(struct kn_ctx *c, const struct kn_generated *g, uint64_t *size)
{
    const struct kn_object_kernel *kernel;
    struct kn_program p;
    struct kn_object o;

    assert_int_equal(kn_object_read(c, "k", g->co, g->size, &o), KILN_OK);
    assert_int_equal(kn_object_kernel(c, &o, NULL, &kernel), KILN_OK);
    assert_int_equal(kn_decode(c, &o, kernel, true, &p), KILN_OK);
    *size = kernel->code_size;
    return (size_t)((const uint8_t *)kn_object_bytes(&o, p.inst[0].pc, *size) -
                    g->co);
}

static void
flipped_bits_are_told(void **state)
{
    uint64_t rnd = 0x9e3779b97f4a7c15u;
    struct tally t = { 0 }, bare = { 0 };

    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct kn_generated g;
        struct kn_ctx c;
        uint64_t size;
        uint8_t *co;
        size_t at;

        make(&c, row, &g);
        at = code_of(&c, &g, &size);
        co = KN_NEW(&c, uint8_t, g.size);
        memcpy(co, g.co, g.size);
        assert_true(clean(co, g.size, g.certificate, 0, &t));
        for (int n = 0; n < FLIPS; n++) {
            size_t where = at + next(&rnd) % size;
            uint8_t bit = (uint8_t)(1u << next(&rnd) % 8);

            co[where] ^= bit;
            if (clean(co, g.size, g.certificate, 0, &t))
                fail_msg("bit %u of byte 0x%zx of %s can go unnoticed", bit,
                         where - at, g.name);
            clean(co, g.size, NULL, 0, &bare);
            co[where] ^= bit;
        }
        kn_ctx_free(&c);
    }
    print_message("# %d flips: %u not read, %u against a claim, %u by the "
                  "digest alone; without a certificate %u findings, %u "
                  "undecided\n", FLIPS * (int)(sizeof rows / sizeof *rows),
                  t.refused, t.claims, t.digest, bare.findings,
                  bare.undecided);
    assert_true(t.claims > 0 && t.digest > 0 && bare.findings > 0);
}

/* A copy, so that a sanitizer sees a read behind its end. */
static void
cut(const struct kn_generated *g, uint64_t size)
{
    struct tally t = { 0 };
    uint8_t *co;

    if (size >= g->size)
        return;
    co = malloc(size + !size);
    assert_non_null(co);
    memcpy(co, g->co, size);
    assert_false(clean(co, size, g->certificate, 0, &t));
    assert_false(clean(co, size, NULL, 0, &t));
    free(co);
}

static uint64_t
word(const struct kn_generated *g, uint64_t at, unsigned bytes)
{
    uint64_t v = 0;

    assert_true(at + bytes <= g->size);
    memcpy(&v, g->co + at, bytes);
    return v;
}

/* ELF64: e_shoff at 0x28, e_shentsize 0x3a, e_shnum 0x3c; of a section,
 * sh_offset at 0x18 and sh_size at 0x20. Behind the last of them is padding. */
static void
cut_files_are_never_clean(void **state)
{
    uint64_t rnd = 0x2545f4914f6cdd1du;

    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct kn_generated g;
        struct kn_ctx c;
        uint64_t head;

        make(&c, row, &g);
        head = word(&g, 0x28, 8);
        for (uint64_t n = 0; n < word(&g, 0x3c, 2); n++) {
            uint64_t at = head + n * word(&g, 0x3a, 2);
            uint64_t from = word(&g, at + 0x18, 8);

            cut(&g, at);
            cut(&g, from);
            cut(&g, from + 1);
            cut(&g, from + word(&g, at + 0x20, 8) / 2);
        }
        for (int n = 0; n < CUTS; n++)
            cut(&g, next(&rnd) % g.size);
        kn_ctx_free(&c);
    }
}

static void
cut_code_is_never_clean(void **state)
{
    uint64_t rnd = 0x9e3779b97f4a7c15u;

    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct tally t = { 0 };
        struct kn_generated g;
        struct kn_ctx c;
        uint64_t size;

        make(&c, row, &g);
        code_of(&c, &g, &size);
        assert_true(clean(g.co, g.size, NULL, size, &t));
        for (int n = 0; n < CUTS; n++) {
            uint64_t part = 4 + next(&rnd) % (size / 2) / 4 * 4;

            assert_false(clean(g.co, g.size, NULL, part, &t));
            assert_false(clean(g.co, g.size, g.certificate, part, &t));
        }
        assert_true(t.undecided > 0);
        kn_ctx_free(&c);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipped_bits_are_told),
        cmocka_unit_test(cut_files_are_never_clean),
        cmocka_unit_test(cut_code_is_never_clean),
    };

    return cmocka_run_group_tests_name("emit-tamper", tests, NULL, NULL);
}
