/* test_mutate.c - reader and linker on damaged input: every length, every
 * byte changed in three ways. Whatever happens, it is a status and a
 * sentence, and what was accepted keeps the reader's promises. Worth most
 * with -Db_sanitize=address,undefined. */
#include "../kit/slurp.h"

#include <string.h>

#include "emit/isa/object.h"

static const char *built_dir;

struct tally {
    unsigned ok, refused;
};

static void
check_object(const struct kn_object *o)
{
    for (uint32_t i = 1; i < o->nsegments; i++)
        assert_true(o->segments[i - 1].addr + o->segments[i - 1].size <=
                    o->segments[i].addr);
    for (uint32_t i = 0; i < o->nkernels; i++) {
        const struct kn_object_kernel *k = &o->kernels[i];

        assert_non_null(kn_object_bytes(o, k->kd_addr, 64));
        assert_non_null(kn_object_bytes(o, k->entry, k->code_size));
        assert_true(k->code_size >= 4);
        for (uint32_t a = 0; a < k->nargs; a++)
            assert_true((uint64_t)k->args[a].offset + k->args[a].size <=
                        k->kernarg_size);
    }
}

/* The input is copied to exactly its size so that a sanitizer sees a read
 * beyond it. */
static void
try_input(const uint8_t *p, size_t n, struct tally *t)
{
    uint8_t *exact = malloc(n ? n : 1), *out;
    struct kn_object o;
    struct kn_ctx c;
    size_t size;
    kiln_status s;

    if (n)
        memcpy(exact, p, n);
    kn_ctx_init(&c, NULL, NULL);
    s = kn_object_read(&c, "x", exact, n, &o);
    if (!s)
        check_object(&o);
    assert_true(!s || (s == c.err.status && c.err.text[0]));
    assert_true(!s || s == KILN_BAD_INPUT || s == KILN_UNSUPPORTED);
    kn_ctx_free(&c);
    kn_ctx_init(&c, NULL, NULL);
    kn_object_link(&c, exact, n, &out, &size);
    kn_ctx_free(&c);
    free(exact);
    *(s ? &t->refused : &t->ok) += 1;
}

static void
mutate(const char *name)
{
    struct blob b = slurp(built_dir, name);
    struct tally cut = { 0 }, flip = { 0 };

    for (size_t n = 0; n < b.n; n++)
        try_input(b.p, n, &cut);
    for (size_t i = 0; i < b.n; i++) {
        static const uint8_t change[] = { 0x01, 0x80, 0xff };
        uint8_t old = b.p[i];

        for (int k = 0; k < 3; k++) {
            b.p[i] = old ^ change[k];
            try_input(b.p, b.n, &flip);
        }
        b.p[i] = old;
    }
    /* The section table ends the file: no prefix is a whole object. */
    assert_int_equal(cut.ok, 0);
    assert_true(flip.ok > 0 && flip.refused > 0);
    free(b.p);
}

static void
test_relocatable(void **state)
{
    (void)state;
    mutate("kernels.o");
}

static void
test_linked(void **state)
{
    (void)state;
    mutate("kernels.lld");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relocatable),
        cmocka_unit_test(test_linked),
    };

    if (argc != 2)
        return 2;
    built_dir = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
