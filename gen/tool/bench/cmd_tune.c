/* cmd_tune.c - `kilnc tune`: a configuration for every problem of a list, as a
 * tuning table. The --budget candidates with the best scores are generated,
 * which proves them, and timed by the model; the fastest whose sampled workgroups
 * compute the right numbers wins. What the user has without this table, of
 * other tables or rules, always takes part. --recheck lets each row there is
 * meet that again. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../runtime/config.h"
#include "../../../runtime/file.h"
#include "../../../runtime/isolate.h"
#include "../run/run.h"
#include "../run/session.h"
#include "../progress.h"
#include "../../tuning/tuning.h"
#include "bench.h"

enum { BUDGET = 12 };

struct line {
    const char *key, *text;  /* what names the problem; the whole row */
    const char *config;      /* its column */
};

struct tune {
    struct kn_tool *t;
    struct kn_worklist list;
    struct line *line;
    size_t n, cap;
    size_t better, kept, failed, replaced, refused;
    kiln_status refusal;     /* of the last refused row */
    double gain;             /* sum of default / best */
    size_t tuned;
};

static const char head[] = "arch,family,layout,a,b,out,scale,batch,n,k,m,"
                           "config,_us,_default_us,_kind,_error_pct,_object\n";
enum { HEAD_COLUMNS = 17 };

/* ---- one problem -------------------------------------------------------- */

/* The tuning table of this row alone: what a candidate is tried with is what
 * its row will make of the problem. In the arena of `c`. */
static kiln_status
table_of(struct kn_ctx *c, const char *key, const char *config,
         struct kn_tuning **out)
{
    struct kn_tuning *t = KN_NEW(c, struct kn_tuning, 1);
    struct kn_buf b = { .c = c };

    t->t = KN_NEW(c, struct kn_csv, 1);
    t->n = 1;
    t->alone = true;
    kn_putf(&b, "%s%s%s,,,,,\n", head, key, config);
    *out = t;
    return kn_csv_parse(c, "candidate", b.s, t->t);
}

static bool
on_gpu(const struct tune *r)
{
    const struct kn_value *v = &r->t->cli->v[KN_FLAG_device];

    return v->seen && v->i == KN_DEV_HIP;
}

static const char *
kind_of(const struct tune *r)
{
    return on_gpu(r) ? "measured" : "predicted";
}

/* Whether a configuration line is what a row says, group-m apart: the row may be
 * one that cannot be taken, and leave the choice to the rules. */
static bool
has_words(const char *config, const char *text)
{
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        const char *at = config;

        n = strcspn(text, " ");
        if (!strncmp(text, "group-m=", 8) || !strncmp(text, "stages=", 7))
            continue;
        while (at && (strncmp(at, text, n) || (at[n] && at[n] != ' '))) {
            at = strchr(at, ' ');
            at = at ? at + 1 : NULL;
        }
        if (!at)
            return false;
    }
    return true;
}

/* What a run or a prediction came to. The caller frees the report. */
static json_t *
read_timing(const struct tune *r, const char *json, struct kn_timing *out)
{
    json_t *root = json_loads(json, 0, NULL);
    json_t *told = json_object_get(root, kind_of(r));

    out->us = json_number_value(json_object_get(told, "us"));
    out->error_pct = json_number_value(json_object_get(told, "error_pct"));
    out->rows = (uint32_t)json_integer_value(json_object_get(
        told, "validated_rows"));
    return root;
}

/* A GPU's time is that of a launch whose whole result was right. `text`: the
 * row tried, NULL for the default choice. */
static kiln_status
time_once(const struct tune *r, struct kn_ctx *c, const struct kn_work *w,
          const char *text, struct kn_timing *out)
{
    const struct kn_value *device = &r->t->cli->v[KN_FLAG_device];
    const bool gpu = on_gpu(r);
    struct kn_cli *cli;
    const char *json;
    json_t *root;

    cli = KN_NEW(c, struct kn_cli, 1);
    KN_TRY(kn_work_cli(c, w, gpu ? KN_CMD_run : KN_CMD_time,
                       (const char *const[]){
                           gpu ? "--device" : "--arch",
                           gpu ? device->s : kiln_target_name(w->target),
                           "--json", "-",
                           r->t->cli->v[KN_FLAG_warm].seen ? "--warm" : NULL,
                           NULL }, cli));
    KN_TRY(kn_work_run(c, cli, &json));
    root = read_timing(r, json, out);
    if (text && !has_words(json_string_value(json_object_get(root, "config")),
                           text))
        out->us = 0;
    json_decref(root);
    return out->us > 0 ? KILN_OK
                       : kn_fail(c, KILN_UNSUPPORTED, "its row cannot be taken");
}

