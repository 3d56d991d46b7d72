/* proof_interval.c - integers as intervals: what an operation makes of those of
 * its operands (proof_range.c says what a mark is). */
#include "proof.h"

static const int64_t least32 = INT32_MIN, most32 = UINT32_MAX;

struct interval
interval_all(bool wide, uint32_t bad)
{
    return wide ? (struct interval){ INT64_MIN, INT64_MAX, bad }
                : (struct interval){ bad ? least32 : INT32_MIN,
                                  bad ? most32 : INT32_MAX, bad };
}

struct interval
interval_of(int64_t lo, int64_t hi)
{
    return (struct interval){ lo, hi, 0 };
}

bool
interval_signed(struct interval a)
{
    return !a.bad && a.lo >= INT32_MIN && a.hi <= INT32_MAX;
}

bool
interval_unsigned(struct interval a)
{
    return !a.bad && a.lo >= 0 && a.hi <= UINT32_MAX;
}

static uint32_t
here(const struct interval_calc *c)
{
    return 1 + (uint32_t)(c->i - c->f->ins);
}

/* Only one mark is kept: the first that was made. */
static uint32_t
mark_of(const struct interval_calc *c)
{
    return c->a.bad ? c->a.bad : c->b.bad;
}

/* The result, marked if it may leave the 32 bits. 64-bit sums are let go to
 * the limits: what is added up there are addresses. */
static struct interval
bounded(const struct interval_calc *c, int64_t lo, int64_t hi)
{
    if (mark_of(c))
        return interval_all(c->wide, mark_of(c));
    if (!c->wide && (lo < least32 || hi > most32))
        return interval_all(false, here(c));
    return interval_of(lo, hi);
}

static int64_t
add_up(int64_t a, int64_t b)
{
    int64_t s;

    return __builtin_add_overflow(a, b, &s) ? a < 0 ? INT64_MIN : INT64_MAX : s;
}

static struct interval
product(const struct interval_calc *c)
{
    const int64_t x[] = { c->a.lo, c->a.hi }, y[] = { c->b.lo, c->b.hi };
    int64_t lo = INT64_MAX, hi = INT64_MIN;

    if (mark_of(c))
        return interval_all(c->wide, mark_of(c));
    for (int n = 0; n < 4; n++) {
        int64_t z;

        if (__builtin_mul_overflow(x[n / 2], y[n % 2], &z))
            return interval_all(c->wide, here(c));
        lo = z < lo ? z : lo;
        hi = z > hi ? z : hi;
    }
    return bounded(c, lo, hi);
}

static struct interval
quotient(const struct interval_calc *c)
{
    bool ok = c->wide ? c->a.lo >= 0 && !c->a.bad : interval_unsigned(c->a);

    if (mark_of(c) || !ok || c->b.lo < 1)
        return interval_all(c->wide, mark_of(c) ? mark_of(c) : here(c));
    return c->i->op == KN_OP_udiv
         ? interval_of(c->a.lo / c->b.hi, c->a.hi / c->b.lo)
         : interval_of(0, c->a.hi < c->b.hi - 1 ? c->a.hi : c->b.hi - 1);
}

/* All ones up to the highest bit of x. */
static int64_t
fill_ones(int64_t x)
{
    for (int n = 1; n < 64; n *= 2)
        x |= x >> n;
    return x;
}

static struct interval
masked(const struct interval_calc *c)
{
    int64_t a = c->a.hi, b = c->b.hi;

    if (c->i->op == KN_OP_and) {
        if (c->b.lo == b && b >= 0)      /* a constant mask bounds any bits */
            return interval_of(0, !c->a.bad && c->a.lo >= 0 && a < b ? a : b);
        if (c->b.lo == b && !c->a.bad)
            return bounded(c, c->a.lo & b, a & b);
    }
    if (mark_of(c) || c->a.lo < 0 || c->b.lo < 0)
        return interval_all(c->wide, mark_of(c));
    return c->i->op == KN_OP_and ? interval_of(0, a < b ? a : b)
                                 : interval_of(0, fill_ones(a | b));
}

