/* test_cli.c - the command line: every flag of the table is tried with bad
 * values, and the parsed values reach the structs. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gen/tool/cmd.h"
#include "gen/tool/json.h"
#include "gen/tool/progress.h"

enum { MAX_WORDS = 16 };

static struct kn_cli cli;
static struct kn_ctx ctx;

static kiln_status
parse_in(struct kn_ctx *c, int argc, char **argv)
{
    KN_ENTER(c);
    return kn_cli_parse(c, argc, argv, &cli);
}

/* Parses a line of words separated by single blanks; "''" is an empty word.
 * The texts live until the next call. */
static kiln_status
parse(const char *line)
{
    static char text[1024];
    char *argv[MAX_WORDS + 1] = { "kilnc" };
    int argc = 1;

    kn_ctx_free(&ctx);
    kn_ctx_init(&ctx, NULL, NULL);
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
        assert_true(argc < MAX_WORDS);
        argv[argc++] = strcmp(w, "''") ? w : "";
    }
    argv[argc] = NULL;
    return parse_in(&ctx, argc, argv);
}

static void
expect(const char *line, kiln_status want, const char *sentence)
{
    kiln_status got = parse(line);

    if (got != want || (sentence && strcmp(ctx.err.text, sentence)))
        fail_msg("%s: status %d, \"%s\"", line, got, ctx.err.text);
}

static void
fine(const char *line)
{
    expect(line, KILN_OK, "");
}

static const char *
positional(enum kn_command cmd)
{
    const char *words = kn_command_positionals(cmd);

    return !*words ? "" : *words != '[' && strchr(words, ' ') ? "gemm gemm"
                                                              : "gemm";
}

/* "COMMAND POSITIONAL FLAG" for the first available command of a flag. */
static bool
start_line(char *line, size_t n, const struct kn_flag *f)
{
    for (int i = 0; i < KN_NCMDS; i++)
        if (f->commands & 1u << i && kn_command_available(i)) {
            snprintf(line, n, "%s %s %s", kn_command_name(i), positional(i),
                     f->name);
            return true;
        }
    return false;
}

static const char *
good_value(const struct kn_flag *f)
{
    static const char *const good[KN_NKINDS] = {
        [KN_K_NONE] = "", [KN_K_INT] = "1", [KN_K_REAL] = "0.5",
        [KN_K_TEXT] = "x", [KN_K_LIST] = "1,2", [KN_K_DIMS] = "1,2,3",
        [KN_K_SHARD] = "1/2",
        [KN_K_WG] = "all", [KN_K_DEVICE] = "sim:gfx950", [KN_K_ARG] = "null",
        [KN_K_PTR] = "0=in:x", [KN_K_ARRAY] = "s=x.npy", [KN_K_SCALAR] = "s=1",
    };
    static char word[32];

    if (f->kind == KN_K_SIZES)
        return strchr(f->spec, 'x') == strrchr(f->spec, 'x') ? "2x2"
                                                             : "2x2x2";
    if (f->kind != KN_K_CHOICE)
        return good[f->kind];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(f->spec, "|"), f->spec);
    return word;
}

static void
rows_are_complete(void **state)
{
    (void)state;
    for (int i = 0; i < KN_NFLAGS; i++) {
        const struct kn_flag *f = &kn_flags[i];
        assert_true(f->name[0] && f->commands);
        assert_true(f->lo <= f->hi);
        assert_true(f->kind != KN_K_CHOICE || strchr(f->spec, '|'));
        assert_true(f->group == KN_G_LATER || f->help[0]);
    }
}

static void
later_flags_say_so(void **state)
{
    char line[256], want[320];

    (void)state;
    for (int i = 0; i < KN_NFLAGS; i++) {
        const struct kn_flag *f = &kn_flags[i];
        if (f->group != KN_G_LATER || !start_line(line, sizeof line, f))
            continue;
        snprintf(want, sizeof want, "%s is not available yet", f->name);
        expect(line, KILN_UNSUPPORTED, want);
    }
}

static void
every_flag_refuses_bad_values(void **state)
{
    static const char *const bad[] = { "''", "?", "-", "1x", "99999999999",
                                       "1,", "x", "0x", "nan" };
    char line[256], all[320];
    int tried = 0;

    (void)state;
    for (int i = 0; i < KN_NFLAGS; i++) {
        const struct kn_flag *f = &kn_flags[i];
        if (f->group == KN_G_LATER || !start_line(line, sizeof line, f))
            continue;
        if (f->kind == KN_K_NONE) {
            snprintf(all, sizeof all, "%s=1", line);
            expect(all, KILN_BAD_INPUT, NULL);
            assert_non_null(strstr(ctx.err.text, f->name[1] == '-'
                                   ? "takes no value" : "there is no flag"));
            continue;
        }
        expect(line, KILN_BAD_INPUT, NULL);
        assert_non_null(strstr(ctx.err.text, "needs a value"));
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            if (f->kind == KN_K_TEXT && b)
                break;
            if (f->kind == KN_K_ARRAY && isalpha((unsigned char)*bad[b]))
                continue;        /* a name */
            if (!strcmp(bad[b], "99999999999") &&
                (f->hi == INT64_MAX || f->kind == KN_K_REAL ||
                 f->kind == KN_K_WG))
                continue;
            snprintf(all, sizeof all, "%s %s", line, bad[b]);
            expect(all, KILN_BAD_INPUT, NULL);
            assert_non_null(strstr(ctx.err.text, " takes "));
            tried++;
        }
    }
    assert_true(tried > 100);
}

