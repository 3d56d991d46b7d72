/* evaluate.c - an epilogue's expression of values that may be off. The build
 * compiles it twice: for results of f32 in f64, and with KN_WIDE for results of f64
 * in long double.
 *
 * A right result may be off by what its values may be off, and by `ulps` units
 * in the last place of what the kernel computes in. What a function makes of its
 * values' errors is taken from the function itself at both ends, so steep and flat
 * places count as they are. */
#include "expression.h"

#include <float.h>
#include <math.h>

#ifdef KN_WIDE
typedef long double real;
#define M(f) f##l
#define kn_ref_steps kn_ref_steps_f64
#define MOST ((real)DBL_MAX)
#define LAST ((real)DBL_EPSILON)
#define ROUNDED 2
#define ULPS(n) ((n) < 4 ? (n) : (n) <= 8 ? 4 : 12) /* 12: of three functions */
#define LEAST ((real)DBL_MIN * 4 * LAST) /* denormals are kept */
#else
typedef double real;
#define M(f) f
#define kn_ref_steps kn_ref_steps_f32
#define MOST ((real)FLT_MAX)
#define LAST ((real)FLT_EPSILON)
#define ROUNDED 1
#define ULPS(n) (n)
#define LEAST ((real)FLT_MIN)            /* denormal factors may be zero */
#endif

static real
sigmoid(real x)
{
    return 1 / (1 + M(exp)(-x));
}

static real
silu(real x)
{
    return isinf(x) && x < 0 ? (real)NAN : x * sigmoid(x);
}

static real
gelu(real x)
{
    return 0.5 * x * M(erfc)(-x * M(sqrt)((real)0.5));
}

static real
gelu_tanh(real x)
{
    real y = M(sqrt)(2 / M(acos)((real)-1)) * (x + 0.044715 * x * x * x);

    return isinf(y) && y < 0 ? (real)NAN : x * sigmoid(2 * y);
}

static real
relu(real x)
{
    return x < 0 ? 0 : x;
}

static real
drelu(real x)
{
    return x > 0;
}

static real
dsilu(real x)
{
    return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
}

static real
dgelu(real x)
{
    real density = M(exp)(-x * x / 2) / M(sqrt)(2 * M(acos)((real)-1));

    return 0.5 * M(erfc)(-x * M(sqrt)((real)0.5)) + x * density;
}

static real
dgelu_tanh(real x)
{
    real root = M(sqrt)(2 / M(acos)((real)-1)), s;

    s = sigmoid(2 * root * (x + 0.044715 * x * x * x));
    return isinf(x) ? (real)NAN
         : M(fabs)(x) > 100 ? x > 0
         : s + x * s * (1 - s) * 2 * root * (1 + 3 * 0.044715 * x * x);
}

static real
power(real x)
{
    return M(exp2)(x);
}

static real
tangent(real x)
{
    return M(tanh)(x);
}

static real
error_function(real x)
{
    return M(erf)(x);
}

static real
reciprocal(real x)
{
    return 1 / x;
}

static real
reciprocal_root(real x)
{
    return 1 / M(sqrt)(x);
}

enum {
#define R(id, text, nargs, binds, ulps, exponential, of) id,
#include "expression.def"
#undef R
    NROWS
};

static const struct row {
    int nargs;
    real ulps;
    int exponential;
    real (*of)(real x);
} rows[NROWS] = {
#define R(id, text, nargs, binds, ulps, exponential, of) \
    { nargs, ULPS(ulps), exponential, of },
#include "expression.def"
#undef R
};

struct inexact {
    real value, error;
};

static real
limited(real x)
{
    return M(fabs)(x) > MOST ? M(copysign)((real)INFINITY, x) : x;
}

/* x * sigmoid(slope * x) of x[0], at most `most`; a NaN stays, as in within(). */
static real
gated(const real *x, real most, real slope)
{
    real g = x[0] > most ? most : x[0];

    return isinf(g) ? (real)NAN : g * sigmoid(slope * g);
}

static real
within(real x, real most)
{
    return x > most ? most : x < -most ? -most : x;
}

