/* compare.c - the rule by which a result is right or wrong. */
#include "reference.h"

#include <math.h>
#include <string.h>

static uint64_t
result_code(const struct kn_ref_result *r, int64_t i, int64_t j)
{
    unsigned bytes = kn_ref_type_bits(r->out) / 8;
    int64_t ld = r->ld ? r->ld : r->rect.cols;
    uint64_t code = 0;

    if (!bytes)              /* rows of two codes a byte */
        return ((const uint8_t *)r->got)[i * ((ld + 1) / 2) + j / 2] >>
               (j % 2 * 4) & 15;
    memcpy(&code, (const uint8_t *)r->got + (size_t)(i * ld + j) * bytes,
           bytes);
    return code;
}

static bool
is_integer(kiln_type t)
{
    return t == KILN_I32 || t == KILN_I8;
}

/* Integer sums wrap as the accumulator does. */
static bool
equal_integers(const struct kn_ref_result *r, uint32_t got, double want)
{
    uint32_t mask = r->out == KILN_I8 ? 0xff : UINT32_MAX;

    if (fabs(want) >= 0x1p63)
        return false;
    return ((uint32_t)(int64_t)want & mask) == (got & mask);
}

double
kn_ref_unit(kiln_type a, kiln_math math, int64_t k)
{
    const double last = a == KILN_F64 ? 0x1p-53 : 0x1p-24;
    static const struct {
        double product, sums;
    } of[KILN_NMATHS] = { [KILN_MATH_IEEE] = { 0, 1 },
                          [KILN_MATH_XF32] = { 0x1p-9, 2 },
                          [KILN_MATH_BF16X3] = { 0x1p-15, 3 } };

    return of[math].product + (of[math].sums * (double)k / 8 + 16) * last;
}

static bool
within(const struct kn_ref_result *r, double got, double want, double abssum)
{
    double tol;

    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want))
        return got == want;
    tol = kn_ref_ulp(r->out, r->target, want) +
          kn_ref_unit(r->a, r->math, r->k) * abssum;
    if (isinf(got))
        return signbit(got) == signbit(want) &&
               fabs(want) + tol >= kn_ref_max(r->out, r->target);
    return fabs(got - want) <= tol;
}

/* Of an output without a scale: the value, moved by what the sum may be off, is
 * rounded by the element's bits; what is nearest to it does not matter. */
static bool
right_at_random(const struct kn_ref_result *r, double got,
                const struct kn_ref_want *w)
{
    double off = r->exact ? 0 : kn_ref_unit(r->a, r->math, r->k) * w->abssum +
                                0x1p-23 * fabs(w->value);
    double end[2] = { w->value - off, w->value + off };

    for (int k = 0; k < 2; k++) {
        double x = kn_ref_at_random(r->out, r->target, w->random, end[k]);

        end[k] = kn_ref_decode(r->out, r->target,
                               kn_ref_encode(r->out, r->target, x));
    }
    return got >= end[0] && got <= end[1];
}

static bool
is_right(const struct kn_ref_result *r, uint64_t code, double got,
         const struct kn_ref_want *w)
{
    double want = w->value;

    if (r->scale > 0)
        return kn_ref_code_right(r, (uint32_t)code, w);
    if (is_integer(r->out))
        return equal_integers(r, (uint32_t)code, want);
    if (isnan(want))
        return isnan(got);
    if (r->round)
        return right_at_random(r, got, w);
    if (!r->exact)
        return within(r, got, want, w->abssum);
    return code == kn_ref_encode(r->out, r->target, want);
}

static bool
wraps(const struct kn_ref_result *r)
{
    return is_integer(r->out) && !(r->scale > 0);
}

/* A code that stands for what is beyond it. */
static bool
is_limit(const struct kn_ref_result *r, double got)
{
    return r->scale > 0 &&
           fabs(got) >= r->scale * (r->out == KILN_I8 ? 127
                                    : kn_ref_max(r->out, r->target));
}

/* +Inf - Inf of an accumulator, which OCP MX leaves open. */
static bool
is_overflow(const struct kn_ref_result *r, int64_t at, double got)
{
    return r->both && r->both[at] && !r->exact && isnan(got) &&
           !isnan(r->value[at]);
}

void
kn_ref_note(struct kn_ref_check *check, double got, double want)
{
    double diff = fabs(got - want);

    check->got2 += got * got;
    check->want2 += want * want;
    check->dot += got * want;
    check->error2 += diff * diff;
    if (!isfinite(diff))
        return;
    if (diff > check->max_abs)
        check->max_abs = diff;
    if (want != 0 && diff / fabs(want) > check->max_rel)
        check->max_rel = diff / fabs(want);
}

double
kn_ref_snr(const struct kn_ref_check *check)
{
    if (check->error2 == 0)
        return (double)INFINITY;
    return 10 * log10(check->want2 / check->error2);
}

