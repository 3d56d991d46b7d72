/* Forged certificates on kernels whose barriers and waits were patched away:
 * rows dropped, slots swapped, ownership and halves claimed, domains changed,
 * the digest refitted. What the bytes tell stays found. On kernels as they
 * were generated nothing is found, with their certificate or without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "emit/prove/check.h"
#include "gen/gen.h"

static const struct {
    kiln_target target;
    kiln_type type;
    kiln_layout layout;
    enum kn_lowering lowering;
    int64_t n;
} rows[] = {
    { KILN_GFX950, KILN_FP8, KILN_NT, KN_LOWERING_LLVM, 512 },
    { KILN_GFX950, KILN_BF16, KILN_NT, KN_LOWERING_ASM, 512 },
    { KILN_GFX942, KILN_BF16, KILN_TN, KN_LOWERING_LLVM, 512 },
    { KILN_GFX950, KILN_BF16, KILN_NN, KN_LOWERING_LLVM, 4096 },
    { KILN_GFX950, KILN_MXFP8, KILN_NT, KN_LOWERING_LLVM, 256 },
};
enum { NROWS = sizeof rows / sizeof *rows, PATCHES = 14 };

struct kernel {
    struct kn_ctx c;
    struct kn_generated g;
    struct kn_object o;
    struct kn_program p;
    struct kn_inst *whole;   /* as generated */
    uint64_t rnd;
};

static uint32_t
next(struct kernel *k)
{
    return (uint32_t)kn_mix(k->rnd++);
}

static void
make(struct kernel *k, size_t row)
{
    kiln_problem p = { .size = sizeof p, .target = rows[row].target,
                       .a = rows[row].type, .layout = rows[row].layout,
                       .m = rows[row].n, .n = rows[row].n, .k = rows[row].n };
    struct kn_config cfg = { .lowering = rows[row].lowering };
    const struct kn_object_kernel *kernel;

    memset(k, 0, sizeof *k);
    k->rnd = 0x9e3779b97f4a7c15u + row;
    kn_ctx_init(&k->c, NULL, NULL);
    assert_int_equal(kn_generate(&k->c, &p, &cfg, NULL, &k->g), KILN_OK);
    assert_int_equal(kn_object_read(&k->c, "k", k->g.co, k->g.size, &k->o),
                     KILN_OK);
    assert_int_equal(kn_object_kernel(&k->c, &k->o, NULL, &kernel), KILN_OK);
    assert_int_equal(kn_decode(&k->c, &k->o, kernel, true, &k->p), KILN_OK);
    k->whole = KN_NEW(&k->c, struct kn_inst, k->p.n);
    memcpy(k->whole, k->p.inst, k->p.n * sizeof *k->whole);
}

static void
patch(struct kernel *k, uint32_t n)
{
    struct kn_inst *i = &k->p.inst[n];

    i->op = KN_I_s_nop;
    i->nopnd = i->ndst = 0;
    i->raw[0] = 0xbf800000;
}

static bool
is_fence(const struct kn_inst *i)
{
    return i->op == KN_I_s_barrier || i->op == KN_I_s_waitcnt;
}

/* ---- forgeries ----------------------------------------------------------- */

static int64_t
offset(const struct kernel *k, uint32_t n)
{
    return (int64_t)(k->p.inst[n].pc - k->p.inst[0].pc);
}

static int32_t
inst_at(const struct kernel *k, const json_t *at)
{
    return kn_program_at(&k->p, k->p.inst[0].pc +
                         (uint64_t)json_integer_value(at));
}

