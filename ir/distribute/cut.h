/* cut.h - K tails of what is quantised on its way (distribute_cut.c). */
#ifndef KN_DISTRIBUTE_CUT_H
#define KN_DISTRIBUTE_CUT_H

#include "distribute.h"

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
