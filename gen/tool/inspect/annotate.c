/* annotate.c - the template's line behind each line of LLVM IR and assembly (inspect.h). */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

/* "  ; gemm.tir:31 mfma" for a debug line, nothing for one of LLVM's own. */
static void
put_origin(struct kn_buf *b, const struct kn_fn *f, uint64_t line)
{
    const struct kn_ins *i;

    if (!line || line > f->nins)
        return;
    i = &f->ins[line - 1];
    if (i->at.file)
        kn_putf(b, "\t; %s:%d %s", i->at.file, i->at.line,
                kn_op_info((enum kn_op)i->op).text);
}

/* Bytes of the line at s, without its end. */
static int
line_length(const char *s)
{
    return (int)strcspn(s, "\n");
}

static const char *
next_line(const char *s)
{
    s += line_length(s);
    return *s ? s + 1 : s;
}

char *
kn_annotate_assembly(struct kn_ctx *c, const char *text,
                     const struct kn_fn *f)
{
    struct kn_buf b = { .c = c };

    kn_put(&b, "");
    for (const char *s = text; *s; s = next_line(s)) {
        kn_putf(&b, "%.*s", line_length(s), s);
        if (!strncmp(s, "\t.loc\t1 ", 8))
            put_origin(&b, f, strtoull(s + 8, NULL, 10));
        kn_put(&b, "\n");
    }
    return b.s;
}

/* Number behind `what` on this line, 0 without it. */
static uint64_t
number_behind(const char *s, const char *what)
{
    const char *at = strstr(s, what);

    return at && at < s + line_length(s)
               ? strtoull(at + strlen(what), NULL, 10) : 0;
}

char *
kn_annotate_llvm(struct kn_ctx *c, const char *text, const struct kn_fn *f)
{
    struct kn_buf b = { .c = c };
    uint64_t *line = NULL;
    size_t cap = 0, n = 0;

    /* "!12 = !DILocation(line: 31, ..." */
    for (const char *s = text; *s; s = next_line(s)) {
        uint64_t l = *s == '!' ? number_behind(s, "!DILocation(line: ") : 0;
        uint64_t id = l ? strtoull(s + 1, NULL, 10) : 0;

        if (!l || id > 1u << 24)
            continue;
        if (id >= n) {
            line = kn_grow(c, line, &cap, id + 1, sizeof *line);
            memset(line + n, 0, (id + 1 - n) * sizeof *line);
            n = id + 1;
        }
        line[id] = l;
    }
    kn_put(&b, "");
    for (const char *s = text; *s; s = next_line(s)) {
        uint64_t id = *s == ' ' ? number_behind(s, "!dbg !") : 0;

        kn_putf(&b, "%.*s", line_length(s), s);
        if (id && id < n)
            put_origin(&b, f, line[id]);
        kn_put(&b, "\n");
    }
    return b.s;
}
