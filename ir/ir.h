/* ir.h - the tile IR: values, LDS tiles, operations of one kernel.
 *
 * Values are registers updated in place, not SSA names: a GEMM loop is
 * accumulators, LDS slots and counters. Control flow is structured and
 * uniform. Everything is an index into an arena array; ops.def says what an
 * operation is, and every stage prints to text that parses back to itself. */
#ifndef KN_IR_H
#define KN_IR_H

#include "base.h"

enum kn_elem {
    KN_T_NONE,
#define T(id, text, bits, kind, mx) KN_T_##id,
#include "types.def"
#undef T
    KN_NELEM
};

enum kn_op {
    KN_OP_NONE,
#define OP(id, ...) KN_OP_##id,
#include "ops.def"
#undef OP
    KN_NOP
};

enum kn_attr {
#define A(id, text, def, kind) KN_A_##id,
#include "attrs.def"
#undef A
    KN_NATTR
};

enum kn_mfma {
#define MFMA(id, ...) KN_MFMA_##id,
#include "mfma.def"
#undef MFMA
    KN_NMFMA
};

enum kn_level { KN_TILE = 1, KN_WAVE = 2, KN_BOTH = 3, KN_SHORT = KN_WAVE };
enum kn_kind { KN_ALU, KN_MEM, KN_SYNC, KN_CTL };
enum kn_attr_kind { KN_INT, KN_TYPE, KN_MFMA };

struct kn_elem_info {
    const char *text;
    uint8_t bits, kind;      /* KN_E_* */
    int8_t mx;
};
enum { KN_E_INT, KN_E_FLOAT, KN_E_FMT, KN_E_REF };
extern const struct kn_elem_info kn_elems[KN_NELEM];
int kn_find_elem(const char *text); /* 0: none */

enum { KN_MAXARG = 8 };
struct kn_op_info {
    const char *text, *args, *attrs;
    uint8_t level, kind;
    char dst;
    uint8_t nargs, nopt;     /* operands in all, and how many may be absent */
};
/* Facts of an operation, from ops.def; the counts are derived. */
struct kn_op_info kn_op_info(enum kn_op op);
enum kn_kind kn_op_kind(enum kn_op op);
bool kn_op_takes(enum kn_op op, enum kn_attr attr);

struct kn_attr_info {
    const char *text;
    int32_t def;
    uint8_t kind;
};
extern const struct kn_attr_info kn_attrs[KN_NATTR];

struct kn_mfma_info {
    const char *text, *intrinsic;
    uint8_t mi, k, regs_ab, regs_c;
    uint8_t a, b, acc;       /* a == b1: any type with an mx code */
    uint8_t cycles;
    uint8_t targets;         /* 1 << target of each that has it */
};
extern const struct kn_mfma_info kn_mfmas[KN_NMFMA];
int kn_find_mfma(const char *text); /* -1: none */
/* Whether elements of an operand's type a and the other's b are multiplied by it:
 * b1 is any type with an mx code, f32 goes in as xf32 or by bf16 twos. */
bool kn_mfma_takes(const struct kn_mfma_info *m, int a, int b);

/* Register type: `v.f32x4` is 4 floats per lane, `s.i32` is uniform. */
struct kn_type {
    uint8_t elem, n;
    uint8_t lane;            /* 1: per lane (VGPR), 0: uniform (SGPR) */
};

struct kn_val {
    const char *name;        /* without % */
    struct kn_type type;
    bool arg;                /* kernel argument */
    int64_t max;             /* of an integer argument: 0 .. max; 0: any */
    struct kn_loc at;
};

/* Operand: tagged index. 0 is "absent". */
typedef uint32_t kn_ref;
enum { KN_R_VAL = 0, KN_R_CONST = 1, KN_R_LDS = 2 };
#define KN_REF(tag, i) ((kn_ref)(tag) << 30 | (kn_ref)(i))
#define KN_REF_TAG(r) ((r) >> 30)
#define KN_REF_INDEX(r) ((r) & 0x3fffffffu)
#define KN_REF_SLOT(r) ((r) & 0xffu)         /* of an LDS operand */
#define KN_REF_LDS(r) (KN_REF_INDEX(r) >> 8)
enum { KN_ALL_SLOTS = 0xff };

