/* proof_range.c - the shape-domain proof: over every launch that the declared
 * ranges of the arguments allow, no address offset and no record count of a
 * resource comes from 32-bit arithmetic that wrapped, and no record count is
 * negative.
 *
 * Interval analysis of the scalars, to a fixed point over loops. A value is
 * the integer its formula means, not its bits. An operation whose result may
 * leave both readings of its bits (-2^31 .. 2^32-1) is marked; the mark moves
 * on through arithmetic and ends at a clamp (min, max, and with a constant),
 * which bounds the bits whatever they are, or at `assume`, which names what a
 * launch or its device data must hold. A mark that reaches an offset, a record
 * count or the base of a resource is a finding.
 *
 * Kernels that declare no range are not asked: there is no domain. */
#include "proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLAIN_JOINS = 3, MOST_STEPS = 512 };
struct rstate {
    bool live;
    struct interval *v;         /* by place */
};

struct ranges {
    const struct proof *p;
    const struct kn_fn *f;
    struct proof_numbers n;
    bool *wide;              /* by place */
    struct rstate exits[PROOF_DEPTH];
    int depth;
    int64_t *step;           /* places where widening stops, ascending */
    size_t nstep;
    bool report;             /* the fixed point is reached: check */
    struct interval **spare;    /* of states that are over */
    size_t nspare, capspare;
    struct kn_range_facts *facts;
};

static bool
is_long(const struct ranges *r, kn_ref x)
{
    uint8_t e = kn_val(r->f, x)->type.elem;

    return e == KN_T_i64 || e == KN_T_ptr;
}

static struct interval
of(const struct ranges *r, const struct rstate *s, kn_ref x)
{
    const struct kn_const *k = &r->f->konst[KN_REF_INDEX(x)];

    if (proof_is_value(x))
        return s->v[r->n.place[KN_REF_INDEX(x)]];
    return KN_REF_TAG(x) == KN_R_CONST && !k->is_float ? interval_of(k->i, k->i)
                                                       : interval_all(true, 0);
}

/* ---- conditions ---- */

/* The comparison that made the condition of ins[at], if its operands still
 * hold what it compared. */
static const struct kn_ins *
comparison(const struct ranges *r, size_t at)
{
    const struct kn_ins *ins = r->f->ins;
    kn_ref want = ins[at].arg[0];

    for (size_t n = at; n-- > 0;) {
        const struct kn_ins *x = &ins[n];

        if (x->dst == want) {
            for (size_t m = n + 1; m < at; m++)
                if (ins[m].dst && (ins[m].dst == x->arg[0] ||
                                   ins[m].dst == x->arg[1]))
                    return NULL;
            return x;
        }
        if (kn_op_kind((enum kn_op)x->op) == KN_CTL)
            return NULL;
    }
    return NULL;
}

static void
limit(const struct ranges *r, struct rstate *s, kn_ref x,
      struct interval most)
{
    struct interval *v;

    if (!proof_is_value(x))
        return;
    v = &s->v[r->n.place[KN_REF_INDEX(x)]];
    if (v->bad)
        return;
    if (most.lo > v->lo)
        v->lo = most.lo;
    if (most.hi < v->hi)
        v->hi = most.hi;
    if (v->lo > v->hi)
        s->live = false;
}

/* What holds once the condition of ins[at] came out as `truth`. */
static void
refine(const struct ranges *r, struct rstate *s, size_t at, bool truth)
{
    const struct kn_ins *x = comparison(r, at);
    struct interval a, b;

    if (!x || (x->op != KN_OP_slt && x->op != KN_OP_sge && x->op != KN_OP_ult))
        return;
    a = of(r, s, x->arg[0]);
    b = of(r, s, x->arg[1]);
    if (x->op == KN_OP_ult ? !interval_unsigned(a) || !interval_unsigned(b)
                           : !interval_signed(a) || !interval_signed(b))
        return;
    if (truth == (x->op != KN_OP_sge)) {
        limit(r, s, x->arg[0], interval_of(INT64_MIN, b.hi - 1));
        limit(r, s, x->arg[1], interval_of(a.lo + 1, INT64_MAX));
    } else {
        limit(r, s, x->arg[0], interval_of(b.lo, INT64_MAX));
        limit(r, s, x->arg[1], interval_of(INT64_MIN, a.hi));
    }
}

/* ---- states ---- */

/* Like `from`, of values that outlive a block; of none, dead and of any
 * content. */
static struct rstate
state_new(struct ranges *r, const struct rstate *from)
{
    struct rstate s = { .live = from && from->live };

    s.v = r->nspare ? r->spare[--r->nspare]
                    : KN_NEW(r->f->c, struct interval, r->n.nplace);
    if (from)
        memcpy(s.v, from->v, r->n.nkept * sizeof *s.v);
    return s;
}

/* Nested loops are walked often: their states' memory is used again. */
static void
state_end(struct ranges *r, struct rstate *s)
{
    r->spare = kn_grow(r->f->c, r->spare, &r->capspare, r->nspare + 1,
                       sizeof *r->spare);
    r->spare[r->nspare++] = s->v;
    s->v = NULL;
}

