/* linker.h - other linkers than kiln's own, for comparison (--linker). */
#ifndef KN_LINKER_H
#define KN_LINKER_H

#include "../cmd.h"
#include "../../gen.h"

/* The one --linker names; NULL: kiln's own. */
typedef kiln_status kn_link_fn(struct kn_ctx *c, const void *rel, size_t n,
                               uint8_t **out, size_t *size);
kn_link_fn *kn_tool_linker(const struct kn_cli *cli);

#endif
