/* reference.h - what a kernel should have computed, from the same bytes.
 *
 * Written apart from the generator and the simulator: its own decoding of
 * every format, f64 accumulation in ascending k, of f64 in long double, so that
 * neither can hide the other's mistake. Any rectangle of the output can be had alone, with the same
 * values as part of the whole. Depends on ir/base.h only. */
#ifndef KN_REFERENCE_H
#define KN_REFERENCE_H

#include "../../ir/base.h"

/* Copies bytes [offset, offset+size) of a tensor; pure, from any thread. The
 * same type as kn_fill_fn of the simulator. */
typedef void (*kn_ref_fetch_fn)(void *user, uint64_t offset, void *dst,
                                size_t size);

/* A tensor in memory (data) or behind a callback (data NULL). Absent: both
 * NULL. */
struct kn_ref_tensor {
    kiln_type type;          /* of operands, and of scales of groups; others
                                have theirs by kind */
    const void *data;
    kn_ref_fetch_fn fetch;
    void *user;
    uint64_t offset;         /* bytes before element (0, 0) */
    int64_t ld;              /* elements from row to row, 0 = dense */
};

/* Operands that an expression may declare. */
enum { KN_REF_ARRAYS = 4, KN_REF_SCALARS = 4 };

/* D[m][n] = epilogue(alpha * sum_k (a * sa) * (b * sb)) + beta * cin.
 * Shapes and layouts of A, B, the scales and bias: kiln.h. Rows of 6- and
 * 4-bit types are packed along K (little-endian bit stream, low nibble first)
 * and padded to whole bytes; they exist in layout NT only. An absent scale
 * is 1, also when the other one is there. */
struct kn_ref_problem {
    kiln_target target;      /* fp8 and bf8: FNUZ on gfx942, else OCP */
    kiln_layout layout;
    kiln_scale scale;        /* kind of sa and sb */
    kiln_b_layout words;     /* AWQ, GPTQ, GPTQ2: of B and its zero points */
    bool powers;             /* 128-blocks: their scales are E8M0, else f32 */
    bool sb_each;            /* 128-blocks: sb is [N, K/128] like sa */
    bool sa_down, sb_down;   /* 128-blocks: sa is [K/128, M], sb, with sb_each,
                                [K/128, N]; groups: sb is [K/32 to 128, N] */
    bool quantise;           /* A becomes codes of B's type before it is
                                multiplied, 128 K of a row at a time: s = f32
                                max(|a|, 1e-10) * (1 / largest code), code =
                                a * (1 / s), both rounded to f32, then to
                                nearest even, i8 towards zero; A's value is
                                code * s. A group that holds a NaN or an
                                infinity is NaN. Not for layout TN */
    uint8_t quantise_mx;     /* 1 + mode: A becomes mxfp4, 32 K of a row at a
                                time, before it is multiplied. Mode: 0
                                floor(log2 amax) - 2 (OCP MX v1.0 6.3), 1
                                ceil(log2(amax / 6)), 2 the first after
                                rounding amax to one mantissa bit, half up, 3
                                ceil(log2 amax) - 2; at least -126. Elements
                                to nearest even, saturated at 6. A block that
                                holds a NaN or an infinity is NaN */
    kiln_math math;          /* of f32: BF16X3 makes NaN of what bf16 has no
                                number near, 2^128 - 2^119 and more */
    int64_t m, n, k;
    bool gated;              /* B has 2 n columns, n of gate and n of up: the
                                expression names both sums of a column, and
                                halves of the bias */
    struct kn_ref_tensor a, b, cin;
    struct kn_ref_tensor sa, sb, bias;
    struct kn_ref_tensor zb; /* groups: [K / 32 to 128, N], i4 or f16: less than
                                B's elements before they are scaled; of f16
                                what is left is rounded to f32, then to A's
                                type */
    struct kn_ref_tensor factor; /* NV16: f32, one for all of B */
    struct kn_ref_tensor array[KN_REF_ARRAYS]; /* that the expression declares:
                                f32 by row, f32 by column, or [m][n] */
    double scalar[KN_REF_SCALARS];
    kiln_epilogue epilogue;  /* BIAS reads `bias` */
    const char *expression;  /* of EXPRESSION (expression.c); beta * C comes
                                before it, unless it names c: that is beta *
                                C then, and no more is added */
    uint8_t aux;             /* of an expression that says what aux is: 1: that,
                                not what becomes of it, 2: what it is of up */
    double alpha;            /* as is: 0 means 0 */
    double beta;             /* cin is read when beta is not 0 */
    unsigned threads;        /* 0: as many as the machine has */
};

