/* groups.c - group lengths from flags; the patterns are those of the public
 * Primus-Turbo benchmark (benchmark/ops/training/config.py). */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "../cli.h"

double
kn_uniform(uint64_t x)
{
    return (double)(kn_mix(x) >> 11) * 0x1p-53;
}

double
kn_mild_weight(uint64_t seed, int64_t i)
{
    return 0.2 + 0.8 * kn_uniform(seed + (uint64_t)i);
}

static void
mild(int64_t *lens, int64_t n, int64_t total, uint64_t seed)
{
    double sum = 0;
    int64_t left = total;

    for (int64_t g = 0; g < n; g++)
        sum += kn_mild_weight(seed, g);
    for (int64_t g = 0; g < n; g++) {
        lens[g] = (int64_t)(kn_mild_weight(seed, g) / sum * (double)total);
        left -= lens[g];
    }
    lens[n - 1] += left;
}

static kiln_status
extreme(struct kn_ctx *c, const char *count, int64_t *lens, int64_t n,
        int64_t total)
{
    char *end;
    long k = strtol(count, &end, 10);

    if (end == count || *end || k < 1 || k > n)
        return kn_fail(c, KILN_BAD_INPUT, "--routing extreme:K needs a K from "
                       "1 to the number of groups, not '%s'", count);
    for (int64_t g = 0; g < k; g++)
        lens[g] = total * (g + 1) / k - total * g / k;
    return KILN_OK;
}

static kiln_status
route(struct kn_ctx *c, const struct kn_cli *cli, int64_t *lens, int64_t n)
{
    static const char *const kinds[] = { "balanced", "mild", "extreme:1" };
    const struct kn_value *r = &cli->v[KN_FLAG_routing];
    const char *kind = r->seen ? r->s : "balanced";
    int64_t each = cli->v[KN_FLAG_tokens].i;

    if (!cli->v[KN_FLAG_tokens].seen)
        return kn_fail(c, KILN_BAD_INPUT, "groups need --group-lens, or "
                       "--groups with --tokens (rows a group on average)");
    if (each > 0x7fffffff / n)
        return kn_fail(c, KILN_UNSUPPORTED, "%lld groups of %lld rows are over "
                       "2147483647 rows", (long long)n, (long long)each);
    if (!strcmp(kind, "mild")) {
        mild(lens, n, n * each, (uint64_t)cli->v[KN_FLAG_seed].i);
        return KILN_OK;
    }
    if (!strncmp(kind, "extreme:", 8))
        return extreme(c, kind + 8, lens, n, n * each);
    if (strcmp(kind, "balanced"))
        return kn_fail(c, KILN_BAD_INPUT, "--routing is balanced, mild or "
                       "extreme:K, not '%s'%s", kind,
                       kn_did_you_mean(c, kind, kinds, 3));
    for (int64_t g = 0; g < n; g++)
        lens[g] = each;
    return KILN_OK;
}

/* Where groups of tight tables begin in what is read: each padded to whole
 * blocks, of 32 rows at least. */
static kiln_status
pad(struct kn_ctx *c, const kiln_problem *p, const int64_t *lens, int64_t *read)
{
    int64_t unit = kn_group_unit(p) < 32 ? 32 : kn_group_unit(p);

    for (int64_t g = 0; g < p->groups; g++) {
        read[g + 1] = read[g] + (lens[g] + unit - 1) / unit * unit;
        if (read[g + 1] > 0x7fffffff)
            return kn_fail(c, KILN_UNSUPPORTED, "the padded groups have over "
                           "2147483647 rows");
    }
    return KILN_OK;
}

