/* cmd_selftest.c - `kilnc selftest`: is the simulator right about this GPU,
 * and the GPU about these kernels? Every row (selftest.h) is tested in a child
 * process with a time limit, so that an abort, a fault or a hang costs that row
 * alone; this process never opens the GPU. Without one (--device sim) the
 * simulator alone is tested. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "../../../runtime/api/context.h"
#include "../../../runtime/isolate.h"
#include "../progress.h"
#include "selftest.h"

enum { LAUNCHES = 100, SECONDS = 300, LARGE = 4096 };

/* X(id, text): what becomes of a row. */
#define STATES(X) \
    X(OK, "ok") X(WRONG, "wrong") X(FAILED, "failed") X(DIED, "died")

enum state {
#define X(id, text) ST_##id,
    STATES(X)
#undef X
    NSTATES
};

static const char *const state_names[] = {
#define X(id, text) text,
    STATES(X)
#undef X
};

static const struct {
    const char *name;
    unsigned minutes;
} parts[] = {
#define X(id, text, minutes) { text, minutes },
    KN_ROW_PARTS(X)
#undef X
};

struct selftest {
    struct kn_tool *t;
    struct kn_ctx *c;
    struct kn_place place;   /* as the child saw it: no device is open */
    const char *device;      /* "hip:0", NULL: the simulator */
    struct kn_rows rows;
    struct kn_row_file file;
    struct kn_json j;
    size_t tested, of[NSTATES], of_part[KN_NPARTS];
    double seconds[KN_NPARTS];
    double error;            /* sum of |predicted / measured - 1| */
    size_t timed;
};

static const struct kn_value *
flag(const struct selftest *s, enum kn_flag_id id)
{
    return &s->t->cli->v[id];
}

/* ---- the device, asked by a child --------------------------------------- */

struct asked {
    kiln_device_info info;
    struct kn_hip_device facts;
};

static kiln_status
ask_device(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    struct selftest *s = user;
    struct kn_place place = { 0 };
    struct asked a;

    KN_TRY(kn_place_open(c, flag(s, KN_FLAG_place), &place));
    a.info = place.device.info;
    a.facts = place.device.facts;
    out->s = KN_NEW(c, char, sizeof a);
    out->n = sizeof a;
    memcpy(out->s, &a, sizeof a);
    return KILN_OK;
}

static kiln_status
find_device(struct selftest *s)
{
    const struct kn_cage cage = { .who = "asking for the GPU",
                                  .death = KILN_NO_DEVICE, .wall = SECONDS };
    const struct kn_value *v = flag(s, KN_FLAG_place);
    struct kn_buf name = { .c = s->c };
    struct kn_bytes got;
    struct asked a;

    if (!v->seen || v->i != KN_DEV_HIP) {
        s->place.target = v->seen ? (kiln_target)v->list[0]
                                  : KILN_TARGET_NONE;
        return KILN_OK;
    }
    KN_TRY(kn_isolate_in(s->c, &cage, ask_device, s, &got));
    memcpy(&a, got.p, sizeof a);
    s->place.gpu = true;
    s->place.target = a.info.target;
    s->place.device.info = a.info;
    s->place.device.facts = a.facts;
    kn_putf(&name, "hip:%" PRId64, v->list[0]);
    s->device = name.s;
    return KILN_OK;
}

static void
put_device(struct selftest *s)
{
    kn_json_open(&s->j, "device", '{');
    if (s->device)
        kn_put_gpu(&s->j, s->c, &s->place.device);
    else
        kn_json_str(&s->j, "name", "sim");
    kn_json_close(&s->j, '}');
}

/* ---- a row -------------------------------------------------------------- */

struct child {
    struct selftest *s;
    struct kn_row_test test;
};

static kiln_status
run_child(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    struct child *x = user;

    c->tuning = x->s->c->tuning;
    return x->test.row->kind == KN_ROW_PROBE
         ? kn_selftest_probe(c, &x->test, out)
         : kn_selftest_row(c, &x->test, out);
}

