/* file.h - whole files in and out. */
#ifndef KN_FILE_H
#define KN_FILE_H

#include "../ir/base.h"

/* The whole file into the arena, one zero byte behind it. */
kiln_status kn_file_read(struct kn_ctx *c, const char *path, uint8_t **out,
                         size_t *size);

/* Writes a temporary file next to `path` and renames it: the file is there
 * whole or not at all. A path that is no regular file is written directly. */
kiln_status kn_file_write(struct kn_ctx *c, const char *path, const void *data,
                          size_t size);

#endif
