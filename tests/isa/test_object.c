/* test_object.c - the object reader on Triton's and LLVM's objects, and one
 * case for every defect it names. */
#include "../kit/slurp.h"

#include <elf.h>
#include <string.h>

#include "emit/isa/object.h"

static const char *data_dir, *built_dir;

struct fixture {
    struct kn_ctx c;
    struct kn_object o;
    struct blob b;
};

static kiln_status
read_blob(struct fixture *f, struct blob b)
{
    memset(f, 0, sizeof *f);
    f->b = b;
    kn_ctx_init(&f->c, NULL, NULL);
    return kn_object_read(&f->c, "x.co", b.p, b.n, &f->o);
}

static void
drop(struct fixture *f)
{
    kn_ctx_free(&f->c);
    free(f->b.p);
}

static void
expect_ok(struct fixture *f, kiln_status s)
{
    if (s)
        fail_msg("%s", f->c.err.text);
}

/* Numbers as llvm-readelf-22 -n prints them. */
static const struct {
    const char *file, *kernel;
    kiln_target target;
    uint32_t code, kernarg, vgpr, agpr, arch, accum, regs, sgpr, spills,
        scratch, workgroup, nargs;
} triton[] = {
    { "gfx942_bf16_nt_128x128x64.co", "gemm_nt", KILN_GFX942, 8928, 64, 208,
      64, 144, 144, 208, 28, 0, 0, 256, 11 },
    { "gfx950_bf16_nt_256x256x64.co", "gemm_nt", KILN_GFX950, 6096, 64, 210,
      0, 210, 212, 216, 28, 0, 0, 512, 11 },
    { "gfx950_mxfp4_nt_32x128x256_w4.co", "gemm_mx_nt", KILN_GFX950, 4116,
      88, 104, 16, 88, 88, 104, 32, 0, 0, 256, 15 },
    { "gfx950_wgrad_fp8_tn_128x128x128.co", "wgrad_tn", KILN_GFX950, 12072,
      80, 304, 64, 240, 240, 304, 46, 0, 0, 256, 12 },
    { "gfx950_wgrad_fp8_tn_256x256x128.co", "wgrad_tn", KILN_GFX950, 21000,
      80, 256, 0, 256, 256, 256, 46, 232, 908, 512, 12 },
};

static void
test_triton_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof triton / sizeof *triton; i++) {
        const struct kn_object_kernel *k;
        struct fixture f;

        expect_ok(&f, read_blob(&f, slurp(data_dir, triton[i].file)));
        assert_int_equal(f.o.target, triton[i].target);
        assert_int_equal(f.o.abi, 3);
        assert_false(f.o.relocatable);
        assert_int_equal(f.o.nkernels, 1);
        assert_int_equal(kn_object_kernel(&f.c, &f.o, NULL, &k), KILN_OK);
        assert_string_equal(k->name, triton[i].kernel);
        assert_int_equal(k->code_size, triton[i].code);
        assert_int_equal(k->kernarg_size, triton[i].kernarg);
        assert_int_equal(k->vgpr, triton[i].vgpr);
        assert_int_equal(k->agpr, triton[i].agpr);
        assert_int_equal(k->arch_vgpr, triton[i].arch);
        assert_int_equal(k->accum_offset, triton[i].accum);
        assert_int_equal(k->regs, triton[i].regs);
        assert_int_equal(k->sgpr, triton[i].sgpr);
        assert_int_equal(k->vgpr_spills, triton[i].spills);
        assert_int_equal(k->scratch, triton[i].scratch);
        assert_int_equal(k->max_workgroup, triton[i].workgroup);
        assert_int_equal(k->nargs, triton[i].nargs);
        assert_int_equal(k->preload_length, 14);
        assert_int_equal(k->preload_offset, 0);
        assert_int_equal(k->wavefront, 64);
        drop(&f);
    }
}

