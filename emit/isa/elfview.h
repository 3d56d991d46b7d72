/* elfview.h - bounds-checked view of an AMDGPU ELF64 file, shared by the object
 * reader and the linker. Internal to kn_object. */
#ifndef KN_ELFVIEW_H
#define KN_ELFVIEW_H

#include <elf.h>

#include "object.h"

/* Values <elf.h> of glibc 2.36 does not have (LLVM AMDGPUUsage, "ELF"). */
enum {
    KN_ELFOSABI_AMDGPU_HSA = 64,
    KN_ELFABI_V3 = 1, KN_ELFABI_V4 = 2, KN_ELFABI_V6 = 4,
    KN_EF_MACH = 0xff, KN_MACH_GFX90A = 0x3f,
    KN_NT_AMDGPU_METADATA = 32,
    KN_R_AMDGPU_REL64 = 5
};

struct kn_elf {
    struct kn_ctx *c;
    const char *name;        /* of the file, for messages */
    const uint8_t *p;
    size_t size;
    Elf64_Ehdr eh;
    uint32_t nsh, nph;
    Elf64_Shdr *sh;          /* copies: the file may be unaligned */
    Elf64_Phdr *ph;
};

struct kn_elf_sym {
    const char *name;
    Elf64_Sym s;
};

struct kn_elf_syms {
    uint32_t n, section;     /* section: header index of the table */
    struct kn_elf_sym *sym;
};

/* Header, section and program header tables; every section with file bytes
 * lies inside the file, and section names are readable. */
kiln_status kn_elf_open(struct kn_ctx *c, const char *name, const void *bytes,
                        size_t size, struct kn_elf *e);

/* NULL when the string is out of bounds or not terminated. */
const char *kn_elf_str(const struct kn_elf *e, uint32_t strtab, uint64_t off);
const char *kn_elf_section_name(const struct kn_elf *e, uint32_t i);

/* Symbols of the first section of this type (SHT_SYMTAB, SHT_DYNSYM); none
 * is an empty table. */
kiln_status kn_elf_symbols(const struct kn_elf *e, uint32_t type,
                           struct kn_elf_syms *out);

/* Descriptor of the NT_AMDGPU_METADATA note; *n 0 when the file has none. */
kiln_status kn_elf_metadata(const struct kn_elf *e, const uint8_t **p,
                            size_t *n);

/* Links an opened ET_REL; see kn_object_link. */
kiln_status kn_elf_link(const struct kn_elf *e, uint8_t **out,
                        size_t *out_size);

/* A section no loader looks at. */
struct kn_section {
    const char *name;
    const void *p;
    size_t n;
};

/* stamp.c - puts sections behind those of a linked code object. */
kiln_status kn_elf_append(struct kn_ctx *c, const struct kn_section *s,
                          size_t n, uint8_t **co, size_t *size);

/* kd.c, meta.c - the 64-byte kernel descriptor and the metadata note, as the object
 * reader fills struct kn_object_kernel from them. Internal to kn_object. */

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

/* loadtime.c - what a code object leaves to its loader. Internal to
 * kn_object. */

/* o->relocs: R_AMDGPU_RELATIVE64, and R_AMDGPU_ABS64 of a symbol of the file.
 * Any other relocation for load time is UNSUPPORTED; o->segments are read. */
kiln_status kn_elf_relocations(const struct kn_elf *e, struct kn_object *o);

/* o->variables, from the dynamic symbols; kernel descriptors are none. */
kiln_status kn_elf_variables(const struct kn_elf *e, struct kn_object *o);

#endif
