/* loadtime.h - what a code object leaves to its loader. Internal to
 * kn_object. */
#ifndef KN_LOADTIME_H
#define KN_LOADTIME_H

#include "elfview.h"

/* o->relocs: R_AMDGPU_RELATIVE64, and R_AMDGPU_ABS64 of a symbol of the file.
 * Any other relocation for load time is UNSUPPORTED; o->segments are read. */
kiln_status kn_elf_relocations(const struct kn_elf *e, struct kn_object *o);

/* o->variables, from the dynamic symbols; kernel descriptors are none. */
kiln_status kn_elf_variables(const struct kn_elf *e, struct kn_object *o);

#endif
