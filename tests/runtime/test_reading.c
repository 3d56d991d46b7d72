/* test_reading.c - code objects as comgr and kiln read them: the system's own
 * comgr, and the same one told of kiln's targets, as 2.x and 3.x; objects and
 * offload bundles that a device takes or refuses.
 *
 * usage: test_reading BUILT OBJECTS */
#include "../kit/slurp.h"

#include <dlfcn.h>
#include <string.h>

#include "emit/isa/object.h"
#include "runtime/reading.h"

static const char *built_dir, *object_dir;
static const char *const objects[] = { "kernels.lld", "many.lld",
                                       "lined.lld", "lined4.lld" };
static const char *const told[] = { "libtold_comgr2.so", "libtold_comgr3.so" };

static struct kn_bytes
bytes_of(struct blob b)
{
    return (struct kn_bytes){ b.p, b.n };
}

/* library NULL: the system's. */
static void
open_reader(struct kn_ctx *c, const char *library, struct kn_reader *r)
{
    char path[1024];

    kn_ctx_init(c, NULL, NULL);
    snprintf(path, sizeof path, "%s/%s", built_dir, library ? library : "");
    assert_int_equal(kn_reader_open(c, library ? path : NULL, r), KILN_OK);
}

static void *
told_function(const char *library, const char *name)
{
    char path[1024];
    void *so, *f;

    snprintf(path, sizeof path, "%s/%s", built_dir, library);
    so = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(so);
    f = dlsym(so, name);
    assert_non_null(f);
    dlclose(so);
    return f;
}

static void
lie_about(const char *library, const char *key)
{
    void (*f)(const char *);
    void *p = told_function(library, "told_lie");

    memcpy(&f, &p, sizeof f);
    f(key);
}

static int
lookups(const char *library)
{
    int (*f)(void);
    void *p = told_function(library, "told_lookups");

    memcpy(&f, &p, sizeof f);
    return f();
}

static void
agree_on(const char *library, const char *by, const char *isa_by,
         const char *isa)
{
    struct kn_reading theirs, own;
    struct kn_reader r;
    struct kn_ctx c;

    open_reader(&c, library, &r);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        struct blob in = slurp(object_dir, objects[i]);

        assert_int_equal(kn_reading_take(&c, NULL, bytes_of(in), &own),
                         KILN_OK);
        if (kn_reading_take(&c, r.comgr, bytes_of(in), &theirs) ||
            kn_reading_compare(&c, &theirs, &own))
            fail_msg("%s: %s", objects[i], c.err.text);
        assert_int_equal(theirs.n, own.n);
        assert_true(own.n > 0);
        assert_string_equal(own.by, "kiln");
        if (by)
            assert_string_equal(theirs.by, by);
        assert_string_equal(theirs.isa_by, isa_by ? isa_by : theirs.by);
        assert_string_equal(theirs.isa, isa);
        free(in.p);
    }
    kn_ctx_free(&c);
}

/* Who says the ISA depends on what the system's comgr knows. */
static void
the_systems_comgr_agrees(void **state)
{
    struct kn_reader r;
    struct kn_ctx c;
    bool knows;

    (void)state;
    open_reader(&c, NULL, &r);
    assert_non_null(r.comgr);
    knows = kn_comgr_knows(r.comgr, KILN_GFX950);
    kn_ctx_free(&c);
    if (!knows)
        agree_on(NULL, NULL, "ELF flags", "amdgcn-amd-amdhsa--gfx950");
}

static void
two_and_three_name_the_isa(void **state)
{
    (void)state;
    agree_on(told[0], "comgr 2.8", NULL, "amdgcn-amd-amdhsa--gfx950");
    agree_on(told[1], "comgr 3.8", NULL,
             "amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-");
}

/* The sentence of a refusal, "" for none. */
static void
select_from(struct kn_reader *r, struct kn_bytes in,
            const struct kn_wanted *want, struct kn_bytes *out, char *why)
{
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    kn_reader_select(r, &c, want, in, out);
    strcpy(why, c.err.text);
    kn_ctx_free(&c);
}

static void
a_lie_is_refused(void **state)
{
    static const struct { const char *key, *why; } lies[] = {
        { ".vgpr_count", "'vgpr_count' of kernel alpha differently" },
        { ".agpr_count", "'agpr_count' of kernel alpha differently" },
        { ".sgpr_count", "'sgpr_count' of kernel alpha differently" },
        { ".max_flat_workgroup_size", "'max_flat_workgroup_size' of kernel" },
        { ".kernarg_segment_size", "'kernarg_segment_size' of kernel alpha" },
        { ".name", "kernel alphb in the metadata and finds no descriptor" },
        { "isa", "calls the code object's ISA amdgcn-amd-amdhsa--gfx942" },
        { "", "" },
    };
    const struct kn_wanted want = { KILN_GFX950, "alpha" };
    struct blob in = slurp(object_dir, "kernels.lld");
    char why[sizeof((kiln_error *)0)->text];
    struct kn_bytes out;
    struct kn_reader r;
    struct kn_ctx c;

    (void)state;
    open_reader(&c, told[1], &r);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        lie_about(told[1], lies[i].key);
        select_from(&r, bytes_of(in), &want, &out, why);
        if (!*lies[i].why ? *why : !strstr(why, lies[i].why))
            fail_msg("%s: '%s'", lies[i].key, why);
    }
    kn_ctx_free(&c);
    free(in.p);
}

/* ---- offload bundles ------------------------------------------------------ */

enum { BUNDLE = 4096 };

static void
put_entry(struct blob *b, size_t *head, const char *id, struct blob co)
{
    uint64_t e[3] = { b->n, co.n, strlen(id) };

    memcpy(b->p + *head, e, sizeof e);
    memcpy(b->p + *head + sizeof e, id, e[2]);
    *head += sizeof e + e[2];
    memcpy(b->p + b->n, co.p, co.n);
    b->n += co.n;
}

