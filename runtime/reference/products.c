/* products.c - sums of products by vectors. The build compiles it once more
 * with KN_FUSED, when products and sums may be contracted. */
#include "products.h"

#include <math.h>
#include <string.h>

#include "../../ir/clones.h"

enum { PV = KN_REF_PV, PW = KN_REF_PW, PK = KN_REF_DEPTH, PM = KN_REF_PM };

/* Half a strip: wider vectors than the host has would live in memory. */
enum { HALF = PV / 2 };
typedef double vec __attribute__((vector_size(8 * HALF), aligned(8)));
typedef int64_t mask __attribute__((vector_size(8 * HALF)));

#define MAGNITUDE(x) ((vec)((mask)(x) & INT64_MAX))
#define INLINE static inline __attribute__((always_inline))

/* Of row i: both halves of its sums. */
#define AT(x, i, half) ((vec *)((x) + (i) * PW + (half) * HALF))

#ifdef KN_FUSED
#define kn_ref_add_pieces kn_ref_add_pieces_fused
#endif

INLINE void
add_piece(const double *a, const double *b, int n, vec t[2 * PM])
{
    vec t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3], t4 = t[4], t5 = t[5],
        t6 = t[6], t7 = t[7];

    for (int k = 0; k < n; k++) {
        vec lo = *(const vec *)(b + k * PV);
        vec hi = *(const vec *)(b + k * PV + HALF);

        t0 += a[k] * lo;
        t1 += a[k] * hi;
        t2 += a[PK + k] * lo;
        t3 += a[PK + k] * hi;
        t4 += a[2 * PK + k] * lo;
        t5 += a[2 * PK + k] * hi;
        t6 += a[3 * PK + k] * lo;
        t7 += a[3 * PK + k] * hi;
    }
    t[0] = t0, t[1] = t1, t[2] = t2, t[3] = t3;
    t[4] = t4, t[5] = t5, t[6] = t6, t[7] = t7;
}

KN_CLONES void
kn_ref_add_pieces(const double *a, const double *b, int n, double *x, double *y)
{
    for (int k = 0; k < n; k += KN_REF_PIECE) {
        int piece = n - k < KN_REF_PIECE ? n - k : KN_REF_PIECE;
        vec t[2 * PM];

        for (int i = 0; i < 2 * PM; i++)
            t[i] = *AT(x, i / 2, i % 2);
        add_piece(a + k, b + k * PV, piece, t);
        for (int i = 0; i < 2 * PM; i++) {
            *AT(y, i / 2, i % 2) += MAGNITUDE(t[i] - *AT(x, i / 2, i % 2));
            *AT(x, i / 2, i % 2) = t[i];
        }
    }
}

#ifndef KN_FUSED
INLINE void
add_two(const double *a, const double *b, int n, double *x, double *y)
{
    vec v0 = *AT(x, 0, 0), v1 = *AT(x, 0, 1), v2 = *AT(x, 1, 0),
        v3 = *AT(x, 1, 1);
    vec s0 = *AT(y, 0, 0), s1 = *AT(y, 0, 1), s2 = *AT(y, 1, 0),
        s3 = *AT(y, 1, 1);

    for (int k = 0; k < n; k++) {
        vec lo = *(const vec *)(b + k * PV);
        vec hi = *(const vec *)(b + k * PV + HALF);
        vec p0 = a[k] * lo, p1 = a[k] * hi;
        vec p2 = a[PK + k] * lo, p3 = a[PK + k] * hi;

        v0 += p0, v1 += p1, v2 += p2, v3 += p3;
        s0 += MAGNITUDE(p0), s1 += MAGNITUDE(p1);
        s2 += MAGNITUDE(p2), s3 += MAGNITUDE(p3);
    }
    *AT(x, 0, 0) = v0, *AT(x, 0, 1) = v1;
    *AT(x, 1, 0) = v2, *AT(x, 1, 1) = v3;
    *AT(y, 0, 0) = s0, *AT(y, 0, 1) = s1;
    *AT(y, 1, 0) = s2, *AT(y, 1, 1) = s3;
}

KN_CLONES void
kn_ref_add_products(const double *a, const double *b, int n, double *x,
                    double *y)
{
    for (int i = 0; i < PM; i += 2)
        add_two(a + i * PK, b, n, x + i * PW, y + i * PW);
}

void
kn_ref_add_signs(const double *a, const double *b, int n, double *x, double *y)
{
    for (int i = 0; i < PM; i++)
        for (int j = 0; j < PV; j++)
            for (int k = 0; k < n; k++) {
                double p = a[i * PK + k] * b[k * PV + j];

                x[i * PW + j] += p > 0 ? p : 0;
                y[i * PW + j] += p < 0 ? p : 0;
            }
}

/* Of column j of the strip, in PM chains that do not wait for each other. */
INLINE void
add_column(const double *a, const double *b, int n, double *x, double *y)
{
    long double s[PM];

    for (int i = 0; i < PM; i++)
        s[i] = (long double)x[i * PW] + x[i * PW + KN_REF_LOW];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < PM; i++) {
            long double p = (long double)a[i * PK + k] * b[k * PV];

            s[i] += p;
            y[i * PW] += (double)(p < 0 ? -p : p);
        }
    for (int i = 0; i < PM; i++) {
        x[i * PW] = (double)s[i];
        x[i * PW + KN_REF_LOW] = isfinite(x[i * PW]) ? (double)(s[i] - (long double)x[i * PW]) : 0;
    }
}

void
kn_ref_add_wide(const double *a, const double *b, int n, double *x, double *y)
{
    for (int j = 0; j < PV; j++)
        add_column(a, b + j, n, x + j, y + j);
}

KN_CLONES void
kn_ref_measure(const double *v, int n, struct kn_ref_span_of *s)
{
    mask digits = { 0 }, most = { 0 };
    int64_t u;
    int i = 0;

    for (; i + HALF <= n; i += HALF) {
        mask m = (mask)*(const vec *)(v + i), above;

        digits |= m;
        m &= INT64_MAX;
        above = m > most;
        most = (above & m) | (~above & most);
    }
    for (; i < n; i++) {
        memcpy(&u, v + i, sizeof u);
        digits[0] |= u;
        u &= INT64_MAX;
        most[0] = u > most[0] ? u : most[0];
    }
    for (i = 0; i < HALF; i++) {
        s->digits |= (uint64_t)digits[i] & ((UINT64_C(1) << 52) - 1);
        s->most = s->most > (uint64_t)most[i] ? s->most : (uint64_t)most[i];
    }
}

/* Digits of a significand, the leading one included. */
static int
length(uint64_t digits)
{
    return digits ? 53 - __builtin_ctzll(digits) : 1;
}

bool
kn_ref_exact(const struct kn_ref_span_of *a, const struct kn_ref_span_of *b)
{
    return length(a->digits) + length(b->digits) <= 53;
}
#endif
