/* mfma_vec_base.c - the product sum with portable vectors of 4 columns. */
#include "mfma.h"

#include <math.h>

#define VL 4
#define ALWAYS inline __attribute__((always_inline))
#define KERNEL kn_mfma_base

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));
typedef double vd __attribute__((vector_size(16)));
typedef int64_t vl __attribute__((vector_size(16)));
typedef float vf2 __attribute__((vector_size(8)));

static ALWAYS vi
vi_load(const int32_t *p)
{
    vi x;

    memcpy(&x, p, sizeof x);
    return x;
}
static ALWAYS void
vi_store(int32_t *p, vi x)
{
    memcpy(p, &x, sizeof x);
}
#define vi_set(x) ((vi){(x), (x), (x), (x)})
#define vi_add(a, b) ((vi)((vu)(a) + (vu)(b)))
#define vi_sub(a, b) ((vi)((vu)(a) - (vu)(b)))
#define vi_and(a, b) ((a) & (b))
#define vi_or(a, b) ((a) | (b))
#define vi_eq(a, b) ((a) == (b))
#define vi_gt(a, b) ((a) > (b))
static ALWAYS vi
vi_select(vi mask, vi yes, vi no)
{
    return (yes & mask) | (no & ~mask);
}
#define vi_max(a, b) vi_select((a) > (b), (a), (b))
#define vi_min(a, b) vi_select((a) > (b), (b), (a))
#define vi_sll(a, n) ((vi)((vu)(a) << (n)))
#define vi_srl(a, n) ((vi)((vu)(a) >> (n)))
/* Counts from 0; any that is too large gives the sign. */
#define vi_sra(a, n) ((a) >> vi_min((n), vi_set(31)))
static ALWAYS int
vi_highest(vi a)
{
    int most = a[0];

    for (int n = 1; n < VL; n++)
        most = a[n] > most ? a[n] : most;
    return most;
}
#define vi_lowest(a) (-vi_highest(-(a)))
#define vi_any(a) (((a)[0] | (a)[1] | (a)[2] | (a)[3]) != 0)
#define vi_float(a) ((vf)(a))
#define vf_bits(a) ((vi)(a))
static ALWAYS vf
vf_load(const float *p)
{
    vf x;

    memcpy(&x, p, sizeof x);
    return x;
}
static ALWAYS void
vf_store(float *p, vf x)
{
    memcpy(p, &x, sizeof x);
}
#define vf_set(x) ((vf){(x), (x), (x), (x)})
#define vf_mul(a, b) ((a) * (b))
#define vf_sub(a, b) ((a) - (b))
#define vf_trunc(a) __builtin_convertvector((a), vi)
static ALWAYS vf
vf_fma(vf a, vf b, vf c)
{
    return (vf){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]),
                fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3])};
}
/* Sum of the products of two pairs of i16. */
static ALWAYS vi
vi_madd(vi a, vi b)
{
    vi al = (vi)((vu)a << 16) >> 16, bl = (vi)((vu)b << 16) >> 16;

    return al * bl + (a >> 16) * (b >> 16);
}
static ALWAYS vd
vi_double(vi a, bool high)
{
    return (vd){a[high ? 2 : 0], a[high ? 3 : 1]};
}
/* Halves by memcpy and whole-vector conversion: gcc 12 takes the rounding out
 * of {(float)d[0], ...} when the elements are widened again. */
static ALWAYS vd
vf_double(vf a, bool high)
{
    vf2 x;

    memcpy(&x, (const char *)&a + (high ? sizeof x : 0), sizeof x);
    return __builtin_convertvector(x, vd);
}
static ALWAYS vd
vi_pow2(vi e, bool high)
{
    vl x = {e[high ? 2 : 0], e[high ? 3 : 1]};

    return (vd)((x + 1023) << 52);
}
#define vd_set(x) ((vd){(x), (x)})
#define vd_mul(a, b) ((a) * (b))
#define vd_add(a, b) ((a) + (b))
#define vd_load(p) (*(const vd *)(p))
#define vd_store(p, x) (*(vd *)(p) = (x))
/* Of an exact product, so that it is the same as fused. */
#define vd_fma(a, b, c) ((a) * (b) + (c))
/* |a| is below 2^38: adding 1.5 * 2^52 rounds to an integer. */
static ALWAYS vd
vd_floor(vd a)
{
    vd r = (a + 0x1.8p52) - 0x1.8p52;

    return r - (vd)((r > a) & (vl)vd_set(1));
}
static ALWAYS vf
vd_float(vd lo, vd hi)
{
    vf2 x = __builtin_convertvector(lo, vf2);
    vf2 y = __builtin_convertvector(hi, vf2);

    return (vf){x[0], x[1], y[0], y[1]};
}

#define vi_value(a) __builtin_convertvector((a), vf)
#define vi_any_gt(a, b) vi_any(vi_gt(a, b))
/* y where mag is at least limit, else 0. */
#define vi_drop_below(y, mag, limit) ((y) & ~vi_gt(limit, mag))
static ALWAYS vi
vf_floor(vf a)
{
    vi x = vf_trunc(a);

    return x + (vi_value(x) > a);
}

/* Exponents of 4 rows of VL columns, a byte each. */
typedef int8_t vb __attribute__((vector_size(16)));
typedef uint8_t vub __attribute__((vector_size(16)));
#define vb_set(x) ((vb)((vu)vi_set((x) & 0xff) * 0x01010101u))
static ALWAYS vb
vb_max(vb a, vb b)
{
    vb more = a > b;

    return (a & more) | (b & ~more);
}
/* Sums stay in a byte unless one of them is ZERO_E. */
static ALWAYS vb
vb_adds(vb a, vb b)
{
    vb none = vb_set(-127), zero = (a == none) | (b == none);

    return ((vb)((vub)a + (vub)b) & ~zero) | (none & zero);
}
static ALWAYS vb
vb_columns(const int8_t *p)
{
    int32_t x;

    memcpy(&x, p, sizeof x);
    return (vb)vi_set(x);
}
static ALWAYS vb
vb_rows(const int8_t *p)
{
    const uint8_t *u = (const uint8_t *)p;

    return (vb)((vu){u[0], u[1], u[2], u[3]} * 0x01010101u);
}
static ALWAYS vi
vb_row(vb a, unsigned r)
{
    return (vi){a[4 * r], a[4 * r + 1], a[4 * r + 2], a[4 * r + 3]};
}
static ALWAYS void
vi_store_bytes(int8_t *p, vi a)
{
    for (unsigned n = 0; n < VL; n++)
        p[n] = (int8_t)a[n];
}

/* Element u % 16 of a table, for each lane. */
#define PICK(t, u) \
    { (t)[(u)[0] & 15], (t)[(u)[1] & 15], (t)[(u)[2] & 15], (t)[(u)[3] & 15] }
static ALWAYS vi
vi_pick(const int32_t *t, vi u)
{
    return (vi)PICK(t, u);
}
static ALWAYS vf
vf_pick(const float *t, vi u)
{
    return (vf)PICK(t, u);
}

#include "mfma_kernel.h"
