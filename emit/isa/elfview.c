/* elfview.c - bounds-checked view of an AMDGPU ELF64 file. */
#include "elfview.h"

#include <string.h>

static bool
in_file(const struct kn_elf *e, uint64_t off, uint64_t n)
{
    return off <= e->size && n <= e->size - off;
}

static kiln_status
check_ident(const struct kn_elf *e)
{
    const unsigned char *id = e->eh.e_ident;

    if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB)
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: not a 64-bit little-endian ELF file", e->name);
    if (e->eh.e_machine != EM_AMDGPU)
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: made for ELF machine %u, not for an AMD GPU",
                       e->name, e->eh.e_machine);
    if (id[EI_OSABI] != KN_ELFOSABI_AMDGPU_HSA)
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: OS ABI %u is not that of ROCm (64)", e->name,
                       id[EI_OSABI]);
    if (id[EI_ABIVERSION] < KN_ELFABI_V3 || id[EI_ABIVERSION] > KN_ELFABI_V6)
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: code object ABI byte %u is not one of V3 to V6",
                       e->name, id[EI_ABIVERSION]);
    if (e->eh.e_type != ET_REL && e->eh.e_type != ET_DYN)
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: ELF type %u is neither relocatable nor shared",
                       e->name, e->eh.e_type);
    return KILN_OK;
}

static kiln_status
read_header(struct kn_elf *e)
{
    if (kn_is_offload(e->p, e->size))
        return kn_fail(e->c, KILN_UNSUPPORTED,
                       "%s: an offload bundle, not a code object; extract one "
                       "with clang-offload-bundler", e->name);
    if (e->size < SELFMAG || memcmp(e->p, ELFMAG, SELFMAG))
        return kn_fail(e->c, KILN_BAD_INPUT, "%s: not an ELF file", e->name);
    if (e->size < sizeof e->eh)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: truncated: %zu bytes are less than an ELF header",
                       e->name, e->size);
    memcpy(&e->eh, e->p, sizeof e->eh);
    return check_ident(e);
}

static kiln_status
read_programs(struct kn_elf *e)
{
    uint64_t bytes = (uint64_t)e->eh.e_phnum * sizeof *e->ph;

    if (!e->eh.e_phnum)
        return KILN_OK;
    if (e->eh.e_phentsize != sizeof *e->ph ||
        !in_file(e, e->eh.e_phoff, bytes))
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: %u program headers at offset %llu do not fit in "
                       "%zu bytes", e->name, e->eh.e_phnum,
                       (unsigned long long)e->eh.e_phoff, e->size);
    e->nph = e->eh.e_phnum;
    e->ph = KN_NEW(e->c, Elf64_Phdr, e->nph);
    memcpy(e->ph, e->p + e->eh.e_phoff, bytes);
    return KILN_OK;
}

static kiln_status
check_section(const struct kn_elf *e, uint32_t i)
{
    const Elf64_Shdr *s = &e->sh[i];

    if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL &&
        !in_file(e, s->sh_offset, s->sh_size))
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: section %u reaches beyond the end of the file",
                       e->name, i);
    if (s->sh_type != SHT_NULL &&
        !kn_elf_str(e, e->eh.e_shstrndx, s->sh_name))
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: section %u has no readable name", e->name, i);
    return KILN_OK;
}

static kiln_status
read_sections(struct kn_elf *e)
{
    uint64_t bytes = (uint64_t)e->eh.e_shnum * sizeof *e->sh;

    if (!e->eh.e_shnum)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: no section table; ROCm does not load a stripped "
                       "code object either", e->name);
    if (e->eh.e_shentsize != sizeof *e->sh ||
        !in_file(e, e->eh.e_shoff, bytes))
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: %u section headers at offset %llu do not fit in "
                       "%zu bytes", e->name, e->eh.e_shnum,
                       (unsigned long long)e->eh.e_shoff, e->size);
    e->nsh = e->eh.e_shnum;
    e->sh = KN_NEW(e->c, Elf64_Shdr, e->nsh);
    memcpy(e->sh, e->p + e->eh.e_shoff, bytes);
    for (uint32_t i = 0; i < e->nsh; i++)
        KN_TRY(check_section(e, i));
    return KILN_OK;
}

