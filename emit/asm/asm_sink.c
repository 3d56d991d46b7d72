/* asm_sink.c - what one branch alone uses is computed in it.
 *
 * Tidy computes values in front of the outermost loop or branch around their
 * first mention. In a branch they cost those nothing that do not take it, their
 * registers are free outside, and what is loaded there is asked for as soon as
 * its address is known. Not where a wait stands in the straight run in front of the
 * branch, behind which they are free. Regions are loops and branches; region 0 is the kernel. */
#include "asm.h"

#include <string.h>

struct region {
    uint32_t parent, depth, begin;   /* begin: the operation that opens it */
    bool stays;              /* what is computed in front of it stays there */
};

struct sink {
    struct kn_fn *f;
    struct region *region;
    uint32_t *of;            /* by operation: the region it is in */
    uint32_t *times;         /* by value: assignments */
    uint32_t *place;         /* by operation: in front of which it goes */
    uint32_t *within, *first;        /* by value: the region all its uses are
                                      * in, UINT32_MAX none; their first place */
};

/* Both sides of a branch are regions of their own. */
static void
find_regions(struct sink *s)
{
    uint32_t open = 0, made = 0, begin;
    bool waits = false;

    for (uint32_t n = 0; n < s->f->nins; n++) {
        uint16_t op = s->f->ins[n].op;
        bool turns = op == KN_OP_else;

        begin = turns ? s->region[open].begin : n;
        if (op == KN_OP_end || turns)
            open = s->region[open].parent;
        s->of[n] = open;
        waits = op != KN_OP_end && (waits || op == KN_OP_fence);
        if (op != KN_OP_loop && op != KN_OP_if && !turns)
            continue;
        s->region[++made] = (struct region){ open, s->region[open].depth + 1,
                                             begin, op == KN_OP_loop || waits };
        open = made;
        waits = false;
    }
}

static uint32_t
common(const struct sink *s, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (s->region[a].depth >= s->region[b].depth)
            a = s->region[a].parent;
        else
            b = s->region[b].parent;
    }
    return a;
}

/* The innermost region between a definition in `from` and uses in `to` that is
 * reached through branches alone. */
static uint32_t
target(const struct sink *s, uint32_t from, uint32_t to)
{
    uint32_t best = to;

    for (uint32_t r = to; r != from; r = s->region[r].parent)
        if (s->region[r].stays)
            best = s->region[r].parent;
    return best;
}

/* Where operation `at` is, seen from region r around it. */
static uint32_t
seen_from(const struct sink *s, uint32_t r, uint32_t at)
{
    for (uint32_t k = s->of[at]; k != r; k = s->region[k].parent)
        at = s->region[k].begin;
    return at;
}

static bool
encloses(const struct sink *s, uint32_t outer, uint32_t r)
{
    return common(s, outer, r) == outer;
}

/* A pure operation on what is assigned once is the same anywhere after it. */
static bool
may_sink(const struct sink *s, const struct kn_ins *i)
{
    if (!i->dst || i->op == KN_OP_mfma || i->op == KN_OP_mfmas ||
        kn_op_info((enum kn_op)i->op).kind != KN_ALU ||
        s->times[KN_REF_INDEX(i->dst)] != 1)
        return false;
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (KN_REF_TAG(i->arg[a]) == KN_R_VAL &&
            s->times[KN_REF_INDEX(i->arg[a])] != 1)
            return false;
    return true;
}

static void
place(struct sink *s, uint32_t n)
{
    const struct kn_ins *i = &s->f->ins[n];
    uint32_t v = i->dst ? KN_REF_INDEX(i->dst) : 0, to;

    s->place[n] = n;
    if (may_sink(s, i) && s->within[v] != UINT32_MAX &&
        s->within[v] != s->of[n] && encloses(s, s->of[n], s->within[v])) {
        to = target(s, s->of[n], s->within[v]);
        if (to != s->of[n])
            s->place[n] = seen_from(s, to, s->first[v]);
    }
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        uint32_t x = KN_REF_INDEX(i->arg[a]), r = s->of[s->place[n]];

        if (KN_REF_TAG(i->arg[a]) != KN_R_VAL)
            continue;
        s->within[x] = s->within[x] == UINT32_MAX ? r : common(s, s->within[x], r);
        if (s->place[n] < s->first[x])
            s->first[x] = s->place[n];
    }
}

/* In the order of places; what was moved comes in front of what stays. */
static void
rearrange(struct kn_ctx *c, struct sink *s, uint32_t *from)
{
    size_t n = s->f->nins, to = 0;
    struct kn_ins *ins = KN_NEW(c, struct kn_ins, n);
    uint32_t *was = KN_NEW(c, uint32_t, n), *next = KN_NEW(c, uint32_t, n);
    uint32_t *head = KN_NEW(c, uint32_t, n);

    for (uint32_t k = (uint32_t)n; k-- > 0;)
        if (s->place[k] != k) {
            next[k] = head[s->place[k]];
            head[s->place[k]] = k + 1;
        }
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t m = head[k]; m; m = next[m - 1]) {
            was[to] = from[m - 1];
            ins[to++] = s->f->ins[m - 1];
        }
        if (s->place[k] == k) {
            was[to] = from[k];
            ins[to++] = s->f->ins[k];
        }
    }
    memcpy(from, was, n * sizeof *was);
    s->f->ins = ins;
}

void
kn_asm_sink(struct kn_ctx *c, struct kn_fn *f, uint32_t *from)
{
    struct sink s = { .f = f };

    s.region = KN_NEW(c, struct region, f->nins + 1);
    s.of = KN_NEW(c, uint32_t, f->nins);
    s.place = KN_NEW(c, uint32_t, f->nins);
    s.times = KN_NEW(c, uint32_t, f->nval);
    s.within = KN_NEW(c, uint32_t, f->nval);
    s.first = KN_NEW(c, uint32_t, f->nval);
    memset(s.within, 0xff, f->nval * sizeof *s.within);
    memset(s.first, 0xff, f->nval * sizeof *s.first);
    for (size_t n = 0; n < f->nins; n++)
        if (f->ins[n].dst)
            s.times[KN_REF_INDEX(f->ins[n].dst)]++;
    for (size_t v = 1; v < f->nval; v++)
        s.times[v] += f->val[v].arg;
    find_regions(&s);
    for (uint32_t n = (uint32_t)f->nins; n-- > 0;)
        place(&s, n);
    rearrange(c, &s, from);
}
