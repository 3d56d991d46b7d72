/* offload.h - clang's offload bundle: code objects of one program, one a
 * target, each under an id like "hipv4-amdgcn-amd-amdhsa--gfx950:xnack-". */
#ifndef KN_OFFLOAD_H
#define KN_OFFLOAD_H

#include "../../ir/base.h"

bool kn_is_offload(const void *p, size_t n);

/* The code object for a target in a bundle of at most `most` bytes, NULL:
 * it has none. SIZE_MAX: who calls vouches for the bytes. */
const uint8_t *kn_offload_find(kiln_target t, const void *bundle, size_t most,
                               size_t *size);

#endif
