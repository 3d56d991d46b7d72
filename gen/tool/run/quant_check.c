/* quant_check.c - whether codes and scales are those of a row's numbers
 * (docs/quant.md), without the kernel's steps: a magnitude is found by comparing,
 * a code by runtime/reference/formats.c. A scale is right if the largest
 * magnitude, moved by its error, can give it; a code if the value, moved so,
 * rounds to it under that scale. Without errors both are one, bit by bit. */
#include <math.h>
#include <string.h>

#include "moe.h"
#include "session.h"

static int64_t
block_of(const kiln_problem *p, int64_t n)
{
    return p->out_scale == KILN_OUT_MX32 ? 32
         : p->out_scale == KILN_OUT_BLOCK128 ? 128 : n;
}

static double
most_of(const kiln_problem *p)
{
    return p->out == KILN_I8 ? 127 : kn_ref_max(p->out, p->target);
}

/* The f32 scale of a group: max(|x|, 1e-10) * (1 / the largest code). */
static float
scale_of(const kiln_problem *p, double amax)
{
    float x = (float)amax > 1e-10f ? (float)amax : 1e-10f;

    return x * (float)(1 / most_of(p));
}

/* That as a power of two, at least as large: E8M0. */
static uint8_t
power_of(const kiln_problem *p, double amax)
{
    int e;

    return (uint8_t)(frexp((double)scale_of(p, amax), &e) == 0.5 ? e + 126 : e + 127);
}

static bool
scale_right(const kiln_problem *p, const void *got, double lo, double hi)
{
    uint8_t byte;
    float f;

    if (kn_scale_size(p) == 1) {
        memcpy(&byte, got, 1);
        if (!isfinite(hi))
            return byte == 255;
        if (kn_writes_powers(p))
            return byte >= power_of(p, lo) && byte <= power_of(p, hi);
        return byte >= kn_mx_scale((enum kn_mx_mode)p->requant, p->out,
                                   p->target, lo) &&
               byte <= kn_mx_scale((enum kn_mx_mode)p->requant, p->out,
                                   p->target, hi);
    }
    memcpy(&f, got, 4);
    if (!isfinite(hi))
        return isnan(f);
    return f >= scale_of(p, lo) && f <= scale_of(p, hi);
}

/* What a value is made a code of, under the scale there is. */
static double
quotient(const kiln_problem *p, const void *scale, double x)
{
    double most = most_of(p), least = p->out == KILN_I8 ? -128 : -most, v;
    uint8_t byte;
    float f;

    if (kn_scale_size(p) == 1) {
        memcpy(&byte, scale, 1);
        v = ldexp(x, 127 - byte);
    } else {
        memcpy(&f, scale, 4);
        v = (double)((float)x * (float)(1 / (double)f));
    }
    if (isnan(v) || (p->overflow && p->out_scale == KILN_OUT_STATIC))
        return v;
    return v > most ? most : v < least ? least : v;
}

/* The multiple of a code's step beside v that element i is rounded to. */
static double
at_random(const struct kn_quant_row *r, int64_t i, double v)
{
    const kiln_problem *p = r->p;

    if (!p->round)
        return v;
    return copysign(kn_ref_drawn(p->out, p->target,
                                 kn_ref_draw(p->round_seed, r->row, r->first + i), v),
                    v);
}

static uint32_t
code_at(const uint8_t *row, uint64_t i, unsigned bits)
{
    uint64_t at = i * bits;
    uint32_t w = row[at / 8];

    if (at % 8 + bits > 8)
        w |= (uint32_t)row[at / 8 + 1] << 8;
    return w >> at % 8 & ((1u << bits) - 1);
}

static bool
code_right(const kiln_problem *p, uint32_t code, double lo, double hi)
{
    double got = kn_ref_decode(p->out, p->target, code), a, b;
    uint64_t low = kn_ref_encode(p->out, p->target, lo);
    uint64_t high = kn_ref_encode(p->out, p->target, hi);

    if (isnan(lo) && p->out != KILN_I8)
        return isnan(got);   /* of any sign */
    if (low == high)
        return code == low;
    a = kn_ref_decode(p->out, p->target, low);
    b = kn_ref_decode(p->out, p->target, high);
    return isnan(got) ? isnan(a) : got >= a && got <= b;
}

static void
note(struct kn_ref_check *k, int64_t row, int64_t col, double got, double want)
{
    if (k->bad++)
        return;
    k->bad_m = row;
    k->bad_n = col;
    k->bad_got = got;
    k->bad_want = want;
}

struct block {
    int64_t first, n;
    const void *scale;
};

static void
check_codes(const struct kn_quant_row *r, const struct block *b,
            struct kn_ref_check *k)
{
    const kiln_problem *p = r->p;
    unsigned bits = kn_ref_type_bits(p->out);
    uint8_t byte = 0;

    if (kn_scale_size(p) == 1)
        memcpy(&byte, b->scale, 1);
    for (int64_t i = b->first; i < b->first + b->n; i++) {
        double x = r->value[i], e = r->error ? r->error[i] : 0;
        double lo = at_random(r, i, quotient(p, b->scale, x - e));
        double hi = at_random(r, i, quotient(p, b->scale, x + e));
        uint32_t code = code_at(r->codes, (uint64_t)i, bits);

        k->elements++;
        if (byte < 255 && !code_right(p, code, lo, hi))
            note(k, r->row, i, kn_ref_decode(p->out, p->target, code), lo);
    }
}

void
kn_quant_check(const struct kn_quant_row *r, struct kn_ref_check *k)
{
    const kiln_problem *p = r->p;
    int64_t step = block_of(p, r->n), size = kn_scale_size(p);

    for (int64_t at = 0, x = 0; at < r->n; at += step, x++) {
        struct block b = { at, r->n - at < step ? r->n - at : step,
                           (const uint8_t *)r->scales + x * size };
        double lo = 0, hi = 0;

        for (int64_t i = at; i < at + b.n; i++) {
            double a = fabs(r->value[i]), e = r->error ? r->error[i] : 0;

            lo = fmax(lo, a - e);
            hi = isnan(a) || isnan(hi) ? (double)NAN : fmax(hi, a + e);
        }
        if (p->out_scale != KILN_OUT_STATIC && !scale_right(p, b.scale, lo, hi))
            note(k, r->row, at, (double)*(const uint8_t *)b.scale, hi);
        check_codes(r, &b, k);
    }
}
