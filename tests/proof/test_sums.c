/* The proof of the order of sums: a kernel that holds, and the same with one
 * line that takes another K, each refused with its place and what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

static const char *source = ".";

static const char *const plain = "direct2_bf16", *const widened = "widened_mxfp4",
                  *const lines = "lines3_bf16", *const folded = "folded_mxfp4";

static char *
slurp(struct kn_ctx *c, const char *name)
{
    char path[1024], *text = kn_alloc(c, 1 << 14, 1);
    FILE *f;

    snprintf(path, sizeof path, "%s/tests/ir/Inputs/%s.tir", source, name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    text[fread(text, 1, (1 << 14) - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* The text with `now` in place of the nth occurrence of `was`. */
static const char *
changed(struct kn_ctx *c, const char *text, const char *was, int nth,
        const char *now)
{
    struct kn_buf b = { .c = c };
    const char *at = text;

    while ((at = strstr(at, was)) && nth--)
        at += strlen(was);
    if (!at)
        fail_msg("no '%s' in the kernel", was);
    kn_putf(&b, "%.*s%s%s", (int)(at - text), text, now, at + strlen(was));
    return b.s;
}

static bool
argument(void *user, const char *name, int64_t *out)
{
    const int64_t *k = user;

    *out = strcmp(name, "k") ? 64 : *k;
    if (!strcmp(name, "G"))
        *out = 1;
    return true;
}

static kiln_status
prove_way(struct kn_ctx *c, const char *text, int64_t k, bool apart, struct kn_sums_facts *out)
{
    struct kn_sums_launch l = { .user = &k, .argument = argument, .apart = apart };
    struct kn_fn *f;

    if (kn_parse_text(c, "t.tir", text, &f) || kn_verify(f))
        fail_msg("%d: %s", c->err.line, c->err.text);
    return kn_prove_sums(f, &l, out);
}

static kiln_status
prove(struct kn_ctx *c, const char *text, int64_t k, struct kn_sums_facts *out)
{
    return prove_way(c, text, k, false, out);
}

static void
a_right_kernel_is_followed(void **state)
{
    static const int64_t ks[] = { 0, 1, 63, 64, 65, 128, 1000, 4096 };

    (void)state;
    for (size_t i = 0; i < 3 * sizeof ks / sizeof *ks; i++) {
        const char *const kernel[] = { plain, widened, lines };
        int64_t k = ks[i / 3];
        struct kn_sums_facts f;
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        if (prove(&c, slurp(&c, kernel[i % 3]), k, &f))
            fail_msg("K %lld: %d: %s", (long long)k, c.err.line, c.err.text);
        assert_int_equal(f.k, k);
        assert_int_equal(f.step, 32);
        assert_int_equal(f.sums, 1);
        kn_ctx_free(&c);
    }
}

/* Blocks that are not folded are multiplied one by one, and then nothing else of them. */
static void
both_ways_are_followed(void **state)
{
    static const int64_t ks[] = { 1, 32, 64, 65, 200 };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof ks / sizeof *ks; i++) {
        struct kn_sums_facts f;
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        if (prove_way(&c, slurp(&c, folded), ks[i / 2], i % 2, &f))
            fail_msg("K %lld: %d: %s", (long long)ks[i / 2], c.err.line, c.err.text);
        assert_int_equal(f.k, ks[i / 2]);
        kn_ctx_free(&c);
    }
}

static void
halves_make_a_whole(void **state)
{
    struct kn_sums_facts f;
    struct kn_ctx c;
    const char *text;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    text = changed(&c, slurp(&c, plain), "    mma %acc, %fa, %fb\n", 1,
                   "    mma %acc, %fa, %fb half=2\n    mma %acc, %fa, %fb half=1\n");
    if (prove(&c, text, 200, &f))
        fail_msg("%d: %s", c.err.line, c.err.text);
    kn_ctx_free(&c);
}

/* A kernel of which one line is another, and what is said of it. */
struct change {
    const char *was;
    int nth;
    const char *now, *sentence, *kernel; /* NULL: plain */
};

