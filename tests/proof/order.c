/* order.c - see order.h. */
#include "order.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "mutants.h"

/* ---- digests ---- */

static uint64_t
mix(uint64_t h, uint64_t v)
{
    return kn_mix(h ^ v);
}

/* Of an array without padding. */
static uint64_t
mix_words(uint64_t h, const uint32_t *w, size_t n)
{
    h = mix(h, n);
    for (size_t i = 0; i < n; i++)
        h = mix(h, w[i]);
    return h;
}

static void
put_digest(struct digests *s, struct digest d)
{
    size_t at = d.digest & (s->cap - 1);

    while (s->at[at].digest)
        at = (at + 1) & (s->cap - 1);
    s->at[at] = d;
}

static void
grow(struct digests *s)
{
    struct digests old = *s;

    s->cap = old.cap ? 2 * old.cap : 1024;
    s->at = calloc(s->cap, sizeof *s->at);
    assert(s->at);
    for (size_t i = 0; i < old.cap; i++)
        if (old.at[i].digest)
            put_digest(s, old.at[i]);
    free(old.at);
}

unsigned *
digest_place(struct digests *s, uint64_t digest, bool *met)
{
    size_t at;

    digest += !digest;
    if (2 * (s->n + 1) > s->cap)
        grow(s);
    at = digest & (s->cap - 1);
    while (s->at[at].digest && s->at[at].digest != digest)
        at = (at + 1) & (s->cap - 1);
    *met = s->at[at].digest != 0;
    s->n += !*met;
    s->at[at].digest = digest;
    return &s->at[at].number;
}

void
digests_free(struct digests *s)
{
    free(s->at);
    *s = (struct digests){ 0 };
}

/* ---- all of a kernel ---- */

/* A field more belongs into the digest, and into test_order.c. */
_Static_assert(offsetof(struct kn_lds, swz_t) == 104 &&
               sizeof(struct kn_lds) == 112 &&
               offsetof(struct kn_shape, tb) == 33 &&
               sizeof(struct kn_shape) == 36 &&
               offsetof(struct kn_val, at) == 24 &&
               sizeof(struct kn_val) == 48 &&
               offsetof(struct kn_const, is_float) == 16 &&
               sizeof(struct kn_const) == 24 &&
               offsetof(struct kn_ins, at) == sizeof(struct kn_ins) - 24,
               "other fields than kernel_digest knows");

static uint64_t
values_digest(const struct kn_fn *f, uint64_t h)
{
    for (size_t i = 1; i < f->nval; i++) {
        const struct kn_val *v = &f->val[i];

        h = mix(h, (uint64_t)v->type.elem << 24 | v->type.n << 16 |
                   v->type.lane << 8 | v->arg);
        h = mix(h, (uint64_t)v->max);
    }
    for (size_t i = 0; i < f->nconst; i++) {
        uint64_t bits;

        memcpy(&bits, &f->konst[i].f, sizeof bits);
        h = mix(mix(h, (uint64_t)f->konst[i].i), bits);
        h = mix(h, f->konst[i].is_float);
    }
    return h;
}

static uint64_t
tile_digest(const struct kn_lds *l, uint64_t h)
{
    const uint32_t words[] = {
        l->side, l->elem, l->mem, l->rows, l->cols, l->slots, l->gk, l->lk,
        l->unit, l->shift, l->kdiv, l->panel, l->words, l->run, l->shuf, l->share, l->line,
        l->lag, l->unaligned,
        l->swz_s, l->swz_n, l->swz_t, l->at.line > 0,
    };

    return mix_words(h, words, sizeof words / sizeof *words);
}

