/* test_link.c - the in-process linker against ld.lld on the same objects,
 * and its refusals. */
#include "../kit/slurp.h"

#include <string.h>

#include "emit/isa/elfview.h"

static const char *built_dir;

static struct blob
link_file(struct kn_ctx *c, const char *name)
{
    struct blob in = slurp(built_dir, name), out;

    if (kn_object_link(c, in.p, in.n, &out.p, &out.n))
        fail_msg("%s: %s", name, c->err.text);
    free(in.p);
    return out;
}

static const Elf64_Shdr *
find(const struct kn_elf *e, const char *name)
{
    for (uint32_t i = 0; i < e->nsh; i++)
        if (!strcmp(kn_elf_section_name(e, i), name))
            return &e->sh[i];
    fail_msg("%s: no section %s", e->name, name);
    return NULL;
}

static void
same_section(const struct kn_elf *a, const struct kn_elf *b, const char *name)
{
    const Elf64_Shdr *x = find(a, name), *y = find(b, name);

    if (x->sh_addr != y->sh_addr || x->sh_size != y->sh_size ||
        x->sh_addralign != y->sh_addralign || x->sh_type != y->sh_type ||
        x->sh_flags != y->sh_flags || x->sh_entsize != y->sh_entsize)
        fail_msg("%s: header differs", name);
    if (x->sh_type != SHT_NOBITS &&
        memcmp(a->p + x->sh_offset, b->p + y->sh_offset, x->sh_size))
        fail_msg("%s: contents differ", name);
}

static void
same_symbols(const struct kn_elf *a, const struct kn_elf *b, uint32_t type)
{
    struct kn_elf_syms x, y;

    assert_int_equal(kn_elf_symbols(a, type, &x), KILN_OK);
    assert_int_equal(kn_elf_symbols(b, type, &y), KILN_OK);
    assert_int_equal(x.n, y.n);
    assert_true(x.n > 4);
    for (uint32_t i = 0; i < x.n; i++) {
        const Elf64_Sym *s = &x.sym[i].s, *t = &y.sym[i].s;

        if (strcmp(x.sym[i].name, y.sym[i].name) ||
            s->st_value != t->st_value || s->st_size != t->st_size ||
            s->st_info != t->st_info || s->st_other != t->st_other ||
            s->st_shndx != t->st_shndx)
            fail_msg("symbol %u: %s and %s differ", i, x.sym[i].name,
                     y.sym[i].name);
    }
}

static void
same_segments(const struct kn_elf *a, const struct kn_elf *b)
{
    assert_int_equal(a->nph, b->nph);
    for (uint32_t i = 0; i < a->nph; i++)
        if (memcmp(&a->ph[i], &b->ph[i], sizeof a->ph[i]))
            fail_msg("program header %u differs", i);
}

static void
compare(const char *object, const char *lld)
{
    static const char *const same[] = {
        ".note", ".dynsym", ".gnu.hash", ".hash", ".dynstr", ".rodata",
        ".text", ".dynamic",
    };
    struct blob mine, theirs = slurp(built_dir, lld);
    struct kn_elf a, b;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    mine = link_file(&c, object);
    assert_int_equal(kn_elf_open(&c, "kiln", mine.p, mine.n, &a), KILN_OK);
    assert_int_equal(kn_elf_open(&c, "lld", theirs.p, theirs.n, &b),
                     KILN_OK);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        same_section(&a, &b, same[i]);
    same_symbols(&a, &b, SHT_DYNSYM);
    same_symbols(&a, &b, SHT_SYMTAB);
    same_segments(&a, &b);
    assert_int_equal(a.eh.e_flags, b.eh.e_flags);
    assert_memory_equal(a.eh.e_ident, b.eh.e_ident, EI_NIDENT);
    /* HIP takes the end of the section table as the end of the image. */
    assert_int_equal(a.eh.e_shoff + a.nsh * sizeof *a.sh, mine.n);
    kn_ctx_free(&c);
    free(theirs.p);
}

static void
test_like_lld(void **state)
{
    (void)state;
    compare("kernels.o", "kernels.lld");
    compare("many.o", "many.lld");
}

static void
test_same_input_same_bytes(void **state)
{
    struct blob a, b;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    a = link_file(&c, "many.o");
    kn_alloc(&c, 100, 1);
    b = link_file(&c, "many.o");
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    kn_ctx_free(&c);
}

static void
expect_refusal(struct blob in, const char *text)
{
    struct blob out;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_object_link(&c, in.p, in.n, &out.p, &out.n),
                     KILN_UNSUPPORTED);
    if (!strstr(c.err.text, text))
        fail_msg("expected '%s', got '%s'", text, c.err.text);
    kn_ctx_free(&c);
    free(in.p);
}

