/* cmd_bench.c - `kilnc bench`: the time of every problem of a list, as a table
 * that `compare` and `bench` itself read. A simulated device has no clock:
 * its times are predicted (runtime/sim/timing/timing.h), the same in every run, so
 * one run does. A GPU's are measured, by the rule of kn_stable_time. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "../../../runtime/api/context.h"
#include "../../../runtime/config.h"
#include "../../../runtime/file.h"
#include "../json.h"
#include "../progress.h"
#include "../run/run.h"
#include "../run/session.h"
#include "results.h"

struct bench {
    struct kn_tool *t;
    bool gpu;                /* --device hip:N: times are measured */
    struct kn_csv theirs;    /* --import: times that others measured */
    const struct kn_work **taken; /* the row of the list that took each of them */
    struct kn_worklist list;
    struct kn_results out;
    size_t timed, refused, wrong, kept;
};

/* [on a GPU][warm]: rows of another kind are timed again. */
static const char *
kind_of(const struct bench *r)
{
    static const char *const kinds[2][2] = {
        { "predicted", "predicted warm" }, { "measured", "measured warm" } };
    const struct kn_value *v = r->t->cli->v;
    struct kn_buf b = { .c = r->t->c };

    kn_put(&b, kinds[r->gpu || r->theirs.ncols][v[KN_FLAG_warm].seen]);
    if (v[KN_FLAG_constants].seen)
        kn_putf(&b, ", %s", v[KN_FLAG_constants].s);
    return b.s;
}

/* What gave a row its time: "sim:gfx950", "hip:0 NAME". */
static const char *
device_of(const struct bench *r, struct kn_ctx *c, const struct kn_work *w)
{
    struct kn_buf b = { .c = c };

    if (r->theirs.ncols)
        return r->theirs.name;
    if (r->list.device)
        return r->list.device;
    kn_putf(&b, "sim:%s", kiln_target_name(w->target));
    return b.s;
}

/* ---- one row ------------------------------------------------------------ */

static const char *
text_of(struct kn_ctx *c, json_t *v, const char *format)
{
    char number[64];

    if (json_is_string(v))
        return kn_strdup(c, json_string_value(v));
    if (!json_is_number(v) || !format)
        return "";
    snprintf(number, sizeof number, format, json_number_value(v));
    return kn_strdup(c, number);
}

/* What `kilnc time --json` says, as far as the table has it. */
static void
read_time(struct kn_ctx *c, const char *text, bool measured,
          const char **field)
{
    const char *kind = measured ? "measured" : "predicted";
    const char *beside = measured ? "predicted" : "";
    const struct {
        enum kn_result_column column;
        const char *object, *member, *format;
    } facts[] = {
        { KN_R_us, kind, "us", "%.4f" },
        { KN_R_error_pct, kind, "error_pct", "%.1f" },
        { KN_R_runs, "measured", "runs", "%.0f" },
        { KN_R_tflops, kind, "tflops", "%.2f" },
        { KN_R_bound, "predicted", "bound", NULL },
        { KN_R_mfma, kind, "mfma_efficiency", "%.4f" },
        { KN_R_predicted, beside, "us", "%.4f" },
        { KN_R_low, beside, "low_us", "%.4f" },
        { KN_R_high, beside, "high_us", "%.4f" },
        { KN_R_type, beside, "type", NULL },
        { KN_R_clock, beside, "clock_ghz", "%.3f" },
        { KN_R_config, NULL, "config", NULL },
        { KN_R_kernel, "kernel", "name", NULL },
        { KN_R_regs, "kernel", "regs", "%.0f" },
        { KN_R_lds, "kernel", "lds", "%.0f" },
        { KN_R_code, NULL, "code", NULL },
    };
    json_t *root = json_loads(text, 0, NULL);

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        json_t *at = facts[i].object ? json_object_get(root, facts[i].object)
                                     : root;

        field[facts[i].column] = text_of(c, json_object_get(at,
                                         facts[i].member), facts[i].format);
    }
    json_decref(root);
}

