/* pack_c.h - a bundle as one C file: code objects, how each is launched, and
 * the function that picks one. */
#ifndef KN_PACK_C_H
#define KN_PACK_C_H

#include "../../runtime/api/context.h"

struct kn_pack_kernel {
    const kiln_problem *p;   /* of the list's row: the m it was chosen for */
    const struct kn_config *config;
    const struct kn_key *key;
    const uint8_t *co;
    size_t size;
};

/* Names in the file begin with the file's own: lib.c has lib_find(). */
kiln_status kn_pack_c(struct kn_ctx *c, const char *path,
                      const struct kn_pack_kernel *k, size_t n);

#endif
