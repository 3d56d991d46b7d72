/* What kiln computes today: `kilnc run` for every family, pair of types,
 * scale, layout and target, as the page docs/status.md.
 *
 * usage: status COMMITTED NEW [some]   writes the page to NEW and compares it;
 *                                      some: every ninth row of it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gen/quant.h"
#include "../../gen/tool/cmd.h"
#include "../../gen/tool/progress.h"
#include "../kit/num.h"

enum { MAX_NOTES = 200, NCOLUMNS = 2 * KILN_NLAYOUTS };

/* The page's parts, each a small launch with tails where there may be some. */
static const struct part {
    kiln_family family;
    const char *title, *launch;
    bool some;               /* not every pair of types, see is_told() */
    kiln_type only, beside;  /* A, B of this alone */
} parts[] = {
    { KILN_GEMM, "gemm", "-m 33 -n 44 -k 97", false, 0, 0 },
    { KILN_GEMM, "gemm, few rows", "--schedule gemv -m 5 -n 44 -k 1120", true, 0, 0 },
    { KILN_GEMM, "gemm, K divided", "--split-k 3 -m 33 -n 44 -k 609", true, 0, 0 },
    { KILN_GEMM, "gemm, zero points of a weight",
      "--zero-points i4 -m 33 -n 44 -k 97", true, 0, 0 },
    { KILN_GEMM, "gemm, gate and up",
      "--epilogue swiglu -m 33 -n 48 -k 97", true, 0, 0 },
    { KILN_GEMM, "gemm, words of AWQ", "--b-layout awq --zero-points i4 "
        "--scale-layout transposed -m 33 -n 48 -k 97", true, 0, KILN_I4 },
    { KILN_GEMM, "gemm, words of GPTQ", "--b-layout gptq --zero-points i4 "
        "--scale-layout transposed -m 33 -n 48 -k 104", true, 0, KILN_I4 },
    { KILN_GEMM, "gemm, words of AWQ, zero points of f16", "--b-layout awq "
        "--zero-points f16 -m 33 -n 48 -k 97", true, 0, KILN_I4 },
    { KILN_GEMM, "gemm, words of GPTQ, zero points of f16", "--b-layout gptq "
        "--zero-points f16 -m 33 -n 44 -k 104", true, 0, KILN_I4 },
    { KILN_GEMM, "gemm, f32 as xf32", "--math xf32 -m 33 -n 44 -k 97", true,
      KILN_F32, 0 },
    { KILN_GEMM, "gemm, f32 as two bf16", "--math bf16x3 -m 33 -n 44 -k 97",
      true, KILN_F32, 0 },
    { KILN_GROUPED, "grouped", "--group-lens 20,0,13 -n 44 -k 97", false, 0, 0 },
    { KILN_WGRAD, "wgrad", "--group-lens 32,0,64 -m 33 -n 44", false, 0, 0 },
    { KILN_WGRAD, "wgrad, f32 as two bf16",
      "--math bf16x3 --group-lens 32,0,64 -m 33 -n 44", true, KILN_F32, 0 },
    { KILN_BATCHED, "batched", "--batch 2 -m 33 -n 44 -k 97", false, 0, 0 },
    { KILN_MOE, "moe", "--stage layer --hidden 96 --inter 128 --experts 4 "
                       "--topk 2 --tokens 9", false, 0, 0 },
    { KILN_MOE, "moe, f32 as two bf16", "--math bf16x3 --stage layer --hidden 96 "
        "--inter 128 --experts 4 --topk 2 --tokens 9", true, KILN_F32, 0 },
    { KILN_MOE, "moe gemm1, output of 8 bits with a scale per row",
      "--stage gemm1 --out fp8 --out-scale row --hidden 96 --inter 140 --experts 4 "
      "--topk 2 --tokens 9", true, 0, 0 },
    { KILN_GEMM, "gemm, output of 8 bits",
      "--out fp8 --out-scale static -m 33 -n 44 -k 97", true, 0, 0 },
    { KILN_GEMM, "gemm, output of 8 bits with a scale per 128 columns",
      "--out fp8 --out-scale block128 -m 33 -n 140 -k 97", true, 0, 0 },
    { KILN_GEMM, "gemm, MX output",
      "--out mxfp8 --out-scale mx32 -m 33 -n 44 -k 97", true, 0, 0 },
    { KILN_GEMM, "gemm, rounded at random",
      "--round stochastic --round-seed 1 -m 33 -n 44 -k 97", true, 0, 0 },
};

