/* test_cache.c - the cache directory: hits, damage of every kind, folders
 * that cannot be written, several processes. */
#include "../kit/api.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TILE "tile=32x32x64"

static char folder[64];

static int
setup(void **state)
{
    (void)state;
    make_folder(folder);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    chmod(folder, 0700);
    drop_folder(folder);
    return 0;
}

static void
get(struct got *g, uint32_t flags)
{
    get_kernel(g, folder, flags);
}

static void
expect(uint32_t flags, kiln_source source, int warnings)
{
    expect_kernel(folder, flags, source, warnings);
}

static void
second_process_reads_it(void **state)
{
    static struct got first, second;

    (void)state;
    get(&first, 0);
    assert_int_equal(first.source, KILN_FROM_COMPILER);
    get(&second, 0);
    assert_int_equal(second.source, KILN_FROM_DISK);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.code, second.code, first.size);
    assert_int_equal(count_files(folder, ".co"), 1);
    assert_int_equal(count_files(folder, ".json"), 1);
    assert_int_equal(count_files(folder, ".tmp"), 0);
}

static void
run_only_never_compiles(void **state)
{
    static struct got g;

    (void)state;
    get(&g, KILN_RUN_ONLY);
    assert_int_equal(g.status, KILN_NOT_FOUND);
    assert_non_null(strstr(g.error.text, "KILNC_RUN_ONLY"));
    assert_int_equal(setenv("KILNC_RUN_ONLY", "1", 1), 0);
    get(&g, 0);
    unsetenv("KILNC_RUN_ONLY");
    assert_int_equal(g.status, KILN_NOT_FOUND);
    expect(0, KILN_FROM_COMPILER, 0);
    expect(KILN_RUN_ONLY, KILN_FROM_DISK, 0);
}

/* Flips one byte, or cuts the file there. */
static void
damage(const char *ending, size_t at, bool cut)
{
    static unsigned char bytes[65536];
    char path[512];
    size_t n;

    find_file(folder, ending, path);
    n = read_bytes(path, bytes, sizeof bytes);
    at = at < n ? at : n - 1;
    bytes[at] ^= 0x40;
    write_bytes(path, bytes, cut ? at : n);
}

static void
damaged_entries_are_made_again(void **state)
{
    static const char *const endings[] = { ".co", ".json" };
    static const size_t places[] = { 0, 5, 100, 400, 2000, 100000 };

    (void)state;
    expect(0, KILN_FROM_COMPILER, 0);
    for (int e = 0; e < 2; e++)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            for (int cut = 0; cut < 2; cut++) {
                static struct got g;

                damage(endings[e], places[i], cut);
                get(&g, KILN_STRICT);
                assert_int_equal(g.status, KILN_IO);
                get(&g, KILN_RUN_ONLY);
                assert_int_equal(g.status, KILN_NOT_FOUND);
                expect(0, KILN_FROM_COMPILER, 1);
                expect(0, KILN_FROM_DISK, 0);
            }
}

static void
half_an_entry(void **state)
{
    char path[512];

    (void)state;
    expect(0, KILN_FROM_COMPILER, 0);
    find_file(folder, ".co", path);
    unlink(path);
    expect(0, KILN_FROM_COMPILER, 1);
    find_file(folder, ".json", path);
    unlink(path);            /* written last: as if it had not been there */
    expect(0, KILN_FROM_COMPILER, 0);
}

/* An entry that describes itself well, but under another key. */
static void
entry_of_another_kernel(void **state)
{
    static unsigned char bytes[65536];
    char path[512], first[512];
    kiln_context *x;
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel *k;
    kiln_error e;
    size_t n;

    (void)state;
    expect(0, KILN_FROM_COMPILER, 0);
    find_file(folder, ".json", first);
    n = read_bytes(first, bytes, sizeof bytes);
    unlink(first);
    x = open_context(folder, 0, NULL);
    assert_ok(kiln_compile(x, &p, "tile=64x32x64", &k, &e), &e);
    kiln_release(k);
    kiln_close(x);
    find_file(folder, ".json", path);
    write_bytes(path, bytes, n);
    x = open_context(folder, KILN_STRICT, NULL);
    assert_int_equal(kiln_compile(x, &p, "tile=64x32x64", &k, &e), KILN_IO);
    kiln_close(x);
}

static void
folder_is_made(void **state)
{
    char deep[512];
    kiln_context *x;
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    snprintf(deep, sizeof deep, "%s/a/b/c", folder);
    x = open_context(deep, 0, NULL);
    assert_ok(kiln_compile(x, &p, TILE, &k, &e), &e);
    assert_int_equal(count_files(deep, ".co"), 1);
    kiln_release(k);
    kiln_close(x);
}

/* A file where the folder should be, as for root no mode forbids to write. */
static void
unwritable_folder_costs_no_result(void **state)
{
    char file[512];
    struct log l = { 0 };
    kiln_context *x;
    kiln_problem p = small_problem(50, 36, 70);
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    snprintf(file, sizeof file, "%s/file", folder);
    write_bytes(file, "x", 1);
    x = open_context(file, 0, &l);
    assert_ok(kiln_compile(x, &p, TILE, &k, &e), &e);
    kiln_release(k);
    p.out = KILN_BF16;
    assert_ok(kiln_compile(x, &p, TILE, &k, &e), &e);
    kiln_release(k);
    kiln_close(x);
    assert_int_equal(l.lines, 1); /* told once */
    assert_non_null(strstr(l.last, "not written"));
}

