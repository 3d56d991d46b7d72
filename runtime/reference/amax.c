/* amax.c - what the largest magnitude of an output may be. */
#include <float.h>
#include <math.h>

#include "reference.h"

void
kn_ref_amax_add(struct kn_ref_amax *m, const struct kn_ref_result *r)
{
    double unit = r->exact ? 0 : kn_ref_unit(r->a, r->math, r->k);

    for (int64_t i = 0; i < r->rect.rows * r->rect.cols; i++) {
        double v = fabs(r->value[i]);
        double off = unit * r->abssum[i] + (r->exact ? 0 : v * 0x1p-23);

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
kn_ref_amax_right(const struct kn_ref_amax *m, float got)
{
    double v = (double)got;

    if (m->nan || isnan(got))
        return isnan(got) && (m->nan || m->open) && !signbit(got);
    if (isinf(got))
        return v > 0 && (m->high >= (double)FLT_MAX || m->open);
    return v >= (double)(float)m->low && v <= (double)(float)m->high;
}
