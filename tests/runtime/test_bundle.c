/* test_bundle.c - bundles: written and read in C, lookup by problem, damage
 * of every kind. Built with the inside of libkiln, which writes them. */
#include "../kit/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/api/bundle.h"
#include "../../runtime/api/context.h"

enum { KERNELS = 3, CAP = 1 << 20 };

static struct {
    char folder[64], path[128];
    kiln_kernel *k[KERNELS];
    struct kn_packed packed[KERNELS];
    unsigned char bytes[CAP];
    size_t size;
} t;

static const char *const configs[KERNELS] = {
    "tile=32x32x64 ktail=1 align=2,2,16,16 vec=1",
    "tile=64x64x64 ktail=0 align=16,16,16,16 vec=4", "tile=32x32x64",
};

static kiln_problem
problem_of(int i)
{
    kiln_problem p = small_problem(100, 64, 64);

    if (i == 2)
        p.out = KILN_BF16;
    return p;
}

static kiln_status
make(struct kn_ctx *c, struct kn_packed *k, uint32_t n, uint8_t **out,
     size_t *size)
{
    KN_ENTER(c);
    for (uint32_t i = 0; i < n; i++) {
        kiln_problem p = t.k[i]->problem;

        kn_make_key(c, &p, &t.k[i]->config, &k[i].key);
        k[i].co = t.k[i]->co;
        k[i].size = t.k[i]->co_size;
        k[i].certificate = p.out == KILN_BF16 ? NULL : t.k[i]->hex;
    }
    return kn_bundle_make(c, k, n, out, size);
}

static void
pack(const int *order, uint32_t n, unsigned char *out, size_t *size)
{
    struct kn_packed k[2 * KERNELS];
    kiln_kernel *keep[KERNELS];
    struct kn_ctx c;
    uint8_t *bytes;

    memcpy(keep, t.k, sizeof keep);
    for (uint32_t i = 0; i < n; i++)
        t.k[i] = keep[order[i]];
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(make(&c, k, n, &bytes, size), KILN_OK);
    assert_true(*size <= CAP);
    memcpy(out, bytes, *size);
    kn_ctx_free(&c);
    memcpy(t.k, keep, sizeof keep);
}

static int
setup(void **state)
{
    static const int order[] = { 0, 1, 2 };
    kiln_context *x = open_context(NULL, 0, NULL);
    kiln_error e;

    (void)state;
    make_folder(t.folder);
    snprintf(t.path, sizeof t.path, "%s/lib.kpk", t.folder);
    for (int i = 0; i < KERNELS; i++) {
        kiln_problem p = problem_of(i);

        assert_ok(kiln_compile(x, &p, configs[i], &t.k[i], &e), &e);
    }
    kiln_close(x);           /* kernels outlive their context */
    pack(order, KERNELS, t.bytes, &t.size);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (int i = 0; i < KERNELS; i++)
        kiln_release(t.k[i]);
    drop_folder(t.folder);
    return 0;
}

static void
same_bytes_in_any_order(void **state)
{
    static const int order[] = { 2, 0, 1 };
    static unsigned char other[CAP];
    size_t n;

    (void)state;
    pack(order, KERNELS, other, &n);
    assert_int_equal(n, t.size);
    assert_memory_equal(other, t.bytes, n);
}

static void
lookup_by_problem(void **state)
{
    kiln_context *x = open_context(NULL, KILN_RUN_ONLY, NULL);
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    write_bytes(t.path, t.bytes, t.size);
    assert_ok(kiln_add_bundle(x, t.path, &e), &e);
    for (int i = 0; i < KERNELS; i++) {
        kiln_problem p = problem_of(i);

        assert_ok(kiln_lookup(x, &p, configs[i], &k, &e), &e);
        kiln_get_kernel(k, &info);
        assert_int_equal(info.source, KILN_FROM_BUNDLE);
        assert_int_equal(info.code_size, t.k[i]->co_size);
        assert_memory_equal(info.code, t.k[i]->co, info.code_size);
        assert_string_equal(info.key, t.k[i]->hex);
        kiln_release(k);
    }
    kiln_close(x);
}

