/* split.h - what a share of K leaves in memory, and how it is added up: between
 * distribute_split.c, distribute_slices.c and what works on slices of a tile. */
#ifndef KN_SPLIT_H
#define KN_SPLIT_H

#include "distribute.h"

struct area {
    kn_ref r;                /* resource over all shares */
    kn_ref lane;             /* this lane's byte in block 0 of share 0 */
    kn_ref row, rows;        /* its row in the tile; rows there are */
    uint32_t share;          /* bytes from share to share */
    uint32_t across;         /* blocks of a wave along N */
    uint32_t size;           /* bytes of a sum */
    struct kn_type type;     /* of a lane's part of a block */
};

struct dist_span {
    uint32_t from, to;       /* of accumulators */
};
/* What is made of each slice that acc.share said is this wave's; acc: of gate and up what
 * they become, of which a slice has half as many as of both. */
struct dist_sliced {
    void (*make)(struct dist *d, void *of, struct dist_span blocks);
    void *of;
    const struct dist_tile *acc;
    kn_ref mine;
    uint32_t splits;
};
void dist_each_slice(struct dist *d, const struct dist_sliced *x);

struct joined {
    const struct area *x;
    kn_ref own;              /* the share whose sums are in registers; 0: it is
                              * read as the others, faster of one or two blocks */
    uint32_t splits;
    bool pairs;              /* slices are of pairs, of gate and up */
    kn_ref *is;              /* whether each is `own`, v.b1, or NULL */
};

/* Of slices that are whole rows of blocks or an even part of one (kn_even_slice): the one
 * that a turn of the kernel's loop adds up and stores. Where a share's own is in memory is
 * worked out before the others are waited for. */
struct dist_turn {
    struct area x;
    struct joined j;
    uint32_t rows, cols;     /* blocks of a slice */
    uint32_t batch;          /* of them in registers at a time */
    kn_ref n, bit, first;    /* s.i32: the slice, 1 << n, its first block */
    kn_ref row, col;         /* rows and columns of the wave in front of it */
    kn_ref *at, *sum;        /* bytes of a batch's blocks, share by share; what they become */
};
/* Row blocks of a wave's sums, of a turn's slice; number y of its column blocks in the tile. */
uint32_t dist_block_rows(const struct dist *d);
kn_ref dist_first_row(struct dist *d); /* of this lane */
kn_ref dist_block_column(struct dist *d, const struct dist_epilogue *e, uint32_t y);

/* What acc.join adds up, by its operands: the area, this share, rows that are left. */
void dist_open_joined(struct dist *d, const struct kn_ins *i, const kn_ref of[3],
                      struct area *x, struct joined *j);

kn_ref dist_range(struct dist *d, kn_ref base, int64_t bytes);
/* The area of the share whose number is an operand of acc.park or acc.share. */
struct area dist_open_own(struct dist *d, const struct kn_ins *i);
void dist_park_block(struct dist *d, const struct area *x, kn_ref acc, uint32_t n);
/* dist_count_at of more lanes; the offsets of those that have none are out of range. */
kn_ref dist_count_lanes(struct dist *d, kn_ref r, kn_ref at, kn_ref most);
/* The same of a wave that has stored nothing since it counted last. */
kn_ref dist_arrive(struct dist *d, kn_ref r, kn_ref at, kn_ref most);
/* A register that later operations know by the operation's name. */
kn_ref dist_result_of(struct dist *d, const struct kn_ins *i, struct kn_type type);

kn_ref dist_load_block(struct dist *d, const struct area *x, kn_ref at);
/* The block at that offset of share 0 in another, which the own share has not left; where
 * it is, to `to`. */
void dist_place_of(struct dist *d, const struct joined *j, kn_ref at, uint32_t share, kn_ref to);
kn_ref dist_any_share(struct dist *d, const struct joined *j, kn_ref at, uint32_t share);
void dist_sum_to(struct dist *d, kn_ref to, kn_ref a, kn_ref b);
kn_ref dist_sum_of(struct dist *d, kn_ref a, kn_ref b);
/* acc = v[0] + v[1] + ..., from the left, acc itself in its place. */
void dist_add_shares(struct dist *d, const struct joined *j, kn_ref acc, const kn_ref *v);
/* The next one, in a turn of a loop that ends when there is none. */
void dist_join_turn(struct dist *d, struct dist_tile *acc);
/* The slices that acc.share says are this wave's. */
void dist_join_slices(struct dist *d, const struct joined *j, const struct dist_tile *acc,
                      kn_ref mine);

#endif