struct kn_const {
    int64_t i;
    double f;
    bool is_float;
};

struct kn_ins {
    uint16_t op;
    kn_ref dst;              /* value or 0 */
    kn_ref arg[KN_MAXARG];
    int32_t attr[KN_NATTR];
    struct kn_loc at;
};

/* Dwords of eight codes 0 to 15 of a K-outer operand, lowest bits first: of GPTQ
 * eight K of a column; of AWQ columns 0 2 4 6 1 3 5 7 of one K. Dwords of zero
 * points are of eight columns, of GPTQ in order and less 1, of GPTQ2 in order; those
 * that are f16 lie in order, and no 1 is added. */
enum kn_word_order { KN_WORDS_NONE, KN_WORDS_GPTQ, KN_WORDS_AWQ, KN_WORDS_GPTQ2 };

/* An LDS tile and where its contents come from. Outer is M for A, N for B.
 * The tile covers `rows` outer indices and `cols` K elements of `elem`. */
struct kn_lds {
    const char *name;
    struct kn_loc at;
    uint8_t side;            /* 'a' or 'b' */
    uint8_t elem, mem;       /* type in LDS; in memory if another, else 0 */
    uint32_t rows, cols, slots;
    uint8_t gk, lk;          /* K contiguous in global memory / in LDS */
    uint32_t unit;           /* bytes per global load: 16, 4, 2, 1 */
    uint32_t shift;          /* global outer index = outer index >> shift */
    uint32_t kdiv;           /* K elements of the operand per element here */
    uint32_t panel;          /* memory: 16 rows' 16-byte chunks in turn */
    uint32_t words;          /* memory: enum kn_word_order */
    uint32_t unaligned;      /* rows begin at any byte of memory; 2: and whole lines
                              * are loaded, 3: the same of rows at dwords, 4: at 16
                              * bytes */
    uint32_t run;            /* elements converted at a time; 0: 16; of scales
                              * kept in registers, of those elements' rows, and
                              * of zero points */
    uint32_t shuf;           /* memory and LDS: shuffled scales, 32 rows x 8 */
    uint32_t share;          /* slot s: share s of the rows of each wave; or 0 */
    uint32_t line;           /* a slot is a cache line of every row: slots take
                              * them in turn, those of share s 2s and 2s + 1 */
    uint32_t lag;            /* rows that begin inside a cache line are copied
                              * by lines: what of a K tile lies behind its
                              * first line comes with the next one */
    /* chunk ^= ((row >> swz_s) & ((1 << swz_n) - 1)) << swz_t */
    uint32_t swz_s, swz_n, swz_t;
    uint32_t flip;           /* the 8-byte halves of a chunk change places in rows
                              * that have this bit; 0: in none */
};

/* Slots that a tile's K tiles or lines take in turn: of shares each has two. */
static inline uint32_t
kn_ring(const struct kn_lds *l)
{
    return (l->line || l->lag) && l->share ? 2 : l->slots;
}

/* Bits of a slot's number that are not its share's. */
static inline uint32_t
kn_share_bits(const struct kn_lds *l)
{
    return (l->line || l->lag) && l->share;
}

static inline uint32_t
kn_share_of(const struct kn_lds *l, uint32_t slot)
{
    return l->share ? slot >> kn_share_bits(l) : 0;
}

/* A type that is staged as another (convert.def). */
struct kn_convert {
    uint8_t from, to;
    int8_t up;               /* staged as v * 2^-up */
};
extern const struct kn_convert kn_converts[];
extern const size_t kn_nconverts;

/* Values of act= of acc.gate: activations, then gate or up alone. */
enum { KN_GATED = 4, KN_GATE_ALONE = KN_GATED, KN_UP_ALONE, KN_GATES };


struct kn_shape {            /* the tile and its distribution over waves */
    uint32_t bm, bn, bk, wm, wn;
    int32_t mfma;            /* row of mfma.def */
    uint32_t block;          /* K elements that share a scale which no matrix
                              * instruction applies; 0: none */
    uint32_t simd;           /* waves of a SIMD that registers leave room for; 0: 2 */
    uint8_t ta, tb;          /* payload types */
};

