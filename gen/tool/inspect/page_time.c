/* page_time.c - the timing model's trace of one loop iteration, and the
 * instructions of that loop with the clock at which the first wave issued
 * them. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "inspect.h"

enum { PROCESSES = 6, THREADS = 32, CODE_CELLS = 4 };

struct window {
    struct kn_json *j;
    const struct kn_subject *s;
    const json_t *events;
    double from, clocks;
    int row[PROCESSES * THREADS]; /* by track: row + 1, 0: nothing there */
    int64_t *issued;         /* by instruction: clock + 1 of the window, or 0 */
};

struct event {
    const char *name, *place, *pc;
    int pid, tid;
    double t, n;
};

/* By process of the trace (timing_cu.h). */
static const char *const tracks[PROCESSES] = {
    "", "wave", "matrix pipe", "LDS, SIMD pair", "memory, L1",
    "in flight, wave",
};

/* KINDS of page.html. */
enum { MATRIX, LDS, MEMORY, VECTOR, SCALAR, FLIGHT, BARRIER, WAITING };

static int
kind_of(const struct event *e)
{
    static const struct { const char *start; int kind; } kinds[] = {
        { "v_mfma", MATRIX }, { "wait for", WAITING }, { "barrier", BARRIER },
        { "matrix pipe busy", WAITING }, { "buffer_", MEMORY },
        { "global_", MEMORY }, { "ds_", LDS }, { "s_", SCALAR },
        { "v_", VECTOR },
    };
    static const int of_process[PROCESSES] = { 0, 0, MATRIX, LDS, MEMORY,
                                               FLIGHT };

    if (e->pid > 1)
        return of_process[e->pid];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (!strncmp(e->name, kinds[k].start, strlen(kinds[k].start)))
            return kinds[k].kind;
    return WAITING;
}

/* The k-th event, if it is a span that reaches into the window. */
static bool
take(const struct window *w, size_t k, struct event *e)
{
    const json_t *v = json_array_get(w->events, k);
    const json_t *args = json_object_get(v, "args");
    const char *ph = json_string_value(json_object_get(v, "ph"));

    *e = (struct event){
        json_string_value(json_object_get(v, "name")),
        json_string_value(json_object_get(args, "from")),
        json_string_value(json_object_get(args, "pc")),
        (int)json_integer_value(json_object_get(v, "pid")),
        (int)json_integer_value(json_object_get(v, "tid")),
        json_number_value(json_object_get(v, "ts")),
        json_number_value(json_object_get(v, "dur")),
    };
    return ph && (*ph == 'X' || *ph == 'b') && e->name && e->pid > 0 && e->pid < PROCESSES &&
           e->tid >= 0 && e->tid < THREADS && e->t + e->n >= w->from &&
           e->t <= w->from + w->clocks;
}

/* When the first wave issued it: what waits before that is not the issue. */
static void
note_issue(struct window *w, const struct event *e)
{
    int32_t i = e->pid == 1 && !e->tid && e->pc && kind_of(e) < BARRIER
        ? kn_program_at(&w->s->p, strtoull(e->pc, NULL, 16)) : -1;

    if (i >= 0 && e->t >= w->from && !w->issued[i])
        w->issued[i] = (int64_t)(e->t - w->from) + 1;
}

/* Tracks by process, then number. */
static void
put_tracks(struct window *w)
{
    int rows = 0;
    struct event e;

    for (size_t k = 0; k < json_array_size(w->events); k++)
        if (take(w, k, &e))
            w->row[e.pid * THREADS + e.tid] = 1;
    kn_json_open(w->j, "tracks", '[');
    for (int n = 0; n < PROCESSES * THREADS; n++)
        if (w->row[n]) {
            struct kn_buf name = { .c = w->j->b.c };

            kn_putf(&name, "%s %d", tracks[n / THREADS], n % THREADS);
            kn_json_str(w->j, NULL, name.s);
            w->row[n] = ++rows;
        }
    kn_json_close(w->j, ']');
}