static struct interval
shifted(const struct interval_calc *c)
{
    int64_t n = c->b.lo, z;

    if (mark_of(c) || c->b.lo != c->b.hi || n < 0 || n > 62)
        return interval_all(c->wide, mark_of(c) ? mark_of(c) : here(c));
    if (c->i->op == KN_OP_shl) {
        if (__builtin_mul_overflow(c->a.hi, (int64_t)1 << n, &z) ||
            __builtin_mul_overflow(c->a.lo, (int64_t)1 << n, &z))
            return interval_all(c->wide, here(c));
        return bounded(c, z, c->a.hi * ((int64_t)1 << n));
    }
    if (c->i->op == KN_OP_shr ? c->a.lo < 0 : !c->wide && !interval_signed(c->a))
        return c->wide || !n || c->i->op == KN_OP_sar
             ? interval_all(c->wide, here(c))
             : interval_of(0, (int64_t)(UINT32_MAX >> n));
    return interval_of(c->a.lo >> n, c->a.hi >> n);
}

/* A minimum or maximum bounds even bits that mean nothing; a negative number
 * taken for a huge one is a mistake of its own. */
static struct interval
clamped(const struct interval_calc *c)
{
    bool sign = c->i->op == KN_OP_smin || c->i->op == KN_OP_smax;
    bool min = c->i->op == KN_OP_smin || c->i->op == KN_OP_umin;
    struct interval x[2] = { c->a, c->b };

    for (int n = 0; n < 2 && !c->wide; n++) {
        if (!sign && !x[n].bad && x[n].lo < 0)
            return interval_all(false, here(c));
        if (sign ? interval_signed(x[n]) : interval_unsigned(x[n]))
            continue;
        x[n] = sign ? interval_of(INT32_MIN, INT32_MAX)
                    : interval_of(0, UINT32_MAX);
    }
    if (mark_of(c) && c->guards)
        ++*c->guards;
    if (min)
        return interval_of(x[0].lo < x[1].lo ? x[0].lo : x[1].lo,
                       x[0].hi < x[1].hi ? x[0].hi : x[1].hi);
    return interval_of(x[0].lo > x[1].lo ? x[0].lo : x[1].lo,
                   x[0].hi > x[1].hi ? x[0].hi : x[1].hi);
}

struct interval
interval_either(struct interval a, struct interval b, bool wide)
{
    uint32_t bad = a.bad ? a.bad : b.bad;

    if (bad)
        return interval_all(wide, bad);
    return interval_of(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

static struct interval
widened(const struct interval_calc *c)
{
    bool ok = c->i->op == KN_OP_sext ? interval_signed(c->a)
                                     : interval_unsigned(c->a);

    return ok ? c->a : interval_all(true, c->a.bad ? c->a.bad : here(c));
}

static struct interval
narrowed(const struct interval_calc *c)
{
    return c->a.bad || c->a.lo < least32 || c->a.hi > most32
         ? interval_all(false, c->a.bad ? c->a.bad : here(c)) : c->a;
}

struct interval
interval_result(const struct interval_calc *c)
{
    const struct kn_ins *i = c->i;

    switch (i->op) {
    case KN_OP_mov: case KN_OP_uniform: case KN_OP_readlane: case KN_OP_roll:
        return c->a;
    case KN_OP_flip:
        return interval_either(c->a, c->b, c->wide);
    case KN_OP_assume:
        if (!c->a.bad && c->a.lo >= 0 && c->a.hi <= c->b.hi)
            return c->a;
        return interval_of(!c->a.bad && c->a.lo > 0 ? c->a.lo : 0,
                       !c->a.bad && c->a.hi < c->b.hi ? c->a.hi : c->b.hi);
    case KN_OP_add:
        return bounded(c, add_up(c->a.lo, c->b.lo), add_up(c->a.hi, c->b.hi));
    case KN_OP_sub:
        return c->b.lo == INT64_MIN ? interval_all(c->wide, mark_of(c)) :
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
        return interval_either(c->b, c->a, c->wide);
    case KN_OP_sext: case KN_OP_zext:
        return widened(c);
    case KN_OP_trunc:
        return narrowed(c);
    case KN_OP_scan:
        return bounded(c, c->a.lo * 64, c->a.hi * 64);
    case KN_OP_count:
        return interval_of(0, 64);
    case KN_OP_lane:
        return interval_of(0, 63);
    case KN_OP_wave:
        return interval_of(0, kn_waves(c->f) - 1);
    case KN_OP_wg:
        return interval_of(0, INT32_MAX);
    case KN_OP_padd: case KN_OP_addr:    /* somewhere in an allocation */
        return mark_of(c) ? interval_all(true, mark_of(c))
                          : interval_of(0, ((int64_t)1 << 48) - 1);
    }
    return interval_all(c->wide, 0);
}
