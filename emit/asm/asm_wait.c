/* asm_wait.c - what the hardware does not interlock. Counters: a register that
 * a load may still be writing is waited for at its first use, exactly, since
 * LDS and vector-memory operations complete in order; scalar loads do not, so
 * they take lgkmcnt(0) (CDNA3 ISA 4.4). Wait states: isa/hazard.def. */
#include "asm.h"
#include "../isa/hazard.h"

#include <string.h>

/* One space of registers: scalar 0-127, vector from 128, accumulators 384. */
enum { NREG = 640, M0 = 124, SAFE = 255, VM_MOST = 62, LGKM_MOST = 14 };

struct list {
    struct kn_asm_op *op;
    size_t n, cap;
};

static uint32_t
first_of(const struct kn_asm *a, const struct kn_asm_opnd *o)
{
    static const uint16_t base[] = { 0, 128, 384 };
    const struct kn_asm_reg *r = &a->reg[o->v];

    return base[r->cls] + (uint32_t)r->at + o->sub;
}

static void
append(const struct kn_asm *a, struct list *l, const struct kn_asm_op *x)
{
    l->op = kn_grow(a->c, l->op, &l->cap, l->n + 1, sizeof *l->op);
    l->op[l->n++] = *x;
}

/* ---- counters ---- */

struct counters {
    bool live, smem;         /* smem: a scalar load may be outstanding */
    uint8_t vm[NREG], lgkm[NREG];    /* operations issued since; SAFE */
};

struct waiter {
    struct kn_asm *a;
    struct counters now, *at;        /* at: by label */
    struct list out;
    bool again, emit;
};

static bool
meet(struct counters *x, const struct counters *y)
{
    bool changed = !x->live;

    if (!x->live) {
        *x = *y;
        return changed;
    }
    for (uint32_t r = 0; r < NREG; r++) {
        if (y->vm[r] < x->vm[r]) {
            x->vm[r] = y->vm[r];
            changed = true;
        }
        if (y->lgkm[r] < x->lgkm[r]) {
            x->lgkm[r] = y->lgkm[r];
            changed = true;
        }
    }
    if (y->smem && !x->smem)
        x->smem = changed = true;
    return changed;
}

static void
settle(uint8_t since[NREG], uint32_t n)
{
    for (uint32_t r = 0; r < NREG; r++)
        if (since[r] != SAFE && since[r] >= n)
            since[r] = SAFE;
}

/* Waits with nothing between them are one, as strong as the strongest. */
static void
add_wait(struct waiter *w, const struct kn_asm_op *x)
{
    struct kn_asm_op *last = w->out.n ? &w->out.op[w->out.n - 1] : NULL;

    if (!last || last->what != KN_ASM_INST || last->isa != KN_I_s_waitcnt) {
        append(w->a, &w->out, x);
        return;
    }
    last->vm = x->vm < last->vm ? x->vm : last->vm;
    last->lgkm = x->lgkm < last->lgkm ? x->lgkm : last->lgkm;
}

static void
wait_for(struct waiter *w, uint32_t vm, uint32_t lgkm, uint32_t from)
{
    struct kn_asm_op x = { .isa = KN_I_s_waitcnt, .vm = (uint8_t)vm,
                           .lgkm = (uint8_t)lgkm, .from = from };

    if (vm < 63)
        settle(w->now.vm, vm);
    if (lgkm < 15)
        settle(w->now.lgkm, w->now.smem && lgkm ? SAFE : lgkm);
    if (!lgkm)
        w->now.smem = false;
    if (w->emit)
        add_wait(w, &x);
}

static void
need_of(const struct waiter *w, const struct kn_asm_op *x, uint32_t *vm,
        uint32_t *lgkm)
{
    *vm = 63;
    *lgkm = 15;
    for (int k = 0; k < x->nopnd; k++) {
        uint32_t r = x->o[k].kind == KN_ASM_REG ? first_of(w->a, &x->o[k]) : 0;

        for (uint32_t n = 0; n < x->o[k].n && x->o[k].kind == KN_ASM_REG; n++) {
            uint32_t v = w->now.vm[r + n], l = w->now.lgkm[r + n];

            v = v == SAFE ? 63 : v > VM_MOST ? VM_MOST : v;
            l = l == SAFE ? 15 : w->now.smem ? 0 : l > LGKM_MOST ? LGKM_MOST : l;
            *vm = v < *vm ? v : *vm;
            *lgkm = l < *lgkm ? l : *lgkm;
        }
    }
}

static void
issued(uint8_t since[NREG])
{
    for (uint32_t r = 0; r < NREG; r++)
        if (since[r] < SAFE - 1)
            since[r]++;
}

