/* groups.h - the group lengths of a `run`: given one by one, or made by a
 * routing pattern. */
#ifndef KN_GROUPS_H
#define KN_GROUPS_H

#include "../cli.h"
#include "../../gen.h"

/* Reads --groups, --group-lens, --routing, --tokens into p->groups and the
 * ragged length (m of grouped, k of wgrad), and the exclusive prefix with the
 * total into *offs (NULL for a family without groups).
 *
 *   balanced   every group has --tokens rows
 *   mild       weights 0.2 + 0.8 * uniform, rounded down, the rest to the last
 *   extreme:K  the first K groups share all rows, the others have none
 *
 * --tokens counts rows a group on average. wgrad with MX or block128
 * scales rounds each length up to 32 or 128, where its scale blocks begin. */
kiln_status kn_groups_make(struct kn_ctx *c, const struct kn_cli *cli,
                           kiln_problem *p, int64_t **offs);

/* The same where rows may be open: --groups alone is a number of groups of any
 * rows, and a family without groups takes what it is given. */
kiln_status kn_groups_known(struct kn_ctx *c, const struct kn_cli *cli,
                            kiln_problem *p);

/* What the device gets of the groups: offs, or with kiln_group_flags the
 * lengths or ends; *size in bytes. */
void *kn_groups_table(struct kn_ctx *c, const kiln_problem *p,
                      const int64_t *offs, size_t *size);

#endif
