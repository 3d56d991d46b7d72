/* resources.h - what a tile of a configuration takes of a compute unit. */
#ifndef KN_ROOM_H
#define KN_ROOM_H

#include "gen.h"

/* The shape as the geometry functions of ir/ take it. */
struct kn_fn kn_tile_fn(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *g);

/* K of one matrix instruction, of a tile with this K. */
uint32_t kn_step_k(struct kn_ctx *c, const kiln_problem *p, uint32_t bk);

/* Vector registers one wave needs at least: accumulators, one K step of
 * fragments (A in halves when large), and staging registers. KN_TOO_NARROW:
 * loads of less than a dword, which a tile of this size cannot pack. */
enum { KN_TOO_NARROW = 10000 };
uint32_t kn_tile_registers(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *g);

/* Whether g's loop and tile are among what was refused for want of registers:
 * then kn_tile_registers is KN_TOO_MANY. */
enum { KN_TOO_MANY = 20000 };
bool kn_was_refused(const struct kn_ctx *c, const struct kn_config *g);

/* The assembly lowering gives a single wave a SIMD all 512, accumulators in
 * their own half. */
uint32_t kn_register_limit(const struct kn_config *g);

/* Bytes of all slots, and of what the output is turned around in, as the
 * template's lds lines have them (instantiate.c). */
uint32_t kn_tile_lds(struct kn_ctx *c, const kiln_problem *p,
                     const struct kn_config *g);

#endif