static void
count(struct waiter *w, const struct kn_asm_op *x)
{
    const struct kn_isa_row *row = &kn_isa[x->isa];
    uint8_t *since = row->counter & KN_C_VM ? w->now.vm : w->now.lgkm;

    if (!row->counter)
        return;
    issued(since);
    if (row->unit == KN_U_SMEM)
        w->now.smem = true;
    for (int k = 0; k < x->ndst; k++)
        memset(since + first_of(w->a, &x->o[k]), 0, x->o[k].n);
}

static void
wait_op(struct waiter *w, const struct kn_asm_op *x, const uint32_t *at,
        size_t n)
{
    uint32_t vm, lgkm;
    bool ends;
    int64_t to;

    if (x->what == KN_ASM_AT) {
        if (w->now.live && meet(&w->at[x->o[0].v], &w->now))
            w->again = true;
        w->now = w->at[x->o[0].v];
        if (w->emit)
            append(w->a, &w->out, x);
        return;
    }
    if (x->isa == KN_I_s_waitcnt) {
        wait_for(w, x->vm, x->lgkm, x->from);
        return;
    }
    need_of(w, x, &vm, &lgkm);
    if (vm < 63 || lgkm < 15)
        wait_for(w, vm, lgkm, x->from);
    if (w->emit && x->what == KN_ASM_INST)
        append(w->a, &w->out, x);
    if (x->what != KN_ASM_INST)
        return;
    count(w, x);
    to = kn_asm_target(w->a, n, at, &ends);
    if (to >= 0 && meet(&w->at[x->o[0].v], &w->now))
        w->again = true;
    if (ends)
        w->now.live = false;
}

static void
count_waits(struct kn_asm *a)
{
    struct waiter *w = KN_NEW(a->c, struct waiter, 1);
    uint32_t *at = kn_asm_labels(a);

    w->a = a;
    w->at = KN_NEW(a->c, struct counters, a->nlabel + 1);
    do {
        w->emit = !w->again && w->at[0].live;
        w->again = false;
        w->out.n = 0;
        w->now.live = true;
        w->now.smem = false;
        memset(w->now.vm, SAFE, NREG);
        memset(w->now.lgkm, SAFE, NREG);
        for (size_t n = 0; n < a->nop; n++)
            wait_op(w, &a->op[n], at, n);
        if (!a->nlabel)
            w->at[0].live = true;
    } while (!w->emit);
    a->op = w->out.op;
    a->nop = w->out.n;
    a->capop = w->out.cap;
}

/* ---- wait states ---- */

enum { RECENT = 24 * 24, FAR = 24 };

/* Instructions that may have run before, and how many since each: FAR on each way to a
 * label, of which the exits of a loop unrolled by slots and batches of scales are many. */
struct past {
    uint32_t op[RECENT];
    uint8_t since[RECENT];
    uint32_t n;
};

struct stater {
    struct kn_asm *a;
    struct past now, *at;    /* at: by label, of branches to it */
    bool *seen;              /* by label */
    uint16_t *produces, *consumes;   /* by operation */
    struct kn_mfma_waits *mfma;      /* by operation */
    struct list out;
};

static bool
writes_class(const struct kn_asm *a, const struct kn_asm_op *x,
             enum kn_asm_class cls)
{
    for (int k = 0; k < x->ndst; k++)
        if (x->o[k].kind == KN_ASM_REG &&
            (a->reg[x->o[k].v].cls == KN_ASM_S) == (cls == KN_ASM_S))
            return true;
    return false;
}

static uint16_t
produces(const struct kn_asm *a, const struct kn_asm_op *x)
{
    const struct kn_isa_row *row = &kn_isa[x->isa];
    unsigned p = 0;

    if (row->unit == KN_U_VALU) {
        p |= writes_class(a, x, KN_ASM_V) ? 1u << P_VALU_VGPR : 0;
        p |= writes_class(a, x, KN_ASM_S) ? 1u << P_VALU_SGPR : 0;
        p |= row->flags & KN_IF_TRANS ? 1u << P_TRANS : 0;
        p |= kn_asm_is_partial(x) ? 1u << P_PARTIAL : 0;
    }
    if (row->unit == KN_U_VMEM && !x->ndst && x->nopnd == 4 && x->o[0].n > 2)
        p |= 1u << P_STORE;
    if (row->unit == KN_U_SALU && x->ndst && x->o[0].kind == KN_ASM_M0)
        p |= 1u << P_SALU_M0;
    return (uint16_t)p;
}