struct kn_fn {
    struct kn_ctx *c;
    const char *name;
    struct kn_loc at;
    enum kn_level level;
    kiln_target target;
    struct kn_shape shape;
    const char *expr;        /* of acc.apply (formula.h), or NULL */
    size_t nval, capval;     /* val[0] is unused */
    struct kn_val *val;
    size_t nconst, capconst;
    struct kn_const *konst;
    size_t nlds, caplds;
    struct kn_lds *lds;
    size_t nins, capins;
    struct kn_ins *ins;
};

/* One source line with the place it is reported as. */
struct kn_line {
    const char *text;
    struct kn_loc at;
};

/* ---- build.c: append to a function ---- */
struct kn_fn *kn_fn_new(struct kn_ctx *c);
kn_ref kn_new_val(struct kn_fn *f, const char *name, struct kn_type t);
kn_ref kn_int(struct kn_fn *f, int64_t v);
kn_ref kn_flt(struct kn_fn *f, double v);
struct kn_ins *kn_add(struct kn_fn *f, enum kn_op op, struct kn_loc at);
int kn_find_lds(const struct kn_fn *f, const char *name);
struct kn_ins *kn_default_attrs(struct kn_ins *i);
static inline struct kn_val *
kn_val(const struct kn_fn *f, kn_ref r)
{
    return &f->val[KN_REF_INDEX(r)];
}

/* ---- geometry.c: sizes derived from an LDS tile ---- */
enum { KN_LINE = 128 };      /* bytes of a cache line */

struct kn_geom {
    uint32_t lrows, pitch;   /* LDS rows and bytes per row */
    uint32_t chunk;          /* bytes one lane moves: 16, or a short row */
    uint32_t cpr;            /* chunks per LDS row */
    uint32_t nchunks;
    uint32_t steps;          /* chunks per thread and slot, rounded up */
    uint32_t bytes;          /* one slot, whole steps */
    bool transpose;          /* K-outer in memory, K-inner in LDS */
    uint32_t kb, pb;         /* transpose block: kb rows of K, pb outers */
    uint32_t run;            /* converted: K elements a lane moves at a time */
    uint32_t mem;            /* bytes of a lane's chunk (or run, or row of a
                                transpose block) in memory */
    uint32_t kn, pn;         /* transpose blocks of neighbouring lanes: kn along
                                K for every pn outers; kn 1: all outers first */
    bool own;                /* unaligned: a lane loads all dwords its bytes are
                              * in, none is had from the lane before */
    uint32_t per;            /* converted: runs of a row */
    bool halves;             /* two steps have runs of one row, one in each half of it */
    uint32_t abreast;        /* K-outer rows at any byte: how many a wave loads at a
                              * time, each with a lane more than it has chunks, for
                              * the dword behind it; 0: chunks go to lanes in turn */
};
/* Bits of an element of the tile in memory. */
uint32_t kn_memory_bits(const struct kn_lds *l);
/* Zero points, K-outer in memory: each run of an operand has one, which goes to
 * the registers of the lane that converts it. */
/* Scales in rows of one for each column, which put converts. */
bool kn_is_scale_rows(const struct kn_lds *l);
/* Fetched rows become another type run by run on their way to LDS. */
bool kn_converts_runs(const struct kn_lds *l);
/* They are written by halves of 16 bytes, each of which may lie in the other's place. */
bool kn_may_flip(const struct kn_fn *f, const struct kn_lds *l);
/* 16 bits in memory, at most 8 in LDS: each row has scales. */
bool kn_quantised(const struct kn_lds *l);
/* Runs of 4 or 6 bits become FNUZ e4m3 that has their scales, as far as it can: blocks of
 * KN_FOLD elements, a run each, of 6 bits two (distribute/distribute_folded_scales.c). */
