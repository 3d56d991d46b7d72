/* link.h - what link.c collects from the relocatable object and link_write.c
 * lays out. Internal to kn_object. */
#ifndef KN_LINK_H
#define KN_LINK_H

#include "elfview.h"

enum { KN_PAGE = 4096 };

/* X(id, name, sh_type, sh_flags, sh_entsize), in file order. */
#define KN_OUT_SECTIONS(X) \
    X(NOTE, ".note", SHT_NOTE, SHF_ALLOC, 0) \
    X(DYNSYM, ".dynsym", SHT_DYNSYM, SHF_ALLOC, 24) \
    X(GNU_HASH, ".gnu.hash", SHT_GNU_HASH, SHF_ALLOC, 0) \
    X(HASH, ".hash", SHT_HASH, SHF_ALLOC, 4) \
    X(DYNSTR, ".dynstr", SHT_STRTAB, SHF_ALLOC, 0) \
    X(RODATA, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0) \
    X(TEXT, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0) \
    X(DYNAMIC, ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 16) \
    X(SYMTAB, ".symtab", SHT_SYMTAB, 0, 24) \
    X(SHSTRTAB, ".shstrtab", SHT_STRTAB, 0, 0) \
    X(STRTAB, ".strtab", SHT_STRTAB, 0, 0)

enum {
    KN_S_NULL,
#define X(id, name, type, flags, entsize) KN_S_##id,
    KN_OUT_SECTIONS(X)
#undef X
    KN_NSECTIONS
};

struct kn_out_symbol {
    const char *name;
    Elf64_Sym s;             /* st_value is an offset until written */
    uint32_t hash;           /* GNU */
};

struct kn_linker {
    const struct kn_elf *e;
    struct kn_ctx *c;
    struct kn_elf_syms in;
    uint32_t src[KN_NSECTIONS]; /* input section of NOTE, RODATA, TEXT */
    uint32_t nlocal, nsym;   /* of sym[]; locals first */
    struct kn_out_symbol *sym;
    uint32_t ndyn;           /* of dyn[], without the null symbol */
    struct kn_out_symbol *dyn;
    uint32_t nbucket, nmask; /* of .gnu.hash */
    uint64_t *entry;         /* per input symbol: kd's target in .text + 1 */
    Elf64_Shdr sh[KN_NSECTIONS];
    uint64_t off, addr, shoff;
    uint8_t *out;
    size_t size;
};

extern const char *const kn_out_name[KN_NSECTIONS];

/* Lays out and writes the code object into l->out, l->size. */
void kn_link_write(struct kn_linker *l);

#endif
