/* page_time.c - the timing model's trace of one loop iteration as a picture. */
#include <jansson.h>
#include <string.h>

#include "inspect.h"

enum { WIDTH = 1100, LEFT = 150, ROW = 15, TOP = 24, TRACKS = 256 };

struct window {
    struct kn_ctx *c;
    struct kn_buf *out;
    double from, to;
    uint32_t row[TRACKS];    /* pid * 32 + tid -> row + 1 */
    uint32_t rows;
};

/* By process of the trace (timing_cu.h). */
static const char *const tracks[] = { "", "wave", "matrix pipe",
                                      "LDS, SIMD pair", "memory, L1",
                                      "in flight, wave" };

static const char *
colour_of(const char *name, int pid)
{
    static const struct { const char *start, *fill; } fills[] = {
        { "v_mfma", "#3366cc" }, { "wait for", "#dddddd" },
        { "barrier", "#bbaacc" }, { "matrix pipe busy", "#c8d4ee" },
        { "buffer_", "#cc6633" }, { "global_", "#cc6633" },
        { "ds_", "#339966" }, { "s_", "#999966" }, { "v_", "#9966cc" },
    };

    if (pid == 2)
        return "#3366cc";
    if (pid == 3)
        return "#339966";
    if (pid >= 4)
        return pid == 4 ? "#cc6633" : "#f0c8a8";
    for (size_t k = 0; k < sizeof fills / sizeof *fills; k++)
        if (!strncmp(name, fills[k].start, strlen(fills[k].start)))
            return fills[k].fill;
    return "#cccccc";
}

static double
place(const struct window *w, double t)
{
    const double left = LEFT, right = WIDTH;
    double at = (t - w->from) / (w->to - w->from);

    return left + (right - left) * (at < 0 ? 0 : at > 1 ? 1 : at);
}

static void
draw_event(struct window *w, const json_t *e)
{
    const char *name = json_string_value(json_object_get(e, "name"));
    const char *from = json_string_value(
        json_object_get(json_object_get(e, "args"), "from"));
    int pid = (int)json_integer_value(json_object_get(e, "pid"));
    int tid = (int)json_integer_value(json_object_get(e, "tid"));
    double t = json_number_value(json_object_get(e, "ts"));
    double n = json_number_value(json_object_get(e, "dur"));
    uint32_t slot = (uint32_t)pid * 32 + (uint32_t)tid;
    double x = place(w, t), right = place(w, t + n);
    uint32_t y;

    if (!name || pid < 1 || pid > 5 || tid < 0 || tid > 31 ||
        t + n < w->from || t > w->to)
        return;
    if (!w->row[slot]) {
        w->row[slot] = ++w->rows;
        kn_putf(w->out, "<text x=\"4\" y=\"%u\">",
                TOP + (w->rows - 1) * ROW + 11);
        kn_putf(w->out, "%s %d</text>\n", tracks[pid], tid);
    }
    y = TOP + (w->row[slot] - 1) * ROW;
    kn_putf(w->out, "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" "
            "fill=\"%s\"><title>", x, y,
            right - x < 0.5 ? 0.5 : right - x, ROW - 2, colour_of(name, pid));
    kn_html_text(w->out, name);
    kn_putf(w->out, ": clock %.0f, %.0f clocks%s", t, n, from ? ", " : "");
    kn_html_text(w->out, from ? from : "");
    kn_put(w->out, "</title></rect>\n");
}

/* Rows in the order waves, pipes, LDS, memory: one pass per process. */
static void
draw_events(struct window *w, const json_t *events)
{
    for (int pid = 1; pid < 6; pid++)
        for (size_t k = 0; k < json_array_size(events); k++) {
            const json_t *e = json_array_get(events, k);
            const char *ph = json_string_value(json_object_get(e, "ph"));

            if (ph && *ph == 'X' &&
                json_integer_value(json_object_get(e, "pid")) == pid)
                draw_event(w, e);
        }
}

kiln_status
kn_page_timeline(struct kn_ctx *c, const struct kn_buf *trace,
                 const struct kn_time_result *r, struct kn_buf *out)
{
    bool loop = r->loop_cycles > 0;
    double from = loop ? r->prologue_cycles + r->loop_cycles : 0;
    double n = loop ? r->loop_cycles : r->group_cycles;
    struct kn_buf body = { .c = c };
    struct window w = { .c = c, .out = &body, .from = from, .to = from + n };
    json_t *root = json_loadb(trace->s ? trace->s : "", trace->n, 0, NULL);

    kn_putf(out, "<h2 id=\"timeline\">%s, predicted</h2>\n",
            loop ? "One iteration of the main loop"
                 : "The whole workgroup (it has no steady loop)");
    if (!root)
        return kn_fail(c, KILN_NO_MEMORY, "no host memory for a timeline");
    kn_put(&body, "");
    draw_events(&w, json_object_get(root, "traceEvents"));
    json_decref(root);
    kn_putf(out, "<p>%.0f clocks from clock %.0f of the workgroup. Blue: "
            "matrix, green: LDS, orange: memory, grey: waiting. Predicted by "
            "the timing model, not measured.</p>\n<svg class=\"timeline\" "
            "width=\"%d\" height=\"%u\">\n%s</svg>\n", n, from,
            WIDTH + 8, TOP + w.rows * ROW + 8, body.s);
    return KILN_OK;
}
