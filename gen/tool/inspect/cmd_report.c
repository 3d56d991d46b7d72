/* cmd_report.c - `kilnc report`: one page about one kernel. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../run/cmd_run_moe.h"
#include "inspect.h"
#include "../progress.h"

enum { WAVE_SLOTS = 8 };    /* of a SIMD */

static struct kn_generated
generated(const struct kn_subject *s)
{
    return (struct kn_generated){ .cfg = s->config, .name = s->name,
                                  .co = s->bytes,
                                  .size = s->size, .certificate = s->cert };
}

/* What the page is about: problem with sizes, configuration, kernel. */
static kiln_status
put_subject(struct kn_tool *t, const struct kn_subject *s, struct kn_json *j)
{
    struct kn_json unused = { .b = { .c = t->c } };
    struct kn_buf text = { .c = t->c };
    struct kn_tool aside = *t;
    struct kn_generated g = generated(s);

    aside.text = &text;
    kn_json_open(&unused, NULL, '{');
    if (s->made)
        KN_TRY(kn_report_made(&aside, &unused, &s->problem, &g));
    else
        KN_TRY(kn_report_kernel(&aside, &unused, &s->o, s->k));
    kn_page_text(j, &(struct kn_section){ .id = "subject" }, text.s);
    return KILN_OK;
}

/* Wave slots of a SIMD, those in use filled. */
static void
put_occupancy(const struct kn_subject *s, struct kn_json *j)
{
    struct kn_occupancy o = kn_occupancy_of(s->o.target, s->k, 0);
    struct kn_buf note = { .c = j->b.c };

    kn_putf(&note, "%" PRIu32 " of %d waves a SIMD, %" PRIu32
            " workgroups a CU, limited by %s.", o.waves_per_simd, WAVE_SLOTS,
            o.workgroups_per_cu, o.limit);
    kn_page_section(j, &(struct kn_section){ "occupancy", "waves", "Occupancy",
                                             note.s });
    kn_json_uint(j, "used", o.waves_per_simd);
    kn_json_uint(j, "of", WAVE_SLOTS);
    kn_page_end(j);
}

static void
put_roofline(const struct kn_time_result *r, const char *svg,
             struct kn_json *j)
{
    struct kn_buf note = { .c = j->b.c };

    kn_putf(&note, "%.1f us, ", r->us);
    kn_put_bar(&note, r);
    kn_putf(&note, ", %.0f TFLOPS, bound by %s. Predicted by the timing model, "
            "not measured.", r->tflops, kn_bound_name(r->bound));
    kn_page_section(j, &(struct kn_section){
        "roofline", "picture", "Roofline and waiting, predicted", note.s });
    kn_json_str(j, "svg", svg ? svg : "");
    kn_page_end(j);
}

/* The model needs a launch: sizes that a problem has and a file has not. */
static kiln_status
put_prediction(struct kn_tool *t, const struct kn_subject *s,
               struct kn_json *j)
{
    struct kn_buf trace = { .c = t->c }, svg = { .c = t->c };
    struct kn_generated g = generated(s);
    struct kn_predict q = { .p = &s->problem, .offs = s->offs, .g = &g,
                            .host = kn_cli_host_groups(t->cli),
                            .trace = &trace, .svg = &svg };
    const kiln_problem *p = &s->problem;
    struct kn_time_result r;
    bool routed = kn_family_of(p)->routed;

    if (!s->made || (!routed && (!p->m || !p->n || !p->k))) {
        kn_page_section(j, &(struct kn_section){ "timeline", "nothing", "Time",
            "Nothing is predicted: that takes a problem with sizes." });
        kn_page_end(j);
        return KILN_OK;
    }
    kn_progress_stage(t->progress, "predicting");
    KN_TRY(routed ? moe_predict(t, &q, &r)
                  : kn_predict_generated(t->c, &q, &r));
    KN_TRY(kn_page_timeline(s, &trace, &r, j));
    put_roofline(&r, svg.s, j);
    return KILN_OK;
}

static kiln_status
make_page(struct kn_tool *t, struct kn_subject *s, struct kn_buf *out)
{
    struct kn_buf facts = { .c = t->c }, title = { .c = t->c };
    struct kn_json j = { .b = { .c = t->c } };

    kn_putf(&title, "%s for %s", s->k->name, kiln_target_name(s->o.target));
    KN_TRY(kn_info_subject(s, false, &facts));
    kn_page_open(&j, title.s);
    KN_TRY(put_subject(t, s, &j));
    put_occupancy(s, &j);
    KN_TRY(put_prediction(t, s, &j));
    KN_TRY(kn_page_lds(t->c, s, &j));
    KN_TRY(kn_page_fences(t->c, s, &j));
    kn_page_text(&j, &(struct kn_section){ "census", NULL, "Facts and census",
                                           NULL }, facts.s);
    kn_page_close(&j, out);
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