uint64_t
kernel_digest(const struct kn_fn *f)
{
    const struct kn_shape *s = &f->shape;
    const uint32_t words[] = {
        f->level, f->target, s->bm, s->bn, s->bk, s->wm, s->wn,
        (uint32_t)s->mfma, s->block, s->simd, s->ta, s->tb, (uint32_t)f->nval,
        (uint32_t)f->nconst, (uint32_t)f->nlds, (uint32_t)f->nins,
    };
    uint64_t h = values_digest(f, mix_words(0, words, sizeof words /
                                                     sizeof *words));

    for (size_t i = 0; i < f->nlds; i++)
        h = tile_digest(&f->lds[i], h);
    for (size_t i = 0; i < f->nins; i++) {
        const struct kn_ins *x = &f->ins[i];

        h = mix(h, (uint64_t)x->op << 33 | (uint64_t)(x->at.line > 0) << 32 |
                   x->dst);
        for (int a = 0; a < KN_MAXARG && x->arg[a]; a++)
            h = mix(h, (uint64_t)1 << 32 | x->arg[a]);
        for (int a = 0; a < KN_NATTR; a++)
            if (x->attr[a] != kn_attrs[a].def)
                h = mix(h, (uint64_t)(2 + a) << 32 | (uint32_t)x->attr[a]);
    }
    return h;
}

/* ---- what the proof of order sees ---- */

struct reduce {
    const struct kn_fn *f;
    const struct proof *p;
    struct order *o;
    uint32_t *number;        /* place of a register -> its number */
    size_t *pair;            /* by access that is half of a clip: 1 + the first
                              * of such at its bytes; 0: it is none */
    size_t *seat;            /* of an access in the program */
};

static kn_ref
number_of(struct reduce *r, kn_ref x)
{
    uint32_t place = proof_is_value(x) ? proof_place(r->p, x) : 0;

    if (!place)
        return 0;
    if (!r->number[place])
        r->number[place] = r->o->p.nplace++;
    return KN_REF(KN_R_VAL, r->number[place]);
}

/* Operations that the proof, and what tells harmless mutants, treat alike. */
static uint16_t
stands_for(const struct kn_ins *i)
{
    switch (i->op) {
    case KN_OP_mov: case KN_OP_cat: case KN_OP_slice: case KN_OP_bits:
    case KN_OP_assume:
        return KN_OP_mov;
    case KN_OP_used: case KN_OP_landed: case KN_OP_fence: case KN_OP_barrier:
    case KN_OP_stagger: case KN_OP_rejoin:
        return i->op;
    }
    if (kn_op_kind((enum kn_op)i->op) == KN_SYNC)
        return KN_OP_sched;
    return kn_op_kind((enum kn_op)i->op) == KN_ALU ? KN_OP_add : i->op;
}

static bool
is_access(const struct kn_ins *i)
{
    return i->op == KN_OP_dma || i->op == KN_OP_lds_ld || i->op == KN_OP_lds_st;
}

/* Halves of clips of the same bytes have one name, all others one each. */
static void
find_pairs(struct reduce *r)
{
    const struct kn_ins *ins = r->f->ins;
    size_t half;

    for (size_t i = 0; i < r->f->nins; i++) {
        if (!mutant_half(r->f, i, &half))
            continue;
        for (size_t n = 0; n < i && !r->pair[i]; n++)
            if (r->pair[n] && same_bytes(&ins[n], &ins[i]))
                r->pair[i] = r->pair[n];
        if (!r->pair[i])
            r->pair[i] = 1 + (i < half ? i : half);
        r->pair[half] = r->pair[i];
    }
}

static kn_ref
bytes_of(struct reduce *r, size_t at)
{
    r->seat[at] = r->o->f.nins;
    return KN_REF(KN_R_CONST, r->seat[r->pair[at] ? r->pair[at] - 1 : at]);
}

