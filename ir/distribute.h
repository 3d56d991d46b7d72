/* distribute.h - shared by the files of the distribution pass: tile-level
 * operations in, wave-level operations out. */
#ifndef KN_DISTRIBUTE_H
#define KN_DISTRIBUTE_H

#include "read.h"

/* What became of a tile-level value. */
struct dist_tile {
    enum { DT_NONE, DT_SCALAR, DT_VIEW, DT_STAGE, DT_FRAG, DT_ACC, DT_ROWS } kind;
    kn_ref val;              /* DT_SCALAR: the value itself */
    int lds;                 /* view, stage, frag: LDS tile it belongs to */
    kn_ref *reg;             /* registers, meaning by kind */
    uint32_t nreg;
    /* DT_VIEW */
    kn_ref base, rem, krem, pitch, outer;
    kn_ref up;               /* rows from a gate row to its up row, or 0 */
    kn_ref *row;             /* gathered: byte offset of a step's row */
};

/* Rows named by sorted ids (token | slot << 24): how an id becomes a byte
 * offset. An id whose token is not below `tokens` is padding. */
struct dist_rows {
    kn_ref ids, tokens, topk, pitch;
    bool slots;              /* row token * topk + slot, else row token */
    bool plain;              /* an id is token * topk + slot itself */
};

struct dist {
    struct kn_ctx *c;
    const struct kn_fn *in;
    struct kn_fn *out;
    struct dist_tile *tile;  /* by input value */
    struct kn_loc at;
    kn_ref lane, tid, wave, wave_m, wave_n, q, t; /* q = lane/16, t = lane%16 */
    unsigned ntemp;
};

extern const struct kn_type kn_s32, kn_v32, kn_s64, kn_vf32, kn_sb1, kn_vb1;

/* Emit one wave-level operation into d->out; returns its result. */
kn_ref dist_op(struct dist *d, enum kn_op op, struct kn_type t, kn_ref a,
               kn_ref b);
kn_ref dist_op3(struct dist *d, enum kn_op op, struct kn_type t,
                const kn_ref arg[3]);
kn_ref dist_i2(struct dist *d, enum kn_op op, kn_ref a, kn_ref b);
kn_ref dist_ic(struct dist *d, enum kn_op op, kn_ref a, int64_t b);
kn_ref dist_int(struct dist *d, int64_t v);
kn_ref dist_temp(struct dist *d, struct kn_type t);
kn_ref dist_named(struct dist *d, struct kn_type t, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void dist_move(struct dist *d, kn_ref dst, kn_ref src);
struct kn_ins *dist_add(struct dist *d, enum kn_op op, kn_ref dst);
kn_ref dist_operand(struct dist *d, kn_ref r);
struct dist_tile *dist_tile(struct dist *d, kn_ref r);
kn_ref dist_rsrc(struct dist *d, kn_ref base, kn_ref records);
/* lo .. hi whatever x is, and uniform: a clamp may run in vector registers. */
kn_ref dist_clamp(struct dist *d, kn_ref x, int64_t lo, int64_t hi);
/* x, promised to be 0 .. most by the launch (docs/ir.md, `assume`). */
kn_ref dist_assume(struct dist *d, kn_ref x, int64_t most);
/* s.i64 address of pointer `p` plus row * pitch plus bytes, all uniform. */
kn_ref dist_address(struct dist *d, kn_ref p, kn_ref row, kn_ref pitch,
                    kn_ref bytes);

/* The id of row `row` of the tile, and the offset of the row it names: beyond
 * every record count for padding. */
kn_ref dist_row_id(struct dist *d, const struct dist_rows *r, kn_ref row);
kn_ref dist_row_offset(struct dist *d, const struct dist_rows *r, kn_ref id);

struct kn_type dist_vec(uint8_t elem, uint32_t n);

/* One expand function per TILE row of ops.def. */
#define KN_EXPAND_TILE(id) kiln_status expand_##id(struct dist *, const struct kn_ins *);
#define KN_EXPAND_WAVE(id)
#define KN_EXPAND_BOTH(id)
#define OP(id, text, level, ...) KN_EXPAND_##level(id)
#include "ops.def"
#undef OP

#endif