/* Only what is still in the code is spoken of. */
static void
fit_rows(struct kernel *k, json_t *root)
{
    json_t *waits = json_array(), *list = json_object_get(root, "asynchronous");

    for (uint32_t n = 0; n < k->p.n; n++) {
        const struct kn_inst *i = &k->p.inst[n];

        if (i->op == KN_I_s_barrier)
            json_array_append_new(waits, json_pack("[I]", offset(k, n)));
        if (i->op == KN_I_s_waitcnt)
            json_array_append_new(waits, json_pack("[I,i,i]", offset(k, n),
                                                   i->vm, i->lgkm));
    }
    json_object_set_new(root, "waits", waits);
    for (size_t x = json_array_size(list); x-- > 0;) {
        json_t *e = json_array_get(list, x);

        json_object_del(e, "wait");
        json_object_del(e, "barrier");
        if (k->p.inst[inst_at(k, json_object_get(e, "at"))].op == KN_I_s_nop)
            json_array_remove(list, x);
    }
}

static void
fit_digest(struct kernel *k, json_t *root)
{
    uint64_t h = 0xcbf29ce484222325u;
    char text[20];

    for (uint32_t n = 0; n < k->p.n; n++)
        for (unsigned w = 0; w < k->p.inst[n].size / 4u; w++)
            h = (h ^ k->p.inst[n].raw[w]) * 0x100000001b3u;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)h);
    json_object_set_new(root, "code", json_string(text));
}

enum forgery { OWN = 1, SLOTS = 2, ONE_SLOT = 4, HALVES = 8, DROP = 16,
               DOMAIN = 32, ALL = 64 };

static void
forge_entry(struct kernel *k, json_t *e, unsigned how, size_t nslots)
{
    if (!json_object_get(e, "slot"))
        return;
    if (how & OWN)
        json_object_set_new(e, "own", json_integer(1));
    if (how & ONE_SLOT) {
        json_object_set_new(e, "slot", json_integer(0));
        json_object_del(e, "more");
    } else if (how & SLOTS && next(k) % 2) {
        json_object_set_new(e, "slot", json_integer(next(k) % nslots));
        json_object_del(e, "more");
    }
}

static void
claim_halves(struct kernel *k, json_t *list)
{
    for (uint32_t n = 0; n < k->p.n; n++)
        if (k->p.inst[n].op == KN_I_s_barrier && next(k) % 3 == 0)
            json_array_append_new(list, json_pack("{s:I,s:s}", "at",
                offset(k, n), "kind", next(k) % 2 ? "stagger" : "rejoin"));
}

static char *
forge(struct kernel *k, unsigned how)
{
    json_t *root = json_loads(k->g.certificate, 0, NULL), *list;
    size_t nslots = json_array_size(json_object_get(root, "slots"));
    char *text;

    assert_non_null(root);
    fit_rows(k, root);
    list = json_object_get(root, "asynchronous");
    for (size_t x = json_array_size(list); x-- > 0;) {
        json_t *e = json_array_get(list, x);

        forge_entry(k, e, how, nslots ? nslots : 1);
        if (how & DROP && (!json_object_get(e, "slot") || next(k) % 9 == 0))
            json_array_remove(list, x);
    }
    if (how & HALVES)
        claim_halves(k, list);
    if (how & DOMAIN)
        json_object_clear(json_object_get(root, "domain"));
    fit_digest(k, root);
    text = json_dumps(root, 0);
    json_decref(root);
    return text;
}

/* ---- verdicts ------------------------------------------------------------ */

static bool
is_clean(struct kernel *k, const char *cert)
{
    struct kn_verdict v;
    kiln_status s = kn_verdict_find(&k->c, &k->p, cert,
                                    cert ? strlen(cert) : 0, &v);

    memset(&k->c.err, 0, sizeof k->c.err);
    return !s && kn_verdict_clean(&v);
}

struct tally { unsigned forged, clean, patches, harmless; };

static void
try_forgeries(struct kernel *k, unsigned each, struct tally *t)
{
    t->patches++;
    for (unsigned n = 0; n < each; n++) {
        unsigned how = n < 7 ? 1u << n >> 1 : next(k) % ALL;
        char *text = forge(k, how);

        t->forged++;
        if (is_clean(k, text)) {
            t->clean++;
            print_message("# %s: forgery %u is clean\n", k->g.name, how);
        }
        free(text);
    }
}

