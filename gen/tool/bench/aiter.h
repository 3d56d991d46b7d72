/* aiter.h - aiter's configuration files (aiter/ops/triton/configs/gemm) as
 * tuning tables and back. The name of a file carries what it is for:
 * gfx950-BATCHED_GEMM-A8W8-N=512-K=128.json; inside are buckets of M.
 *
 * BLOCK_SIZE_M/N/K, num_warps, num_stages, GROUP_SIZE_M and NUM_KSPLIT become
 * a configuration line. What kiln has no use for is kept in columns of its
 * name behind '_', so that it survives the way back. */
#ifndef KN_AITER_H
#define KN_AITER_H

#include "../../tuning/csv.h"

bool kn_aiter_name(const char *path);    /* "DIR/ARCH-...GEMM-...json" */

/* notes: what was ignored, a line each. UNSUPPORTED for a kernel kiln does not
 * have; BAD_INPUT with file, line and field. */
kiln_status kn_aiter_read(struct kn_ctx *c, const char *path,
                          struct kn_csv *out, struct kn_buf *notes);

/* The rows of a tuning table that a file of this name holds, as its text. */
kiln_status kn_aiter_write(struct kn_ctx *c, const char *path,
                           const struct kn_csv *t, struct kn_buf *out);

/* aiter's tuned tables (CSV), recognised by their columns:
 *   few rows of mxfp8  K,N,M,kernel,n_sub,k_splits,use_hip
 *   moe                token,model_dim,...,kernelName1,...,kernelName2,...
 * A moe line is two rows, gemm1 and gemm2 (in the column layout), of the tiles
 * in the kernels' names; batch is the experts, m the tokens. All of aiter's
 * fields are kept behind '_'. */
bool kn_aiter_table(const struct kn_csv *t);
kiln_status kn_aiter_table_read(struct kn_ctx *c, const struct kn_csv *from,
                                struct kn_csv *to, struct kn_buf *notes);

/* "...tuned_fmoe....csv" and "...smallm_mxfp8_tuned....csv" are written so. */
bool kn_aiter_table_name(const char *path);
kiln_status kn_aiter_table_write(struct kn_ctx *c, const char *path,
                                 const struct kn_csv *t, struct kn_buf *out);

#endif