/* Executes and checks the workgroups --wg names. */
static kiln_status
check_row(struct bench *r, struct kn_ctx *c, const struct kn_work *w,
          const char **field)
{
    const struct kn_value *wg = &r->t->cli->v[KN_FLAG_wg];
    struct kn_cli *cli = KN_NEW(c, struct kn_cli, 1);
    struct kn_buf device = { .c = c };
    const char *json;
    kiln_status s;

    if (!wg->seen)
        return KILN_OK;
    kn_putf(&device, "sim:%s", kiln_target_name(w->target));
    KN_TRY(kn_work_cli(c, w, KN_CMD_run, (const char *const[]){
                           "--wg", wg->s, "--device", device.s, NULL }, cli));
    s = kn_work_run(c, cli, &json);
    if (s > KILN_FINDING)
        return s;
    field[KN_R_check] = s ? "WRONG" : "ok";
    r->wrong += s != KILN_OK;
    return KILN_OK;
}

/* --warm for the command of a row, NULL without it. */
static const char *
warm_of(const struct bench *r)
{
    return r->t->cli->v[KN_FLAG_warm].seen ? "--warm" : NULL;
}

/* A GPU executes the whole launch, which `run` checks and then times. */
static kiln_status
measure_on_gpu(struct bench *r, struct kn_ctx *c, const struct kn_work *w,
               const char **field)
{
    const char *device = r->t->cli->v[KN_FLAG_device].s, *json;
    struct kn_cli *cli = KN_NEW(c, struct kn_cli, 1);
    kiln_status s;

    KN_TRY(kn_work_cli(c, w, KN_CMD_run, (const char *const[]){
                           "--device", device, "--json", "-", warm_of(r),
                           NULL }, cli));
    s = kn_work_run(c, cli, &json);
    if (s > KILN_FINDING || c->err.status)
        return s;
    read_time(c, json, true, field);
    field[KN_R_check] = s ? "WRONG" : "ok";
    r->wrong += s != KILN_OK;
    return KILN_OK;
}

/* A time belongs to one row of the list: the row that took it before loses it,
 * too. */
static kiln_status
take(struct bench *r, struct kn_ctx *c, const struct kn_work *w, size_t at)
{
    static const char why[] = "another row of the list has the same kernel and "
                              "grid: the trace does not tell them apart";
    const struct kn_work *before = r->taken[at];
    struct kn_result_row *row;

    r->taken[at] = w;
    if (!before || before == w)
        return KILN_OK;
    row = kn_results_find(&r->out, kn_results_key(&r->out, c, before));
    if (row && *row->cell[r->out.nkey + KN_R_us]) {
        row->cell[r->out.nkey + KN_R_us] = "";
        row->cell[r->out.nkey + KN_R_status] = why;
        r->timed--;
        r->refused++;
    }
    return kn_fail(c, KILN_BAD_INPUT, "%s", why);
}

/* The time that --import's file has: of this kernel's launch in a trace, else of
 * the problem. `json`: what `time` says. */
static kiln_status
import_row(struct bench *r, struct kn_ctx *c, const struct kn_work *w,
           const char *json, const char **field)
{
    json_t *root = json_loads(json, 0, NULL);
    json_t *n = json_object_get(json_object_get(root, "predicted"), "workgroups");
    const struct kn_imported of = {
        .table = &r->out, .key = kn_results_key(&r->out, c, w),
        .kernel = field[KN_R_kernel],
        .workgroups = (uint64_t)json_integer_value(n),
    };

    double flop = strtod(field[KN_R_us], NULL) * strtod(field[KN_R_tflops], NULL);
    struct kn_buf tflops = { .c = c };
    size_t at;

    json_decref(root);
    field[KN_R_predicted] = field[KN_R_us];
    for (enum kn_result_column k = KN_R_us; k <= KN_R_mfma; k++)
        field[k] = "";
    if (kn_csv_find(&r->theirs, "kernel") < 0)      /* another's kernel */
        for (enum kn_result_column k = KN_R_low; k <= KN_R_code; k++)
            field[k] = "";
    KN_TRY(kn_import_row(c, &r->theirs, &of, &at));
    KN_TRY(take(r, c, w, at));
    field[KN_R_us] = kn_csv_field(&r->theirs, at, "us");
    field[KN_R_runs] = kn_csv_field(&r->theirs, at, "_runs");
    kn_putf(&tflops, "%.2f", flop / strtod(field[KN_R_us], NULL));
    field[KN_R_tflops] = tflops.s;
    return KILN_OK;
}

