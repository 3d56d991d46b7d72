/* same.c - what this build makes of lists of problems, a line each: for
 * same.py, which compares builds by it.
 *
 * usage: same choices|scores|best|times|objects|tir|texts|sums
 *             gfx942|gfx950|row LIST [SHARD]
 *
 * LIST is a preset or a .csv; row: each row's own target. A line is "ROW,STAGE,
 * TEXT", STAGE of moe. TEXT is the configuration; or the 30 with the best scores
 * that are kernels, with semicolons between them; or the SHA-256 of the code
 * object; or those of the tile IR before and after the passes; or how many
 * templates have a line in it; or how many sums a launch of it was followed
 * through, their K and step; or "refused STATUS: SENTENCE". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/choose/choose.h"
#include "gen/tool/inspect/inspect.h"
#include "gen/tool/run/run.h"
#include "gen/tool/run/moe.h"
#include "gen/tool/run/session.h"
#include "gen/tool/progress.h"
#include "gen/tool/bench/bench.h"
#include "runtime/api/context.h"

struct mode {
    const char *name;
    kiln_status (*put)(struct kn_ctx *c, const kiln_problem *p,
                       const struct kn_config *given, struct kn_buf *out);
    /* the same of a launch, with the groups' offsets */
    kiln_status (*put_launch)(struct kn_ctx *c, const kiln_problem *p,
                              const int64_t *offs,
                              const struct kn_config *given,
                              struct kn_buf *out);
};

struct run {
    const struct mode *mode;
    kiln_target target;      /* NONE: each row's own */
};

/* ---- what is printed of a problem ---------------------------------------- */

static kiln_status
put_choice(struct kn_ctx *c, const kiln_problem *p,
           const struct kn_config *given, struct kn_buf *out)
{
    struct kn_config g = *given;

    KN_TRY(kn_choose(c, p, &g, NULL));
    kn_config_print(&g, out);
    return KILN_OK;
}

/* The score of the choice in microseconds, 0 without; and the choice. */
static kiln_status
put_score(struct kn_ctx *c, const kiln_problem *p,
          const struct kn_config *given, struct kn_buf *out)
{
    struct kn_config g = *given;

    KN_TRY(kn_choose(c, p, &g, NULL));
    kn_putf(out, "%.2f ", kn_score_known(p, &g));
    kn_config_print(&g, out);
    return KILN_OK;
}

static kiln_status
put_best(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *given,
         struct kn_buf *out)
{
    struct kn_candidate *all;
    size_t n = kn_candidates(c, p, given, 30, &all);

    for (size_t i = 1; i < n; i++)
        kn_putf(out, "%s%s", i > 1 ? ";" : "", all[i].text);
    return n ? KILN_OK : kn_fail(c, KILN_UNSUPPORTED, "there is no kernel");
}

static void
put_digest(struct kn_buf *out, const void *p, size_t n)
{
    uint8_t digest[KN_DIGEST];
    char hex[KN_HEX];

    kn_sha256(p, n, digest);
    kn_hex(digest, hex);
    kn_put(out, hex);
}

static kiln_status
put_object(struct kn_ctx *c, const kiln_problem *p,
           const struct kn_config *given, struct kn_buf *out)
{
    struct kn_generated g;

    KN_TRY(kn_generate(c, p, given, NULL, &g));
    put_digest(out, g.co, g.size);
    return KILN_OK;
}

static kiln_status
put_tile_ir(struct kn_ctx *c, const kiln_problem *p,
            const struct kn_config *given, struct kn_buf *out)
{
    const struct kn_watch watch = { .want = KN_WANT_TIR };
    struct kn_buf tile = { .c = c }, wave = { .c = c };
    struct kn_generated g;

    KN_TRY(kn_generate(c, p, given, &watch, &g));
    kn_print(g.tile, &tile);
    kn_print(g.wave, &wave);
    put_digest(out, tile.s, tile.n);
    kn_put(out, " ");
    put_digest(out, wave.s, wave.n);
    return KILN_OK;
}

struct names {
    const char *name[512];
    size_t n;
};

static void
add_name(struct names *s, struct kn_loc at)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], at.file))
            return;
    if (s->n < sizeof s->name / sizeof *s->name)
        s->name[s->n++] = at.file;
}

static kiln_status
put_texts(struct kn_ctx *c, const kiln_problem *p,
          const struct kn_config *given, struct kn_buf *out)
{
    struct kn_config g = *given;
    struct names names = { 0 };
    struct kn_fn *f;

    KN_TRY(kn_choose(c, p, &g, NULL));
    KN_TRY(kn_instantiate(c, p, &g, &f));
    for (size_t i = 1; i < f->nval; i++)
        if (f->val[i].at.file)
            add_name(&names, f->val[i].at);
    for (size_t i = 0; i < f->nlds; i++)
        add_name(&names, f->lds[i].at);
    for (size_t i = 0; i < f->nins; i++)
        add_name(&names, f->ins[i].at);
    kn_putf(out, "%zu", names.n);
    return KILN_OK;
}

/* Predicted microseconds of the choice, and its score. */
static kiln_status
put_time(struct kn_ctx *c, const kiln_problem *p, const int64_t *offs,
         const struct kn_config *given, struct kn_buf *out)
{
    struct kn_predict q = { .p = p, .offs = offs };
    struct kn_time_result r;
    struct kn_generated g;

    KN_TRY(kn_generate(c, p, given, NULL, &g));
    q.g = &g;
    KN_TRY(kn_predict_generated(c, &q, &r));
    kn_putf(out, "%.3f ", r.us);
    return put_score(c, p, given, out);
}

