/* mfma_model.c - the scalar statement of the CDNA3 product sum.
 *
 * Rules and widths: Xie et al., "MMA-Sim", arXiv 2511.10909, CDNA3 ("fused
 * dot product, round down"). Every shift below is exact integer arithmetic;
 * the only rounding to f32 is the last line of finish_group. */
#include "mfma.h"

#include <math.h>

enum {
    PROD_FRAC = 24,          /* fractional bits of an aligned product */
    SUM_FRAC = 31,           /* of the sum next to the accumulator */
    ACC_FRAC = 24,           /* of the accumulator next to the sum */
    ACC_REACH = 25           /* split form: a smaller accumulator is dropped */
};

/* A partial sum: s * 2^(e - PROD_FRAC). */
struct part {
    int64_t s;
    int e;
};

static int64_t
floor_shift(int64_t x, int n)
{
    return n > 62 ? (x < 0 ? -1 : 0) : x >> n;
}

/* x * 2^n, n < 0: toward zero. */
static int64_t
trunc_shift(int64_t x, int n)
{
    uint64_t mag = (uint64_t)(x < 0 ? -x : x);

    mag = n >= 0 ? mag << n : n < -63 ? 0 : mag >> -n;
    return x < 0 ? -(int64_t)mag : (int64_t)mag;
}

static int
product_exponent(const struct kn_mfma_sum *s, unsigned k)
{
    return s->a[k].e + s->b[k].e + (s->scale ? s->scale[k] : 0);
}

static int64_t
product(const struct kn_mfma_sum *s, unsigned k)
{
    return (int64_t)s->a[k].sig * s->b[k].sig;
}

/* Products first, first+step, ... below end. */
static struct part
align_products(const struct kn_mfma_sum *s, unsigned first, unsigned end,
               unsigned step)
{
    struct part p = {0, -100000};

    for (unsigned k = first; k < end; k += step)
        if (product_exponent(s, k) > p.e)
            p.e = product_exponent(s, k);
    for (unsigned k = first; k < end; k += step)
        p.s += trunc_shift(product(s, k), PROD_FRAC - (int)s->frac +
                                              product_exponent(s, k) - p.e);
    return p;
}

static struct part
add_parts(struct part x, struct part y)
{
    int e = x.e > y.e ? x.e : y.e;

    return (struct part){floor_shift(x.s, e - x.e) + floor_shift(y.s, e - y.e),
                         e};
}

static float
finish_group(struct part p, float c, const struct kn_mfma_sum *s)
{
    uint32_t u = kn_f32_bits(c);
    int field = (int)(u >> 23 & 0xff), ec = (field ? field : 1) - 127;
    int64_t sc = (int64_t)(u & 0x7fffff) | (int64_t)(field ? 1 : 0) << 23;
    int m = p.e > ec ? p.e : ec;
    float d;

    if (u >> 31)
        sc = -sc;
    sc = floor_shift(sc * 2, m - ec); /* 23 to 24 fractional bits */
    if (s->split && ec < m - ACC_REACH)
        sc = 0;
    p.s = floor_shift(p.s * (1 << (SUM_FRAC - PROD_FRAC)), m - p.e);
    p.s += sc * (1 << (SUM_FRAC - ACC_FRAC));
    d = (float)ldexp((double)p.s, m - SUM_FRAC);
    return isinf(d) ? kn_mfma_overflow(s->clamp, d < 0) : d;
}

/* What IEEE arithmetic says when an operand or a single product is infinite
 * or NaN; false when all are finite. */
struct special {
    bool pinf, ninf, nan;
};

static void
note_infinity(struct special *x, bool negative)
{
    if (negative)
        x->ninf = true;
    else
        x->pinf = true;
}

static void
note_operands(struct special *x, const struct kn_mfma_el *a,
              const struct kn_mfma_el *b)
{
    if (a->kind == KN_MK_FINITE && b->kind == KN_MK_FINITE)
        return;
    if (a->kind == KN_MK_NAN || b->kind == KN_MK_NAN || !a->sig || !b->sig)
        x->nan = true;
    else
        note_infinity(x, (a->sig < 0) != (b->sig < 0));
}

static void
note_overflow(struct special *x, const struct kn_mfma_sum *s, unsigned k)
{
    double p = ldexp((double)product(s, k),
                     product_exponent(s, k) - (int)s->frac);

    if (fabs(p) >= 0x1p128)
        note_infinity(x, p < 0);
}

static bool
special_value(const struct special *x, bool clamp, float *out)
{
    if (!x->nan && !x->pinf && !x->ninf)
        return false;
    if (x->nan || (x->pinf && x->ninf))
        *out = kn_bits_f32(0x7fc00000);
    else
        *out = kn_mfma_overflow(clamp, x->ninf);
    return true;
}

static bool
find_special(const struct kn_mfma_sum *s, unsigned first, unsigned end,
             float *c)
{
    struct special x = {0};

    for (unsigned k = first; k < end; k++)
        note_operands(&x, &s->a[k], &s->b[k]);
    if (isnan(*c))
        x.nan = true;
    else if (isinf(*c))
        note_infinity(&x, *c < 0);
    if (special_value(&x, false, c))
        return true;
    for (unsigned k = first; k < end; k++)
        note_overflow(&x, s, k);
    return special_value(&x, s->clamp, c);
}

float
kn_mfma_sum_cdna3(const struct kn_mfma_sum *s, float c)
{
    for (unsigned k = 0; k < s->n; k += s->group) {
        unsigned end = k + s->group;
        struct part p;

        if (find_special(s, k, end, &c))
            continue;
        p = align_products(s, k, end, s->split ? 2 : 1);
        if (s->split)
            p = add_parts(p, align_products(s, k + 1, end, 2));
        c = finish_group(p, c, s);
    }
    return c;
}
