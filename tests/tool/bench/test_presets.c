/* test_presets.c - every row of every shipped list is a problem that kiln takes
 * and has a configuration for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen/tool/run/run.h"
#include "gen/tool/run/moe.h"
#include "gen/tool/progress.h"
#include "gen/tool/bench/bench.h"

/* Rows of each list; a list that is not here fails. */
static const struct { const char *name; size_t rows; } lists[] = {
    { "aiter-batched", 192 }, { "aiter-batched-more", 294 },
    { "aiter-batched-tests", 825 }, { "aiter-gemm-tests", 419 },
    { "aiter-minimax", 151 }, { "aiter-models", 240 }, { "aiter-moe", 742 },
    { "aiter-smallm", 105 }, { "aiter-tuned", 1579 },
    { "deepseek", 68 }, { "gpt-oss", 40 }, { "kimi-k2", 60 }, { "llama3", 112 }, { "qwen3", 88 },
    { "primus-bench", 2160 }, { "primus-grouped", 434 },
};

static kiln_status
make_problem(struct kn_ctx *c, const struct kn_cli *cli, kiln_target target,
             kiln_problem *p)
{
    int64_t *offs;

    if (!strcmp(cli->pos[0], "moe"))
        return kn_moe_problem(c, cli, target, (int)cli->v[KN_FLAG_stage].i, p);
    KN_TRY(kn_cli_problem(c, cli, target, p));
    KN_TRY(kn_groups_make(c, cli, p, &offs));
    return kn_problem_normalise(c, p);
}

static kiln_status
try_row(struct kn_ctx *c, const struct kn_work *w)
{
    static const char *const none[] = { NULL };
    struct kn_config g = { 0 };
    struct kn_cli *cli;
    kiln_problem p;

    KN_ENTER(c);
    cli = KN_NEW(c, struct kn_cli, 1);
    KN_TRY(kn_work_cli(c, w, KN_CMD_generate, none, cli));
    KN_TRY(make_problem(c, cli, w->target, &p));
    return p.family == KILN_MOE ? KILN_OK : kn_choose(c, &p, &g, NULL);
}

static kiln_status
read_list(struct kn_ctx *c, const char *name, struct kn_worklist *out)
{
    const char *argv[] = { "kilnc", "bench", name };
    struct kn_progress quiet = { 0 };
    struct kn_cli *cli;
    struct kn_tool t = { .c = c, .progress = &quiet };

    KN_ENTER(c);
    t.cli = cli = KN_NEW(c, struct kn_cli, 1);
    KN_TRY(kn_cli_parse(c, 3, (char **)argv, cli));
    return kn_worklist_read(&t, out);
}

static void
try_list(const char *name, size_t rows)
{
    struct kn_worklist list;
    struct kn_ctx all;

    kn_ctx_init(&all, NULL, NULL);
    if (read_list(&all, name, &list))
        fail_msg("%s: %s", name, all.err.text);
    assert_int_equal(list.n, rows);
    for (size_t i = 0; i < list.n; i++) {
        struct kn_ctx own;

        kn_ctx_init(&own, NULL, NULL);
        if (try_row(&own, &list.w[i]))
            fail_msg("%s, row %zu: %s", name, i + 1, own.err.text);
        kn_ctx_free(&own);
    }
    kn_ctx_free(&all);
}

static void
test_every_row(void **state)
{
    size_t n = 0;

    (void)state;
    while (kn_presets[n].name)
        n++;
    assert_int_equal(n, sizeof lists / sizeof *lists);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(kn_presets[i].name, lists[i].name);
        try_list(lists[i].name, lists[i].rows);
    }
}

/* The batched list is the whole product of what ROCm/aiter#3283 names. */
static void
test_batched_is_whole(void **state)
{
    static const char *const nk[][2] = {
        { "512", "128" }, { "128", "512" }, { "8192", "8192" },
    };
    struct kn_worklist list;
    struct kn_ctx c;
    size_t found = 0;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(read_list(&c, "aiter-batched", &list), KILN_OK);
    for (int m = 16; m <= 2048; m *= 2)
        for (int x = 0; x < 3; x++)
            for (size_t i = 0; i < list.n; i++)
                found += atoi(list.w[i].value[KN_FLAG_m]) == m &&
                         !strcmp(list.w[i].value[KN_FLAG_n], nk[x][0]) &&
                         !strcmp(list.w[i].value[KN_FLAG_k], nk[x][1]) &&
                         !strcmp(list.w[i].value[KN_FLAG_batch], "128");
    assert_int_equal(found, 8 * 8 * 3);
    kn_ctx_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_batched_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
