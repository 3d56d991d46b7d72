/* operand.h - rows of A or B as f64: the reference's own reading of them. */
#ifndef KN_REFERENCE_OPERAND_H
#define KN_REFERENCE_OPERAND_H

#include "reference.h"

/* A block of an operand: at most so many rows or columns of the output, so
 * deep. A multiple of every width that shares a scale. */
enum { KN_REF_ROWS = 256, KN_REF_DEPTH = 256 };

struct kn_ref_operand {
    const struct kn_ref_problem *p;
    const struct kn_ref_tensor *t;
    struct kn_ref_codec codec;
    bool is_b, along_k;      /* K is innermost in memory */
    int64_t ld;              /* elements from row to row in memory */
    double *run;             /* one decoded run */
    uint8_t *bytes;          /* as fetched */
};

/* Rows row to row + rows - 1 (columns of B), K from k to k + n - 1; k is a
 * multiple of KN_REF_DEPTH. */
struct kn_ref_span {
    int64_t row, k;
    int rows, n;
};

/* Columns of B. */
static inline int64_t
kn_ref_columns(const struct kn_ref_problem *p)
{
    return p->gated ? 2 * p->n : p->n;
}

bool kn_ref_present(const struct kn_ref_tensor *t);
void kn_ref_bytes(const struct kn_ref_tensor *t, uint64_t offset, void *dst,
                  size_t size);
/* Number `index` of a tensor of f32. */
double kn_ref_f32(const struct kn_ref_tensor *t, int64_t index);

/* NO_MEMORY alone; kn_ref_operand_free in any case. */
kiln_status kn_ref_operand_init(struct kn_ref_operand *o,
                                const struct kn_ref_problem *p, bool is_b);
void kn_ref_operand_free(struct kn_ref_operand *o);

/* out[rows][KN_REF_DEPTH]: decoded, quantised, times their scales. */
void kn_ref_rows(struct kn_ref_operand *o, const struct kn_ref_span *at,
                 double *out);

#endif