/* K is 200: four tiles, the last of 8. */
static const struct change wrong[] = {
    { "    %fb = read %sB[0] kk=1\n", 0, "",
      "K 32 of A is multiplied with K 0 of %sB", NULL },
    { "    %fa = read %sA[1]\n", 0, "    %fa = read %sA[0]\n",
      "K 128 of A is multiplied with K 64 of %sB", NULL },
    { "  advance %gB\n", 0, "", "K 64 of A is multiplied with K 0 of %sB", NULL },
    { "    mma %acc, %fa, %fb\n", 1, "",
      "K 64 is added where K 32 is next", NULL },
    { "    mma %acc, %fa, %fb\n", 2,
      "    mma %acc, %fa, %fb\n    mma %acc, %fa, %fb\n",
      "K 64 is added where K 96 is next", NULL },
    { "    mma %acc, %fa, %fb\n", 1, "    mma %acc, %fa, %fb half=1\n",
      "K 64 is added where K 32 is next", NULL },
    { "    mma %acc, %fa, %fb\n", 2,
      "    mma %acc, %fa, %fb half=2\n    mma %acc, %fa, %fb half=2\n",
      "K 64 is added where K 96 is next", NULL },
    { "    %fb = read %sB[0] kk=1\n", 0, "    %fb = read %sB[0] kk=1 part=0 parts=2\n",
      "K 32 of A is multiplied with K 0 of %sB", NULL },
    { "  %tiles = udiv %tiles, 64\n", 0,
      "  %tiles = udiv %tiles, 64\n  %tiles = sub %tiles, 1\n",
      "a sum of K 200 leaves with K 0 to 192", NULL },
    { "  copy %sA[0], %gA\n", 0, "  copy %sA[0], %gA part=0 parts=2\n",
      "%sA is read where a part of it holds other K than the rest", NULL },
    { "    copy %sA[1], %gA\n", 0, "    copy %sA[1], %gA part=1 parts=2\n",
      "%sA is read where a part of it holds other K than the rest", NULL },
    { "    advance %gA\n", 1, "    %no:s.b1 = ne %k, %k\n    advance %gA, %no\n",
      "K 192 is not copied", NULL },
    { "  store %acc,", 0, "  %acc = clear\n  store %acc,",
      "a sum leaves that nothing was added to", NULL },
    { "  copy %sA[0], %gA\n", 0, "  advance %gA\n  advance %gB\n  copy %sA[0], "
      "%gA\n", "a sum of K 200 leaves with K 64 to 320", NULL },
    { "  advance %gSB\n", 0, "", "K 64 of %sB is widened with the scales of "
      "another K", "widened_mxfp4" },
    { "    copy %sA[2], %gA, %ahead\n", 0, "", "%sA is read where a part of it "
      "holds other K than the rest", "lines3_bf16" },
    { "  advance %gB\n", 0, "", "%sB is read with K 0 behind K 0", "lines3_bf16" },
    { "    %fa = read %sA[1]\n", 0, "    %fa = read %sA[2]\n",
      "K 128 of A is multiplied with K 64 of %sB", "lines3_bf16" },
    { "    put %sA[0], %rA0, %rA1\n", 0, "    put %sA[0], %rA0, %rA0\n",
      "K 0 of %sA is joined with lines that are not of the K behind it", "shifted2_bf16" },
    { "    %more = sge %tiles, 3\n", 1, "    %more = sge %tiles, 4\n",
      "K 192 is not copied", "shifted2_bf16" },
};

/* Of blocks that are not folded. */
static const struct change wrong_apart[] = {
    { "      wipe %fa\n", 0, "", "K 32 is added where K 64 is next", "folded_mxfp4" },
    { "      %ya = read %sFA[0] kk=1\n", 0, "",
      "K 32 of A is multiplied with K 0 of %sFA", "folded_mxfp4" },
    { "      %ub = read %sB[0] kk=1\n", 0, "",
      "K 32 of A is multiplied with K 0 of %sB", "folded_mxfp4" },
};

static void
all_are_found(const struct change *of, size_t count, bool apart)
{
    for (size_t i = 0; i < count; i++) {
        const char *kernel = of[i].kernel ? of[i].kernel : plain;
        struct kn_sums_facts f;
        struct kn_ctx c;
        kiln_status s;

        kn_ctx_init(&c, NULL, NULL);
        s = prove_way(&c, changed(&c, slurp(&c, kernel), of[i].was, of[i].nth, of[i].now), 200,
                      apart, &f);
        if (s != KILN_FINDING || strcmp(c.err.text, of[i].sentence))
            fail_msg("%zu: status %d, \"%s\"", i, (int)s, c.err.text);
        else
            assert_true(c.err.line > 0);
        kn_ctx_free(&c);
    }
}

static void
another_k_is_found(void **state)
{
    (void)state;
    all_are_found(wrong, sizeof wrong / sizeof *wrong, false);
}

static void
a_block_too_often_is_found(void **state)
{
    (void)state;
    all_are_found(wrong_apart, sizeof wrong_apart / sizeof *wrong_apart, true);
}

/* Elements that are widened before they are put: a kernel that holds, and such as take
 * another K's scales, and put a half alone. */
