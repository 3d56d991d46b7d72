/* instantiate.h - what the generator's parts know of a problem and a
 * configuration. */
#ifndef KN_INSTANTIATE_H
#define KN_INSTANTIATE_H

#include "gen.h"

/* Row of mfma.def for the problem's types on its target, -1: none. */
int kn_pick_mfma(const kiln_problem *p);

/* Bytes of a row of the LDS through which store=lds passes the output. */
uint32_t kn_store_row(const kiln_problem *p, const struct kn_config *g);

/* Whether an MX operand is converted on its way to LDS, and its scales applied
 * to the product of every 32 K by the kernel itself. */
bool kn_dequant(const kiln_problem *p);

/* An operand's type in the IR, as such and in memory; a 16-bit A times an MX B:
 * only B has scales. */
enum kn_elem kn_payload(kiln_type t);
enum kn_elem kn_stored(const kiln_problem *p, kiln_type t);
bool kn_weight_only(const kiln_problem *p);

/* The shape of the problem's tile, types as multiplied. */
struct kn_shape kn_shape_of(const kiln_problem *p, const struct kn_config *g);

/* Whether operands go to LDS directly (staging.c says when). */
bool kn_unaligned(const kiln_problem *p, const struct kn_config *g, int side);
bool kn_unaligned_scales(const kiln_problem *p, const struct kn_config *g);
bool kn_direct(const kiln_problem *p, const struct kn_config *g);

/* File of a configuration's main loop, "" without one. */
const char *kn_loop_file(const kiln_problem *p, const struct kn_config *g);

/* Whether the halves of the waves share one slot
 * (templates/loop_8wave_packed.tir). */
bool kn_folds(const struct kn_config *g);

/* K tiles of 256 with one slot: what 6-bit types want, whose rows of 128 K take
 * half as many cache lines again as their bytes. */
bool kn_fold_lines(const kiln_problem *p, const struct kn_config *g);

/* Whether the schedule deep reads shuffled scales as they lie: a dword has a
 * lane's bytes of two fragments and two K steps. */
bool kn_pairs(const kiln_problem *p, const struct kn_config *g);

/* The schedule `deep` of 6-bit types copies whole cache lines of their rows
 * (templates/loop_4wave_packed.tir). Needs stages and domain. */
bool kn_lines(const kiln_problem *p, const struct kn_config *g);

/* K tiles whose E8M0 scales come in one 16-byte copy a row; 0: each tile's
 * come with it. Needs stages and domain. */
uint32_t kn_super(const kiln_problem *p, const struct kn_config *g);

/* K whose scales come together: 16 bytes of a row, or 32 for half as many
 * cache lines, where a turn copies one operand's. */
uint32_t kn_super_k(const struct kn_config *g);

/* Sets of B's fragments: with two, the next K step's are read while this
 * one's are used; where registers do not suffice, one. */
uint32_t kn_b_sets(const kiln_problem *p, const struct kn_config *g);

/* Shares of A's fragments that one K step is
 * multiplied in: interleave and pingpong. */
uint32_t kn_shares(const struct kn_config *g, const struct kn_frag *a);

#endif