struct kn_ref_rect {
    int64_t m0, n0, rows, cols;
};

/* What is known of a rectangle, [rows][cols] each. */
struct kn_ref_sums {
    double *value;
    double *abssum;          /* |alpha| * sum_k |a sa b sb| + what the
                                epilogue adds to it + |beta * cin| */
    uint8_t *both;           /* NULL, or: 1 where the products above zero and
                                those below each sum to more than f32 holds,
                                so that an f32 accumulator may be NaN; scales
                                of a tensor or a row come after the sum */
    bool least;              /* abssum may be less than it is, which takes half
                                the time: the sum of |sum| over pieces of K */
};
/* BAD_INPUT: outside the problem, or types it cannot have. */
kiln_status kn_ref_tile(struct kn_ctx *c, const struct kn_ref_problem *p,
                        const struct kn_ref_rect *r,
                        const struct kn_ref_sums *out);

/* Of a problem whose sums are known, alpha in them: r's, of a gated one those of gate
 * and behind them those of up. The expression's values take the place of the first, as
 * kn_ref_tile has them, and both[] says of either. Reads no A, B and C. */
kiln_status kn_ref_apply(struct kn_ctx *c, const struct kn_ref_problem *p,
                         const struct kn_ref_rect *r,
                         const struct kn_ref_sums *sums);

/* cells.c: the same for an output that is wanted whole and in small parts: it
 * is computed in squares, each kept until all of it was taken. */
struct kn_ref_cells {
    const struct kn_ref_problem *p;
    int64_t group;           /* tells the problems of a launch apart */
    bool least;
    struct kn_ref_cell *first;
};
kiln_status kn_ref_take(struct kn_ctx *c, struct kn_ref_cells *all,
                        const struct kn_ref_rect *r,
                        const struct kn_ref_sums *out);
void kn_ref_cells_free(struct kn_ref_cells *all);

/* A rectangle of results to be judged. */
struct kn_ref_result {
    kiln_target target;
    kiln_type out;
    int64_t k;
    bool exact;              /* every bit as the correctly rounded value */
    const void *got;         /* element (0, 0) of the rectangle */
    int64_t ld;              /* elements, 0 = rect.cols */
    struct kn_ref_rect rect;
    const double *value, *abssum;
    const uint8_t *both;     /* kn_ref_sums, or NULL: nowhere */
    double scale;            /* > 0: the output is codes, an element is code *
                                scale (codes.c) */
    bool saturate;           /* codes: what is beyond the type is its limit */
    kiln_out_scale written;  /* ROW, BLOCK128, MX32: the kernel's own scales */
    bool powers;             /* of BLOCK128: powers of two, E8M0 */
    uint8_t mode;            /* of MX32: kiln_problem.requant */
    const void *scales;      /* those of the rectangle, f32 or E8M0, which
                                begins and ends where scales do */
    kiln_math math;
    kiln_type a;             /* of operands; F64: so are sums and epilogue */
    bool round;              /* at random (codes.c), by */
    uint64_t round_seed;
    int64_t row0;            /* and the output's row that is row 0 of the problem */
    const int64_t *rows;     /* or, not NULL, that of each row of the rectangle */
};

