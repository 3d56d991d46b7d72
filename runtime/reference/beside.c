/* beside.c - what is right beside an output: a second one, and the largest
 * magnitude. */
#include <float.h>
#include <math.h>

#include "expression.h"

kiln_status
kn_ref_second_judge(struct kn_ctx *c, const struct kn_ref_problem *p,
                    const struct kn_ref_result *first,
                    const struct kn_ref_second *second,
                    struct kn_ref_check *check)
{
    size_t n = (size_t)(first->rect.rows * first->rect.cols);
    struct kn_ref_result r = { .target = first->target, .out = second->out,
                               .k = first->k, .got = second->got,
                               .exact = first->exact, .ld = second->ld,
                               .rect = first->rect, .math = first->math,
                               .a = first->a };
    struct kn_ref_problem q = *p;
    struct kn_ref_sums sums = { 0 };
    struct kn_ref_expression x;

    KN_ENTER(c);
    r.value = first->value;
    r.abssum = first->abssum;
    r.both = first->both;
    if (p->epilogue == KILN_EPILOGUE_EXPRESSION)
        KN_TRY(kn_ref_expression_read(c, p->expression, p->a.type == KILN_F64, &x));
    if (p->epilogue == KILN_EPILOGUE_EXPRESSION && x.aux) {
        q.aux = second->up ? 2 : 1;
        r.value = sums.value = KN_NEW(c, double, n);
        r.abssum = sums.abssum = KN_NEW(c, double, n);
        r.both = sums.both = KN_NEW(c, uint8_t, n);
        KN_TRY(kn_ref_tile(c, &q, &r.rect, &sums));
    }
    kn_ref_compare(&r, check);
    return KILN_OK;
}

void
kn_ref_amax_add(struct kn_ref_amax *m, const struct kn_ref_result *r)
{
    double unit = r->exact ? 0 : kn_ref_unit(r->a, r->math, r->k);

    for (int64_t i = 0; i < r->rect.rows * r->rect.cols; i++) {
        double v = fabs(r->value[i]);
        double last = r->a == KILN_F64 ? 0x1p-52 : 0x1p-23;
        double off = unit * r->abssum[i] + (r->exact ? 0 : v * last);

        m->wide = r->a == KILN_F64;
        if (r->both && r->both[i] && !r->exact)
            m->open = true;
        if (isnan(v))
            m->nan = true;
        else if (v - off > m->low)
            m->low = v - off;
        if (!isnan(v) && v + off > m->high)
            m->high = v + off;
    }
}

bool
kn_ref_amax_right(const struct kn_ref_amax *m, double got)
{
    if (m->nan || isnan(got))
        return isnan(got) && (m->nan || m->open) && !signbit(got);
    if (isinf(got))
        return got > 0 && (m->high >= (m->wide ? DBL_MAX : (double)FLT_MAX) || m->open);
    if (m->wide)
        return got >= m->low && got <= m->high;
    return got >= (double)(float)m->low && got <= (double)(float)m->high;
}