double
kn_ref_cosine(const struct kn_ref_check *check)
{
    if (check->got2 == 0 && check->want2 == 0)
        return 1;
    return check->dot / (sqrt(check->got2) * sqrt(check->want2));
}

static void
note_bad(struct kn_ref_check *check, const struct kn_ref_result *r, int64_t i,
         int64_t j, double got)
{
    if (check->bad++)
        return;
    check->bad_m = r->rect.m0 + i;
    check->bad_n = r->rect.n0 + j;
    check->bad_got = got;
    check->bad_want = r->value[i * r->rect.cols + j];
}

static double
random_of(const struct kn_ref_result *r, int64_t i, int64_t j)
{
    int64_t row = r->rows ? r->rows[i] : r->row0 + r->rect.m0 + i;

    return r->round ? kn_ref_random(r->round_seed, row, r->rect.n0 + j) : 0;
}

/* With the scale of element (i, j). */
static struct kn_ref_result
at_scale(const struct kn_ref_result *r, int64_t i, int64_t j)
{
    struct kn_ref_result one = *r;

    if (r->written)
        one.scale = kn_ref_scale_at(r, i, j);
    return one;
}

/* A scale is judged with its first elements: it is all of a row's that decide it. */
static bool
begins_scale(const struct kn_ref_result *r, int64_t j)
{
    return r->written && j % kn_ref_scale_columns(r, r->rect.cols) < 32;
}

static void
compare_tile(const struct kn_ref_result *all, int64_t i0, int64_t j0,
             struct kn_ref_check *check)
{
    int64_t rows = all->rect.rows - i0 < 16 ? all->rect.rows - i0 : 16;
    int64_t cols = all->rect.cols - j0 < 16 ? all->rect.cols - j0 : 16;
    double diff = 0, norm = 0, rel;

    for (int64_t i = i0; i < i0 + rows; i++)
        for (int64_t j = j0; j < j0 + cols; j++) {
            int64_t at = i * all->rect.cols + j;
            uint64_t code = result_code(all, i, j);
            const struct kn_ref_result one = at_scale(all, i, j), *r = &one;
            double got = kn_ref_decode(r->out, r->target, code) *
                         (r->scale > 0 ? r->scale : 1);
            double want = r->value[at];
            struct kn_ref_want w = { want, r->abssum[at], random_of(r, i, j) };
            bool open = is_overflow(r, at, got) || isnan(r->scale);
            bool right = open || is_right(r, code, got, &w);

            if (begins_scale(r, j) && !kn_ref_scale_right(r, i, j))
                right = false;

            check->overflowed += open;
            if (!right)
                note_bad(check, r, i, j, got);
            if (right && (wraps(r) || is_limit(r, got)))
                want = got;  /* a sum that wraps, or is beyond */
            if (right && !(isfinite(got) && isfinite(want)))
                continue;    /* no error that has a size */
            kn_ref_note(check, got, want);
            diff += got == want ? 0 : (got - want) * (got - want);
            norm += isfinite(want) ? want * want : 0;
        }
    rel = diff == 0 ? 0 : sqrt(diff) / sqrt(norm);
    if (isnan(rel))
        rel = (double)INFINITY;
    if (rel > check->max_tile_rel)
        check->max_tile_rel = rel;
    check->elements += (uint64_t)(rows * cols);
}

void
kn_ref_compare(const struct kn_ref_result *r, struct kn_ref_check *check)
{
    for (int64_t i = 0; i < r->rect.rows; i += 16)
        for (int64_t j = 0; j < r->rect.cols; j += 16)
            compare_tile(r, i, j, check);
}

bool
kn_ref_least_serves(const struct kn_ref_problem *p,
                    const struct kn_ref_result *r)
{
    return p->epilogue != KILN_EPILOGUE_EXPRESSION && !(r->scale > 0) &&
           !r->written;
}

kiln_status
kn_ref_judge(struct kn_ctx *c, const struct kn_ref_problem *p,
             const struct kn_ref_result *r, struct kn_ref_check *check)
{
    size_t n = (size_t)(r->rect.rows * r->rect.cols);
    struct kn_ref_check first = *check;
    struct kn_ref_result again = *r;
    struct kn_ref_sums sums = { 0 };

    kn_ref_compare(r, &first);
    if (first.bad == check->bad || !kn_ref_least_serves(p, r)) {
        *check = first;
        return KILN_OK;
    }
    KN_ENTER(c);
    again.value = sums.value = KN_NEW(c, double, n);
    again.abssum = sums.abssum = KN_NEW(c, double, n);
    KN_TRY(kn_ref_tile(c, p, &r->rect, &sums));
    kn_ref_compare(&again, check);
    return KILN_OK;
}
