/* cmd_diff.c - `kilnc diff`: two kernels instruction by instruction. */
#include <string.h>

#include "../../../runtime/file.h"
#include "diff_print.h"
#include "../run/report.h"

enum format { FORMAT_TEXT, FORMAT_HTML, FORMAT_JSON }; /* as the flag's */

static kiln_status
write_form(struct kn_tool *t, enum format how, const struct kn_diff_view *v)
{
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_buf out = { .c = t->c };

    kn_put(&out, "");
    if (how == FORMAT_HTML) {
        kn_diff_html(v, &out);
    } else if (how == FORMAT_JSON) {
        kn_json_open(&j, NULL, '{');
        kn_diff_json(v, &j);
        kn_json_close(&j, '}');
        out = j.b;
    } else {
        kn_diff_text(v, &out);
    }
    if (o->seen && strcmp(o->s, "-"))
        return kn_file_write(t->c, o->s, out.s, out.n);
    kn_put(t->text, out.s);
    return KILN_OK;
}

kiln_status
kn_cmd_diff(struct kn_tool *t)
{
    const struct kn_value *format = &t->cli->v[KN_FLAG_format];
    struct kn_subject *s = KN_NEW(t->c, struct kn_subject, 2);
    struct kn_diff_view v;
    struct kn_diff d;

    for (int i = 0; i < 2; i++)
        KN_TRY(kn_subject_open(t, t->cli->pos[i], &s[i]));
    KN_TRY(kn_diff_take(t->c, &s[0].g, &s[1].g, &d));
    KN_TRY(kn_diff_view(t->c, &s[0], &s[1], &d, &v));
    v.colour = t->colour && !t->cli->v[KN_FLAG_o].seen;
    KN_TRY(write_form(t, format->seen ? (enum format)format->i : FORMAT_TEXT,
                      &v));
    return kn_diff_view_equal(&v) ? KILN_OK : KILN_FINDING;
}