static void
every_flag_is_given_once(void **state)
{
    char line[256], all[640];

    (void)state;
    for (int i = 0; i < KN_NFLAGS; i++) {
        const struct kn_flag *f = &kn_flags[i];
        const char *v = good_value(f);
        const char *again;
        if (f->group == KN_G_LATER || !start_line(line, sizeof line, f))
            continue;
        again = strstr(line, " -") + 1;
        snprintf(all, sizeof all, "%s %s", line, v);
        fine(all);
        if (kn_flag_repeats(f))
            continue;
        snprintf(all, sizeof all, "%s %s %s %s", line, v, again, v);
        expect(all, KILN_BAD_INPUT, NULL);
        assert_non_null(strstr(ctx.err.text, "is given twice"));
    }
}

static void
ranges_are_kept(void **state)
{
    (void)state;
    fine("run gemm -m 0 --stages 8 --alpha -1.5e3");
    expect("run gemm --stages 9", KILN_BAD_INPUT,
           "--stages takes an integer in 1..8, not '9'; "
           "did you mean '8'?");
    expect("run gemm --stages 0", KILN_BAD_INPUT,
           "--stages takes an integer in 1..8, not '0'; "
           "did you mean '1'?");
    expect("run gemm -m -1", KILN_BAD_INPUT,
           "-m takes an integer in 0..2147483647, not '-1'; "
           "did you mean '0'?");
    expect("run gemm --tile 256x256", KILN_BAD_INPUT,
           "--tile takes MxNxK (each 1..4096), not '256x256'; "
           "did you mean '256x256x64'?");
    expect("run gemm --waves 2x", KILN_BAD_INPUT,
           "--waves takes RxC (each 1..16) or adversarial|rr|random, "
           "not '2x'");
    expect("run gemm --alpha inf", KILN_BAD_INPUT,
           "--alpha takes a finite number, not 'inf'");
    expect("run gemm --a mxfp", KILN_BAD_INPUT, NULL);
    expect("exec k.co --grid 1,2,3,4", KILN_BAD_INPUT, NULL);
    expect("exec k.co --block 1025", KILN_BAD_INPUT, NULL);
}

static void
words_in_the_wrong_place(void **state)
{
    (void)state;
    expect("", KILN_BAD_INPUT, "kilnc needs a command; see kilnc --help");
    expect("frob", KILN_BAD_INPUT,
           "there is no command 'frob', see kilnc --help");
    expect("report", KILN_BAD_INPUT, "'report' needs FILE|FAMILY");
    expect("exec", KILN_BAD_INPUT, "'exec' needs FILE.co|FILE.tir");
    expect("exec a b", KILN_BAD_INPUT, "'exec' does not take 'b'");
    expect("exec k.co --tile 1x1x1", KILN_BAD_INPUT,
           "'exec' does not take --tile (of run, generate, info, list, check, disasm, "
           "time, bench, tune, parity, report)");
    expect("exec k.co --frob 1", KILN_BAD_INPUT,
           "there is no flag '--frob', see kilnc exec --help");
    expect("exec k.co -grid 1", KILN_BAD_INPUT, NULL);
    expect("exec k.co --m 1", KILN_BAD_INPUT, NULL);
    expect("exec k.co -m 1", KILN_BAD_INPUT,
           "'exec' does not take -m (of run, generate, info, list, check, disasm, "
           "time, bench, tune, parity, report, selftest)");
}