static void
config_of_chosen(kiln_context *x, const kiln_problem *p, const char *config)
{
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;
    kiln_error e;

    assert_ok(kiln_lookup(x, p, NULL, &k, &e), &e);
    kiln_get_kernel(k, &info);
    if (strncmp(info.config, config, strlen(config)) != 0)
        fail_msg("took %s", info.config);
    kiln_release(k);
}

/* What kiln would choose is not in the bundle: another kernel whose domain
 * covers the problem serves it, and one that does not is not taken. */
static void
a_covering_kernel_serves(void **state)
{
    kiln_context *x = open_context(NULL, KILN_RUN_ONLY, NULL);
    kiln_problem p = small_problem(10000, 4096, 1024);
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    write_bytes(t.path, t.bytes, t.size);
    assert_ok(kiln_add_bundle(x, t.path, &e), &e);
    config_of_chosen(x, &p, "tile=64x64x64");
    p = small_problem(10000, 4097, 1001);
    config_of_chosen(x, &p, "tile=32x32x64");
    p = small_problem(100, 64, 64);
    p.scale = KILN_SCALE_TENSOR;
    p.a = KILN_FP8;
    assert_int_equal(kiln_lookup(x, &p, NULL, &k, &e), KILN_NOT_FOUND);
    p = small_problem(10000, 4096, 1024); /* a given tile has no substitute */
    assert_int_equal(kiln_lookup(x, &p, "tile=128x64x64", &k, &e),
                     KILN_NOT_FOUND);
    kiln_close(x);
}

static void
kernel_outlives_everything(void **state)
{
    kiln_context *x = open_context(NULL, 0, NULL);
    kiln_problem p = problem_of(0);
    kiln_kernel_info info = { .size = sizeof info };
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    write_bytes(t.path, t.bytes, t.size);
    assert_ok(kiln_add_bundle(x, t.path, &e), &e);
    assert_ok(kiln_lookup(x, &p, configs[0], &k, &e), &e);
    kiln_close(x);
    remove(t.path);
    kiln_get_kernel(k, &info);
    assert_memory_equal(info.code, t.k[0]->co, info.code_size);
    kiln_release(k);
}

static kiln_status
open_bytes(const unsigned char *p, size_t n, kiln_error *e)
{
    kiln_context *x = open_context(NULL, KILN_RUN_ONLY, NULL);
    kiln_status s;

    write_bytes(t.path, p, n);
    s = kiln_add_bundle(x, t.path, e);
    kiln_close(x);
    return s;
}

/* Every byte of header, index and manifest counts. */
static void
damage_is_refused(void **state)
{
    static unsigned char bytes[CAP];
    struct kn_bundle_header h;
    kiln_error e;
    size_t head;

    (void)state;
    memcpy(&h, t.bytes, sizeof h);
    head = (size_t)(h.manifest_at + h.manifest_size);
    for (size_t i = 0; i < head; i += i < 200 ? 1 : 37) {
        memcpy(bytes, t.bytes, t.size);
        bytes[i] ^= 1;
        if (open_bytes(bytes, t.size, &e) != KILN_BAD_INPUT)
            fail_msg("byte %zu: %s", i, e.text);
    }
    for (size_t n = 0; n < t.size; n += n < 300 ? 1 : 997)
        if (open_bytes(t.bytes, n, &e) != KILN_BAD_INPUT)
            fail_msg("%zu bytes: %s", n, e.text);
    assert_int_equal(open_bytes(t.bytes, t.size, &e), KILN_OK);
}

static void
damaged_code_is_refused(void **state)
{
    static unsigned char bytes[CAP];
    kiln_context *x = open_context(NULL, KILN_RUN_ONLY, NULL);
    kiln_problem p = problem_of(2);
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    memcpy(bytes, t.bytes, t.size);
    /* of the last in order: bf16 < f32; two certificates follow */
    bytes[t.size - 1 - 2 * (KN_HEX - 1)] ^= 1;
    p = problem_of(1);
    write_bytes(t.path, bytes, t.size);
    assert_ok(kiln_add_bundle(x, t.path, &e), &e);
    assert_int_equal(kiln_lookup(x, &p, configs[1], &k, &e), KILN_IO);
    assert_non_null(strstr(e.text, "damaged"));
    kiln_close(x);
}