/* "FILE.co:LAUNCH", somebody else's object: executed on the problem's operands,
 * every element checked, and timed. */
static kiln_status
time_foreign(const struct tune *r, struct kn_ctx *c, const struct kn_work *w,
             const char *text, struct kn_timing *out)
{
    const struct kn_value *device = &r->t->cli->v[KN_FLAG_device];
    const char *colon = strrchr(text, ':'), *json;
    const bool gpu = on_gpu(r);
    struct kn_buf place = { .c = c };
    struct kn_cli *cli;

    cli = KN_NEW(c, struct kn_cli, 1);
    kn_putf(&place, "sim:%s", kiln_target_name(w->target));
    KN_TRY(kn_work_cli(c, w, KN_CMD_run, (const char *const[]){
                           "--device", gpu ? device->s : place.s, "--object",
                           kn_strndup(c, text, (size_t)(colon - text)),
                           "--launch", colon + 1, "--json", "-", NULL }, cli));
    KN_TRY(kn_work_run(c, cli, &json));
    json_decref(read_timing(r, json, out));
    return out->us > 0 ? KILN_OK
                       : kn_fail(c, KILN_UNSUPPORTED, "it has no time");
}

static kiln_status
check_once(struct kn_ctx *c, const struct kn_work *w)
{
    struct kn_buf device = { .c = c };
    struct kn_cli *cli;
    const char *json;

    cli = KN_NEW(c, struct kn_cli, 1);
    kn_putf(&device, "sim:%s", kiln_target_name(w->target));
    KN_TRY(kn_work_cli(c, w, KN_CMD_run, (const char *const[]){
                           "--wg", "sample:2", "--device", device.s, NULL },
                       cli));
    return kn_work_run(c, cli, &json);
}

/* One candidate's turn, in a child process: LLVM may die on an odd one. A GPU
 * does not follow into a child. */
struct turn {
    const struct tune *r;
    const struct kn_work *w;
    const char *key, *text;  /* the row; text NULL: the default choice */
    bool check, foreign;     /* foreign: text is a --candidate */
};

static kiln_status
take_turn(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    const struct turn *t = user;
    struct kn_timing *time = KN_NEW(c, struct kn_timing, 1);
    struct kn_tuning *row;

    c->tuning = t->r->t->c->tuning;
    if (t->foreign) {
        out->s = (char *)time;
        out->n = sizeof *time;
        return time_foreign(t->r, c, t->w, t->text, time);
    }
    if (t->text) {
        KN_TRY(table_of(c, t->key, t->text, &row));
        c->tuning = row;
    }
    out->s = (char *)time;
    out->n = sizeof *time;
    return t->check ? check_once(c, t->w)
                    : time_once(t->r, c, t->w, t->text, time);
}

static kiln_status
turn_in(struct kn_ctx *c, struct turn *t, struct kn_timing *time)
{
    struct kn_buf out = { .c = c };
    struct kn_bytes b;
    struct kn_env env;

    KN_ENTER(c);
    kn_env_read(&env);
    if (on_gpu(t->r) || (env.isolate && !strcmp(env.isolate, "0")))
        KN_TRY(take_turn(c, t, &out));
    else
        KN_TRY(kn_isolate(c, take_turn, t, &b));
    memcpy(time, out.s ? out.s : (const char *)b.p, sizeof *time);
    return KILN_OK;
}

/* A candidate that fails is told, not hidden, and out of the race. */
static void
tell_failure(struct tune *r, const struct kn_candidate *x, const char *what,
             const struct kn_ctx *own)
{
    r->failed++;
    kn_putf(r->t->text, "  %s: %s%s\n", x->text, what, own->err.text);
}

/* What a problem's candidates share. */
struct race {
    struct tune *r;
    struct kn_ctx *c;
    const struct kn_work *w;
    const char *key;
};