/* Patches that matter: where another wait or barrier covers for the one that
 * is gone, the bytes alone are clean, and rightly. */
static void
try_patches(struct kernel *k, unsigned each, struct tally *t)
{
    for (int n = 0; n < PATCHES; n++) {
        memcpy(k->p.inst, k->whole, k->p.n * sizeof *k->whole);
        for (uint32_t x = next(k) % k->p.n; n > 1;) {
            x = x + 1 == k->p.n ? 0 : x + 1;
            if (is_fence(&k->p.inst[x]) &&
                (n % 2 || k->p.inst[x].op == KN_I_s_barrier)) {
                patch(k, x);
                break;
            }
        }
        for (uint32_t x = 0; n <= 1 && x < k->p.n; x++)
            if (n ? is_fence(&k->p.inst[x])
                  : k->p.inst[x].op == KN_I_s_barrier)
                patch(k, x);
        if (is_clean(k, NULL))
            t->harmless++;
        else
            try_forgeries(k, each, t);
    }
    memcpy(k->p.inst, k->whole, k->p.n * sizeof *k->whole);
}

static unsigned each = 4;

static void
forged_certificates_are_never_clean(void **state)
{
    struct tally t = { 0 };

    (void)state;
    for (size_t row = 0; row < NROWS; row++) {
        struct kernel k;

        make(&k, row);
        assert_true(is_clean(&k, NULL));
        assert_true(is_clean(&k, k.g.certificate));
        try_patches(&k, each, &t);
        kn_ctx_free(&k.c);
    }
    print_message("# %u forged certificates on %u patched kernels, %u clean; "
                  "%u patches that another wait or barrier covers for\n",
                  t.forged, t.patches, t.clean, t.harmless);
    assert_true(t.forged >= 30 * each);
    assert_int_equal(t.clean, 0);
}

/* On whole kernels a lie about slots, owners or halves is one as well. */
static void
lies_about_whole_kernels_are_told(void **state)
{
    static const unsigned lies[] = { OWN, HALVES, SLOTS };
    unsigned told = 0;

    (void)state;
    for (size_t row = 0; row < NROWS; row++) {
        struct kernel k;

        make(&k, row);
        for (size_t n = 0; n < sizeof lies / sizeof *lies; n++) {
            char *text = forge(&k, lies[n]);

            told += !is_clean(&k, text);
            free(text);
        }
        kn_ctx_free(&k.c);
    }
    print_message("# %u of %u lies told\n", told, (unsigned)(3 * NROWS));
    assert_true(told >= 2 * NROWS);
}

static void
a_certificate_is_bounded_by_its_code(void **state)
{
    struct kn_verdict v;
    struct kernel k;
    json_t *root;
    char *text;

    (void)state;
    make(&k, 0);
    root = json_loads(k.g.certificate, 0, NULL);
    for (uint32_t n = 0; n <= k.p.n; n++)
        json_array_append_new(json_object_get(root, "waits"), json_pack("[i]",
                                                                        0));
    text = json_dumps(root, 0);
    assert_int_equal(kn_verdict_find(&k.c, &k.p, text, strlen(text), &v),
                     KILN_BAD_INPUT);
    assert_non_null(strstr(k.c.err.text, "more entries"));
    free(text);
    json_decref(root);
    memset(&k.c.err, 0, sizeof k.c.err);
    assert_int_equal(kn_verdict_find(&k.c, &k.p, k.g.certificate,
                                     (size_t)1 << 30, &v), KILN_BAD_INPUT);
    assert_non_null(strstr(k.c.err.text, "longer"));
    kn_ctx_free(&k.c);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_certificates_are_never_clean),
        cmocka_unit_test(lies_about_whole_kernels_are_told),
        cmocka_unit_test(a_certificate_is_bounded_by_its_code),
    };

    if (argc > 1 && !strcmp(argv[1], "all"))
        each = 24;
    return cmocka_run_group_tests_name("emit-forge", tests, NULL, NULL);
}