static void
check_kernels(const struct fixture *f)
{
    const struct kn_object_kernel *a = &f->o.kernels[0];
    const struct kn_object_kernel *b = &f->o.kernels[1];

    assert_int_equal(f->o.nkernels, 2);
    assert_string_equal(a->name, "alpha");
    assert_string_equal(b->name, "beta");
    assert_int_equal(a->lds, 1024);
    assert_int_equal(b->lds, 0);
    assert_int_equal(a->kernarg_size, 20);
    assert_int_equal(a->nargs, 3);
    assert_string_equal(a->args[0].name, "a");
    assert_int_equal(a->args[1].offset, 8);
    assert_int_equal(a->args[1].kind, KN_ARG_GLOBAL_BUFFER);
    assert_int_equal(a->args[2].size, 4);
    assert_int_equal(a->args[2].kind, KN_ARG_BY_VALUE);
    assert_string_equal(a->args[2].value_kind, "by_value");
    assert_int_equal(a->preload_length, 0);
    assert_int_equal(b->preload_length, 3);
    assert_int_equal(a->entry, 0x1800);
    assert_int_equal(a->entry % 256, 0);
    assert_int_equal(b->entry, 0x1900);
    /* s_endpgm ends both: 0xbf810000. */
    assert_non_null(kn_object_bytes(&f->o, a->entry, a->code_size));
    assert_memory_equal(
        kn_object_bytes(&f->o, a->entry + a->code_size - 4, 4),
        "\x00\x00\x81\xbf", 4);
}

static void
test_relocatable_reads_like_linked(void **state)
{
    struct fixture rel, dyn;

    (void)state;
    expect_ok(&rel, read_blob(&rel, slurp(built_dir, "kernels.o")));
    expect_ok(&dyn, read_blob(&dyn, slurp(built_dir, "kernels.lld")));
    assert_true(rel.o.relocatable);
    assert_false(dyn.o.relocatable);
    check_kernels(&rel);
    check_kernels(&dyn);
    drop(&rel);
    drop(&dyn);
}

