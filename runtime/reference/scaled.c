/* scaled.c - scales that an output brings itself: a largest magnitude of some
 * columns of a row over the limit of the type, or its power of two. */
#include "reference.h"

#include <math.h>
#include <string.h>

int64_t
kn_ref_scale_columns(const struct kn_ref_result *r, int64_t n)
{
    return r->written == KILN_OUT_MX32 ? 32
         : r->written == KILN_OUT_BLOCK128 ? 128 : n ? n : 1;
}

/* E8M0, else f32. */
static bool
in_bytes(const struct kn_ref_result *r)
{
    return r->written == KILN_OUT_MX32 || r->powers;
}

static uint64_t
place_of(const struct kn_ref_result *r, int64_t i, int64_t j)
{
    int64_t block = kn_ref_scale_columns(r, r->rect.cols);

    return (uint64_t)(i * ((r->rect.cols + block - 1) / block) + j / block);
}

double
kn_ref_scale_at(const struct kn_ref_result *r, int64_t i, int64_t j)
{
    uint64_t at = place_of(r, i, j);
    float s;

    if (in_bytes(r)) {
        uint8_t e = ((const uint8_t *)r->scales)[at];

        return e == 255 ? (double)NAN : ldexp(1, e - 127);
    }
    memcpy(&s, (const uint8_t *)r->scales + 4 * at, 4);
    return (double)s;
}

/* Largest magnitudes of a scale's columns, at least and at most; of what is no
 * number only whether there is. */
struct largest {
    double low, high;
    bool special, may;       /* NaN or infinity: there is; a sum may be one */
};

static struct largest
largest_of(const struct kn_ref_result *r, int64_t i, int64_t j)
{
    int64_t block = kn_ref_scale_columns(r, r->rect.cols);
    int64_t end = (j / block + 1) * block;
    struct largest x = { 0 };

    end = end < r->rect.cols ? end : r->rect.cols;
    for (j = j / block * block; j < end; j++) {
        int64_t at = i * r->rect.cols + j;
        double v = fabs(r->value[at]), off = 0x1p-22 * v;
        bool open = r->both && r->both[at];

        off += r->exact ? 0 : kn_ref_unit(r->a, r->math, r->k) * r->abssum[at];
        x.special |= !isfinite(v);
        x.may |= open || (isfinite(v) && v + off > 0x1p128);
        if (isnan(v))
            continue;
        x.high = fmax(x.high, isinf(v) ? v : v + off);
        x.low = fmax(x.low, open ? 0 : isinf(v) ? v : v - off);
    }
    return x;
}

/* The power of two of a largest magnitude, as a byte: OCP MX v1.0 6.3, or the
 * next one from which on no element is beyond the limit, whose largest rounds
 * to the next power of two, or which is no power of two itself. */
static int
e8m0(const struct kn_ref_result *r, double most)
{
    int e, top, bits = kn_ref_fields(r->out, r->target).mbits;
    double limit = 2 * frexp(kn_ref_max(r->out, r->target), &top);
    double x = 2 * frexp(most, &e);

    if (most <= 0)
        return 1;
    e += r->mode == 1 ? x > limit : r->mode == 2 ? x >= 2 - ldexp(1, -1 - bits)
       : r->mode == 3 ? x > 1 : 0;
    e += 127 - top;
    return e < 1 ? 1 : e > 254 ? 254 : e;
}

static bool
byte_right(const struct kn_ref_result *r, int got, const struct largest *x)
{
    if (got == 255 || x->special)
        return got == 255 && (x->special || x->may);
    return got >= e8m0(r, x->low) && got <= e8m0(r, x->high);
}

/* The least power of two that is at least s, as a byte. */
static int
power_of(double s)
{
    int e;
    double x = frexp(s, &e);

    return isinf(s) ? 255 : 126 + e + (x > 0.5);
}

bool
kn_ref_scale_right(const struct kn_ref_result *r, int64_t i, int64_t j)
{
    struct largest x = largest_of(r, i, j);
    double limit = r->out == KILN_I8 ? 127 : kn_ref_max(r->out, r->target), s;
    double low = fmax(x.low, 1e-10) / limit * (1 - 0x1p-22);
    double high = fmax(x.high, 1e-10) / limit * (1 + 0x1p-22);

    if (r->written == KILN_OUT_MX32)
        return byte_right(r, ((const uint8_t *)r->scales)[place_of(r, i, j)],
                          &x);
    if (r->powers) {
        int got = ((const uint8_t *)r->scales)[place_of(r, i, j)];

        return got >= power_of(low) && (got <= power_of(high) || (x.may && got == 255));
    }
    s = kn_ref_scale_at(r, i, j);
    return s >= low && (s <= high || (x.may && isinf(s)));
}