static kiln_status
put_sums(struct kn_ctx *c, const kiln_problem *p, const int64_t *offs,
         const struct kn_config *given, struct kn_buf *out)
{
    const struct kn_watch watch = { .want = KN_WANT_TIR };
    struct kn_sums_facts f;
    struct kn_generated g;

    KN_TRY(kn_generate(c, p, given, &watch, &g));
    KN_TRY(kn_check_sums(c, p, offs, &g, &f));
    kn_putf(out, "%llu %lld %lld", (unsigned long long)f.sums, (long long)f.k,
            (long long)f.step);
    return KILN_OK;
}

/* ---- problems ------------------------------------------------------------ */

/* gemm1 writes what gemm2 reads where its epilogue can. */
static kiln_status
requantise(struct kn_ctx *c, kiln_problem *p)
{
    p->out = p->a;
    p->requant = KN_MX_EVEN;
    p->ldc = 0;
    return kn_problem_normalise(c, p);
}

static kiln_status
make_problem(struct kn_ctx *c, struct kn_cli *cli, const char *stage,
             kiln_problem *p, int64_t **offs)
{
    int64_t *own;

    if (offs && cli->v[KN_FLAG_groups].seen && !cli->v[KN_FLAG_tokens].seen)
        cli->v[KN_FLAG_tokens] = (struct kn_value){ .seen = true, .i = 128 };
    if (*stage) {
        bool mx = !strcmp(stage, "gemm1-mx");

        KN_TRY(kn_moe_problem(c, cli, p->target, mx ? KILN_MOE_GATE_UP
                : kn_name_index(kn_stage_names, KILN_NMOESTAGES, stage), p));
        return mx ? requantise(c, p) : KILN_OK;
    }
    KN_TRY(kn_cli_problem(c, cli, p->target, p));
    if (offs || cli->v[KN_FLAG_tokens].seen ||
        cli->v[KN_FLAG_group_lens].seen)
        KN_TRY(kn_groups_make(c, cli, p, offs ? offs : &own));
    return kn_problem_normalise(c, p);
}

static kiln_status
put_row(const struct run *r, struct kn_ctx *c, const struct kn_work *w,
        const char *stage, struct kn_buf *out)
{
    static const char *const none[] = { NULL };
    kiln_problem p = { .target = r->target ? r->target : w->target };
    struct kn_config given = { 0 };
    int64_t *offs = NULL;
    struct kn_cli *cli;

    KN_ENTER(c);
    cli = KN_NEW(c, struct kn_cli, 1);
    KN_TRY(kn_work_cli(c, w, KN_CMD_run, none, cli));
    KN_TRY(make_problem(c, cli, stage, &p,
                        r->mode->put_launch ? &offs : NULL));
    KN_TRY(kn_config_parse(c, cli->config, &given));
    if (!cli->v[KN_FLAG_k].seen && p.family != KILN_MOE && !p.k)
        given.domain = kn_domain_of(&p, 256, 0); /* any K, hence a tail */
    return r->mode->put_launch
           ? r->mode->put_launch(c, &p, offs, &given, out)
           : r->mode->put(c, &p, &given, out);
}

static void
print_row(const struct run *r, const struct kn_work *w, const char *stage)
{
    struct kn_ctx own;
    struct kn_buf out = { .c = &own };
    kiln_status s;

    kn_ctx_init(&own, NULL, NULL);
    s = put_row(r, &own, w, stage, &out);
    if (s)
        printf("%zu,%s,refused %d: %s\n", w->row + 1, stage, (int)s,
               own.err.text);
    else
        printf("%zu,%s,%s\n", w->row + 1, stage, out.s);
    kn_ctx_free(&own);
}

/* A row of moe that names no stage is all of them. */
static void
print_stages(const struct run *r, const struct kn_work *w)
{
    static const char *const all[] = { "gemm1", "gemm1-mx", "gemm2",
                                       "reduce" };
    const char *stage = w->value[KN_FLAG_stage];

    if (strcmp(w->family, "moe"))
        print_row(r, w, "");
    else if (stage)
        print_row(r, w, stage);
    else
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            print_row(r, w, all[i]);
}

static kiln_status
read_list(struct kn_ctx *c, int argc, char **argv, struct kn_worklist *out)
{
    const char *args[] = { "kilnc", "bench", argv[3], "--shard",
                           argc > 4 ? argv[4] : "1/1" };
    struct kn_progress quiet = { 0 };
    struct kn_tool t = { .c = c, .progress = &quiet };
    struct kn_cli *cli;

    KN_ENTER(c);
    t.cli = cli = KN_NEW(c, struct kn_cli, 1);
    KN_TRY(kn_cli_parse(c, 5, (char **)args, cli));
    return kn_worklist_read(&t, out);
}

int
main(int argc, char **argv)
{
    static const struct mode modes[] = {
        { "choices", put_choice, NULL }, { "scores", put_score, NULL },
        { "best", put_best, NULL }, { "times", NULL, put_time },
        { "objects", put_object, NULL }, { "tir", put_tile_ir, NULL },
        { "texts", put_texts, NULL }, { "sums", NULL, put_sums },
    };
    struct run r = { 0 };
    struct kn_worklist list;
    struct kn_ctx all;

    for (size_t i = 0; argc > 3 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name))
            r.mode = &modes[i];
    for (int t = 1; argc > 3 && t < KILN_NTARGETS; t++)
        if (!strcmp(argv[2], kiln_target_name((kiln_target)t)))
            r.target = (kiln_target)t;
    kn_ctx_init(&all, NULL, NULL);
    if (!r.mode || (!r.target && strcmp(argv[2], "row")) ||
        read_list(&all, argc, argv, &list)) {
        fprintf(stderr, "same: %s\n", all.err.text);
        return 2;
    }
    for (size_t i = 0; i < list.n; i++)
        print_stages(&r, &list.w[i]);
    kn_ctx_free(&all);
    return 0;
}