enum { KN_FOLD = 32 };
bool kn_folds(const struct kn_lds *l);
bool kn_is_zeros(const struct kn_lds *l);
/* Scales of bytes that codes are multiplied by behind their reads, of so many K steps at once. */
enum { KN_SCALED_STEPS = 4 };
bool kn_scales_codes(const struct kn_fn *f, const struct kn_lds *l);
struct kn_geom kn_geometry(const struct kn_fn *f, const struct kn_lds *l);
/* Lanes side by side that have a row of the tile. */
uint32_t kn_pieces_of_row(const struct kn_geom *g);
/* Which row of the tile run `id` is of, and which of it: in the order of their numbers, but
 * where a lane writes runs of several pieces of 16 bytes to LDS. Eight lanes write at a time,
 * so few of them are side by side along K and the others in rows that the swizzle keeps
 * apart: the lowest `along` bits of a number are the run's, the next `rows` are bits of the
 * row from `from` on; rows 0: in order. */
struct kn_lane_order {
    uint32_t per, along, rows, from; /* per: runs of a row */
};
struct kn_lane_order kn_run_order(const struct kn_fn *f, const struct kn_lds *l);
void kn_run_place(const struct kn_lane_order *o, uint32_t id, uint32_t *row, uint32_t *run);
/* abreast: rows of a step. */
uint32_t kn_abreast_rows(const struct kn_fn *f, const struct kn_geom *g);
/* Which of the transpose blocks along K and along the outers is number `id`. */
void kn_block_place(const struct kn_lds *l, const struct kn_geom *g,
                    uint32_t id, uint32_t *k, uint32_t *outer);
uint32_t kn_waves(const struct kn_fn *f);
/* Whether the kernel asks for its workgroup's number along y (1) or z (2). */
bool kn_counts_along(const struct kn_fn *f, int32_t axis);
uint64_t kn_lds_bytes(const struct kn_fn *f);
/* Waves a SIMD that a kernel's registers are planned for. */
uint32_t kn_waves_per_simd(const struct kn_fn *f);
/* Registers of an element of a sum. */
uint32_t kn_sum_dwords(const struct kn_fn *f);
/* Row of a fragment that lane % 16 has: of f64's B in an order (distribute_mma.c). */
uint32_t kn_fragment_row(const struct kn_fn *f, int side, uint32_t lane);

/* Fragments of one wave along an operand, and their bytes per lane. */
struct kn_frag {
    uint32_t count;          /* fragments per wave along the operand */
    uint32_t k;              /* K elements one fragment spans */
    uint32_t bytes;          /* per lane */
    uint32_t sub;            /* MFMAs per fragment */
    uint32_t ksteps;         /* fragments along the staged K */
};
/* Of words: K in a row of memory, bits of a column there; the place of a column
 * among the eight of a dword. */
uint32_t kn_row_k(const struct kn_lds *l);
uint32_t kn_column_bits(const struct kn_lds *l);
uint32_t kn_awq_place(uint32_t column);
/* Where words of columns (AWQ) stay codes, 1 and 4 of a column's number in block `outer` are
 * flipped by lane, so that lanes write other banks of LDS at a time; not beside 80 sums a lane
 * and more, which leave no registers for four selectors. */
bool kn_flips_columns(const struct kn_fn *f, const struct kn_lds *l);
uint32_t kn_column_flip(uint32_t outer);
struct kn_frag kn_fragment(const struct kn_fn *f, int side);
/* Blocks of a slice, of so many slices of rows x across: whole rows of them or an even part of
 * one, up to a third more than the most that equal shares have; 0: there is none of few enough. */
uint32_t kn_even_slice(uint32_t rows, uint32_t across, uint32_t slices);
/* Each f32 is multiplied as the sum of two bf16. */
bool kn_splits(const struct kn_fn *f);
/* LDS has them so already; bytes that a lane writes there at once of what it has of a
 * row: of such terms 8, else 16. */
bool kn_in_terms(const struct kn_lds *l);
uint32_t kn_term_bytes(const struct kn_lds *l);

/* ---- text ---- */
void kn_print(const struct kn_fn *f, struct kn_buf *out);
kiln_status kn_parse(struct kn_ctx *c, const struct kn_line *lines, size_t n,
                     struct kn_fn **out);
kiln_status kn_parse_text(struct kn_ctx *c, const char *file, const char *text,
                          struct kn_fn **out);