static struct got *
get_twice(uint32_t flags)
{
    static struct got g;

    get(&g, 0);
    get(&g, flags);
    return &g;
}

/* Who can write into the folder decides what code runs: it is neither read
 * nor written, and KILN_STRICT makes an error of it. */
static void
folder_of_others_is_refused(void **state)
{
    static const mode_t modes[] = { 0770, 0707, 0722 };
    struct got *g;

    (void)state;
    g = get_twice(0);
    assert_int_equal(g->source, KILN_FROM_DISK);
    for (int i = 0; i < 3; i++) {
        chmod(folder, modes[i]);
        get(g, 0);
        assert_int_equal(g->status, KILN_OK);
        assert_int_equal(g->source, KILN_FROM_COMPILER);
        assert_non_null(strstr(g->log.last, "may be written by others"));
        get(g, KILN_STRICT);
        assert_int_equal(g->status, KILN_IO);
        assert_non_null(strstr(g->error.text, "may be written by others"));
    }
    if (geteuid() || chown(folder, 12345, (gid_t)-1))
        return;
    chmod(folder, 0755);
    get(g, KILN_STRICT);
    assert_int_equal(g->status, KILN_IO);
    assert_non_null(strstr(g->error.text, "belongs to another user"));
}

/* An entry that is a pipe, a device or endless is no entry. */
static void
odd_files_are_no_entries(void **state)
{
    static struct got g;
    char path[512];

    (void)state;
    for (int i = 0; i < 3; i++) {
        get(&g, 0);
        find_file(folder, i == 2 ? ".json" : ".co", path);
        remove(path);
        if (i == 0)
            assert_int_equal(mkfifo(path, 0600), 0);
        else if (i == 1)
            assert_int_equal(symlink("/dev/zero", path), 0);
        else
            write_bytes(path, "", 0);
        if (i == 2)
            assert_int_equal(truncate(path, (off_t)1 << 40), 0);
        get(&g, KILN_STRICT);
        assert_int_equal(g.status, KILN_IO);
        get(&g, 0);
        assert_int_equal(g.status, KILN_OK);
        assert_int_equal(g.source, KILN_FROM_COMPILER);
        remove(path);
    }
}

/* A disk that ends in the middle of a file. */
static void
full_disk_costs_no_result(void **state)
{
    static struct got g;
    struct rlimit whole, little = { 2000, 2000 };
    pid_t child;
    int status;

    (void)state;
    child = fork();
    if (!child) {
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &whole);
        little.rlim_max = whole.rlim_max;
        setrlimit(RLIMIT_FSIZE, &little);
        get(&g, 0);
        _exit(g.status || g.log.lines != 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(folder, ".tmp"), 0);
    assert_int_equal(count_files(folder, ".json"), 0);
    expect(0, KILN_FROM_COMPILER, 0);
}

static void
many_processes_at_once(void **state)
{
    enum { N = 6 };
    static struct got g;
    pid_t child[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        child[i] = fork();
        if (!child[i]) {
            get(&g, 0);
            _exit(g.status || g.log.lines);
        }
    }
    for (int i = 0; i < N; i++) {
        int status;

        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(folder, ".co"), 1);
    assert_int_equal(count_files(folder, ""), 2);
    expect(KILN_STRICT, KILN_FROM_DISK, 0);
}

/* KILNC_CACHE_DIR, then XDG_CACHE_HOME, when no option names a folder. */
static void
environment_names_the_folder(void **state)
{
    kiln_problem p = small_problem(50, 36, 70);
    char below[512];
    kiln_context *x;
    kiln_kernel *k;
    kiln_error e;

    (void)state;
    unsetenv("KILNC_CACHE_DIR");
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_ok(kiln_open(NULL, &x, &e), &e);
    assert_ok(kiln_compile(x, &p, TILE, &k, &e), &e);
    kiln_release(k);
    kiln_close(x);
    snprintf(below, sizeof below, "%s/kilnc", folder);
    assert_int_equal(count_files(below, ".co"), 1);
    snprintf(below, sizeof below, "%s/own", folder);
    setenv("KILNC_CACHE_DIR", below, 1);
    assert_ok(kiln_open(NULL, &x, &e), &e);
    assert_ok(kiln_compile(x, &p, TILE, &k, &e), &e);
    kiln_release(k);
    kiln_close(x);
    unsetenv("KILNC_CACHE_DIR");
    assert_int_equal(count_files(below, ".co"), 1);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(second_process_reads_it),
        CASE(run_only_never_compiles),
        CASE(damaged_entries_are_made_again),
        CASE(half_an_entry),
        CASE(entry_of_another_kernel),
        CASE(folder_is_made),
        CASE(unwritable_folder_costs_no_result),
        CASE(folder_of_others_is_refused),
        CASE(odd_files_are_no_entries),
        CASE(full_disk_costs_no_result),
        CASE(many_processes_at_once),
        CASE(environment_names_the_folder),
    };

    return cmocka_run_group_tests_name("runtime-cache", tests, NULL, NULL);
}
