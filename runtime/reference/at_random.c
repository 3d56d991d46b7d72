/* at_random.c - stochastic rounding as docs/quant.md defines it: a value is moved
 * by up to half a step of the type, by bits that the seed, the row and the column
 * give, and then rounded to nearest. */
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
