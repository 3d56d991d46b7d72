/* config.c - the text form of a configuration. */
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schedules[] = {
#define X(id, text) text,
    KN_SCHEDULES(X)
#undef X
};

static const char *const earlies[] = {
#define X(id, text) text,
    KN_EARLIES(X)
#undef X
};
static const char *const stores[] = {
#define X(id, text) text,
    KN_STORES(X)
#undef X
};
static const char *const lowerings[] = {
#define X(id, text) text,
    KN_LOWERINGS(X)
#undef X
};
static const char *const lookups[] = {
#define X(id, text) text,
    KN_LOOKUPS(X)
#undef X
};

void
kn_config_print(const struct kn_config *g, struct kn_buf *out)
{
    const struct kn_domain *d = &g->domain;

    kn_putf(out, "tile=%ux%ux%u waves=%ux%u schedule=%s stages=%u split-k=%u "
            "group-m=%u xcd=%u cus=%u align=%u,%u,%u,%u vec=%u ktail=%u",
            g->bm, g->bn, g->bk, g->wm, g->wn, schedules[g->schedule],
            g->stages, g->split_k, g->group_m, g->xcd, g->cus, d->align_a,
            d->align_b, d->align_sa, d->align_sb, d->vec, d->ktail);
    if (d->windows)
        kn_put(out, " windows=1");
    if (g->early > KN_EARLY_NONE)
        kn_putf(out, " early=%s", earlies[g->early]);
    if (g->nt_b)
        kn_putf(out, " nt-b=%u", g->nt_b);
    if (g->lookup)
        kn_putf(out, " lookup=%s", lookups[g->lookup]);
    if (g->group_n)
        kn_putf(out, " group-n=%u", g->group_n);
    if (g->xcd_run)
        kn_putf(out, " xcd-run=%u", g->xcd_run);
    if (g->store == KN_STORE_LDS)
        kn_put(out, " store=lds");
    if (g->lowering == KN_LOWERING_ASM)
        kn_put(out, " lowering=asm");
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
set_field(struct kn_config *g, const char *k, const char *v)
{
    const struct {
        const char *name;
        char sep;
        int n;
        uint32_t *at[3];
    } fields[] = {
        { "tile", 'x', 3, { &g->bm, &g->bn, &g->bk } },
        { "waves", 'x', 2, { &g->wm, &g->wn } },
        { "stages", 0, 1, { &g->stages } },
        { "split-k", 0, 1, { &g->split_k } },
        { "group-m", 0, 1, { &g->group_m } },
        { "xcd", 0, 1, { &g->xcd } },
        { "cus", 0, 1, { &g->cus } },
        { "group-n", 0, 1, { &g->group_n } },
        { "xcd-run", 0, 1, { &g->xcd_run } },
        { "nt-b", 0, 1, { &g->nt_b } },
    };

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(k, fields[i].name))
            return numbers(v, fields[i].sep, (uint32_t **)fields[i].at,
                           fields[i].n);
    if (!strcmp(k, "schedule")) {
        int s = kn_name_index(schedules, KN_NSCHEDULES, v);

        g->schedule = (enum kn_schedule)(s < 0 ? 0 : s);
        return s >= 0;
    }
    if (!strcmp(k, "early")) {
        int s = kn_name_index(earlies, KN_NEARLIES, v);

        g->early = s < 0 ? 0 : (uint32_t)s;
        return s > 0;
    }
    if (!strcmp(k, "store")) {
        int s = kn_name_index(stores, KN_NSTORES, v);

        g->store = (enum kn_store)(s < 0 ? 0 : s);
        return s > 0;
    }
    if (!strcmp(k, "lowering")) {
        int s = kn_name_index(lowerings, KN_NLOWERINGS, v);

        g->lowering = (enum kn_lowering)(s < 0 ? 0 : s);
        return s > 0;
    }
    if (!strcmp(k, "lookup")) {
        int s = kn_name_index(lookups, KN_NLOOKUPS, v);

        g->lookup = (enum kn_lookup)(s < 0 ? 0 : s);
        return s > 0;
    }
    if (!strcmp(k, "align"))
        return set_align(&g->domain, v);
    if (!strcmp(k, "vec"))
        return set_small(&g->domain.vec, v, 4);
    if (!strcmp(k, "windows"))
        return set_small(&g->domain.windows, v, 1);
    if (!strcmp(k, "ktail"))
        return set_small(&g->domain.ktail, v, 1);
    return false;
}

kiln_status
kn_config_parse(struct kn_ctx *c, const char *text, struct kn_config *g)
{
    char *copy = kn_strdup(c, text), *save = NULL;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(w, '=');

        if (eq)
            *eq = '\0';
        if (!eq || !set_field(g, w, eq + 1))
            return kn_fail(c, KILN_BAD_INPUT, "'%s=%s' is no valid part of a "
                           "configuration", w, eq ? eq + 1 : "");
    }
    return KILN_OK;
}