enum outcome { CHECKED, REFUSED, MISSING, WRONG };

struct page {
    struct kn_ctx c;         /* of the page's text and notes */
    struct kn_buf text;
    const char *note[MAX_NOTES];
    unsigned count[MAX_NOTES];
    size_t nnotes;
    unsigned total[4];
    char wrong[300];         /* the first command with a wrong result */
    unsigned every, row;     /* rows to one that is run; rows so far */
};

struct cell {
    enum outcome outcome;
    char why[256];
};

/* ---- one launch --------------------------------------------------------- */

static kiln_status
run_words(struct kn_ctx *c, int argc, char **argv)
{
    struct kn_progress quiet = { 0 };
    struct kn_buf text = { .c = c };
    struct kn_cli cli;
    struct kn_tool t = { .c = c, .cli = &cli, .progress = &quiet,
                         .text = &text };

    KN_ENTER(c);
    KN_TRY(kn_cli_parse(c, argc, argv, &cli));
    return kn_command_run(&t);
}

static kiln_status
run_line(struct kn_ctx *c, const char *line)
{
    char words[400], *argv[64], *save = NULL;
    int argc = 0;

    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &save); w && argc < 63;
         w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    argv[argc] = NULL;
    return run_words(c, argc, argv);
}

/* The sentence of a refusal says whether the work is still to be done. */
static struct cell
cell_of(const char *line)
{
    struct cell r = { .outcome = CHECKED };
    struct kn_ctx c;
    kiln_status s;

    kn_ctx_init(&c, NULL, NULL);
    s = run_line(&c, line);
    snprintf(r.why, sizeof r.why, "%s", c.err.text);
    kn_ctx_free(&c);
    if (s == KILN_UNSUPPORTED || s == KILN_BAD_INPUT)
        r.outcome = strstr(r.why, "available") || strstr(r.why, "no variant")
                        ? MISSING : REFUSED;
    else if (s)
        r.outcome = WRONG;
    if (r.outcome == WRONG)
        snprintf(r.why, sizeof r.why, "%.255s", line);
    return r;
}

static struct cell
run_cell(const kiln_problem *p, const char *launch)
{
    char line[400];

    snprintf(line, sizeof line, "kilnc run %s --device sim:%s --layout %s "
             "--a %s --b %s --scale %s%s %s", kn_family_names[p->family],
             kiln_target_name(p->target), kn_layout_names[p->layout],
             kiln_type_name(p->a), kiln_type_name(p->b),
             kn_scale_names[p->scale], p->scale_type ? " --scale-type e8m0" : "",
             launch);
    return cell_of(line);
}

/* ---- the page ----------------------------------------------------------- */

static unsigned
note_of(struct page *g, const char *why)
{
    for (size_t i = 0; i < g->nnotes; i++)
        if (!strcmp(g->note[i], why))
            return (unsigned)(g->count[i]++, i + 1);
    assert_true(g->nnotes < MAX_NOTES);
    g->note[g->nnotes] = kn_strdup(&g->c, why);
    g->count[g->nnotes++] = 1;
    return (unsigned)g->nnotes;
}

static void
put_cell(struct page *g, const struct cell *c)
{
    static const char *const words[] = { "checked", "refused", "missing",
                                         "WRONG" };

    g->total[c->outcome]++;
    if (c->outcome == WRONG && !g->wrong[0])
        snprintf(g->wrong, sizeof g->wrong, "%s", c->why);
    kn_putf(&g->text, " %s", words[c->outcome]);
    if (c->outcome == REFUSED || c->outcome == MISSING)
        kn_putf(&g->text, " %u", note_of(g, c->why));
    kn_put(&g->text, " |");
}

