#include "timing_error.h"

#include <math.h>
#include <string.h>

#include "../mfma/mfma.h"

/* This share of the rows a bar is made from may be beyond each of its ends.
 * Fewer rows than ENOUGH ask for less likeness; fewer than LEAST say nothing. */
static const double beyond = 0.06;
static const double short_us = 50;
enum { ENOUGH = 8, LEAST = 3, NLIKE = 3 };

const struct kn_time_row kn_time_rows[] = {
#define ROW(target, type, resident, bound, measured, predicted, kind, object, \
            shape, source) \
    { KILN_##target, KN_TT_##type, resident, KN_B_##bound, measured, \
      predicted, kind, object, shape, source },
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

/* ---- comparable rows ---------------------------------------------------- */

/* Bounds whose errors have one cause: the clock, the memory, the waits. */
static int
cause_of(enum kn_time_bound b)
{
    switch (b) {
    case KN_B_MFMA: return 0;
    case KN_B_HBM: return 1;
    case KN_B_LAUNCH: return 2;
    default: return 3;
    }
}

/* `like`: 0 as near as can be, NLIKE - 1 as far as rows still compare. */
static bool
compares(const struct kn_time_row *r, const struct kn_time_like *q, int like)
{
    if (r->target != q->target || r->type != q->type ||
        (r->resident > 1) != (q->resident > 1))
        return false;
    if (like < 2 && (r->predicted > short_us) != (q->us > short_us))
        return false;
    return like || cause_of(r->bound) == cause_of(q->bound);
}

static double
error_of(const struct kn_time_row *r)
{
    return r->measured / r->predicted - 1;
}

/* Rows that compare and whose error is at most `most`. */
static uint32_t
rows_within(const struct kn_time_table *t, const struct kn_time_like *q,
            int like, double most)
{
    uint32_t n = 0;

    for (size_t k = 0; k < t->n; k++)
        n += compares(&t->row[k], q, like) &&
             (!t->without || strcmp(t->without, t->row[k].object)) &&
             error_of(&t->row[k]) <= most;
    return n;
}

/* The least error of a row that `rank` of those that compare do not exceed. */
static double
ranked(const struct kn_time_table *t, const struct kn_time_like *q, int like,
       double rank)
{
    double best = HUGE_VAL;

    for (size_t k = 0; k < t->n; k++) {
        double e = error_of(&t->row[k]);

        if (e < best && rows_within(t, q, like, e) >= rank)
            best = e;
    }
    return best;
}

struct kn_time_error
kn_time_error_of(const struct kn_time_table *t, const struct kn_time_like *q)
{
    struct kn_time_error e = { 0 };
    double n;
    int like = 0;

    e.rows = rows_within(t, q, like, HUGE_VAL);
    while (e.rows < ENOUGH && like < NLIKE - 1)
        e.rows = rows_within(t, q, ++like, HUGE_VAL);
    if (e.rows < LEAST)
        return (struct kn_time_error){ 0 };
    n = e.rows;
    e.low = ranked(t, q, like, fmax(1, floor(beyond * (n + 1))));
    e.low = fmin(0, e.low);
    e.high = ranked(t, q, like, fmin(n, ceil((1 - beyond) * (n + 1))));
    e.high = fmax(0, e.high);
    return e;
}

void
kn_time_expect_error(const struct kn_program *p, struct kn_time_result *r)
{
    const struct kn_time_table t = { kn_time_rows, kn_time_nrows, NULL };
    struct kn_time_error e;

    r->type = most_frequent(p);
    if (r->warm) /* no published time is of a launch on warm buffers */
        return;
    e = kn_time_error_of(&t, &(struct kn_time_like){ p->target, r->type,
                                                     r->resident, r->bound,
                                                     r->us });
    r->low = e.low;
    r->high = e.high;
    r->validated = e.rows;
}
