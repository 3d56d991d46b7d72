/* link.c - the in-process linker: ET_REL -> loadable ET_DYN.
 *
 * Takes what kiln and LLVM make for self-contained kernels: one .text, one
 * .rodata of kernel descriptors, one metadata note, one relocation per
 * descriptor. Section order, addresses, symbols and hash tables are those
 * ld.lld gives the same object. What a real loader wants of the file: a
 * .symtab (ROCr reads that one), a .dynsym with the functions (HIP), segments
 * in ascending order, and the section table as the end of the file (HIP
 * derives the size of the image from it). Sections that are not loaded
 * (comments, debug information) are dropped. */
#include <string.h>

#include "link.h"

#define REFUSE(l, fmt, ...) \
    kn_fail((l)->c, KILN_UNSUPPORTED, "%s: cannot link: " fmt, \
            (l)->e->name, __VA_ARGS__)

/* The output section an input section becomes, 0: dropped, -1: none. */
static int
classify(const struct kn_linker *l, uint32_t i)
{
    static const int takes[] = { KN_S_NOTE, KN_S_RODATA, KN_S_TEXT };
    const Elf64_Shdr *s = &l->e->sh[i];
    const char *name = kn_elf_section_name(l->e, i);

    if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size)
        return 0;
    for (unsigned k = 0; k < sizeof takes / sizeof *takes; k++) {
        const Elf64_Shdr *o = &l->sh[takes[k]];

        if (!strcmp(name, kn_out_name[takes[k]]) && s->sh_type == o->sh_type &&
            s->sh_flags == o->sh_flags)
            return takes[k];
    }
    return -1;
}

static kiln_status
take_section(struct kn_linker *l, uint32_t i)
{
    const Elf64_Shdr *s = &l->e->sh[i];
    const char *name = kn_elf_section_name(l->e, i);
    int to = classify(l, i);

    if (to < 0)
        return REFUSE(l, "section %s is none of .text, .rodata and .note",
                      name);
    if (s->sh_type == SHT_GROUP || s->sh_type == SHT_SYMTAB_SHNDX)
        return REFUSE(l, "section %s (groups and extended indices are not "
                      "read)", name);
    if (!to)
        return KILN_OK;
    if (l->src[to])
        return REFUSE(l, "two sections %s", name);
    if (!s->sh_addralign || (s->sh_addralign & (s->sh_addralign - 1)) ||
        s->sh_addralign > KN_PAGE)
        return REFUSE(l, "section %s is aligned to %llu", name,
                      (unsigned long long)s->sh_addralign);
    l->src[to] = i;
    return KILN_OK;
}

static kiln_status
take_sections(struct kn_linker *l)
{
    static const int needs[] = { KN_S_NOTE, KN_S_RODATA, KN_S_TEXT };

    for (uint32_t i = 0; i < l->e->nsh; i++)
        KN_TRY(take_section(l, i));
    for (unsigned k = 0; k < sizeof needs / sizeof *needs; k++)
        if (!l->src[needs[k]])
            return REFUSE(l, "no section %s", kn_out_name[needs[k]]);
    return KILN_OK;
}

static bool
is_descriptor(const struct kn_linker *l, const struct kn_elf_sym *y)
{
    size_t n = strlen(y->name);

    return y->s.st_shndx == l->src[KN_S_RODATA] &&
           ELF64_ST_TYPE(y->s.st_info) == STT_OBJECT &&
           y->s.st_size == KN_KD_SIZE && n > 3 &&
           !strcmp(y->name + n - 3, ".kd");
}

/* The descriptor whose entry field is at this offset of .rodata. */
static int64_t
descriptor_at(const struct kn_linker *l, uint64_t offset)
{
    for (uint32_t i = 0; i < l->in.n; i++)
        if (is_descriptor(l, &l->in.sym[i]) &&
            l->in.sym[i].s.st_value + KN_KD_ENTRY == offset)
            return i;
    return -1;
}