static void
test_refuses_what_llvm_makes_of_bad_kernels(void **state)
{
    (void)state;
    expect_refusal(slurp(built_dir, "bad_constant.o"),
                   ".text+0x10 refers to another section by a relocation");
    expect_refusal(slurp(built_dir, "bad_callee.o"),
                   "symbol elsewhere is undefined");
    expect_refusal(slurp(built_dir, "bad_global.o"),
                   "section .data is none of .text, .rodata and .note");
    expect_refusal(slurp(built_dir, "kernels.lld"),
                   "ELF type 3 is not relocatable");
}

static Elf64_Shdr *
section(struct blob b, const char *name)
{
    Elf64_Ehdr *e = (Elf64_Ehdr *)b.p;
    Elf64_Shdr *s = (Elf64_Shdr *)(b.p + e->e_shoff);
    const char *names = (char *)b.p + s[e->e_shstrndx].sh_offset;

    for (unsigned i = 0; i < e->e_shnum; i++)
        if (!strcmp(names + s[i].sh_name, name))
            return &s[i];
    fail_msg("no section %s", name);
    return NULL;
}

static Elf64_Rela *
rela(struct blob b)
{
    return (Elf64_Rela *)(b.p + section(b, ".rela.rodata")->sh_offset);
}

static Elf64_Sym *
symbol(struct blob b, const char *name)
{
    const Elf64_Shdr *s = section(b, ".symtab");
    const char *str = (char *)b.p + section(b, ".strtab")->sh_offset;
    Elf64_Sym *y = (Elf64_Sym *)(b.p + s->sh_offset);

    for (size_t i = 0; i < s->sh_size / sizeof *y; i++)
        if (!strcmp(str + y[i].st_name, name))
            return &y[i];
    fail_msg("no symbol %s", name);
    return NULL;
}

static void reloc_type(struct blob b)
{
    rela(b)->r_info = ELF64_R_INFO(ELF64_R_SYM(rela(b)->r_info), 3);
}
static void reloc_place(struct blob b) { rela(b)->r_offset = 24; }
static void reloc_twice(struct blob b) { rela(b)[1].r_offset = 16; }
static void reloc_symbol(struct blob b)
{
    rela(b)->r_info = ELF64_R_INFO(9999, 5);
}
static void reloc_addend(struct blob b) { rela(b)->r_addend = 1 << 20; }
static void reloc_missing(struct blob b)
{
    section(b, ".rela.rodata")->sh_size = sizeof(Elf64_Rela);
}
static void reloc_table(struct blob b)
{
    section(b, ".rela.rodata")->sh_type = SHT_REL;
}
static void reloc_target(struct blob b)
{
    section(b, ".rela.rodata")->sh_info = 9999;
}
static void symbol_outside(struct blob b)
{
    symbol(b, "alpha")->st_size = 1 << 20;
}
static void symbol_nowhere(struct blob b)
{
    symbol(b, "alpha.kd")->st_shndx = SHN_COMMON;
}
static void symbol_tls(struct blob b)
{
    symbol(b, "beta")->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS);
}
static void section_align(struct blob b)
{
    section(b, ".text")->sh_addralign = 8192;
}
static void section_twice(struct blob b)
{
    Elf64_Shdr *n = section(b, ".note"), *r = section(b, ".rodata");

    *n = *r;
}
static void section_group(struct blob b)
{
    section(b, ".note.GNU-stack")->sh_type = SHT_GROUP;
}
static void section_missing(struct blob b)
{
    section(b, ".note")->sh_flags = 0;
}

static const struct {
    void (*damage)(struct blob b);
    const char *text;
} refusals[] = {
    { reloc_type, "relocation of type 3" },
    { reloc_place, "at .rodata+0x18 is not the entry" },
    { reloc_twice, "alpha.kd has two relocations" },
    { reloc_symbol, "alpha.kd does not point into .text" },
    { reloc_addend, "alpha.kd points beyond .text" },
    { reloc_missing, "beta.kd has no relocation" },
    { reloc_table, "is no plain relocation table" },
    { reloc_target, "relocates no section" },
    { symbol_outside, "alpha reaches beyond its section" },
    { symbol_nowhere, "alpha.kd is in no loaded section" },
    { symbol_tls, "beta has type 6" },
    { section_align, ".text is aligned to 8192" },
    { section_twice, "two sections .rodata" },
    { section_group, "groups and extended indices" },
    { section_missing, "no section .note" },
};

static void
test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct blob b = slurp(built_dir, "kernels.o");

        refusals[i].damage(b);
        expect_refusal(b, refusals[i].text);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_lld),
        cmocka_unit_test(test_same_input_same_bytes),
        cmocka_unit_test(test_refuses_what_llvm_makes_of_bad_kernels),
        cmocka_unit_test(test_refusals),
    };

    if (argc != 2)
        return 2;
    built_dir = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
