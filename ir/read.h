/* read.h - how a wave reads one fragment of an LDS tile: the parts of a
 * fragment, and where each lane's part lies. Shared by the distribution (which
 * emits the address arithmetic) and the bank model (which evaluates it).
 *
 * Lane l holds outer index l % 16 and the K range of quarter q = l / 16
 * (CDNA3 ISA 7.1, CDNA4 ISA 7.1; docs/hardware.md 2.1). Byte positions:
 *   K-contiguous tile   row = outer,  column = kk*kstep + part + q*qstep
 *   K-outer tile        row = K,      column = outer (transposing read) */
#ifndef KN_READ_H
#define KN_READ_H

#include "ir.h"

struct kn_readplan {
    uint32_t parts;          /* reads per fragment */
    uint32_t bytes;          /* bytes per lane and read */
    uint32_t tr;             /* element bits of a transposing read, 0: plain */
    uint32_t kstep;          /* columns (bytes) or rows (K) per fragment */
    uint32_t qstep;          /* the same per quarter */
    uint32_t pstep[4];       /* the same per part */
};

struct kn_readplan kn_readplan(const struct kn_fn *f, const struct kn_lds *l);

#endif