static int64_t
step_up(const struct ranges *r, int64_t x)
{
    for (size_t n = 0; n < r->nstep; n++)
        if (r->step[n] >= x)
            return r->step[n];
    return INT64_MAX;
}

static int64_t
step_down(const struct ranges *r, int64_t x)
{
    for (size_t n = r->nstep; n-- > 0;)
        if (r->step[n] <= x)
            return r->step[n];
    return INT64_MIN;
}

/* a becomes what covers both; after a few rounds in strides. */
static bool
join(const struct ranges *r, struct rstate *a, const struct rstate *b, bool widen)
{
    bool changed = false;

    if (!b->live)
        return false;
    if (!a->live) {
        a->live = true;
        memcpy(a->v, b->v, r->n.nkept * sizeof *a->v);
        return true;
    }
    for (size_t i = 1; i < r->n.nkept; i++) {
        struct interval *x = &a->v[i], n;

        n = interval_either(*x, b->v[i], r->wide[i]);
        if (n.lo == x->lo && n.hi == x->hi && !n.bad == !x->bad)
            continue;
        if (widen && !n.bad && n.hi > x->hi)
            n.hi = step_up(r, n.hi);
        if (widen && !n.bad && n.lo < x->lo)
            n.lo = step_down(r, n.lo);
        *x = n;
        changed = true;
    }
    return changed;
}

static bool
add_step(struct ranges *r, int64_t x)
{
    size_t n = r->nstep;

    for (size_t i = 0; i < n; i++)
        if (r->step[i] == x)
            return true;
    if (n == MOST_STEPS)
        return false;
    for (; n && r->step[n - 1] > x; n--)
        r->step[n] = r->step[n - 1];
    r->step[n] = x;
    r->nstep++;
    return true;
}

/* Powers of two, the bounds of the arguments and of `assume`. */
static void
find_steps(struct ranges *r)
{
    r->step = KN_NEW(r->f->c, int64_t, MOST_STEPS);
    for (int n = 0; n <= 32; n += 4)
        add_step(r, ((int64_t)1 << n) - 1);
    add_step(r, INT32_MAX);
    add_step(r, INT32_MIN);
    for (size_t i = 1; i < r->f->nval; i++)
        if (r->f->val[i].arg && r->f->val[i].max)
            add_step(r, r->f->val[i].max);
    for (size_t i = 0; i < r->f->nins; i++)
        if (r->f->ins[i].op == KN_OP_assume)
            add_step(r, r->f->konst[KN_REF_INDEX(r->f->ins[i].arg[1])].i);
}

/* ---- what must hold ---- */

static kiln_status
not_wrapped(const struct ranges *r, const struct kn_ins *i, struct interval x,
            const char *what)
{
    const struct kn_ins *w;

    if (!x.bad)
        return KILN_OK;
    w = &r->f->ins[x.bad - 1];
    return PROOF_FAIL(r->p, i->at, "the %s comes from %s of line %d, which may "
                      "leave 32 bits within the declared ranges", what,
                      kn_op_info((enum kn_op)w->op).text, w->at.line);
}

static kiln_status
check_offset(const struct ranges *r, const struct kn_ins *i, struct interval x)
{
    int64_t most = i->op == KN_OP_ldu ? INT32_MAX : (int64_t)UINT32_MAX - 16;

    KN_TRY(not_wrapped(r, i, x, "offset"));
    r->facts->offsets++;
    if (x.lo < 0 || x.hi + i->attr[KN_A_offset] > most)
        return PROOF_FAIL(r->p, i->at, "the offset may be %" PRId64 " to %"
                          PRId64 " within the declared ranges", x.lo, x.hi);
    return KILN_OK;
}

static kiln_status
check_resource(const struct ranges *r, const struct kn_ins *i,
               const struct rstate *s)
{
    struct interval n = of(r, s, i->arg[1]);

    KN_TRY(not_wrapped(r, i, of(r, s, i->arg[0]), "base of a resource"));
    KN_TRY(not_wrapped(r, i, n, "record count"));
    r->facts->records++;
    if (n.lo < 0 || n.hi > INT32_MAX)
        return PROOF_FAIL(r->p, i->at, "the record count may be %" PRId64
                          " to %" PRId64 " within the declared ranges, not 0 "
                          "to 2147483647", n.lo, n.hi);
    return KILN_OK;
}

static kiln_status
check(const struct ranges *r, const struct kn_ins *i, const struct rstate *s)
{
    switch (i->op) {
    case KN_OP_rsrc:
        return check_resource(r, i, s);
    case KN_OP_ldg: case KN_OP_stg: case KN_OP_atom: case KN_OP_atmax:
    case KN_OP_arrive:
        return check_offset(r, i, of(r, s, i->arg[1]));
    case KN_OP_dma:
        return check_offset(r, i, of(r, s, i->arg[3]));
    case KN_OP_ldu:
        KN_TRY(not_wrapped(r, i, of(r, s, i->arg[0]), "pointer"));
        return check_offset(r, i, of(r, s, i->arg[1]));
    }
    return KILN_OK;
}

