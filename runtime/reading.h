/* reading.h - what a code object says of itself before a GPU gets it: by
 * comgr where the system has one, and by kiln's own reader, which must agree.
 * Where there is no comgr kiln's own reader is alone. */
#ifndef KN_READING_H
#define KN_READING_H

#include "comgr.h"

/* NAME(field, key of the metadata): numbers that both readers take from the
 * metadata as they stand. */
#define KN_READ_NUMBERS(NAME)                                                 \
    NAME(vgpr, "vgpr_count")                                                  \
    NAME(agpr, "agpr_count")                                                  \
    NAME(sgpr, "sgpr_count")                                                  \
    NAME(max_workgroup, "max_flat_workgroup_size")

struct kn_read_kernel {
    const char *name;
    uint64_t kd;             /* address of its descriptor */
    uint32_t kernarg;        /* bytes; at least what the arguments take */
#define NAME(field, key) uint32_t field;
    KN_READ_NUMBERS(NAME)
#undef NAME
};

struct kn_reading {
    const char *by;          /* "comgr 2.4" or "kiln" */
    const char *isa;         /* "amdgcn-amd-amdhsa--gfx950" */
    const char *isa_by;      /* "comgr 3.0" or "ELF flags" */
    uint32_t n;
    struct kn_read_kernel *kernels;
};

/* The readers of one device. */
struct kn_reader {
    struct kn_comgr *comgr;  /* NULL: there is none */
    char name[32];           /* "comgr 2.4" or "kiln" */
};

/* library: as kn_comgr_open's path. Having no comgr is no error. c's arena
 * holds the readers. */
kiln_status kn_reader_open(struct kn_ctx *c, const char *library,
                           struct kn_reader *out);

/* One reader's word. g NULL: kiln's own. A relocatable object is not read. */
kiln_status kn_reading_take(struct kn_ctx *c, struct kn_comgr *g,
                            struct kn_bytes co, struct kn_reading *out);

/* BAD_INPUT that names what `theirs` has otherwise than kiln's `own`. */
kiln_status kn_reading_compare(struct kn_ctx *c,
                               const struct kn_reading *theirs,
                               const struct kn_reading *own);

/* What a device of the target is to load: of an offload bundle the code
 * object for it, else the bytes themselves. Refused: code for another ISA, a
 * kernel that is not in it, readers that disagree. */
struct kn_wanted {
    kiln_target target;
    const char *kernel;
};
kiln_status kn_reader_select(struct kn_reader *r, struct kn_ctx *c,
                             const struct kn_wanted *want,
                             struct kn_bytes in, struct kn_bytes *out);

#endif
