/* check_object.h - `kilnc check FILE.co`. */
#ifndef KN_CHECK_OBJECT_H
#define KN_CHECK_OBJECT_H

#include "../cmd.h"

/* Checks every kernel of a code object, with FILE.co.cert if it is there.
 * FINDING: something is wrong; UNSUPPORTED: undecided. */
kiln_status kn_check_object(struct kn_tool *t, const char *path,
                            const uint8_t *bytes, size_t size);

/* `kilnc check FILE.kpk`: digests, then every kernel of the bundle. */
kiln_status kn_check_bundle(struct kn_tool *t, const char *path);

#endif