static void
test_kernel_by_name(void **state)
{
    const struct kn_object_kernel *k;
    struct fixture f;

    (void)state;
    expect_ok(&f, read_blob(&f, slurp(built_dir, "kernels.o")));
    assert_int_equal(kn_object_kernel(&f.c, &f.o, "beta", &k), KILN_OK);
    assert_string_equal(k->name, "beta");
    assert_int_equal(kn_object_kernel(&f.c, &f.o, "gamma", &k),
                     KILN_BAD_INPUT);
    assert_string_equal(f.c.err.text, "no kernel gamma, there is: alpha, "
                                      "beta");
    f.c.err.status = KILN_OK;
    assert_int_equal(kn_object_kernel(&f.c, &f.o, NULL, &k), KILN_BAD_INPUT);
    assert_string_equal(f.c.err.text, "the code object has 2 kernels, name "
                                      "one of: alpha, beta");
    drop(&f);
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

static Elf64_Phdr *
programs(struct blob b)
{
    return (Elf64_Phdr *)(b.p + ((Elf64_Ehdr *)b.p)->e_phoff);
}

static void
replace(struct blob b, const char *from, const char *to)
{
    uint8_t *at = memmem(b.p, b.n, from, strlen(from));

    assert_non_null(at);
    memcpy(at, to, strlen(to));
}

static uint8_t *
descriptor(struct blob b)
{
    return b.p + section(b, ".rodata")->sh_offset;
}

/* Each breaks one thing in a good object. */
#define EH ((Elf64_Ehdr *)b.p)
static void no_magic(struct blob b) { b.p[0] = 0; }
static void wrong_class(struct blob b) { b.p[EI_CLASS] = ELFCLASS32; }
static void wrong_machine(struct blob b) { EH->e_machine = EM_X86_64; }
static void wrong_os(struct blob b) { b.p[EI_OSABI] = 0; }
static void old_abi(struct blob b) { b.p[EI_ABIVERSION] = 0; }
static void wrong_type(struct blob b) { EH->e_type = ET_EXEC; }
static void no_sections(struct blob b) { EH->e_shnum = 0; }
static void far_sections(struct blob b) { EH->e_shoff = b.n - 8; }
static void far_programs(struct blob b) { EH->e_phoff = ~0ull; }
static void bad_names(struct blob b) { EH->e_shstrndx = 0xfff0; }
static void long_section(struct blob b)
{
    section(b, ".text")->sh_size = ~0ull;
}
static void symbol_size(struct blob b)
{
    section(b, ".symtab")->sh_entsize = 16;
}
static void symbol_names(struct blob b)
{
    section(b, ".symtab")->sh_link = 1;
}
static void nothing_loaded(struct blob b)
{
    for (int i = 0; i < EH->e_phnum; i++)
        programs(b)[i].p_type = PT_NULL;
}
static void segment_order(struct blob b)
{
    programs(b)[2].p_vaddr = 0;
}
static void segment_file(struct blob b)
{
    programs(b)[2].p_filesz = programs(b)[2].p_memsz = b.n;
}
static void load_relocs(struct blob b)
{
    section(b, ".gnu.hash")->sh_type = SHT_RELA;
}
static void kd_unknown(struct blob b) { replace(b, ".symbol\xa8" "alpha.kd",
                                                ".symbol\xa8" "alphx.kd"); }
static void kd_entry(struct blob b)
{
    memset(descriptor(b) + 16, 0x7f, 8);
}
static void kd_unaligned(struct blob b) { descriptor(b)[16] |= 2; }
static void kd_kernarg(struct blob b)
{
    memset(descriptor(b) + 8, 0x7f, 4);
}
static void kd_outside(struct blob b)
{
    Elf64_Sym *y = (Elf64_Sym *)(b.p + section(b, ".symtab")->sh_offset);
    size_t n = section(b, ".symtab")->sh_size / sizeof *y;

    for (size_t i = 0; i < n; i++)
        if (ELF64_ST_TYPE(y[i].st_info) == STT_OBJECT)
            y[i].st_value = 0x100000;
}
static void note_size(struct blob b)
{
    ((Elf64_Nhdr *)(b.p + section(b, ".note")->sh_offset))->n_descsz = ~0u;
}
static void meta_no_map(struct blob b)
{
    b.p[section(b, ".note")->sh_offset + 20] = 0x01;
}
static void meta_number(struct blob b)
{
    replace(b, ".vgpr_count\x03", ".vgpr_count\xc0");
}
static void meta_no_symbol(struct blob b)
{
    replace(b, ".symbol", ".nobody");
}
static void meta_kernels(struct blob b)
{
    replace(b, "amdhsa.kernels\x92", "amdhsa.kernels\xc0");
}
static void meta_args(struct blob b) { replace(b, ".args\x93", ".args\xc0"); }
static void meta_far_arg(struct blob b)
{
    replace(b, ".offset\x08", ".offset\xff");
}
static void bundle(struct blob b)
{
    memcpy(b.p, "__CLANG_OFFLOAD_BUNDLE__", 24);
}

static const struct {
    const char *name;
    void (*damage)(struct blob b);
    kiln_status status;
    const char *text;
} defects[] = {
    { "magic", no_magic, KILN_BAD_INPUT, "not an ELF file" },
    { "bundle", bundle, KILN_UNSUPPORTED, "offload bundle" },
    { "class", wrong_class, KILN_UNSUPPORTED, "not a 64-bit" },
    { "machine", wrong_machine, KILN_UNSUPPORTED, "ELF machine 62" },
    { "os", wrong_os, KILN_UNSUPPORTED, "OS ABI 0" },
    { "abi", old_abi, KILN_UNSUPPORTED, "ABI byte 0" },
    { "type", wrong_type, KILN_UNSUPPORTED, "ELF type 2" },
    { "no sections", no_sections, KILN_BAD_INPUT, "no section table" },
    { "sections", far_sections, KILN_BAD_INPUT, "section headers" },
    { "programs", far_programs, KILN_BAD_INPUT, "program headers" },
    { "names", bad_names, KILN_BAD_INPUT, "no readable name" },
    { "section", long_section, KILN_BAD_INPUT, "beyond the end of the file" },
    { "symbols", symbol_size, KILN_BAD_INPUT, "16-byte entries" },
    { "symbol names", symbol_names, KILN_BAD_INPUT,
      "symbol 0 has no readable name" },
    { "load", nothing_loaded, KILN_BAD_INPUT, "nothing to load" },
    { "order", segment_order, KILN_BAD_INPUT, "out of order" },
    { "segment", segment_file, KILN_BAD_INPUT, "reaches beyond the file" },
    { "relocations", load_relocs, KILN_UNSUPPORTED, ".gnu.hash holds" },
    { "kd name", kd_unknown, KILN_BAD_INPUT, "alphx.kd, which is no symbol" },
    { "kd place", kd_outside, KILN_BAD_INPUT, "descriptor at 0x100000" },
    { "entry", kd_entry, KILN_BAD_INPUT, "not in executable code" },
    { "entry alignment", kd_unaligned, KILN_BAD_INPUT,
      "not in executable code" },
    { "kernarg", kd_kernarg, KILN_BAD_INPUT, "more than 1 MB" },
    { "note", note_size, KILN_BAD_INPUT, "beyond its section" },
    { "map", meta_no_map, KILN_BAD_INPUT, "not a map" },
    { "number", meta_number, KILN_BAD_INPUT, "malformed .vgpr_count" },
    { "symbol", meta_no_symbol, KILN_BAD_INPUT, "without .name or .symbol" },
    { "kernels", meta_kernels, KILN_BAD_INPUT, "malformed amdhsa.kernels" },
    { "args", meta_args, KILN_BAD_INPUT, "malformed .args" },
    { "argument", meta_far_arg, KILN_BAD_INPUT, "malformed .offset" },
};

static void
test_defects_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        struct blob b = slurp(built_dir, "kernels.lld");
        struct fixture f;
        kiln_status s;

        defects[i].damage(b);
        s = read_blob(&f, b);
        if (s != defects[i].status || strncmp(f.c.err.text, "x.co: ", 6) ||
            !strstr(f.c.err.text, defects[i].text))
            fail_msg("%s: status %d: %s", defects[i].name, s, f.c.err.text);
        drop(&f);
    }
}

