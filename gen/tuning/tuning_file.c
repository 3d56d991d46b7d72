/* tuning_file.c - tables from files, one or a list (KILNC_TUNING_FILE); apart, so
 * that who only parses text needs no files. */
#include "tuning.h"

#include <string.h>

#include "../../runtime/file.h"

kiln_status
kn_csv_read(struct kn_ctx *c, const char *path, struct kn_csv *out)
{
    uint8_t *bytes;
    size_t size;

    KN_TRY(kn_file_read(c, path, &bytes, &size));
    if (memchr(bytes, 0, size))
        return kn_fail(c, KILN_BAD_INPUT, "'%s' is no text", path);
    return kn_csv_parse(c, path, (const char *)bytes, out);
}

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
