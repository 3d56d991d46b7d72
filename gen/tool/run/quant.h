/* quant.h - `run` of family quant, and the check of what it made. */
#ifndef KN_RUN_QUANT_H
#define KN_RUN_QUANT_H

#include "session.h"

kiln_status kn_run_quant(struct kn_tool *t);

/* Bytes that a launch reads and writes, each once. */
double kn_quant_bytes(const kiln_problem *p);

/* quant_check.c - a row of the output, and what is in it of which numbers. */
struct kn_quant_row {
    const kiln_problem *p;
    int64_t row, n;          /* its number and its elements */
    const double *value;     /* before they are quantised */
    const double *error;     /* bounds of it; NULL: it is exact */
    const uint8_t *codes;    /* packed */
    const void *scales;      /* f32 or E8M0, one for each block */
};
/* Counts what is wrong; of a wrong scale the first element of its block. */
void kn_quant_check(const struct kn_quant_row *r, struct kn_ref_check *k);

#endif
