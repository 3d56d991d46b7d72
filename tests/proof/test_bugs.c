/* One minimal kernel for each public bug class of hand-counted waits, refused
 * with its sentence, and its fixed twin, accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

static const char *dir = ".";

static char *
slurp(struct kn_ctx *c, const char *name, const char *end)
{
    char path[1024], *text = kn_alloc(c, 1 << 16, 1);
    FILE *f;

    snprintf(path, sizeof path, "%s/bugs/%s%s", dir, name, end);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    text[fread(text, 1, (1 << 16) - 1, f)] = '\0';
    fclose(f);
    return text;
}

static kiln_status
prove(struct kn_ctx *c, const char *text)
{
    struct kn_fn *f;

    if (kn_parse_text(c, "t.tir", text, &f))
        fail_msg("%d: %s", c->err.line, c->err.text);
    return kn_verify(f) ? KILN_FINDING : kn_prove(f);
}

/* `; expect LINE: SENTENCE`, over as many comment lines as it takes. */
static void
check_sentence(struct kn_ctx *c, const char *name, const char *text)
{
    const char *s = strstr(text, "; expect ");
    struct kn_buf want = { .c = c }, got = { .c = c };

    assert_non_null(s);
    kn_putf(&want, "%.*s", (int)strcspn(s + 9, "\n"), s + 9);
    while ((s = strchr(s, '\n')) && !strncmp(s, "\n;   ", 5)) {
        s += 5;
        kn_putf(&want, " %.*s", (int)strcspn(s, "\n"), s);
    }
    kn_putf(&got, "%d: %s", c->err.line, c->err.text);
    if (strcmp(want.s, got.s))
        fail_msg("%s:\n  %s\nnot\n  %s", name, got.s, want.s);
}

static void
one_pair(const char *name)
{
    struct kn_ctx c;
    char *text;

    kn_ctx_init(&c, NULL, NULL);
    text = slurp(&c, name, ".bad.tir");
    if (prove(&c, text) != KILN_FINDING)
        fail_msg("%s.bad.tir is accepted", name);
    check_sentence(&c, name, text);
    kn_ctx_free(&c);

    kn_ctx_init(&c, NULL, NULL);
    if (prove(&c, slurp(&c, name, ".good.tir")))
        fail_msg("%s.good.tir: %d: %s", name, c.err.line, c.err.text);
    kn_ctx_free(&c);
}

static void
bugs_are_refused_and_fixes_accepted(void **state)
{
    struct kn_ctx c;
    int n = 0;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    for (char *save = NULL, *s = slurp(&c, "names", ".txt"), *w;
         (w = strtok_r(save ? NULL : s, "\n", &save)); n++)
        one_pair(w);
    assert_true(n >= 46);
    kn_ctx_free(&c);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bugs_are_refused_and_fixes_accepted),
    };

    if (argc > 1)
        dir = argv[1];
    return cmocka_run_group_tests_name("proof-bugs", tests, NULL, NULL);
}
