/* panel.h - rows with one scale each that are wider than a tile: what waves leave in
 * the workspace, between distribute_panel.c and distribute_panel_meet.c.
 *
 * The area of a slab has the blocks of strip 0, of strip 1 ..., then the f32 of the
 * largest of strips' rows, for each four strips 16 times four of a row, then, if waves
 * meet, a word for each strip, not 0 when its blocks are there; that of a wave is in its
 * first slab. A row has one scale, or one
 * for each 128 columns, and an area of a slab for each. */
#ifndef KN_PANEL_H
#define KN_PANEL_H

#include "distribute.h"

enum {
    PANEL_BLOCK = 1024,      /* bytes of 16x16 sums */
    PANEL_MOST = 64,         /* of the largest of 16 rows */
    PANEL_SPARE = 192,       /* of those of three strips that complete four */
    PANEL_LEFT = 64          /* of a strip's word, in a cache line of its own */
};

struct panel {
    struct dist_scaled s;    /* of whole rows */
    uint32_t slabs, blocks;  /* of a wave; of a strip along its columns */
    uint32_t together;       /* strips whose codes are made at once */
    kn_ref strips, strip;    /* of a scale; this wave's */
    uint32_t beside;         /* waves side by side that tell each other their largest in LDS */
    kn_ref counts;           /* largest of a row in memory: of such waves one */
    kn_ref scale, scales;    /* the wave's of a row, of so many; 0: of one */
    kn_ref column;           /* the first of it */
    kn_ref first;            /* the wave's first slab of all panels */
    kn_ref bytes;            /* of a slab */
    kn_ref lane;             /* the lane's byte of a block */
};

/* The area of the wave's slab number n, after those of all slabs in front. */
kn_ref dist_panel_slab(struct dist *d, const struct panel *x, kn_ref n);
/* Over `records` bytes, from byte `from` of a slab on. */
kn_ref dist_panel_part(struct dist *d, const struct panel *x, kn_ref slab, kn_ref from,
                       kn_ref records);
/* Where the words are in a slab. */
kn_ref dist_panel_words_at(struct dist *d, const struct panel *x);
void dist_panel_store(struct dist *d, kn_ref r, kn_ref at, int32_t offset, kn_ref v);
kn_ref dist_panel_load(struct dist *d, kn_ref r, kn_ref at, int32_t offset,
                       struct kn_type t);
/* The wave's blocks of its slab n; the largest of their rows, and these in memory. */
void dist_panel_park(struct dist *d, const struct panel *x, const kn_ref *acc, uint32_t n);
kn_ref dist_panel_largest(struct dist *d, const struct panel *x, const kn_ref *acc);
void dist_panel_park_largest(struct dist *d, const struct panel *x, kn_ref most, uint32_t n);
/* So many loads of the largest of the lane's row of a slab, of 16 strips each, strips from c
 * on, 0 where there is none; and the largest of these and `most`. */
enum { PANEL_LOADS = 16 };
struct panel_largest {
    kn_ref v[PANEL_LOADS];
    uint32_t loads;
};
void dist_panel_load_largest(struct dist *d, const struct panel *x, kn_ref slab, kn_ref c,
                             struct panel_largest *l);
void dist_panel_take_largest(struct dist *d, const struct panel_largest *l, kn_ref most);
/* Counter of a wave's slabs from byte 0 on. */
kn_ref dist_panel_counters(struct dist *d, const struct panel *x);
/* Codes of so many of the wave's slabs, from number n on, of what is parked: of one strip,
 * or, if it is 0, of all columns, and the scales. */
void dist_panel_finish(struct dist *d, struct panel *x, kn_ref n, uint32_t many,
                       kn_ref strip);

/* A loop whose uniform counter goes from 0 by `step` as long as it is below `end`:
 * `most` bounds both. The caller ends it by dist_end_count. */
kn_ref dist_begin_count(struct dist *d, const char *name, int64_t most);
void dist_end_count(struct dist *d, kn_ref i, int64_t step, kn_ref end);

/* ---- distribute_panel_meet.c ---- */
void dist_panel_meet(struct dist *d, struct panel *x, struct dist_scaled *own,
                     const struct dist_tile *t);

#endif
