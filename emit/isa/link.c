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
#include <stdlib.h>
#include <string.h>

#include "kd.h"

enum { PAGE = 4096, NPH = 8 };

/* X(id, name, sh_type, sh_flags, sh_entsize), in file order. */
#define OUT_SECTIONS(X) \
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
    S_NULL,
#define X(id, name, type, flags, entsize) S_##id,
    OUT_SECTIONS(X)
#undef X
    NSECTIONS
};

struct out_symbol {
    const char *name;
    Elf64_Sym s;             /* st_value is an offset until finish_symbols */
    uint32_t hash;           /* GNU */
};

struct linker {
    const struct kn_elf *e;
    struct kn_ctx *c;
    struct kn_elf_syms in;
    uint32_t src[NSECTIONS]; /* input section of NOTE, RODATA, TEXT */
    uint32_t nlocal, nsym;   /* of sym[]; locals first */
    struct out_symbol *sym;
    uint32_t ndyn;           /* of dyn[], without the null symbol */
    struct out_symbol *dyn;
    uint32_t nbucket, nmask; /* of .gnu.hash */
    uint64_t *entry;         /* per input symbol: kd's target in .text + 1 */
    Elf64_Shdr sh[NSECTIONS];
    uint64_t off, addr, shoff;
    uint8_t *out;
    size_t size;
};

static const char *const out_name[NSECTIONS] = {
    "",
#define X(id, name, type, flags, entsize) name,
    OUT_SECTIONS(X)
#undef X
};

#define REFUSE(l, fmt, ...) \
    kn_fail((l)->c, KILN_UNSUPPORTED, "%s: cannot link: " fmt, \
            (l)->e->name, __VA_ARGS__)

/* The output section an input section becomes, 0: dropped, -1: none. */
static int
classify(const struct linker *l, uint32_t i)
{
    static const int takes[] = { S_NOTE, S_RODATA, S_TEXT };
    const Elf64_Shdr *s = &l->e->sh[i];
    const char *name = kn_elf_section_name(l->e, i);

    if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size)
        return 0;
    for (unsigned k = 0; k < sizeof takes / sizeof *takes; k++) {
        const Elf64_Shdr *o = &l->sh[takes[k]];

        if (!strcmp(name, out_name[takes[k]]) && s->sh_type == o->sh_type &&
            s->sh_flags == o->sh_flags)
            return takes[k];
    }
    return -1;
}

static kiln_status
take_section(struct linker *l, uint32_t i)
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
        s->sh_addralign > PAGE)
        return REFUSE(l, "section %s is aligned to %llu", name,
                      (unsigned long long)s->sh_addralign);
    l->src[to] = i;
    return KILN_OK;
}

static kiln_status
take_sections(struct linker *l)
{
    static const int needs[] = { S_NOTE, S_RODATA, S_TEXT };

    for (uint32_t i = 0; i < l->e->nsh; i++)
        KN_TRY(take_section(l, i));
    for (unsigned k = 0; k < sizeof needs / sizeof *needs; k++)
        if (!l->src[needs[k]])
            return REFUSE(l, "no section %s", out_name[needs[k]]);
    return KILN_OK;
}

static bool
is_descriptor(const struct linker *l, const struct kn_elf_sym *y)
{
    size_t n = strlen(y->name);

    return y->s.st_shndx == l->src[S_RODATA] &&
           ELF64_ST_TYPE(y->s.st_info) == STT_OBJECT &&
           y->s.st_size == KN_KD_SIZE && n > 3 &&
           !strcmp(y->name + n - 3, ".kd");
}

/* The descriptor whose entry field is at this offset of .rodata. */
static int64_t
descriptor_at(const struct linker *l, uint64_t offset)
{
    for (uint32_t i = 0; i < l->in.n; i++)
        if (is_descriptor(l, &l->in.sym[i]) &&
            l->in.sym[i].s.st_value + KN_KD_ENTRY == offset)
            return i;
    return -1;
}