/* Without a note the kernels come from the symbols and descriptors. */
static void
test_no_metadata(void **state)
{
    struct blob b = slurp(built_dir, "kernels.lld");
    struct fixture f;

    (void)state;
    section(b, ".note")->sh_type = SHT_PROGBITS;
    expect_ok(&f, read_blob(&f, b));
    assert_int_equal(f.o.nkernels, 2);
    assert_string_equal(f.o.kernels[0].name, "alpha");
    assert_false(f.o.kernels[0].metadata);
    assert_int_equal(f.o.kernels[0].lds, 1024);
    assert_int_equal(f.o.kernels[0].regs, 8);
    assert_int_equal(f.o.kernels[0].nargs, 0);
    drop(&f);
}

static void
test_unaligned_input(void **state)
{
    struct blob b = slurp(built_dir, "kernels.lld");
    struct blob odd = { malloc(b.n + 1), b.n };
    struct kn_object o;
    struct kn_ctx c;

    (void)state;
    memcpy(odd.p + 1, b.p, b.n);
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_object_read(&c, "x", odd.p + 1, odd.n, &o), KILN_OK);
    assert_int_equal(o.nkernels, 2);
    kn_ctx_free(&c);
    free(odd.p);
    free(b.p);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triton_facts),
        cmocka_unit_test(test_relocatable_reads_like_linked),
        cmocka_unit_test(test_kernel_by_name),
        cmocka_unit_test(test_defects_are_named),
        cmocka_unit_test(test_no_metadata),
        cmocka_unit_test(test_unaligned_input),
    };

    if (argc != 3)
        return 2;
    data_dir = argv[1];
    built_dir = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
