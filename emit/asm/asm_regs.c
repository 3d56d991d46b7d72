/* asm_regs.c - physical registers: every virtual register gets one place for
 * its whole life, the first that is free wherever it is live. Nothing is
 * spilled and nothing moves: a kernel that needs more is refused. */
#include "asm.h"

#include <stdlib.h>
#include <string.h>

/* Place 2n: operation n reads; 2n + 1: it writes. */
struct span {
    uint32_t from, to, next;
};

struct block {
    uint32_t from, to;       /* operations */
    int32_t succ[2];
};

struct allocator {
    struct kn_asm *a;
    struct block *block;
    size_t nblock;
    size_t words;            /* of a set of virtual registers */
    uint64_t *in, *out;      /* [block][words] */
    struct span *span;       /* 0: none */
    size_t nspan, capspan;
    uint32_t *first;         /* by register: its spans */
    uint32_t *end;           /* by register: where the open span ends */
    size_t places;           /* words of a physical register's life */
    uint64_t *busy[KN_ASM_CLASSES];
};

/* ---- control flow ---- */

uint32_t *
kn_asm_labels(const struct kn_asm *a)
{
    uint32_t *at = KN_NEW(a->c, uint32_t, a->nlabel + 1);

    for (uint32_t n = 0; n < a->nop; n++)
        if (a->op[n].what == KN_ASM_AT)
            at[a->op[n].o[0].v] = n;
    return at;
}

int64_t
kn_asm_target(const struct kn_asm *a, size_t n, const uint32_t *at, bool *ends)
{
    const struct kn_asm_op *x = &a->op[n];

    *ends = x->what == KN_ASM_INST &&
            (x->isa == KN_I_s_branch || x->isa == KN_I_s_endpgm);
    if (x->what != KN_ASM_INST || kn_isa[x->isa].unit != KN_U_BRANCH ||
        x->nopnd < 1)
        return -1;
    return at[x->o[0].v];
}

static bool
ends_block(const struct kn_asm_op *x)
{
    return x->what == KN_ASM_INST &&
           (kn_isa[x->isa].unit == KN_U_BRANCH || x->isa == KN_I_s_endpgm);
}

static void
find_blocks(struct allocator *r)
{
    struct kn_asm *a = r->a;
    uint32_t *at = kn_asm_labels(a);
    uint32_t *of = KN_NEW(a->c, uint32_t, a->nop + 1);

    r->block = KN_NEW(a->c, struct block, a->nop + 1);
    for (uint32_t n = 0; n < a->nop; n++) {
        if (!n || a->op[n].what == KN_ASM_AT || ends_block(&a->op[n - 1])) {
            if (r->nblock)
                r->block[r->nblock - 1].to = n;
            r->block[r->nblock++].from = n;
        }
        of[n] = (uint32_t)r->nblock - 1;
    }
    r->block[r->nblock - 1].to = (uint32_t)a->nop;
    for (size_t b = 0; b < r->nblock; b++) {
        bool ends;
        int64_t to = kn_asm_target(a, r->block[b].to - 1, at, &ends);

        r->block[b].succ[0] = ends || b + 1 == r->nblock ? -1 : (int32_t)b + 1;
        r->block[b].succ[1] = to < 0 ? -1 : (int32_t)of[to];
    }
}

/* ---- liveness ---- */

static bool
begins(const struct kn_asm *a, const struct kn_asm_op *x, int k)
{
    const struct kn_asm_opnd *o = &x->o[k];

    return o->fresh || (!o->sub && o->n == a->reg[o->v].n && !kn_asm_keeps(x));
}

