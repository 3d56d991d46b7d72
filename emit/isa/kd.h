/* kd.h - the 64-byte kernel descriptor and the metadata note, as the object
 * reader fills struct kn_object_kernel from them. Internal to kn_object. */
#ifndef KN_KD_H
#define KN_KD_H

#include "elfview.h"

enum { KN_KD_SIZE = 64, KN_KD_ENTRY = 16 /* offset of the entry offset */ };

/* Fills lds, scratch, kernarg_size, entry, rsrc*, properties, preload_*,
 * accum_offset, regs, and (until metadata says better) vgpr, agpr, sgpr.
 * k->kd_addr is set already; mach is e_flags & KN_EF_MACH. */
void kn_kd_decode(const uint8_t kd[KN_KD_SIZE], uint32_t mach,
                  struct kn_object_kernel *k);

/* A kernel as the metadata states it. */
struct kn_meta_kernel {
    const char *symbol;      /* with ".kd" */
    struct kn_object_kernel k;
};

/* Kernels of the metadata note, in its order; zero of them without a note. */
kiln_status kn_meta_read(const struct kn_elf *e, struct kn_meta_kernel **out,
                         uint32_t *n);

/* o->formats: the literals of printf, "ID:N:SIZE...:TEXT" each. */
kiln_status kn_meta_formats(const struct kn_elf *e, struct kn_object *o);

/* Copies the facts that only the metadata has from m into k, which
 * kn_kd_decode has filled. */
void kn_meta_apply(const struct kn_object_kernel *m,
                   struct kn_object_kernel *k);

#endif
