/* test_dwarf.c - source lines, variables and relocations of a code object,
 * of two versions of DWARF, whole and damaged. */
#include "../kit/slurp.h"

#include <elf.h>
#include <string.h>

#include "emit/isa/object.h"

static const char *folder;
static const char *const files[] = { "lined.lld", "lined4.lld" };

struct seen {
    bool kernel, header, store;
};

static void
look(struct seen *s, const char *file, uint32_t line)
{
    size_t n = strlen(file);

    s->kernel |= line == 6 && n >= 9 && !strcmp(file + n - 9, "first.hip");
    s->store |= line == 700;
    s->header |= line == 70 && n >= 16 &&
                 !strcmp(file + n - 16, "include/second.h");
}

static void
test_lines_are_found(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof files / sizeof *files; v++) {
        struct blob b = slurp(folder, files[v]);
        struct seen seen = { 0 };
        struct kn_dwarf *d;
        struct kn_object o;
        struct kn_ctx c;
        const char *file;
        uint32_t line = 0;

        kn_ctx_init(&c, NULL, NULL);
        assert_int_equal(kn_object_read(&c, "x", b.p, b.n, &o), KILN_OK);
        assert_int_equal(kn_dwarf_read(&c, b.p, b.n, &d), KILN_OK);
        for (uint64_t a = 0; a < o.kernels[0].code_size; a += 4) {
            file = kn_dwarf_find(d, o.kernels[0].entry + a, &line);
            assert_non_null(file);
            look(&seen, file, line);
        }
        assert_true(seen.kernel && seen.header && seen.store);
        assert_null(kn_dwarf_find(d, o.kernels[0].entry - 4, &line));
        assert_null(kn_dwarf_find(d, o.kernels[0].entry + (1 << 20), &line));
        kn_ctx_free(&c);
        free(b.p);
    }
}

static void
test_no_debug_information_is_no_error(void **state)
{
    struct blob b = slurp(folder, "kernels.lld");
    struct kn_dwarf *d;
    struct kn_ctx c;
    uint32_t line;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_dwarf_read(&c, b.p, b.n, &d), KILN_OK);
    assert_null(d);
    assert_null(kn_dwarf_find(d, 0x1000, &line));
    kn_ctx_free(&c);
    free(b.p);
}

/* @counter holds 7; @where its address, which the loader adds to. */
static void
test_variables_and_relocations(void **state)
{
    struct blob b = slurp(folder, files[0]);
    uint64_t counter = 0, where = 0;
    struct kn_object o;
    struct kn_ctx c;
    bool pointed = false;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_object_read(&c, "x", b.p, b.n, &o), KILN_OK);
    for (uint32_t i = 0; i < o.nvariables; i++) {
        if (!strcmp(o.variables[i].name, "counter"))
            counter = o.variables[i].addr;
        if (!strcmp(o.variables[i].name, "where"))
            where = o.variables[i].addr;
        assert_null(strstr(o.variables[i].name, ".kd"));
    }
    assert_true(counter && where);
    assert_int_equal(*kn_object_bytes(&o, counter, 4), 7);
    for (uint32_t i = 0; i < o.nrelocs; i++)
        pointed |= o.relocs[i].at == where && o.relocs[i].value == counter;
    assert_true(pointed);
    kn_ctx_free(&c);
    free(b.p);
}

static uint64_t
next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Any bytes: an answer or an error, nothing else (sanitizers judge). */
static void
test_damage_is_survived(void **state)
{
    struct blob b = slurp(folder, files[0]);
    uint8_t *copy = malloc(b.n);
    uint64_t seed = 1;

    (void)state;
    assert_non_null(copy);
    for (int k = 0; k < 3000; k++) {
        struct kn_dwarf *d = NULL;
        struct kn_ctx c;
        uint32_t line;

        memcpy(copy, b.p, b.n);
        for (uint64_t n = 1 + next(&seed) % 8; n; n--)
            copy[64 + next(&seed) % (b.n - 64)] = (uint8_t)next(&seed);
        kn_ctx_init(&c, NULL, NULL);
        if (!kn_dwarf_read(&c, copy, b.n, &d))
            for (uint64_t a = 0; a < 0x3000; a += 64)
                kn_dwarf_find(d, a, &line);
        kn_ctx_free(&c);
    }
    free(copy);
    free(b.p);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_found),
        cmocka_unit_test(test_no_debug_information_is_no_error),
        cmocka_unit_test(test_variables_and_relocations),
        cmocka_unit_test(test_damage_is_survived),
    };

    folder = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
