/* distribute.h - shared by the files of the distribution pass: tile-level
 * operations in, wave-level operations out. */
#ifndef KN_DISTRIBUTE_H
#define KN_DISTRIBUTE_H

#include "../formula.h"
#include "../ir.h"

/* A fragment of f32 as bf16: nearest even, and what that leaves. */
struct dist_terms {
    kn_ref hi, lo;
};

/* What became of a tile-level value. */
struct dist_tile {
    enum { DT_NONE, DT_SCALAR, DT_VIEW, DT_STAGE, DT_FRAG, DT_ACC, DT_ROWS,
           DT_COLUMNS, DT_PULLED } kind;
    kn_ref val;              /* DT_SCALAR: the value itself */
    int lds;                 /* view, stage, frag: LDS tile it belongs to */
    kn_ref *reg;             /* registers, meaning by kind */
    uint32_t nreg;
    /* DT_VIEW */
    kn_ref base, rem, krem, pitch, outer;
    kn_ref up;               /* rows from a gate row to its up row, or 0 */
    /* rotated, else 0: all of K. Rows along K: bytes from here to the end of the
     * last K tile, records behind it; K outside: bytes of all K tiles */
    kn_ref k, to_end, end, all;
    kn_ref *row;             /* gathered: byte offset of a step's row */
    uint32_t pairs;          /* DT_FRAG: a register is two fragments' scales */
    struct dist_terms *terms; /* DT_FRAG of f32 that is split, each as last read */
    /* DT_VIEW, DT_STAGE of unaligned rows: byte of a dword where they begin;
     * by step, the v_perm_b32 selector of a lane's row, and the dword before a
     * lane's load if the lane has the beginning of a row */
    kn_ref low, *select, *before;
    struct dist_shift *shift; /* the same, of rows that are loaded by lines */
    kn_ref *own;             /* DT_STAGE whose lanes load all their dwords: by
                              * step, the byte they begin at */
    kn_ref *ready;           /* DT_STAGE that is converted: by step and piece */
    kn_ref *fold;            /* the same whose blocks are folded (distribute_folded_scales.c) */
    kn_ref left;             /* DT_PULLED: K left at its tile, 0: all of it */
    bool block;              /* DT_ACC of integers that begin at dist_block_start */
    kn_ref *home;            /* DT_ACC: registers of its own, where others have taken
                              * their place (dist_replace) */
};

/* Rows named by sorted ids (token | slot << 24): how an id becomes a byte
 * offset. An id whose token is not below `tokens` is padding. */
struct dist_rows {
    kn_ref ids, tokens, topk, pitch;
    bool slots;              /* row token * topk + slot, else row token */
    bool plain;              /* an id is token * topk + slot itself */
};

/* Of an LDS tile whose rows are copied by lines (distribute_lines.c). */
struct dist_lag {
    kn_ref low, cut;         /* byte of its line where row 0 begins; K that copies need */
    kn_ref *at;              /* where this lane reads: by K step and piece two, of
                              * the last slot and of another */
};

/* Of rows that are loaded by lines (distribute_unaligned_lines.c): what lags of a step; of each
 * dword of 16 bytes whether the K tile before has it, where it goes in LDS; the row's first
 * lane; the v_perm_b32 selector of its bytes. */
struct dist_shift {
    kn_ref *from, begin;     /* of the first step: where lanes load, by what lags, and all */
    kn_ref *late, *each, before[4], place[4], first, select; /* each: by step and dword */
};

struct dist {
    struct kn_ctx *c;
    const struct kn_fn *in;
    struct kn_fn *out;
    struct dist_tile *tile;  /* by input value */
    struct kn_loc at;
    kn_ref array[KN_FORMULA_ARRAYS], scalar[KN_FORMULA_SCALARS]; /* of expr */
    kn_ref *vector[3 + KN_FORMULA_DECLARED]; /* by column or row block: biases, declared */
    const kn_ref *ids;       /* acc.named: of the rows of expr's arrays, else NULL */
    struct dist_rows named;
    kn_ref most;             /* acc.amax: of the parts so far */
    kn_ref seed[2], seed_at[2]; /* acc.seed: halves, stirred; row and column of the
                                output where the tile begins */
    struct dist_lag *lag;    /* by LDS tile */
    kn_ref first;            /* first token of the window, 0: there is none */
    kn_ref area, counters, panel, panel_k; /* acc.panel */
    kn_ref beside;           /* rows.share: LDS slot, or 0 */
    kn_ref mine;             /* acc.share: whose slices are this wave's; 0: all are */
    uint32_t splits;         /* slices there are */
    struct dist_turn *turn;  /* of which a turn has one (split.h), NULL: no turns */
    kn_ref lane, tid, wave, wave_m, wave_n, q, t; /* q = lane/16, t = lane%16 */
    unsigned ntemp;
};

