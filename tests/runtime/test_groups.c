/* test_groups.c - tables of groups that the host has: of every form, tight or not,
 * copied by the launch, with a grid of the tiles there are. */
#include "../kit/api.h"

#include <stdlib.h>
#include <string.h>

enum { G = 3, PAD = 32, M = G * PAD, N = 32, K = 64 };

static const int64_t lens[G] = { 5, 0, 9 };
static const uint8_t forms[] = { 0, KILN_GROUP_LENS, KILN_GROUP_ENDS32 };

struct groups {
    kiln_problem p;
    kiln_kernel *k;
    kiln_function *f;
    kiln_plan plan;
    kiln_arguments args;
    void *at[4];
    char table[2 * 8 * (G + 1)];
};

/* The table of groups of so many rows; the bytes it takes. */
static size_t
write_table(char *to, uint8_t flags, const int64_t *rows)
{
    int64_t wide[G + 1] = { 0 };
    int32_t ends[G];

    for (int g = 0; g < G; g++) {
        wide[g + 1] = wide[g] + rows[g];
        ends[g] = (int32_t)wide[g + 1];
    }
    if (flags & KILN_GROUP_ENDS32)
        memcpy(to, ends, sizeof ends);
    else
        memcpy(to, flags & KILN_GROUP_LENS ? rows : wide,
               8 * (G + !(flags & KILN_GROUP_LENS)));
    return flags & KILN_GROUP_ENDS32 ? 4 * G : 8 * (G + !(flags & KILN_GROUP_LENS));
}

static void
write_tables(struct groups *x, const int64_t *rows)
{
    static const int64_t padded[G] = { PAD, PAD, PAD };
    uint8_t flags = x->p.group_flags;
    size_t n = 0;

    if (flags & KILN_GROUP_TIGHT)
        n = write_table(x->table, flags, padded);
    write_table(x->table + n, flags, rows);
}

/* Rows of ones where groups are read from, NaN between them; B of group g is
 * g + 1. */
static void
fill(struct groups *x)
{
    static const uint16_t value[G] = { 0x3f80, 0x4000, 0x4040 };
    static uint16_t a[M * K], b[G][N * K];
    bool tight = x->p.group_flags & KILN_GROUP_TIGHT;
    int64_t at = 0;
    kiln_error e;

    memset(a, 0xff, sizeof a);
    for (int g = 0; g < G; g++) {
        for (int64_t i = 0; i < lens[g] * K; i++)
            a[(tight ? g * PAD : at) * K + i] = value[0];
        for (int i = 0; i < N * K; i++)
            b[g][i] = value[g];
        at += lens[g];
    }
    assert_ok(kiln_upload(shared.d, x->at[0], a, sizeof a, &e), &e);
    assert_ok(kiln_upload(shared.d, x->at[1], b, sizeof b, &e), &e);
}

static void
open_groups(struct groups *x, uint8_t flags, const char *config)
{
    const size_t size[] = { 2 * M * K, 2 * G * N * K, 4 * M * N };
    kiln_error e;

    *x = (struct groups){ .p = { .size = sizeof x->p, .family = KILN_GROUPED,
                                 .target = KILN_GFX950, .a = KILN_BF16,
                                 .out = KILN_F32, .m = M, .n = N, .k = K,
                                 .groups = G, .group_flags = flags } };
    assert_ok(kiln_compile(shared.x, &x->p, config, &x->k, &e), &e);
    assert_ok(kiln_make_plan(x->k, &x->p, &x->plan, &e), &e);
    assert_ok(kiln_load(shared.d, x->k, &x->f, &e), &e);
    for (int i = 0; i < 4; i++)
        assert_ok(kiln_malloc(shared.d, i < 3 ? size[i] : x->plan.workspace,
                              &x->at[i], &e), &e);
    x->args = (kiln_arguments){
        .size = sizeof x->args, .flags = KILN_EXACT, .a = x->at[0],
        .b = x->at[1], .c = x->at[2], .workspace = x->at[3],
        .host_offsets = (const int64_t *)(const void *)x->table,
    };
}

static void
close_groups(struct groups *x)
{
    kiln_error e;

    for (int i = 0; i < 4; i++)
        assert_ok(kiln_free(shared.d, x->at[i], &e), &e);
    kiln_unload(x->f);
    kiln_release(x->k);
}

/* Rows of the output, one group behind the other. */
static void
check(struct groups *x)
{
    static float c[M * N];
    kiln_error e;
    int64_t r = 0;

    assert_ok(kiln_download(shared.d, c, x->at[2], sizeof c, &e), &e);
    for (int g = 0; g < G; g++)
        for (int64_t end = r + lens[g]; r < end; r++)
            for (int n = 0; n < N; n++)
                assert_true(c[r * N + n] == (float)(K * (g + 1)));
}

static void
every_form(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct groups x;
        kiln_error e;

        open_groups(&x, (uint8_t)(forms[i % 3] | (i / 3 % 2) * KILN_GROUP_TIGHT),
                    i < 6 ? "" : "lookup=many");
        fill(&x);
        write_tables(&x, lens);
        assert_ok(kiln_launch(x.f, &x.plan, &x.args, &e), &e);
        check(&x);
        close_groups(&x);
    }
}

/* Nothing runs where groups have no rows: what lies there stays. */
static void
no_rows_no_workgroups(void **state)
{
    static const int64_t none[G];
    static float c[M * N];
    struct groups x;
    kiln_error e;

    (void)state;
    open_groups(&x, KILN_GROUP_LENS, "");
    for (int i = 0; i < M * N; i++)
        c[i] = 7;
    assert_ok(kiln_upload(shared.d, x.at[2], c, sizeof c, &e), &e);
    write_tables(&x, none);
    assert_ok(kiln_launch(x.f, &x.plan, &x.args, &e), &e);
    assert_ok(kiln_download(shared.d, c, x.at[2], sizeof c, &e), &e);
    for (int i = 0; i < M * N; i++)
        assert_true(c[i] == 7);
    close_groups(&x);
}

static void
refuse(struct groups *x, const char *says)
{
    kiln_error e;

    assert_int_equal(kiln_launch(x->f, &x->plan, &x->args, &e), KILN_BAD_INPUT);
    if (!strstr(e.text, says))
        fail_msg("%s", e.text);
}

static void
refusals(void **state)
{
    static const int64_t negative[G] = { 5, -1, 9 }, many[G] = { 1, 600, 1 };
    struct groups x;
    kiln_plan forged;

    (void)state;
    open_groups(&x, KILN_GROUP_LENS | KILN_GROUP_TIGHT, "");
    write_tables(&x, negative);
    refuse(&x, "group 1 has -1 rows");
    write_tables(&x, many);
    refuse(&x, "the groups to number 1 have more rows than the plan's problem");
    x.args.offsets = x.args.tight = x.at[3];
    forged = x.plan;
    x.plan.offsets_size = 0;
    refuse(&x, "a grid is exact of grouped with 'host_offsets'");
    x.plan = forged;
    x.args.host_offsets = NULL;
    refuse(&x, "a grid is exact of grouped with 'host_offsets'");
    close_groups(&x);
    open_groups(&x, KILN_TAIL_ZERO, "");
    write_tables(&x, lens);
    refuse(&x, "without zeros behind the last group");
    close_groups(&x);
    open_groups(&x, KILN_GROUP_TIGHT, "");
    x.args.flags = 0;
    x.args.offsets = x.at[3];
    refuse(&x, "the kernel needs 'tight', its address is NULL");
    close_groups(&x);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(no_rows_no_workgroups),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
