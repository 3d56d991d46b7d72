/* link_write.c - layout and bytes of the linked code object. */
#include <string.h>

#include "link.h"

enum { NPH = 8 };

const char *const kn_out_name[KN_NSECTIONS] = {
    "",
#define X(id, name, type, flags, entsize) name,
    KN_OUT_SECTIONS(X)
#undef X
};

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
sort_dynamic(struct kn_linker *l)
{
    l->nbucket = l->ndyn / 4 ? l->ndyn / 4 : 1;
    l->nmask = l->ndyn ? next_power_of_2(l->ndyn * 12 / 64) : 1;
    for (uint32_t i = 1; i < l->ndyn; i++) {
        struct kn_out_symbol y = l->dyn[i];
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
place(struct kn_linker *l, int s, uint64_t align, uint64_t size, bool new_page)
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
        l->addr = align_up(l->addr, KN_PAGE) + l->addr % KN_PAGE;
    h->sh_addr = align_up(l->addr, align);
    h->sh_offset = l->off + (h->sh_addr - l->off) % KN_PAGE;
    l->addr = h->sh_addr + size;
    l->off = h->sh_offset + size;
}

static void
place_source(struct kn_linker *l, int s, bool new_page)
{
    const Elf64_Shdr *in = &l->e->sh[l->src[s]];

    place(l, s, in->sh_addralign, in->sh_size, new_page);
}

/* Gives every symbol its place in the string table; returns that table's
 * size. ld.lld names dynamic symbols before it sorts them. */
static uint64_t
assign_names(struct kn_out_symbol *y, uint32_t n)
{
    uint64_t size = 1;

    for (uint32_t i = 0; i < n; i++) {
        y[i].s.st_name = *y[i].name ? (uint32_t)size : 0;
        size += *y[i].name ? strlen(y[i].name) + 1 : 0;
    }
    return size;
}

static void
lay_out(struct kn_linker *l, uint64_t dynamic_names)
{
    uint64_t n = l->ndyn, names = 1;

    for (int i = 1; i < KN_NSECTIONS; i++)
        names += strlen(kn_out_name[i]) + 1;
    l->off = l->addr = sizeof(Elf64_Ehdr) + NPH * sizeof(Elf64_Phdr);
    place_source(l, KN_S_NOTE, false);
    place(l, KN_S_DYNSYM, 8, (n + 1) * sizeof(Elf64_Sym), false);
    place(l, KN_S_GNU_HASH, 8, 16 + 8ull * l->nmask + 4ull * l->nbucket + 4 * n,
          false);
    place(l, KN_S_HASH, 4, (2 + 2 * (n + 1)) * 4, false);
    place(l, KN_S_DYNSTR, 1, dynamic_names, false);
    place_source(l, KN_S_RODATA, false);
    place_source(l, KN_S_TEXT, true);
    place(l, KN_S_DYNAMIC, 8, 7 * sizeof(Elf64_Dyn), true);
    place(l, KN_S_SYMTAB, 8, (uint64_t)l->nsym * sizeof(Elf64_Sym), false);
    place(l, KN_S_SHSTRTAB, 1, names, false);
    place(l, KN_S_STRTAB, 1, assign_names(l->sym, l->nsym), false);
    l->shoff = align_up(l->off, 8);
    l->size = l->shoff + sizeof l->sh;
    l->sh[KN_S_DYNSYM].sh_link = l->sh[KN_S_DYNAMIC].sh_link = KN_S_DYNSTR;
    l->sh[KN_S_GNU_HASH].sh_link = l->sh[KN_S_HASH].sh_link = KN_S_DYNSYM;
    l->sh[KN_S_DYNSYM].sh_info = 1;
    l->sh[KN_S_SYMTAB].sh_link = KN_S_STRTAB;
    l->sh[KN_S_SYMTAB].sh_info = l->nlocal;
}

static void
put(struct kn_linker *l, int s, uint64_t at, const void *p, size_t n)
{
    memcpy(l->out + l->sh[s].sh_offset + at, p, n);
}

static void
put32(struct kn_linker *l, int s, uint64_t index, uint32_t v)
{
    put(l, s, index * sizeof v, &v, sizeof v);
}

static uint32_t
get32(const struct kn_linker *l, int s, uint64_t index)
{
    uint32_t v;

    memcpy(&v, l->out + l->sh[s].sh_offset + index * sizeof v, sizeof v);
    return v;
}

/* Writes symbols [0, n) from index `first` of table s with names in str. */
static void
write_symbols(struct kn_linker *l, int s, int str,
              const struct kn_out_symbol *y, uint32_t n)
{
    uint64_t first = s == KN_S_DYNSYM;

    for (uint32_t i = 0; i < n; i++) {
        Elf64_Sym z = y[i].s;

        put(l, str, z.st_name, y[i].name, strlen(y[i].name) + 1);
        if (z.st_shndx && z.st_shndx < KN_NSECTIONS)
            z.st_value += l->sh[z.st_shndx].sh_addr;
        put(l, s, (first + i) * sizeof z, &z, sizeof z);
    }
}

static void
write_gnu_hash(struct kn_linker *l)
{
    uint32_t head = 4 + 2 * l->nmask, chain = head + l->nbucket;

    put32(l, KN_S_GNU_HASH, 0, l->nbucket);
    put32(l, KN_S_GNU_HASH, 1, 1);
    put32(l, KN_S_GNU_HASH, 2, l->nmask);
    put32(l, KN_S_GNU_HASH, 3, 26);
    for (uint32_t i = 0; i < l->ndyn; i++) {
        uint32_t h = l->dyn[i].hash, b = h % l->nbucket;
        uint32_t bits[] = { h % 64, (h >> 26) % 64 };
        bool last = i + 1 == l->ndyn || l->dyn[i + 1].hash % l->nbucket != b;

        for (int k = 0; k < 2; k++) {
            uint32_t w = 4 + 2 * (h / 64 % l->nmask) + bits[k] / 32;

            put32(l, KN_S_GNU_HASH, w,
                  get32(l, KN_S_GNU_HASH, w) | 1u << bits[k] % 32);
        }
        if (!get32(l, KN_S_GNU_HASH, head + b))
            put32(l, KN_S_GNU_HASH, head + b, i + 1);
        put32(l, KN_S_GNU_HASH, chain + i, last ? h | 1 : h & ~1u);
    }
}

static void
write_hash(struct kn_linker *l)
{
    uint32_t n = l->ndyn + 1;

    put32(l, KN_S_HASH, 0, n);
    put32(l, KN_S_HASH, 1, n);
    for (uint32_t i = 1; i < n; i++) {
        uint32_t b = 2 + sysv_hash(l->dyn[i - 1].name) % n;

        put32(l, KN_S_HASH, 2 + n + i, get32(l, KN_S_HASH, b));
        put32(l, KN_S_HASH, b, i);
    }
}

static void
write_dynamic(struct kn_linker *l)
{
    const Elf64_Dyn d[7] = {
        { DT_SYMTAB, { l->sh[KN_S_DYNSYM].sh_addr } },
        { DT_SYMENT, { sizeof(Elf64_Sym) } },
        { DT_STRTAB, { l->sh[KN_S_DYNSTR].sh_addr } },
        { DT_STRSZ, { l->sh[KN_S_DYNSTR].sh_size } },
        { DT_GNU_HASH, { l->sh[KN_S_GNU_HASH].sh_addr } },
        { DT_HASH, { l->sh[KN_S_HASH].sh_addr } },
        { DT_NULL, { 0 } },
    };

    put(l, KN_S_DYNAMIC, 0, d, sizeof d);
}

static void
write_sources(struct kn_linker *l)
{
    for (int s = 1; s < KN_NSECTIONS; s++)
        if (l->src[s]) {
            const Elf64_Shdr *in = &l->e->sh[l->src[s]];

            put(l, s, 0, l->e->p + in->sh_offset, in->sh_size);
        }
    for (uint32_t i = 0; i < l->in.n; i++)
        if (l->entry[i]) {
            uint64_t kd = l->in.sym[i].s.st_value;
            uint64_t v = l->sh[KN_S_TEXT].sh_addr + l->entry[i] - 1 -
                         (l->sh[KN_S_RODATA].sh_addr + kd);

            put(l, KN_S_RODATA, kd + KN_KD_ENTRY, &v, sizeof v);
        }
}

static Elf64_Phdr
segment(const struct kn_linker *l, uint32_t type, uint32_t flags, int first,
        int last)
{
    const Elf64_Shdr *a = &l->sh[first], *b = &l->sh[last];

    return (Elf64_Phdr){
        .p_type = type, .p_flags = flags, .p_offset = a->sh_offset,
        .p_vaddr = a->sh_addr, .p_paddr = a->sh_addr,
        .p_filesz = b->sh_offset + b->sh_size - a->sh_offset,
        .p_memsz = b->sh_addr + b->sh_size - a->sh_addr,
        .p_align = type == PT_LOAD ? KN_PAGE : a->sh_addralign,
    };
}

static void
write_programs(struct kn_linker *l)
{
    const uint64_t at = sizeof(Elf64_Ehdr), n = NPH * sizeof(Elf64_Phdr);
    Elf64_Phdr p[NPH] = {
        { .p_type = PT_PHDR, .p_flags = PF_R, .p_offset = at, .p_vaddr = at,
          .p_paddr = at, .p_filesz = n, .p_memsz = n, .p_align = 8 },
        segment(l, PT_LOAD, PF_R, KN_S_NOTE, KN_S_RODATA),
        segment(l, PT_LOAD, PF_R | PF_X, KN_S_TEXT, KN_S_TEXT),
        segment(l, PT_LOAD, PF_R | PF_W, KN_S_DYNAMIC, KN_S_DYNAMIC),
        segment(l, PT_DYNAMIC, PF_R | PF_W, KN_S_DYNAMIC, KN_S_DYNAMIC),
        segment(l, PT_GNU_RELRO, PF_R, KN_S_DYNAMIC, KN_S_DYNAMIC),
        { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W },
        segment(l, PT_NOTE, PF_R, KN_S_NOTE, KN_S_NOTE),
    };

    /* The first segment includes the headers; the last one is protected
     * again after relocation, so it fills its page. */
    p[1].p_offset = p[1].p_vaddr = p[1].p_paddr = 0;
    p[1].p_filesz = p[1].p_memsz =
        l->sh[KN_S_RODATA].sh_offset + l->sh[KN_S_RODATA].sh_size;
    p[3].p_memsz = p[5].p_memsz =
        align_up(p[3].p_vaddr + p[3].p_memsz, KN_PAGE) - p[3].p_vaddr;
    p[5].p_align = 1;
    memcpy(l->out + at, p, sizeof p);
}

static void
write_headers(struct kn_linker *l)
{
    Elf64_Ehdr h = l->e->eh;
    uint64_t at = 1;

    for (int i = 1; i < KN_NSECTIONS; i++) {
        l->sh[i].sh_name = (uint32_t)at;
        put(l, KN_S_SHSTRTAB, at, kn_out_name[i], strlen(kn_out_name[i]) + 1);
        at += strlen(kn_out_name[i]) + 1;
    }
    h.e_type = ET_DYN;
    h.e_entry = 0;
    h.e_phoff = h.e_ehsize = sizeof h;
    h.e_shoff = l->shoff;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = NPH;
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shnum = KN_NSECTIONS;
    h.e_shstrndx = KN_S_SHSTRTAB;
    memcpy(l->out, &h, sizeof h);
    memcpy(l->out + l->shoff, l->sh, sizeof l->sh);
    write_programs(l);
}

void
kn_link_write(struct kn_linker *l)
{
    uint64_t dynamic_names = assign_names(l->dyn, l->ndyn);

    sort_dynamic(l);
    lay_out(l, dynamic_names);
    l->out = KN_NEW(l->c, uint8_t, l->size);
    write_sources(l);
    write_symbols(l, KN_S_DYNSYM, KN_S_DYNSTR, l->dyn, l->ndyn);
    write_symbols(l, KN_S_SYMTAB, KN_S_STRTAB, l->sym, l->nsym);
    write_gnu_hash(l);
    write_hash(l);
    write_dynamic(l);
    write_headers(l);
}
