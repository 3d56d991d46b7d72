/* cmd_info.c - `kilnc info`: the facts of a code object. */
#include "inspect.h"

#include <stdio.h>

#include "../cmd.h"
#include "../run/run.h"

/* By its first bytes; a file that cannot be read is somebody else's to name. */
static bool
is_bundle(const char *path)
{
    char bytes[8];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;

    if (f)
        fclose(f);
    return kn_is_bundle(bytes, n);
}

kiln_status
kn_cmd_info(struct kn_tool *t)
{
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_subject *s = KN_NEW(t->c, struct kn_subject, 1);

    if (is_bundle(t->cli->pos[0]))
        return kn_bundle_view(t, t->cli->pos[0]);
    KN_TRY(kn_subject_read(t, t->cli->pos[0], s));
    if (!t->cli->v[KN_FLAG_json].seen)
        return kn_info_subject(s, false, t->text);
    KN_TRY(kn_info_subject(s, true, &j.b));
    return kn_report_write(t, &j);
}