extern const struct kn_type kn_s32, kn_v32, kn_s64, kn_vf32, kn_sb1, kn_vb1;

/* LDS address `a` of what a lane stores of its block in a step, in pieces of so many
 * `bytes` or fewer, this one `at` bytes into it. Blocks beyond the tile are stored
 * behind it, into the slot's padding: the same piece of all lanes side by side, as the
 * banks are no others. */
struct dist_piece {
    uint32_t block, at, bytes;
};
kn_ref dist_or_behind(struct dist *d, const struct kn_geom *g, uint32_t step, kn_ref a,
                      struct dist_piece x);
/* Rows of one wave in a slot of a tile stored by shares. */
uint32_t dist_share_rows(const struct dist *d, const struct kn_lds *l);

/* Emit one wave-level operation into d->out; returns its result. */
kn_ref dist_op(struct dist *d, enum kn_op op, struct kn_type t, kn_ref a,
               kn_ref b);
kn_ref dist_op3(struct dist *d, enum kn_op op, struct kn_type t,
                const kn_ref arg[3]);
/* A dword of each lane: yes where cond holds, else no. */
kn_ref dist_pick(struct dist *d, kn_ref cond, kn_ref yes, kn_ref no);
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
/* A store of v, of elements `elem`, `at` bytes into the records of r. */
struct kn_ins *dist_stg(struct dist *d, kn_ref r, kn_ref at, kn_ref v,
                        uint8_t elem);
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
/* Row token * topk + slot of the output, of a token and the id whose bits 24 to 31
 * are the slot. */
kn_ref dist_slot_row(struct dist *d, const struct dist_rows *r, kn_ref token, kn_ref id);
/* Resource over an f32 for each row that ids name, whose pitch is 4. */
kn_ref dist_rows_f32(struct dist *d, const struct dist_rows *r, kn_ref p);

struct kn_type dist_vec(uint8_t elem, uint32_t n);

/* A place in LDS: slot, lane address, constant offset. */
struct dist_place {
    kn_ref slot, addr;
    int64_t offset;
};

/* Beyond every record count (design limit): masked lanes, bounds of counts. */
enum { DIST_NEVER = 0x7fffffff };

static inline const struct kn_lds *
dist_lds(const struct dist *d, int i)
{
    return &d->in->lds[i];
}

/* Bytes to run number `run`, of so many bytes, in a row of a panel (distribute_advance.c). */
kn_ref dist_panel_bytes(struct dist *d, uint32_t bytes, kn_ref run);

/* ---- distribute_view.c ---- */
/* kn_block_place on a lane's block. */
void dist_block_place(struct dist *d, const struct kn_lds *l, kn_ref id,
                      kn_ref *k, kn_ref *outer);
/* Row and source chunk of the LDS chunk `c` (linear). */
void dist_chunk_place(struct dist *d, const struct kn_lds *l, kn_ref c,
                      kn_ref *row, kn_ref *chunk);
/* Linear chunk (or run, or transpose block) number of this thread in a step. */
kn_ref dist_chunk_id(struct dist *d, uint32_t step);
/* The same of a tile that may have two steps of halves (kn_geom). */
kn_ref dist_run_id(struct dist *d, const struct kn_lds *l, uint32_t step);
/* Whether loads add themselves what their rows are further than the first step's, which is
 * uniform, so that a lane has one offset for all: a lane's offset, so many steps on. */
