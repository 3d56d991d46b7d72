/* mutants.c - see mutants.h. */
#include "mutants.h"

#include "ir/proof/proof.h"

#include <string.h>

const char *const mutation_text[MUT_KINDS] = {
#define X(id, text) text,
    MUTATIONS(X)
#undef X
};

const char *const verdict_text[MUT_VERDICTS] = {
#define X(id, text) text,
    VERDICTS(X)
#undef X
};

uint64_t
mutants_of(const struct tally *t, enum verdict v)
{
    uint64_t n = 0;

    for (int m = 0; m < MUT_KINDS; m++)
        n += t->n[v][m];
    return n;
}

uint64_t
mutants_made(const struct tally *t, enum mutation m)
{
    uint64_t n = 0;

    for (int v = 0; v < MUT_VERDICTS; v++)
        n += t->n[v][m];
    return n;
}

bool
same_bytes(const struct kn_ins *a, const struct kn_ins *b)
{
    return a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] &&
           a->attr[KN_A_offset] == b->attr[KN_A_offset];
}

/* The other half of a read and the store behind it that puts it back; NULL if
 * `i` is no half of such a pair. */
static struct kn_ins *
other_half(const struct kn_fn *f, struct kn_ins *i)
{
    bool load = i->op == KN_OP_lds_ld;
    uint16_t want = load ? KN_OP_lds_st : KN_OP_lds_ld;

    if (!load && i->op != KN_OP_lds_st)
        return NULL;
    for (struct kn_ins *x = i; x >= f->ins && x < f->ins + f->nins;
         x += load ? 1 : -1) {
        if (x->op == want && same_bytes(x, i))
            return x;
        if (kn_op_kind((enum kn_op)x->op) == KN_CTL ||
            x->op == KN_OP_barrier)
            return NULL;
    }
    return NULL;
}

bool
mutant_half(const struct kn_fn *f, size_t at, size_t *half)
{
    const struct kn_ins *x = other_half(f, &f->ins[at]);

    if (x)
        *half = (size_t)(x - f->ins);
    return x != NULL;
}

/* Of a read of two slots, the next two there are. */
static bool
next_slot(const struct kn_fn *f, struct kn_ins *i)
{
    uint32_t span = i->op == KN_OP_lds_ld ? (uint32_t)i->attr[KN_A_span] : 1;
    uint32_t n = f->lds[KN_REF_LDS(i->arg[0])].slots + 1 - span;
    uint32_t slot = (KN_REF_SLOT(i->arg[0]) + 1) % n;

    i->arg[0] = KN_REF(KN_R_LDS, KN_REF_LDS(i->arg[0]) << 8 | slot);
    return n > 1;
}

static bool
store_elsewhere(const struct kn_fn *f, struct kn_ins *i)
{
    struct kn_ins *load = other_half(f, i);

    if (load)
        next_slot(f, load);
    return next_slot(f, i);
}

/* Turns instruction `i` of f into its mutant; false if it has none of this
 * kind. A removed instruction becomes the fence that waits for nothing. */
static bool
mutate(const struct kn_fn *f, struct kn_ins *i, enum mutation m)
{
    bool fence = i->op == KN_OP_fence;

    switch (m) {
    case MUT_FENCE:
    case MUT_BARRIER:
        if (i->op != (m == MUT_FENCE ? KN_OP_fence : KN_OP_barrier))
            return false;
        i->op = KN_OP_fence;
        kn_default_attrs(i);
        return true;
    case MUT_HALF:
        if (i->op != KN_OP_stagger && i->op != KN_OP_rejoin)
            return false;
        i->op = KN_OP_fence;
        kn_default_attrs(i);
        return true;
    case MUT_VM:
        return fence && i->attr[KN_A_vm] < 62 && ++i->attr[KN_A_vm];
    case MUT_LGKM:
        return fence && i->attr[KN_A_lgkm] < 14 && ++i->attr[KN_A_lgkm];
    case MUT_COPY:
        return i->op == KN_OP_dma && next_slot(f, i);
    case MUT_STORE:
        return i->op == KN_OP_lds_st && store_elsewhere(f, i);
    case MUT_READ:
        return i->op == KN_OP_lds_ld && !other_half(f, i) && next_slot(f, i);
    case MUT_KINDS:
        break;
    }
    return false;
}