static bool
is_run(struct page *g)
{
    return g->row++ % g->every == 0;
}

/* A row all of whose cells are refused only repeats a rule: its sentences are
 * noted, the row is left out. */
static void
put_row(struct page *g, kiln_problem *p, const char *launch)
{
    struct cell cell[NCOLUMNS];
    bool any = false;

    for (int i = 0; i < NCOLUMNS; i++) {
        p->target = i < KILN_NLAYOUTS ? KILN_GFX950 : KILN_GFX942;
        p->layout = (kiln_layout)(i % KILN_NLAYOUTS);
        cell[i] = run_cell(p, launch);
        any = any || cell[i].outcome != REFUSED;
    }
    if (!any) {
        for (int i = 0; i < NCOLUMNS; i++, g->total[REFUSED]++)
            note_of(g, cell[i].why);
        return;
    }
    kn_putf(&g->text, "| %s x %s, %s%s |", kiln_type_name(p->a),
            kiln_type_name(p->b), kn_scale_names[p->scale],
            p->scale_type ? " e8m0" : "");
    for (int i = 0; i < NCOLUMNS; i++)
        put_cell(g, &cell[i]);
    kn_put(&g->text, "\n");
}

/* Pairs of types that some rule lets multiply, and bf16 x f16 for the rule
 * that does not. */
static bool
is_shown(kiln_type a, kiln_type b)
{
    bool f8 = (a == KILN_FP8 || a == KILN_BF8) &&
              (b == KILN_FP8 || b == KILN_BF8);

    return (a == b && a != KILN_I32) || f8 || (num_is_mx(a) && num_is_mx(b)) ||
           ((a == KILN_BF16 || a == KILN_F16) &&
            (num_is_mx(b) || b == KILN_I4 || b == KILN_NVFP4)) ||
           ((a == KILN_BF16 || a == KILN_F16) &&
            (b == KILN_FP8 || b == KILN_BF8 || b == KILN_I8)) ||
           (a == KILN_BF16 && b == KILN_F16);
}

/* What a variant of a family is shown with: a type with itself, and the
 * mixtures of the smallest one. */
static bool
is_told(const struct part *t, kiln_type a, kiln_type b)
{
    return is_shown(a, b) && (!t->only || a == t->only) &&
           (!t->beside || b == t->beside) &&
           (!t->some || a == b || b == KILN_MXFP4 || b == KILN_I4 ||
            b == KILN_NVFP4);
}

/* Scales that are a part of a type, which nothing else has: one row for the
 * rule. */
static bool
is_told_with(const kiln_problem *p)
{
    bool own = p->scale >= KILN_SCALE_MX32;

    return kn_prequant(p) ? p->scale && p->scale <= KILN_SCALE_BLOCK128
         : num_is_mx(p->b) ? p->scale == KILN_SCALE_MX32
         : p->b == KILN_I4 ? kn_scale_groups(p)
         : p->b == KILN_NVFP4 ? p->scale == KILN_SCALE_NV16
         : !own || (p->a == KILN_BF16 && p->scale <= KILN_SCALE_GROUP32);
}

/* 128-blocks whose scales may be powers of two. */
static bool
has_powers(const kiln_problem *p)
{
    return p->scale == KILN_SCALE_BLOCK128 && (p->a == KILN_FP8 || p->a == KILN_BF8);
}