bool dist_lacks_registers(const struct dist *d);
kn_ref dist_steps_on(struct dist *d, const struct dist_tile *v, kn_ref off, uint32_t step);
/* The XOR applied to a chunk number of this LDS row. */
kn_ref dist_swizzle(struct dist *d, const struct kn_lds *l, kn_ref row);
/* `by` where the row's halves of chunks change places, else 0. */
kn_ref dist_flip(struct dist *d, const struct kn_lds *l, kn_ref row, uint32_t by);
/* Row, and number within it, of a run. */
void dist_run_place(struct dist *d, const struct kn_lds *l, kn_ref id,
                    kn_ref *row, kn_ref *run);
/* Row of the operand, from the view's first, that is staged as row `row`. */
kn_ref dist_memory_row(struct dist *d, const struct dist_tile *v, kn_ref row,
                       kn_ref row0);

/* K-outer: the records of one staged block of K rows. */
void dist_k_outer_records(struct dist *d, struct dist_tile *v);
/* Elements of a row of the tile's own type that K of the operand are. */
kn_ref dist_row_elements(struct dist *d, const struct kn_lds *l, kn_ref k);

/* ---- distribute_mma.c ---- */
/* Of a tile with K innermost the place, from its slot on, that a lane reads for the
 * piece of its first fragment that begins `at` bytes into a K tile. */
kn_ref dist_read_address(struct dist *d, int lds, const struct kn_readplan *p,
                         uint32_t at);

/* ---- distribute_lines.c ---- */
/* line=1: where the piece that begins `at` bytes from where a line and a K tile did
 * together begins, from the slot of the even lines on: with all lanes in one line, or
 * in both. */
struct dist_line {
    kn_ref addr;
    uint32_t odd, span, ring; /* slots; the read's slot begins `odd` further */
};
struct dist_line dist_line(struct dist *d, int lds, const struct kn_readplan *p,
                           uint32_t at);
/* lag=1 */
/* Of a view whose base is row 0's address: it begins a K tile earlier; the
 * records that this adds to `bytes`, of no bytes none. */
void dist_lag_base(struct dist *d, struct dist_tile *v, const char *name);
kn_ref dist_lag_records(struct dist *d, const struct dist_tile *v, kn_ref bytes);
/* Of the chunk x[1] bytes into a row that begins at byte x[0] and lags as one at x[2] does:
 * its offset in the view. */
kn_ref dist_lag_offset(struct dist *d, const struct dist_tile *v, const kn_ref x[3]);
/* Elements of K as bytes, which those of lines are; off, where a lane's chunk of a step is
 * copied from, to the slot of a K tile from which on so many are left: nowhere if it lies
 * beyond them. */
kn_ref dist_lag_left(struct dist *d, int lds, kn_ref left);
kn_ref dist_lag_cut(struct dist *d, const struct dist_tile *v, uint32_t step, kn_ref off,
                    kn_ref left);
/* The read of a piece (K step times parts, and part) of a lane's first fragment. */
struct kn_ins dist_lag_read(struct dist *d, kn_ref slot, uint32_t piece);

/* ---- distribute_copy.c ---- */
kn_ref dist_slice(struct dist *d, kn_ref v, uint32_t first);
kn_ref dist_float(struct dist *d, kn_ref v, uint32_t n);  /* number n of a vector of f32 */
/* n f32 as one value. */
kn_ref dist_floats(struct dist *d, const kn_ref *one, uint32_t n);
kn_ref dist_cat(struct dist *d, const kn_ref *part, uint32_t n);
/* The same, in registers that are there. */
void dist_cat_to(struct dist *d, kn_ref dst, const kn_ref *part, uint32_t n);
/* v_perm_b32(x, y, sel): selector bytes 0-3 pick bytes of y, 4-7 of x, 12 is
 * zero; by: a selector of each lane's own. */
kn_ref dist_perm(struct dist *d, kn_ref x, kn_ref y, uint32_t sel);
kn_ref dist_perm_by(struct dist *d, kn_ref x, kn_ref y, kn_ref sel);
void dist_store_lds(struct dist *d, struct dist_place at, kn_ref v,
                    uint32_t bytes);
/* The low `valid` bits of a dword, 0..32; valid may be outside that range. */
kn_ref dist_keep_mask(struct dist *d, kn_ref valid);
/* Whether a NaN of a run stands in its last byte (row_to_fnuz), where it may be cut; then those
 * that are left become FNUZ's. */