/* As the row `text`, NULL: as the default choice. */
static void
time_candidate(const struct race *q, struct kn_candidate *x, const char *text)
{
    struct turn turn = { q->r, q->w, q->key, text, false, false };
    struct kn_ctx own;

    kn_ctx_init(&own, q->c->realloc, q->c->user);
    if (turn_in(&own, &turn, &x->time)) {
        x->time.us = 0;
        tell_failure(q->r, x, "not generated: ", &own);
    }
    kn_ctx_free(&own);
}

/* The default choice is all[0]. */
static void
time_candidates(const struct race *q, struct kn_candidate *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        time_candidate(q, &all[i], i ? all[i].text : NULL);
}

static int
by_time(const void *a, const void *b)
{
    const struct kn_candidate *x = a, *y = b;

    double u = x->time.us, v = y->time.us;

    if (u <= 0 || v <= 0)
        return (u <= 0) - (v <= 0);
    return u != v ? (u > v) - (u < v) : strcmp(x->text, y->text);
}

/* The fastest that computes the right numbers, NULL if none does. */
static const struct kn_candidate *
best_correct(const struct race *q, struct kn_candidate *all, size_t n)
{
    struct kn_ctx *c = q->c;

    qsort(all, n, sizeof *all, by_time);
    for (size_t i = 0; i < n && all[i].time.us > 0; i++) {
        struct turn turn = { q->r, q->w, q->key, all[i].text, true,
                             false };
        struct kn_ctx own;
        struct kn_timing time;
        kiln_status s;

        kn_ctx_init(&own, c->realloc, c->user);
        s = turn_in(&own, &turn, &time);
        if (s)
            tell_failure(q->r, &all[i], "wrong numbers or a finding", &own);
        kn_ctx_free(&own);
        if (!s)
            return &all[i];
    }
    return NULL;
}

/* The fastest of `best` and of the same with K staggered. */
static const struct kn_candidate *
best_staggered(const struct race *q, const kiln_problem *p,
               const struct kn_config *given, const struct kn_candidate *best)
{
    struct kn_candidate *all = NULL;
    size_t n = best && on_gpu(q->r)
                   ? kn_candidates_staggered(q->c, p, given, best, &all) : 0;

    for (size_t i = 1; i < n; i++) {
        time_candidate(q, &all[i], all[i].text);
        if (all[i].time.us > 0)
            kn_putf(q->r->t->text, "  %s: %.4f us %s\n", all[i].text,
                    all[i].time.us, kind_of(q->r));
    }
    return n > 1 ? best_correct(q, all, n) : best;
}

/* The fastest of --candidate, if one is faster than `best`; NULL: none is. */
static const struct kn_candidate *
best_foreign(const struct race *q, const struct kn_candidate *best)
{
    const struct kn_value *v = &q->r->t->cli->v[KN_FLAG_candidate];
    struct kn_candidate *found = NULL;
    char *list, *save = NULL;

    if (!v->seen)
        return NULL;
    list = kn_strdup(q->c, v->s);
    for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        struct turn turn = { q->r, q->w, q->key, s, false, true };
        struct kn_candidate *x = KN_NEW(q->c, struct kn_candidate, 1);
        struct kn_ctx own;

        x->text = s;
        kn_ctx_init(&own, q->c->realloc, q->c->user);
        if (turn_in(&own, &turn, &x->time)) {
            tell_failure(q->r, x, "", &own);
        } else {
            kn_putf(q->r->t->text, "  %s: %.4f us %s\n", s, x->time.us,
                    kind_of(q->r));
            if (x->time.us < (found ? found : best)->time.us)
                found = x;
        }
        kn_ctx_free(&own);
    }
    return found;
}

/* ---- the table ---------------------------------------------------------- */

static const char *
key_of(struct tune *r, const kiln_problem *p)
{
    struct kn_buf b = { .c = r->t->c };

    kn_putf(&b, "%s,%s,%s,%s,%s,%s,%s,", kiln_target_name(p->target),
            kn_family_names[p->family], kn_layout_names[p->layout],
            kn_tuning_a(p), kiln_type_name(p->b), kiln_type_name(p->out),
            kn_tuning_scale(p));
    if (p->batch > 1)
        kn_putf(&b, "%lld", (long long)p->batch);
    kn_putf(&b, ",%lld,%lld,%s%lld,", (long long)p->n, (long long)p->k,
            r->t->cli->v[KN_FLAG_buckets].seen ? "M_LEQ_" : "",
            (long long)kn_tuning_rows(p));
    return b.s;
}

