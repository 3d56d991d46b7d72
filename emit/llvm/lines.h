/* lines.h - which wave-level operation each emitted instruction came from.
 *
 * The module carries line-table debug information in which "line" is the
 * index of the operation plus one; the linker drops it, the map stays. */
#ifndef KN_LINES_H
#define KN_LINES_H

#include "../../ir/ir.h"

struct kn_line_row {
    uint32_t offset;         /* bytes from the kernel's first instruction */
    uint32_t ins;            /* index into kn_fn.ins; UINT32_MAX: unknown */
};

struct kn_line_map {
    size_t n;
    struct kn_line_row *row; /* ascending offsets, each up to the next */
};

/* Reads .debug_line (DWARF 4) of an ET_REL with one kernel at the start of
 * .text. BAD_INPUT if the table is damaged; no table gives an empty map. */
kiln_status kn_lines_read(struct kn_ctx *c, const void *rel, size_t size,
                          struct kn_line_map *out);

/* Operation at a byte offset, UINT32_MAX if unknown. */
uint32_t kn_lines_find(const struct kn_line_map *m, uint64_t offset);

/* The same where offsets ascend from call to call; *row starts at 0. */
uint32_t kn_lines_next(const struct kn_line_map *m, uint64_t offset,
                       size_t *row);

#endif