bool dist_row_nans(const struct dist *d, const struct kn_lds *l);
kn_ref dist_fnuz_nans(struct dist *d, kn_ref x);
/* Keeps the low `valid` bits (any number) of `bytes` at a place; of each of its dwords. */
void dist_clip_piece(struct dist *d, struct dist_place at, kn_ref valid, uint32_t bytes);
void dist_clip_dwords(struct dist *d, struct dist_place at, const kn_ref *valid, uint32_t bytes);

/* ---- distribute_unaligned.c: rows that begin at any byte ---- */
void dist_align_base(struct dist *d, struct dist_tile *v);
kn_ref dist_aligned_records(struct dist *d, const struct dist_tile *v, kn_ref bytes);
kn_ref dist_aligned(struct dist *d, struct dist_tile *v, kn_ref off, uint32_t step);
void dist_first_dwords(struct dist *d, struct dist_tile *v, const char *name);
void dist_first_dword(struct dist *d, struct dist_tile *v, uint32_t step, const char *name);
/* Whether lanes side by side have chunks side by side in memory, so that LDS has them
 * where its rows are swizzled; else memory is read so. */
bool dist_in_order(const struct dist *d, const struct kn_lds *l);
/* Where in the slot this lane's chunk of a step is, then. */
struct dist_place dist_own_place(struct dist *d, kn_ref slot, int lds, uint32_t step);
void dist_put_unaligned(struct dist *d, kn_ref slot, const struct dist_tile *t, uint32_t step);
/* Abreast: this lane's row in a step, perhaps none of the tile; what it loads, in bytes. */
kn_ref dist_abreast_row(struct dist *d, const struct kn_geom *g, uint32_t step);
kn_ref dist_abreast_offset(struct dist *d, const struct dist_tile *v, const struct kn_geom *g);
kn_ref dist_abreast_dword(struct dist *d, const struct dist_tile *v, uint32_t step);
/* This lane's chunk or run as if its row began at a dword; returns how many. Once a K tile. */
uint32_t dist_shifted_dwords(struct dist *d, const struct dist_tile *t, uint32_t step, kn_ref *out);
/* ---- distribute_unaligned_lines.c: of those, rows that are loaded by whole lines ---- */
bool dist_by_lines(const struct kn_lds *l);
/* This lane's chunk of a step: of rows in another order than lanes. */
kn_ref dist_line_chunk(struct dist *d, const struct kn_lds *l, uint32_t step);
void dist_line_base(struct dist *d, struct dist_tile *v);
kn_ref dist_line_records(struct dist *d, const struct dist_tile *v, kn_ref bytes);
/* Where a lane loads, of its row and bytes into it. */
kn_ref dist_line_offset(struct dist *d, struct dist_tile *v, uint32_t step, const kn_ref x[2]);
struct dist_put;
/* scales: what was fetched for the next K tile. */
void dist_put_lines(struct dist *d, kn_ref slot, const struct dist_put *x, uint32_t step);

/* Loads of a step: of row k of its piece, so many bytes. */
struct dist_load {
    uint32_t row, at, bytes;
};
uint32_t dist_loads(const struct kn_lds *l, const struct kn_geom *g);
struct dist_load dist_load(const struct kn_lds *l, const struct kn_geom *g, uint32_t n);
/* Where lanes load all dwords of theirs (kn_geom.own): the byte of the first of
 * row k of a step's piece; its dwords as if they were aligned. */
kn_ref dist_own_dword(struct dist *d, const struct dist_tile *t, kn_ref off, uint32_t k);
/* Where a lane loads that: nowhere, if the lane behind it has the dword. */
kn_ref dist_behind_offset(struct dist *d, const struct dist_tile *v, kn_ref off,
                          uint32_t step, const struct dist_load *x);
uint32_t dist_own_dwords(struct dist *d, const struct dist_tile *t,
                         uint32_t step, uint32_t k, kn_ref *out);

/* ---- distribute_pull.c: tiles that stay in memory (slots=0) ---- */
/* Offsets of the wave's fragments, v->nreg of them; those of named rows,
 * whose ids may be loaded already (0: not). */
void dist_pulled_view(struct dist *d, struct dist_tile *v);
/* Row of the tile that row t of fragment f of this lane's wave is. */
kn_ref dist_fragment_row(struct dist *d, const struct kn_lds *l, uint32_t f, kn_ref t);
void dist_pulled_rows(struct dist *d, struct dist_tile *v,
                      const struct dist_rows *rows, kn_ref ids);