/* Sums over any number of rectangles; starts all-zero. */
struct kn_ref_check {
    uint64_t elements, bad;
    uint64_t overflowed;     /* NaN, and right by kn_ref_sums.both */
    double max_abs, max_rel, max_tile_rel;
    double got2, want2, dot, error2; /* sums of squares, got * want, and
                                        (got - want)^2 */
    int64_t bad_m, bad_n;    /* the first bad element */
    double bad_got, bad_want;
};

/* What a sum of k products may be off, over that of their magnitudes: of IEEE
 * products (k/8 + 16) * 2^-24. xf32 cuts operands to 11 significant bits, which is
 * 2^-9 of a product, and adds in groups of 4; of two bf16 each has, with an error
 * of 2^-17 of itself, the product of the small ones, 2^-16, is left out, and there
 * are three sums. Of operands of f64 2^-53 for 2^-24. */
double kn_ref_unit(kiln_type a, kiln_math math, int64_t k);
/* An element is bad iff |got - ref| > 1 ulp of the output type at ref +
 * kn_ref_unit * abssum, or NaN or Inf disagree (an Inf is right where
 * a value within the tolerance overflows, a NaN where both[] says so).
 * Integers must be equal. max_tile_rel = max over the rectangle's 16x16 tiles
 * of norm(got - ref) / norm(ref); no figure counts an element that is right and
 * not finite. */
void kn_ref_compare(const struct kn_ref_result *r, struct kn_ref_check *check);
/* The same where r->abssum may be less than it is, by `p`, of which r->rect is
 * a part: if that is not enough for every element, they are judged by sums made
 * now. */
kiln_status kn_ref_judge(struct kn_ctx *c, const struct kn_ref_problem *p,
                         const struct kn_ref_result *r,
                         struct kn_ref_check *check);
/* Whether such sums serve: they only widen what is right. */
bool kn_ref_least_serves(const struct kn_ref_problem *p,
                         const struct kn_ref_result *r);
/* An element that is judged. */
struct kn_ref_want {
    double value, abssum;
    double random;           /* kn_ref_result.round: what kn_ref_random gives */
};
/* Whether the code of an output with a scale is right: `want`, moved by what the
 * sum and the division by the scale may be off, rounds to it. Under a scale that
 * is infinite what is finite is 0. */
bool kn_ref_code_right(const struct kn_ref_result *r, uint32_t code,
                       const struct kn_ref_want *want);
/* scaled.c: columns of a written scale of n in all; the scale of element (i, j)
 * of the rectangle; whether it is one that the exact values, moved so, have. */
int64_t kn_ref_scale_columns(const struct kn_ref_result *r, int64_t n);
double kn_ref_scale_at(const struct kn_ref_result *r, int64_t i, int64_t j);
bool kn_ref_scale_right(const struct kn_ref_result *r, int64_t i, int64_t j);
/* beside.c: a rectangle of a second output, of type `out`: what aux is where p's
 * expression says it, else `first`, the same rectangle of the output before its
 * scale and rounding. got, ld: as in kn_ref_result. */
struct kn_ref_second {
    kiln_type out;
    const void *got;
    int64_t ld;
    bool up;                 /* the half of up, of what aux is of gate and of up */
};
kiln_status kn_ref_second_judge(struct kn_ctx *c, const struct kn_ref_problem *p,
                                const struct kn_ref_result *first,
                                const struct kn_ref_second *second,
                                struct kn_ref_check *check);

/* beside.c: between what magnitudes, each moved by what its sum may be off, the
 * largest of rectangles of f32 or f64 values lies; exact sums have no error. Starts
 * all-zero. A NaN is the largest of all, and without a sign. */
struct kn_ref_amax {
    double low, high;
    bool nan;                /* a value is one */
    bool open;               /* a sum may be one (kn_ref_sums.both) */
    bool wide;               /* the values are f64 */
};
void kn_ref_amax_add(struct kn_ref_amax *m, const struct kn_ref_result *r);
bool kn_ref_amax_right(const struct kn_ref_amax *m, double got);
/* One element for the errors and the sums, judged elsewhere. */
void kn_ref_note(struct kn_ref_check *check, double got, double want);
/* 10 log10(sum want^2 / sum (got - want)^2): infinite without an error, NaN
 * where an element is wrong and no number. */
