/* formats.c - the number formats, from their standards (IEEE 754, OCP OFP8
 * 1.0, OCP MX 1.0, FNUZ as in LLVM's APFloat). Decoding is a table made with
 * ldexp, encoding a search by ilogb: slow, plain, and not shared. */
#include "reference.h"

#include <math.h>
#include <string.h>

struct format {
    int ebits, mbits, bias;
    enum { IEEE, FN, FNUZ, FINITE } kind;
};

static struct format
float_format(kiln_type t, kiln_target target)
{
    bool fnuz = kn_targets[target].fnuz;

    switch (t) {
    case KILN_F64:
        return (struct format){11, 52, 1023, IEEE};
    case KILN_F32:
        return (struct format){8, 23, 127, IEEE};
    case KILN_F16:
        return (struct format){5, 10, 15, IEEE};
    case KILN_BF16:
        return (struct format){8, 7, 127, IEEE};
    case KILN_FP8:
        return fnuz ? (struct format){4, 3, 8, FNUZ}
                    : (struct format){4, 3, 7, FN};
    case KILN_BF8:
        return fnuz ? (struct format){5, 2, 16, FNUZ}
                    : (struct format){5, 2, 15, IEEE};
    case KILN_MXFP8:
        return (struct format){4, 3, 7, FN};
    case KILN_MXBF8:
        return (struct format){5, 2, 15, IEEE};
    case KILN_MXFP6:
        return (struct format){2, 3, 1, FINITE};
    case KILN_MXBF6:
        return (struct format){3, 2, 3, FINITE};
    default:
        return (struct format){2, 1, 1, FINITE}; /* mxfp4, nvfp4 */
    }
}

unsigned
kn_ref_type_bits(kiln_type t)
{
    static const uint8_t bits[KILN_NTYPES] = {
#define X(id, text, b, mx) [KILN_##id] = b,
        KILN_TYPES(X)
#undef X
    };

    return (unsigned)t < KILN_NTYPES ? bits[t] : 0;
}

static double
decode_float(const struct format *f, uint64_t code)
{
    uint64_t frac = code & ((UINT64_C(1) << f->mbits) - 1);
    int field = (int)(code >> f->mbits & ((1u << f->ebits) - 1));
    bool top = field == (1 << f->ebits) - 1;
    bool negative = code >> (f->ebits + f->mbits) & 1;
    double v;

    if (f->kind == FNUZ && negative && !field && !frac)
        return (double)NAN;
    if (f->kind == IEEE && top)
        v = frac ? (double)NAN : (double)INFINITY;
    else if (f->kind == FN && top && frac == (UINT64_C(1) << f->mbits) - 1)
        v = (double)NAN;
    else if (field == 0)
        v = ldexp((double)frac, 1 - f->bias - f->mbits);
    else
        v = ldexp((double)(frac + (UINT64_C(1) << f->mbits)),
                  field - f->bias - f->mbits);
    return negative ? -v : v;
}

double
kn_ref_decode(kiln_type t, kiln_target target, uint64_t code)
{
    struct format f;

    if (t == KILN_I8)
        return (int8_t)code;
    if (t == KILN_I4)
        return code < 8 ? (double)code : (double)code - 16;
    if (t == KILN_I32)
        return (int32_t)code;
    f = float_format(t, target);
    return decode_float(&f, code);
}

/* Largest finite code without sign. */
static uint64_t
max_code(const struct format *f)
{
    uint64_t all = (UINT64_C(1) << (f->ebits + f->mbits)) - 1;

    if (f->kind == IEEE)
        return all - (UINT64_C(1) << f->mbits);
    return f->kind == FN ? all - 1 : all;
}

struct kn_ref_fields
kn_ref_fields(kiln_type t, kiln_target target)
{
    struct format f = float_format(t, target);

    return (struct kn_ref_fields){f.ebits, f.mbits, f.bias};
}

double
kn_ref_max(kiln_type t, kiln_target target)
{
    struct format f = float_format(t, target);

    return decode_float(&f, max_code(&f));
}

/* log2 of the distance of neighbouring values at x. */
static int
ulp_exponent(const struct format *f, double x)
{
    int e = x == 0 ? -10000 : ilogb(x);

    return (e < 1 - f->bias ? 1 - f->bias : e) - f->mbits;
}

double
kn_ref_ulp(kiln_type t, kiln_target target, double x)
{
    struct format f;

    if (t == KILN_I8 || t == KILN_I4 || t == KILN_I32)
        return 1;
    f = float_format(t, target);
    return ldexp(1, ulp_exponent(&f, x));
}

static uint32_t
saturate(double x, double lo, double hi)
{
    x = rint(x);
    if (isnan(x))
        return 0;
    return (uint32_t)(int32_t)(x < lo ? lo : x > hi ? hi : x);
}

