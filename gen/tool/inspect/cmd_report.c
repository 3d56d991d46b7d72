/* cmd_report.c - `kilnc report`: one page about one kernel. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../run/cmd_run_moe.h"
#include "inspect.h"
#include "../progress.h"

static void
put_preformatted(struct kn_buf *out, const char *id, const char *title,
                 const char *text)
{
    kn_putf(out, "<h2 id=\"%s\">%s</h2>\n<pre>", id, title);
    for (; *text; text++)
        if (*text == '\n') {
            kn_put(out, "\n");
        } else {
            char one[2] = { *text, 0 };

            kn_html_text(out, one);
        }
    kn_put(out, "</pre>\n");
}

/* Wave slots of a SIMD, those in use filled. */
static void
put_occupancy(const struct kn_subject *s, struct kn_buf *out)
{
    struct kn_occupancy o = kn_occupancy_of(s->o.target, s->k, 0);

    kn_putf(out, "<h2 id=\"occupancy\">Occupancy</h2>\n<p>%" PRIu32
            " of 8 waves a SIMD, %" PRIu32 " workgroups a CU, limited by %s."
            "</p>\n<svg class=\"occupancy\" width=\"300\" height=\"40\">\n",
            o.waves_per_simd, o.workgroups_per_cu, o.limit);
    for (uint32_t k = 0; k < 8; k++)
        kn_putf(out, "<rect x=\"%u\" y=\"6\" width=\"30\" height=\"24\" "
                "stroke=\"#555\" fill=\"%s\"/>\n", 4 + k * 36,
                k < o.waves_per_simd ? "#3366cc" : "#ffffff");
    kn_put(out, "</svg>\n");
}

/* The model needs a launch: sizes that a problem has and a file has not. */
static kiln_status
put_prediction(struct kn_tool *t, const struct kn_subject *s,
               struct kn_buf *out)
{
    struct kn_buf trace = { .c = t->c }, svg = { .c = t->c };
    struct kn_generated g = { .cfg = s->config, .name = s->name,
                              .co = s->bytes, .size = s->size,
                              .certificate = s->cert };
    struct kn_predict q = { .p = &s->problem, .offs = s->offs, .g = &g,
                            .trace = &trace, .svg = &svg };
    const kiln_problem *p = &s->problem;
    struct kn_time_result r;
    bool routed = kn_family_of(p)->routed;

    if (!s->made || (!routed && (!p->m || !p->n || !p->k))) {
        kn_put(out, "<h2 id=\"timeline\">Time</h2>\n<p>Nothing is predicted: "
                    "that takes a problem with sizes.</p>\n");
        return KILN_OK;
    }
    kn_progress_stage(t->progress, "predicting");
    KN_TRY(routed ? moe_predict(t, &q, &r)
                  : kn_predict_generated(t->c, &q, &r));
    KN_TRY(kn_page_timeline(t->c, &trace, &r, out));
    kn_putf(out, "<h2 id=\"roofline\">Roofline and waiting, predicted</h2>\n"
            "<p>%.1f us, ", r.us);
    kn_put_bar(out, &r);
    kn_putf(out, ", %.0f TFLOPS, bound by %s. Predicted by the timing model, "
            "not measured.</p>\n", r.tflops, kn_bound_name(r.bound));
    kn_html_svg(out, "roofline", svg.s ? svg.s : "");
    return KILN_OK;
}

static kiln_status
make_page(struct kn_tool *t, struct kn_subject *s, struct kn_buf *out)
{
    struct kn_buf facts = { .c = t->c }, title = { .c = t->c };

    kn_putf(&title, "%s for %s", s->k->name, kiln_target_name(s->o.target));
    KN_TRY(kn_info_subject(s, false, &facts));
    kn_html_begin(out, title.s);
    put_occupancy(s, out);
    KN_TRY(put_prediction(t, s, out));
    KN_TRY(kn_page_lds(t->c, s, out));
    KN_TRY(kn_page_fences(t->c, s, out));
    put_preformatted(out, "census", "Facts and census", facts.s);
    kn_html_end(out);
    return KILN_OK;
}

kiln_status
kn_cmd_report(struct kn_tool *t)
{
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_subject *s = KN_NEW(t->c, struct kn_subject, 1);
    struct kn_buf page = { .c = t->c };

    if (!o->seen)
        return kn_fail(t->c, KILN_BAD_INPUT, "'report' needs -o FILE.html");
    KN_TRY(kn_subject_open(t, t->cli->pos[0], s));
    KN_TRY(make_page(t, s, &page));
    if (!strcmp(o->s, "-")) {
        *t->text = page;
        return KILN_OK;
    }
    KN_TRY(kn_file_write(t->c, o->s, page.s, page.n));
    kn_putf(t->text, "report    %s: %s, %zu bytes\n", o->s, s->k->name,
            page.n);
    return KILN_OK;
}