/* The end of the `if` at n, which has no `else` and accesses LDS at most, in order with
 * what the wave did before; or 0. */
static size_t
end_of_clip(const struct kn_fn *f, size_t n)
{
    while (++n < f->nins && f->ins[n].op != KN_OP_end) {
        uint16_t op = f->ins[n].op;

        if (kn_op_kind((enum kn_op)op) != KN_ALU && op != KN_OP_fence && op != KN_OP_sched &&
            op != KN_OP_lds_ld && op != KN_OP_lds_st)
            return 0;
    }
    return n < f->nins ? n : 0;
}

/* A later fence retires what fence `at` does, and nothing before it is a
 * barrier, an LDS access or a branch (the end of its own `if` apart, and of a wait for
 * LDS alone what end_of_clip() passes). Loads and stores between the two push the
 * operations at hand further back. */
static bool
later_covers(const struct kn_fn *f, size_t at)
{
    const struct kn_ins *i = &f->ins[at];
    int vm = i->attr[KN_A_vm], lgkm = i->attr[KN_A_lgkm];

    for (size_t n = at + 1; n < f->nins; n++) {
        const struct kn_ins *x = &f->ins[n];

        switch (x->op) {
        case KN_OP_fence:
            if ((vm == 63 || x->attr[KN_A_vm] <= vm) &&
                (lgkm == 15 || x->attr[KN_A_lgkm] <= lgkm))
                return true;
            break;
        case KN_OP_ldg:
        case KN_OP_stg:
            vm += vm < 62;
            break;
        case KN_OP_if:
            n = vm == 63 ? end_of_clip(f, n) : 0;
            if (!n)
                return false;
            break;
        case KN_OP_end:
        case KN_OP_ldu:
            break;
        default:
            if (kn_op_kind((enum kn_op)x->op) != KN_ALU &&
                kn_op_kind((enum kn_op)x->op) != KN_SYNC)
                return false;
            if (x->op == KN_OP_barrier || x->op == KN_OP_stagger ||
                x->op == KN_OP_rejoin)
                return false;
        }
    }
    return false;
}

static size_t
loop_of_end(const struct kn_fn *f, size_t end)
{
    int depth = 0;

    for (size_t n = end; n-- > 0;) {
        uint16_t op = f->ins[n].op;

        depth += op == KN_OP_end;
        if ((op == KN_OP_loop || op == KN_OP_if) && depth-- == 0)
            return op == KN_OP_loop ? n : f->nins;
    }
    return f->nins;
}

static bool
writes_slot(const struct kn_ins *i, kn_ref slot)
{
    return (i->op == KN_OP_dma || i->op == KN_OP_lds_st) && i->arg[0] == slot;
}

/* The LDS operation that one more outstanding leaves is a read of a slot that
 * is written only behind another full wait and a barrier, once around the
 * loop. */
static bool
left_is_waited(const struct kn_fn *f, size_t at)
{
    bool waited = false, met = false, turned = false;
    size_t n = at;
    kn_ref slot;

    while (n && f->ins[n].op != KN_OP_lds_ld && f->ins[n].op != KN_OP_lds_st)
        if (kn_op_kind((enum kn_op)f->ins[n--].op) == KN_CTL)
            return false;
    if (f->ins[n].op != KN_OP_lds_ld)
        return false;
    slot = f->ins[n].arg[0];
    for (n = at + 1; n < f->nins; n++) {
        const struct kn_ins *x = &f->ins[n];

        if (writes_slot(x, slot))
            return met;
        met |= waited && x->op == KN_OP_barrier;
        waited |= x->op == KN_OP_fence && x->attr[KN_A_lgkm] == 0;
        if (x->op == KN_OP_end && !turned && loop_of_end(f, n) < f->nins) {
            n = loop_of_end(f, n);
            turned = true;
        }
    }
    return true;
}