static uint16_t
consumes(const struct kn_asm_op *x)
{
    const struct kn_isa_row *row = &kn_isa[x->isa];
    unsigned c = 0;

    if (row->unit == KN_U_MFMA)
        c = 1u << C_MFMA | 1u << C_VALU | 1u << C_NOT_TRANS;
    if (row->unit == KN_U_VMEM)
        c = 1u << C_VMEM | (kn_asm_fills_lds(x) ? 1u << C_DMA : 0);
    if (row->unit == KN_U_VALU)
        c = 1u << C_VALU | (row->flags & KN_IF_TRANS ? 0 : 1u << C_NOT_TRANS) |
            (row->flags & KN_IF_LANESEL ? 1u << C_LANESEL : 0) |
            (row->flags & KN_IF_PERMLANE ? 1u << C_PERMLANE : 0) |
            (x->dpp ? 1u << C_DPP : 0);
    if (x->isa == KN_I_v_readlane_b32 || x->isa == KN_I_v_readfirstlane_b32)
        c |= 1u << C_READLANE;
    return (uint16_t)c;
}

/* Does operand range y of an instruction meet range x of another? */
static bool
meets(const struct kn_asm *a, const struct kn_asm_opnd *x,
      const struct kn_asm_opnd *y)
{
    uint32_t p, q;

    if (x->kind != KN_ASM_REG || y->kind != KN_ASM_REG)
        return false;
    p = first_of(a, x);
    q = first_of(a, y);
    return p < q + y->n && q < p + x->n;
}

static bool
result_read(const struct kn_asm *a, const struct kn_asm_op *p,
            const struct kn_asm_op *c)
{
    bool kept = kn_asm_keeps(c);

    for (int i = 0; i < p->ndst; i++)
        for (int k = kept ? 0 : c->ndst; k < c->nopnd; k++)
            if (meets(a, &p->o[i], &c->o[k]))
                return true;
    return false;
}

static bool
applies(const struct kn_asm *a, const struct kn_hz_rule *r,
        const struct kn_asm_op *p, const struct kn_asm_op *c)
{
    switch (r->match) {
    case VGPR_READ:
    case SGPR_READ:
    case LANE_SELECT:
        return result_read(a, p, c);
    case DATA_OVERWRITE:
        return c->ndst && meets(a, &p->o[0], &c->o[0]);
    default:
        return true;
    }
}

/* Wait states c needs behind matrix instruction p. */
static uint32_t
after_matrix(const struct kn_asm *a, const struct kn_asm_op *p,
             const struct kn_mfma_waits *w, const struct kn_asm_op *c)
{
    bool matrix = kn_isa[c->isa].unit == KN_U_MFMA;
    bool mem = kn_isa[c->isa].counter != 0;
    uint32_t need = 0;

    for (int k = 0; k < c->nopnd; k++) {
        bool d = meets(a, &p->o[0], &c->o[k]);
        uint32_t n = 0;

        if (k < c->ndst)
            n = matrix ? 0 : d ? w->read : meets(a, &p->o[3], &c->o[k])
              ? w->war : 0;
        else if (d && matrix && k == 3)
            n = first_of(a, &c->o[k]) == first_of(a, &p->o[0]) &&
                c->o[k].n == p->o[0].n && c->isa == p->isa ? w->same : w->cin;
        else if (d)
            n = mem ? w->mem : w->read;
        need = n > need ? n : need;
    }
    return need;
}

/* Wait states still missing in front of operation n. */
static uint32_t
missing(const struct stater *s, const struct past *h, size_t n)
{
    const struct kn_asm *a = s->a;
    const struct kn_asm_op *c = &a->op[n];
    uint32_t most = 0;

    for (uint32_t k = 0; k < h->n; k++) {
        uint32_t p = h->op[k], since = h->since[k];
        const struct kn_asm_op *x = &a->op[p];

        if (kn_isa[x->isa].unit == KN_U_MFMA) {
            uint32_t need = after_matrix(a, x, &s->mfma[p], c);

            if (need > since + most)
                most = need - since;
        }
        for (uint32_t r = 0; r < KN_HZ_RULES && s->produces[p]; r++) {
            const struct kn_hz_rule *q = &kn_hz_rules[r];

            if (q->need > since + most && s->produces[p] >> q->produce & 1 &&
                s->consumes[n] >> q->consume & 1 &&
                (!q->target || q->target == (uint8_t)a->f->target) &&
                applies(a, q, x, c))
                most = q->need - since;
        }
    }
    return most;
}

