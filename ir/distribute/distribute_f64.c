/* distribute_f64.c - functions of f64, of which the instruction set has no
 * exponential: powers of two by a polynomial and v_ldexp_f64, erf by another. */
#include <math.h>

#include "arith.h"

/* (2^r - 1) / r for |r| <= 1/2, a power of r each: through the twelve Chebyshev
 * nodes, 2.8e-19 of it off, with the coefficients rounded 4.9e-17. */
static const double power[] = {
    0.69314718055994529, 0.24022650695910072, 0.055504108664821625,
    0.0096181291076284803, 0.0013333558146406471, 0.00015403530393370734,
    1.5252733841556773e-05, 1.3215486808705563e-06, 1.0178057087733941e-07,
    7.0548973041554995e-09, 4.4558179083360645e-10, 2.5729324177362305e-11,
};
enum { NPOWER = sizeof power / sizeof *power };

/* log2 e, and what it is more than that double. */
static const double log2e = 1.4426950408889634, log2e_rest = 2.0355273740931033e-17;

static kn_ref
in_vector(struct dist_arith *a, double v)
{
    struct kn_type one = dist_vec(KN_T_f64, 1);
    kn_ref c = dist_op(a->d, KN_OP_mov, one, kn_flt(a->d->out, v), 0);

    return dist_op(a->d, KN_OP_splat, a->t, dist_op(a->d, KN_OP_held, one, c, 0), 0);
}

/* Whether an instruction has the number without a register. */
static bool
is_inline(double v)
{
    v = fabs(v);
    return v == 0 || v == 0.5 || v == 1 || v == 2 || v == 4;
}

/* Each number is in a pair of scalar registers for the whole kernel: there are some
 * for the first, the rest are made in vector registers where they are used. */
kn_ref
dist_wide_number(struct dist_arith *a, double v)
{
    if (is_inline(v))
        return kn_flt(a->d->out, v);
    for (uint32_t i = 0; i < a->nnumbers; i++)
        if (a->number[i] == v)
            return kn_flt(a->d->out, v);
    if (a->nnumbers == DIST_WIDE_NUMBERS)
        return in_vector(a, v);
    a->number[a->nnumbers++] = v;
    return kn_flt(a->d->out, v);
}

/* At most `most`; a NaN stays. */
static kn_ref
limited(struct dist_arith *a, kn_ref x, double most)
{
    return dist_above(a->d, a->t, (kn_ref[4]){ x, num(a, most), num(a, most), x });
}

/* Within +-most; a NaN stays. */
static kn_ref
bounded(struct dist_arith *a, kn_ref x, double most)
{
    x = mul(a, limited(a, x, most), num(a, -1));
    return mul(a, limited(a, x, most), num(a, -1));
}

static kn_ref
element(struct dist_arith *a, kn_ref v, uint8_t elem, uint32_t first)
{
    kn_ref x = dist_op(a->d, KN_OP_slice, dist_vec(elem, 1), v, 0);

    a->d->out->ins[a->d->out->nins - 1].attr[KN_A_first] = (int32_t)first;
    return x;
}

/* Each of v times 2 to the integer in the low bits of the double in `turned`. */
static kn_ref
scaled(struct dist_arith *a, kn_ref v, kn_ref turned)
{
    kn_ref word = dist_op(a->d, KN_OP_bits, dist_vec(KN_T_i32, 2u * a->t.n), turned, 0);
    kn_ref part[4];

    for (uint32_t k = 0; k < a->t.n; k++)
        part[k] = dist_op(a->d, KN_OP_ldexp, dist_vec(KN_T_f64, 1),
                          element(a, v, KN_T_f64, k), element(a, word, KN_T_i32, 2 * k));
    v = dist_temp(a->d, a->t);
    dist_cat_to(a->d, v, part, a->t.n);
    return v;
}

/* 2^(x + rest), |x| up to some thousands: to the nearest integer n, whose bits the
 * sum with 1.5 * 2^52 ends with, times 2^r: 1 + r h. */
struct parts {
    kn_ref turned, r, h;
};

static struct parts
split(struct dist_arith *a, kn_ref x, kn_ref rest)
{
    const double turn = 6755399441055744.0;
    struct parts p = { .turned = op2(a, KN_OP_fadd, x, num(a, turn)) };
    kn_ref n = op2(a, KN_OP_fadd, p.turned, num(a, -turn));

    p.r = fused(a, n, num(a, -1), x);
    if (rest)
        p.r = op2(a, KN_OP_fadd, p.r, rest);
    p.h = polynomial(a, p.r, power, NPOWER);
    return p;
}

