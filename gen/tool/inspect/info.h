/* info.h - the facts of a code object for `kilnc info`. */
#ifndef KN_INFO_H
#define KN_INFO_H

#include "input.h"

/* How many waves of a kernel fit, and what stops more. */
struct kn_occupancy {
    uint32_t waves_per_simd; /* 0: does not fit at all */
    uint32_t workgroups_per_cu;
    const char *limit;       /* "registers", "LDS" or "wave slots" */
};

/* For workgroups of k->max_workgroup work-items (256 if it says none) and
 * `dynamic_lds` bytes beside the kernel's own. */
struct kn_occupancy kn_occupancy_of(kiln_target t,
                                    const struct kn_object_kernel *k,
                                    uint32_t dynamic_lds);

/* Appends the facts of the object, as text or as one JSON object: target,
 * kernels, arguments, registers, memory, occupancy, code, loops and their
 * instructions. Code of a target that cannot be decoded is left out. Errors
 * go to out->c. */
kiln_status kn_info_print(const char *name, const void *bytes, size_t size,
                          bool json, struct kn_buf *out);

/* The same of a subject that was read, with the places its certificate gives
 * the instructions. */
kiln_status kn_info_subject(struct kn_subject *s, bool json,
                            struct kn_buf *out);

#endif