/* Fragment f of K step kk; its scale, and the byte of the register it is. */
kn_ref dist_pulled_fragment(struct dist *d, const struct dist_tile *t,
                            uint32_t f, uint32_t kk);
kn_ref dist_pulled_scale(struct dist *d, const struct dist_tile *t, uint32_t f,
                         uint32_t kk, int32_t *sel);

/* ---- distribute_epilogue.c ---- */
struct dist_epilogue {
    struct kn_frag a, b;
    kn_ref row0, col0;       /* this lane's first row and column in the tile */
};
/* Of an accumulator tile: a gated one has half the columns. */
struct dist_epilogue dist_epilogue(struct dist *d, const struct dist_tile *t);
struct kn_type dist_acc_type(struct dist *d, kn_ref acc);

/* What a matrix instruction adds up; acc(i,j) += A(i) * B(j), over those one fragment
 * pair takes (distribute_mma.c). */
struct kn_type dist_sum_type(const struct dist *d);
void dist_multiply(struct dist *d, kn_ref acc, const struct kn_ins *ins, uint32_t i, uint32_t j);

/* distribute_block_scales.c: whether a tile has sums of integers that nothing but acc.addblock
 * takes, each of a block; what a block's sums begin at. */
bool dist_is_block(struct dist *d, kn_ref tile);
kn_ref dist_block_start(struct dist *d);
/* v as elements of a type: floats rounded or widened, of integers the bits. */
kn_ref dist_as_type(struct dist *d, kn_ref v, uint8_t elem);
/* acc = op(acc, x, y); y may be 0. */
/* Sum n of a part that is stored before the next is made: v until it is cleared. What
 * reads it needs no way through an AGPR. */
void dist_replace(struct dist *d, struct dist_tile *t, uint32_t n, kn_ref v);
void dist_apply(struct dist *d, enum kn_op op, kn_ref acc, kn_ref x, kn_ref y);

/* x[2] where x[0] > x[1], else x[3]. */
kn_ref dist_above(struct dist *d, struct kn_type t, const kn_ref x[4]);

/* ---- distribute_convert.c ---- */
enum {
    DIST_RUN = 32,           /* most elements of a run */
    DIST_QUANT = 8           /* of one that is quantised: 16 bytes */
};
/* A run of 16-bit elements that is quantised, or two of a row: their dwords, the row in
 * the tile and the number of the first in the row, where their codes go. */
struct dist_run {
    kn_ref word[DIST_QUANT], row, run, at[2];
    uint32_t step, n;        /* n: its elements */
    uint8_t from;            /* bf16 or f16 */
};
/* f32 bits of the largest magnitude of a run and those of the lanes side by
 * side, so many in all; a NaN is the largest. */
kn_ref dist_largest(struct dist *d, const struct dist_run *r, uint32_t lanes);
/* Element x of a run as the bits of an f32. */
kn_ref dist_element(struct dist *d, const struct dist_run *r, uint32_t x);
/* distribute_quant.c: the E8M0 byte that the bits of a largest magnitude have
 * by a mode; four codes of x[0] under the scale x[1]; sat: what is beyond the
 * limit is the limit. */
kn_ref dist_scale_byte(struct dist *d, int elem, int mode, kn_ref bits);
kn_ref dist_mx_codes(struct dist *d, int elem, bool sat, const kn_ref x[2]);
/* put.quant of blocks of 32, in distribute_quant.c */
void dist_put_block(struct dist *d, const struct kn_ins *i,
                    const struct dist_run *r);
/* Steps from .. to - 1 of a fetched tile to LDS; scales: NULL, or of each run's
 * row, for K tile kk and others. */
struct dist_put {
    const struct dist_tile *t, *scales;
    uint32_t from, to, kk;
};
void dist_put_runs(struct dist *d, kn_ref slot, const struct dist_put *x);
/* An operation's share of a fetched tile and its scales, arg; it must have been fetched. */
kiln_status dist_share_fetched(struct dist *d, const struct kn_ins *i,
                               const kn_ref arg[2], struct dist_put *put);
/* Scale j of those in dwords w, as the bits of an f32. */
kn_ref dist_scale(struct dist *d, uint8_t from, const kn_ref *w, uint32_t j);
/* Of words: the zero point of column p of this lane's block in step s, as it is
 * subtracted from a code: an integer, or an f32. */
