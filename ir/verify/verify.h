/* verify.h - the parts of the verifier (verify.c says what it is for). */
#ifndef KN_VERIFY_H
#define KN_VERIFY_H

#include "../ir.h"

#define FAIL(f, at, ...) kn_fail_at((f)->c, KILN_BAD_INPUT, at, __VA_ARGS__)

/* verify_declared.c: the shape of the kernel and its LDS tiles. */
kiln_status kn_verify_declarations(const struct kn_fn *f);

/* verify_types.c: widths and types one operation allows, beyond the letters of
 * ops.def. */
kiln_status kn_verify_types(const struct kn_fn *f, const struct kn_ins *i);

/* verify_tiles.c: every tile and view is of one kind, used as that kind. */
kiln_status kn_verify_tiles(const struct kn_fn *f);

#endif