/* Behind stagger, where half of the barriers keep turns only, or behind rejoin,
 * which is a barrier itself. */
static bool
behind_halves(const struct kn_fn *f, size_t at)
{
    const struct kn_ins *i = &f->ins[at];

    if (i->op != KN_OP_barrier && i->op != KN_OP_fence)
        return false;
    while (i > f->ins && i->op != KN_OP_stagger && i->op != KN_OP_rejoin)
        i--;
    return i->op == KN_OP_stagger || i->op == KN_OP_rejoin;
}

/* The only instruction with an effect of an `if` without `else`: the path
 * around it does without the fence already. */
static bool
alone_in_branch(const struct kn_fn *f, size_t at)
{
    size_t from = at - 1, to = at + 1;

    if (!at)
        return false;
    while (from && kn_op_kind((enum kn_op)f->ins[from].op) == KN_ALU)
        from--;
    while (to < f->nins && kn_op_kind((enum kn_op)f->ins[to].op) == KN_ALU)
        to++;
    return to < f->nins && f->ins[from].op == KN_OP_if &&
           f->ins[to].op == KN_OP_end;
}

static bool
may_mutate(const struct kn_ins *i)
{
    return i->op == KN_OP_fence || i->op == KN_OP_barrier ||
           i->op == KN_OP_stagger || i->op == KN_OP_rejoin ||
           i->op == KN_OP_dma || i->op == KN_OP_lds_st || i->op == KN_OP_lds_ld;
}

/* A kernel being weakened: copies of its instructions and of what they touch,
 * changed at one place, or one and its other half, and put back. */
struct bench {
    const struct kn_fn *f;
    struct kn_fn g;
    struct proof p;
    struct tally *t;
    bool *met;               /* by instruction: a proof of f came to it */
    bool (*fails)[MUT_KINDS]; /* and this mutant of it failed from there on */
};

static void
put_back(struct bench *b, const struct kn_ins *i)
{
    if (i)
        b->g.ins[i - b->g.ins] = b->f->ins[i - b->g.ins];
}

static void
set_slot(struct bench *b, const struct kn_ins *i)
{
    struct proof_access *a = i ? &b->p.access[i - b->g.ins] : NULL;

    if (a && a->slot >= 0)
        a->slot = (int32_t)(b->p.first[KN_REF_LDS(i->arg[0])] +
                            KN_REF_SLOT(i->arg[0]));
}

/* The order alone is proven anew: a mutant reaches the same bytes as the
 * kernel did, of other slots at most. */
static bool
proves(struct bench *b)
{
    struct kn_ctx c;
    bool ok;

    kn_ctx_init(&c, NULL, NULL);
    b->p.c = b->g.c = &c;
    b->p.depth = 0;
    ok = proof_order(&b->p) == KILN_OK;
    kn_ctx_free(&c);
    return ok;
}

/* The proof of a mutant comes to its change as that of the kernel does: what
 * fails from there to the end of the loop or branch fails in all of it. */
static bool
fails_at_once(struct bench *b, const struct proof *met, size_t at,
              const struct proof_state *state)
{
    struct proof p = *met;
    struct proof_state s;
    struct kn_ctx c;
    bool fails;

    kn_ctx_init(&c, NULL, NULL);
    p.c = b->g.c = &c;
    p.f = &b->g;
    p.visit = NULL;
    s = proof_state_copy(&p, state);
    p.exits[p.depth] = p.depth ? proof_state_copy(&p, &met->exits[p.depth])
                               : p.exits[0];
    fails = proof_onwards(&p, at, &s) != KILN_OK;
    kn_ctx_free(&c);
    return fails;
}

