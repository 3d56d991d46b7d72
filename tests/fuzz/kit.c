/* kit.c - see fuzz.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gen/gen.h"
#include "gen/tool/progress.h"

bool
fuzz_as_it_is(const uint8_t *p, size_t n)
{
    unsigned sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += p[i];
    return sum & 1;
}

const char *
fuzz_write(const char *name, const void *p, size_t n)
{
    FILE *f = fopen(name, "wb");

    if (!f || (n && fwrite(p, 1, n, f) != n) || fclose(f))
        abort();
    return name;
}

void
fuzz_judge(const struct kn_ctx *c, kiln_status s)
{
    const char *text = c->err.text;

    if (s == KILN_NO_MEMORY) {
        fprintf(stderr, "out of memory\n");
        abort();
    }
    if (s == KILN_FINDING && !c->err.status)
        return;              /* the report says which */
    if (s != c->err.status || (s && !text[0])) {
        fprintf(stderr, "status %d, recorded %d '%s'\n", (int)s,
                (int)c->err.status, text);
        abort();
    }
}

static int
count(const char *const *words)
{
    int n = 0;

    while (words[n])
        n++;
    return n;
}

kiln_status
fuzz_command(struct kn_ctx *c, const char *const *words)
{
    struct kn_progress quiet = { 0 };
    struct kn_buf text = { .c = c };
    struct kn_cli cli;
    struct kn_tool t = { .c = c, .cli = &cli, .progress = &quiet,
                         .text = &text };

    KN_ENTER(c);
    KN_TRY(kn_cli_parse(c, count(words), (char **)words, &cli));
    if (cli.help) {
        kn_help_command(&text, cli.command, -1);
        return KILN_OK;
    }
    KN_TRY(kn_cli_judge(c, &cli));
    return kn_command_run(&t);
}

void
fuzz_run(const char *const *words)
{
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    fuzz_judge(&c, fuzz_command(&c, words));
    kn_ctx_free(&c);
}

kiln_problem
fuzz_problem(unsigned which)
{
    return (kiln_problem){ .size = sizeof(kiln_problem),
        .target = which ? KILN_GFX942 : KILN_GFX950,
        .a = which ? KILN_FP8 : KILN_BF16, .m = 64, .n = 64, .k = 128 };
}

const struct kn_generated *
fuzz_kernel(unsigned which)
{
    static struct kn_generated made[2];
    static struct kn_ctx c[2];
    kiln_problem p = fuzz_problem(which);

    if (!made[which].co) {
        kn_ctx_init(&c[which], NULL, NULL);
        if (kn_generate(&c[which], &p, NULL, NULL, &made[which])) {
            fprintf(stderr, "%s\n", c[which].err.text);
            exit(2);
        }
    }
    return &made[which];
}