static kiln_status
put_state(struct selftest *s, const struct kn_row *row, const char *state,
          const char *why)
{
    struct kn_json j = { .b = { .c = s->c } };
    struct kn_buf line = { .c = s->c };

    kn_json_open(&j, NULL, '{');
    kn_json_str(&j, "row", row->name);
    kn_json_str(&j, "state", state);
    if (why)
        kn_json_str(&j, "why", why);
    kn_json_close(&j, '}');
    kn_json_line(&j, &line);
    return kn_row_file_put(&s->file, line.s);
}

static double
number(json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* The runs of a row, added up. */
struct sums {
    double elements, differ, launches, faults, measured, predicted;
    const char *arithmetic, *quality;
};

static struct sums
add_up(json_t *o)
{
    static const char *const faults[] = { "unequal", "overwritten", "changed",
                                          "dirty" };
    json_t *run, *v;
    struct sums m = { .arithmetic = "none", .quality = "exact" };
    const char *key;
    size_t i;

    json_array_foreach(json_object_get(o, "runs"), i, run) {
        json_t *trial = json_object_get(run, "trial");

        m.elements += number(run, "elements");
        m.differ += number(run, "differ");
        m.launches += number(trial, "launches");
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            m.faults += number(trial, faults[k]);
        m.measured += number(run, "measured_us");
        m.predicted += number(run, "predicted_us");
    }
    json_object_foreach(json_object_get(o, "arithmetic"), key, v) {
        m.arithmetic = key;
        m.quality = json_string_value(v);
    }
    return m;
}

static void
put_text(struct selftest *s, const struct kn_row *row, enum state st, json_t *o)
{
    struct kn_buf *b = s->t->text;
    struct sums m = add_up(o);

    kn_putf(b, "%-6s %s\n", state_names[st], row->name);
    if (row->kind == KN_ROW_PROBE) {
        kn_selftest_probe_text(o, b);
        return;
    }
    kn_putf(b, "       %s %s", m.arithmetic, m.quality);
    if (s->device)
        kn_putf(b, ", %.0f of %.0f elements differ, %.0f launches, %.0f "
                "faults", m.differ, m.elements, m.launches, m.faults);
    if (m.measured > 0) {
        double e = m.predicted / m.measured - 1;

        kn_putf(b, "; %.2f us measured, %.2f predicted, %+.1f %%",
                m.measured, m.predicted, 100 * e);
        s->error += e < 0 ? -e : e;
        s->timed++;
    }
    kn_put(b, "\n");
}

/* A row that came to its end, with its line. */
static kiln_status
take_line(struct selftest *s, const struct kn_row *row, const char *line,
          enum state *st)
{
    json_t *o = json_loads(line, 0, NULL);
    const char *state = json_string_value(json_object_get(o, "state"));

    *st = state && !strcmp(state, "ok") ? ST_OK : ST_WRONG;
    put_text(s, row, *st, o);
    json_decref(o);
    return kn_row_file_put(&s->file, line);
}

static kiln_status
take_error(struct selftest *s, const struct kn_row *row, kiln_status why,
           enum state *st)
{
    struct kn_buf text = { .c = s->c };

    *st = why == KILN_INTERNAL ? ST_DIED : ST_FAILED;
    kn_put(&text, s->c->err.text);
    memset(&s->c->err, 0, sizeof s->c->err);
    kn_putf(s->t->text, "%-6s %s\n       %s\n", state_names[*st], row->name,
            text.s ? text.s : "");
    return put_state(s, row, state_names[*st], text.s);
}

static double
seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static kiln_status
test_row(struct selftest *s, const struct kn_row *row)
{
    const double from = seconds_now();
    const struct kn_value *seconds = flag(s, KN_FLAG_row_seconds);
    const struct kn_value *launches = flag(s, KN_FLAG_launches);
    const struct kn_cage cage = {
        .who = "the row", .death = KILN_INTERNAL,
        .wall = seconds->seen ? (unsigned)seconds->i : SECONDS,
    };
    struct child x = { s, { row, s->device,
                            launches->seen ? (uint32_t)launches->i : LAUNCHES,
                            flag(s, KN_FLAG_warm)->seen } };
    struct kn_bytes got;
    enum state st;
    kiln_status e;

    KN_TRY(put_state(s, row, "started", NULL));
    e = kn_isolate_in(s->c, &cage, run_child, &x, &got);
    if (e)
        KN_TRY(take_error(s, row, e, &st));
    else
        KN_TRY(take_line(s, row, kn_strndup(s->c, (const char *)got.p, got.n),
                         &st));
    s->of[st]++;
    s->of_part[row->kind]++;
    s->seconds[row->kind] += seconds_now() - from;
    s->tested++;
    kn_progress_update(s->t->progress, s->tested, s->rows.n);
    return KILN_OK;
}

/* Rows that a resumed run ended in come last: they may end this one too. */
static kiln_status
test_all(struct selftest *s)
{
    for (int begun = 0; begun < 2; begun++)
        for (size_t i = 0; i < s->rows.n; i++) {
            const struct kn_row *row = &s->rows.row[i];

            if (!kn_rows_have(&s->file.done, row->name) &&
                kn_rows_have(&s->file.begun, row->name) == begun)
                KN_TRY(test_row(s, row));
        }
    return KILN_OK;
}

/* ---- the report --------------------------------------------------------- */

static void
put_date(struct kn_json *j)
{
    time_t now = time(NULL);
    struct tm tm;
    char text[32];

    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    kn_json_str(j, "date", text);
}

/* The first line of a report: whose it is. */
static kiln_status
put_header(struct selftest *s)
{
    struct kn_buf line = { .c = s->c };

    kn_json_open(&s->j, NULL, '{');
    kn_json_int(&s->j, "selftest", 1);
    kn_json_str(&s->j, "versions", kn_versions());
    put_date(&s->j);
    put_device(s);
    kn_json_uint(&s->j, "rows", s->rows.n);
    kn_json_uint(&s->j, "resumed", s->file.done.n);
    kn_json_close(&s->j, '}');
    kn_json_line(&s->j, &line);
    return kn_row_file_put(&s->file, line.s);
}

/* How long each part took, beside what to plan for it on a GPU. */
static void
put_parts(struct selftest *s, struct kn_json *j)
{
    kn_json_open(j, "parts", '{');
    for (int i = 0; i < KN_NPARTS; i++) {
        if (!s->of_part[i])
            continue;
        kn_putf(s->t->text, "%-15s %4zu rows, %.1f s", parts[i].name,
                s->of_part[i], s->seconds[i]);
        if (s->device)
            kn_putf(s->t->text, " of %u min", parts[i].minutes);
        kn_put(s->t->text, "\n");
        kn_json_open(j, parts[i].name, '{');
        kn_json_uint(j, "rows", s->of_part[i]);
        kn_json_real(j, "seconds", s->seconds[i]);
        kn_json_uint(j, "budget_minutes", parts[i].minutes);
        kn_json_close(j, '}');
    }
    kn_json_close(j, '}');
}

static void
put_counts(struct selftest *s, struct kn_json *j)
{
    kn_json_uint(j, "tested", s->tested);
    for (int i = 0; i < NSTATES; i++)
        kn_json_uint(j, state_names[i], s->of[i]);
    if (s->timed)
        kn_json_real(j, "mean_error_pct", 100 * s->error / (double)s->timed);
}

static kiln_status
put_summary(struct selftest *s)
{
    struct kn_buf *b = s->t->text, line = { .c = s->c };
    struct kn_json j = { .b = { .c = s->c } };

    kn_json_open(&j, NULL, '{');
    put_counts(s, &j);
    put_parts(s, &j);
    kn_json_close(&j, '}');
    kn_putf(b, "%zu rows", s->tested);
    for (int i = 0; i < NSTATES; i++)
        kn_putf(b, ", %zu %s", s->of[i], state_names[i]);
    if (s->file.done.n)
        kn_putf(b, "; %zu were there", s->file.done.n);
    if (!s->device)
        kn_put(b, "; no GPU took part: --device hip:0 compares with one");
    if (s->timed)
        kn_putf(b, "; mean error of the timing model %.1f %%",
                100 * s->error / (double)s->timed);
    kn_put(b, "\n");
    kn_json_line(&j, &line);
    KN_TRY(kn_row_file_put(&s->file, line.s));
    return kn_report_write(s->t, &j);
}

static kiln_status
list_rows(struct selftest *s)
{
    struct kn_json j = { .b = { .c = s->c } };

    kn_json_open(&j, NULL, '{');
    kn_json_open(&j, "rows", '[');
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct kn_row *row = &s->rows.row[i];

        if (row->kind == KN_ROW_PROBE)
            kn_putf(s->t->text, "%s: kilnc selftest --device sim:%s --only "
                    "\"%s\"\n", row->class, kiln_target_name(row->target),
                    row->name);
        else
            kn_putf(s->t->text, "%s: kilnc run %s --device sim:%s\n",
                    row->class, row->command, kiln_target_name(row->target));
        kn_json_open(&j, NULL, '{');
        kn_json_str(&j, "arch", kiln_target_name(row->target));
        kn_json_str(&j, "class", row->class);
        kn_json_str(&j, "command", row->command);
        kn_json_close(&j, '}');
    }
    kn_json_close(&j, ']');
    kn_json_close(&j, '}');
    return kn_report_write(s->t, &j);
}

