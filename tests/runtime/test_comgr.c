/* test_comgr.c - the comgr binding: a real one where the system has it, and
 * fake ones of other versions that check what they are asked. */
#include "../kit/slurp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "emit/isa/elfview.h"
#include "runtime/comgr.h"

static const char *built_dir, *object_dir;

static const struct kn_bytes obj = { (const uint8_t *)"obj", 3 };

static struct kn_bytes
bytes_of(struct blob b)
{
    return (struct kn_bytes){ b.p, b.n };
}

static struct kn_comgr *
open_fake(struct kn_ctx *c, const char *name, void **so)
{
    struct kn_comgr *g;
    char path[1024];

    snprintf(path, sizeof path, "%s/%s", built_dir, name);
    if (kn_comgr_open(c, path, &g))
        fail_msg("%s", c->err.text);
    *so = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(*so);
    return g;
}

static int
ask_fake(void *so, const char *name)
{
    int (*f)(void);
    void *p = dlsym(so, name);

    assert_non_null(p);
    memcpy(&f, &p, sizeof f);
    return f();
}

static void
check_fake(const char *name, unsigned major, int action, bool knows)
{
    struct kn_comgr *g;
    struct kn_ctx c;
    struct kn_bytes out;
    void *so;

    kn_ctx_init(&c, NULL, NULL);
    g = open_fake(&c, name, &so);
    assert_int_equal(kn_comgr_version(g).major, major);
    assert_int_equal(kn_comgr_knows(g, KILN_GFX950), knows);
    assert_false(kn_comgr_knows(g, KILN_GFX942));
    assert_int_equal(kn_comgr_link(g, &c, KILN_GFX950, obj, &out),
                     KILN_OK);
    assert_int_equal(ask_fake(so, "fake_action"), action);
    assert_string_equal((const char *)out.p, knows ? "amdgcn-amd-amdhsa--gfx950"
                                           : "amdgcn-amd-amdhsa--gfx90a");
    assert_int_equal(ask_fake(so, "fake_live"), 0);
    dlclose(so);
    kn_ctx_free(&c);
}

/* The action numbers changed between 2 and 3: each fake refuses the other's. */
static void
test_action_numbers(void **state)
{
    (void)state;
    check_fake("libfake_comgr2.so", 2, 9, false);
    check_fake("libfake_comgr3.so", 3, 7, true);
}

static void
test_unknown_version_is_not_guessed(void **state)
{
    struct kn_comgr *g;
    struct kn_ctx c;
    struct kn_bytes out;
    void *so;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    g = open_fake(&c, "libfake_comgr4.so", &so);
    assert_int_equal(kn_comgr_link(g, &c, KILN_GFX950, obj, &out),
                     KILN_UNSUPPORTED);
    assert_string_equal(c.err.text,
                        "comgr 4.1: its action numbers are not known");
    assert_int_equal(ask_fake(so, "fake_action"), 0);
    dlclose(so);
    kn_ctx_free(&c);
}

static void
test_missing_library_or_function(void **state)
{
    struct kn_comgr *g;
    struct kn_ctx c;
    char path[1024];

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_comgr_open(&c, "./no-such.so", &g),
                     KILN_UNSUPPORTED);
    assert_non_null(strstr(c.err.text, "no libamd_comgr: ./no-such.so"));
    c.err.status = KILN_OK;
    snprintf(path, sizeof path, "%s/libfake_incomplete.so", built_dir);
    assert_int_equal(kn_comgr_open(&c, path, &g), KILN_UNSUPPORTED);
    assert_string_equal(
        c.err.text,
        "libamd_comgr has no function amd_comgr_symbol_get_info");
    kn_ctx_free(&c);
}

/* The system's own comgr, or the case is skipped. */
static struct kn_comgr *
open_real(struct kn_ctx *c)
{
    struct kn_comgr *g;

    kn_ctx_init(c, NULL, NULL);
    if (kn_comgr_open(c, NULL, &g)) {
        kn_ctx_free(c);
        skip();
    }
    return g;
}