static kiln_status
measure_in(struct bench *r, struct kn_ctx *c, const struct kn_work *w,
           const char **field)
{
    const char *arch = kiln_target_name(w->target), *json;
    const struct kn_value *v = r->t->cli->v;
    struct kn_cli *cli;

    KN_ENTER(c);
    if (r->gpu)
        return measure_on_gpu(r, c, w, field);
    cli = KN_NEW(c, struct kn_cli, 1);
    /* The words end with the first NULL. */
    KN_TRY(kn_work_cli(c, w, KN_CMD_time, (const char *const[]){
                           "--arch", arch, "--json", "-",
                           v[KN_FLAG_constants].seen ? "--constants" : warm_of(r),
                           v[KN_FLAG_constants].s, warm_of(r), NULL }, cli));
    KN_TRY(kn_work_run(c, cli, &json));
    read_time(c, json, false, field);
    if (r->theirs.ncols)
        return import_row(r, c, w, json, field);
    return check_row(r, c, w, field);
}

/* A problem that is refused becomes a row without a time. */
static void
measure(struct bench *r, const struct kn_work *w, const char *const *key)
{
    const char *field[KN_NRESULTS];
    char number[24];
    struct kn_ctx own;
    kiln_status s;

    for (int i = 0; i < KN_NRESULTS; i++)
        field[i] = "";
    kn_ctx_init(&own, r->t->c->realloc, r->t->c->user);
    own.tuning = r->t->c->tuning;
    s = measure_in(r, &own, w, field);
    field[KN_R_status] = !s ? "ok" : own.err.text[0] ? own.err.text
                                                     : kiln_status_name(s);
    if (s) {
        field[KN_R_us] = "";
        r->refused++;
    } else {
        field[KN_R_kind] = kind_of(r);
        field[KN_R_device] = device_of(r, &own, w);
        if (!r->gpu && !r->theirs.ncols)
            field[KN_R_runs] = "1";
        r->timed++;
    }
    snprintf(number, sizeof number, "%zu", w->row);
    field[KN_R_row] = number;
    kn_results_set(&r->out, w->row, key, field);
    kn_ctx_free(&own);
}

static kiln_status
measure_all(struct bench *r)
{
    kn_progress_stage(r->t->progress, "benching");
    for (size_t i = 0; i < r->list.n; i++) {
        const struct kn_work *w = &r->list.w[i];
        const char **key = kn_results_key(&r->out, r->t->c, w);
        const struct kn_result_row *have = kn_results_find(&r->out, key);

        if (have && *have->cell[r->out.nkey + KN_R_us] && !r->theirs.ncols &&
            !strcmp(have->cell[r->out.nkey + KN_R_kind], kind_of(r))) {
            r->kept++;
            continue;
        }
        measure(r, w, key);
        KN_TRY(kn_results_save(&r->out, false));
        kn_progress_update(r->t->progress, i + 1, r->list.n);
    }
    return kn_results_save(&r->out, true);
}

/* ---- report ------------------------------------------------------------- */

static void
put_rows(struct bench *r)
{
    for (size_t i = 0; i < r->out.n; i++) {
        const char *const *cell = r->out.row[i].cell;
        const char *const *field = cell + r->out.nkey;
        struct kn_buf *b = r->t->text;

        for (size_t k = 0; k < r->out.nkey; k++)
            if (*cell[k])
                kn_putf(b, "%s%s%s ", k > 1 ? r->out.head[k] : "",
                        k > 1 ? "=" : "", cell[k]);
        if (*field[KN_R_us])
            kn_putf(b, " %s us %s%s%s%s, %s TFLOPS%s%s%s%s\n",
                    field[KN_R_us], field[KN_R_kind],
                    *field[KN_R_error_pct] ? ", +-" : "",
                    field[KN_R_error_pct],
                    *field[KN_R_error_pct] ? " %" : "", field[KN_R_tflops],
                    *field[KN_R_bound] ? r->gpu ? ", predicted bound by "
                                                : ", bound by " : "",
                    field[KN_R_bound], *field[KN_R_check] ? ", check " : "",
                    field[KN_R_check]);
        else
            kn_putf(b, " refused: %s\n", field[KN_R_status]);
    }
    kn_putf(r->t->text, "%zu timed (%s), %zu kept, %zu refused, %zu "
            "wrong\n", r->timed, r->gpu || r->theirs.ncols ? "measured" :
            "predicted, not measured", r->kept, r->refused, r->wrong);
}