static void
conversion_is_followed(void **state)
{
    static const char *const ways[][3] = {
        { "", "", "" },
        { "  advance %gSB\n", "", "K 64 of %sB is widened with the scales of another K" },
        { "put %sB[0], %cB", "put %sB[0], %cB part=1 parts=2",
          "%sB is read where a part of it holds other K than the rest" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct kn_sums_facts f;
        const char *text;
        struct kn_ctx c;
        kiln_status s;

        kn_ctx_init(&c, NULL, NULL);
        text = changed(&c, slurp(&c, widened), "put %sB[0], %rB, %rSB", 0,
                       "%cB:tile = convert %rB, %rSB\n    put %sB[0], %cB");
        s = prove(&c, changed(&c, text, ways[i][0], 0, ways[i][1]), 200, &f);
        if (s != (i ? KILN_FINDING : KILN_OK) || strcmp(c.err.text, ways[i][2]))
            fail_msg("%zu: status %d, \"%s\"", i, (int)s, c.err.text);
        kn_ctx_free(&c);
    }
}

/* ---- K begun elsewhere --------------------------------------------------- */

/* The kernel with its views rotated to K `first`, of a launch that is staggered
 * or not. */
static kiln_status
rotated(struct kn_ctx *c, const char *first, const char *was, const char *now,
        bool staggered)
{
    static const int64_t k = 200;
    struct kn_sums_launch l = { .user = (void *)&k, .argument = argument,
                                .staggered = staggered };
    const char *text = slurp(c, plain);
    struct kn_sums_facts facts;
    struct kn_buf a = { .c = c }, b = { .c = c };
    struct kn_fn *f;
    kiln_status s;

    kn_putf(&a, "  rotate %%gA, %s, %%k\n  copy %%sA[0], %%gA\n", first);
    kn_putf(&b, "  rotate %%gB, %s, %%k\n  copy %%sB[0], %%gB\n", first);
    text = changed(c, text, "  copy %sA[0], %gA\n", 0, a.s);
    text = changed(c, text, "  copy %sB[0], %gB\n", 0, b.s);
    if (was)
        text = changed(c, text, was, 0, now);
    if (kn_parse_text(c, "t.tir", text, &f) || kn_verify(f))
        fail_msg("%d: %s", c->err.line, c->err.text);
    s = kn_prove_sums(f, &l, &facts);
    if (!s)
        assert_int_equal(facts.rotated, *first != '0');
    return s;
}

static void
a_rotation_is_each_k_once(void **state)
{
    static const char *const firsts[] = { "0", "64", "128", "192" };

    (void)state;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        if (rotated(&c, firsts[i], NULL, NULL, true))
            fail_msg("K %s: %d: %s", firsts[i], c.err.line, c.err.text);
        kn_ctx_free(&c);
    }
}

static const struct {
    const char *first, *was, *now, *sentence;
    bool staggered;
} wrong_rotation[] = {
    { "64", NULL, NULL, "K 0 is added where K 256 is next", false },
    { "32", NULL, NULL, "a view of K 200 cannot begin at K 32 of 200", true },
    { "256", NULL, NULL, "a view of K 200 cannot begin at K 256 of 200", true },
    { "64", "  rotate %gB, 64, %k\n", "", "K 0 of %sB", true },
    { "128", "  %tiles = udiv %tiles, 64\n",
      "  %tiles = udiv %tiles, 64\n  %tiles = sub %tiles, 1\n",
      "a sum of K 200 leaves without K 64 to 128", true },
    { "128", "  %tiles = udiv %tiles, 64\n",
      "  %tiles = udiv %tiles, 64\n  %tiles = add %tiles, 1\n",
      "K 128 is added a second time", true },
};

static void
another_rotation_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_rotation / sizeof *wrong_rotation; i++) {
        struct kn_ctx c;
        kiln_status s;

        kn_ctx_init(&c, NULL, NULL);
        s = rotated(&c, wrong_rotation[i].first, wrong_rotation[i].was,
                    wrong_rotation[i].now, wrong_rotation[i].staggered);
        if (s != KILN_FINDING || !strstr(c.err.text, wrong_rotation[i].sentence))
            fail_msg("%zu: status %d, \"%s\"", i, (int)s, c.err.text);
        kn_ctx_free(&c);
    }
}

static bool
knows_no_k(void *user, const char *name, int64_t *out)
{
    *out = *(const int64_t *)user;
    return strcmp(name, "k");
}

static void
what_is_not_known_is_said(void **state)
{
    int64_t one = 1;
    struct kn_sums_launch l = { .user = &one, .argument = knows_no_k };
    struct kn_sums_facts facts;
    struct kn_ctx c;
    struct kn_fn *f;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_parse_text(&c, "t.tir", slurp(&c, plain), &f), KILN_OK);
    assert_int_equal(kn_prove_sums(f, &l, &facts), KILN_UNSUPPORTED);
    assert_string_equal(c.err.text, "the length of K depends on what the "
                        "launch does not say");
    kn_ctx_free(&c);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_is_followed),
        cmocka_unit_test(both_ways_are_followed),
        cmocka_unit_test(halves_make_a_whole),
        cmocka_unit_test(another_k_is_found),
        cmocka_unit_test(a_block_too_often_is_found),
        cmocka_unit_test(conversion_is_followed),
        cmocka_unit_test(a_rotation_is_each_k_once),
        cmocka_unit_test(another_rotation_is_found),
        cmocka_unit_test(what_is_not_known_is_said),
    };

    if (argc > 1)
        source = argv[1];
    return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
