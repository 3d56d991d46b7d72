/* dwarf.h - source lines of a code object, from DWARF's line tables (versions
 * 2 to 5). The file may come from anyone: every read is bounds-checked. */
#ifndef KN_DWARF_H
#define KN_DWARF_H

#include "../../ir/base.h"

struct kn_dwarf;

/* NULL without debug information. What is malformed ends the table it is in:
 * a wrong line is worse than none. `bytes` must stay as long as *out. */
kiln_status kn_dwarf_read(struct kn_ctx *c, const void *bytes, size_t size,
                          struct kn_dwarf **out);

/* The line of a virtual address, or NULL: its file, as the compiler named it,
 * in *line the number. */
const char *kn_dwarf_find(const struct kn_dwarf *l, uint64_t addr,
                          uint32_t *line);

#endif
