/* element.h - the value of an element of test data, or of a scale. */
#ifndef KN_NUM_ELEMENT_H
#define KN_NUM_ELEMENT_H

#include <math.h>

#include "../../runtime/reference/reference.h"

static inline double
element(const struct kn_data *d, int64_t row, int64_t col)
{
    uint64_t code = kn_data_code(d, (uint64_t)(row * d->cols + col));

    if (d->scale && d->type != KILN_F32)
        return ldexp(1, (int)code - 127);
    return kn_ref_decode(d->type, d->target, code);
}

#endif
