#include "timing_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../mfma/mfma.h"
#include "timing_impl.h"

/* Errors come from this many of the most similar rows, if there are LEAST of
 * the prediction's own kind. */
enum { NEAR = 16, LEAST = 3 };

/* This share of them may be beyond each end; of short launches, whose fixed
 * costs differ by more, less. */
static const double beyond = 0.10, beyond_short = 0.06, short_us = 50;

/* How unlike rows of other kinds are, and a difference of each figure. */
static const double other_target = 2, other_type = 3, other_sharing = 2;
static const double per_rate = 1 / 50.0, per_loop = 0.5, per_log_us = 0.5;

const struct kn_time_row kn_time_rows[] = {
#define ROW(target, type, resident, bound, measured, predicted, rate, loop, \
            kind, object, shape, source) \
    { KILN_##target, KN_TT_##type, resident, KN_B_##bound, measured, \
      predicted, rate, loop, kind, object, shape, source },
#include "timing_rows.def"
#undef ROW
};
const size_t kn_time_nrows = sizeof kn_time_rows / sizeof *kn_time_rows;

const char *
kn_time_type_name(enum kn_time_type t)
{
    static const char *const names[] = {
#define X(id, text) text,
        KN_TIME_TYPES(X)
#undef X
    };

    return names[t];
}

/* ---- the type of an object ---------------------------------------------- */

static enum kn_time_type
format_type(const struct kn_mfma *m, const struct kn_inst *i)
{
    static const enum kn_time_type type[] = {
        KN_TT_MX8, KN_TT_MX8, KN_TT_MX6, KN_TT_MX6, KN_TT_MX4
    };
    unsigned format = i->cbsz < i->blgp ? i->cbsz : i->blgp;

    if (!strstr(m->mnemonic, "scale") && format < 2)
        return KN_TT_F8;
    return type[format < 4 ? format : 4];
}

static enum kn_time_type
type_of(const struct kn_mfma *m, const struct kn_inst *i)
{
    switch (m->a) {
    case KN_MT_F64: return KN_TT_F64;
    case KN_MT_F32:
    case KN_MT_XF32: return KN_TT_F32;
    case KN_MT_F16:
    case KN_MT_BF16: return KN_TT_F16;
    case KN_MT_I8: return KN_TT_I8;
    case KN_MT_F8F6F4: return format_type(m, i);
    default: return KN_TT_F8;
    }
}

static enum kn_time_type
most_frequent(const struct kn_program *p)
{
    uint32_t n[KN_NTIMETYPES] = { 0 };
    enum kn_time_type best = KN_TT_NONE;

    for (uint32_t k = 0; k < p->n; k++) {
        const struct kn_mfma *m = kn_mfma_of(p->target, p->inst[k].op);

        if (m)
            n[type_of(m, &p->inst[k])]++;
    }
    for (int t = 0; t < KN_NTIMETYPES; t++)
        if (n[t] > n[best])
            best = (enum kn_time_type)t;
    return best;
}

/* ---- the most similar rows ---------------------------------------------- */

struct near {
    double off, error;       /* how unlike it is, ascending */
};

static bool
shares(uint32_t resident)
{
    return resident > 1;
}

static bool
own_kind(const struct kn_time_row *r, const struct kn_time_like *q)
{
    return r->target == q->target && r->type == q->type &&
           shares(r->resident) == shares(q->resident);
}

static double
unlike(const struct kn_time_row *r, const struct kn_time_like *q)
{
    double off = per_rate * fabs(r->rate - q->rate) +
                 per_loop * fabs(r->loop - q->loop) +
                 per_log_us * fabs(log(r->predicted / q->us));

    off += r->target == q->target ? 0 : other_target;
    off += r->type == q->type ? 0 : other_type;
    return off + (shares(r->resident) == shares(q->resident) ? 0
                                                             : other_sharing);
}

static void
keep_near(struct near *near, uint32_t *n, struct near one)
{
    uint32_t k = *n < NEAR ? (*n)++ : NEAR;

    for (; k && one.off < near[k - 1].off; k--)
        if (k < NEAR)
            near[k] = near[k - 1];
    if (k < NEAR)
        near[k] = one;
}

/* Returns how many; 0 where too few are of its own kind. */
static uint32_t
find_near(const struct kn_time_table *t, const struct kn_time_like *q,
          struct near *near)
{
    uint32_t n = 0, own = 0;

    for (size_t k = 0; k < t->n; k++) {
        const struct kn_time_row *r = &t->row[k];

        if (t->without && !strcmp(t->without, r->object))
            continue;
        own += own_kind(r, q);
        keep_near(near, &n, (struct near){ unlike(r, q),
                                           r->measured / r->predicted - 1 });
    }
    return own < LEAST ? 0 : n;
}

static int
by_error(const void *a, const void *b)
{
    double x = ((const struct near *)a)->error;
    double y = ((const struct near *)b)->error;

    return (x > y) - (x < y);
}

/* The error that a share of those that are drawn like these stays below; no
 * further out than the outermost. */
static double
quantile(const struct near *near, uint32_t n, double share)
{
    double at = share * (n + 1) - 1, low = floor(at);

    if (at <= 0)
        return near[0].error;
    if (at >= n - 1)
        return near[n - 1].error;
    near += (size_t)low;
    return near[0].error + (at - low) * (near[1].error - near[0].error);
}

struct kn_time_error
kn_time_error_of(const struct kn_time_table *t, const struct kn_time_like *q)
{
    struct near near[NEAR];
    struct kn_time_error e = { .rows = find_near(t, q, near) };
    double out = q->us > short_us ? beyond : beyond_short;

    if (!e.rows)
        return e;
    qsort(near, e.rows, sizeof *near, by_error);
    e.low = fmin(0, quantile(near, e.rows, out));
    e.high = fmax(0, quantile(near, e.rows, 1 - out));
    return e;
}

struct kn_time_like
kn_time_like_of(kiln_target t, const struct kn_time_result *r)
{
    double outside = r->prologue_cycles + r->epilogue_cycles, busy;
    struct kn_time_chip chip;

    kn_time_chip_of(t, &chip);
    busy = fmin(chip.cus, (double)r->workgroups);
    return (struct kn_time_like){
        .target = t, .type = r->type, .resident = r->resident, .us = r->us,
        .rate = r->read_bytes / r->us / busy / 1e3,
        .loop = fmax(0, 1 - outside / fmax(1, r->group_cycles))
    };
}

void
kn_time_expect_error(const struct kn_program *p, struct kn_time_result *r)
{
    const struct kn_time_table t = { kn_time_rows, kn_time_nrows, NULL };
    struct kn_time_like q;
    struct kn_time_error e;

    r->type = most_frequent(p);
    if (r->warm) /* no published time is of a launch on warm buffers */
        return;
    q = kn_time_like_of(p->target, r);
    e = kn_time_error_of(&t, &q);
    r->low = e.low;
    r->high = e.high;
    r->validated = e.rows;
}
