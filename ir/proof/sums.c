/* sums.c - the proof of order: one wave's way through a kernel of tiles, for a
 * launch that is given, with what each tile holds in place of its numbers
 * (docs/ir.md, "The order of a sum"). */
#include "sums.h"

enum { DEPTH = 33 };
/* Operations on the way: a walk of this length is no kernel of ours. */
enum { MOST = 1 << 26 };

static kiln_status
set_up(struct sums *o)
{
    const struct kn_fn *f = o->f;
    struct kn_ctx *c = f->c;
    uint32_t slots = 0, open[DEPTH], depth = 0;

    o->value = KN_NEW(c, struct sums_value, f->nval);
    o->tile = KN_NEW(c, struct sums_tile *, f->nval);
    for (uint32_t n = 1; n < f->nval; n++) {
        if (f->val[n].arg)
            o->value[n] = sums_argument(o, n);
        if (f->val[n].type.elem == KN_T_tile || f->val[n].type.elem == KN_T_view)
            o->tile[n] = KN_NEW(c, struct sums_tile, 1);
    }
    o->first_slot = KN_NEW(c, uint32_t, f->nlds);
    for (size_t n = 0; n < f->nlds; n++) {
        o->first_slot[n] = slots;
        slots += f->lds[n].slots;
    }
    o->slot = KN_NEW(c, struct sums_tile *, slots);
    for (size_t n = 0; n < f->nlds; n++)
        for (uint32_t s = 0; s < f->lds[n].slots; s++) {
            o->slot[o->first_slot[n] + s] = KN_NEW(c, struct sums_tile, 1);
            o->slot[o->first_slot[n] + s]->lds = (int)n;
        }
    o->match = KN_NEW(c, uint32_t, f->nins);
    for (uint32_t n = 0; n < f->nins; n++)
        switch (f->ins[n].op) {
        case KN_OP_loop: case KN_OP_if: open[depth++] = n; break;
        case KN_OP_else:
            o->match[open[depth - 1]] = n;
            open[depth - 1] = n;
            break;
        case KN_OP_end:
            o->match[n] = open[--depth];
            o->match[open[depth]] = n;
            break;
        }
    return KILN_OK;
}

/* Behind the loop that operation n is in. */
static uint32_t
behind_loop(const struct sums *o, uint32_t n)
{
    uint32_t depth = 0;

    for (;; n++)
        switch (o->f->ins[n].op) {
        case KN_OP_loop: case KN_OP_if: depth++; break;
        case KN_OP_end:
            if (depth)
                depth--;
            else if (o->f->ins[o->match[n]].op == KN_OP_loop)
                return n + 1;
            break;
        }
}

/* The operation behind number n. */
static kiln_status
step(struct sums *o, uint32_t n, uint32_t *next)
{
    const struct kn_ins *i = &o->f->ins[n];
    struct sums_value x = sums_read(o, i->arg[0]);

    *next = n + 1;
    switch (i->op) {
    case KN_OP_if: case KN_OP_break:
        if (!x.known)
            return kn_fail_at(o->f->c, KILN_UNSUPPORTED, i->at, "which way it "
                              "goes depends on what the launch does not say");
        if (i->op == KN_OP_break)
            *next = x.v ? behind_loop(o, n) : n + 1;
        else if (!x.v)
            *next = o->match[n] + 1;
        break;
    case KN_OP_else: *next = o->match[n]; break;
    case KN_OP_end:
        if (o->f->ins[o->match[n]].op == KN_OP_loop)
            *next = o->match[n];
        break;
    case KN_OP_stop: *next = (uint32_t)o->f->nins; break;
    default:
        KN_TRY(sums_of_tiles(o, i));
        if (i->dst && !o->tile[KN_REF_INDEX(i->dst)])
            o->value[KN_REF_INDEX(i->dst)] = sums_compute(o, i);
    }
    return KILN_OK;
}

kiln_status
kn_prove_sums(const struct kn_fn *f, const struct kn_sums_launch *l,
               struct kn_sums_facts *out)
{
    struct sums o = { .f = f, .launch = l, .facts = out };
    struct kn_frag fr;
    uint32_t at = 0, walked = 0;

    *out = (struct kn_sums_facts){ .mfma = f->shape.mfma };
    if (f->level != KN_TILE || f->shape.mfma < 0)
        return kn_fail_at(f->c, KILN_UNSUPPORTED, f->at, "the order of sums is "
                          "proven of kernels of tiles, which matrix "
                          "instructions add");
    fr = kn_fragment(f, 'a');
    out->step = fr.k;
    out->sub = fr.sub;
    KN_TRY(set_up(&o));
    while (at < f->nins && walked++ < MOST && (!l->most || out->sums < l->most))
        KN_TRY(step(&o, at, &at));
    if (walked > MOST)
        return kn_fail_at(f->c, KILN_UNSUPPORTED, f->at, "the way is longer "
                          "than %d operations", MOST);
    out->k /= SUMS_UNIT;
    return KILN_OK;
}