static void
arguments_of_exec(void **state)
{
    (void)state;
    fine("exec k.co --arg i32:-7 --arg=i64:0x100000000 --arg f32:1.5 "
         "--arg null --arg in:a:b --arg out:c:16 --arg inout:d:e");
    assert_int_equal(cli.nargs, 7);
    assert_int_equal(cli.args[0].i, -7);
    assert_int_equal(cli.args[1].i, 0x100000000);
    assert_int_equal(cli.args[2].i, 0x3fc00000);
    assert_int_equal(cli.args[3].kind, KN_CA_NULL);
    assert_string_equal(cli.args[4].in, "a:b");
    assert_string_equal(cli.args[5].out, "c");
    assert_int_equal(cli.args[5].bytes, 16);
    assert_string_equal(cli.args[6].in, "d");
    assert_string_equal(cli.args[6].out, "e");
    fine("exec k.co --kernarg k.bin --ptr 16=inout:f");
    assert_int_equal(cli.args[0].offset, 16);
    assert_null(cli.args[0].out);
    expect("exec k.co --arg i32:4294967296", KILN_BAD_INPUT, NULL);
    expect("exec k.co --arg out:c", KILN_BAD_INPUT, NULL);
    expect("exec k.co --arg out:c:-1", KILN_BAD_INPUT, NULL);
    expect("exec k.co --arg in:", KILN_BAD_INPUT, NULL);
    expect("exec k.co --arg nullx", KILN_BAD_INPUT, NULL);
    expect("exec k.co --ptr -8=in:f", KILN_BAD_INPUT, NULL);
    expect("exec k.co --ptr 8=i32:1", KILN_BAD_INPUT, NULL);
}

static void
orders_and_waves(void **state)
{
    (void)state;
    fine("exec k.co --waves rr --order random --order-seed 9");
    assert_int_equal(cli.v[KN_FLAG_wave_order].i, KN_WAVES_RR);
    assert_int_equal(cli.v[KN_FLAG_order].i, KN_ORDER_RANDOM);
    expect("exec k.co --waves 2x4", KILN_BAD_INPUT, NULL);
    fine("exec k.co --device sim:gfx942");
    assert_int_equal(cli.v[KN_FLAG_device].list[0], KILN_GFX942);
    expect("exec k.co --device sim:gfx90a", KILN_BAD_INPUT, NULL);
    expect("exec k.co --device hip:x", KILN_BAD_INPUT, NULL);
}

static void
problem_and_config(void **state)
{
    kiln_problem p;

    (void)state;
    fine("run gemm --a mxfp8 --b mxfp4 --out bf16 --layout tn -m 5 -n 6");
    assert_int_equal(kn_cli_problem(&ctx, &cli, KILN_GFX950, &p), KILN_OK);
    assert_int_equal(p.a, KILN_MXFP8);
    assert_int_equal(p.b, KILN_MXFP4);
    assert_int_equal(p.out, KILN_BF16);
    assert_int_equal(p.layout, KILN_TN);
    assert_int_equal(p.m, 5);
    assert_int_equal(p.n, 6);
    assert_int_equal(p.target, KILN_GFX950);
    assert_false(p.alpha_set);
    fine("run gemm --scale block128 --epilogue bias --beta 1 --alpha 2");
    assert_int_equal(kn_cli_problem(&ctx, &cli, KILN_GFX942, &p), KILN_OK);
    assert_int_equal(p.scale, KILN_SCALE_BLOCK128);
    assert_true(p.bias && p.beta && p.alpha_set);
    assert_true(p.alpha == 2.0f);
    fine("run gemm --beta -0.5 --epilogue relu(acc-1)");
    assert_int_equal(kn_cli_problem(&ctx, &cli, KILN_GFX950, &p), KILN_OK);
    assert_string_equal(p.expression, "relu((acc+-0.5*c)-1)");
    fine("run wgrad --a bf16 -m 5 -n 6 --groups 2");
    assert_int_equal(kn_cli_problem(&ctx, &cli, KILN_GFX950, &p), KILN_OK);
    assert_int_equal(p.layout, KILN_TN);
    fine("run wgrad --a mxfp8 -m 5 -n 6 --groups 2");
    assert_int_equal(kn_cli_problem(&ctx, &cli, KILN_GFX950, &p), KILN_OK);
    assert_int_equal(p.layout, KILN_NT);
    fine("run wgrad --layout nn --a bf16 -m 5 -n 6 --groups 2");
    assert_int_equal(kn_cli_problem(&ctx, &cli, KILN_GFX950, &p), KILN_OK);
    assert_int_equal(p.layout, KILN_NN);
    fine("run gemm --stages 2 --tile 64x64x32 --waves 1x2 --waves rr");
    assert_string_equal(cli.config, "tile=64x64x32 waves=1x2 stages=2");
}

static kiln_status
select_in(struct kn_ctx *c, uint64_t total, struct kn_sim_select *out)
{
    KN_ENTER(c);
    return kn_cli_select(c, &cli, total, out);
}

