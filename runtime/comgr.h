/* comgr.h - AMD's code object manager, opened at run time if there is one:
 * no header of it is needed, versions 2.x and 3.x differ in enum values and
 * are told apart here. Queries (symbols, metadata, ISA name) and, on request,
 * linking. */
#ifndef KN_COMGR_H
#define KN_COMGR_H

#include "../ir/base.h"

struct kn_comgr;

struct kn_comgr_version {
    unsigned major, minor;
};

struct kn_comgr_symbol {
    const char *name;
    int type;                /* ELF symbol type: 1 object, 2 function */
    uint64_t size, value;
};

struct kn_comgr_symbols {
    size_t n;
    struct kn_comgr_symbol *sym;
};

/* Opens `path`, or the first of libamd_comgr.so.{3,2} when NULL. UNSUPPORTED
 * with a sentence when there is none or it lacks a function. *out lives in
 * c's arena, the library as long as the process. */
kiln_status kn_comgr_open(struct kn_ctx *c, const char *path,
                          struct kn_comgr **out);

struct kn_comgr_version kn_comgr_version(const struct kn_comgr *g);

/* Does this comgr know the target? Older ones link objects of targets they
 * do not know (the action looks at the object), but answer no query on them. */
bool kn_comgr_knows(const struct kn_comgr *g, kiln_target t);

/* Number of the action "link relocatable to executable" of a major version,
 * -1 for a version whose numbers are not known. */
int kn_comgr_link_action(unsigned major);

/* Links a relocatable object to a code object in c's arena. The log of a
 * refusing comgr is in the error. Actions run alone (ir/lock.h). */
kiln_status kn_comgr_link(struct kn_comgr *g, struct kn_ctx *c,
                          kiln_target t, struct kn_bytes rel,
                          struct kn_bytes *out);

/* Symbols of a code object; for an executable those of .dynsym. */
kiln_status kn_comgr_symbols(struct kn_comgr *g, struct kn_ctx *c,
                             struct kn_bytes co,
                             struct kn_comgr_symbols *out);

/* The metadata flattened to lines "amdhsa.kernels[0].name = gemm", maps in
 * comgr's order, lists by index. */
kiln_status kn_comgr_metadata(struct kn_comgr *g, struct kn_ctx *c,
                              struct kn_bytes co, struct kn_buf *out);

/* A target's name as comgr lists it, NULL: it does not know the target. */
const char *kn_comgr_target(const struct kn_comgr *g, kiln_target t);

/* "amdgcn-amd-amdhsa--gfx950", perhaps with ":sramecc+" behind it, from comgr
 * or, when it does not know the target, from the ELF header: then by_flags.
 * "" for another target. */
struct kn_comgr_isa {
    const char *name;
    bool by_flags;
};
kiln_status kn_comgr_isa_name(struct kn_comgr *g, struct kn_ctx *c,
                              struct kn_bytes co, struct kn_comgr_isa *out);

/* Can this comgr look for the target's code in an offload bundle? Not before
 * interface 2.3, nor for a target it does not know. */
bool kn_comgr_picks(const struct kn_comgr *g, kiln_target t);

/* The code object for a target in an offload bundle; p NULL: it has none. */
kiln_status kn_comgr_pick(struct kn_comgr *g, struct kn_ctx *c, kiln_target t,
                          struct kn_bytes bundle, struct kn_bytes *out);

#endif