static kiln_status
prefix(struct kn_ctx *c, const kiln_problem *p, bool given, int64_t *lens,
       int64_t *offs)
{
    bool tight = p->group_flags & KILN_GROUP_TIGHT;
    int64_t block = tight ? 1 : kn_group_unit(p);
    const char *why = kn_family_of(p)->ragged != 'k' ? "shuffled scales: a group" :
                      kn_type_mx[p->a] ? "MX wgrad" : "block128 wgrad";

    for (int64_t g = 0; g < p->groups; g++) {
        if (given && lens[g] % block)
            return kn_fail(c, KILN_BAD_INPUT, "group %lld has %lld rows: %s "
                           "needs a multiple of %lld", (long long)g,
                           (long long)lens[g], why, (long long)block);
        lens[g] = (lens[g] + block - 1) / block * block;
        offs[g + 1] = offs[g] + lens[g];
        if (offs[g + 1] > 0x7fffffff)
            return kn_fail(c, KILN_UNSUPPORTED, "the groups have over "
                           "2147483647 rows");
    }
    return tight ? pad(c, p, lens, offs + p->groups + 1) : KILN_OK;
}

/* The ragged size is what the groups have; grouped may have room for more. */
static kiln_status
set_rows(struct kn_ctx *c, kiln_problem *p, int64_t rows)
{
    if (kn_family_of(p)->ragged == 'k')
        p->k = rows;
    else if (!p->m)
        p->m = rows;
    if (kn_family_of(p)->ragged == 'm' && p->m < rows)
        return kn_fail(c, KILN_BAD_INPUT, "the groups have %lld rows, -m is "
                       "room for %lld", (long long)rows, (long long)p->m);
    return KILN_OK;
}

kiln_status
kn_groups_make(struct kn_ctx *c, const struct kn_cli *cli, kiln_problem *p,
               int64_t **offs)
{
    const struct kn_value *list = &cli->v[KN_FLAG_group_lens];
    const struct kn_value *count = &cli->v[KN_FLAG_groups];
    int64_t *lens;

    *offs = NULL;
    if (!kn_family_of(p)->ragged) {
        if (list->seen || count->seen || cli->v[KN_FLAG_routing].seen)
            return kn_fail(c, KILN_BAD_INPUT,
                           "groups are for grouped and wgrad");
        return KILN_OK;
    }
    if (list->seen == count->seen)
        return kn_fail(c, KILN_BAD_INPUT, "name the groups once: --group-lens "
                       "N,... or --groups N with --tokens");
    p->groups = list->seen ? (int64_t)list->n : count->i;
    if (p->groups < 1 || p->groups > 65535)
        return kn_fail(c, KILN_BAD_INPUT,
                       "the number of groups is from 1 to 65535");
    lens = KN_NEW(c, int64_t, (size_t)p->groups);
    *offs = KN_NEW(c, int64_t, 2 * (size_t)p->groups + 2);
    if (list->seen)
        memcpy(lens, list->list, (size_t)p->groups * sizeof *lens);
    else
        KN_TRY(route(c, cli, lens, p->groups));
    KN_TRY(prefix(c, p, list->seen, lens, *offs));
    return set_rows(c, p, kn_read_offsets(p, *offs)[p->groups]);
}

kiln_status
kn_groups_known(struct kn_ctx *c, const struct kn_cli *cli, kiln_problem *p)
{
    int64_t *offs;

    return kn_family_of(p)->ragged &&
                   (cli->v[KN_FLAG_tokens].seen || cli->v[KN_FLAG_group_lens].seen)
           ? kn_groups_make(c, cli, p, &offs) : KILN_OK;
}

/* offs as the device has them. */
static const void *
table_of(struct kn_ctx *c, const kiln_problem *p, const int64_t *offs)
{
    bool lens = p->group_flags & KILN_GROUP_LENS;
    bool ends = p->group_flags & KILN_GROUP_ENDS32;
    size_t n = (size_t)p->groups + !(lens || ends);
    int64_t *t = KN_NEW(c, int64_t, n);
    int32_t *narrow = (int32_t *)t;

    for (size_t i = 0; i < n; i++)
        if (ends)
            narrow[i] = (int32_t)offs[i + 1];
        else
            t[i] = lens ? offs[i + 1] - offs[i] : offs[i];
    return t;
}

struct kn_sums_table
kn_groups_table(struct kn_ctx *c, const kiln_problem *p, const int64_t *offs)
{
    struct kn_sums_table t = { .size = (size_t)kn_group_table(p) };

    t.data = table_of(c, p, kn_read_offsets(p, offs));
    if (p->group_flags & KILN_GROUP_TIGHT)
        t.tight = table_of(c, p, offs);
    return t;
}
