/* launchfile.c - reads a launch description. */
#include "inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../run/session.h"

struct reader {
    struct kn_ctx *c;
    const char *path;
    int line;
    const char *text;        /* of the line, its words ended by zeros */
    size_t length;
    const struct kn_launch_data *d;
    struct kn_launch_text *out;
};

/* A word of the line, or NULL: one is missing at its end. */
static kiln_status
bad(const struct reader *r, const char *what, const char *word)
{
    size_t col = word ? (size_t)(word - r->text) : r->length;

    return kn_fail_at(r->c, KILN_BAD_INPUT,
                      (struct kn_loc){ r->path, r->line, (int)col + 1, NULL },
                      "%s '%s'", what, word ? word : "");
}

static bool
number(const struct reader *r, const char *word, int64_t *out)
{
    const kiln_problem *p = r->d->p;
    const struct { const char *name; int64_t v; } names[] = {
        { "m", p->m }, { "n", p->n }, { "k", p->k }, { "lda", p->lda },
        { "ldb", p->ldb }, { "ldc", p->ldc }, { "batch", p->batch },
        { "groups", p->groups }, { "tokens", p->tokens },
        { "topk", p->topk }, { "ldsa", p->ldsa }, { "ldsb", p->ldsb },
        { "ldc2", p->ldc2 }, { "ldsa2", p->ldsa2 },
    };
    char *end;

    for (size_t k = 0; word && k < sizeof names / sizeof *names; k++)
        if (!strcmp(word, names[k].name)) {
            *out = names[k].v;
            return true;
        }
    if (!word)
        return false;
    errno = 0;
    *out = strtoll(word, &end, 0);
    return end > word && !*end && !errno;
}

static kiln_status
place(struct reader *r, const char *word, const void *value, size_t n)
{
    int64_t at;

    if (!number(r, word, &at) || at < 0 ||
        (uint64_t)at + n > sizeof r->out->kernarg)
        return bad(r, "no offset of a kernarg segment:", word);
    memcpy(r->out->kernarg + at, value, n);
    if ((uint64_t)at + n > r->out->size)
        r->out->size = (uint32_t)((uint64_t)at + n);
    return KILN_OK;
}

static kiln_status
place_pointer(struct reader *r, const char *offset, const char *word)
{
    const struct kn_operands *o = &r->d->o;
    bool moe = kn_family_of(r->d->p)->routed;
    const struct { const char *name; uint64_t addr; } names[] = {
        { "a", o->a }, { "b", o->b }, { "c", o->c }, { "sa", o->sa },
        { "sb", o->sb }, { "bias", o->bias }, { "offs", moe ? 0 : o->offs },
        { "tight", o->tight },
        { "ids", moe ? o->offs : 0 }, { "experts", o->experts },
        { "padded", o->padded }, { "weights", o->weights },
        { "a-sorted", r->d->a_sorted },
    };

    for (size_t k = 0; word && k < sizeof names / sizeof *names; k++)
        if (!strcmp(word, names[k].name) && names[k].addr)
            return place(r, offset, &names[k].addr, 8);
    return bad(r, "the problem has no operand", word);
}

static kiln_status
dims(struct reader *r, uint32_t out[3], char *rest, char **save)
{
    int64_t v;

    for (int i = 0; i < 3; i++) {
        const char *word = i ? strtok_r(NULL, " \t", save) : rest;

        if (i && !word) {
            out[i] = 1;
            continue;
        }
        if (!number(r, word, &v) || v < 1 || v > INT32_MAX)
            return bad(r, "no size:", word);
        out[i] = (uint32_t)v;
    }
    return KILN_OK;
}

static kiln_status
read_scalar(struct reader *r, const char *key, const char *offset,
            const char *word)
{
    int64_t v;
    char *end;
    float f;

    if (!strcmp(key, "f32")) {
        f = word ? strtof(word, &end) : 0;
        if (!word || *end)
            return bad(r, "no number:", word);
        return place(r, offset, &f, 4);
    }
    if (!number(r, word, &v))
        return bad(r, "no number:", word);
    return place(r, offset, &v, !strcmp(key, "i64") ? 8 : 4);
}

static kiln_status
read_size(struct reader *r, const char *key, const char *word)
{
    int64_t v;

    if (!number(r, word, &v) || v < 0 || v > 163840 ||
        (*key == 'k' && v > (int64_t)sizeof r->out->kernarg))
        return bad(r, "no size:", word);
    *(*key == 'k' ? &r->out->size : &r->out->lds) = (uint32_t)v;
    return KILN_OK;
}

static kiln_status
read_line(struct reader *r, char *line)
{
    char *save, *key, *one, *two;

    line[strcspn(line, "#\r")] = 0;
    r->text = line;
    r->length = strlen(line);
    key = strtok_r(line, " \t", &save);
    if (!key)
        return KILN_OK;
    one = strtok_r(NULL, " \t", &save);
    if (!strcmp(key, "grid"))
        return dims(r, r->out->grid, one, &save);
    if (!strcmp(key, "block"))
        return dims(r, r->out->block, one, &save);
    if (!strcmp(key, "lds") || !strcmp(key, "kernarg"))
        return read_size(r, key, one);
    two = strtok_r(NULL, " \t", &save);
    if (!strcmp(key, "ptr"))
        return place_pointer(r, one, two);
    if (!strcmp(key, "i32") || !strcmp(key, "i64") || !strcmp(key, "f32"))
        return read_scalar(r, key, one, two);
    return bad(r, "no line of a launch description starts with", key);
}

kiln_status
kn_launch_read(struct kn_ctx *c, const char *path,
               const struct kn_launch_data *d, struct kn_launch_text *out)
{
    struct reader r = { .c = c, .path = path, .d = d, .out = out };
    uint8_t *bytes;
    size_t size;
    char *line, *save;

    memset(out, 0, sizeof *out);
    KN_TRY(kn_file_read(c, path, &bytes, &size));
    for (line = (char *)bytes; line; line = save) {
        save = strchr(line, '\n');
        if (save)
            *save++ = 0;
        r.line++;
        KN_TRY(read_line(&r, line));
    }
    if (!out->grid[0] || !out->block[0] || !out->size)
        return kn_fail(c, KILN_BAD_INPUT, "%s: a launch needs grid, block and "
                       "arguments", path);
    return KILN_OK;
}

void
kn_job_take_launch(struct kn_job *j, const struct kn_launch_text *text)
{
    struct kn_sim_launch *l = &j->l;

    l->kernarg = text->kernarg;
    l->kernarg_size = text->size;
    l->dynamic_lds = text->lds;
    l->select.all = true;
    memcpy(l->grid, text->grid, sizeof l->grid);
    memcpy(l->block, text->block, sizeof l->block);
    j->workgroups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

kiln_status
kn_session_foreign(struct kn_session *s, struct kn_job *j, const char *path,
                   struct kn_launch_text *text)
{
    const struct kn_launch_data on = { .p = j->p, .o = j->at };

    KN_TRY(kn_launch_read(s->c, path, &on, text));
    kn_job_take_launch(j, text);
    return KILN_OK;
}
