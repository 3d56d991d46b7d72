/* selftest_row.c - one row of selftest: its command runs on the simulator and,
 * with one, on the GPU, from the same operands; each is held against the
 * reference, and their outputs against each other bit by bit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "../progress.h"
#include "selftest.h"
#include "session.h"

enum { MOST_WORDS = 96 };

struct side {
    struct kn_trial trial;
    json_t *report;          /* of the command */
    kiln_status status;
};

struct difference {
    uint64_t elements, differ, output, first, gpu, simulator;
};

struct row_run {
    struct kn_ctx *c;
    const struct kn_row_test *w;
    struct kn_json j;
    json_t *report;          /* of the last run */
    bool bad;
};

/* ---- the command -------------------------------------------------------- */

static kiln_status
parse(struct row_run *x, const char *device, enum kn_data_mode mode,
      struct kn_cli *cli)
{
    char **argv = KN_NEW(x->c, char *, MOST_WORDS + 8), *save = NULL;
    char *text = kn_strdup(x->c, x->w->row->command);
    int n = 0;

    argv[n++] = "kilnc";
    argv[n++] = "run";
    for (char *w = strtok_r(text, " ", &save); w && n < MOST_WORDS;
         w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n++] = "--device";
    argv[n++] = kn_strdup(x->c, device);
    argv[n++] = "--json";
    argv[n++] = "-";
    if (x->w->warm)
        argv[n++] = "--warm";
    KN_TRY(kn_cli_parse(x->c, n, argv, cli));
    cli->v[KN_FLAG_data].i = mode;
    return KILN_OK;
}

static kiln_status
run_side(struct row_run *x, const char *device, enum kn_data_mode mode,
         struct side *out)
{
    struct kn_cli *cli = KN_NEW(x->c, struct kn_cli, 1);
    struct kn_progress quiet = { 0 };
    struct kn_buf text = { .c = x->c };
    struct kn_tool t = { .c = x->c, .cli = cli, .progress = &quiet,
                         .text = &text, .trial = &out->trial };

    KN_TRY(parse(x, device, mode, cli));
    out->trial.unchecked = mode == KN_DATA_BITS;
    out->status = kn_command_run(&t);
    if (out->status > KILN_FINDING)
        return out->status;
    out->report = json_loads(text.s ? text.s : "", 0, NULL);
    return KILN_OK;
}

/* ---- bits --------------------------------------------------------------- */

static uint64_t
bits_at(const uint8_t *p, size_t size, uint64_t i)
{
    uint64_t v = 0;

    memcpy(&v, p + i * size, size);
    return v;
}

/* Bit by bit; any NaN is as good as another. */
static void
compare_output(const struct kn_output *gpu, const struct kn_output *sim,
               kiln_target target, struct difference *d)
{
    size_t size = kn_ref_type_bits(gpu->type) < 8 ? 1 :
                  kn_ref_type_bits(gpu->type) / 8;

    for (uint64_t i = 0; i < gpu->size / size; i++) {
        uint64_t g = bits_at(gpu->bytes, size, i);
        uint64_t s = bits_at(sim->bytes, size, i);
        double x, y;

        d->elements++;
        if (g == s)
            continue;
        x = kn_ref_decode(gpu->type, target, g);
        y = kn_ref_decode(gpu->type, target, s);
        if ((x != x && y != y) || d->differ++)
            continue;
        d->first = i;
        d->gpu = g;
        d->simulator = s;
    }
}

static void
compare(struct row_run *x, const struct side *gpu, const struct side *sim,
        struct difference *d)
{
    const struct kn_output *g = gpu->trial.first, *s = sim->trial.first;

    for (; g && s; g = g->next, s = s->next, d->output += !d->differ)
        if (g->size == s->size)
            compare_output(g, s, x->w->row->target, d);
    x->bad |= d->differ || g || s;
}

/* ---- the line ----------------------------------------------------------- */

