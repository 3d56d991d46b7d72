/* plan.h - what a launch of a generated kernel needs, and where its tiles are (plan.c). */
#ifndef KN_PLAN_H
#define KN_PLAN_H

#include "../config.h"

/* A launch of a generated kernel (or a foreign build of the same one). */
struct kn_operands {
    uint64_t a, b, c, sa, sb, bias;  /* device addresses, 0 if unused */
    uint64_t x[KN_FORMULA_ARRAYS];   /* arrays that the expression declares */
    uint64_t sc;             /* scales of the output */
    uint64_t amax;           /* its largest magnitude, f32, zero before */
    uint64_t out2, sc2;      /* the second output, its scales */
    uint64_t offs;           /* int64 offs[groups + 1] on the device;
                                moe: int32 sorted ids[m] */
    uint64_t tight;          /* the same of what is written, KILN_GROUP_TIGHT */
    uint64_t experts;        /* moe: int32, an expert per block_m sorted rows */
    uint64_t padded;         /* moe: int32, how many sorted rows count */
    uint64_t weights;        /* moe down: f32, a weight per sorted row */
    uint64_t workspace;      /* kn_plan.workspace bytes; the counters must be
                                zero, and are again after every launch */
};
struct kn_plan {
    uint32_t grid[3], block[3];
    uint64_t workspace;      /* bytes; 0: none */
    uint32_t kernarg_size;
    uint32_t cus_at;         /* where kernarg has a persistent grid's size, or 0 */
    uint8_t kernarg[512];    /* as templates/args.tir or aiter.def has it */
};
/* Refuses, with a sentence, a problem outside cfg's domain. */
kiln_status kn_plan_launch(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *cfg,
                           const struct kn_operands *o, struct kn_plan *plan);

/* The same for a launch whose host knows the groups: no workgroup more than there
 * are tiles. */
void kn_plan_exactly(const kiln_problem *p, const struct kn_config *g,
                     const int64_t *offs, struct kn_plan *plan);

/* Proves the order of the sums of a launch of the tile IR f (ir.h,
 * kn_prove_sums) in the first and last wave of its first, middle and last
 * workgroup, of a persistent one the first eight sums. What it allocates and says
 * is c's. table: what the launch reads of groups, empty without. */
struct kn_sums_table {
    const void *data;
    const void *tight;       /* the second, of as many bytes, or NULL */
    size_t size;
    bool staggered;          /* K may come round, as --stagger has it */
};
kiln_status kn_launch_sums(struct kn_ctx *c, const struct kn_fn *f,
                           const struct kn_plan *plan,
                           const struct kn_sums_table *table,
                           struct kn_sums_facts *out);

/* The tiles of a launch (with split-K: the shares of tiles, split_k a tile),
 * computed apart from the templates' own maps: number `pid` is computed by
 * workgroup pid, or pid % its size of a persistent grid. offs: as
 * kn_read_offsets takes them. */
struct kn_rect {
    uint32_t share, shares;  /* split-K: which one, of how many; 0, 1 */
    uint64_t first;          /* place of the tile's share 0 in the order */
    int64_t group;           /* group or batch, else 0 */
    int64_t m0, n0;          /* in the group's own output */
    int64_t rows, cols;
};
uint64_t kn_tile_count(const kiln_problem *p, const struct kn_config *cfg,
                       const int64_t *offs);
/* Of split_after: of so many tiles those behind the last whole round, that are
 * divided; 0 where their shares would take as long as they do. */
uint64_t kn_last_round(const struct kn_config *g, uint64_t tiles);
/* Tiles of zeros (KILN_TAIL_ZERO); numbered after the others, with
 * kn_rect.group = groups. */
uint64_t kn_spare_count(const kiln_problem *p, const struct kn_config *cfg,
                        const int64_t *offs);
struct kn_rect kn_tile_rect(const kiln_problem *p, const struct kn_config *cfg,
                            const int64_t *offs, uint64_t pid);
/* The workgroup at place t of the order. */
uint64_t kn_tile_workgroup(const kiln_problem *p, const struct kn_config *cfg,
                           const int64_t *offs, uint64_t t);

#endif
