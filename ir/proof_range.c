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
static const int64_t least32 = INT32_MIN, most32 = UINT32_MAX;

struct range {
    int64_t lo, hi;
    uint32_t bad;            /* 1 + instruction that may wrap; 0: exact */
};

struct rstate {
    bool live;
    struct range *v;         /* by place */
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
    struct range **spare;    /* of states that are over */
    size_t nspare, capspare;
    struct kn_range_facts *facts;
};

static bool
is_long(const struct ranges *r, kn_ref x)
{
    uint8_t e = kn_val(r->f, x)->type.elem;

    return e == KN_T_i64 || e == KN_T_ptr;
}

static struct range
whole(bool wide, uint32_t bad)
{
    return wide ? (struct range){ INT64_MIN, INT64_MAX, bad }
                : (struct range){ bad ? least32 : INT32_MIN,
                                  bad ? most32 : INT32_MAX, bad };
}

static struct range
between(int64_t lo, int64_t hi)
{
    return (struct range){ lo, hi, 0 };
}

static struct range
of(const struct ranges *r, const struct rstate *s, kn_ref x)
{
    const struct kn_const *k = &r->f->konst[KN_REF_INDEX(x)];

    if (proof_is_value(x))
        return s->v[r->n.place[KN_REF_INDEX(x)]];
    return KN_REF_TAG(x) == KN_R_CONST && !k->is_float ? between(k->i, k->i)
                                                       : whole(true, 0);
}

static bool
fits_signed(struct range a)
{
    return !a.bad && a.lo >= INT32_MIN && a.hi <= INT32_MAX;
}

static bool
fits_unsigned(struct range a)
{
    return !a.bad && a.lo >= 0 && a.hi <= UINT32_MAX;
}

/* ---- arithmetic ---- */

struct calc {
    const struct ranges *r;
    const struct kn_ins *i;
    struct range a, b;
    bool wide;
};

static uint32_t
here(const struct calc *c)
{
    return 1 + (uint32_t)(c->i - c->r->f->ins);
}

/* Only one mark is kept: the first that was made. */
static uint32_t
mark_of(const struct calc *c)
{
    return c->a.bad ? c->a.bad : c->b.bad;
}

/* The result, marked if it may leave the 32 bits. 64-bit sums are let go to
 * the limits: what is added up there are addresses. */
static struct range
bounded(const struct calc *c, int64_t lo, int64_t hi)
{
    if (mark_of(c))
        return whole(c->wide, mark_of(c));
    if (!c->wide && (lo < least32 || hi > most32))
        return whole(false, here(c));
    return between(lo, hi);
}

static int64_t
add_up(int64_t a, int64_t b)
{
    int64_t s;

    return __builtin_add_overflow(a, b, &s) ? a < 0 ? INT64_MIN : INT64_MAX : s;
}

static struct range
product(const struct calc *c)
{
    const int64_t x[] = { c->a.lo, c->a.hi }, y[] = { c->b.lo, c->b.hi };
    int64_t lo = INT64_MAX, hi = INT64_MIN;

    if (mark_of(c))
        return whole(c->wide, mark_of(c));
    for (int n = 0; n < 4; n++) {
        int64_t z;

        if (__builtin_mul_overflow(x[n / 2], y[n % 2], &z))
            return whole(c->wide, here(c));
        lo = z < lo ? z : lo;
        hi = z > hi ? z : hi;
    }
    return bounded(c, lo, hi);
}

static struct range
quotient(const struct calc *c)
{
    bool ok = c->wide ? c->a.lo >= 0 && !c->a.bad : fits_unsigned(c->a);

    if (mark_of(c) || !ok || c->b.lo < 1)
        return whole(c->wide, mark_of(c) ? mark_of(c) : here(c));
    return c->i->op == KN_OP_udiv ? between(c->a.lo / c->b.hi, c->a.hi / c->b.lo)
         : between(0, c->a.hi < c->b.hi - 1 ? c->a.hi : c->b.hi - 1);
}

/* All ones up to the highest bit of x. */
static int64_t
fill_ones(int64_t x)
{
    for (int n = 1; n < 64; n *= 2)
        x |= x >> n;
    return x;
}