/* A report's check, in each of its stages. */
static void
put_check(struct row_run *x, const char *key, const struct side *s)
{
    json_t *stages = json_object_get(s->report, "stages");
    size_t n = json_is_array(stages) ? json_array_size(stages) : 1;
    double bad = 0, snr = 0;

    for (size_t i = 0; i < n; i++) {
        json_t *of = json_is_array(stages) ? json_array_get(stages, i)
                                           : s->report;
        json_t *check = json_object_get(of, "check");
        json_t *db = json_object_get(check, "snr_db");

        bad += json_number_value(json_object_get(check, "bad"));
        if (json_is_number(db) && (!i || json_number_value(db) < snr))
            snr = json_number_value(db);
    }
    kn_json_open(&x->j, key, '{');
    kn_json_bool(&x->j, "ok", !s->status);
    kn_json_real(&x->j, "bad", bad);
    kn_json_real(&x->j, "snr_db", snr);
    kn_json_close(&x->j, '}');
    x->bad |= s->status != KILN_OK;
}

static void
put_difference(struct row_run *x, const struct difference *d)
{
    char hex[24];

    kn_json_uint(&x->j, "elements", d->elements);
    kn_json_uint(&x->j, "differ", d->differ);
    if (!d->differ)
        return;
    kn_json_open(&x->j, "first", '{');
    kn_json_uint(&x->j, "output", d->output);
    kn_json_uint(&x->j, "element", d->first);
    snprintf(hex, sizeof hex, "%#" PRIx64, d->gpu);
    kn_json_str(&x->j, "gpu", hex);
    snprintf(hex, sizeof hex, "%#" PRIx64, d->simulator);
    kn_json_str(&x->j, "simulator", hex);
    kn_json_close(&x->j, '}');
}

static void
put_trial(struct row_run *x, const struct kn_trial *t)
{
    kn_json_open(&x->j, "trial", '{');
#define X(id, text) kn_json_uint(&x->j, #id, t->id);
    KN_TRIAL_COUNTS(X)
#undef X
    kn_json_close(&x->j, '}');
    x->bad |= !kn_trial_fine(t);
}

/* What the command's report says of the kernel. */
static void
put_kernel(struct row_run *x)
{
    static const char *const texts[] = { "config", "code" };
    json_t *kernel = json_object_get(x->report, "kernel");
    json_t *of = json_object_get(x->report, "arithmetic");
    const char *key;
    json_t *v;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = json_string_value(json_object_get(x->report,
                                                             texts[i]));

        if (text)
            kn_json_str(&x->j, texts[i], text);
    }
    if (json_string_value(json_object_get(kernel, "name")))
        kn_json_str(&x->j, "kernel",
                    json_string_value(json_object_get(kernel, "name")));
    kn_json_open(&x->j, "arithmetic", '{');
    json_object_foreach(of, key, v)
        kn_json_str(&x->j, key, json_string_value(v));
    kn_json_close(&x->j, '}');
}

static void
put_number(struct row_run *x, const char *key, json_t *object, const char *name)
{
    json_t *v = json_object_get(object, name);

    if (json_is_number(v))
        kn_json_real(&x->j, key, json_number_value(v));
}

static void
put_text(struct row_run *x, const char *key, json_t *object)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (text)
        kn_json_str(&x->j, key, text);
}

static void
put_times(struct row_run *x, const struct side *gpu)
{
    json_t *measured = json_object_get(gpu->report, "measured");
    json_t *predicted = json_object_get(gpu->report, "predicted");

    if (!gpu->trial.timed)
        return;
    put_number(x, "measured_us", measured, "us");
    kn_json_bool(&x->j, "warm", x->w->warm);
    put_text(x, "clock_now", measured);
    put_number(x, "predicted_us", predicted, "us");
    put_number(x, "low_us", predicted, "low_us");
    put_number(x, "high_us", predicted, "high_us");
    put_number(x, "clock_ghz", predicted, "clock_ghz");
    put_text(x, "bound", predicted);
    put_text(x, "type", predicted);
}