static kiln_status
take_relocation(struct linker *l, const Elf64_Rela *r)
{
    uint64_t type = ELF64_R_TYPE(r->r_info), y = ELF64_R_SYM(r->r_info);
    int64_t kd = descriptor_at(l, r->r_offset);
    uint64_t text = l->e->sh[l->src[S_TEXT]].sh_size, target;

    if (type != KN_R_AMDGPU_REL64 || kd < 0)
        return REFUSE(l, "relocation of type %llu at .rodata+0x%llx is not "
                      "the entry of a kernel descriptor",
                      (unsigned long long)type,
                      (unsigned long long)r->r_offset);
    if (y >= l->in.n || l->in.sym[y].s.st_shndx != l->src[S_TEXT])
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

static kiln_status
take_rela(struct linker *l, const Elf64_Shdr *s, uint32_t i)
{
    const char *name = kn_elf_section_name(l->e, i);
    Elf64_Rela r;

    if (s->sh_info != l->src[S_RODATA] || s->sh_type != SHT_RELA ||
        s->sh_entsize != sizeof r || s->sh_size % sizeof r ||
        s->sh_link != l->in.section)
        return REFUSE(l, "%s relocates more than kernel descriptors", name);
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
take_relocations(struct linker *l)
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
map_section(const struct linker *l, uint16_t shndx)
{
    if (shndx == SHN_ABS)
        return SHN_ABS;
    for (uint16_t k = 1; k < NSECTIONS; k++)
        if (l->src[k] && l->src[k] == shndx)
            return k;
    return 0;
}

static kiln_status
check_symbol(const struct linker *l, const struct kn_elf_sym *y)
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
symbol_class(const struct linker *l, const Elf64_Sym *s)
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

static uint32_t
sysv_hash(const char *s)
{
    uint32_t h = 0;

    while (*s) {
        h = (h << 4) + (unsigned char)*s++;
        h ^= h >> 24 & 0xf0;
        h &= 0x0fffffff;
    }
    return h;
}

static void
copy_class(struct linker *l, int class)
{
    for (uint32_t i = 1; i < l->in.n; i++) {
        const struct kn_elf_sym *y = &l->in.sym[i];
        struct out_symbol *o = &l->sym[l->nsym];

        if (symbol_class(l, &y->s) != class)
            continue;
        *o = (struct out_symbol){ y->name, y->s, gnu_hash(y->name) };
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
take_symbols(struct linker *l)
{
    for (uint32_t i = 1; i < l->in.n; i++)
        KN_TRY(check_symbol(l, &l->in.sym[i]));
    l->sym = KN_NEW(l->c, struct out_symbol, (size_t)l->in.n + 2);
    l->dyn = KN_NEW(l->c, struct out_symbol, (size_t)l->in.n + 1);
    l->sym[0].name = "";
    l->nsym = 1;
    copy_class(l, 0);
    l->sym[l->nsym++] = (struct out_symbol){
        .name = "_DYNAMIC",
        .s = { .st_other = STV_HIDDEN, .st_shndx = S_DYNAMIC },
    };
    copy_class(l, 1);
    l->nlocal = l->nsym;
    copy_class(l, 2);
    return KILN_OK;
}

static uint32_t
next_power_of_2(uint32_t n)
{
    uint32_t p = 1;

    while (p <= n)
        p *= 2;
    return p;
}

/* .gnu.hash wants its symbols grouped by bucket; insertion sort keeps the
 * order inside a bucket (ld.lld: load factor 4, 12 filter bits a symbol). */
static void
sort_dynamic(struct linker *l)
{
    l->nbucket = l->ndyn / 4 ? l->ndyn / 4 : 1;
    l->nmask = l->ndyn ? next_power_of_2(l->ndyn * 12 / 64) : 1;
    for (uint32_t i = 1; i < l->ndyn; i++) {
        struct out_symbol y = l->dyn[i];
        uint32_t k = i;

        while (k && l->dyn[k - 1].hash % l->nbucket > y.hash % l->nbucket) {
            l->dyn[k] = l->dyn[k - 1];
            k--;
        }
        l->dyn[k] = y;
    }
}

static uint64_t
align_up(uint64_t v, uint64_t a)
{
    return (v + a - 1) & ~(a - 1);
}

/* Puts a section at the next place; the first of a segment moves the address
 * to the next page and keeps it congruent to the offset. */
static void
place(struct linker *l, int s, uint64_t align, uint64_t size, bool new_page)
{
    Elf64_Shdr *h = &l->sh[s];

    h->sh_size = size;
    h->sh_addralign = align;
    if (!(h->sh_flags & SHF_ALLOC)) {
        h->sh_offset = align_up(l->off, align);
        l->off = h->sh_offset + size;
        return;
    }
    if (new_page)
        l->addr = align_up(l->addr, PAGE) + l->addr % PAGE;
    h->sh_addr = align_up(l->addr, align);
    h->sh_offset = l->off + (h->sh_addr - l->off) % PAGE;
    l->addr = h->sh_addr + size;
    l->off = h->sh_offset + size;
}

static void
place_source(struct linker *l, int s, bool new_page)
{
    const Elf64_Shdr *in = &l->e->sh[l->src[s]];

    place(l, s, in->sh_addralign, in->sh_size, new_page);
}

static uint64_t
names_size(const struct out_symbol *y, uint32_t n)
{
    uint64_t size = 1;

    for (uint32_t i = 0; i < n; i++)
        size += *y[i].name ? strlen(y[i].name) + 1 : 0;
    return size;
}

static void
lay_out(struct linker *l)
{
    uint64_t n = l->ndyn, names = 1;

    for (int i = 1; i < NSECTIONS; i++)
        names += strlen(out_name[i]) + 1;
    l->off = l->addr = sizeof(Elf64_Ehdr) + NPH * sizeof(Elf64_Phdr);
    place_source(l, S_NOTE, false);
    place(l, S_DYNSYM, 8, (n + 1) * sizeof(Elf64_Sym), false);
    place(l, S_GNU_HASH, 8, 16 + 8ull * l->nmask + 4ull * l->nbucket + 4 * n,
          false);
    place(l, S_HASH, 4, (2 + 2 * (n + 1)) * 4, false);
    place(l, S_DYNSTR, 1, names_size(l->dyn, l->ndyn), false);
    place_source(l, S_RODATA, false);
    place_source(l, S_TEXT, true);
    place(l, S_DYNAMIC, 8, 7 * sizeof(Elf64_Dyn), true);
    place(l, S_SYMTAB, 8, (uint64_t)l->nsym * sizeof(Elf64_Sym), false);
    place(l, S_SHSTRTAB, 1, names, false);
    place(l, S_STRTAB, 1, names_size(l->sym, l->nsym), false);
    l->shoff = align_up(l->off, 8);
    l->size = l->shoff + sizeof l->sh;
    l->sh[S_DYNSYM].sh_link = l->sh[S_DYNAMIC].sh_link = S_DYNSTR;
    l->sh[S_GNU_HASH].sh_link = l->sh[S_HASH].sh_link = S_DYNSYM;
    l->sh[S_DYNSYM].sh_info = 1;
    l->sh[S_SYMTAB].sh_link = S_STRTAB;
    l->sh[S_SYMTAB].sh_info = l->nlocal;
}

static void
put(struct linker *l, int s, uint64_t at, const void *p, size_t n)
{
    memcpy(l->out + l->sh[s].sh_offset + at, p, n);
}

static void
put32(struct linker *l, int s, uint64_t index, uint32_t v)
{
    put(l, s, index * sizeof v, &v, sizeof v);
}

static uint32_t
get32(const struct linker *l, int s, uint64_t index)
{
    uint32_t v;

    memcpy(&v, l->out + l->sh[s].sh_offset + index * sizeof v, sizeof v);
    return v;
}

/* Writes symbols [0, n) from index `first` of table s with names in str. */
static void
write_symbols(struct linker *l, int s, int str, struct out_symbol *y,
              uint32_t n)
{
    uint64_t at = 1, first = s == S_DYNSYM;

    for (uint32_t i = 0; i < n; i++) {
        Elf64_Sym z = y[i].s;
        size_t len = strlen(y[i].name);

        z.st_name = 0;
        if (len) {
            z.st_name = (uint32_t)at;
            put(l, str, at, y[i].name, len + 1);
            at += len + 1;
        }
        if (z.st_shndx && z.st_shndx < NSECTIONS)
            z.st_value += l->sh[z.st_shndx].sh_addr;
        put(l, s, (first + i) * sizeof z, &z, sizeof z);
    }
}

static void
write_gnu_hash(struct linker *l)
{
    uint32_t head = 4 + 2 * l->nmask, chain = head + l->nbucket;

    put32(l, S_GNU_HASH, 0, l->nbucket);
    put32(l, S_GNU_HASH, 1, 1);
    put32(l, S_GNU_HASH, 2, l->nmask);
    put32(l, S_GNU_HASH, 3, 26);
    for (uint32_t i = 0; i < l->ndyn; i++) {
        uint32_t h = l->dyn[i].hash, b = h % l->nbucket;
        uint32_t bits[] = { h % 64, (h >> 26) % 64 };
        bool last = i + 1 == l->ndyn || l->dyn[i + 1].hash % l->nbucket != b;

        for (int k = 0; k < 2; k++) {
            uint32_t w = 4 + 2 * (h / 64 % l->nmask) + bits[k] / 32;

            put32(l, S_GNU_HASH, w,
                  get32(l, S_GNU_HASH, w) | 1u << bits[k] % 32);
        }
        if (!get32(l, S_GNU_HASH, head + b))
            put32(l, S_GNU_HASH, head + b, i + 1);
        put32(l, S_GNU_HASH, chain + i, last ? h | 1 : h & ~1u);
    }
}

static void
write_hash(struct linker *l)
{
    uint32_t n = l->ndyn + 1;

    put32(l, S_HASH, 0, n);
    put32(l, S_HASH, 1, n);
    for (uint32_t i = 1; i < n; i++) {
        uint32_t b = 2 + sysv_hash(l->dyn[i - 1].name) % n;

        put32(l, S_HASH, 2 + n + i, get32(l, S_HASH, b));
        put32(l, S_HASH, b, i);
    }
}

static void
write_dynamic(struct linker *l)
{
    const Elf64_Dyn d[7] = {
        { DT_SYMTAB, { l->sh[S_DYNSYM].sh_addr } },
        { DT_SYMENT, { sizeof(Elf64_Sym) } },
        { DT_STRTAB, { l->sh[S_DYNSTR].sh_addr } },
        { DT_STRSZ, { l->sh[S_DYNSTR].sh_size } },
        { DT_GNU_HASH, { l->sh[S_GNU_HASH].sh_addr } },
        { DT_HASH, { l->sh[S_HASH].sh_addr } },
        { DT_NULL, { 0 } },
    };

    put(l, S_DYNAMIC, 0, d, sizeof d);
}

static void
write_sources(struct linker *l)
{
    for (int s = 1; s < NSECTIONS; s++)
        if (l->src[s]) {
            const Elf64_Shdr *in = &l->e->sh[l->src[s]];

            put(l, s, 0, l->e->p + in->sh_offset, in->sh_size);
        }
    for (uint32_t i = 0; i < l->in.n; i++)
        if (l->entry[i]) {
            uint64_t kd = l->in.sym[i].s.st_value;
            uint64_t v = l->sh[S_TEXT].sh_addr + l->entry[i] - 1 -
                         (l->sh[S_RODATA].sh_addr + kd);

            put(l, S_RODATA, kd + KN_KD_ENTRY, &v, sizeof v);
        }
}

static Elf64_Phdr
segment(const struct linker *l, uint32_t type, uint32_t flags, int first,
        int last)
{
    const Elf64_Shdr *a = &l->sh[first], *b = &l->sh[last];

    return (Elf64_Phdr){
        .p_type = type, .p_flags = flags, .p_offset = a->sh_offset,
        .p_vaddr = a->sh_addr, .p_paddr = a->sh_addr,
        .p_filesz = b->sh_offset + b->sh_size - a->sh_offset,
        .p_memsz = b->sh_addr + b->sh_size - a->sh_addr,
        .p_align = type == PT_LOAD ? PAGE : a->sh_addralign,
    };
}

static void
write_programs(struct linker *l)
{
    const uint64_t at = sizeof(Elf64_Ehdr), n = NPH * sizeof(Elf64_Phdr);
    Elf64_Phdr p[NPH] = {
        { .p_type = PT_PHDR, .p_flags = PF_R, .p_offset = at, .p_vaddr = at,
          .p_paddr = at, .p_filesz = n, .p_memsz = n, .p_align = 8 },
        segment(l, PT_LOAD, PF_R, S_NOTE, S_RODATA),
        segment(l, PT_LOAD, PF_R | PF_X, S_TEXT, S_TEXT),
        segment(l, PT_LOAD, PF_R | PF_W, S_DYNAMIC, S_DYNAMIC),
        segment(l, PT_DYNAMIC, PF_R | PF_W, S_DYNAMIC, S_DYNAMIC),
        segment(l, PT_GNU_RELRO, PF_R, S_DYNAMIC, S_DYNAMIC),
        { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W },
        segment(l, PT_NOTE, PF_R, S_NOTE, S_NOTE),
    };

    /* The first segment includes the headers; the last one is protected
     * again after relocation, so it fills its page. */
    p[1].p_offset = p[1].p_vaddr = p[1].p_paddr = 0;
    p[1].p_filesz = p[1].p_memsz =
        l->sh[S_RODATA].sh_offset + l->sh[S_RODATA].sh_size;
    p[3].p_memsz = p[5].p_memsz =
        align_up(p[3].p_vaddr + p[3].p_memsz, PAGE) - p[3].p_vaddr;
    p[5].p_align = 1;
    memcpy(l->out + at, p, sizeof p);
}

static void
write_headers(struct linker *l)
{
    Elf64_Ehdr h = l->e->eh;
    uint64_t at = 1;

    for (int i = 1; i < NSECTIONS; i++) {
        l->sh[i].sh_name = (uint32_t)at;
        put(l, S_SHSTRTAB, at, out_name[i], strlen(out_name[i]) + 1);
        at += strlen(out_name[i]) + 1;
    }
    h.e_type = ET_DYN;
    h.e_entry = 0;
    h.e_phoff = h.e_ehsize = sizeof h;
    h.e_shoff = l->shoff;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = NPH;
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shnum = NSECTIONS;
    h.e_shstrndx = S_SHSTRTAB;
    memcpy(l->out, &h, sizeof h);
    memcpy(l->out + l->shoff, l->sh, sizeof l->sh);
    write_programs(l);
}

static void
init_sections(struct linker *l)
{
#define X(id, name, type, flags, entsize) \
    l->sh[S_##id] = (Elf64_Shdr){ .sh_type = type, .sh_flags = flags, \
                                  .sh_entsize = entsize };
    OUT_SECTIONS(X)
#undef X
}

kiln_status
kn_elf_link(const struct kn_elf *e, uint8_t **out, size_t *out_size)
{
    struct linker l = { .e = e, .c = e->c };

    if (e->eh.e_type != ET_REL)
        return REFUSE(&l, "ELF type %u is not relocatable", e->eh.e_type);
    init_sections(&l);
    KN_TRY(take_sections(&l));
    KN_TRY(kn_elf_symbols(e, SHT_SYMTAB, &l.in));
    KN_TRY(take_relocations(&l));
    KN_TRY(take_symbols(&l));
    sort_dynamic(&l);
    lay_out(&l);
    l.out = KN_NEW(l.c, uint8_t, l.size);
    write_sources(&l);
    write_symbols(&l, S_DYNSYM, S_DYNSTR, l.dyn, l.ndyn);
    write_symbols(&l, S_SYMTAB, S_STRTAB, l.sym, l.nsym);
    write_gnu_hash(&l);
    write_hash(&l);
    write_dynamic(&l);
    write_headers(&l);
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