/* The machine, the versions and what else can change a time. */
static void
put_environment(struct bench *r, struct kn_json *j)
{
    const time_t now = time(NULL);
    struct kn_place place = { 0 };
    struct kn_env env;
    struct utsname u;
    struct tm day;
    char text[24];

    kn_env_read(&env);
    kn_json_open(j, "environment", '{');
    if (gmtime_r(&now, &day) && strftime(text, sizeof text, "%FT%TZ", &day))
        kn_json_str(j, "captured", text);
    kn_json_str(j, "versions", kn_versions());
    kn_json_str(j, "tuning", env.tuning_file ? env.tuning_file : "");
    if (!uname(&u)) {
        kn_json_str(j, "host", u.nodename);
        kn_json_str(j, "system", u.sysname);
        kn_json_str(j, "release", u.release);
        kn_json_str(j, "machine", u.machine);
    }
    kn_json_bool(j, "warm", r->t->cli->v[KN_FLAG_warm].seen);
    if (r->gpu && !kn_tool_place(r->t, &place)) {
        kn_json_open(j, "gpu", '{');
        kn_put_gpu(j, r->t->c, &place.device);
        kn_json_close(j, '}');
    }
    kn_json_close(j, '}');
}

static void
put_json(struct bench *r, struct kn_json *j)
{
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "list", r->list.name);
    kn_json_str(j, "kind", kind_of(r));
    kn_json_str(j, "device", r->list.device ? r->list.device : "sim");
    put_environment(r, j);
    kn_json_open(j, "rows", '[');
    for (size_t i = 0; i < r->out.n; i++) {
        kn_json_open(j, NULL, '{');
        for (size_t k = 0; k < r->out.ncols; k++)
            if (*r->out.row[i].cell[k])
                kn_json_str(j, r->out.head[k], r->out.row[i].cell[k]);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
    kn_json_close(j, '}');
}

/* Nothing is executed and no device is asked. */
static kiln_status
read_import(struct bench *r)
{
    const struct kn_value *v = r->t->cli->v;
    enum kn_flag_id no = v[KN_FLAG_wg].seen ? KN_FLAG_wg
                         : r->gpu ? KN_FLAG_device : KN_FLAG_import;

    if (no != KN_FLAG_import)
        return kn_fail(r->t->c, KILN_BAD_INPUT, "--import takes the times from a "
                       "file: no %s", kn_flags[no].name);
    KN_TRY(kn_table_read(r->t->c, v[KN_FLAG_import].s, &r->theirs));
    r->taken = KN_NEW(r->t->c, const struct kn_work *, r->theirs.nrows + 1);
    if (kn_csv_find(&r->theirs, "us") < 0)
        return kn_fail(r->t->c, KILN_BAD_INPUT, "'%s' is no output of "
                       "hipblaslt-bench, no kernel trace of rocprofv3 and has no "
                       "column 'us'", v[KN_FLAG_import].s);
    return KILN_OK;
}

kiln_status
kn_cmd_bench(struct kn_tool *t)
{
    struct bench *r = KN_NEW(t->c, struct bench, 1);
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_json j = { .b = { .c = t->c } };
    bool to_stdout = o->seen && !strcmp(o->s, "-");

    r->t = t;
    r->gpu = t->cli->v[KN_FLAG_device].seen &&
             t->cli->v[KN_FLAG_device].i == KN_DEV_HIP;
    if (r->gpu && t->cli->v[KN_FLAG_wg].seen)
        return kn_fail(t->c, KILN_BAD_INPUT, "--wg is for the simulator, a "
                       "GPU executes the whole launch");
    if (r->gpu && t->cli->v[KN_FLAG_constants].seen)
        return kn_fail(t->c, KILN_BAD_INPUT, "--constants is for predictions, a "
                       "GPU is measured");
    if (t->cli->v[KN_FLAG_import].seen)
        KN_TRY(read_import(r));
    KN_TRY(kn_worklist_read(t, &r->list));
    KN_TRY(kn_results_open(t, &r->list, o->seen && !to_stdout ? o->s : NULL,
                           &r->out));
    KN_TRY(measure_all(r));
    if (to_stdout)
        kn_results_put(&r->out, t->text);
    else
        put_rows(r);
    put_json(r, &j);
    KN_TRY(kn_report_write(t, &j));
    return r->wrong || (r->refused && t->cli->v[KN_FLAG_strict].seen)
           ? KILN_FINDING : KILN_OK;
}
