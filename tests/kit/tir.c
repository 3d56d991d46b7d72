/* tir.c - see tir.h. */
#include "slurp.h"
#include "tir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dir = ".";

const char *const kit_kernels[] = {
    "Inputs/direct2_bf16.tir",  "Inputs/direct3_fp8_tn.tir",
    "Inputs/direct2_mxfp4.tir", "Inputs/direct2_block128.tir",
    "Inputs/regs1_bf16_tn.tir", "Inputs/regs2_i8_nn.tir",
    "Inputs/regs2_mxfp6.tir",   "Inputs/grouped_bf16_nn.tir",
    "Inputs/wave_ops.tir",      "Inputs/tile_ops.tir",
    "Inputs/lines3_bf16.tir",   "Inputs/shifted2_bf16.tir",
    "Inputs/folded_mxfp4.tir",  "Inputs/codes2_i4.tir",
    "Inputs/scaled1_nvfp4.tir",
    NULL,
};

void
kit_open(struct kit *k)
{
    kn_ctx_init(&k->c, NULL, NULL);
    k->c.oom = NULL;
}

void
kit_close(struct kit *k)
{
    kn_ctx_free(&k->c);
}

void
kit_set_dir(const char *d)
{
    dir = d;
}

char *
kit_file(struct kit *k, const char *name)
{
    struct blob b = slurp(dir, name);
    char *text = kn_strndup(&k->c, (const char *)b.p, b.n);

    free(b.p);
    return text;
}

struct kn_fn *
kit_parse(struct kit *k, const char *text)
{
    struct kn_fn *f = NULL;

    if (kn_parse_text(&k->c, "t.tir", text, &f))
        fail_msg("%d:%d: %s", k->c.err.line, k->c.err.col, k->c.err.text);
    return f;
}

char *
kit_print(struct kit *k, const struct kn_fn *f)
{
    struct kn_buf b = { .c = &k->c };

    kn_print(f, &b);
    return b.s;
}

static const char *
skip_line(const char *s)
{
    s += strcspn(s, "\n");
    return s + (*s == '\n');
}

static void
read_title(struct kit *k, const char *s, struct kit_case *c)
{
    char *end;

    c->line = (int)strtol(s, &end, 10);
    if (*end == ':' && end[1] != ' ')
        c->col = (int)strtol(end + 1, &end, 10);
    assert_true(end[0] == ':' && end[1] == ' ');
    end += 2;
    c->message = kn_strndup(&k->c, end, strcspn(end, "\n"));
}

size_t
kit_cases(struct kit *k, const char *name, struct kit_case **out)
{
    const char *s = kit_file(k, name), *prelude = "";
    struct kit_case *list = NULL;
    size_t n = 0, cap = 0;
    int line = 1;

    while (*s) {
        const char *title = s + 4, *text = skip_line(s), *next = text;
        const char *body;
        struct kit_case c = { .at = line };

        assert_memory_equal(s, "=== ", 4);
        while (*next && strncmp(next, "=== ", 4))
            next = skip_line(next);
        for (const char *p = s; p < next; p++)
            line += *p == '\n';
        body = kn_strndup(&k->c, text, (size_t)(next - text));
        s = next;
        if (!strncmp(title, "prelude", 7)) {
            prelude = body;
            continue;
        }
        read_title(k, title, &c);
        if (!strncmp(body, "kernel", 6) || *body == ';') {
            c.text = body;
        } else {
            struct kn_buf b = { .c = &k->c };

            kn_putf(&b, "%s%s", prelude, body);
            for (const char *p = prelude; *p; p++)
                c.line += *p == '\n';
            c.text = b.s;
        }
        list = kn_grow(&k->c, list, &cap, n + 1, sizeof *list);
        list[n++] = c;
    }
    *out = list;
    return n;
}

uint32_t
kit_random(uint64_t *state, uint32_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * 2685821657736338717u) >> 32) % below;
}