static struct line *
find_row(const struct tune *r, const char *key)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->line[i].key, key))
            return &r->line[i];
    return NULL;
}

static void
set_row(struct tune *r, struct line x)
{
    struct line *have = find_row(r, x.key);

    if (!have) {
        r->line = kn_grow(r->t->c, r->line, &r->cap, r->n + 1, sizeof *r->line);
        have = &r->line[r->n++];
    }
    *have = x;
}

/* Rows of an earlier run stay. */
static kiln_status
load_rows(struct tune *r, const char *path)
{
    struct kn_csv t;

    if (access(path, F_OK))
        return KILN_OK;
    KN_TRY(kn_csv_read(r->t->c, path, &t));
    KN_TRY(kn_tuning_check(r->t->c, &t));
    for (size_t i = 0; i < t.nrows; i++) {
        struct kn_buf key = { .c = r->t->c }, text = { .c = r->t->c };

        for (size_t k = 0; k < t.ncols; k++) {
            if (k < 11)
                kn_putf(&key, "%s,", kn_csv_at(&t, i, (int)k)->s);
            kn_put(&text, k ? "," : "");
            kn_csv_put(&text, kn_csv_at(&t, i, (int)k)->s);
        }
        for (size_t k = t.ncols; k < HEAD_COLUMNS; k++)
            kn_put(&text, ",");
        kn_put(&text, "\n");
        set_row(r, (struct line){ key.s, text.s, kn_csv_at(&t, i, 11)->s });
    }
    return KILN_OK;
}

static int
by_key(const void *a, const void *b)
{
    return strverscmp(((const struct line *)a)->key,
                      ((const struct line *)b)->key);
}

static kiln_status
save_in(struct kn_ctx *own, struct tune *r, const char *path)
{
    struct kn_buf b = { .c = own };

    KN_ENTER(own);
    if (r->n)
        qsort(r->line, r->n, sizeof *r->line, by_key);
    kn_put(&b, head);
    for (size_t i = 0; i < r->n; i++)
        kn_put(&b, r->line[i].text);
    return kn_file_write(own, path, b.s, b.n);
}

static kiln_status
save_rows(struct tune *r)
{
    struct kn_ctx own;
    kiln_status s;

    kn_ctx_init(&own, r->t->c->realloc, r->t->c->user);
    s = save_in(&own, r, r->t->cli->v[KN_FLAG_o].s);
    if (s)
        kn_fail(r->t->c, s, "%s", own.err.text);
    kn_ctx_free(&own);
    return s;
}

/* ---- command ------------------------------------------------------------ */

static void
keep_winner(struct tune *r, const char *key, const struct kn_candidate *best,
            double standard, bool foreign)
{
    const struct kn_timing *x = &best->time;
    const char *config = foreign ? KN_FALLBACK : best->text;
    struct kn_buf row = { .c = r->t->c }, *b = r->t->text;

    kn_putf(&row, "%s%s,%.4f,%.4f,%s,", key, config, x->us, standard,
            kind_of(r));
    if (x->rows)
        kn_putf(&row, "%.1f", x->error_pct);
    kn_putf(&row, ",%s\n", foreign ? best->text : "");
    set_row(r, (struct line){ kn_strdup(r->t->c, key), row.s,
                              kn_strdup(r->t->c, config) });
    kn_putf(b, "%s %s  %.4f -> %.4f us %s, ratio %.3f", key, best->text,
            standard, x->us, kind_of(r), x->us / standard);
    if (!on_gpu(r)) {
        kn_put(b, ", ");
        kn_put_error(b, x->error_pct, x->rows);
    }
    kn_put(b, "\n");
    r->tuned++;
    r->better += x->us < standard;
    r->gain += standard / x->us;
}

