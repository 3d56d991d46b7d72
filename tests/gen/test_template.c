/* test_template.c - the template language: what texts become, and each refusal
 * with its place. Cases are in template.txt:
 *
 *     === TITLE
 *     text of root.tir
 *     --- NAME
 *     text of NAME.tir
 *     --- expect
 *     the lines it becomes, or FILE:LINE: MESSAGE */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen/template/template.h"

static const char *dir;

enum { PARTS = 4 };

struct texts {
    const char *name[PARTS], *text[PARTS];
    int n;
};

static const char *
text_of(const struct texts *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->name[i], name))
            return t->text[i];
    return NULL;
}

static kiln_status
open_text(struct kn_ctx *c, const void *user, const char *name,
          const char **file, const char **text)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%s.tir", name);
    *file = b.s;
    *text = text_of(user, name);
    return KILN_OK;
}

static bool
fact(struct kn_ctx *c, const void *user, const char *name, struct kn_fact_value *out)
{
    static const struct {
        const char *name;
        struct kn_fact_value value;
    } facts[] = {
        { "N", { NULL, 3 } },           { "ZERO", { NULL, 0 } },
        { "TA", { "bf16", 0 } },        { "which", { "two", 0 } },
        { "family", { "grouped", 0 } }, { "grouped", { "grouped", 0 } },
        { "gemm", { "gemm", 0 } },
    };

    (void)c;
    (void)user;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strcmp(facts[i].name, name)) {
            *out = facts[i].value;
            return true;
        }
    return false;
}

/* What the texts become, as the case writes it. */
static char *
result(struct kn_ctx *c, const struct texts *t)
{
    struct kn_library lib = { t, KILN_BAD_INPUT, open_text, fact };
    struct kn_buf b = { .c = c };
    struct kn_line *line;
    size_t n;

    kn_put(&b, "");
    if (kn_template_expand(c, &lib, "root", &line, &n))
        kn_putf(&b, "%s:%d: %s\n", c->err.file, c->err.line, c->err.text);
    else
        for (size_t i = 0; i < n; i++)
            kn_putf(&b, "%s\n", line[i].text);
    return b.s;
}

/* Cuts a case at its lines that begin with ---. */
static struct texts
cut(char *text)
{
    struct texts t = { { "root" }, { text }, 1 };

    while (t.n < PARTS && (text = strstr(text, "--- "))) {
        t.name[t.n] = text + 4;
        *text = '\0';
        text = strchr(text + 1, '\n');
        *text++ = '\0';
        t.text[t.n++] = text;
    }
    return t;
}

static bool
holds(char *text)
{
    struct texts t = cut(text);
    struct kn_ctx c;
    jmp_buf oom;
    bool ok;
    char *got;

    kn_ctx_init(&c, NULL, NULL);
    c.oom = &oom;
    if (setjmp(oom))
        fail_msg("out of memory");
    got = result(&c, &t);
    ok = !strcmp(got, text_of(&t, "expect"));
    if (!ok)
        print_error("expected:\n%sgot:\n%s", text_of(&t, "expect"), got);
    kn_ctx_free(&c);
    return ok;
}

static char *
read_cases(void)
{
    char path[512], *text = malloc(1 << 16);
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "%s/template.txt", dir);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(text);
    n = fread(text, 1, (1 << 16) - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

static void
cases_hold(void **state)
{
    char *text = read_cases(), *next;
    int n = 0, bad = 0;

    (void)state;
    for (char *p = strstr(text, "=== "); p; p = next, n++) {
        char *body = strchr(p + 4, '\n') + 1;

        next = strstr(body, "\n=== ");
        if (next)
            *++next = '\0';
        body[-1] = '\0';
        if (!holds(body)) {
            print_error("in: %s\n", p + 4);
            bad++;
        }
    }
    free(text);
    assert_true(n > 40);
    assert_int_equal(bad, 0);
}

/* Each sentence of the engine is one that a case sees. */
static int
unseen(const char *source, const char *cases)
{
    int n = 0;

    for (const char *p = source; (p = strstr(p, "KN_BAD(")); p++) {
        const char *q = strchr(p, '"') + 1;
        char head[64];
        size_t len = strcspn(q, "\"%");

        if (len < 4 || len >= sizeof head)
            continue;
        memcpy(head, q, len);
        head[len] = '\0';
        if (!strstr(cases, head)) {
            if (*cases)
                print_error("no case: %s\n", head);
            n++;
        }
    }
    return n;
}

static void
sentences_are_seen(void **state)
{
    static const char *const files[] = { "template.c", "expr.c" };
    char *cases = read_cases();

    (void)state;
    for (int i = 0; i < 2; i++) {
        char path[512], *text = calloc(1 << 16, 1);
        FILE *f;

        snprintf(path, sizeof path, "%s/../../gen/template/%s", dir, files[i]);
        f = fopen(path, "r");
        assert_non_null(f);
        assert_true(fread(text, 1, (1 << 16) - 1, f) > 1000);
        fclose(f);
        assert_int_equal(unseen(text, cases), 0);
        assert_int_not_equal(unseen(text, ""), 0);
        free(text);
    }
    free(cases);
}

/* A text for every name: the name before with one character more is used. */
static kiln_status
open_endless(struct kn_ctx *c, const void *user, const char *name,
             const char **file, const char **text)
{
    struct kn_buf b = { .c = c };

    (void)user;
    kn_putf(&b, ".use %sx\n", name);
    *file = "endless.tir";
    *text = b.s;
    return KILN_OK;
}

static void
files_and_definitions_end(void **state)
{
    static const struct texts none;
    struct kn_library lib = { &none, KILN_BAD_INPUT, open_endless, fact };
    struct kn_buf many = { 0 };
    struct texts t = { { "root" }, { NULL }, 1 };
    struct kn_line *line;
    struct kn_ctx c;
    jmp_buf oom;
    size_t n;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    c.oom = &oom;
    if (setjmp(oom))
        fail_msg("out of memory");
    assert_int_equal(kn_template_expand(&c, &lib, "x", &line, &n),
                     KILN_BAD_INPUT);
    assert_string_equal(c.err.text, "more than 64 files");
    memset(&c.err, 0, sizeof c.err);
    many.c = &c;
    for (int i = 0; i < 1001; i++)
        kn_putf(&many, ".def f%d()\n.end\n", i);
    t.text[0] = many.s;
    assert_string_equal(result(&c, &t),
                        "root.tir:2001: more than 1000 definitions\n");
    kn_ctx_free(&c);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_hold),
        cmocka_unit_test(sentences_are_seen),
        cmocka_unit_test(files_and_definitions_end),
    };

    dir = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests_name("gen-template", tests, NULL, NULL);
}