static void
step_back(const struct kn_asm *a, const struct kn_asm_op *x, uint64_t *live)
{
    for (int k = 0; k < x->ndst; k++)
        if (x->o[k].kind == KN_ASM_REG && begins(a, x, k))
            live[x->o[k].v / 64] &= ~(1ull << x->o[k].v % 64);
    for (int k = 0; k < x->nopnd; k++)
        if (x->o[k].kind == KN_ASM_REG &&
            (k >= x->ndst || !begins(a, x, k)))
            live[x->o[k].v / 64] |= 1ull << x->o[k].v % 64;
}

static bool
flow_block(struct allocator *r, size_t b, uint64_t *live)
{
    uint64_t *in = r->in + b * r->words, *out = r->out + b * r->words;
    bool changed;

    for (int k = 0; k < 2; k++)
        for (size_t w = 0; w < r->words && r->block[b].succ[k] >= 0; w++)
            out[w] |= r->in[(size_t)r->block[b].succ[k] * r->words + w];
    memcpy(live, out, r->words * sizeof *live);
    for (uint32_t n = r->block[b].to; n-- > r->block[b].from;)
        step_back(r->a, &r->a->op[n], live);
    changed = memcmp(in, live, r->words * sizeof *live) != 0;
    memcpy(in, live, r->words * sizeof *live);
    return changed;
}

static void
find_live(struct allocator *r)
{
    struct kn_ctx *c = r->a->c;
    uint64_t *live;
    bool again = true;

    r->words = r->a->nreg / 64 + 1;
    r->in = KN_NEW(c, uint64_t, r->words * r->nblock);
    r->out = KN_NEW(c, uint64_t, r->words * r->nblock);
    live = KN_NEW(c, uint64_t, r->words);
    while (again) {
        again = false;
        for (size_t b = r->nblock; b-- > 0;)
            again |= flow_block(r, b, live);
    }
}

/* ---- spans ---- */

static void
close_span(struct allocator *r, int32_t v, uint32_t from)
{
    r->span = kn_grow(r->a->c, r->span, &r->capspan, r->nspan + 1,
                      sizeof *r->span);
    r->span[r->nspan] = (struct span){ from, r->end[v], r->first[v] };
    r->first[v] = (uint32_t)r->nspan++;
    r->end[v] = 0;
}

static void
span_op(struct allocator *r, uint32_t n)
{
    const struct kn_asm_op *x = &r->a->op[n];

    for (int k = 0; k < x->ndst; k++) {
        const struct kn_asm_opnd *o = &x->o[k];

        if (o->kind != KN_ASM_REG)
            continue;
        if (!r->end[o->v])
            r->end[o->v] = 2 * n + 2;
        if (begins(r->a, x, k))
            close_span(r, o->v, x->early ? 2 * n : 2 * n + 1);
    }
    for (int k = x->ndst; k < x->nopnd; k++)
        if (x->o[k].kind == KN_ASM_REG && !r->end[x->o[k].v])
            r->end[x->o[k].v] = 2 * n + 1;
}

static void
find_spans(struct allocator *r)
{
    r->first = KN_NEW(r->a->c, uint32_t, r->a->nreg + 1);
    r->end = KN_NEW(r->a->c, uint32_t, r->a->nreg + 1);
    r->nspan = 1;
    r->span = kn_grow(r->a->c, r->span, &r->capspan, 64, sizeof *r->span);
    for (size_t b = 0; b < r->nblock; b++) {
        for (size_t v = 0; v < r->a->nreg; v++)
            if (r->out[b * r->words + v / 64] >> v % 64 & 1)
                r->end[v] = 2 * r->block[b].to;
        for (uint32_t n = r->block[b].to; n-- > r->block[b].from;)
            span_op(r, n);
        for (size_t v = 0; v < r->a->nreg; v++)
            if (r->end[v])
                close_span(r, (int32_t)v, 2 * r->block[b].from);
    }
}

/* ---- assignment ---- */