/* ---- the walk ---- */

static kiln_status walk(struct ranges *r, size_t *at, struct rstate *s);

static kiln_status
step(struct ranges *r, size_t at, struct rstate *s)
{
    const struct kn_ins *i = &r->f->ins[at];
    struct rstate out;

    if (r->report)
        KN_TRY(check(r, i, s));
    if (i->dst && r->n.place[KN_REF_INDEX(i->dst)]) {
        struct interval_calc c = {
            .f = r->f, .i = i, .wide = is_long(r, i->dst),
            .guards = r->report ? &r->facts->guards : NULL };

        if (i->arg[0])
            c.a = of(r, s, i->arg[0]);
        if (i->arg[0] && i->arg[1])
            c.b = of(r, s, i->arg[1]);
        if (i->op == KN_OP_select)       /* the condition is no number */
            c.a = of(r, s, i->arg[2]);
        s->v[r->n.place[KN_REF_INDEX(i->dst)]] =
            kn_val(r->f, i->dst)->type.n == 1 ? interval_result(&c)
                                              : interval_all(c.wide, 0);
    }
    if (i->op == KN_OP_stop)
        s->live = false;
    if (i->op != KN_OP_break)
        return KILN_OK;
    out = state_new(r, s);
    refine(r, &out, at, true);
    join(r, &r->exits[r->depth], &out, false);
    state_end(r, &out);
    refine(r, s, at, false);
    return KILN_OK;
}

static kiln_status
walk_loop(struct ranges *r, size_t *at, struct rstate *s)
{
    struct rstate head = state_new(r, s), body;
    bool report = r->report, fixed;
    size_t from = *at;

    r->depth++;
    r->report = false;
    for (int round = 0;; round++) {
        *at = from;
        body = state_new(r, &head);
        r->exits[r->depth] = state_new(r, NULL);
        KN_TRY(walk(r, at, &body));
        fixed = !r->report && !join(r, &head, &body, round >= PLAIN_JOINS);
        state_end(r, &body);
        if (r->report || (fixed && !report))
            break;
        state_end(r, &r->exits[r->depth]);
        r->report = fixed;       /* once more, now with checks */
    }
    r->report = report;
    state_end(r, &head);
    state_end(r, s);
    *s = r->exits[r->depth--];
    return KILN_OK;
}

static kiln_status
walk_if(struct ranges *r, size_t *at, struct rstate *s)
{
    struct rstate other = state_new(r, s);

    refine(r, s, *at - 1, true);
    refine(r, &other, *at - 1, false);
    KN_TRY(walk(r, at, s));
    if (r->f->ins[*at].op == KN_OP_else) {
        ++*at;
        KN_TRY(walk(r, at, &other));
    }
    join(r, s, &other, false);
    state_end(r, &other);
    return KILN_OK;
}

static kiln_status
walk(struct ranges *r, size_t *at, struct rstate *s)
{
    for (*at = r->n.next[*at]; *at < r->f->nins; *at = r->n.next[*at + 1]) {
        uint16_t op = r->f->ins[*at].op;

        if (op == KN_OP_end || op == KN_OP_else)
            return KILN_OK;
        if (op == KN_OP_loop || op == KN_OP_if) {
            ++*at;
            KN_TRY(op == KN_OP_loop ? walk_loop(r, at, s) : walk_if(r, at, s));
        } else if (s->live) {
            KN_TRY(step(r, *at, s));
        }
    }
    return KILN_OK;
}

static bool
start(const struct ranges *r, struct rstate *s)
{
    bool declared = false;

    for (size_t i = 1; i < r->f->nval; i++) {
        const struct kn_val *v = &r->f->val[i];

        struct interval *x = &s->v[r->n.place[i]];

        *x = interval_all(is_long(r, (kn_ref)i), 0);
        if (v->arg && v->type.elem == KN_T_ptr)
            *x = interval_of(0, ((int64_t)1 << 48) - 1);
        if (v->arg && v->max)
            *x = interval_of(0, v->max);
        declared |= v->arg && v->max;
    }
    return s->live = declared;
}

kiln_status
proof_ranges(const struct proof *p, struct kn_range_facts *facts)
{
    struct ranges r = { .p = p, .f = p->f, .report = true, .facts = facts };
    struct rstate s;
    size_t at = 0;

    proof_numbers(p, &r.n);
    r.wide = KN_NEW(p->c, bool, r.n.nplace);
    for (size_t i = 1; i < p->f->nval; i++)
        r.wide[r.n.place[i]] = is_long(&r, (kn_ref)i);
    s = state_new(&r, NULL);
    memset(facts, 0, sizeof *facts);
    if (!start(&r, &s))
        return KILN_OK;
    facts->declared = true;
    find_steps(&r);
    return walk(&r, &at, &s);
}
