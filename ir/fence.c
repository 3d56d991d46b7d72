/* fence.c - turns every `await %slot...` into the weakest fence that is still
 * right: the number of vector-memory operations issued after the last copy
 * into any of the slots, the minimum over all paths (loops to a fixed point).
 *
 * Requires: wave level. Leaves: no await. Vector-memory operations retire in
 * issue order (CDNA3 ISA 4.4), which is what makes the count exact. */
#include "ir.h"

#include <string.h>

enum { LANDED = 64, MAX_SLOTS = 128, MAX_DEPTH = 32 };

/* Per slot: operations issued since its last copy; LANDED: none in flight. */
struct state {
    bool live;               /* the place is reachable */
    uint8_t since[MAX_SLOTS];
};

struct placer {
    struct kn_fn *f;
    const uint32_t *first;   /* LDS tile -> its first slot number */
    bool write;              /* final walk: replace the awaits */
    struct state exits[MAX_DEPTH]; /* merged break states by loop depth */
    int depth;
};

static bool
merge(struct state *a, const struct state *b)
{
    bool changed = false;

    if (!b->live)
        return false;
    if (!a->live) {
        *a = *b;
        return true;
    }
    for (int i = 0; i < MAX_SLOTS; i++)
        if (b->since[i] < a->since[i]) {
            a->since[i] = b->since[i];
            changed = true;
        }
    return changed;
}

static uint32_t
slot_number(const struct placer *p, kn_ref r)
{
    return p->first[KN_REF_LDS(r)] + KN_REF_SLOT(r);
}

static void
issue(struct state *s)
{
    for (int i = 0; i < MAX_SLOTS; i++)
        if (s->since[i] < LANDED)
            s->since[i] = s->since[i] < 63 ? s->since[i] + 1 : 63;
}

static void
wait(struct state *s, int32_t vm)
{
    for (int i = 0; i < MAX_SLOTS; i++)
        if (s->since[i] >= vm)
            s->since[i] = LANDED;
}

static void
place(struct placer *p, struct kn_ins *i, struct state *s)
{
    int32_t vm = 63;

    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        uint8_t n = s->since[slot_number(p, i->arg[a])];

        if (n < vm)
            vm = n;
    }
    wait(s, vm);
    if (!p->write)
        return;
    i->op = KN_OP_fence;
    memset(i->arg, 0, sizeof i->arg);
    kn_default_attrs(i)->attr[KN_A_vm] = vm;
}

static void
step(struct placer *p, struct kn_ins *i, struct state *s)
{
    if (!s->live)
        return;
    switch (i->op) {
    case KN_OP_await:
        place(p, i, s);
        break;
    case KN_OP_fence:
        wait(s, i->attr[KN_A_vm]);
        break;
    case KN_OP_dma:
        issue(s);
        s->since[slot_number(p, i->arg[0])] = 0;
        break;
    case KN_OP_ldg:
    case KN_OP_stg:
        issue(s);
        break;
    case KN_OP_break:
        merge(&p->exits[p->depth], s);
        break;
    case KN_OP_stop:
        s->live = false;
        break;
    }
}

static size_t walk(struct placer *p, size_t at, struct state *s);

/* `at` is behind `loop`; returns the index of its `end`. */
static size_t
walk_loop(struct placer *p, size_t at, struct state *s)
{
    struct state head = *s, body;
    bool write = p->write;
    size_t end;

    p->depth++;
    p->write = false;
    do {
        body = head;
        p->exits[p->depth].live = false;
        end = walk(p, at, &body);
    } while (merge(&head, &body));
    p->write = write;
    if (write) {
        p->exits[p->depth].live = false;
        body = head;
        walk(p, at, &body);
    }
    *s = p->exits[p->depth--];
    return end;
}

/* `at` is behind `if`; returns the index of its `end`. */
static size_t
walk_if(struct placer *p, size_t at, struct state *s)
{
    struct state other = *s;

    at = walk(p, at, s);
    if (p->f->ins[at].op == KN_OP_else)
        at = walk(p, at + 1, &other);
    merge(s, &other);
    return at;
}

/* Walks to the `else` or `end` that closes this level, or the last line. */
static size_t
walk(struct placer *p, size_t at, struct state *s)
{
    for (; at < p->f->nins; at++) {
        struct kn_ins *i = &p->f->ins[at];

        if (i->op == KN_OP_end || i->op == KN_OP_else)
            return at;
        if (i->op == KN_OP_loop)
            at = walk_loop(p, at + 1, s);
        else if (i->op == KN_OP_if)
            at = walk_if(p, at + 1, s);
        else
            step(p, i, s);
    }
    return at;
}

kiln_status
kn_pass_fence(struct kn_fn **fp)
{
    struct kn_fn *f = *fp;
    struct placer *p = KN_NEW(f->c, struct placer, 1);
    struct state s = { .live = true };
    uint32_t *first = KN_NEW(f->c, uint32_t, f->nlds + 1), n = 0;

    for (size_t i = 0; i < f->nlds; i++) {
        first[i] = n;
        n += f->lds[i].slots;
    }
    if (n > MAX_SLOTS)
        return kn_fail_at(f->c, KILN_UNSUPPORTED, f->at,
                          "the kernel has %u LDS slots, at most %d can be "
                          "tracked", n, MAX_SLOTS);
    memset(s.since, LANDED, sizeof s.since);
    *p = (struct placer){ .f = f, .first = first, .write = true };
    walk(p, 0, &s);
    return KILN_OK;
}
