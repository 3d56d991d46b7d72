/* values.c - see values.h. */
#include "values.h"

#include <string.h>

static const struct way {
    unsigned turns;          /* of each loop */
    bool first, then;        /* which branch the 1st, 3rd, ... `if` takes and
                              * which the others */
} ways[VALUE_WAYS] = {
    { 3, true, true }, { 3, false, false }, { 4, true, false },
    { 2, false, true },
};

struct run {
    const struct proof *p;
    const uint64_t *does;
    const struct kn_ins *ins;
    struct way way;
    struct kn_ctx *c;
    uint64_t *reg;           /* by value */
    uint64_t *part;          /* by slot and write: what it wrote */
    uint32_t *when;          /* and when; 0: not yet */
    uint32_t now;
    uint64_t stores;
    unsigned ifs;
    bool leave;              /* this turn is the last of its loop */
};

static uint64_t
mix(uint64_t h, uint64_t v)
{
    return kn_mix(h ^ v);
}

static uint64_t
operand(const struct run *r, kn_ref x)
{
    const struct kn_const *k = &r->p->f->konst[KN_REF_INDEX(x)];
    uint64_t bits;

    if (proof_is_value(x))
        return r->reg[KN_REF_INDEX(x)];
    if (KN_REF_TAG(x) != KN_R_CONST)
        return 0;
    if (!k->is_float)
        return (uint64_t)k->i;
    memcpy(&bits, &k->f, sizeof bits);
    return mix(1, bits);
}

static uint64_t
operands(const struct run *r, const struct kn_ins *i, int from, uint64_t h)
{
    for (int a = from; a < KN_MAXARG && i->arg[a]; a++)
        h = mix(h, operand(r, i->arg[a]));
    return h;
}

/* ---- LDS ---- */

static size_t
place(const struct run *r, const struct kn_ins *i, uint32_t write)
{
    uint32_t slot = r->p->first[KN_REF_LDS(i->arg[0])] +
                    KN_REF_SLOT(i->arg[0]);

    return (size_t)slot * PROOF_WRITES + write;
}

static void
write_part(struct run *r, const struct kn_ins *i, uint64_t what)
{
    size_t at = place(r, i, r->p->access[i - r->ins].id);

    r->part[at] = what;
    r->when[at] = ++r->now;
}

/* The youngest of a set of writes to the slot at `slot`. */
static uint64_t
youngest(const struct run *r, size_t slot, const struct proof_set *set)
{
    uint32_t when = 0;
    uint64_t what = 0;

    for (uint32_t n = 0; n < PROOF_WRITES / 64; n++)
        for (uint64_t left = set->w[n]; left; left &= left - 1) {
            size_t at = slot + 64 * n + (size_t)__builtin_ctzll(left);

            if (r->when[at] > when) {
                when = r->when[at];
                what = r->part[at];
            }
        }
    return what;
}

/* Of all sets of writes that fill some of the bytes of a read. */
static uint64_t
read_parts(const struct run *r, const struct kn_ins *i, uint64_t h)
{
    const struct proof_access *a = &r->p->access[i - r->ins];

    for (uint32_t s = 0; s < a->span; s++)
        for (uint32_t n = 0; n < a->nneed[s]; n++)
            h = mix(h, youngest(r, place(r, i, s * a->next * PROOF_WRITES),
                                &a->need[s][n]));
    return h;
}

/* ---- one operation ---- */

/* Sums and products are those of the operands' numbers, modulo 2^64: one
 * address is one however it was come by. Of other operations the number is
 * like drawn. */
static uint64_t
number(const struct run *r, const struct kn_ins *i)
{
    uint64_t a = i->arg[0] ? operand(r, i->arg[0]) : 0;
    uint64_t b = i->arg[0] && i->arg[1] ? operand(r, i->arg[1]) : 0;

    switch (i->op) {
    case KN_OP_mov: case KN_OP_sext: case KN_OP_zext: case KN_OP_trunc:
    case KN_OP_uniform: case KN_OP_assume: case KN_OP_addr:
        return a;
    case KN_OP_add: case KN_OP_padd:
        return a + b;
    case KN_OP_sub:
        return a - b;
    case KN_OP_mul:
        return a * b;
    case KN_OP_shl:
        if (KN_REF_TAG(i->arg[1]) == KN_R_CONST)
            return a << (b & 63);
        break;
    }
    return operands(r, i, 0, r->does[i - r->ins]);
}

static void
step(struct run *r, const struct kn_ins *i)
{
    uint64_t h = r->does[i - r->ins];

    switch (i->op) {
    case KN_OP_dma:          /* where in LDS is which write it is */
        write_part(r, i, operands(r, i, 2, h));
        return;
    case KN_OP_lds_st:
        write_part(r, i, operands(r, i, 2, h));
        return;
    case KN_OP_lds_ld:
        h = read_parts(r, i, operands(r, i, 1, h));
        break;
    case KN_OP_stg:
    case KN_OP_atom:
        r->stores = mix(r->stores, operands(r, i, 0, h));
        return;
    default:
        h = number(r, i);
    }
    if (i->dst)
        r->reg[KN_REF_INDEX(i->dst)] = h;
}