static real
apply(int row, const real *x)
{
    switch (row) {
    case NEG: return -x[0];
    case ADD: return x[0] + x[1];
    case SUB: return x[0] - x[1];
    case MUL: return x[0] * x[1];
    case DIV: return x[0] / x[1];
    case MAX: return M(fmax)(x[0], x[1]);
    case MIN: return M(fmin)(x[0], x[1]);
    case CLAMP: return M(fmin)(M(fmax)(x[0], x[1]), x[2]);
    case FMA: return x[0] * x[1] + x[2];
    case SELECT: return x[0] > 0 ? x[1] : x[2];
    case SWIGLU: return silu(x[0]) * x[1];
    case OSS: return gated(x, 7, (real)1.702) * (within(x[1], 7) + 1);
    case LIMITED: return gated(x, 10, 1) * within(x[1], 10);
    case SITU: return 4 * tangent(x[0] / 4) * sigmoid(x[0]) * 25 * tangent(x[1] / 25);
    default: return rows[row].of(x[0]);
    }
}

/* The function where its values are wrong one way and the other, together. */
static real
spread(int row, const struct inexact *v, real at)
{
    real most = 0, x[3] = { 0 };

    for (unsigned ends = 0; ends < 1u << rows[row].nargs; ends++) {
        for (int i = 0; i < rows[row].nargs; i++)
            x[i] = v[i].value + (ends >> i & 1 ? v[i].error : -v[i].error);
        most = M(fmax)(most, M(fabs)(apply(row, x) - at));
    }
    return most;
}

static struct inexact
step(int row, struct inexact *v)
{
    const struct row *r = &rows[row];
    real x[3] = { 0 }, y, e;

    if (r->exponential >= ROUNDED)
        v[0].error += M(fabs)(v[0].value) * 2 * LAST;
    for (int i = 0; i < r->nargs; i++)
        x[i] = v[i].value;
    y = limited(apply(row, x));
    if (!isfinite(y))
        return (struct inexact){ y, 0 };
    e = spread(row, v, y) + r->ulps * M(fabs)(y) * LAST;
    if (r->ulps > 0)
        e += LEAST * (1 + M(fabs)(x[0])) *
             (row >= SWIGLU && row <= SITU ? 1 + M(fabs)(x[1]) : 1);
    if (r->of == gelu)       /* 1 + erf is of 1's last places */
        e += M(fabs)(x[0]) * 2 * LAST;
    if (r->of == dsilu || r->of == dgelu_tanh || r->of == dgelu)
        e += M(fmin)(M(fabs)(x[0]) + 1, 18) * 4 * LAST;     /* so are 1 - s, erf */
    return (struct inexact){ y, e };
}

/* Steps range[0] to range[1] - 1; aux: of that name, or of gate's, and of up's. */
static struct inexact
evaluate(const struct kn_ref_expression *x, const uint32_t range[2],
         const struct kn_ref_inexact *named, const struct inexact aux[2])
{
    struct inexact v[KN_REF_STEPS + 1] = { { 0, 0 } };
    int n = 0;

    for (uint32_t i = range[0]; i < range[1]; i++) {
        const struct kn_ref_step *s = &x->step[i];

        if (s->code == NUMBER) {
            v[n++] = (struct inexact){ s->number, 0 };
        } else if (s->code == NAME && s->name == KN_REF_AUX_UP) {
            v[n++] = aux[1];
        } else if (s->code == NAME &&
                   (s->name == KN_REF_AUX || s->name == KN_REF_AUX_GATE)) {
            v[n++] = aux[0];
        } else if (s->code == NAME) {
            v[n++] = (struct inexact){ named[s->name].value, named[s->name].error };
        } else {
            n -= rows[s->code].nargs;
            v[n] = step(s->code, &v[n]);
            n++;
        }
    }
    return v[0];
}

struct kn_ref_inexact
kn_ref_steps(const struct kn_ref_expression *x, enum kn_ref_part part,
             const struct kn_ref_inexact *named)
{
    const uint32_t first[2] = { 0, x->aux_up ? x->aux_up : x->aux };
    const uint32_t second[2] = { x->aux_up, x->aux }, rest[2] = { x->aux, x->n };
    struct inexact aux[2] = { { 0, 0 }, { 0, 0 } }, y;

    if (x->aux)
        aux[0] = evaluate(x, first, named, aux);
    if (x->aux_up)
        aux[1] = evaluate(x, second, named, aux);
    y = part == KN_REF_PART_ALL ? evaluate(x, rest, named, aux)
                                : aux[part == KN_REF_PART_AUX_UP];
    return (struct kn_ref_inexact){ (double)y.value, (double)y.error };
}