/* The digest is nobody's signature: an index that was made to fit. Each entry
 * has no configuration, or one that would be divided by. */
static void
forged_configurations_are_refused(void **state)
{
    static unsigned char bytes[CAP];

    (void)state;
    for (int lie = 0; lie < 3; lie++) {
        kiln_context *x = open_context(NULL, KILN_RUN_ONLY, NULL);
        kiln_problem p = problem_of(1);
        struct kn_bundle_header h;
        struct kn_bundle_entry *entry = (void *)(bytes + sizeof h);
        kiln_kernel *k;
        kiln_error e;

        memcpy(bytes, t.bytes, t.size);
        memcpy(&h, bytes, sizeof h);
        for (uint32_t i = 0; i < h.nentries; i++) {
            char *config = (char *)bytes + h.manifest_at + entry[i].config_at;
            char *xcd = memmem(config, entry[i].config_size, " xcd=8", 6);

            assert_non_null(xcd);
            entry[i].config_size = lie ? entry[i].config_size : 0;
            if (lie == 1)
                xcd[5] = '0';
            if (lie == 2)
                memcpy(config, "tile=0", 6);
        }
        kn_sha256(bytes + sizeof h, (size_t)(h.manifest_at + h.manifest_size -
                                             sizeof h), h.digest);
        memcpy(bytes, &h, sizeof h);
        write_bytes(t.path, bytes, t.size);
        assert_ok(kiln_add_bundle(x, t.path, &e), &e);
        assert_int_equal(kiln_lookup(x, &p, NULL, &k, &e), KILN_BAD_INPUT);
        assert_non_null(strstr(e.text, "no complete configuration"));
        kiln_close(x);
    }
}

static void
another_generator_is_named(void **state)
{
    static unsigned char bytes[CAP];
    struct kn_bundle_header h;
    kiln_error e;

    (void)state;
    memcpy(bytes, t.bytes, t.size);
    memcpy(&h, bytes, sizeof h);
    memcpy(h.generator, "feedfeedfeedfeed", 16);
    memcpy(bytes, &h, sizeof h);
    assert_int_equal(open_bytes(bytes, t.size, &e), KILN_BAD_INPUT);
    assert_non_null(strstr(e.text, "generator feedfeedfeedfeed"));
}

/* Reads the certificates of the bundle at t.path: KILN_OK, or of the first
 * that is damaged. One of the kernels has none. */
static kiln_status
read_certificates(struct kn_ctx *c, unsigned *none)
{
    const struct kn_host host = { c->realloc, c->user };
    struct kn_bundle *b = NULL;
    kiln_status s;

    KN_ENTER(c);
    KN_TRY(kn_bundle_open(c, &host, t.path, &b));
    s = KILN_OK;
    for (uint32_t i = 0; i < b->head.nentries && !s; i++) {
        char hex[KN_HEX];
        const char *text;
        size_t size;

        s = kn_bundle_certificate(c, b, i, &text, &size);
        kn_hex(b->entry[i].key, hex);
        *none += !size;
        if (!s && size)
            assert_memory_equal(text, hex, KN_HEX - 1);
    }
    kn_bundle_release(b);
    return s;
}

static void
certificates_are_checked(void **state)
{
    struct kn_ctx c;
    unsigned none = 0;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    write_bytes(t.path, t.bytes, t.size);
    assert_int_equal(read_certificates(&c, &none), KILN_OK);
    assert_int_equal(none, 1);
    t.bytes[t.size - 1] ^= 1;
    write_bytes(t.path, t.bytes, t.size);
    assert_int_equal(read_certificates(&c, &none), KILN_IO);
    t.bytes[t.size - 1] ^= 1;
    kn_ctx_free(&c);
}

static void
missing_file(void **state)
{
    kiln_context *x = open_context(NULL, 0, NULL);
    kiln_error e;

    (void)state;
    remove(t.path);
    assert_int_equal(kiln_add_bundle(x, t.path, &e), KILN_IO);
    assert_int_equal(kiln_add_bundle(x, t.folder, &e), KILN_BAD_INPUT);
    kiln_close(x);
}

