/* loadtime.c - relocations that a loader applies, variables a host can name. */
#include <string.h>

#include "elfview.h"

/* LLVM AMDGPUUsage, "Relocation Records". */
enum { R_ABS64 = 3, R_RELATIVE64 = 13 };

static bool
in_one_segment(const struct kn_object *o, uint64_t addr, uint64_t n)
{
    for (uint32_t i = 0; i < o->nsegments; i++) {
        const struct kn_segment *s = &o->segments[i];

        if (addr >= s->addr && addr - s->addr <= s->size &&
            n <= s->size - (addr - s->addr))
            return true;
    }
    return false;
}

static kiln_status
symbol_value(const struct kn_elf *e, const struct kn_elf_syms *syms,
             uint64_t i, uint64_t *value)
{
    const struct kn_elf_sym *y = i < syms->n ? &syms->sym[i] : NULL;

    if (!y)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: a relocation names symbol %llu of %u", e->name,
                       (unsigned long long)i, syms->n);
    if (y->s.st_shndx == SHN_UNDEF)
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: %s is defined in no code object", e->name,
                       y->name);
    *value = y->s.st_value;
    return KILN_OK;
}

static kiln_status
add_relocation(const struct kn_elf *e, const struct kn_elf_syms *syms,
               const Elf64_Rela *r, struct kn_object *o)
{
    uint64_t type = ELF64_R_TYPE(r->r_info), value = 0;

    if (type != R_ABS64 && type != R_RELATIVE64)
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: a relocation of type %llu for load time, which "
                       "kiln does not apply", e->name,
                       (unsigned long long)type);
    if (type == R_ABS64)
        KN_TRY(symbol_value(e, syms, ELF64_R_SYM(r->r_info), &value));
    if (!in_one_segment(o, r->r_offset, 8))
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: the relocation at 0x%llx is in no segment",
                       e->name, (unsigned long long)r->r_offset);
    o->relocs[o->nrelocs++] = (struct kn_reloc){
        r->r_offset, value + (uint64_t)r->r_addend };
    return KILN_OK;
}

static kiln_status
add_table(const struct kn_elf *e, const struct kn_elf_syms *syms, uint32_t i,
          struct kn_object *o)
{
    const Elf64_Shdr *s = &e->sh[i];
    struct kn_reloc *old = o->relocs;
    uint64_t n = s->sh_size / sizeof(Elf64_Rela);

    if (s->sh_type != SHT_RELA || s->sh_entsize != sizeof(Elf64_Rela))
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: %s holds relocations that are no Elf64_Rela",
                       e->name, kn_elf_section_name(e, i));
    o->relocs = KN_NEW(e->c, struct kn_reloc, o->nrelocs + n);
    if (o->nrelocs)
        memcpy(o->relocs, old, o->nrelocs * sizeof *old);
    for (uint64_t k = 0; k < n; k++) {
        Elf64_Rela r;

        memcpy(&r, e->p + s->sh_offset + k * sizeof r, sizeof r);
        KN_TRY(add_relocation(e, syms, &r, o));
    }
    return KILN_OK;
}

kiln_status
kn_elf_relocations(const struct kn_elf *e, struct kn_object *o)
{
    struct kn_elf_syms syms;

    KN_TRY(kn_elf_symbols(e, SHT_DYNSYM, &syms));
    for (uint32_t i = 0; i < e->nsh; i++) {
        const Elf64_Shdr *s = &e->sh[i];

        if ((s->sh_type == SHT_RELA || s->sh_type == SHT_REL) &&
            (s->sh_flags & SHF_ALLOC) && s->sh_size)
            KN_TRY(add_table(e, &syms, i, o));
    }
    return KILN_OK;
}

static bool
is_variable(const struct kn_object *o, const struct kn_elf_sym *y)
{
    size_t n = strlen(y->name);

    return ELF64_ST_TYPE(y->s.st_info) == STT_OBJECT && y->s.st_size &&
           y->s.st_shndx != SHN_UNDEF &&
           !(n > 3 && !strcmp(y->name + n - 3, ".kd")) &&
           in_one_segment(o, y->s.st_value, y->s.st_size);
}

kiln_status
kn_elf_variables(const struct kn_elf *e, struct kn_object *o)
{
    struct kn_elf_syms syms;

    KN_TRY(kn_elf_symbols(e, SHT_DYNSYM, &syms));
    o->variables = KN_NEW(e->c, struct kn_variable, syms.n);
    for (uint32_t i = 0; i < syms.n; i++)
        if (is_variable(o, &syms.sym[i]))
            o->variables[o->nvariables++] = (struct kn_variable){
                syms.sym[i].name, syms.sym[i].s.st_value,
                syms.sym[i].s.st_size };
    return KILN_OK;
}