static kn_ref
power_of_two(struct dist_arith *a, kn_ref x, kn_ref rest)
{
    struct parts p = split(a, x, rest);

    return scaled(a, fused(a, p.r, p.h, num(a, 1)), p.turned);
}

/* slope * x / ln 2, and what that is more than the double. */
static kn_ref
exponent(struct dist_arith *a, kn_ref x, double slope, kn_ref *rest)
{
    double by = slope * log2e, by_rest = fma(slope, log2e, -by) + slope * log2e_rest;
    kn_ref y = mul(a, x, num(a, by));

    *rest = fused(a, x, num(a, by), mul(a, y, num(a, -1)));
    *rest = fused(a, x, num(a, by_rest), *rest);
    return y;
}

kn_ref
dist_wide_exp2(struct dist_arith *a, kn_ref x)
{
    return power_of_two(a, bounded(a, x, 1200), 0);
}

/* t / (1 + t) below zero, 1 / (1 + t) above, t = exp(-|slope x|): what is small stays
 * itself down to the denormals. */
kn_ref
dist_wide_logistic(struct dist_arith *a, kn_ref x, double slope)
{
    kn_ref t = op2(a, KN_OP_fmax, x, mul(a, x, num(a, -1))), rest, over;

    t = exponent(a, limited(a, t, 800 / slope), -slope, &rest);
    t = power_of_two(a, t, rest);
    over = dist_above(a->d, a->t, (kn_ref[4]){ x, num(a, 0), num(a, 1), t });
    return op2(a, KN_OP_fdiv, over, op2(a, KN_OP_fadd, t, num(a, 1)));
}

/* 2^(x + rest) - 1 = 2^n r h + (2^n - 1) */
static kn_ref
power_less_one(struct dist_arith *a, kn_ref x, kn_ref rest)
{
    kn_ref one = dist_op(a->d, KN_OP_mov, a->t, num(a, 1), 0), whole;
    struct parts p = split(a, x, rest);

    whole = scaled(a, one, p.turned);
    return fused(a, mul(a, p.r, p.h), whole,
                 op2(a, KN_OP_fadd, whole, num(a, -1)));
}

/* m / (m + 2), m = exp(2x) - 1 */
kn_ref
dist_wide_tanh(struct dist_arith *a, kn_ref x)
{
    kn_ref rest, m;

    x = exponent(a, bounded(a, x, 30), 2, &rest);
    m = power_less_one(a, x, rest);
    return op2(a, KN_OP_fdiv, m, op2(a, KN_OP_fadd, m, num(a, 2)));
}

/* log2(1 - erf(x)) / -x of x up to 6, 1.8e-16 of erf(x) off: fitted to quadruple
 * precision, then rounded. */
static const double erfs[] = {
    1.6279070286111148, 0.9184481885266732, 0.14826952511683339,
    -0.027596515496470072, -0.00030180583105488538, 0.0024471210161931072,
    -0.00085143249613397034, 3.7546280174143959e-05, 9.2509408534551733e-05,
    -4.1872366774131955e-05, 3.442038459363509e-06, 5.7693189938953949e-06,
    -4.0244949865435567e-06, 1.5697919876475404e-06, -4.2469631320868282e-07,
    8.2060345987679396e-08, -1.0794219057185688e-08, 7.8789204687177321e-10,
    7.7573507381333298e-12, -8.1425720803366572e-12, 7.6161853889770835e-13,
    -2.5596065863917929e-14,
};
enum { NERFS = sizeof erfs / sizeof *erfs, NHELD = 15 };

/* 1 - 2^-(x p(x)), in double 1 from 6 on, with the sign of x. The first numbers
 * are used once, and leave scalar registers to the polynomial that is shared. */
kn_ref
dist_wide_erf(struct dist_arith *a, kn_ref x)
{
    kn_ref size = op2(a, KN_OP_fmax, x, mul(a, x, num(a, -1))), y;

    size = limited(a, size, 6);
    y = polynomial(a, size, erfs + NHELD, NERFS - NHELD);
    for (int i = NHELD - 1; i >= 0; i--)
        y = fused(a, y, size, in_vector(a, erfs[i]));
    y = mul(a, size, y);
    y = power_less_one(a, mul(a, y, num(a, -1)), 0);
    return dist_above(a->d, a->t, (kn_ref[4]){
        x, num(a, 0), mul(a, y, num(a, -1)), y });
}
