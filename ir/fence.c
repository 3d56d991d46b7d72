/* fence.c - derives every vector-memory wait from the program: `landed
 * %slot` becomes the weakest fence that is still right, and the first use of a
 * loaded register gets one in front of it. The count is the number of
 * vector-memory operations issued after the one waited for, the minimum over
 * all paths (loops to a fixed point).
 *
 * Requires: wave level. Leaves: no landed of a slot; no register loaded by ldg used
 * without a fence. Vector-memory operations retire in issue order (CDNA3 ISA
 * 4.4), which is what makes the count exact. Waits for LDS reads are left to
 * the back end, which knows its own schedule (docs/ir.md). */
#include "ir.h"

#include <string.h>

enum { LANDED = 64, MAX_DEPTH = 32 };

/* Per slot, then per value: operations issued since its last copy or load, at
 * most 62, the largest count that makes the 6-bit counter wait; LANDED:
 * nothing in flight. */
struct state {
    bool live;               /* the place is reachable */
    uint8_t *since;
};

struct placer {
    struct kn_fn *f;
    uint32_t *first;         /* LDS tile -> its first slot number */
    uint32_t nslots;
    size_t n;                /* entries of a state */
    uint8_t *before;         /* by instruction: fence to put before it */
    bool *loaded;            /* by value: ldg assigns it */
    struct state exits[MAX_DEPTH]; /* merged break states by loop depth */
    int depth;
};

static struct state
new_state(struct placer *p, const struct state *from)
{
    struct state s = { from && from->live, KN_NEW(p->f->c, uint8_t, p->n) };

    if (from)
        memcpy(s.since, from->since, p->n);
    else
        memset(s.since, LANDED, p->n);
    return s;
}

static bool
merge(struct placer *p, struct state *a, const struct state *b)
{
    bool changed = false;

    if (!b->live)
        return false;
    if (!a->live) {
        a->live = true;
        memcpy(a->since, b->since, p->n);
        return true;
    }
    for (size_t i = 0; i < p->n; i++)
        if (b->since[i] < a->since[i]) {
            a->since[i] = b->since[i];
            changed = true;
        }
    return changed;
}

static uint8_t *
slot_of(const struct placer *p, struct state *s, kn_ref r)
{
    return &s->since[p->first[KN_REF_LDS(r)] + KN_REF_SLOT(r)];
}

static uint8_t *
value_of(const struct placer *p, struct state *s, kn_ref r)
{
    return &s->since[p->nslots + KN_REF_INDEX(r)];
}

static void
issue(struct placer *p, struct state *s)
{
    for (size_t i = 0; i < p->n; i++)
        if (s->since[i] < 62)
            s->since[i]++;
}

static void
wait(struct placer *p, struct state *s, int32_t vm)
{
    if (vm >= LANDED)
        return;              /* waits for nothing */
    for (size_t i = 0; i < p->n; i++)
        if (s->since[i] >= vm)
            s->since[i] = LANDED;
}

/* The weakest vm= that covers the operands: slots of a `landed`, or loaded
 * registers that are read or overwritten. */
static int32_t
needed(struct placer *p, const struct kn_ins *i, struct state *s)
{
    int32_t vm = LANDED;

    if (i->op == KN_OP_used && i->attr[KN_A_going])
        return LANDED;
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        uint8_t n = LANDED;

        if (KN_REF_TAG(i->arg[a]) == KN_R_VAL)
            n = *value_of(p, s, i->arg[a]);
        else if (i->op == KN_OP_landed)
            n = *slot_of(p, s, i->arg[a]);
        if (n < vm)
            vm = n;
    }
    if (i->dst && i->op != KN_OP_ldg && *value_of(p, s, i->dst) < vm)
        vm = *value_of(p, s, i->dst);
    return vm;
}

static void
step(struct placer *p, size_t at, struct state *s)
{
    const struct kn_ins *i = &p->f->ins[at];
    int32_t vm;

    if (!s->live)
        return;
    vm = needed(p, i, s);
    p->before[at] = (uint8_t)vm;
    wait(p, s, vm);
    switch (i->op) {
    case KN_OP_fence:
        wait(p, s, i->attr[KN_A_vm]);
        break;
    case KN_OP_dma:
        issue(p, s);
        *slot_of(p, s, i->arg[0]) = 0;
        break;
    case KN_OP_ldg:
    case KN_OP_arrive:
        issue(p, s);
        *value_of(p, s, i->dst) = 0;
        break;
    case KN_OP_stg:
    case KN_OP_atom:
    case KN_OP_atmax:
        issue(p, s);
        break;
    case KN_OP_break:
        merge(p, &p->exits[p->depth], s);
        break;
    case KN_OP_stop:
        s->live = false;
        break;
    }
}