/* ---- the command -------------------------------------------------------- */

/* -m -n -k of the grids; -m 0, or no GPU: none. */
static kiln_status
find_rows(struct selftest *s)
{
    static const enum kn_flag_id size[3] = { KN_FLAG_m, KN_FLAG_n, KN_FLAG_k };
    struct kn_row_choice w = {
        .target = s->place.target, .only = flag(s, KN_FLAG_only)->s,
    };

    if (flag(s, KN_FLAG_arch)->seen)
        w.target = kn_cli_target(s->t->cli);
    for (int i = 0; i < 3 && s->device; i++)
        w.size[i] = flag(s, size[i])->seen ? flag(s, size[i])->i : LARGE;
    KN_TRY(kn_selftest_rows(s->c, &w, &s->rows));
    return s->rows.n ? KILN_OK
         : kn_fail(s->c, KILN_BAD_INPUT, "no row of selftest has '%s' in its "
                   "class or command: see selftest --list", w.only);
}

static kiln_status
open_report(struct selftest *s)
{
    const struct kn_value *report = flag(s, KN_FLAG_test_report);
    const struct kn_value *resume = flag(s, KN_FLAG_resume);

    s->file.c = s->c;
    if (report->seen && resume->seen && strcmp(report->s, resume->s) != 0)
        return kn_fail(s->c, KILN_BAD_INPUT, "--resume goes on with the report "
                       "it names: leave --report out");
    return kn_row_file_open(&s->file, resume->seen ? resume->s : report->s,
                            resume->seen);
}

static kiln_status
test_set(struct selftest *s)
{
    KN_TRY(open_report(s));
    KN_TRY(put_header(s));
    kn_progress_stage(s->t->progress, "testing");
    kn_putf(s->t->text, "%s\n", s->device ? s->place.device.info.name
                                          : "the simulator alone");
    KN_TRY(test_all(s));
    return put_summary(s);
}

kiln_status
kn_cmd_selftest(struct kn_tool *t)
{
    struct selftest *s = KN_NEW(t->c, struct selftest, 1);
    kiln_status st;

    s->t = t;
    s->c = s->j.b.c = t->c;
    KN_TRY(find_device(s));
    KN_TRY(find_rows(s));
    if (flag(s, KN_FLAG_pack_list)->seen)
        return list_rows(s);
    st = test_set(s);
    kn_row_file_close(&s->file);
    KN_TRY(st);
    return s->of[ST_OK] < s->tested ? KILN_FINDING : KILN_OK;
}