/* ---- checks and passes ---- */
kiln_status kn_verify(const struct kn_fn *f);
/* Fence proof of a verified wave-level kernel; FINDING if it fails. */
kiln_status kn_prove(const struct kn_fn *f);

/* What the shape-domain proof was about: offsets and record counts shown to
 * hold over the declared ranges, and clamps that bound what may wrap. */
struct kn_range_facts {
    bool declared;           /* some argument has a range */
    uint32_t offsets, records, guards;
};
/* The shape-domain proof alone (part of kn_prove). */
kiln_status kn_prove_ranges(const struct kn_fn *f, struct kn_range_facts *out);

/* A launch of a kernel, as far as the order of its sums depends on it. Each
 * answers whether it knows. */
struct kn_sums_launch {
    void *user;
    bool (*argument)(void *user, const char *name, int64_t *out);
    /* `bytes` of the array that argument `name` points to, from byte `at` on;
     * NULL: of none */
    bool (*load)(void *user, const char *name, int64_t at, uint32_t bytes,
                 int64_t *out);
    uint32_t wg, wg_y, wave; /* which wave it is */
    uint64_t most;           /* sums that are followed, 0: all of them */
    bool staggered;          /* a sum may begin inside K and come round */
    bool apart;              /* a row's blocks have scales too far apart to be folded */
};
struct kn_sums_facts {
    uint64_t sums;           /* output tiles, or parts of them, in all */
    int64_t k;               /* length of the longest sum */
    int64_t step;            /* K elements a fragment has */
    int64_t scaled;          /* added as products of so much K, each times its
                              * scale; 0: one sum */
    uint32_t sub;            /* matrix instructions a fragment takes */
    int32_t mfma;            /* row of mfma.def */
    bool rotated;            /* a sum began inside K */
};
/* That every sum of a verified kernel of tiles takes each K once, in ascending
 * steps of matrix instructions (of a staggered launch from any K tile on, behind
 * the last of K from its first), A's and B's the same, with their scales: FINDING
 * where not, UNSUPPORTED where the way depends on what the launch does not say,
 * or no matrix instruction adds. Looks at that one wave. */
kiln_status kn_prove_sums(const struct kn_fn *f,
                           const struct kn_sums_launch *l,
                           struct kn_sums_facts *out);

/* A pass replaces *f. `dump`, if set, is called after each with its letter. */
typedef void (*kn_dump_fn)(void *user, char letter, const struct kn_fn *f);
kiln_status kn_run_passes(struct kn_fn **f, kn_dump_fn dump, void *user);
kiln_status kn_pass_swizzle(struct kn_fn **f);
kiln_status kn_pass_distribute(struct kn_fn **f);
kiln_status kn_pass_short(struct kn_fn **f);
kiln_status kn_pass_fence(struct kn_fn **f);

/* Number of extra LDS cycles' worth of bank conflicts one fragment read of
 * this tile costs with its swizzle (0: conflict-free). */
uint32_t kn_conflicts(const struct kn_fn *f, const struct kn_lds *l);

/* swizzle.c - how a wave reads one fragment of an LDS tile: the parts of a
 * fragment, and where each lane's part lies. Shared by the distribution (which
 * emits the address arithmetic) and the bank model (which evaluates it).
 *
 * Lane l holds outer index l % 16 and the K range of quarter q = l / 16
 * (CDNA3 ISA 7.1, CDNA4 ISA 7.1; docs/hardware.md). Byte positions:
 *   K-contiguous tile   row = outer,  column = kk*kstep + part + q*qstep
 *   K-outer tile        row = K,      column = outer (transposing read) */

struct kn_readplan {
    uint32_t parts;          /* reads per fragment */
    uint32_t bytes;          /* bytes per lane and read */
    uint32_t tr;             /* element bits of a transposing read, 0: plain */
    uint32_t kstep;          /* columns (bytes) or rows (K) per fragment */
    uint32_t qstep;          /* the same per quarter */
    uint32_t pstep[4];       /* the same per part */
};

struct kn_readplan kn_readplan(const struct kn_fn *f, const struct kn_lds *l);

/* store.panel: turns in which a wave of so many blocks of 16 rows counts itself. */
uint32_t kn_panel_turns(uint32_t slabs);

#endif
