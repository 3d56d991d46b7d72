/* cmd_info.c - `kilnc info`: the facts of a code object. */
#include "info.h"
#include "../run/report.h"

kiln_status
kn_cmd_info(struct kn_tool *t)
{
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_subject *s = KN_NEW(t->c, struct kn_subject, 1);

    KN_TRY(kn_subject_read(t, t->cli->pos[0], s));
    if (!t->cli->v[KN_FLAG_json].seen)
        return kn_info_subject(s, false, t->text);
    KN_TRY(kn_info_subject(s, true, &j.b));
    return kn_report_write(t, &j);
}