static kiln_status
take_relocation(struct kn_linker *l, const Elf64_Rela *r)
{
    uint64_t type = ELF64_R_TYPE(r->r_info), y = ELF64_R_SYM(r->r_info);
    int64_t kd = descriptor_at(l, r->r_offset);
    uint64_t text = l->e->sh[l->src[KN_S_TEXT]].sh_size, target;

    if (type != KN_R_AMDGPU_REL64 || kd < 0)
        return REFUSE(l, "relocation of type %llu at .rodata+0x%llx is not "
                      "the entry of a kernel descriptor",
                      (unsigned long long)type,
                      (unsigned long long)r->r_offset);
    if (y >= l->in.n || l->in.sym[y].s.st_shndx != l->src[KN_S_TEXT])
        return REFUSE(l, "kernel descriptor %s does not point into .text",
                      l->in.sym[kd].name);
    /* REL64 is relative to the field, the field to the descriptor. */
    target = l->in.sym[y].s.st_value + (uint64_t)r->r_addend - KN_KD_ENTRY;
    if (target >= text)
        return REFUSE(l, "kernel descriptor %s points beyond .text",
                      l->in.sym[kd].name);
    if (l->entry[kd])
        return REFUSE(l, "kernel descriptor %s has two relocations",
                      l->in.sym[kd].name);
    l->entry[kd] = target + 1;
    return KILN_OK;
}

/* A table for another section than .rodata: tell what refers to what. */
static kiln_status
refuse_reference(struct kn_linker *l, const Elf64_Shdr *s)
{
    const char *to = "";
    Elf64_Rela r;

    memcpy(&r, l->e->p + s->sh_offset, sizeof r);
    if (ELF64_R_SYM(r.r_info) < l->in.n)
        to = l->in.sym[ELF64_R_SYM(r.r_info)].name;
    return REFUSE(l, "%s+0x%llx refers to %s by a relocation, which only "
                  "kernel descriptors may have",
                  kn_elf_section_name(l->e, s->sh_info),
                  (unsigned long long)r.r_offset,
                  *to ? to : "another section");
}

static kiln_status
take_rela(struct kn_linker *l, const Elf64_Shdr *s, uint32_t i)
{
    Elf64_Rela r;

    if (s->sh_type != SHT_RELA || s->sh_entsize != sizeof r ||
        s->sh_size % sizeof r || s->sh_link != l->in.section)
        return REFUSE(l, "%s is no plain relocation table",
                      kn_elf_section_name(l->e, i));
    if (s->sh_info != l->src[KN_S_RODATA])
        return refuse_reference(l, s);
    for (uint64_t k = 0; k < s->sh_size; k += sizeof r) {
        memcpy(&r, l->e->p + s->sh_offset + k, sizeof r);
        KN_TRY(take_relocation(l, &r));
    }
    return KILN_OK;
}

/* Types of relocation sections; CREL is LLVM's compact form. */
static bool
is_relocation(uint32_t type)
{
    return type == SHT_RELA || type == SHT_REL || type == 19 /* RELR */ ||
           type == 0x40000014 /* CREL */;
}

static kiln_status
take_relocations(struct kn_linker *l)
{
    l->entry = KN_NEW(l->c, uint64_t, l->in.n);
    for (uint32_t i = 0; i < l->e->nsh; i++) {
        const Elf64_Shdr *s = &l->e->sh[i];

        if (!is_relocation(s->sh_type) || !s->sh_size)
            continue;
        if (s->sh_info >= l->e->nsh)
            return REFUSE(l, "%s relocates no section",
                          kn_elf_section_name(l->e, i));
        if (l->e->sh[s->sh_info].sh_flags & SHF_ALLOC)
            KN_TRY(take_rela(l, s, i));
    }
    for (uint32_t i = 0; i < l->in.n; i++)
        if (is_descriptor(l, &l->in.sym[i]) && !l->entry[i])
            return REFUSE(l, "kernel descriptor %s has no relocation",
                          l->in.sym[i].name);
    return KILN_OK;
}

/* Output section index of an input symbol, 0 when its section is dropped. */
static uint16_t
map_section(const struct kn_linker *l, uint16_t shndx)
{
    if (shndx == SHN_ABS)
        return SHN_ABS;
    for (uint16_t k = 1; k < KN_NSECTIONS; k++)
        if (l->src[k] && l->src[k] == shndx)
            return k;
    return 0;
}

