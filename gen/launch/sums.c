/* sums.c - the order of the sums of a launch: what its arguments and its table
 * of groups answer to the walk of the tile IR (ir.h, kn_prove_sums). */
#include "../gen.h"

#include <string.h>

/* A launch as the walk asks for it. */
struct launch {
    const struct kn_fn *f;
    const struct kn_plan *plan;
    struct kn_sums_table table;   /* of groups */
};

/* The arguments lie in their order, each at a multiple of its size. */
static bool
argument(void *user, const char *name, int64_t *out)
{
    const struct launch *l = user;
    uint32_t at = 0;

    for (size_t n = 1; n < l->f->nval; n++) {
        const struct kn_val *v = &l->f->val[n];
        uint32_t size = kn_elems[v->type.elem].bits / 8;
        int32_t narrow;

        if (!v->arg)
            continue;
        at = (at + size - 1) / size * size;
        if (!strcmp(v->name, name)) {
            if (at + size > l->plan->kernarg_size)
                return false;
            memcpy(&narrow, l->plan->kernarg + at, sizeof narrow);
            *out = narrow;
            if (size == 8)
                memcpy(out, l->plan->kernarg + at, sizeof *out);
            return true;
        }
        at += size;
    }
    return false;
}

/* Of the groups' table what is there; every block of moe's rows is expert 0's,
 * and all of them count. */
static bool
load(void *user, const char *name, int64_t at, uint32_t bytes, int64_t *out)
{
    const struct launch *l = user;
    const char *table = !strcmp(name, "TIGHT") ? l->table.tight
                      : !strcmp(name, "OFFS") ? l->table.data : NULL;
    int32_t narrow;

    *out = 0;
    if (!strcmp(name, "EIDS"))
        return true;
    if (!strcmp(name, "NPAD"))
        return argument(user, "m", out);
    if (!table || at < 0 || (size_t)at + bytes > l->table.size)
        return false;
    memcpy(&narrow, table + at, sizeof narrow);
    *out = narrow;
    if (bytes == 8)
        memcpy(out, table + at, sizeof *out);
    return bytes == 4 || bytes == 8;
}

kiln_status
kn_launch_sums(struct kn_ctx *c, const struct kn_fn *f,
               const struct kn_plan *plan, const struct kn_sums_table *table,
               struct kn_sums_facts *out)
{
    struct kn_fn own = *f;
    struct launch at = { .f = &own, .plan = plan, .table = *table };
    struct kn_sums_launch l = { .user = &at, .argument = argument,
                                .load = load, .most = 8,
                                .staggered = table->staggered };
    uint64_t many = (uint64_t)plan->grid[0] * plan->grid[1];

    own.c = c;
    *out = (struct kn_sums_facts){ 0 };
    for (uint32_t n = 0; many && n < 6; n++) {
        uint64_t wg = (many - 1) * (n / 2) / 2;
        struct kn_sums_facts before = *out;

        l.wg = (uint32_t)(wg % plan->grid[0]);
        l.wg_y = (uint32_t)(wg / plan->grid[0]);
        l.wave = n % 2 * (kn_waves(f) - 1);
        l.apart = n % 2 == 0;
        KN_TRY(kn_prove_sums(&own, &l, out));
        out->sums += before.sums;
        out->rotated |= before.rotated;
        if (out->k < before.k)
            out->k = before.k;
    }
    return KILN_OK;
}