double kn_ref_snr(const struct kn_ref_check *check);
/* sum got * want / sqrt(sum got^2 * sum want^2); 1 where both are zero. */
double kn_ref_cosine(const struct kn_ref_check *check);

/* formats.c: one element each, and a run of them. Codes are in the low bits. */
double kn_ref_decode(kiln_type t, kiln_target target, uint64_t code);
/* Nearest even; overflow to Inf or, where there is none, NaN; 6- and 4-bit
 * types saturate, integers saturate. */
uint64_t kn_ref_encode(kiln_type t, kiln_target target, double x);
unsigned kn_ref_type_bits(kiln_type t);
/* Distance of neighbouring values at |x|. */
double kn_ref_ulp(kiln_type t, kiln_target target, double x);
/* Fields of a float type. */
struct kn_ref_fields {
    int ebits, mbits, bias;
};
struct kn_ref_fields kn_ref_fields(kiln_type t, kiln_target target);
/* Largest finite value of a float type. */
double kn_ref_max(kiln_type t, kiln_target target);
/* codes.c: what an element is moved by before it is rounded at random, in
 * steps of its type, -1/2 to 1/2; and the value that x becomes. */
double kn_ref_random(uint64_t seed, int64_t row, int64_t col);
double kn_ref_at_random(kiln_type t, kiln_target target, double random, double x);
/* The same of quant: where between two codes the upper one begins, from 0 to 1. */
double kn_ref_draw(uint64_t seed, int64_t row, int64_t col);
double kn_ref_drawn(kiln_type t, kiln_target target, double draw, double x);
/* n elements from element `first` of a packed little-endian run. */
struct kn_ref_codec {
    kiln_type type;
    unsigned bits;
    double table[256];       /* types of at most 8 bits */
};
void kn_ref_codec_init(struct kn_ref_codec *c, kiln_type t,
                       kiln_target target);
void kn_ref_decode_run(const struct kn_ref_codec *c, const uint8_t *run,
                       unsigned first, size_t n, double *out);

/* data.c: operand data as a pure function of (seed, operand, index). */
enum kn_data_mode {
    KN_DATA_RANDOM,          /* about normal, sd 1; 6 and 4 bits: any code */
    KN_DATA_EXACT,           /* -2..2 and power-of-two scales */
    KN_DATA_BITS,            /* any code except NaN and Inf */
    KN_DATA_SPECIAL          /* any code */
};

/* A tensor [batches][rows][cols], cols contiguous. */
struct kn_data {
    uint64_t seed;
    uint32_t operand;        /* tells the tensors of a problem apart */
    enum kn_data_mode mode;
    kiln_type type;          /* of the elements */
    kiln_target target;
    bool scale;              /* a scale: floats in 0.5..4, E8M0 around 1 */
    int64_t batches, rows, cols;
    uint64_t row_bytes, batch_bytes;
};
/* Fills in row_bytes and batch_bytes from strides in elements, 0 = dense.
 * A scale of type MXFP8 or any MX type is E8M0 bytes, of NVFP4 OCP E4M3 bytes. */
void kn_data_shape(struct kn_data *d, int64_t ld, int64_t batch_stride);
/* Bytes of the whole tensor. */
uint64_t kn_data_bytes(const struct kn_data *d);
/* kn_fill_fn with user = struct kn_data: bytes between rows are 0xff, unused
 * bits at the end of a packed row are zero. */
void kn_data_fill(void *user, uint64_t offset, void *dst, size_t size);
/* Code of one element; index = (batch * rows + row) * cols + col. */
uint64_t kn_data_code(const struct kn_data *d, uint64_t index);

#endif
