/* config.c - the text form of a configuration. */
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(id, text) text,
#define NUMBER(key, field, printed)
#define WORD(key, field, names, printed)                                    \
    static const char *const field##_names[] = { names(TEXT) };
#include "config.def"
#undef WORD
#undef NUMBER

static bool
shown(unsigned value, unsigned printed, bool always)
{
    return !printed == always && value >= printed;
}

/* The parts that are always there, or those that are there if they say
 * something. */
static void
print_parts(const struct kn_config *g, bool always, struct kn_buf *out)
{
#define NUMBER(key, field, printed)                                         \
    if (shown(g->field, printed, always))                                   \
        kn_putf(out, " %s=%u", key, g->field);
#define WORD(key, field, names, printed)                                    \
    if (shown(g->field, printed, always))                                   \
        kn_putf(out, " %s=%s", key, field##_names[g->field]);
#include "config.def"
#undef WORD
#undef NUMBER
}

void
kn_config_print(const struct kn_config *g, struct kn_buf *out)
{
    const struct kn_domain *d = &g->domain;

    kn_putf(out, "tile=%ux%ux%u waves=%ux%u", g->bm, g->bn, g->bk, g->wm,
            g->wn);
    print_parts(g, true, out);
    kn_putf(out, " align=%u,%u,%u,%u vec=%u ktail=%u", d->align_a, d->align_b,
            d->align_sa, d->align_sb, d->vec, d->ktail);
    if (d->windows)
        kn_put(out, " windows=1");
    if (d->panels)
        kn_putf(out, " panels=%u", d->panels);
    print_parts(g, false, out);
}

void
kn_config_over(struct kn_config *row, const struct kn_config *given)
{
#define NUMBER(key, field, printed)                                         \
    row->field = given->field ? given->field : row->field;
#define WORD(key, field, names, printed) NUMBER(key, field, printed)
#include "config.def"
#undef WORD
#undef NUMBER
}

/* Reads numbers separated by `sep` into out[0..n); false unless all n. */
static bool
numbers(const char *s, char sep, uint32_t **out, int n)
{
    for (int i = 0; i < n; i++) {
        char *end;
        unsigned long v = strtoul(s, &end, 10);

        if (end == s || v > 1u << 20 || *end != (i + 1 < n ? sep : '\0'))
            return false;
        *out[i] = (uint32_t)v;
        s = end + 1;
    }
    return true;
}

static bool
set_align(struct kn_domain *d, const char *v)
{
    uint32_t x[4], *at[4] = { &x[0], &x[1], &x[2], &x[3] };

    if (!numbers(v, ',', at, 4))
        return false;
    for (int i = 0; i < 4; i++)
        if (x[i] != 1 && x[i] != 2 && x[i] != 4 && x[i] != 16)
            return false;
    d->align_a = (uint8_t)x[0];
    d->align_b = (uint8_t)x[1];
    d->align_sa = (uint8_t)x[2];
    d->align_sb = (uint8_t)x[3];
    return true;
}

static bool
set_small(uint8_t *field, const char *v, unsigned most)
{
    char *end;
    unsigned long x = strtoul(v, &end, 10);

    *field = (uint8_t)x;
    return end != v && !*end && x <= most;
}

static bool
set_part(struct kn_config *g, const char *k, const char *v)
{
    int i;

#define NUMBER(key, field, printed)                                         \
    if (!strcmp(k, key))                                                    \
        return numbers(v, 0, (uint32_t *[]){ &g->field }, 1);
#define WORD(key, field, names, printed)                                    \
    if (!strcmp(k, key)) {                                                  \
        i = kn_name_index(field##_names,                                    \
                          sizeof field##_names / sizeof *field##_names, v); \
        g->field = i < 0 ? 0 : (unsigned)i;                                 \
        return i > 0 || (!i && !(printed));                                 \
    }
#include "config.def"
#undef WORD
#undef NUMBER
    return false;
}

static bool
set_field(struct kn_config *g, const char *k, const char *v)
{
    if (!strcmp(k, "tile"))
        return numbers(v, 'x', (uint32_t *[]){ &g->bm, &g->bn, &g->bk }, 3);
    if (!strcmp(k, "waves"))
        return numbers(v, 'x', (uint32_t *[]){ &g->wm, &g->wn }, 2);
    if (!strcmp(k, "align"))
        return set_align(&g->domain, v);
    if (!strcmp(k, "vec"))
        return set_small(&g->domain.vec, v, 4);
    if (!strcmp(k, "windows"))
        return set_small(&g->domain.windows, v, 1);
    if (!strcmp(k, "panels"))
        return set_small(&g->domain.panels, v, KN_PANELS_BESIDE);
    if (!strcmp(k, "ktail"))
        return set_small(&g->domain.ktail, v, KN_TAIL_RUNS);
    return set_part(g, k, v);
}

/* The text in today's words. */
static const char *
in_words_of_now(struct kn_ctx *c, const char *text)
{
    static const char *const words[][2] = {
#define X(then, now) { then, now },
        KN_OLD_SCHEDULES(X)
#undef X
    };
    static const char key[] = "schedule=";
    const char *at = strstr(text, key);
    size_t n = at ? strcspn(at += sizeof key - 1, " ") : 0;
    struct kn_buf now = { .c = c };

    for (size_t i = 0; n && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i][0]) == n && !memcmp(at, words[i][0], n)) {
            kn_putf(&now, "%.*s%s%s", (int)(at - text), text, words[i][1],
                    at + n);
            return now.s;
        }
    return text;
}

const char *
kn_config_read(struct kn_ctx *c, const char *text, struct kn_config *g)
{
    char *copy = kn_strdup(c, in_words_of_now(c, text)), *save = NULL;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(w, '=');

        if (eq)
            *eq = '\0';
        if (!eq || !set_field(g, w, eq + 1)) {
            struct kn_buf part = { .c = c };

            kn_putf(&part, "%s=%s", w, eq ? eq + 1 : "");
            return part.s;
        }
    }
    return NULL;
}

kiln_status
kn_config_parse(struct kn_ctx *c, const char *text, struct kn_config *g)
{
    const char *bad = kn_config_read(c, text, g);

    return bad ? kn_fail(c, KILN_BAD_INPUT, "'%s' is no valid part of a "
                         "configuration", bad) : KILN_OK;
}

kiln_status
kn_config_take(struct kn_ctx *c, const char *text, struct kn_config *g)
{
    struct kn_buf printed = { .c = c };
    const struct kn_domain *d = &g->domain;
    bool sound;

    memset(g, 0, sizeof *g);
    KN_TRY(kn_config_parse(c, text, g));
    kn_config_print(g, &printed);
    sound = g->bm && g->bn && g->bk && g->bm <= 4096 && g->bn <= 4096 &&
            g->bk <= 4096 && g->wm && g->wn && g->wm * g->wn <= 16 &&
            g->stages && g->split_k && g->split_k <= KN_SPLIT_MOST &&
            g->group_m && g->xcd && d->align_a && d->align_b &&
            d->align_sa && d->align_sb && d->vec;
    if (!sound || strcmp(printed.s, in_words_of_now(c, text)))
        return kn_fail(c, KILN_BAD_INPUT, "'%s' is no complete configuration",
                       text);
    return KILN_OK;
}