kn_ref dist_zero_word(struct dist *d, const struct dist_put *x, uint32_t s,
                      uint32_t p);
void dist_clip_runs(struct dist *d, kn_ref slot, kn_ref klen);
/* A fetched tile's dwords of this lane's run in step s; returns how many. */
uint32_t dist_fetched_dwords(struct dist *d, const struct dist_tile *t, uint32_t s, kn_ref *w);

/* f32 `p[first .. total)`, the operands 1 to 3 of i; n of them from index on. */
kn_ref dist_f32_vector(struct dist *d, const struct kn_ins *i);
/* The same, `up`: of the vector of as many behind that one. */
kn_ref dist_f32_half(struct dist *d, const struct kn_ins *i, bool up);
/* act= of acc.gate, an activation, of gate g and up u. */
kn_ref dist_gated(struct dist *d, int act, kn_ref g, kn_ref u);
/* What it does to v, gate and up, before sigmoid(slope * gate); returns the slope. */
double dist_limit_gated(struct dist *d, int act, kn_ref v[2]);
/* n f32 of a resource, from a byte or from an index on. */
kn_ref dist_load_at(struct dist *d, kn_ref r, kn_ref off, uint32_t n);
kn_ref dist_load_f32(struct dist *d, kn_ref r, kn_ref index, uint32_t n);
/* The lane's columns of r for each column block, all on their way before the
 * first is used. */
kn_ref *dist_load_columns(struct dist *d, const struct dist_epilogue *e,
                          kn_ref r);

/* ---- distribute_store.c ---- */
/* The output tile: resource, and columns left in its rows. */
struct dist_out {
    kn_ref r, pitch, ncols;
    uint32_t size, vec;
    uint8_t elem;
    bool sat;                /* of codes: beyond the limit is the limit */
    bool any;                /* vec=1: four columns at once at any byte */
    bool coh;                /* other workgroups will add to it */
    enum kn_op store;
    struct dist_dice *dice;  /* of `store`: what is stored is moved by */
};
/* Of an operation with the operands and attributes of `store`. */
struct dist_out dist_out(struct dist *d, const struct kn_ins *i);
/* The same of all rows that ids may name, r with the operation's pitch: a row's
 * offset is dist_row_offset's. */
struct dist_out dist_out_named(struct dist *d, const struct kn_ins *i, struct dist_rows *r);
/* Elements first .. first + n - 1 of an accumulator. */
kn_ref dist_elements(struct dist *d, kn_ref v, uint32_t first, uint32_t n);
/* `store` through the LDS tile it names (distribute_store_lds.c). */
kiln_status dist_store_runs(struct dist *d, const struct kn_ins *i, const struct dist_out *o);
/* The offset of at, a row's offset and a column, where `there` holds, else DIST_NEVER. */
kn_ref dist_out_where(struct dist *d, const struct dist_out *o, const kn_ref at[2], kn_ref there);

/* ---- distribute_load_c.c ---- */
/* Whether rows at any byte are stored and read four columns at once. */
bool dist_out_loose(const struct dist_out *o);
/* What is where an accumulator will be stored: the offsets, or the bytes on their way. */
struct dist_old { kn_ref part[4]; };
struct dist_old dist_out_places(struct dist *d, const struct dist_out *o, kn_ref row_off,
                                kn_ref col);
/* from: o->r, or the resource of another tensor of its shape. */
struct dist_old dist_out_load(struct dist *d, const struct dist_out *o, kn_ref from,
                              const struct dist_old *at);
/* Of rows at any byte, behind those loads: what the last four columns have, if not all. */
struct dist_rest {
    kn_ref from, row;        /* as loaded from; the row's offset */
    uint32_t y;              /* column block of the wave */
    struct dist_old *old;
};
void dist_out_rest(struct dist *d, const struct dist_out *o, const struct dist_epilogue *e,
                   const struct dist_rest *of);
/* The four of them as `elem`. */
kn_ref dist_out_old(struct dist *d, const struct dist_out *o, const struct dist_old *old,
                    uint8_t elem);