static void
same_bytes(const struct kn_elf *a, const struct kn_elf *b, const char *name)
{
    const Elf64_Shdr *x = NULL, *y = NULL;

    for (uint32_t i = 0; i < a->nsh; i++)
        if (!strcmp(kn_elf_section_name(a, i), name))
            x = &a->sh[i];
    for (uint32_t i = 0; i < b->nsh; i++)
        if (!strcmp(kn_elf_section_name(b, i), name))
            y = &b->sh[i];
    assert_non_null(x);
    assert_non_null(y);
    if (x->sh_addr != y->sh_addr || x->sh_size != y->sh_size ||
        memcmp(a->p + x->sh_offset, b->p + y->sh_offset, x->sh_size))
        fail_msg("%s differs", name);
}

static void
same_symbols(const struct kn_elf *a, const struct kn_elf *b, uint32_t type)
{
    struct kn_elf_syms x, y;

    assert_int_equal(kn_elf_symbols(a, type, &x), KILN_OK);
    assert_int_equal(kn_elf_symbols(b, type, &y), KILN_OK);
    assert_int_equal(x.n, y.n);
    for (uint32_t i = 0; i < x.n; i++)
        if (strcmp(x.sym[i].name, y.sym[i].name) ||
            x.sym[i].s.st_value != y.sym[i].s.st_value ||
            x.sym[i].s.st_size != y.sym[i].s.st_size)
            fail_msg("symbol %s differs", x.sym[i].name);
}

static void
compare_links(struct kn_ctx *c, struct blob a, struct kn_bytes b)
{
    static const char *const same[] = {
        ".note", ".dynsym", ".gnu.hash", ".hash", ".dynstr", ".rodata",
        ".text", ".dynamic",
    };
    struct kn_elf x, y;

    assert_int_equal(kn_elf_open(c, "kiln", a.p, a.n, &x), KILN_OK);
    assert_int_equal(kn_elf_open(c, "other", b.p, b.n, &y), KILN_OK);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        same_bytes(&x, &y, same[i]);
    same_symbols(&x, &y, SHT_SYMTAB);
    same_symbols(&x, &y, SHT_DYNSYM);
}

static void
test_real_link_agrees_with_ours(void **state)
{
    struct blob in = slurp(object_dir, "kernels.o"), a;
    struct kn_bytes b;
    struct kn_comgr *g;
    struct kn_ctx c;

    (void)state;
    g = open_real(&c);
    assert_int_equal(kn_object_link(&c, in.p, in.n, &a.p, &a.n), KILN_OK);
    if (kn_comgr_link(g, &c, KILN_GFX950, bytes_of(in), &b))
        fail_msg("%s", c.err.text);
    compare_links(&c, a, b);
    kn_ctx_free(&c);
    free(in.p);
}

static void
test_real_refusal_carries_the_log(void **state)
{
    struct kn_comgr *g;
    struct kn_bytes out;
    struct kn_ctx c;

    (void)state;
    g = open_real(&c);
    assert_int_equal(
        kn_comgr_link(g, &c, KILN_GFX950, obj, &out),
        KILN_UNSUPPORTED);
    if (!strstr(c.err.text, "cannot link: lld: error: "))
        fail_msg("%s", c.err.text);
    kn_ctx_free(&c);
}

static void
test_real_queries(void **state)
{
    struct blob in = slurp(object_dir, "kernels.lld");
    struct kn_comgr_symbols y;
    struct kn_comgr *g;
    struct kn_ctx c;
    struct kn_buf b = { .c = &c };
    struct kn_comgr_isa isa;

    (void)state;
    g = open_real(&c);
    assert_int_equal(kn_comgr_symbols(g, &c, bytes_of(in), &y), KILN_OK);
    assert_int_equal(y.n, 4);
    assert_string_equal(y.sym[0].name, "alpha");
    assert_int_equal(y.sym[0].type, 2);
    assert_int_equal(y.sym[0].value, 0x1800);
    assert_int_equal(y.sym[0].size, 76);
    assert_string_equal(y.sym[1].name, "alpha.kd");
    assert_int_equal(y.sym[1].type, 1);
    assert_int_equal(kn_comgr_metadata(g, &c, bytes_of(in), &b), KILN_OK);
    assert_non_null(strstr(b.s, "amdhsa.kernels[0].args[1].offset = 8\n"));
    assert_non_null(strstr(b.s, "amdhsa.kernels[1].name = beta\n"));
    assert_non_null(
        strstr(b.s, "amdhsa.target = amdgcn-amd-amdhsa--gfx950\n"));
    assert_int_equal(kn_comgr_isa_name(g, &c, bytes_of(in), &isa), KILN_OK);
    assert_string_equal(isa.name, "amdgcn-amd-amdhsa--gfx950");
    kn_ctx_free(&c);
    free(in.p);
}

