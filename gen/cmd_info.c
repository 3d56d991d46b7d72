/* cmd_info.c - `kilnc info`: the facts of a code object. */
#include "../runtime/file.h"
#include "info.h"
#include "report.h"

kiln_status
kn_cmd_info(struct kn_tool *t)
{
    const char *path = t->cli->pos[0];
    struct kn_json j = { .b = { .c = t->c } };
    uint8_t *bytes;
    size_t size;

    KN_TRY(kn_file_read(t->c, path, &bytes, &size));
    if (!t->cli->v[KN_FLAG_json].seen)
        return kn_info_print(path, bytes, size, false, t->text);
    KN_TRY(kn_info_print(path, bytes, size, true, &j.b));
    return kn_report_write(t, &j);
}