kiln_status
kn_elf_open(struct kn_ctx *c, const char *name, const void *bytes,
            size_t size, struct kn_elf *e)
{
    memset(e, 0, sizeof *e);
    e->c = c;
    e->name = name ? name : "code object";
    e->p = bytes;
    e->size = size;
    KN_TRY(read_header(e));
    KN_TRY(read_programs(e));
    return read_sections(e);
}

const char *
kn_elf_str(const struct kn_elf *e, uint32_t strtab, uint64_t off)
{
    const Elf64_Shdr *s;

    if (strtab >= e->nsh)
        return NULL;
    s = &e->sh[strtab];
    if (s->sh_type != SHT_STRTAB || !in_file(e, s->sh_offset, s->sh_size) ||
        off >= s->sh_size ||
        !memchr(e->p + s->sh_offset + off, 0, s->sh_size - off))
        return NULL;
    return (const char *)e->p + s->sh_offset + off;
}

const char *
kn_elf_section_name(const struct kn_elf *e, uint32_t i)
{
    const char *s = kn_elf_str(e, e->eh.e_shstrndx, e->sh[i].sh_name);

    return s ? s : "";
}

static kiln_status
read_symbols(const struct kn_elf *e, const Elf64_Shdr *s,
             struct kn_elf_syms *out)
{
    if (s->sh_entsize != sizeof(Elf64_Sym) ||
        s->sh_size % sizeof(Elf64_Sym))
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: symbol table of %llu-byte entries", e->name,
                       (unsigned long long)s->sh_entsize);
    out->n = (uint32_t)(s->sh_size / sizeof(Elf64_Sym));
    out->sym = KN_NEW(e->c, struct kn_elf_sym, out->n);
    for (uint32_t i = 0; i < out->n; i++) {
        struct kn_elf_sym *y = &out->sym[i];

        memcpy(&y->s, e->p + s->sh_offset + i * sizeof y->s, sizeof y->s);
        y->name = kn_elf_str(e, s->sh_link, y->s.st_name);
        if (!y->name)
            return kn_fail(e->c, KILN_BAD_INPUT,
                           "%s: symbol %u has no readable name", e->name, i);
    }
    return KILN_OK;
}

kiln_status
kn_elf_symbols(const struct kn_elf *e, uint32_t type, struct kn_elf_syms *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < e->nsh; i++)
        if (e->sh[i].sh_type == type) {
            out->section = i;
            return read_symbols(e, &e->sh[i], out);
        }
    return KILN_OK;
}

/* Walks one SHT_NOTE section: namesz, descsz, type, name, descriptor, the
 * latter two padded to 4 bytes (AMDGPUUsage, "Note Records"). */
static kiln_status
scan_notes(const struct kn_elf *e, const Elf64_Shdr *s, const uint8_t **p,
           size_t *n)
{
    const uint8_t *q = e->p + s->sh_offset;
    uint64_t left = s->sh_size;

    while (left >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        uint64_t name, desc;

        memcpy(&h, q, sizeof h);
        name = ((uint64_t)h.n_namesz + 3) & ~(uint64_t)3;
        desc = ((uint64_t)h.n_descsz + 3) & ~(uint64_t)3;
        left -= sizeof h;
        if (name > left || h.n_descsz > left - name)
            return kn_fail(e->c, KILN_BAD_INPUT,
                           "%s: note reaches beyond its section", e->name);
        if (h.n_type == KN_NT_AMDGPU_METADATA && h.n_namesz == 7 &&
            !memcmp(q + sizeof h, "AMDGPU", 7)) {
            *p = q + sizeof h + name;
            *n = h.n_descsz;
            return KILN_OK;
        }
        if (desc > left - name)
            desc = left - name;
        q += sizeof h + name + desc;
        left -= name + desc;
    }
    return KILN_OK;
}

kiln_status
kn_elf_metadata(const struct kn_elf *e, const uint8_t **p, size_t *n)
{
    *p = NULL;
    *n = 0;
    for (uint32_t i = 0; i < e->nsh && !*p; i++)
        if (e->sh[i].sh_type == SHT_NOTE)
            KN_TRY(scan_notes(e, &e->sh[i], p, n));
    return KILN_OK;
}
