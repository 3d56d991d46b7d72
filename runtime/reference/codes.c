/* codes.c - what an output is rounded to: at random, as docs/epilogues.md defines it of
 * products (a value is moved by up to half a step of the type, by bits that the seed, the
 * row and the column give, and then rounded to nearest) and docs/quant.md of quant; and
 * codes under a scale. */
#include "reference.h"

#include <math.h>

/* Jarzynski and Olano, Hash Functions for GPU Rendering, JCGT 9(3), 2020. */
static void
pcg4d(uint32_t v[4])
{
    for (int i = 0; i < 4; i++)
        v[i] = v[i] * 1664525u + 1013904223u;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; round && i < 4; i++)
            v[i] ^= v[i] >> 16;
        v[0] += v[1] * v[3];
        v[1] += v[2] * v[0];
        v[2] += v[0] * v[1];
        v[3] += v[1] * v[2];
    }
}

double
kn_ref_random(uint64_t seed, int64_t row, int64_t col)
{
    uint32_t v[4] = { (uint32_t)(col / 8), (uint32_t)row, (uint32_t)seed,
                      (uint32_t)(seed >> 32) };

    pcg4d(v);
    return ((v[col % 8 / 2] >> col % 2 * 16 & 0xffff) | 1) * 0x1p-16 - 0.5;
}

double
kn_ref_at_random(kiln_type t, kiln_target target, double random, double x)
{
    double step = isfinite(x) ? kn_ref_ulp(t, target, x) : 0;

    if (!(step > 0))
        return x;
    return rint((double)(float)(x + random * step) / step) * step;
}

/* pcg3d of the same, the seed's upper word in the place of a constant. */
double
kn_ref_draw(uint64_t seed, int64_t row, int64_t col)
{
    const uint32_t by = 1664525, plus = 1013904223;
    uint32_t x = (uint32_t)(col / 8) * by + (uint32_t)(seed >> 32) * by + plus;
    uint32_t y = (uint32_t)row * by + plus, z = (uint32_t)seed * by + plus;

    for (int round = 0; round < 2; round++) {
        x += y * z;
        y += z * x;
        z += x * y;
        x ^= x >> 16;
        y ^= y >> 16;
        z ^= z >> 16;
    }
    return ((col & 4 ? y : x) >> col % 4 * 8 & 255) * 0x1p-8;
}

/* Significant bits of f16, as far down as the type's smallest normal number. */
static double
as_half(kiln_type t, double step, double x)
{
    double unit = step * ldexp(1, kn_ref_fields(t, KILN_GFX950).mbits - 10);

    return rint(x / unit) * unit;
}

double
kn_ref_drawn(kiln_type t, kiln_target target, double draw, double x)
{
    double step = isfinite(x) ? kn_ref_ulp(t, target, x) : 0;

    if (!(step > 0))
        return x;
    if (t == KILN_I8 || (t == KILN_BF8 && kn_targets[target].fnuz))
        return rint((double)(float)(x + (draw - 0.5 + 0x1p-9) * step) / step) * step;
    return copysign(floor(as_half(t, step, fabs(x)) / step + draw) * step, x);
}

static double
limit(const struct kn_ref_result *r, bool above)
{
    if (r->out == KILN_I8)
        return above ? 127 : -128;
    return above ? kn_ref_max(r->out, r->target)
                 : -kn_ref_max(r->out, r->target);
}

/* What x becomes: NaN and infinity are where a type that does not saturate
 * ends. */
static double
rounded(const struct kn_ref_result *r, double random, double x)
{
    if (r->saturate && !isnan(x))
        x = fmin(fmax(x, limit(r, false)), limit(r, true));
    if (r->round)
        x = kn_ref_at_random(r->out, r->target, random, x);
    return kn_ref_decode(r->out, r->target,
                         kn_ref_encode(r->out, r->target, x));
}

bool
kn_ref_code_right(const struct kn_ref_result *r, uint32_t code,
                  const struct kn_ref_want *w)
{
    double want = w->value, abssum = w->abssum;
    double got = kn_ref_decode(r->out, r->target, code), low, high;
    double off = r->exact ? 0 : kn_ref_unit(r->a, r->math, r->k) * abssum +
                                0x1p-22 * fabs(want);

    if (r->written == KILN_OUT_ROW || r->written == KILN_OUT_BLOCK128)
        off += 0x1p-20 * fabs(want);     /* a scale is no power of two */
    if (isinf(r->scale) && !isnan(want))
        want = isfinite(want) ? 0 : (double)NAN;
    if (isnan(want) || isinf(want)) {
        want = rounded(r, w->random, want);
        return isnan(want) ? isnan(got) : got == want;
    }
    low = rounded(r, w->random, (want - off) / r->scale);
    high = rounded(r, w->random, (want + off) / r->scale);
    if (isnan(got))
        return isnan(low) || isnan(high);
    if (isnan(low) && isnan(high))   /* beyond both ends: any code is between */
        return want - off < 0 && want + off > 0;
    return !(got < low) && !(got > high);
}
