/* timing_error.h - how far off a prediction is expected to be: as far as those
 * of the objects most like it were whose times AMD and others published. It
 * needs some of its own target, type of the products and whether workgroups
 * share a compute unit; near are those that read as fast, take as long and have
 * as much of it in their main loop. The rows (timing_rows.def) are made
 * by tests/timing/residuals.py and are predictions of the model as it is: a
 * change of the model has them made again. */
#ifndef KN_TIMING_ERROR_H
#define KN_TIMING_ERROR_H

#include "../../../emit/isa/isa.h"
#include "timing.h"

struct kn_time_row {         /* an object at one shape */
    kiln_target target;
    enum kn_time_type type;
    uint32_t resident;
    enum kn_time_bound bound;
    double measured, predicted;                /* us */
    double rate, loop;       /* as below */
    const char *kind, *object, *shape, *source;
};
extern const struct kn_time_row kn_time_rows[];
extern const size_t kn_time_nrows;

struct kn_time_table {
    const struct kn_time_row *row;
    size_t n;
    const char *without;     /* an object that is left out, or NULL */
};

/* What counts of a prediction. */
struct kn_time_like {
    kiln_target target;
    enum kn_time_type type;
    uint32_t resident;
    double us;
    double rate;             /* bytes a ns that a busy compute unit reads */
    double loop;             /* share of a workgroup's time in its main loop */
};
struct kn_time_like kn_time_like_of(kiln_target t,
                                    const struct kn_time_result *r);

struct kn_time_error {
    double low, high;        /* shares of the predicted time, to be added:
                                low <= 0 <= high */
    uint32_t rows;           /* they come from; 0: no validated object of this
                                kind */
};
struct kn_time_error kn_time_error_of(const struct kn_time_table *t,
                                      const struct kn_time_like *q);

/* Fills type, error and validated of a prediction from the others. */
void kn_time_expect_error(const struct kn_program *p,
                          struct kn_time_result *r);

#endif
