/* test_npy.c - operand files: what NumPy writes is read, what kiln writes
 * NumPy reads, and every defect has its sentence. */
#include "../kit/slurp.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/file.h"

static char dir[] = "/tmp/kiln-npy-XXXXXX";

static const char *
in_dir(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void
write_raw(const char *name, const void *p, size_t n)
{
    FILE *f = fopen(in_dir(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

/* A .npy of version `major` with this header text and n data bytes. */
static void
write_npy(const char *name, int major, const char *header, size_t n)
{
    uint8_t b[1024] = "\x93NUMPY";
    size_t at = major == 1 ? 10 : 12, len = strlen(header);

    b[6] = (uint8_t)major;
    b[8] = (uint8_t)len;
    b[9] = (uint8_t)(len >> 8);
    memcpy(b + at, header, len);
    for (size_t i = 0; i < n; i++)
        b[at + len + i] = (uint8_t)i;
    write_raw(name, b, at + len + n);
}

static void
test_reads_numpy_headers(void **state)
{
    static const struct {
        int major;
        const char *header;
        const char *dtype;
        uint32_t elem, ndim;
        int64_t shape[3];
    } good[] = {
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
          "<f4", 4, 2, { 2, 3 } },
        { 2, "{'shape': (24,), 'descr': \"|u1\", 'fortran_order': False}",
          "|u1", 1, 1, { 24 } },
        { 1, "{ 'fortran_order':False , 'descr':'<u2','shape':(3,2,2) } \n",
          "<u2", 2, 3, { 3, 2, 2 } },
        { 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
          "<f8", 8, 1, { 3 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct kn_npy a;
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        write_npy("good.npy", good[i].major, good[i].header, 24);
        if (kn_npy_read(&c, in_dir("good.npy"), &a))
            fail_msg("%s", c.err.text);
        assert_string_equal(a.dtype, good[i].dtype);
        assert_int_equal(a.elem, good[i].elem);
        assert_int_equal(a.ndim, good[i].ndim);
        assert_memory_equal(a.shape, good[i].shape, a.ndim * 8);
        assert_int_equal(a.bytes, 24);
        for (int k = 0; k < 24; k++)
            assert_int_equal(((uint8_t *)a.data)[k], k);
        kn_ctx_free(&c);
    }
}

#define H(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

static void
test_defects(void **state)
{
    static const struct {
        int major;
        const char *header, *text;
    } bad[] = {
        { 1, H("'>f4'", "False", "(6,)"), "dtype >f4 is not" },
        { 1, H("'<f3'", "False", "(8,)"), "dtype <f3 is not" },
        { 1, H("'<c8'", "False", "(3,)"), "dtype <c8 is not" },
        { 1, H("'|f4'", "False", "(6,)"), "dtype |f4 is not" },
        { 1, H("[('x', '<f4')]", "False", "(6,)"), "structured types" },
        { 1, H("'<f4'", "True", "(2, 3)"), "ascontiguousarray" },
        { 1, H("'<f4'", "Maybe", "(6,)"), "neither True nor False" },
        { 1, H("'<f4'", "False", "6"), "shape is no tuple" },
        { 1, H("'<f4'", "False", "(6 7)"), "no tuple of numbers" },
        { 1, H("'<f4'", "False", "(-6,)"), "no tuple of numbers" },
        { 1, H("'<f4'", "False", "(9999999999999999999,)"), "2^50" },
        { 1, H("'<f4'", "False", "(1,1,1,1,1,1,1,1,6)"), "8 dimensions" },
        { 1, H("'<f4'", "False", "(999999999999,999999999999)"), "2^56" },
        { 1, H("'<f4'", "False", "(7,)"), "want 28 bytes of data, the file "
                                          "has 24" },
        { 1, H("'<f4'", "False", "(5,)"), "want 20 bytes" },
        { 1, "{'descr': '<f4', 'shape': (6,)}", "is missing" },
        { 1, "{'descr': '<f4', 'descr': '<f4'}", "unknown or repeated" },
        { 1, "{'descr' '<f4'}", "no value after a key" },
        { 1, "{'descr': '<f4", "unterminated" },
        { 1, "{'descr': '<f4' 'shape': (6,)}", "neither , nor }" },
        { 1, "['descr']", "no dict" },
        { 3, H("'<f4'", "False", "(6,)"), "format 3.0" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kn_npy a;
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        write_npy("bad.npy", bad[i].major, bad[i].header, 24);
        if (!kn_npy_read(&c, in_dir("bad.npy"), &a) ||
            !strstr(c.err.text, bad[i].text) ||
            strncmp(c.err.text, dir, strlen(dir)))
            fail_msg("%s: '%s'", bad[i].header, c.err.text);
        kn_ctx_free(&c);
    }
}

static void
test_every_truncation(void **state)
{
    uint8_t all[256];
    FILE *f;
    size_t n;

    (void)state;
    write_npy("t.npy", 2, H("'<f4'", "False", "(6,)"), 24);
    f = fopen(in_dir("t.npy"), "rb");
    n = fread(all, 1, sizeof all, f);
    fclose(f);
    for (size_t cut = 0; cut < n; cut++) {
        struct kn_npy a;
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        write_raw("t.npy", all, cut);
        assert_int_equal(kn_npy_read(&c, in_dir("t.npy"), &a),
                         KILN_BAD_INPUT);
        kn_ctx_free(&c);
    }
}

static void
test_missing_file(void **state)
{
    struct kn_npy a;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_npy_read(&c, in_dir("absent.npy"), &a), KILN_IO);
    assert_non_null(strstr(c.err.text, "absent.npy: cannot open: No such"));
    kn_ctx_free(&c);
}

static void
expect(const char *name, const struct kn_npy *want, const char *text)
{
    struct kn_npy a;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_npy_read(&c, in_dir(name), &a), KILN_OK);
    if (kn_npy_expect(&c, name, &a, want)) {
        if (!text || strcmp(c.err.text, text))
            fail_msg("%s", c.err.text);
    } else {
        assert_null(text);
        assert_string_equal(a.dtype, want->dtype);
        assert_int_equal(a.ndim, want->ndim);
    }
    kn_ctx_free(&c);
}

static void
test_expectations(void **state)
{
    const struct kn_npy f23 = { .dtype = "<f4", .ndim = 2,
                                .shape = { 2, 3 } };
    const struct kn_npy any = { .dtype = "<f4", .ndim = 2,
                                .shape = { -1, 3 } };
    const struct kn_npy f24 = { .dtype = "<f4", .ndim = 2,
                                .shape = { 2, 4 } };
    const struct kn_npy u23 = { .dtype = "<u2", .ndim = 2,
                                .shape = { 2, 3 } };

    (void)state;
    write_npy("a.npy", 1, H("'<f4'", "False", "(2, 3)"), 24);
    write_raw("a.bin", "012345678901234567890123", 24);
    expect("a.npy", &f23, NULL);
    expect("a.npy", &any, NULL);
    expect("a.npy", &f24, "a.npy: shape is (2, 3), needed is (2, 4)");
    expect("a.npy", &u23, "a.npy: dtype is <f4, needed is <u2");
    expect("a.bin", &f23, NULL);
    expect("a.bin", &f24, "a.bin: 24 bytes, needed are 32");
    expect("a.bin", &any, "a.bin: raw bytes have no shape, one is needed "
                          "here; use .npy");
}

static void
test_round_trip(void **state)
{
    uint16_t v[6] = { 1, 2, 3, 4, 5, 0xffff };
    const struct kn_npy a = { .dtype = "<u2", .ndim = 2, .shape = { 3, 2 },
                              .data = v };
    struct stat st;
    struct kn_npy b;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_npy_write(&c, in_dir("r.npy"), &a), KILN_OK);
    assert_int_equal(kn_npy_read(&c, in_dir("r.npy"), &b), KILN_OK);
    assert_string_equal(b.dtype, "<u2");
    assert_int_equal(b.ndim, 2);
    assert_int_equal(b.shape[0], 3);
    assert_int_equal(b.shape[1], 2);
    assert_memory_equal(b.data, v, sizeof v);
    /* Data starts at a multiple of 64, as NumPy aligns it. */
    assert_int_equal(stat(in_dir("r.npy"), &st), 0);
    assert_int_equal((st.st_size - (long)sizeof v) % 64, 0);
    kn_ctx_free(&c);
}

static unsigned
count_files(void)
{
    DIR *d = opendir(dir);
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* A failed write leaves the old file and no temporary one. */
static void
test_failed_write_leaves_nothing(void **state)
{
    const struct kn_npy a = { .dtype = "|u1", .ndim = 1, .shape = { 3 },
                              .data = "abc" };
    unsigned before;
    struct kn_ctx c;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(mkdir(in_dir("d.npy"), 0700), 0);
    before = count_files();
    assert_int_equal(kn_npy_write(&c, in_dir("d.npy"), &a), KILN_IO);
    assert_int_equal(count_files(), before);
    c.err.status = KILN_OK;
    assert_int_equal(kn_npy_write(&c, in_dir("no/such/x.npy"), &a), KILN_IO);
    rmdir(in_dir("d.npy"));
    kn_ctx_free(&c);
}

/* NumPy itself reads the written file and writes the next one. */
static void
test_numpy_agrees(void **state)
{
    float v[6] = { 0, 1.5f, -2, 3, 4, 1e30f };
    const struct kn_npy a = { .dtype = "<f4", .ndim = 2, .shape = { 2, 3 },
                              .data = v };
    char cmd[1024], out[256];
    struct kn_npy b;
    struct kn_ctx c;
    int s;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_npy_write(&c, in_dir("n.npy"), &a), KILN_OK);
    snprintf(out, sizeof out, "%s", in_dir("m.npy"));
    snprintf(cmd, sizeof cmd,
             "/usr/bin/python3 -c 'import sys\n"
             "try: import numpy as n\n"
             "except ImportError: sys.exit(77)\n"
             "a=n.load(\"%s\")\n"
             "assert a.shape==(2,3) and a.dtype==n.float32\n"
             "n.save(\"%s\",(a*2).astype(n.float16))' 2>/dev/null",
             in_dir("n.npy"), out);
    s = system(cmd);
    if (WIFEXITED(s) && (WEXITSTATUS(s) == 77 || WEXITSTATUS(s) == 127)) {
        kn_ctx_free(&c);
        skip();
    }
    assert_int_equal(s, 0);
    assert_int_equal(kn_npy_read(&c, out, &b), KILN_OK);
    assert_string_equal(b.dtype, "<f2");
    assert_int_equal(b.ndim, 2);
    assert_int_equal(((uint16_t *)b.data)[1], 0x4200);
    kn_ctx_free(&c);
}

static int
make_dir(void **state)
{
    (void)state;
    return !mkdtemp(dir);
}

static int
remove_dir(void **state)
{
    char cmd[64];

    (void)state;
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_numpy_headers),
        cmocka_unit_test(test_defects),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_expectations),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_failed_write_leaves_nothing),
        cmocka_unit_test(test_numpy_agrees),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
