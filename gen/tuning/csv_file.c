/* csv_file.c - tables from files; apart, so that who only parses text needs
 * no files. */
#include <string.h>

#include "../../runtime/file.h"
#include "tuning.h"

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
