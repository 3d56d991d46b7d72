/* Every mistake the parser and the verifier know: refused, with its place and
 * its sentence. The cases are in bad_parse.txt and bad_verify.txt; that no
 * sentence of the sources is without a case is checked from the sources. */
#include "../kit/tir.h"

#include <string.h>

/* Prints what differs; returns whether anything did. */
static bool
differs(const char *file, const struct kit_case *t, bool parses)
{
    struct kit k;
    struct kn_fn *f = NULL;
    kiln_status s;
    bool bad;

    kit_open(&k);
    s = kn_parse_text(&k.c, "bad.tir", t->text, &f);
    bad = parses && s;
    if (parses && !s)
        s = kn_verify(f);
    bad |= s != KILN_BAD_INPUT || k.c.err.line != t->line ||
           (!parses && k.c.err.col != t->col) ||
           strcmp(k.c.err.text, t->message) ||
           strcmp(k.c.err.file, t->line ? "bad.tir" : "");
    if (bad)
        print_message("# %s:%d: expected %d:%d: %s\n#   got %d:%d: %s\n", file,
                      t->at, t->line, t->col, t->message, k.c.err.line,
                      k.c.err.col, s ? k.c.err.text : "(accepted)");
    kit_close(&k);
    return bad;
}

static void
all_cases(const char *file, bool parses)
{
    struct kit k;
    struct kit_case *t;
    size_t n;
    int bad = 0;

    kit_open(&k);
    n = kit_cases(&k, file, &t);
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++)
        bad += differs(file, &t[i], parses);
    kit_close(&k);
    assert_int_equal(bad, 0);
}

static void
parser_refuses(void **state)
{
    (void)state;
    all_cases("bad_parse.txt", false);
}

static void
verifier_refuses(void **state)
{
    (void)state;
    all_cases("bad_verify.txt", true);
}

/* The string literals that follow `FAIL(`, joined, conversions as '\1'. */
static const char *
next_format(struct kit *k, const char **s)
{
    struct kn_buf b = { .c = &k->c };
    const char *p = strstr(*s, "FAIL(");

    if (!p)
        return NULL;
    p += 5;
    while (*p && *p != '"' && *p != ';')
        p++;
    while (*p == '"') {
        for (p++; *p && *p != '"'; p++) {
            if (*p == '%' && p[1] == '%') {
                kn_put(&b, "%");
                p++;
            } else if (*p == '%') {
                kn_put(&b, "\1");
                p += strspn(p + 1, "0123456789.l") + 1;
            } else {
                kn_putf(&b, "%c", *p);
            }
        }
        p++;
        p += strspn(p, " \n");
    }
    *s = p;
    return b.s ? b.s : "";
}

static bool
matches(const char *format, const char *text)
{
    for (; *format && *format != '\1'; format++, text++)
        if (*format != *text)
            return false;
    if (!*format)
        return !*text;
    for (; *text; text++)
        if (matches(format + 1, text))
            return true;
    return matches(format + 1, text);
}

static int
uncovered(const char *source, const char *cases, bool tell)
{
    struct kit k;
    struct kit_case *t;
    const char *s, *format;
    int missing = 0;
    size_t n;

    kit_open(&k);
    s = kit_file(&k, source);
    n = kit_cases(&k, cases, &t);
    while ((format = next_format(&k, &s))) {
        size_t i = 0;

        while (i < n && !matches(format, t[i].message))
            i++;
        if (i == n && *format) {
            if (tell)
                print_message("# no case for '%s' of %s\n", format, source);
            missing++;
        }
    }
    kit_close(&k);
    return missing;
}

static void
every_sentence_has_a_case(void **state)
{
    (void)state;
    assert_int_equal(uncovered("../../ir/parse.c", "bad_parse.txt", true), 0);
    assert_int_equal(uncovered("../../ir/verify/verify.c", "bad_verify.txt", true), 0);
    assert_int_equal(uncovered("../../ir/verify/verify_types.c", "bad_verify.txt",
                               true), 0);
    assert_int_equal(uncovered("../../ir/verify/verify_tiles.c", "bad_verify.txt",
                               true), 0);
}

/* The completeness check sees a missing case. */
static void
missing_case_is_seen(void **state)
{
    (void)state;
    assert_true(uncovered("../../ir/verify/verify.c", "bad_parse.txt", false) > 20);
}

/* A path longer than an error's room keeps its end, where the name is. */
static void
long_path_keeps_its_name(void **state)
{
    char path[160];
    struct kit k;

    (void)state;
    memset(path, 'd', sizeof path);
    strcpy(path + sizeof path - 10, "/name.tir");
    kit_open(&k);
    kn_fail_at(&k.c, KILN_BAD_INPUT, (struct kn_loc){ path, 3, 4, NULL }, "no");
    assert_memory_equal(k.c.err.file, "...dd", 5);
    assert_string_equal(k.c.err.file + sizeof k.c.err.file - 10, "/name.tir");
    kit_close(&k);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_path_keeps_its_name),
        cmocka_unit_test(parser_refuses),
        cmocka_unit_test(verifier_refuses),
        cmocka_unit_test(every_sentence_has_a_case),
        cmocka_unit_test(missing_case_is_seen),
    };

    if (argc > 1)
        kit_set_dir(argv[1]);
    return cmocka_run_group_tests_name("ir-refuse", tests, NULL, NULL);
}