/* ---- distribute_codes.c: outputs of 8 bits, from f32 ---- */
/* A type whose values leave registers as codes. */
bool dist_is_code(uint8_t elem);
/* The codes of an f32x4, or of one f32, in the low bytes of a dword: nearest
 * even, a NaN stays one (of integers 0). */
kn_ref dist_codes(struct dist *d, uint8_t elem, bool sat, kn_ref v);
/* The same of an f32x4 within the limits, or a NaN. */
kn_ref dist_codes_within(struct dist *d, uint8_t elem, kn_ref v);
/* The largest value of a type. */
double dist_limit(const struct dist *d, uint8_t elem);
/* Stores o->vec codes. */
void dist_store_codes(struct dist *d, const struct dist_out *o, kn_ref off, kn_ref v);

/* ---- distribute_random.c ---- */
/* What the accumulators of a tile are moved by before they are rounded. */
struct dist_dice {
    uint8_t elem;
    bool rolls;              /* else by nothing */
    bool shared;             /* lanes exchange halves of what they compute */
    kn_ref row0, col, odd, one; /* of the tile */
    kn_ref beside;           /* 1 in odd rows of lanes */
    kn_ref row, by_seed;     /* of the row block whose turn it is */
    kn_ref word[4];
};
/* Of an operation with the tile in front, elem= and random=. */
kiln_status dist_dice(struct dist *d, const struct kn_ins *i, struct dist_dice *z);
/* Row block x from here on; its column block y, y in order: what is to be rounded to
 * nearest. */
void dist_dice_row(struct dist *d, struct dist_dice *z, uint32_t x);
/* The same of the rows `from` behind the tile's, and of the column that the lane's
 * first of four is. */
void dist_dice_at(struct dist *d, struct dist_dice *z, kn_ref from);
void dist_dice_column(struct dist *d, struct dist_dice *z, kn_ref col);
/* The same of rows that ids name. */
void dist_dice_named(struct dist *d, struct dist_dice *z, const struct dist_rows *r,
                     kn_ref id);
kn_ref dist_moved(struct dist *d, struct dist_dice *z, uint32_t y, kn_ref acc);
/* x[0] that has the scale x[1], a power of two up to 2^126: what dist_mx_codes is to
 * make codes of. */
void dist_move_scaled(struct dist *d, struct dist_dice *z, uint32_t y, kn_ref x[2]);

/* ---- distribute_scaled.c: codes under scales that are written ---- */
struct dist_scaled {
    const struct kn_ins *i;
    struct dist_epilogue e;
    uint32_t per;            /* a wave's accumulators of a scale along a row */
    uint32_t waves;          /* that share one */
    uint32_t size;           /* bytes of a scale */
    uint8_t elem, vec;
    kn_ref codes, scales;    /* resources of the tile's part */
    kn_ref pitch, spitch;    /* of their rows, bytes */
    const kn_ref *ids;       /* acc.named: of rows of one scale, else NULL */
    struct dist_rows rows;   /* of the codes that they name */
    struct dist_dice dice;
    kn_ref ncols, quad0;     /* columns that exist; is the lane one of q = 0 */
};
/* Each wave's largest of its rows, of n fragments of them, to its row of the LDS slot,
 * which has one a wave along N; then those of all of so many waves side by side. The four
 * lanes of a row have the same. */
void dist_meet_rows(struct dist *d, kn_ref slot, const kn_ref *most, uint32_t n, uint32_t waves);
/* Of an operation with the operands of store.quant; whole: its rows from the output's
 * first column on. */
struct dist_scaled dist_scaled(struct dist *d, const struct kn_ins *i,
                               const struct dist_tile *t, bool whole);
/* Bytes of the codes and of the scale of the lane's row: `from` behind its first, or
 * the one that id names, if not 0. What is rounded at random is of that row then. */
void dist_scaled_row(struct dist *d, struct dist_scaled *s, kn_ref from, kn_ref id,
                     kn_ref at[2]);
/* Columns beyond the output count for no scale, whatever the epilogue made of them. */
void dist_clear_beyond(struct dist *d, const struct dist_scaled *s,
                       const struct dist_tile *t);
/* What codes are multiplied by, or of MX divided by, and what is written. */
struct dist_made_scale {
    kn_ref by, written;
};
/* max(most, 1e-10) / limit; its inverse a hair less, so that no product of it is beyond the limit.
 * power: the least E8M0 that is as much, and its inverse. Of the four lanes of a row, too. */
