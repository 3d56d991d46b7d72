/* mfma_vec.h - the vector kernels, one for each instruction set. Each returns
 * false, having written nothing, for operands outside its exact range. */
#ifndef KN_MFMA_VEC_H
#define KN_MFMA_VEC_H

#include "mfma.h"

/* D may overlap nothing. */
typedef bool kn_mfma_kernel(const struct kn_mfma_job *j, kn_vreg_row *d);

kn_mfma_kernel kn_mfma_avx512, kn_mfma_avx2, kn_mfma_base;

/* The widest kernel of this CPU, and which ones it can run. */
enum kn_mfma_isa { KN_MFMA_BASE, KN_MFMA_AVX2, KN_MFMA_AVX512, KN_MFMA_NISAS };
kn_mfma_kernel *kn_mfma_select(enum kn_mfma_isa isa);

#endif
