/* moe.h - a test's `run moe`, and the files it takes and leaves. */
#ifndef KN_TEST_MOE_H
#define KN_TEST_MOE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../gen/tool/run/cmd_run_moe.h"

struct setting {
    struct kn_ctx c;
    struct kn_cli cli;
    struct kn_progress progress;
    struct kn_buf text;
    struct kn_tool t;
};

static inline kiln_status
start(struct setting *s, const char *line)
{
    char *argv[64], words[512];
    int argc = 0;

    memset(s, 0, sizeof *s);
    kn_ctx_init(&s->c, NULL, NULL);
    s->text.c = &s->c;
    s->t = (struct kn_tool){ .c = &s->c, .cli = &s->cli,
                             .progress = &s->progress, .text = &s->text };
    snprintf(words, sizeof words, "kilnc run moe %s", line);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
        argv[argc++] = kn_strdup(&s->c, w);
    return kn_cli_parse(&s->c, argc, argv, &s->cli);
}

static inline void
expect_run(const char *line, kiln_status want)
{
    struct setting s;
    kiln_status got = start(&s, line);

    if (!got)
        got = kn_run_moe(&s.t);
    if (got != want || (!got && !strstr(s.text.s, "check     ok")))
        fail_msg("run moe %s: status %d, %s\n%s", line, got, s.c.err.text,
                 s.text.s ? s.text.s : "");
    kn_ctx_free(&s.c);
}

static inline void
write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static inline void *
read_file(struct kn_ctx *c, const char *name, size_t size)
{
    FILE *f = fopen(name, "rb");
    void *p = KN_NEW(c, uint8_t, size + 1);

    assert_non_null(f);
    assert_int_equal(fread(p, 1, size + 1, f), size);
    fclose(f);
    remove(name);
    return p;
}

#endif
