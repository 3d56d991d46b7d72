/* object.c - an AMDGPU code object as segments and kernels. */
#include "object.h"

#include <string.h>

#include "elfview.h"

/* Sizes beyond which a file is hostile or broken rather than large. */
static const uint64_t max_image = (uint64_t)1 << 31;
enum { MAX_KERNARG = 1 << 20 };

struct loader {
    struct kn_elf e;
    struct kn_elf_syms syms;
    struct kn_object *o;
};

static kiln_target
target_of(uint32_t mach)
{
    return mach ? kn_target_where(offsetof(struct kn_target_info, mach), mach)
                : KILN_TARGET_NONE;
}

static kiln_status
add_segment(struct loader *l, const Elf64_Phdr *p)
{
    const struct kn_elf *e = &l->e;
    struct kn_object *o = l->o;
    uint64_t floor = 0;

    if (o->nsegments) {
        const struct kn_segment *s = &o->segments[o->nsegments - 1];
        floor = s->addr + s->size;
    }
    if (p->p_offset > e->size || p->p_filesz > e->size - p->p_offset ||
        p->p_filesz > p->p_memsz)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: segment at 0x%llx reaches beyond the file",
                       e->name, (unsigned long long)p->p_vaddr);
    if (p->p_vaddr < floor || p->p_vaddr > max_image ||
        p->p_memsz > max_image - p->p_vaddr)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "%s: segment at 0x%llx overlaps another, is out of "
                       "order or ends beyond 2 GB", e->name,
                       (unsigned long long)p->p_vaddr);
    o->segments[o->nsegments++] = (struct kn_segment){
        .addr = p->p_vaddr, .size = p->p_memsz, .data = e->p + p->p_offset,
        .filesz = p->p_filesz, .exec = p->p_flags & PF_X,
        .write = p->p_flags & PF_W,
    };
    return KILN_OK;
}

static kiln_status
read_segments(struct loader *l)
{
    const struct kn_elf *e = &l->e;

    l->o->segments = KN_NEW(e->c, struct kn_segment, e->nph);
    for (uint32_t i = 0; i < e->nph; i++)
        if (e->ph[i].p_type == PT_LOAD && e->ph[i].p_memsz)
            KN_TRY(add_segment(l, &e->ph[i]));
    if (!l->o->nsegments)
        return kn_fail(e->c, KILN_BAD_INPUT, "%s: nothing to load",
                       e->name);
    return KILN_OK;
}

static const struct kn_segment *
find_segment(const struct kn_object *o, uint64_t addr, uint64_t n)
{
    for (uint32_t i = 0; i < o->nsegments; i++) {
        const struct kn_segment *s = &o->segments[i];

        if (addr >= s->addr && addr - s->addr <= s->filesz &&
            n <= s->filesz - (addr - s->addr))
            return s;
    }
    return NULL;
}

const uint8_t *
kn_object_bytes(const struct kn_object *o, uint64_t addr, uint64_t n)
{
    const struct kn_segment *s = find_segment(o, addr, n);

    return s ? s->data + (addr - s->addr) : NULL;
}

static const struct kn_elf_sym *
find_symbol(const struct loader *l, const char *name)
{
    for (uint32_t i = 0; i < l->syms.n; i++) {
        const struct kn_elf_sym *y = &l->syms.sym[i];

        if (y->s.st_shndx != SHN_UNDEF && !strcmp(y->name, name))
            return y;
    }
    return NULL;
}

/* From the size of the function symbol at the entry, else to the next
 * function, else to the end of the segment. */
static uint64_t
measure_code(const struct loader *l, uint64_t entry,
             const struct kn_segment *s)
{
    uint64_t end = s->addr + s->filesz;

    for (uint32_t i = 0; i < l->syms.n; i++) {
        const Elf64_Sym *y = &l->syms.sym[i].s;

        if (ELF64_ST_TYPE(y->st_info) != STT_FUNC ||
            y->st_shndx == SHN_UNDEF || y->st_value < entry)
            continue;
        if (y->st_value >= entry + 4 && y->st_value < end)
            end = y->st_value;
        if (y->st_value == entry && y->st_size >= 4 &&
            y->st_size <= s->addr + s->filesz - entry)
            return y->st_size;
    }
    return end - entry;
}

static kiln_status
locate_code(const struct loader *l, struct kn_object_kernel *k)
{
    const struct kn_segment *s = find_segment(l->o, k->entry, 4);

    if (!s || !s->exec || k->entry % 4)
        return kn_fail(l->e.c, KILN_BAD_INPUT,
                       "%s: kernel %s: entry 0x%llx is not in executable "
                       "code", l->e.name, k->name,
                       (unsigned long long)k->entry);
    k->code_size = measure_code(l, k->entry, s);
    return KILN_OK;
}

static kiln_status
check_args(const struct loader *l, struct kn_object_kernel *k)
{
    for (uint32_t i = 0; i < k->nargs; i++) {
        uint64_t end = (uint64_t)k->args[i].offset + k->args[i].size;

        if (end <= MAX_KERNARG && end > k->kernarg_size)
            k->kernarg_size = (uint32_t)end;
        if (end > MAX_KERNARG)
            k->kernarg_size = UINT32_MAX;
    }
    if (k->kernarg_size > MAX_KERNARG)
        return kn_fail(l->e.c, KILN_BAD_INPUT,
                       "%s: kernel %s: arguments of more than 1 MB",
                       l->e.name, k->name);
    return KILN_OK;
}