static void
put_part(struct page *g, const struct part *t)
{
    kiln_problem p = { .family = t->family };

    kn_putf(&g->text, "\n## %s\n\n`kilnc run %s %s`\n\n", t->title,
            kn_family_names[t->family], t->launch);
    kn_put(&g->text, "| types, scale | gfx950 nt | nn | tn | tt | gfx942 nt "
                     "| nn | tn | tt |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int a = KILN_F32; a < KILN_NTYPES; a++)
        for (int b = KILN_F32; b < KILN_NTYPES; b++)
            for (int s = 0; s < KILN_NSCALES; s++) {
                p.a = (kiln_type)a;
                p.b = (kiln_type)b;
                p.scale = (kiln_scale)s;
                p.scale_type = 0;
                if (is_told(t, p.a, p.b) && is_told_with(&p) && is_run(g))
                    put_row(g, &p, t->launch);
                p.scale_type = KILN_SCALE_TYPE_E8M0;
                if (is_told(t, p.a, p.b) && has_powers(&p) && is_run(g))
                    put_row(g, &p, t->launch);
            }
}

/* Rows that are quantised have no pairs: a row is what they become. */
struct way {
    const char *name, *flags;
    bool blocks;             /* of scales of 128 alone */
};

static void
put_quant_row(struct page *g, int out, int scale, const struct way *way)
{
    static const kiln_type from[] = { KILN_BF16, KILN_F16, KILN_F32 };

    kn_putf(&g->text, "| %s, %s%s |", kiln_type_name((kiln_type)out),
            kn_out_scale_names[scale], way->name);
    for (int i = 0; i < 6; i++) {
        char line[400];
        struct cell cell;

        snprintf(line, sizeof line, "kilnc run quant -m 33 -k 97 --device "
                 "sim:%s --a %s --out %s --out-scale %s%s",
                 i < 3 ? "gfx950" : "gfx942", kiln_type_name(from[i % 3]),
                 kiln_type_name((kiln_type)out), kn_out_scale_names[scale],
                 way->flags);
        cell = cell_of(line);
        put_cell(g, &cell);
    }
    kn_put(&g->text, "\n");
}

static void
put_quant(struct page *g)
{
    static const struct way ways[] = {
        { "", "", false }, { " e8m0", " --scale-type e8m0", true },
        { ", stochastic", " --round stochastic --round-seed 1", false },
        { ", transposed", " --transpose", false }, { ", both", " --dual", false }
    };

    kn_put(&g->text, "\n## quant\n\n`kilnc run quant -m 33 -k 97`\n\n"
                     "| output, scale | gfx950 bf16 | f16 | f32 | gfx942 bf16 | "
                     "f16 | f32 |\n|---|---|---|---|---|---|---|\n");
    for (int out = KILN_FP8; out < KILN_NTYPES; out++)
        for (int s = KILN_OUT_STATIC; s < KILN_NOUTSCALES; s++)
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
                if (kn_narrow_of((kiln_type)out)->elem &&
                    (!ways[w].blocks || s == KILN_OUT_BLOCK128) &&
                    num_is_mx((kiln_type)out) == (s == KILN_OUT_MX32) && is_run(g))
                    put_quant_row(g, out, s, &ways[w]);
}

static void
put_head(struct page *g)
{
    kn_put(&g->text,
        "# Status\n\n"
        "Written by the test `status-most` (tests/num/status.c), which runs every "
        "cell and fails\nwhen this page differs; copy tests/num/status.md of "
        "the build folder here to update.\nThe test `status` runs every ninth row.\n\n"
        "- **checked**: a small launch on the simulator equals the reference "
        "and has no finding.\n  Edge shapes, alignments and routings are the "
        "other tests of the suite `num`.\n"
        "- **refused N**: exit 2 or 3 with sentence N below; there is no such "
        "thing.\n"
        "- **missing N**: exit 3 with sentence N; it is to come.\n\n"
        "No result here comes from silicon.\n");
}

static void
put_notes(struct page *g)
{
    kn_put(&g->text, "\n## Sentences\n\n");
    for (size_t i = 0; i < g->nnotes; i++)
        kn_putf(&g->text, "%zu. %s (%u)\n", i + 1, g->note[i], g->count[i]);
    kn_putf(&g->text, "\n%u checked, %u refused, %u missing.\n",
            g->total[CHECKED], g->total[REFUSED], g->total[MISSING]);
}

struct paths {
    const char *committed, *written;
    struct page *g;
};

static void
write_page(void **state)
{
    struct paths *p = *state;
    struct page *g = p->g;
    FILE *f = fopen(p->written, "w");

    assert_non_null(f);
    kn_ctx_init(&g->c, NULL, NULL);
    g->text.c = &g->c;
    put_head(g);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        put_part(g, &parts[i]);
    put_quant(g);
    put_notes(g);
    assert_int_equal(fwrite(g->text.s, 1, g->text.n, f), g->text.n);
    assert_int_equal(fclose(f), 0);
}

static void
test_nothing_is_wrong(void **state)
{
    const struct paths *p = *state;

    if (p->g->total[WRONG])
        fail_msg("%u commands fail, first: %s", p->g->total[WRONG],
                 p->g->wrong);
    assert_true(p->g->total[CHECKED] > 100);
}

/* First line in which two texts differ, 0 if none. */
static unsigned
first_difference(FILE *a, FILE *b)
{
    char x[600], y[600];

    for (unsigned line = 1;; line++) {
        char *p = fgets(x, sizeof x, a), *q = fgets(y, sizeof y, b);

        if (!p && !q)
            return 0;
        if (!p || !q || strcmp(p, q))
            return line;
    }
}

/* A title or a row; its cells without the numbers of their sentences, which a
 * part of the page counts anew. */
static bool
read_row(FILE *f, char row[600])
{
    while (fgets(row, 600, f)) {
        char *to = row[0] == '|' ? strchr(row + 1, '|') : NULL;

        if (row[0] == '#')
            return true;
        if (!to)
            continue;
        for (const char *at = to; *at; at++)
            if (*at < '0' || *at > '9')
                *to++ = *at;
        *to = '\0';
        return true;
    }
    return false;
}

/* First row of `some` that is not among those of `all`, in their order. */
static unsigned
first_missing(FILE *all, FILE *some)
{
    char x[600], y[600];

    for (unsigned line = 1; read_row(some, y); line++)
        do
            if (!read_row(all, x))
                return line;
        while (strcmp(x, y));
    return 0;
}

static unsigned
compare(const char *page, const char *written, bool some)
{
    FILE *a = fopen(page, "r"), *b = fopen(written, "r");
    unsigned line = !a || !b ? 1 : (some ? first_missing : first_difference)(a, b);

    if (a)
        fclose(a);
    if (b)
        fclose(b);
    return line;
}

static void
test_the_committed_page_is_this_one(void **state)
{
    const struct paths *p = *state;
    unsigned line = compare(p->committed, p->written, p->g->every > 1);

    if (line)
        fail_msg("docs/status.md differs in line or row %u from %s", line,
                 p->written);
}

/* A cell that is another in one of the rows. */
static void
test_a_changed_page_is_noticed(void **state)
{
    const struct paths *p = *state;
    char other[400], *cell = strstr(p->g->text.s, "| checked");
    FILE *f;

    snprintf(other, sizeof other, "%s.other", p->written);
    f = fopen(other, "w");
    assert_non_null(f);
    assert_non_null(cell);
    cell[2] = 'C';
    assert_int_equal(fwrite(p->g->text.s, 1, p->g->text.n, f), p->g->text.n);
    fclose(f);
    assert_int_not_equal(compare(p->written, other, false), 0);
    assert_int_not_equal(compare(p->written, other, true), 0);
    assert_int_equal(compare(p->written, p->written, true), 0);
    remove(other);
}

int
main(int argc, char **argv)
{
    static struct page g;
    static struct paths p = { .g = &g };
    const struct CMUnitTest tests[] = {
        { "the page is written", write_page, NULL, NULL, &p },
        { "nothing is wrong", test_nothing_is_wrong, NULL, NULL, &p },
        { "the committed page is this one",
          test_the_committed_page_is_this_one, NULL, NULL, &p },
        { "a changed page is noticed", test_a_changed_page_is_noticed, NULL,
          NULL, &p },
    };
    int failed;

    if (argc < 3)
        return 2;
    p.committed = argv[1];
    p.written = argv[2];
    g.every = argc > 3 && !strcmp(argv[3], "some") ? 9 : 1;
    failed = _cmocka_run_group_tests("status", tests,
                                     sizeof tests / sizeof *tests, NULL, NULL);
    kn_ctx_free(&g.c);
    return failed;
}