static enum verdict
verdict(const struct bench *b, size_t at, enum mutation m, bool proven)
{
    if (!proven)
        return MUT_KILLED;
    if (b->f->ins[at].op == KN_OP_fence &&
        (later_covers(b->f, at) || alone_in_branch(b->f, at)))
        return MUT_HARMLESS;
    if (m == MUT_LGKM && left_is_waited(b->f, at))
        return MUT_HARMLESS;
    if (m >= MUT_COPY)
        return MUT_VALUE;
    return behind_halves(b->f, at) ? MUT_TURN : MUT_SURVIVES;
}

static void
count(struct bench *b, size_t at, enum mutation m, enum verdict v)
{
    struct tally *t = b->t;

    t->verdicts = kn_mix(t->verdicts ^ ((uint64_t)v << 8 | (uint64_t)m));
    if (v == MUT_VALUE && t->other_value && t->other_value(t->user, &b->g))
        v = MUT_TOLD;
    t->n[v][m]++;
    if (v == MUT_TURN && t->other_turn)
        t->other_turn(t->user, &b->g);
    if ((v == MUT_SURVIVES || (v == MUT_VALUE && t->other_value)) &&
        t->survivor)
        t->survivor(t->user, b->f, at, m);
}

static bool
make(struct bench *b, size_t at, enum mutation m, struct kn_ins *half)
{
    if (!mutate(&b->g, &b->g.ins[at], m))
        return false;
    set_slot(b, &b->g.ins[at]);
    set_slot(b, half);
    return true;
}

static void
unmake(struct bench *b, size_t at, struct kn_ins *half)
{
    put_back(b, &b->g.ins[at]);
    put_back(b, half);
    set_slot(b, &b->g.ins[at]);
    set_slot(b, half);
}

/* A clip changes in two places, and waits for the proof from the start. */
static void
try_here(void *user, const struct proof *p, size_t at,
         const struct proof_state *s)
{
    struct bench *b = user;
    bool first = !b->met[at] && may_mutate(&b->f->ins[at]) &&
                 !other_half(&b->g, &b->g.ins[at]);

    b->met[at] = true;
    for (int m = 0; m < MUT_KINDS && first; m++) {
        if (make(b, at, (enum mutation)m, NULL))
            b->fails[at][m] = fails_at_once(b, p, at, s);
        unmake(b, at, NULL);
    }
}

static void
try_one(struct bench *b, size_t at, enum mutation m)
{
    struct kn_ins *half = other_half(&b->g, &b->g.ins[at]);

    if (make(b, at, m, half)) {
        bool proven = !b->fails[at][m] && proves(b);

        count(b, at, m, verdict(b, at, m, proven));
    }
    unmake(b, at, half);
}

static void
try_all(const struct kn_fn *f, const struct proof *p, struct tally *t,
        bool here)
{
    struct bench b = { .f = f, .g = *f, .p = *p, .t = t };
    struct proof of_kernel = *p;

    b.g.ins = KN_NEW(f->c, struct kn_ins, f->nins);
    memcpy(b.g.ins, f->ins, f->nins * sizeof *f->ins);
    b.p.f = &b.g;
    b.met = KN_NEW(f->c, bool, f->nins);
    b.fails = kn_alloc(f->c, f->nins, sizeof *b.fails);
    of_kernel.visit = try_here;
    of_kernel.user = &b;
    if (here && proof_order(&of_kernel))
        return;
    for (size_t i = 0; i < f->nins; i++)
        for (int m = 0; m < MUT_KINDS && may_mutate(&f->ins[i]); m++)
            try_one(&b, i, (enum mutation)m);
}

void
try_mutants(const struct kn_fn *f, struct tally *t)
{
    struct proof *p;

    if (!proof_prepare(f, &p))
        try_all(f, p, t, false);
}

void
try_order_mutants(const struct order *o, struct tally *t)
{
    try_all(&o->f, &o->p, t, true);
}