static void
add_reduced(struct reduce *r, size_t at)
{
    static const enum kn_attr read[] = { KN_A_vm, KN_A_lgkm, KN_A_coh,
                                         KN_A_going, KN_A_span,
                                         KN_A_ring };
    const struct kn_ins *i = &r->f->ins[at];
    struct order *o = r->o;
    struct kn_ins x = { .op = stands_for(i) };
    int n = 0;

    kn_default_attrs(&x);
    x.at = i->at;
    for (size_t a = 0; a < sizeof read / sizeof *read; a++)
        x.attr[read[a]] = i->attr[read[a]];
    if (is_access(i)) {
        x.arg[n++] = i->arg[0];
        x.arg[n++] = bytes_of(r, at);
    }
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (number_of(r, i->arg[a]))
            x.arg[n++] = number_of(r, i->arg[a]);
        else if (i->op == KN_OP_landed && !proof_is_value(i->arg[a]))
            x.arg[n++] = i->arg[a];
    x.dst = i->dst ? number_of(r, i->dst) : 0;
    if (kn_op_kind((enum kn_op)x.op) == KN_ALU && !n && !x.dst)
        return;
    o->from[o->f.nins] = at;
    o->p.access[o->f.nins] = r->p->access[at];
    o->f.ins[o->f.nins++] = x;
}

static void
name_numbers(struct order *o)
{
    o->f.nval = o->p.nplace;
    o->f.val = KN_NEW(o->f.c, struct kn_val, o->f.nval);
    o->p.place = KN_NEW(o->f.c, uint32_t, o->f.nval);
    for (uint32_t i = 0; i < o->p.nplace; i++) {
        o->f.val[i].name = "loaded";
        o->p.place[i] = i;
    }
}

kiln_status
order_of(const struct kn_fn *f, struct order *o)
{
    struct reduce r = { .f = f, .o = o };
    struct proof *p;

    KN_TRY(proof_prepare(f, &p));
    r.p = p;
    r.number = KN_NEW(f->c, uint32_t, p->nplace);
    r.pair = KN_NEW(f->c, size_t, f->nins);
    r.seat = KN_NEW(f->c, size_t, f->nins);
    find_pairs(&r);
    *o = (struct order){ .f = *f, .p = *p, .kernel = p };
    o->p.nplace = 1;
    o->p.access = KN_NEW(f->c, struct proof_access, f->nins);
    o->from = KN_NEW(f->c, size_t, f->nins);
    o->f.ins = KN_NEW(f->c, struct kn_ins, f->nins);
    o->f.nins = 0;
    for (size_t i = 0; i < f->nins; i++)
        add_reduced(&r, i);
    name_numbers(o);
    o->p.f = &o->f;
    return KILN_OK;
}

static uint64_t
access_digest(const struct proof_access *a, uint64_t h)
{
    h = mix(h, (uint64_t)(uint32_t)a->slot << 32 | a->id << 1 | a->own);
    h = mix(h, a->span | (uint64_t)a->next << 8);
    for (int s = 0; s < 2; s++) {
        h = mix(h, a->nneed[s]);
        for (uint32_t n = 0; n < a->nneed[s]; n++)
            for (int w = 0; w < PROOF_WRITES / 64; w++)
                h = mix(h, a->need[s][n].w[w]);
    }
    return h;
}

uint64_t
order_digest(const struct order *o)
{
    uint64_t h = mix(o->f.nins, o->f.nlds);

    for (size_t t = 0; t < o->f.nlds; t++)
        h = mix(h, o->f.lds[t].slots);
    for (size_t n = 0; n < o->f.nins; n++) {
        const struct kn_ins *i = &o->f.ins[n];

        h = mix(h, (uint64_t)i->op << 33 | (uint64_t)(i->at.line > 0) << 32 |
                   i->dst);
        for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
            h = mix(h, (uint64_t)1 << 32 | i->arg[a]);
        h = mix(h, (uint64_t)(uint32_t)i->attr[KN_A_vm] << 32 |
                   (uint32_t)i->attr[KN_A_lgkm]);
        h = mix(h, (uint64_t)(uint32_t)i->attr[KN_A_coh] << 32 |
                   (uint32_t)i->attr[KN_A_going]);
        if (is_access(i))
            h = access_digest(&o->p.access[n], h);
    }
    return h;
}