struct dist_made_scale dist_scale_of(struct dist *d, uint8_t elem, bool power, kn_ref most);
struct dist_made_scale dist_plain_scale(struct dist *d, const struct dist_scaled *s,
                                        kn_ref most);
/* Codes of so many accumulators of a row, the first the wave's number y, times `by`: at[0]
 * bytes of their row, of columns at[1], at[1] + 16, ... on; where rows begin at any byte four
 * at once all the same, and singly what the output's end cuts. */
struct dist_sums {
    const kn_ref *acc;
    uint32_t y, many;
    kn_ref by;
};
void dist_put_codes(struct dist *d, struct dist_scaled *s, const struct dist_sums *x,
                    const kn_ref at[2]);
/* off if in, else beyond every record. */
kn_ref dist_only_if(struct dist *d, kn_ref in, kn_ref off);

/* ---- distribute_split.c ---- */
/* One lane of the wave counts, at byte `at` of r, up to `most` and then from zero
 * again: the old count. What this wave has stored is there before. */
kn_ref dist_count_at(struct dist *d, kn_ref r, kn_ref at, kn_ref most);
/* Whether the count there is `most` or more now, as memory has it. */
kn_ref dist_count_seen(struct dist *d, kn_ref r, kn_ref at, kn_ref most);

/* ---- distribute_meet.c ---- */
struct dist_counter {
    kn_ref r, at;            /* byte `at` of it */
    kn_ref most;             /* what it counts up to */
};

/* Looks at it until it is at its most, so many times: whether it was then, s.i32 1 or 0,
 * to `met`. */
void dist_look(struct dist *d, const struct dist_counter *c, kn_ref looks, kn_ref met);
/* Counts there: whether the others had all done so before, to `last` likewise. */
void dist_count_out(struct dist *d, const struct dist_counter *c, kn_ref last);

/* Random words of a row and of the eight columns that one is of; the seed is the third. */
void dist_words(struct dist *d, const kn_ref at[3], kn_ref v[4]);
/* Two words, whose bytes are the columns'. */
void dist_bytes(struct dist *d, const kn_ref at[3], kn_ref v[2]);

/* ---- distribute_fp4_codes.c ---- */
kn_ref dist_as(struct dist *d, uint8_t elem, uint32_t n, kn_ref v);
kn_ref dist_number(struct dist *d, int64_t v);
/* In a register, so that one instruction takes two such numbers. */
kn_ref dist_held(struct dist *d, int64_t v);
/* f32x2: a constant twice, and x * y + z. */
kn_ref dist_two(struct dist *d, double v);
kn_ref dist_fma_two(struct dist *d, kn_ref x, kn_ref y, kn_ref z);
/* Bits of x where the mask has ones, else of y. */
kn_ref dist_merged(struct dist *d, int64_t mask, kn_ref x, kn_ref y);
/* Pairs of 16-bit integers. */
kn_ref dist_pair_op(struct dist *d, enum kn_op op, kn_ref x, kn_ref y);

/* Magnitudes of four pairs of bf16 under a scale, as f16 whose smallest normal number
 * is 2^least of them; f16's own are reached by a product with 2^-below, before which what
 * is that far below it is not normal yet. */
struct dist_halves {
    kn_ref pairs;            /* v.i32x4 */
    kn_ref byte, amax;       /* of the scale; f32 bits of what it was made of */
    int least, below;
};
void dist_halves(struct dist *d, const struct dist_halves *x, kn_ref mag[4]);
/* Four codes of fp4 in bytes 1 and 3, from bits 9 to 11 of halves; signs are the pairs'. */
kn_ref dist_four_codes(struct dist *d, const kn_ref code[2], const kn_ref pair[2]);

/* One expand function per TILE or SHORT row of ops.def. */
#define KN_EXPAND_TILE(id) kiln_status expand_##id(struct dist *, const struct kn_ins *);
#define KN_EXPAND_WAVE(id)
#define KN_EXPAND_BOTH(id)
#define KN_EXPAND_SHORT(id) KN_EXPAND_TILE(id)
#define OP(id, text, level, ...) KN_EXPAND_##level(id)
#include "../ops.def"
#undef OP

#endif