static void
put_events(struct window *w)
{
    struct event e;

    kn_json_open(w->j, "events", '[');
    for (size_t k = 0; k < json_array_size(w->events); k++) {
        if (!take(w, k, &e))
            continue;
        note_issue(w, &e);
        kn_json_open(w->j, NULL, '[');
        kn_json_int(w->j, NULL, w->row[e.pid * THREADS + e.tid] - 1);
        kn_json_str(w->j, NULL, e.name);
        kn_json_int(w->j, NULL, kind_of(&e));
        kn_json_real(w->j, NULL, e.t);
        kn_json_real(w->j, NULL, e.n);
        kn_json_str(w->j, NULL, e.pc ? e.pc : "");
        kn_json_str(w->j, NULL, e.place ? e.place : "");
        kn_json_close(w->j, ']');
    }
    kn_json_close(w->j, ']');
}

/* The instructions of the main loop, or of all where there is none. */
static kiln_status
put_code(struct window *w, bool loop)
{
    const struct kn_subject *s = w->s;
    int32_t main_loop = loop ? kn_cfg_main_loop(&s->g) : -1;
    const char **text;

    KN_TRY(kn_subject_listing(w->j->b.c, s, &text));
    kn_json_open(w->j, "code", '{');
    kn_json_open(w->j, "rows", '[');
    for (uint32_t i = 0; i < s->p.n; i++) {
        char pc[24], clock[24] = "";

        if (main_loop >= 0 && !kn_loop_contains(&s->g, (uint32_t)main_loop, i))
            continue;
        snprintf(pc, sizeof pc, "0x%" PRIx64, s->p.inst[i].pc);
        if (w->issued[i])
            snprintf(clock, sizeof clock, "%" PRId64, w->issued[i] - 1);
        kn_page_row(w->j, NULL, CODE_CELLS, (const char *const[]){
            pc, clock, text[i], s->place[i] });
    }
    kn_json_close(w->j, ']');
    kn_json_close(w->j, '}');
    return KILN_OK;
}

static kiln_status
put_window(struct window *w, bool loop)
{
    kn_json_open(w->j, "timeline", '{');
    kn_json_real(w->j, "from", w->from);
    kn_json_real(w->j, "clocks", w->clocks);
    put_tracks(w);
    put_events(w);
    kn_json_close(w->j, '}');
    return put_code(w, loop);
}

kiln_status
kn_page_timeline(const struct kn_subject *s, const struct kn_buf *trace,
                 const struct kn_time_result *r, struct kn_json *j)
{
    bool loop = r->loop_cycles > 0;
    struct kn_buf note = { .c = j->b.c };
    struct window w = { j, s, NULL, 0, r->group_cycles, { 0 },
                        KN_NEW(j->b.c, int64_t, s->p.n + 1) };
    json_t *root = json_loadb(trace->s ? trace->s : "", trace->n, 0, NULL);
    kiln_status done;

    if (!root)
        return kn_fail(j->b.c, KILN_NO_MEMORY, "no host memory for a timeline");
    if (loop) {              /* the second, whose cache is warm, if it is one */
        w.clocks = r->loop_cycles;
        w.from = r->prologue_cycles;
        w.from += w.from + 2 * w.clocks <= r->group_cycles ? w.clocks : 0;
    }
    w.events = json_object_get(root, "traceEvents");
    kn_putf(&note, "%.0f clocks from clock %.0f of the workgroup, beside it the "
            "instructions with the clock at which wave 0 issued them. Predicted "
            "by the timing model, not measured.", w.clocks, w.from);
    kn_page_section(j, &(struct kn_section){ "timeline", "beside",
        loop ? "One iteration of the main loop, predicted"
             : "The whole workgroup (it has no steady loop), predicted",
        note.s });
    done = put_window(&w, loop);
    kn_page_end(j);
    json_decref(root);
    return done;
}