/* ---- the way ---- */

/* Behind the `else` or the `end` of the level that `at` is in. */
static size_t
skip(const struct run *r, size_t at, bool stop_at_else)
{
    for (int depth = 0;; at++) {
        uint16_t op = r->ins[at].op;

        if (!depth && (op == KN_OP_end || (op == KN_OP_else && stop_at_else)))
            return at + 1;
        depth += op == KN_OP_loop || op == KN_OP_if;
        depth -= op == KN_OP_end;
    }
}

enum gone { GOES_ON, LEAVES, STOPS };

static enum gone run_level(struct run *r, size_t *at);

/* *at is behind `loop`, then behind its `end`. */
static enum gone
run_loop(struct run *r, size_t *at)
{
    size_t from = *at;
    bool outer = r->leave;
    enum gone gone = GOES_ON;

    /* one turn more than there may be: a `break` is in a branch not taken */
    for (unsigned turn = 0; gone == GOES_ON && turn <= r->way.turns; turn++) {
        *at = from;
        r->leave = turn + 1 >= r->way.turns;
        gone = run_level(r, at);
    }
    *at = skip(r, from, false);
    r->leave = outer;
    return gone == STOPS ? STOPS : GOES_ON;
}

/* A branch that ends the kernel is not taken. */
static bool
stops(const struct run *r, size_t at)
{
    size_t end = skip(r, at, true);
    int depth = 0;

    for (; at < end; at++) {
        depth += r->ins[at].op == KN_OP_if || r->ins[at].op == KN_OP_loop;
        depth -= r->ins[at].op == KN_OP_end;
        if (!depth && r->ins[at].op == KN_OP_stop)
            return true;
    }
    return false;
}

/* *at is behind `if`, then behind its `end`. */
static enum gone
run_if(struct run *r, size_t *at)
{
    bool then = (r->ifs++ % 2 ? r->way.then : r->way.first) &&
                !stops(r, *at);
    size_t from = *at, other = skip(r, from, true);
    bool none = r->ins[other - 1].op == KN_OP_end;
    enum gone gone = GOES_ON;

    if (then || !none) {
        *at = then ? from : other;
        gone = run_level(r, at);
    }
    *at = skip(r, from, false);
    return gone;
}

static enum gone
run_level(struct run *r, size_t *at)
{
    enum gone gone = GOES_ON;

    while (gone == GOES_ON && *at < r->p->f->nins) {
        const struct kn_ins *i = &r->ins[(*at)++];

        if (i->op == KN_OP_end || i->op == KN_OP_else)
            return GOES_ON;
        if (i->op == KN_OP_loop)
            gone = run_loop(r, at);
        else if (i->op == KN_OP_if)
            gone = run_if(r, at);
        else if (i->op == KN_OP_stop)
            gone = STOPS;
        else if (i->op == KN_OP_break)
            gone = r->leave ? LEAVES : GOES_ON;
        else
            step(r, i);
    }
    return gone;
}

static uint64_t
run(const struct values *v, const struct kn_ins *ins, struct way way)
{
    const struct kn_fn *f = v->p->f;
    struct run r = { .p = v->p, .does = v->does, .ins = ins, .way = way };
    size_t parts = (size_t)(v->p->nslots + 1) * PROOF_WRITES, at = 0;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    r.reg = KN_NEW(&c, uint64_t, f->nval);
    r.part = KN_NEW(&c, uint64_t, parts);
    r.when = KN_NEW(&c, uint32_t, parts);
    for (size_t n = 1; n < f->nval; n++)
        r.reg[n] = f->val[n].arg ? kn_mix(n) : 0;
    run_level(&r, &at);
    kn_ctx_free(&c);
    return r.stores;
}

void
values_of(const struct proof *p, struct values *v)
{
    const struct kn_fn *f = p->f;

    *v = (struct values){ .p = p, .does = KN_NEW(f->c, uint64_t, f->nins) };
    for (size_t i = 0; i < f->nins; i++) {
        v->does[i] = kn_mix(f->ins[i].op);
        for (int a = 0; a < KN_NATTR; a++)
            v->does[i] = mix(v->does[i], (uint32_t)f->ins[i].attr[a]);
    }
    for (int w = 0; w < VALUE_WAYS; w++)
        v->stores[w] = run(v, f->ins, ways[w]);
}

bool
stores_otherwise(const struct values *v, const struct kn_ins *ins)
{
    for (int w = 0; w < VALUE_WAYS; w++)
        if (run(v, ins, ways[w]) != v->stores[w])
            return true;
    return false;
}
