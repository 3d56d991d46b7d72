/* codes.c - outputs that are codes under a scale: which one is right. */
#include "reference.h"

#include <math.h>

static double
limit(const struct kn_ref_result *r, bool above)
{
    if (r->out == KILN_I8)
        return above ? 127 : -128;
    return above ? kn_ref_max(r->out, r->target)
                 : -kn_ref_max(r->out, r->target);
}

/* What x becomes: NaN and infinity are where a type that does not saturate
 * ends. */
static double
rounded(const struct kn_ref_result *r, double random, double x)
{
    if (r->saturate && !isnan(x))
        x = fmin(fmax(x, limit(r, false)), limit(r, true));
    if (r->round)
        x = kn_ref_at_random(r->out, r->target, random, x);
    return kn_ref_decode(r->out, r->target,
                         kn_ref_encode(r->out, r->target, x));
}

bool
kn_ref_code_right(const struct kn_ref_result *r, uint32_t code,
                  const struct kn_ref_want *w)
{
    double want = w->value, abssum = w->abssum;
    double got = kn_ref_decode(r->out, r->target, code), low, high;
    double off = r->exact ? 0 : kn_ref_unit(r->a, r->math, r->k) * abssum +
                                0x1p-22 * fabs(want);

    if (r->written == KILN_OUT_ROW || r->written == KILN_OUT_BLOCK128)
        off += 0x1p-20 * fabs(want);     /* a scale is no power of two */
    if (isinf(r->scale) && !isnan(want))
        want = isfinite(want) ? 0 : (double)NAN;
    if (isnan(want) || isinf(want)) {
        want = rounded(r, w->random, want);
        return isnan(want) ? isnan(got) : got == want;
    }
    low = rounded(r, w->random, (want - off) / r->scale);
    high = rounded(r, w->random, (want + off) / r->scale);
    if (isnan(got))
        return isnan(low) || isnan(high);
    return !(got < low) && !(got > high) && !(isnan(low) && isnan(high));
}
