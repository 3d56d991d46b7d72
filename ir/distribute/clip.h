/* clip.h - K tails of tiles that are in LDS (distribute_clip.c). */
#ifndef KN_DISTRIBUTE_CLIP_H
#define KN_DISTRIBUTE_CLIP_H

#include "distribute.h"

/* distribute_copy.c: where this lane has a chunk of its own put. */
struct dist_place dist_written_place(struct dist *d, kn_ref slot, int lds, uint32_t step);
kn_ref dist_load_lds(struct dist *d, struct dist_place at, uint32_t bytes);

/* distribute_copy.c: of a tile whose K is not innermost in memory. The first K row beyond the
 * end may share its first dword with the last, and no other. */
void dist_clip_rows(struct dist *d, kn_ref slot, kn_ref klen);

#endif