/* ---- the row ------------------------------------------------------------ */

static void
put_mode(struct row_run *x, const char *data, struct side *sim,
         struct side *gpu)
{
    struct difference d = { 0 };

    kn_json_open(&x->j, NULL, '{');
    kn_json_str(&x->j, "data", data);
    if (sim->report)
        put_check(x, "simulator", sim);
    if (gpu->report)
        put_check(x, "gpu", gpu);
    if (sim->report && gpu->report) {
        compare(x, gpu, sim, &d);
        put_difference(x, &d);
    }
    if (gpu->report) {
        put_trial(x, &gpu->trial);
        put_times(x, gpu);
    }
    kn_json_close(&x->j, '}');
}

/* Sums of atomic adds may be in any order: their launches are on integers. */
static kiln_status
run_mode(struct row_run *x, enum kn_data_mode mode, const char *data,
         bool many)
{
    struct side *sim = KN_NEW(x->c, struct side, 1);
    struct side *gpu = KN_NEW(x->c, struct side, 1);
    bool grid = x->w->row->kind == KN_ROW_GRID;
    struct kn_buf at = { .c = x->c };

    kn_trial_init(&sim->trial, x->c);
    kn_trial_init(&gpu->trial, x->c);
    kn_putf(&at, "sim:%s", kiln_target_name(x->w->row->target));
    if (!grid || !x->w->device)
        KN_TRY(run_side(x, at.s, mode, sim));
    if (x->w->device) {
        gpu->trial.wanted = many ? x->w->launches : 1;
        gpu->trial.timed = grid;
        KN_TRY(run_side(x, x->w->device, mode, gpu));
    }
    put_mode(x, data, sim, gpu);
    json_decref(x->report);
    x->report = json_incref(sim->report ? sim->report : gpu->report);
    json_decref(sim->report);
    json_decref(gpu->report);
    return KILN_OK;
}

/* X(id, text): kinds of operands, as kn_data_mode has them. */
#define DATA(X) \
    X(EXACT, "small integers") X(RANDOM, "normal") X(BITS, "any finite bits")

static kiln_status
run_modes(struct row_run *x)
{
    static const struct {
        enum kn_data_mode mode;
        const char *text;
    } datas[] = {
#define X(id, text) { KN_DATA_##id, text },
        DATA(X)
#undef X
    };
    const struct kn_row *row = x->w->row;
    bool atomic = strstr(row->command, "--reduce atomic");
    size_t n = row->kind == KN_ROW_TYPES ? 3 : 2;

    if (row->kind == KN_ROW_GRID)
        return run_mode(x, KN_DATA_EXACT, datas[0].text, true);
    for (size_t i = 0; i < n; i++) {
        bool many = i == (atomic ? 0 : 1);

        if (!atomic || many)
            KN_TRY(run_mode(x, datas[i].mode, datas[i].text, many));
    }
    return KILN_OK;
}

kiln_status
kn_selftest_row(struct kn_ctx *c, const struct kn_row_test *w,
                struct kn_buf *out)
{
    struct row_run x = { .c = c, .w = w, .j = { .b = { .c = c } } };
    struct timespec from, to;
    kiln_status s;

    clock_gettime(CLOCK_MONOTONIC, &from);
    kn_json_open(&x.j, NULL, '{');
    kn_json_str(&x.j, "row", w->row->name);
    kn_json_open(&x.j, "runs", '[');
    s = run_modes(&x);
    kn_json_close(&x.j, ']');
    KN_TRY(s);
    put_kernel(&x);
    json_decref(x.report);
    clock_gettime(CLOCK_MONOTONIC, &to);
    kn_json_str(&x.j, "state", x.bad ? "wrong" : "ok");
    kn_json_real(&x.j, "seconds", (double)(to.tv_sec - from.tv_sec) +
                 (double)(to.tv_nsec - from.tv_nsec) * 1e-9);
    kn_json_close(&x.j, '}');
    kn_json_line(&x.j, out);
    return KILN_OK;
}