static kiln_status
check_symbol(const struct kn_linker *l, const struct kn_elf_sym *y)
{
    const Elf64_Sym *s = &y->s;
    uint16_t to = map_section(l, s->st_shndx);
    unsigned type = ELF64_ST_TYPE(s->st_info);

    if (ELF64_ST_BIND(s->st_info) != STB_LOCAL && !to)
        return REFUSE(l, "symbol %s is %s", y->name,
                      s->st_shndx == SHN_UNDEF ? "undefined"
                                               : "in no loaded section");
    if (type == STT_TLS || type == STT_GNU_IFUNC || type == STT_COMMON)
        return REFUSE(l, "symbol %s has type %u", y->name, type);
    if (to && to != SHN_ABS) {
        uint64_t n = l->e->sh[l->src[to]].sh_size;

        if (s->st_value > n || s->st_size > n - s->st_value)
            return REFUSE(l, "symbol %s reaches beyond its section",
                          y->name);
    }
    return KILN_OK;
}

/* ld.lld's classes: file locals, then hidden globals (made local), then the
 * exported ones. */
static int
symbol_class(const struct kn_linker *l, const Elf64_Sym *s)
{
    unsigned vis = ELF64_ST_VISIBILITY(s->st_other);

    if (ELF64_ST_BIND(s->st_info) == STB_LOCAL) {
        if (ELF64_ST_TYPE(s->st_info) == STT_SECTION ||
            !map_section(l, s->st_shndx))
            return -1;
        return 0;
    }
    return vis == STV_HIDDEN || vis == STV_INTERNAL ? 1 : 2;
}

static uint32_t
gnu_hash(const char *s)
{
    uint32_t h = 5381;

    while (*s)
        h = h * 33 + (unsigned char)*s++;
    return h;
}

static void
copy_class(struct kn_linker *l, int class)
{
    for (uint32_t i = 1; i < l->in.n; i++) {
        const struct kn_elf_sym *y = &l->in.sym[i];
        struct kn_out_symbol *o = &l->sym[l->nsym];

        if (symbol_class(l, &y->s) != class)
            continue;
        *o = (struct kn_out_symbol){ y->name, y->s, gnu_hash(y->name) };
        o->s.st_shndx = map_section(l, y->s.st_shndx);
        if (class == 1)
            o->s.st_info =
                ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(y->s.st_info));
        if (class == 2)
            l->dyn[l->ndyn++] = *o;
        l->nsym++;
    }
}

/* Symbols are taken in the order ld.lld writes them; index 0 is null. */
static kiln_status
take_symbols(struct kn_linker *l)
{
    for (uint32_t i = 1; i < l->in.n; i++)
        KN_TRY(check_symbol(l, &l->in.sym[i]));
    l->sym = KN_NEW(l->c, struct kn_out_symbol, (size_t)l->in.n + 2);
    l->dyn = KN_NEW(l->c, struct kn_out_symbol, (size_t)l->in.n + 1);
    l->sym[0].name = "";
    l->nsym = 1;
    copy_class(l, 0);
    copy_class(l, 1);
    l->sym[l->nsym++] = (struct kn_out_symbol){
        .name = "_DYNAMIC",
        .s = { .st_other = STV_HIDDEN, .st_shndx = KN_S_DYNAMIC },
    };
    l->nlocal = l->nsym;
    copy_class(l, 2);
    return KILN_OK;
}

static void
init_sections(struct kn_linker *l)
{
#define X(id, name, type, flags, entsize) \
    l->sh[KN_S_##id] = (Elf64_Shdr){ .sh_type = type, .sh_flags = flags, \
                                  .sh_entsize = entsize };
    KN_OUT_SECTIONS(X)
#undef X
}

kiln_status
kn_elf_link(const struct kn_elf *e, uint8_t **out, size_t *out_size)
{
    struct kn_linker l = { .e = e, .c = e->c };

    if (e->eh.e_type != ET_REL)
        return REFUSE(&l, "ELF type %u is not relocatable", e->eh.e_type);
    init_sections(&l);
    KN_TRY(take_sections(&l));
    KN_TRY(kn_elf_symbols(e, SHT_SYMTAB, &l.in));
    KN_TRY(take_symbols(&l));
    KN_TRY(take_relocations(&l));
    kn_link_write(&l);
    *out = l.out;
    *out_size = l.size;
    return KILN_OK;
}

kiln_status
kn_object_link(struct kn_ctx *c, const void *rel, size_t size, uint8_t **out,
               size_t *out_size)
{
    struct kn_elf e;

    KN_TRY(kn_elf_open(c, "object", rel, size, &e));
    return kn_elf_link(&e, out, out_size);
}
