/* tail.h - K tails: of tiles that are in LDS (distribute_clip.c), and of what is quantised
 * on its way there (distribute_cut.c). */
#ifndef KN_DISTRIBUTE_TAIL_H
#define KN_DISTRIBUTE_TAIL_H

#include "distribute.h"

/* distribute_copy.c: where this lane has a chunk of its own put. */
struct dist_place dist_written_place(struct dist *d, kn_ref slot, int lds, uint32_t step);
kn_ref dist_load_lds(struct dist *d, struct dist_place at, uint32_t bytes);

/* distribute_copy.c: the low `valid` bits of dword k of v (-1: v is one), the rest zeros, NaNs
 * of a run as dist_row_nans() has them made FNUZ's. */
kn_ref dist_clip_dword(struct dist *d, const struct kn_lds *l, kn_ref v, int k, kn_ref valid);

/* distribute_copy.c: of a tile whose K is not innermost in memory. The first K row beyond the
 * end may share its first dword with the last, and no other. */
void dist_clip_rows(struct dist *d, kn_ref slot, kn_ref klen);

/* distribute_convert.c: K of the first element of piece j of this lane's run in a step. */
kn_ref dist_run_k(struct dist *d, const struct kn_lds *l, uint32_t step, uint32_t j);

/* Zeroes what of a share lies behind `klen`, if that is less than a K tile, as of the last
 * alone; awaited: its loads are under way, and nothing else waits for them here. */
void dist_cut_tail(struct dist *d, const struct dist_put *put, kn_ref klen, bool awaited);

/* Where a load of what is quantised, x[0], begins if it does before K element x[1], else
 * behind all records. Steps that are whole rows apart have K alike. */
kn_ref dist_cut_offset(struct dist *d, const struct dist_tile *v, uint32_t step,
                       const struct dist_load *load, const kn_ref x[2]);

#endif