static void
workgroups(void **state)
{
    struct kn_sim_select s;

    (void)state;
    fine("exec k.co --wg 5,1,5");
    assert_int_equal(select_in(&ctx, 6, &s), KILN_OK);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.ids[0], 1);
    assert_int_equal(s.ids[1], 5);
    assert_int_equal(select_in(&ctx, 5, &s), KILN_BAD_INPUT);
    fine("exec k.co --wg sample:10");
    assert_int_equal(select_in(&ctx, 1000003, &s), KILN_OK);
    assert_int_equal(s.n, 10);
    assert_int_equal(s.ids[0], 0);
    assert_int_equal(s.ids[9], 1000002);
    for (size_t i = 1; i < s.n; i++)
        assert_true(s.ids[i - 1] < s.ids[i]);
    assert_int_equal(select_in(&ctx, 10, &s), KILN_OK);
    assert_true(s.all);
    expect("exec k.co --wg sample:0", KILN_BAD_INPUT, NULL);
    expect("exec k.co --wg -1", KILN_BAD_INPUT, NULL);
}

static kiln_status
write_json(struct kn_ctx *c, struct kn_json *j)
{
    KN_ENTER(c);
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "s", "a\"\\\n\xff\xc3\xa9");
    kn_json_open(j, "e", '[');
    kn_json_close(j, ']');
    kn_json_real(j, "nan", (double)NAN);
    kn_json_close(j, '}');
    return KILN_OK;
}

static void
json_is_valid(void **state)
{
    struct kn_json j = { .b = { .c = &ctx } };

    (void)state;
    fine("list");
    assert_int_equal(write_json(&ctx, &j), KILN_OK);
    assert_string_equal(j.b.s,
                        "{\n  \"s\": \"a\\\"\\\\\\u000a\\u00ff\xc3\xa9\",\n"
                        "  \"e\": [],\n  \"nan\": null\n}\n");
}

/* Any words: an answer, never a crash, and a sentence with every refusal. */
static void
random_words(void **state)
{
    static const char *const words[] = {
        "run", "exec", "list", "gemm", "-", "--", "-m", "1", "--tile", "2x2x2",
        "--arg", "i32:1", "in:", "--wg", "sample:3", "''", "=", "--a=fp8",
        "--json", "--help", "--ptr", "8=out:x:4", "-o", "--waves", "0x",
    };
    const unsigned n = sizeof words / sizeof *words;
    uint32_t x = 1;
    char line[1024];

    (void)state;
    for (int round = 0; round < 20000; round++) {
        line[0] = 0;
        for (int i = 0; i < 10; i++) {
            x = x * 1664525u + 1013904223u;
            strcat(line, i ? " " : "");
            strcat(line, words[(x >> 16) % n]);
        }
        if (parse(line) && !ctx.err.text[0])
            fail_msg("no sentence: %s", line);
    }
}

/* What a long run says where nobody sees a line move: once, and only if it is
 * long. `spent`: seconds ago that it began. */
static size_t
told(double spent, uint64_t done, uint64_t total, char *text)
{
    FILE *f = tmpfile();
    struct kn_progress p;
    size_t n;

    assert_non_null(f);
    kn_progress_open(&p, f, false);
    kn_progress_stage(&p, "simulating");
    p.hint = "do less";
    for (int i = 0; i < 2; i++) {
        p.start = kn_seconds() - spent;
        p.last = 0;
        kn_progress_update(&p, done, total);
    }
    rewind(f);
    n = fread(text, 1, 99, f);
    text[n] = 0;
    fclose(f);
    return n;
}

/* A command that a work list runs has no stream to tell. */
static void
test_a_long_run_with_nobody_to_tell(void **state)
{
    struct kn_progress p = { 0 };

    (void)state;
    kn_progress_stage(&p, "simulating");
    p.start = kn_seconds() - (double)(KN_QUIET_SECONDS + 5);
    kn_progress_update(&p, 1, 11);
    assert_false(p.told);
}

static void
test_a_long_quiet_run_says_so_once(void **state)
{
    char text[100], again[100];
    int seconds;

    (void)state;
    assert_true(told(KN_QUIET_SECONDS + 5, 1, 11, text) > 0);
    assert_int_equal(sscanf(text, "kilnc: simulating takes about %d s more; "
                            "do less%99s", &seconds, again), 1);
    assert_true(seconds >= 100 && seconds < 110);
    assert_int_equal(told(KN_QUIET_SECONDS - 1, 1, 11, text), 0);
    assert_int_equal(told(KN_QUIET_SECONDS + 5, 9, 10, text), 0);
    assert_int_equal(told(KN_QUIET_SECONDS + 5, 0, 10, text), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(later_flags_say_so),
        cmocka_unit_test(every_flag_refuses_bad_values),
        cmocka_unit_test(every_flag_is_given_once),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(words_in_the_wrong_place),
        cmocka_unit_test(arguments_of_exec),
        cmocka_unit_test(orders_and_waves),
        cmocka_unit_test(problem_and_config),
        cmocka_unit_test(workgroups),
        cmocka_unit_test(json_is_valid),
        cmocka_unit_test(random_words),
        cmocka_unit_test(test_a_long_quiet_run_says_so_once),
        cmocka_unit_test(test_a_long_run_with_nobody_to_tell),
    };

    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