/* m: what the metadata says of it, may be NULL. */
static kiln_status
read_kernel(const struct loader *l, const char *symbol,
            const struct kn_object_kernel *m, struct kn_object_kernel *k)
{
    const struct kn_elf_sym *y = find_symbol(l, symbol);
    size_t n = strlen(symbol);
    const uint8_t *kd;

    if (!y)
        return kn_fail(l->e.c, KILN_BAD_INPUT,
                       "%s: metadata names a kernel descriptor %s, which is "
                       "no symbol", l->e.name, symbol);
    if (n > 3 && !strcmp(symbol + n - 3, ".kd"))
        n -= 3;
    k->name = kn_strndup(l->e.c, symbol, n);
    k->kd_addr = y->s.st_value;
    kd = kn_object_bytes(l->o, k->kd_addr, KN_KD_SIZE);
    if (!kd)
        return kn_fail(l->e.c, KILN_BAD_INPUT,
                       "%s: kernel %s: descriptor at 0x%llx is not in the "
                       "file", l->e.name, k->name,
                       (unsigned long long)k->kd_addr);
    kn_kd_decode(kd, l->e.eh.e_flags & KN_EF_MACH, k);
    if (m)
        kn_meta_apply(m, k);
    KN_TRY(check_args(l, k));
    return locate_code(l, k);
}

static bool
is_descriptor(const struct kn_elf_sym *y)
{
    size_t n = strlen(y->name);

    return ELF64_ST_TYPE(y->s.st_info) == STT_OBJECT &&
           y->s.st_size == KN_KD_SIZE && y->s.st_shndx != SHN_UNDEF &&
           n > 3 && !strcmp(y->name + n - 3, ".kd");
}

static kiln_status
kernels_from_symbols(struct loader *l)
{
    struct kn_object *o = l->o;

    o->kernels = KN_NEW(l->e.c, struct kn_object_kernel, l->syms.n);
    for (uint32_t i = 0; i < l->syms.n; i++)
        if (is_descriptor(&l->syms.sym[i]))
            KN_TRY(read_kernel(l, l->syms.sym[i].name, NULL,
                               &o->kernels[o->nkernels++]));
    return KILN_OK;
}

static kiln_status
read_kernels(struct loader *l)
{
    struct kn_object *o = l->o;
    struct kn_meta_kernel *m;
    uint32_t n;

    KN_TRY(kn_meta_read(&l->e, &m, &n));
    if (!n)
        return kernels_from_symbols(l);
    o->kernels = KN_NEW(l->e.c, struct kn_object_kernel, n);
    for (; o->nkernels < n; o->nkernels++)
        KN_TRY(read_kernel(l, m[o->nkernels].symbol, &m[o->nkernels].k,
                           &o->kernels[o->nkernels]));
    return KILN_OK;
}

static kiln_status
read_linked(struct loader *l)
{
    struct kn_object *o = l->o;

    o->e_flags = l->e.eh.e_flags;
    o->target = target_of(o->e_flags & KN_EF_MACH);
    o->abi = l->e.eh.e_ident[EI_ABIVERSION];
    KN_TRY(read_segments(l));
    KN_TRY(kn_elf_relocations(&l->e, o));
    KN_TRY(kn_elf_variables(&l->e, o));
    KN_TRY(kn_elf_symbols(&l->e, SHT_SYMTAB, &l->syms));
    if (!l->syms.n)
        KN_TRY(kn_elf_symbols(&l->e, SHT_DYNSYM, &l->syms));
    KN_TRY(read_kernels(l));
    return kn_meta_formats(&l->e, o);
}

kiln_status
kn_object_read(struct kn_ctx *c, const char *name, const void *bytes,
               size_t size, struct kn_object *out)
{
    struct loader l = { .o = out };

    memset(out, 0, sizeof *out);
    KN_TRY(kn_elf_open(c, name, bytes, size, &l.e));
    if (l.e.eh.e_type == ET_REL) {
        uint8_t *image;
        size_t n;

        KN_TRY(kn_elf_link(&l.e, &image, &n));
        KN_TRY(kn_elf_open(c, name, image, n, &l.e));
        out->relocatable = true;
    }
    return read_linked(&l);
}

bool
kn_kernel_is_own(const struct kn_object_kernel *k)
{
    return !strncmp(k->name, "kiln_", 5);
}

kiln_status
kn_object_kernel(struct kn_ctx *c, const struct kn_object *o,
                 const char *name, const struct kn_object_kernel **out)
{
    struct kn_buf b = { .c = c };

    for (uint32_t i = 0; i < o->nkernels; i++)
        if (name ? !strcmp(o->kernels[i].name, name) : o->nkernels == 1) {
            *out = &o->kernels[i];
            return KILN_OK;
        }
    if (!o->nkernels)
        return kn_fail(c, KILN_BAD_INPUT, "the code object has no kernel");
    for (uint32_t i = 0; i < o->nkernels && i < 8; i++)
        kn_putf(&b, "%s%s", i ? ", " : "", o->kernels[i].name);
    if (o->nkernels > 8)
        kn_putf(&b, " and %u more", o->nkernels - 8);
    if (!name)
        return kn_fail(c, KILN_BAD_INPUT,
                       "the code object has %u kernels, name one of: %s",
                       o->nkernels, b.s);
    return kn_fail(c, KILN_BAD_INPUT, "no kernel %s, there is: %s", name,
                   b.s);
}