/* A copy of the code with each s_barrier as s_nop; how many there were. */
static size_t
drop_order(const uint8_t *co, size_t n, uint8_t *out)
{
    size_t dropped = 0;

    memcpy(out, co, n);
    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t word;

        memcpy(&word, co + i, 4);
        if (word != 0xbf8a0000)
            continue;
        word = 0xbf800000;
        memcpy(out + i, &word, 4);
        dropped++;
    }
    return dropped;
}

static kiln_status
take_one(const char *bundle, const char *folder, uint32_t flags, char *text)
{
    kiln_context *x = open_context(folder, KILN_RUN_ONLY | flags, NULL);
    kiln_problem p = problem_of(0);
    kiln_kernel *k = NULL;
    kiln_error e = { 0 };
    kiln_status s;

    if (bundle)
        assert_ok(kiln_add_bundle(x, bundle, &e), &e);
    s = kiln_lookup(x, &p, configs[0], &k, &e);
    if (!s)
        kiln_release(k);
    snprintf(text, sizeof e.text, "%s", e.text);
    kiln_close(x);
    return s;
}

/* Digests fit whatever is packed: only the proof on the bytes tells. */
static void
strict_proves_the_bytes(void **state)
{
    static uint8_t code[1 << 16];
    struct kn_packed k = { .certificate = NULL };
    char cache[128], text[256];
    kiln_problem p = t.k[0]->problem;
    const uint8_t *co[] = { t.k[0]->co, code };
    size_t n = t.k[0]->co_size, size;
    struct kn_ctx c;
    uint8_t *bytes;

    (void)state;
    assert_true(n <= sizeof code && drop_order(t.k[0]->co, n, code) > 0);
    snprintf(cache, sizeof cache, "%s/cache", t.folder);
    for (int forged = 0; forged < 2; forged++) {
        kiln_status want = forged ? KILN_FINDING : KILN_OK;

        kn_ctx_init(&c, NULL, NULL);
        kn_make_key(&c, &p, &t.k[0]->config, &k.key);
        k.co = co[forged];
        k.size = n;
        assert_int_equal(kn_bundle_make(&c, &k, 1, &bytes, &size), KILN_OK);
        write_bytes(t.path, bytes, size);
        assert_int_equal(kn_cache_write(&c, cache, &k.key, k.co, n), KILN_OK);
        kn_ctx_free(&c);
        assert_int_equal(take_one(t.path, NULL, 0, text), KILN_OK);
        assert_int_equal(take_one(NULL, cache, 0, text), KILN_OK);
        assert_int_equal(take_one(t.path, NULL, KILN_STRICT, text), want);
        assert_true(!forged || strstr(text, "entry 0 of the bundle: not proven: "
                                            "at 0x"));
        assert_int_equal(take_one(NULL, cache, KILN_STRICT, text), want);
        assert_true(!forged || (strstr(text, ".co: not proven: at 0x") &&
                                strstr(text, cache)));
        assert_int_equal(take_one(NULL, cache, KILN_STRICT | KILN_ISOLATE,
                                  text), want);
    }
}

/* The certificate of sound code is held against it as well. */
static void
strict_replays_the_certificate(void **state)
{
    char text[256];

    (void)state;
    write_bytes(t.path, t.bytes, t.size); /* a key is no certificate */
    assert_int_equal(take_one(t.path, NULL, 0, text), KILN_OK);
    assert_int_equal(take_one(t.path, NULL, KILN_STRICT, text),
                     KILN_BAD_INPUT);
    assert_non_null(strstr(text, "certificate"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_in_any_order),
        cmocka_unit_test(lookup_by_problem),
        cmocka_unit_test(a_covering_kernel_serves),
        cmocka_unit_test(kernel_outlives_everything),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(damaged_code_is_refused),
        cmocka_unit_test(forged_configurations_are_refused),
        cmocka_unit_test(another_generator_is_named),
        cmocka_unit_test(certificates_are_checked),
        cmocka_unit_test(missing_file),
        cmocka_unit_test(strict_proves_the_bytes),
        cmocka_unit_test(strict_replays_the_certificate),
    };

    return cmocka_run_group_tests_name("runtime-bundle", tests, setup,
                                       teardown);
}