static struct range
masked(const struct calc *c)
{
    int64_t a = c->a.hi, b = c->b.hi;

    if (c->i->op == KN_OP_and) {
        if (c->b.lo == b && b >= 0)      /* a constant mask bounds any bits */
            return between(0, !c->a.bad && c->a.lo >= 0 && a < b ? a : b);
        if (c->b.lo == b && !c->a.bad)
            return bounded(c, c->a.lo & b, a & b);
    }
    if (mark_of(c) || c->a.lo < 0 || c->b.lo < 0)
        return whole(c->wide, mark_of(c));
    return c->i->op == KN_OP_and ? between(0, a < b ? a : b)
                                 : between(0, fill_ones(a | b));
}

static struct range
shifted(const struct calc *c)
{
    int64_t n = c->b.lo, z;

    if (mark_of(c) || c->b.lo != c->b.hi || n < 0 || n > 62)
        return whole(c->wide, mark_of(c) ? mark_of(c) : here(c));
    if (c->i->op == KN_OP_shl) {
        if (__builtin_mul_overflow(c->a.hi, (int64_t)1 << n, &z) ||
            __builtin_mul_overflow(c->a.lo, (int64_t)1 << n, &z))
            return whole(c->wide, here(c));
        return bounded(c, z, c->a.hi * ((int64_t)1 << n));
    }
    if (c->i->op == KN_OP_shr ? c->a.lo < 0 : !c->wide && !fits_signed(c->a))
        return c->wide || !n || c->i->op == KN_OP_sar
             ? whole(c->wide, here(c))
             : between(0, (int64_t)(UINT32_MAX >> n));
    return between(c->a.lo >> n, c->a.hi >> n);
}

/* A minimum or maximum bounds even bits that mean nothing; a negative number
 * taken for a huge one is a mistake of its own. */
static struct range
clamped(const struct calc *c)
{
    bool sign = c->i->op == KN_OP_smin || c->i->op == KN_OP_smax;
    bool min = c->i->op == KN_OP_smin || c->i->op == KN_OP_umin;
    struct range x[2] = { c->a, c->b };

    for (int n = 0; n < 2 && !c->wide; n++) {
        if (!sign && !x[n].bad && x[n].lo < 0)
            return whole(false, here(c));
        if (sign ? fits_signed(x[n]) : fits_unsigned(x[n]))
            continue;
        x[n] = sign ? between(INT32_MIN, INT32_MAX) : between(0, UINT32_MAX);
    }
    if (mark_of(c) && c->r->report)
        c->r->facts->guards++;
    if (min)
        return between(x[0].lo < x[1].lo ? x[0].lo : x[1].lo,
                       x[0].hi < x[1].hi ? x[0].hi : x[1].hi);
    return between(x[0].lo > x[1].lo ? x[0].lo : x[1].lo,
                   x[0].hi > x[1].hi ? x[0].hi : x[1].hi);
}