static size_t walk(struct placer *p, size_t at, struct state *s);

/* `at` is behind `loop`; returns the index of its `end`. The last round of
 * the fixed point leaves the counts that hold on every turn. */
static size_t
walk_loop(struct placer *p, size_t at, struct state *s)
{
    struct state head = new_state(p, s), body;
    size_t end;

    p->depth++;
    do {
        body = new_state(p, &head);
        p->exits[p->depth] = new_state(p, NULL);
        end = walk(p, at, &body);
    } while (merge(p, &head, &body));
    *s = p->exits[p->depth--];
    return end;
}

/* `at` is behind `if`; returns the index of its `end`. */
static size_t
walk_if(struct placer *p, size_t at, struct state *s)
{
    struct state other = new_state(p, s);

    at = walk(p, at, s);
    if (p->f->ins[at].op == KN_OP_else)
        at = walk(p, at + 1, &other);
    merge(p, s, &other);
    return at;
}

/* Walks to the `else` or `end` that closes this level, or the last line. */
static size_t
walk(struct placer *p, size_t at, struct state *s)
{
    for (; at < p->f->nins; at++) {
        uint16_t op = p->f->ins[at].op;

        if (op == KN_OP_end || op == KN_OP_else)
            return at;
        if (op == KN_OP_loop) {
            at = walk_loop(p, at + 1, s);
        } else {
            step(p, at, s);
            if (op == KN_OP_if)
                at = walk_if(p, at + 1, s);
        }
    }
    return at;
}

/* `landed` stays for registers, which no use may be moved in front of. */
static void
keep_registers(struct placer *p, const struct kn_ins *old)
{
    struct kn_ins keep = *old;
    int n = 0;

    memset(keep.arg, 0, sizeof keep.arg);
    for (int a = 0; a < KN_MAXARG && old->arg[a]; a++)
        if (KN_REF_TAG(old->arg[a]) == KN_R_VAL &&
            p->loaded[KN_REF_INDEX(old->arg[a])])
            keep.arg[n++] = old->arg[a];
    if (n)
        *kn_add(p->f, KN_OP_landed, old->at) = keep;
}

/* Fences in front of what needs one. */
static void
rewrite(struct placer *p)
{
    struct kn_fn *f = p->f;
    struct kn_ins *old = f->ins;
    size_t n = f->nins;

    f->ins = NULL;
    f->nins = f->capins = 0;
    for (size_t i = 0; i < n; i++) {
        if (p->before[i] < LANDED)
            kn_add(f, KN_OP_fence, old[i].at)->attr[KN_A_vm] = p->before[i];
        if (old[i].op == KN_OP_landed)
            keep_registers(p, &old[i]);
        else
            *kn_add(f, KN_OP_fence, old[i].at) = old[i];
    }
}

kiln_status
kn_pass_fence(struct kn_fn **fp)
{
    struct kn_fn *f = *fp;
    struct placer *p = KN_NEW(f->c, struct placer, 1);
    struct state s;

    p->f = f;
    p->first = KN_NEW(f->c, uint32_t, f->nlds + 1);
    for (size_t i = 0; i < f->nlds; i++) {
        p->first[i] = p->nslots;
        p->nslots += f->lds[i].slots;
    }
    p->n = p->nslots + f->nval;
    p->before = KN_NEW(f->c, uint8_t, f->nins + 1);
    memset(p->before, LANDED, f->nins + 1);
    p->loaded = KN_NEW(f->c, bool, f->nval);
    for (size_t i = 0; i < f->nins; i++)
        if (f->ins[i].op == KN_OP_ldg)
            p->loaded[KN_REF_INDEX(f->ins[i].dst)] = true;
    s = new_state(p, NULL);
    s.live = true;
    walk(p, 0, &s);
    rewrite(p);
    return KILN_OK;
}
