/* products.h - sums of products, a few rows and columns at a time. */
#ifndef KN_REFERENCE_PRODUCTS_H
#define KN_REFERENCE_PRODUCTS_H

#include "operand.h"

/* A strip: PV columns of PM rows; sums lie PW apart from row to row, no power
 * of two, for the caches. A piece: so deep a part of K, whose sum is told
 * apart. */
enum { KN_REF_PV = 8, KN_REF_PM = 4, KN_REF_PW = 520, KN_REF_PIECE = 64 };

/* Adds n products of PM rows a[][KN_REF_DEPTH] and a strip b[][PV] to two sums
 * each. Every sum runs over ascending k. */
typedef void kn_ref_add_fn(const double *a, const double *b, int n, double *x,
                           double *y);

/* The sum, and that of the magnitudes. */
kn_ref_add_fn kn_ref_add_products;
/* The sum, and those of its pieces by magnitude. _fused rounds once for each
 * product: the same bits where products are exact, in half the instructions. */
kn_ref_add_fn kn_ref_add_pieces, kn_ref_add_pieces_fused;
/* The products above zero, and those below. */
kn_ref_add_fn kn_ref_add_signs;
/* The sum in long double, as a double and what that leaves, KN_REF_LOW behind it;
 * that of the magnitudes. */
enum { KN_REF_LOW = KN_REF_ROWS * KN_REF_PW };
kn_ref_add_fn kn_ref_add_wide;

/* Of a panel: the digits that any number has, and the largest magnitude, as
 * the bits of f64; infinities and NaN are above it. */
struct kn_ref_span_of {
    uint64_t digits, most;
};
void kn_ref_measure(const double *v, int n, struct kn_ref_span_of *s);
/* Whether products of numbers of both are exact in f64. */
bool kn_ref_exact(const struct kn_ref_span_of *a,
                  const struct kn_ref_span_of *b);

#endif