/* Bits from .. to of a life, in words. */
static bool
walk_span(uint64_t *life, const struct span *s, bool set)
{
    for (uint32_t w = s->from / 64; w <= (s->to - 1) / 64; w++) {
        uint64_t m = ~0ull;

        if (w == s->from / 64)
            m &= ~0ull << s->from % 64;
        if (w == (s->to - 1) / 64)
            m &= ~0ull >> (63 - (s->to - 1) % 64);
        if (set)
            life[w] |= m;
        else if (life[w] & m)
            return false;
    }
    return true;
}

static bool
fits(const struct allocator *r, size_t v, uint32_t at)
{
    const struct kn_asm_reg *x = &r->a->reg[v];

    for (uint32_t n = at; n < at + x->n + x->spare; n++)
        for (uint32_t s = r->first[v]; s; s = r->span[s].next)
            if (!walk_span(r->busy[x->cls] + n * r->places, &r->span[s], false))
                return false;
    return true;
}

static void
occupy(struct allocator *r, size_t v)
{
    const struct kn_asm_reg *x = &r->a->reg[v];

    for (uint32_t n = 0; n < x->n + x->spare; n++)
        for (uint32_t s = r->first[v]; s; s = r->span[s].next)
            walk_span(r->busy[x->cls] + ((uint32_t)x->at + n) * r->places,
                      &r->span[s], true);
    if (r->first[v] && r->a->used[x->cls] < (uint32_t)x->at + x->n + x->spare)
        r->a->used[x->cls] = (uint32_t)x->at + x->n + x->spare;
}

static bool
place(struct allocator *r, size_t v)
{
    struct kn_asm_reg *x = &r->a->reg[v];

    for (uint32_t at = 0; r->first[v] && at + x->n + x->spare <= r->a->limit[x->cls];
         at += x->align)
        if (fits(r, v, at)) {
            x->at = (int16_t)at;
            occupy(r, v);
            return true;
        }
    return !r->first[v];
}

struct order {
    uint32_t v, n, from;
};

static int
by_size(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->v < y->v ? -1 : 1;
}

/* Registers of a class: those with a place of their own, then large before
 * small, then by where they begin. */
static bool
place_class(struct allocator *r, enum kn_asm_class cls)
{
    struct kn_asm *a = r->a;
    struct order *o = KN_NEW(a->c, struct order, a->nreg + 1);
    size_t n = 0;

    r->busy[cls] = KN_NEW(a->c, uint64_t, 256 * r->places);
    for (uint32_t v = 0; v < a->nreg; v++) {
        uint32_t from = UINT32_MAX;

        if (a->reg[v].cls != cls)
            continue;
        if (a->reg[v].at >= 0) {
            occupy(r, v);
            continue;
        }
        for (uint32_t s = r->first[v]; s; s = r->span[s].next)
            if (r->span[s].from < from)
                from = r->span[s].from;
        o[n++] = (struct order){ v, a->reg[v].n, from };
    }
    qsort(o, n, sizeof *o, by_size);
    for (size_t k = 0; k < n; k++)
        if (!place(r, o[k].v))
            return false;
    return true;
}

enum kn_asm_class
kn_asm_allocate(struct kn_asm *a)
{
    struct allocator r = { .a = a };
    uint32_t all = 512 / kn_waves_per_simd(a->f), acc;

    a->limit[KN_ASM_S] = 102;
    a->limit[KN_ASM_V] = 256;
    a->limit[KN_ASM_A] = KN_ASM_AGPRS;
    find_blocks(&r);
    find_live(&r);
    find_spans(&r);
    r.places = 2 * a->nop / 64 + 2;
    if (!place_class(&r, KN_ASM_A))
        return KN_ASM_A;
    acc = (a->used[KN_ASM_A] + 7) & ~7u;
    if (all - acc < a->limit[KN_ASM_V])
        a->limit[KN_ASM_V] = all - acc;
    if (!place_class(&r, KN_ASM_V))
        return KN_ASM_V;
    return place_class(&r, KN_ASM_S) ? KN_ASM_CLASSES : KN_ASM_S;
}