/* Code, without sign, of a magnitude that is no NaN. */
static uint64_t
encode_magnitude(const struct format *f, double x)
{
    const uint64_t one = 1, leading = one << f->mbits;
    uint64_t inf = ((one << f->ebits) - 1) << f->mbits;
    double max = decode_float(f, max_code(f)), units;
    int e;

    if (!isinf(x)) {
        e = ulp_exponent(f, x);
        units = rint(ldexp(x, -e)); /* at most 2^(mbits+1), exact */
        x = ldexp(units, e);
    }
    if (x > max)
        return f->kind == IEEE     ? inf
               : f->kind == FN     ? max_code(f) + 1
               : f->kind == FINITE ? max_code(f)
                                   : one << (f->ebits + f->mbits);
    e = ulp_exponent(f, x) + f->mbits + f->bias;
    units = ldexp(x, f->mbits + f->bias - e);
    return units < (double)leading
               ? (uint64_t)units
               : (uint64_t)e << f->mbits | ((uint64_t)units & (leading - 1));
}

static uint64_t
nan_code(const struct format *f)
{
    uint64_t all = (UINT64_C(1) << (f->ebits + f->mbits)) - 1;

    if (f->kind == IEEE)
        return all - (UINT64_C(1) << (f->mbits - 1)) + 1;
    return f->kind == FNUZ ? all + 1 : all;
}

uint64_t
kn_ref_encode(kiln_type t, kiln_target target, double x)
{
    struct format f;
    uint64_t code, sign;

    if (t == KILN_I8)
        return saturate(x, -128, 127) & 0xff;
    if (t == KILN_I4)
        return saturate(x, -8, 7) & 15;
    if (t == KILN_I32)
        return saturate(x, -2147483648.0, 2147483647.0);
    f = float_format(t, target);
    if (isnan(x))
        return nan_code(&f);
    code = encode_magnitude(&f, fabs(x));
    sign = (uint64_t)(signbit(x) != 0) << (f.ebits + f.mbits);
    if (f.kind == FNUZ && (code == 0 || code >> (f.ebits + f.mbits)))
        return code;
    return code | sign;
}

void
kn_ref_codec_init(struct kn_ref_codec *c, kiln_type t, kiln_target target)
{
    c->type = t;
    c->bits = kn_ref_type_bits(t);
    if (c->bits <= 8)
        for (uint32_t i = 0; i < 1u << c->bits; i++)
            c->table[i] = kn_ref_decode(t, target, i);
}

/* The fields of an f16 moved into an f32 are 2^112 too small. */
static void
decode_f16(const uint8_t *p, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t h = (uint32_t)p[2 * i] | (uint32_t)p[2 * i + 1] << 8;
        uint32_t u = (h & 0x7fff) << 13;
        float v;

        memcpy(&v, &u, sizeof v);
        if ((h & 0x7c00) == 0x7c00)
            v = h & 0x3ff ? NAN : INFINITY;
        out[i] = (h >> 15 ? -0x1p112 : 0x1p112) * (double)v;
    }
}

static void
decode_bf16(const uint8_t *p, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)p[2 * i] << 16 | (uint32_t)p[2 * i + 1] << 24;
        float v;

        memcpy(&v, &u, sizeof v);
        out[i] = (double)v;
    }
}

static void
decode_words(bool integer, const uint8_t *p, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        int32_t v;
        float f;

        memcpy(&v, p + 4 * i, 4);
        memcpy(&f, &v, 4);
        out[i] = integer ? v : (double)f;
    }
}

static void
decode_bytes(const double *table, const uint8_t *p, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = table[p[i]];
}

static void
decode_packed(const struct kn_ref_codec *c, const uint8_t *run, unsigned first,
              size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t bit = (first + i) * c->bits;
        uint32_t w = run[bit / 8];

        if (bit % 8 + c->bits > 8)
            w |= (uint32_t)run[bit / 8 + 1] << 8;
        out[i] = c->table[w >> bit % 8 & ((1u << c->bits) - 1)];
    }
}

void
kn_ref_decode_run(const struct kn_ref_codec *c, const uint8_t *run,
                  unsigned first, size_t n, double *out)
{
    const uint8_t *p = run + (size_t)first * (c->bits / 8);

    if (c->bits < 8)
        decode_packed(c, run, first, n, out);
    else if (c->bits == 8)
        decode_bytes(c->table, p, n, out);
    else if (c->type == KILN_F16)
        decode_f16(p, n, out);
    else if (c->type == KILN_BF16)
        decode_bf16(p, n, out);
    else if (c->type == KILN_F64)
        memcpy(out, p, n * sizeof *out);
    else
        decode_words(c->type == KILN_I32, p, n, out);
}
