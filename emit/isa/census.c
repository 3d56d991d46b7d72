/* census.c - what a loop or a whole kernel consists of. */
#include <stdlib.h>
#include <string.h>

#include "cfg.h"

struct taker {
    struct kn_ctx *c;
    struct kn_census *t;
    uint32_t *count;         /* per row, twice: not to LDS, to LDS */
    size_t wait_cap;
};

static void
count_wait(struct taker *k, const struct kn_inst *i)
{
    struct kn_census *t = k->t;
    struct kn_census_wait *w;

    for (uint32_t n = 0; n < t->nwaits; n++) {
        w = &t->waits[n];
        if (w->vm == i->vm && w->lgkm == i->lgkm && w->exp == i->exp) {
            w->n++;
            return;
        }
    }
    t->waits = kn_grow(k->c, t->waits, &k->wait_cap, t->nwaits + 1,
                       sizeof *t->waits);
    t->waits[t->nwaits++] = (struct kn_census_wait){ i->vm, i->lgkm, i->exp,
                                                     1 };
}

static bool
to_lds(const struct kn_inst *i)
{
    return i->lds || kn_isa[i->op].flags & KN_IF_DMA;
}

static void
count_inst(struct taker *k, kiln_target target, const struct kn_inst *i)
{
    struct kn_census *t = k->t;

    t->n++;
    t->bytes += i->size;
    t->unit[kn_isa[i->op].unit]++;
    t->mfma_cycles += kn_mfma_cycles(target, i);
    k->count[2 * i->op + to_lds(i)]++;
    switch (i->op) {
    case KN_I_s_waitcnt: count_wait(k, i); break;
    case KN_I_s_barrier: t->barriers++; break;
    case KN_I_s_nop: t->snops++; break;
    case KN_I_v_accvgpr_mov_b32:
    case KN_I_v_accvgpr_read_b32:
    case KN_I_v_accvgpr_write_b32: t->accvgpr++; break;
    default: break;
    }
}

static int
order_waits(const void *a, const void *b)
{
    const struct kn_census_wait *x = a, *y = b;

    if (x->vm != y->vm)
        return x->vm < y->vm ? -1 : 1;
    if (x->lgkm != y->lgkm)
        return x->lgkm < y->lgkm ? -1 : 1;
    return x->exp < y->exp ? -1 : x->exp > y->exp;
}

static uint32_t
list_ops(struct taker *k)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < 2 * KN_NISA; i++)
        n += k->count[i] != 0;
    k->t->ops = KN_NEW(k->c, struct kn_census_op, n);
    n = 0;
    for (uint32_t i = 0; i < 2 * KN_NISA; i++)
        if (k->count[i])
            k->t->ops[n++] = (struct kn_census_op){ (uint16_t)(i / 2), i & 1,
                                                    k->count[i] };
    return n;
}

kiln_status
kn_census_take(struct kn_ctx *c, const struct kn_cfg *g, int32_t loop,
               struct kn_census *out)
{
    struct taker k = { .c = c, .t = out };

    memset(out, 0, sizeof *out);
    k.count = KN_NEW(c, uint32_t, 2 * KN_NISA);
    for (uint32_t i = 0; i < g->p->n; i++) {
        bool in = loop == KN_CENSUS_ALL ||
                  (loop < 0 ? g->blocks[g->block_of[i]].reached
                            : kn_loop_contains(g, (uint32_t)loop, i));

        if (in)
            count_inst(&k, g->p->target, &g->p->inst[i]);
    }
    out->nops = list_ops(&k);
    if (out->nwaits)
        qsort(out->waits, out->nwaits, sizeof *out->waits, order_waits);
    return KILN_OK;
}
