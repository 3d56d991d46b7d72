/* widen.h - elements on their way to what matrix instructions take: of 4, 6 and 8 bits, of
 * f32 as two bf16, and e2m1 with its scales. */
#ifndef KN_WIDEN_H
#define KN_WIDEN_H

#include "distribute.h"

/* ---- distribute_widen.c ---- */
struct dist_words {
    const kn_ref *w;
    uint32_t n;
    bool parted;             /* i4: two a dword, bytes of its even and its odd codes */
    bool one_row;            /* all are K of one row; none is cut, or its NaNs are marked last */
    bool cut;                /* what lies behind K is cut off in LDS (dist_clip_runs) */
    bool single;             /* of 4 bits: without packed f32, beside matrix instructions */
};
/* What a run is multiplied by, an f32, or 0: a power of two, or of E4M3; of i4
 * what is subtracted: an integer with 8 added, or an f32. */
struct dist_factor {
    kn_ref v;
    bool e4m3;
};
/* What an e4m3 byte is multiplied by, and what is added. */
struct dist_affine {
    kn_ref up, base;         /* f32x2 or a constant */
    bool single;
};
/* Bytes first and first + 1 of a dword; eight bytes, of which even and odd ones become f32
 * apart, and bf16 together. */
kn_ref dist_affine_pair(struct dist *d, kn_ref x, uint32_t first, struct dist_affine l);
void dist_affine_bf16(struct dist *d, const kn_ref part[2], struct dist_affine l, kn_ref out[4]);
/* Eight numbers of 4 bits to two dwords of one a byte: the even ones and the odd. */
void dist_part_nibbles(struct dist *d, kn_ref x, kn_ref out[2]);
/* Dwords of type mem to dwords of type elem; returns how many. Not for scales. */
uint32_t dist_convert(struct dist *d, const struct kn_lds *l,
                      struct dist_words in, struct dist_factor by, kn_ref *out);
/* Dwords of four bytes each, of the even and of the odd of eight, to those of the first and
 * of the last four. */
void dist_order_bytes(struct dist *d, const kn_ref part[2], kn_ref out[2]);
/* Byte b of a dword of OCP e4m3, on any target, as f32; all four. */
kn_ref dist_e4m3(struct dist *d, kn_ref x, uint32_t b);
void dist_four_e4m3(struct dist *d, kn_ref x, kn_ref out[4]);

/* ---- distribute_integers.c: dist_convert of 4-bit integers ---- */
uint32_t dist_widen_integers(struct dist *d, const struct kn_lds *l, struct dist_words in,
                             kn_ref zero, kn_ref *out);

/* ---- distribute_fp4_codes.c ---- */
/* kn_column_flip of this thread's block in a step, or 0 where there is none; the number of a
 * block's column that it writes in the place of the p-th. */
kn_ref dist_column_flip(struct dist *d, const struct kn_lds *l, uint32_t step);
kn_ref dist_column(struct dist *d, const struct kn_lds *l, kn_ref outer, uint32_t p);
/* Of eight dwords of eight codes each, K by K, the eight K of each place: two dwords of even and
 * of odd ones, a byte each, or a word of codes in order; flip: of which column that is
 * (dist_column_flip). */
void dist_turn_codes(struct dist *d, kn_ref flip, const kn_ref *row, kn_ref *out);
void dist_turn_words(struct dist *d, kn_ref flip, const kn_ref *row, kn_ref *out);

/* ---- distribute_bf16x3.c ---- */
/* The two bf16 of fragment n of a tile of f32; of four f32 along K, also the register that
 * they are all in, or 0, two dwords of their hi and two of their lo; and the 8 bytes of a
 * row where LDS has those of a chunk. */
const struct dist_terms *dist_terms(struct dist *d, kn_ref tile, uint32_t n);
void dist_split_run(struct dist *d, const kn_ref w[4], kn_ref four, kn_ref out[4]);
kn_ref dist_term_place(struct dist *d, kn_ref chunk, uint32_t lo);

/* ---- distribute_folded_scales.c ---- */
/* Magnitudes of fp4 times 2^up as FNUZ, of which dist_part_fp4 makes the even and the odd of
 * eight codes. */
void dist_fp4_values(struct dist *d, uint32_t up, kn_ref out[2]);
void dist_part_fp4(struct dist *d, kn_ref x, const kn_ref table[2], kn_ref part[2]);
/* convert of a tile that is folded, whose shares are of runs or of eight codes of one. */
kiln_status dist_fold(struct dist *d, const struct kn_ins *i, const struct dist_put *x);

#endif