static kiln_status
tune_in(struct tune *r, struct kn_ctx *c, const struct kn_work *w)
{
    static const char *const none[] = { NULL };
    const struct kn_value *budget = &r->t->cli->v[KN_FLAG_budget];
    struct kn_candidate *all;
    const struct kn_candidate *best, *foreign;
    const struct line *have;
    struct kn_config given = { 0 };
    struct race q = { r, c, w, NULL };
    struct kn_cli *cli;
    kiln_problem p;
    int64_t *offs;
    size_t n, most = budget->seen ? (size_t)budget->i : BUDGET;
    double standard;

    KN_ENTER(c);
    cli = KN_NEW(c, struct kn_cli, 1);
    KN_TRY(kn_work_cli(c, w, KN_CMD_generate, none, cli));
    KN_TRY(kn_cli_problem(c, cli, w->target, &p));
    KN_TRY(kn_groups_make(c, cli, &p, &offs));
    KN_TRY(kn_problem_normalise(c, &p));
    KN_TRY(kn_config_parse(c, cli->config, &given));
    q.key = key_of(r, &p);
    have = find_row(r, q.key);
    if (have && !r->t->cli->v[KN_FLAG_recheck].seen) {
        r->kept++;
        return KILN_OK;
    }
    n = have ? kn_candidates_again(c, &p, &given, have->config, &all)
             : kn_candidates(c, &p, &given, most, &all);
    time_candidates(&q, all, n);
    standard = n ? all[0].time.us : 0;
    best = n ? best_correct(&q, all, n) : NULL;
    best = best_staggered(&q, &p, &given, best);
    if (!best)
        return kn_fail(c, KILN_UNSUPPORTED, "no configuration works");
    foreign = best_foreign(&q, best);
    r->replaced += have && strcmp(have->config, foreign ? KN_FALLBACK
                                                        : best->text) != 0;
    keep_winner(r, q.key, foreign ? foreign : best,
                standard > 0 ? standard : best->time.us, foreign != NULL);
    return KILN_OK;
}

static kiln_status
tune_all(struct tune *r)
{
    kn_progress_stage(r->t->progress, "tuning");
    for (size_t i = 0; i < r->list.n; i++) {
        size_t before = r->n;
        struct kn_ctx own;
        kiln_status s;

        kn_ctx_init(&own, r->t->c->realloc, r->t->c->user);
        own.tuning = r->t->c->tuning;
        s = tune_in(r, &own, &r->list.w[i]);
        if (s) {
            kn_putf(r->t->text, "row %zu: %s\n", r->list.w[i].row + 1,
                    own.err.text);
            r->refused++;
            r->refusal = s;
        }
        kn_ctx_free(&own);
        if (r->n > before)
            KN_TRY(save_rows(r));
        kn_progress_update(r->t->progress, i + 1, r->list.n);
    }
    return save_rows(r);
}

/* FILE.co:LAUNCH,... */
static kiln_status
check_candidates(struct kn_tool *t)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_candidate];
    char *list = kn_strdup(t->c, v->seen ? v->s : ""), *save = NULL;

    if (v->seen && !*list)
        return kn_fail(t->c, KILN_BAD_INPUT, "--candidate names no object");
    for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        const char *colon = strrchr(s, ':');

        if (!colon || colon == s || !colon[1])
            return kn_fail(t->c, KILN_BAD_INPUT, "--candidate is FILE.co:LAUNCH, "
                           "such as k.co:k.launch, not '%s'", s);
    }
    return KILN_OK;
}

kiln_status
kn_cmd_tune(struct kn_tool *t)
{
    struct tune *r = KN_NEW(t->c, struct tune, 1);
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];

    r->t = t;
    if (!o->seen || !strcmp(o->s, "-"))
        return kn_fail(t->c, KILN_BAD_INPUT, "'tune' needs -o FILE, the table "
                       "it continues");
    KN_TRY(check_candidates(t));
    KN_TRY(kn_worklist_read(t, &r->list));
    KN_TRY(load_rows(r, o->s));
    KN_TRY(tune_all(r));
    kn_putf(t->text, "%zu tuned: %zu faster than the default, none "
            "slower, mean speed-up %.3f (%s); %zu kept, %zu replaced, %zu "
            "candidates failed\n", r->tuned, r->better,
            r->tuned ? r->gain / (double)r->tuned : 1, kind_of(r), r->kept,
            r->replaced, r->failed);
    if (r->refused && r->refused == r->list.n)
        return kn_fail(t->c, r->refusal, "none of the %zu rows can be tuned",
                       r->refused);
    return KILN_OK;
}