static struct range
either(struct range a, struct range b, bool wide)
{
    uint32_t bad = a.bad ? a.bad : b.bad;

    if (bad)
        return whole(wide, bad);
    return between(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

static struct range
widened(const struct calc *c)
{
    bool ok = c->i->op == KN_OP_sext ? fits_signed(c->a) : fits_unsigned(c->a);

    return ok ? c->a : whole(true, c->a.bad ? c->a.bad : here(c));
}

static struct range
narrowed(const struct calc *c)
{
    return c->a.bad || c->a.lo < least32 || c->a.hi > most32
         ? whole(false, c->a.bad ? c->a.bad : here(c)) : c->a;
}

static struct range
result(const struct calc *c, const struct rstate *s)
{
    const struct kn_ins *i = c->i;

    switch (i->op) {
    case KN_OP_mov: case KN_OP_uniform: case KN_OP_readlane:
        return c->a;
    case KN_OP_flip:
        return either(c->a, c->b, c->wide);
    case KN_OP_assume:
        if (!c->a.bad && c->a.lo >= 0 && c->a.hi <= c->b.hi)
            return c->a;
        return between(!c->a.bad && c->a.lo > 0 ? c->a.lo : 0,
                       !c->a.bad && c->a.hi < c->b.hi ? c->a.hi : c->b.hi);
    case KN_OP_add:
        return bounded(c, add_up(c->a.lo, c->b.lo), add_up(c->a.hi, c->b.hi));
    case KN_OP_sub:
        return c->b.lo == INT64_MIN ? whole(c->wide, mark_of(c)) :
               bounded(c, add_up(c->a.lo, -c->b.hi), add_up(c->a.hi, -c->b.lo));
    case KN_OP_mul:
        return product(c);
    case KN_OP_udiv: case KN_OP_urem:
        return quotient(c);
    case KN_OP_and: case KN_OP_or: case KN_OP_xor:
        return masked(c);
    case KN_OP_shl: case KN_OP_shr: case KN_OP_sar:
        return shifted(c);
    case KN_OP_smin: case KN_OP_smax: case KN_OP_umin: case KN_OP_umax:
        return clamped(c);
    case KN_OP_select:
        return either(c->b, of(c->r, s, i->arg[2]), c->wide);
    case KN_OP_sext: case KN_OP_zext:
        return widened(c);
    case KN_OP_trunc:
        return narrowed(c);
    case KN_OP_scan:
        return bounded(c, c->a.lo * 64, c->a.hi * 64);
    case KN_OP_count:
        return between(0, 64);
    case KN_OP_lane:
        return between(0, 63);
    case KN_OP_wave:
        return between(0, kn_waves(c->r->f) - 1);
    case KN_OP_wg:
        return between(0, INT32_MAX);
    case KN_OP_padd: case KN_OP_addr:    /* somewhere in an allocation */
        return mark_of(c) ? whole(true, mark_of(c))
                          : between(0, ((int64_t)1 << 48) - 1);
    }
    return whole(c->wide, 0);
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
      struct range most)
{
    struct range *v;

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
    struct range a, b;

    if (!x || (x->op != KN_OP_slt && x->op != KN_OP_sge && x->op != KN_OP_ult))
        return;
    a = of(r, s, x->arg[0]);
    b = of(r, s, x->arg[1]);
    if (x->op == KN_OP_ult ? !fits_unsigned(a) || !fits_unsigned(b)
                           : !fits_signed(a) || !fits_signed(b))
        return;
    if (truth == (x->op != KN_OP_sge)) {
        limit(r, s, x->arg[0], between(INT64_MIN, b.hi - 1));
        limit(r, s, x->arg[1], between(a.lo + 1, INT64_MAX));
    } else {
        limit(r, s, x->arg[0], between(b.lo, INT64_MAX));
        limit(r, s, x->arg[1], between(INT64_MIN, a.hi));
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
                    : KN_NEW(r->f->c, struct range, r->n.nplace);
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
        struct range *x = &a->v[i], n;

        n = either(*x, b->v[i], r->wide[i]);
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
not_wrapped(const struct ranges *r, const struct kn_ins *i, struct range x,
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
check_offset(const struct ranges *r, const struct kn_ins *i, struct range x)
{
    int64_t most = i->op == KN_OP_ldu ? INT32_MAX : most32 - 16;

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
    struct range n = of(r, s, i->arg[1]);

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
    case KN_OP_ldg: case KN_OP_stg: case KN_OP_atom: case KN_OP_arrive:
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
        struct calc c = { .r = r, .i = i, .wide = is_long(r, i->dst) };

        if (i->arg[0])
            c.a = of(r, s, i->arg[0]);
        if (i->arg[0] && i->arg[1])
            c.b = of(r, s, i->arg[1]);
        if (i->op == KN_OP_select)       /* the condition is no number */
            c.a = of(r, s, i->arg[2]);
        s->v[r->n.place[KN_REF_INDEX(i->dst)]] =
            kn_val(r->f, i->dst)->type.n == 1 ? result(&c, s)
                                              : whole(c.wide, 0);
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

        struct range *x = &s->v[r->n.place[i]];

        *x = whole(is_long(r, (kn_ref)i), 0);
        if (v->arg && v->type.elem == KN_T_ptr)
            *x = between(0, ((int64_t)1 << 48) - 1);
        if (v->arg && v->max)
            *x = between(0, v->max);
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
