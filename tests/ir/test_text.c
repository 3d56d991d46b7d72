/* Text form: what is printed parses to the same kernel at every stage, and
 * any damage to a text is answered with a sentence and a place. */
#include "../kit/tir.h"

#include <string.h>

static void
same_twice(struct kit *k, const struct kn_fn *f)
{
    char *once = kit_print(k, f);

    assert_string_equal(kit_print(k, kit_parse(k, once)), once);
}

/* Field by field: text alone could lose the same thing twice. */
static void
same_kernel(const struct kn_fn *a, const struct kn_fn *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->target, b->target);
    assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
    assert_int_equal(a->nlds, b->nlds);
    assert_int_equal(a->nins, b->nins);
    for (size_t i = 0; i < a->nlds; i++) {
        struct kn_lds x = a->lds[i], y = b->lds[i];

        assert_string_equal(x.name, y.name);
        x.name = y.name = NULL;
        x.at = y.at = (struct kn_loc){ 0 };
        assert_memory_equal(&x, &y, sizeof x);
    }
    for (size_t i = 0; i < a->nins; i++) {
        assert_int_equal(a->ins[i].op, b->ins[i].op);
        assert_memory_equal(a->ins[i].attr, b->ins[i].attr,
                            sizeof a->ins[i].attr);
        assert_int_equal(!a->ins[i].dst, !b->ins[i].dst);
        for (int n = 0; n < KN_MAXARG; n++)
            assert_int_equal(KN_REF_TAG(a->ins[i].arg[n]),
                             KN_REF_TAG(b->ins[i].arg[n]));
    }
}

struct stages {
    struct kit *k;
    char letters[8];
    size_t n;
};

static void
each_stage(void *user, char letter, const struct kn_fn *f)
{
    struct stages *s = user;

    same_twice(s->k, f);
    same_kernel(f, kit_parse(s->k, kit_print(s->k, f)));
    s->letters[s->n++] = letter;
}

static void
roundtrip_at_every_stage(void **state)
{
    (void)state;
    for (size_t i = 0; kit_kernels[i]; i++) {
        struct kit k;
        struct stages s = { .k = &k };
        struct kn_fn *f;
        bool tile;

        kit_open(&k);
        f = kit_parse(&k, kit_file(&k, kit_kernels[i]));
        tile = f->level == KN_TILE;
        if (kn_run_passes(&f, each_stage, &s))
            fail_msg("%s:%d: %s", kit_kernels[i], k.c.err.line, k.c.err.text);
        assert_string_equal(s.letters, tile ? "tswlf" : "tlf");
        kit_close(&k);
    }
}

/* A dump is legal input: passes on the text of a stage end in the same text
 * as passes on the kernel itself. */
static void
dumps_feed_back(void **state)
{
    (void)state;
    for (size_t i = 0; kit_kernels[i]; i++) {
        struct kit k;
        struct kn_fn *whole, *f;

        kit_open(&k);
        whole = kit_parse(&k, kit_file(&k, kit_kernels[i]));
        assert_int_equal(kn_run_passes(&whole, NULL, NULL), KILN_OK);
        f = kit_parse(&k, kit_file(&k, kit_kernels[i]));
        assert_int_equal(kn_pass_swizzle(&f), KILN_OK);
        if (f->level == KN_TILE)
            assert_int_equal(kn_pass_distribute(&f), KILN_OK);
        f = kit_parse(&k, kit_print(&k, f));
        assert_int_equal(kn_run_passes(&f, NULL, NULL), KILN_OK);
        assert_string_equal(kit_print(&k, f), kit_print(&k, whole));
        kit_close(&k);
    }
}

static void
numbers_keep_their_value(void **state)
{
    static const double values[] = { 0.0, -0.0, 1.0, 1e300, 4.9e-324, 0.1,
                                     -1.0 / 3, 16777217.0 };
    struct kit k;

    (void)state;
    kit_open(&k);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct kn_buf b = { .c = &k.c };
        struct kn_fn *f;

        kn_putf(&b, "kernel @x wave gfx950\nshape wm=1 wn=1\n"
                    "%%a:v.f32 = mov %.17g%s\n", values[i],
                values[i] == (int)values[i] && values[i] < 1e9 ? ".0" : "");
        f = kit_parse(&k, kit_print(&k, kit_parse(&k, b.s)));
        assert_memory_equal(&f->konst[0].f, &values[i], sizeof values[i]);
    }
    kit_close(&k);
}

static void
one_mutant(uint64_t *rnd, const char *text)
{
    struct kit k;
    struct kn_fn *f = NULL;
    size_t n = strlen(text);
    char *s;
    static const char soup[] = " %=,.:;@[]-0123456789abfsvx\n\t\"\x01\xff";

    kit_open(&k);
    s = kn_strdup(&k.c, text);
    for (uint32_t edits = 1 + kit_random(rnd, 3); edits && n; edits--) {
        uint32_t at = kit_random(rnd, (uint32_t)n);

        switch (kit_random(rnd, 4)) {
        case 0:
            s[at] = soup[kit_random(rnd, sizeof soup - 1)];
            break;
        case 1:
            memmove(s + at, s + at + 1, n - at);
            n--;
            break;
        case 2:
            n = at;
            s[n] = '\0';
            break;
        case 3:
            memmove(s + at, text + kit_random(rnd, (uint32_t)n),
                    (n - at) / 2);
            break;
        }
    }
    if (kn_parse_text(&k.c, "m.tir", s, &f) == KILN_OK) {
        same_twice(&k, f);
        if (kn_verify(f) == KILN_OK)
            (void)kn_run_passes(&f, NULL, NULL);
    }
    if (k.c.err.status) {
        assert_true(k.c.err.status == KILN_BAD_INPUT ||
                    k.c.err.status == KILN_FINDING ||
                    k.c.err.status == KILN_UNSUPPORTED);
        assert_true(k.c.err.text[0] != '\0');
    }
    kit_close(&k);
}

/* 9000 damaged texts: a sentence or a kernel, never a crash. */
static void
damaged_texts_are_answered(void **state)
{
    uint64_t rnd = 0x9e3779b97f4a7c15u;

    (void)state;
    for (size_t i = 0; kit_kernels[i]; i++) {
        struct kit k;
        const char *text;

        kit_open(&k);
        text = kit_file(&k, kit_kernels[i]);
        for (int n = 0; n < 1000; n++)
            one_mutant(&rnd, text);
        kit_close(&k);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roundtrip_at_every_stage),
        cmocka_unit_test(dumps_feed_back),
        cmocka_unit_test(numbers_keep_their_value),
        cmocka_unit_test(damaged_texts_are_answered),
    };

    if (argc > 1)
        kit_set_dir(argv[1]);
    return cmocka_run_group_tests_name("ir-text", tests, NULL, NULL);
}
