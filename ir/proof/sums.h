/* sums.h - shared by the files of the proof of order: sums.c walks a kernel of
 * tiles, sums_tiles.c says which K each tile holds, sums_value.c and sums_lanes.c
 * compute the numbers the way depends on. Shares nothing with distribution. */
#ifndef KN_SUMS_H
#define KN_SUMS_H

#include "../ir.h"

/* A slot or tile is known in so many equal parts: every number of shares that
 * the loops use divides it. */
enum { SUMS_CELLS = 120, SUMS_HALVES = 2 };
/* K is counted in 48ths of an element: a line of 6-bit rows begins at thirds. */
enum { SUMS_UNIT = 48 };

enum { SUMS_LANES = 64 };

/* An integer, or a pointer as sums_value.c writes it; a buffer resource is its
 * base. */
struct sums_value {
    bool known;
    int64_t v;
    int64_t records;         /* of a resource: bytes in range */
    int64_t *lane;           /* up to four elements of each lane, NULL: all v */
};

/* What a part of a slot or tile holds: K from `at` on, of rows of length k. */
struct sums_place {
    bool filled;
    bool nothing;            /* its elements have been zeroed */
    bool nowhere;            /* its view had no further K tile */
    bool turns;              /* its view comes from the end of K to its beginning */
    int64_t at, k;
};

/* A sum so far: K from `from` to `next`, without a gap, or, around, from there to
 * the end of K and from 0 to `next`. */
struct sums_sum {
    bool begun, around;
    int64_t from, next, k;
};

struct sums_tile {
    int lds;
    bool steps;              /* a whole K tile: mma says which K step */
    struct sums_place cell[SUMS_CELLS];
    struct sums_sum sum[SUMS_HALVES][SUMS_CELLS]; /* of halves of B's columns, A's rows */
};

struct sums {
    const struct kn_fn *f;
    const struct kn_sums_launch *launch;
    struct sums_value *value;      /* by value */
    struct sums_tile **tile;       /* by value, where it is one */
    struct sums_tile **slot;       /* of all LDS tiles, one after the other */
    uint32_t *first_slot;           /* by LDS tile */
    uint32_t *match;                /* by operation: of loop, if, else its end;
                                     * of end what it closes */
    struct kn_sums_facts *facts;
};

/* ---- sums_value.c ---- */
struct sums_value sums_read(const struct sums *o, kn_ref r);
struct sums_value sums_argument(const struct sums *o, uint32_t n);
int64_t sums_as_type(const struct sums *o, const struct kn_ins *i, int64_t v);
struct sums_value sums_arithmetic(const struct sums *o, const struct kn_ins *i,
                                  int64_t x, int64_t y);
/* Memory that the launch names: `bytes` at a pointer. */
bool sums_load(const struct sums *o, int64_t pointer, uint32_t bytes,
               int64_t *out);
/* What an operation makes; unknown where an operand is. */
struct sums_value sums_compute(const struct sums *o,
                                 const struct kn_ins *i);

/* ---- sums_lanes.c: the same where a lane's value may differ ---- */
struct sums_value sums_of_lanes(const struct sums *o, const struct kn_ins *i);

/* ---- sums_tiles.c: an operation on tiles, slots or views; FINDING where the
 * order is another one ---- */
kiln_status sums_of_tiles(struct sums *o, const struct kn_ins *i);

#endif