static void
pass_time(struct past *h, uint32_t states)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < h->n; k++) {
        if (h->since[k] + states >= FAR)
            continue;
        h->op[n] = h->op[k];
        h->since[n++] = (uint8_t)(h->since[k] + states);
    }
    h->n = n;
}

/* Of one operation the shorter way counts; the place of what is longest ago is free. */
static void
put(struct past *h, uint32_t op, uint8_t since)
{
    uint32_t k = 0, last = 0;

    for (; k < h->n && h->op[k] != op; k++)
        last = h->since[k] > h->since[last] ? k : last;
    if (k == h->n && h->n == RECENT)
        k = last;
    else if (k == h->n)
        h->since[h->n++] = FAR;
    if (since >= h->since[k])
        return;
    h->op[k] = op;
    h->since[k] = since;
}

static void
remember(const struct stater *s, struct past *h, size_t n)
{
    pass_time(h, 1);
    if (s->produces[n] || kn_isa[s->a->op[n].isa].unit == KN_U_MFMA)
        put(h, (uint32_t)n, 0);
}

static void
join(struct past *x, const struct past *y)
{
    for (uint32_t k = 0; k < y->n; k++)
        put(x, y->op[k], y->since[k]);
}

static void
idle(struct stater *s, uint32_t states, uint32_t from)
{
    while (states) {
        uint32_t n = states > 8 ? 8 : states;
        struct kn_asm_op x = {
            .isa = KN_I_s_nop, .nopnd = 1, .vm = 63, .lgkm = 15, .from = from,
            .o = { { .kind = KN_ASM_IMM, .n = 1, .v = (int32_t)n - 1 } }
        };

        append(s->a, &s->out, &x);
        pass_time(&s->now, n);
        states -= n;
    }
}

/* What the way back to a loop's head leaves missing there, of what was made before:
 * what the head makes itself it has waited for. */
static uint32_t
around(const struct stater *s, size_t head, size_t branch)
{
    struct past *h = KN_NEW(s->a->c, struct past, 1);
    uint32_t most = 0;

    *h = s->now;
    remember(s, h, branch);
    for (size_t n = head + 1, left = FAR; n < s->a->nop && left; n++, left--) {
        uint32_t m;

        if (s->a->op[n].what != KN_ASM_INST)
            continue;
        m = missing(s, h, n);
        most = m > most ? m : most;
        pass_time(h, 1);
    }
    return most;
}

static void
classify(struct stater *s)
{
    struct kn_asm *a = s->a;

    s->produces = KN_NEW(a->c, uint16_t, a->nop);
    s->consumes = KN_NEW(a->c, uint16_t, a->nop);
    s->mfma = KN_NEW(a->c, struct kn_mfma_waits, a->nop);
    for (size_t n = 0; n < a->nop; n++) {
        const struct kn_asm_op *x = &a->op[n];

        if (x->what != KN_ASM_INST)
            continue;
        s->produces[n] = produces(a, x);
        s->consumes[n] = consumes(x);
        if (kn_isa[x->isa].unit == KN_U_MFMA)
            s->mfma[n] = kn_mfma_waits(a->f->target, &(struct kn_inst){
                .op = x->isa, .cbsz = x->cbsz, .blgp = x->blgp });
    }
}

static void
state_op(struct stater *s, size_t n, const uint32_t *at)
{
    const struct kn_asm_op *x = &s->a->op[n];
    uint32_t need;
    bool ends;
    int64_t to;

    if (x->what == KN_ASM_AT) {
        join(&s->now, &s->at[x->o[0].v]);
        append(s->a, &s->out, x);
        return;
    }
    to = kn_asm_target(s->a, n, at, &ends);
    need = missing(s, &s->now, n);
    if (to >= 0 && (size_t)to < n) {
        uint32_t back = around(s, (size_t)to, n);

        need = back > need ? back : need;
    }
    idle(s, need, x->from);
    append(s->a, &s->out, x);
    remember(s, &s->now, n);
    if (to >= 0 && (size_t)to > n)
        join(&s->at[x->o[0].v], &s->now);
    if (ends)
        s->now.n = 0;
}

void
kn_asm_wait(struct kn_asm *a)
{
    struct stater *s;
    uint32_t *at;

    count_waits(a);
    s = KN_NEW(a->c, struct stater, 1);
    at = kn_asm_labels(a);
    s->a = a;
    s->at = KN_NEW(a->c, struct past, a->nlabel + 1);
    classify(s);
    for (size_t n = 0; n < a->nop; n++)
        state_op(s, n, at);
    a->op = s->out.op;
    a->nop = s->out.n;
    a->capop = s->out.cap;
}