/* A host's entry, code of gfx942 and, unless `one`, of gfx950. */
static struct blob
make_bundle(struct blob gfx942, struct blob gfx950, const char *features,
            bool one)
{
    struct blob b = { calloc(1, BUNDLE + gfx942.n + gfx950.n), BUNDLE };
    size_t head = 32;
    uint64_t n = one ? 2 : 3;
    char id[128];

    assert_non_null(b.p);
    memcpy(b.p, "__CLANG_OFFLOAD_BUNDLE__", 24);
    memcpy(b.p + 24, &n, sizeof n);
    put_entry(&b, &head, "host-x86_64-unknown-linux-gnu-",
              (struct blob){ b.p, 0 });
    snprintf(id, sizeof id, "hipv4-amdgcn-amd-amdhsa--gfx942%s", features);
    put_entry(&b, &head, id, gfx942);
    snprintf(id, sizeof id, "hipv4-amdgcn-amd-amdhsa--gfx950%s", features);
    if (!one)
        put_entry(&b, &head, id, gfx950);
    return b;
}

/* The object as one of gfx942's. */
static struct blob
as_gfx942(struct blob in)
{
    in.p[48] = 0x4c;
    return in;
}

static void
pick_with(const char *library, const char *features)
{
    struct blob old = as_gfx942(slurp(object_dir, "kernels.lld"));
    struct blob new = slurp(object_dir, "many.lld");
    struct blob b = make_bundle(old, new, features, false);
    struct kn_wanted want = { KILN_GFX942, "alpha" };
    char why[sizeof((kiln_error *)0)->text];
    struct kn_reading own;
    struct kn_bytes out;
    struct kn_reader r;
    struct kn_ctx c;

    open_reader(&c, library, &r);
    select_from(&r, bytes_of(b), &want, &out, why);
    assert_string_equal(why, "");
    assert_int_equal(out.n, old.n);
    assert_memory_equal(out.p, old.p, old.n);
    assert_int_equal(kn_reading_take(&c, NULL, bytes_of(new), &own), KILN_OK);
    want = (struct kn_wanted){ KILN_GFX950, own.kernels[0].name };
    select_from(&r, bytes_of(b), &want, &out, why);
    assert_string_equal(why, "");
    assert_int_equal(out.n, new.n);
    free(b.p);
    b = make_bundle(old, new, features, true);
    select_from(&r, bytes_of(b), &want, &out, why);
    assert_string_equal(why, "the offload bundle has no code for gfx950");
    kn_ctx_free(&c);
    free(b.p);
    free(old.p);
    free(new.p);
}

static void
code_is_picked_by_comgr_or_without(void **state)
{
    static const char *const features[] = { "", ":sramecc+:xnack-",
                                            ":sramecc+:xnack+" };

    (void)state;
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        pick_with("none", features[i]);
        pick_with(NULL, features[i]);
        for (size_t t = 0; t < 2; t++) {
            pick_with(told[t], features[i]);
            assert_int_equal(lookups(told[t]), 3 * (i + 1));
        }
    }
}

/* kiln's own search on bytes of strangers. */
static void
a_cut_bundle_has_nothing(void **state)
{
    struct blob co = slurp(object_dir, "kernels.lld");
    struct blob b = make_bundle(co, co, "", false);
    size_t size;

    (void)state;
    for (size_t n = 0; n < b.n; n += n < 256 ? 1 : 997) {
        uint8_t *cut = malloc(n ? n : 1);
        const uint8_t *p;

        memcpy(cut, b.p, n);
        p = kn_offload_find(KILN_GFX950, cut, n, &size);
        if (p)
            fail_msg("found in %zu of %zu bytes", n, b.n);
        free(cut);
    }
    assert_non_null(kn_offload_find(KILN_GFX950, b.p, b.n, &size));
    free(b.p);
    free(co.p);
}

static void
other_code_is_refused(void **state)
{
    struct blob in = slurp(object_dir, "kernels.lld");
    char why[sizeof((kiln_error *)0)->text];
    struct kn_wanted want = { KILN_GFX942, "alpha" };
    struct kn_bytes out;
    struct kn_reader r;
    struct kn_ctx c;

    (void)state;
    open_reader(&c, told[0], &r);
    select_from(&r, bytes_of(in), &want, &out, why);
    assert_string_equal(why, "the code object is for "
                        "amdgcn-amd-amdhsa--gfx950 (comgr 2.8), the device "
                        "is amdgcn-amd-amdhsa--gfx942");
    kn_ctx_free(&c);
    open_reader(&c, "none", &r);
    assert_string_equal(r.name, "kiln");
    select_from(&r, bytes_of(in), &want, &out, why);
    assert_string_equal(why, "the code object is for "
                        "amdgcn-amd-amdhsa--gfx950 (ELF flags), the device "
                        "is amdgcn-amd-amdhsa--gfx942");
    want = (struct kn_wanted){ KILN_GFX950, "omega" };
    select_from(&r, bytes_of(in), &want, &out, why);
    assert_string_equal(why, "the code object has no kernel omega");
    kn_ctx_free(&c);
    free(in.p);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_systems_comgr_agrees),
        cmocka_unit_test(two_and_three_name_the_isa),
        cmocka_unit_test(a_lie_is_refused),
        cmocka_unit_test(code_is_picked_by_comgr_or_without),
        cmocka_unit_test(a_cut_bundle_has_nothing),
        cmocka_unit_test(other_code_is_refused),
    };

    if (argc != 3)
        return 2;
    built_dir = argv[1];
    object_dir = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
