/* debug.h - debug information in a code object (debug.c), for debuggers and
 * traces that show source lines. */
#ifndef KN_DEBUG_H
#define KN_DEBUG_H

#include "object.h"

/* Where the files that are not the user's own are said to be. */
#define KN_SOURCE_FOLDER "kiln-src"

struct kn_debug_file {
    const char *file, *text;
    bool own;                /* in KN_SOURCE_FOLDER */
};

/* The line from an offset on, up to the next row's. */
struct kn_debug_row {
    uint32_t offset;         /* bytes from the kernel's first instruction */
    uint32_t file, line;     /* of source[]; line 0: of no line */
};

struct kn_debug {
    const char *kernel;
    uint32_t nsource;        /* at least 1; the first one names the unit */
    const struct kn_debug_file *source;
    size_t nrow;
    const struct kn_debug_row *row;      /* ascending offsets */
};

/* Puts .debug_line, .debug_info, .debug_abbrev and .debug_frame (DWARF 5, with
 * the texts embedded) behind a linked code object: no other byte of a section
 * changes. */
kiln_status kn_object_debug(struct kn_ctx *c, const struct kn_debug *d,
                            uint8_t **co, size_t *size);

#endif
