/* tuning_file.c - tuning tables from files (KILNC_TUNING_FILE). */
#include <string.h>

#include "tuning.h"

kiln_status
kn_tuning_load(struct kn_ctx *c, const char *files, struct kn_tuning *out)
{
    size_t most = 1;

    for (const char *s = files; *s; s++)
        most += *s == ':';
    *out = (struct kn_tuning){ .t = KN_NEW(c, struct kn_csv, most) };
    while (*files) {
        size_t len = strcspn(files, ":");

        if (len) {
            struct kn_csv *t = &out->t[out->n++];

            KN_TRY(kn_csv_read(c, kn_strndup(c, files, len), t));
            KN_TRY(kn_tuning_check(c, t));
        }
        files += len + (files[len] == ':');
    }
    return KILN_OK;
}