/* comgr's reading of the metadata against ours, number by number. */
static void
expect_line(const char *text, unsigned k, const char *key, unsigned v)
{
    char line[128];

    snprintf(line, sizeof line, "amdhsa.kernels[%u].%s = %u\n", k, key, v);
    if (!strstr(text, line))
        fail_msg("comgr does not say: %s", line);
}

static void
test_real_metadata_agrees_with_ours(void **state)
{
    struct blob in = slurp(object_dir, "many.lld");
    struct kn_object o;
    struct kn_comgr *g;
    struct kn_ctx c;
    struct kn_buf b = { .c = &c };

    (void)state;
    g = open_real(&c);
    assert_int_equal(kn_object_read(&c, "x", in.p, in.n, &o), KILN_OK);
    assert_int_equal(kn_comgr_metadata(g, &c, bytes_of(in), &b), KILN_OK);
    assert_int_equal(o.nkernels, 10);
    for (uint32_t i = 0; i < o.nkernels; i++) {
        const struct kn_object_kernel *k = &o.kernels[i];

        expect_line(b.s, i, "vgpr_count", k->vgpr);
        expect_line(b.s, i, "sgpr_count", k->sgpr);
        expect_line(b.s, i, "kernarg_segment_size", k->kernarg_size);
        expect_line(b.s, i, "max_flat_workgroup_size", k->max_workgroup);
    }
    kn_ctx_free(&c);
    free(in.p);
}

struct worker {
    struct kn_comgr *g;
    struct blob in;
    struct kn_bytes first;
    bool ok;
};

static void *
link_often(void *arg)
{
    struct worker *w = arg;
    struct kn_ctx c;

    w->ok = true;
    for (int i = 0; i < 5; i++) {
        struct kn_bytes out;

        kn_ctx_init(&c, NULL, NULL);
        if (kn_comgr_link(w->g, &c, KILN_GFX950, bytes_of(w->in), &out) ||
            out.n != w->first.n || memcmp(out.p, w->first.p, out.n))
            w->ok = false;
        kn_ctx_free(&c);
    }
    return NULL;
}

static void
test_real_link_from_threads(void **state)
{
    struct worker w[4] = { { 0 } };
    struct kn_comgr *g;
    pthread_t t[4];
    struct kn_ctx c;

    (void)state;
    g = open_real(&c);
    for (int i = 0; i < 4; i++) {
        w[i].g = g;
        w[i].in = slurp(object_dir, "kernels.o");
    }
    assert_int_equal(kn_comgr_link(g, &c, KILN_GFX950, bytes_of(w[0].in),
                                   &w[0].first),
                     KILN_OK);
    for (int i = 0; i < 4; i++) {
        w[i].first = w[0].first;
        assert_int_equal(pthread_create(&t[i], NULL, link_often, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        assert_true(w[i].ok);
        free(w[i].in.p);
    }
    kn_ctx_free(&c);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_action_numbers),
        cmocka_unit_test(test_unknown_version_is_not_guessed),
        cmocka_unit_test(test_missing_library_or_function),
        cmocka_unit_test(test_real_link_agrees_with_ours),
        cmocka_unit_test(test_real_refusal_carries_the_log),
        cmocka_unit_test(test_real_queries),
        cmocka_unit_test(test_real_metadata_agrees_with_ours),
        cmocka_unit_test(test_real_link_from_threads),
    };

    if (argc != 3)
        return 2;
    built_dir = argv[1];
    object_dir = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
