/* instantiate.h - what the generator's parts ask of each other about a problem and a
 * configuration, by the files that answer. */
#ifndef KN_INSTANTIATE_H
#define KN_INSTANTIATE_H

#include "gen.h"

/* ---- problem.c ------------------------------------------------------- */

/* Operand types that are open: A is bf16, B as A. */
void kn_default_types(kiln_problem *p);

/* ---- staging.c: what an operand is on its way ------------------------ */

/* Row of mfma.def for the problem's types on its target, -1: none. */
int kn_pick_mfma(const kiln_problem *p);

/* Whether an MX operand is converted on its way to LDS, and its scales applied
 * to the product of every 32 K by the kernel itself. */
bool kn_dequant(const kiln_problem *p);
/* Two MX types that are converted and multiplied product by product: of gfx942. */
static inline bool
kn_multiplies_blocks(const kiln_problem *p)
{
    return kn_dequant(p) && kn_type_mx[p->a];
}

/* Whether an MX B is multiplied by its scales as it is widened. */
bool kn_widens_scaled(const kiln_problem *p);

/* An operand's type in the IR, as such and in memory; a 16-bit A times an MX B:
 * only B has scales. */
enum kn_elem kn_payload(kiln_type t);
enum kn_elem kn_stored(const kiln_problem *p, kiln_type t);
bool kn_weight_only(const kiln_problem *p);

/* The shape of the problem's tile, types as multiplied. */
struct kn_shape kn_shape_of(const kiln_problem *p, const struct kn_config *g);

/* Whether operands go to LDS directly, or through registers. */
bool kn_direct(const kiln_problem *p, const struct kn_config *g);

/* Whether rows of operand 'a' or 'b' begin at any byte and are shifted on their way through
 * registers; rows of MX scales, that come in batches; those of each K tile. */
bool kn_unaligned(const kiln_problem *p, const struct kn_config *g, int side);
bool kn_unaligned_scales(const kiln_problem *p, const struct kn_config *g);
bool kn_unaligned_tile(const kiln_problem *p, const struct kn_config *g, int side);

/* Products of a group of weights are added before they are multiplied by its scale. */
bool kn_adds_groups(const kiln_problem *p);

/* f32 that is multiplied as two bf16 is split on its way to LDS, not out of it. */
bool kn_splits_early(const kiln_problem *p, const struct kn_config *g);
/* One slot of tiles along K that are converted, both MX or f32 that is split: the next one
 * is, while this one is multiplied. */
bool kn_converts_early(const kiln_problem *p, const struct kn_config *g);
/* Where kn_folds_scales may hold of a configuration: of two operands of 4 bits, or of 6. */
bool kn_may_fold(const kiln_problem *p);
/* Whether what lies behind K of an operand may stay: of converted types without a NaN, where
 * the other has zeros there. */
bool kn_any_behind(const kiln_problem *p, const struct kn_config *g, char operand);
/* Whether e4m3 that K cuts is converted by runs: not beside 6 bits, which leave no registers, nor
 * in several slots and for up to two K tiles, which do not pay for the clip. */
bool kn_clips_runs(const kiln_problem *p, const struct kn_config *g);
/* Scales go into the codes that blocks become, as far as these can hold them; a row's
 * numbers are then added up in an order that the tile's other rows decide. */
bool kn_folds_scales(const kiln_problem *p, const struct kn_config *g);

/* Weights of 4 bits are in LDS as in memory, and widened behind their reads. */
bool kn_widens_late(const kiln_problem *p, const struct kn_config *g);

/* Loads of a thread that a K tile of A takes; whether it goes to LDS by halves of its rows. */
uint32_t kn_row_loads(const struct kn_config *g);
bool kn_in_halves(const kiln_problem *p, const struct kn_config *g);

/* K whose scales come together: 16 bytes of a row, or 32 for half as many
 * cache lines, where a turn copies one operand's; of moe's largest tiles 64. */
uint32_t kn_scale_batch_k(const kiln_problem *p, const struct kn_config *g);

/* Whether batches have their places in LDS where slots are filled whole. */
bool kn_room_for_batches(const kiln_problem *p, const struct kn_config *g);

/* Bytes of LDS that rows of so many bits are copied to, by all threads 16 bytes each. */
uint32_t kn_copied(const struct kn_config *g, uint32_t bits_a, uint32_t bits_b);

/* K tiles that a loop has in registers on their way to LDS: of three stages two, and
 * two in LDS. */
uint32_t kn_ahead(const kiln_problem *p, const struct kn_config *g);

/* Registers of a K tile on its way to LDS, and of a run of it: of narrow loads each
 * element has one, of shifted rows a dword stands before each 16 bytes. */
uint32_t kn_staged_registers(const kiln_problem *p, const struct kn_config *g);
uint32_t kn_run_registers(uint32_t bytes, uint32_t align, bool loose, uint32_t threads);

/* Batches of scales in LDS. */
uint32_t kn_scale_slots(const struct kn_config *g);

/* ---- loops.c, forms.c: what a main loop is beyond its name ----------- */

/* File of a configuration's main loop, "" without one. */
const char *kn_loop_file(const kiln_problem *p, const struct kn_config *g);
/* That file says what is in LDS. */
bool kn_own_lds(const kiln_problem *p, const struct kn_config *g);

/* Whether the schedule 4-wave reads shuffled scales as they lie: a dword has a
 * lane's bytes of two fragments and two K steps. */
bool kn_scale_dwords(const kiln_problem *p, const struct kn_config *g);

/* The schedule `4-wave` of 6-bit types copies whole cache lines of their rows
 * (templates/loop_4wave_packed.tir). Needs stages and domain. */
bool kn_4wave_packed(const kiln_problem *p, const struct kn_config *g);

/* K tiles whose E8M0 scales come in one 16-byte copy a row; 0: each tile's
 * come with it. Needs stages and domain. */
uint32_t kn_scale_batch(const kiln_problem *p, const struct kn_config *g);

/* Sets of B's fragments: with two, the next K step's are read while this
 * one's are used; where registers do not suffice, one. */
uint32_t kn_b_sets(const kiln_problem *p, const struct kn_config *g);

/* Shares of A's fragments that one K step is multiplied in: interleave and 8-wave. */
uint32_t kn_shares(const struct kn_config *g, const struct kn_frag *a);

/* A wave's fragments of an operand, 'a' or 'b'. */
struct kn_frag kn_fragment_of(const kiln_problem *p, const struct kn_config *g, int side);

/* Registers of a K step's fragments, A's in halves when large. */
static inline uint32_t
kn_step_registers(const struct kn_frag *a, const struct kn_frag *b)
{
    uint32_t n = a->count * a->bytes / 4;

    return (n > 32 ? n / 2 : n) + b->count * b->bytes / 4;
}

/* ---- choose/scale_turns.c: scales of weights that are widened -------- */

/* Bytes of scales of a row of B that a thread widens a K tile with, of as many as it has at most;
 * and K tiles whose scales come together. */
enum { KN_SCALES_RUN = 32 };
uint32_t kn_b_scale_bytes(const kiln_problem *p, const struct kn_config *g);
uint32_t kn_code_asks(const kiln_problem *p, const struct kn_config *g);
bool kn_puts_behind(const kiln_problem *p, const struct kn_config *g);
uint32_t kn_b_scale_tiles(const kiln_problem *p, const struct kn_config *g);

/* kn_widens_late() of a loop that reads step by step. */
bool kn_widens_read(const kiln_problem *p, const struct kn_config *g);
/* Of floats scale_turns says so, before it is known whether LDS has room. */
void kn_settle_codes(const kiln_problem *p, struct kn_config *g);

/* ---- resources.c, instantiate.c: what a tile takes of a compute unit - */

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

/* The K of a tile that nobody asked for. */
uint32_t kn_natural_bk(struct kn_ctx *c, const kiln_problem *p);

/* ---- output.c: how sums leave ---------------------------------------- */

/* Bytes of a row of the LDS through which store=lds passes the output. */
uint32_t kn_store_row(const kiln_problem *p, const struct kn_config *g);

/* Bytes of a sum. */
static inline uint32_t
kn_sum_size(const kiln_problem *p)
{
    return kn_wide_sums(p) ? 8 : 4;
}

/* Bytes of the area that a tile of split-K has in the workspace. */
static inline uint64_t
kn_split_area(const kiln_problem *p, const struct kn_config *g)
{
    return (uint64_t)kn_sum_size(p) * g->split_k * g->bm * g->bn;
}

/* ---- limits.c: the shape domain -------------------------------------- */

/* The largest value of each integer argument of args.tir that a kernel of this problem's
 * kernel part and this configuration is proven for. Zero is the smallest of each. */

enum {
    KN_REACH = 0x7fffffff,   /* bytes one tile may span of an operand */
    KN_TILES = 0x7fff0000    /* tiles of a launch: a persistent workgroup adds
                                its stride once more behind the last */
};

/* X(argument) */
#define KN_LIMITED(X)                                                         \
    X(ta) X(tb) X(tc) X(tsa) X(tsb) X(tsc) X(tbias)                           \
    X(m) X(n) X(k) X(G) X(pa) X(pb) X(pc) X(psa) X(psb)

struct kn_limits {
#define X(name) int64_t name;
    KN_LIMITED(X)
#undef X
};
struct kn_limits kn_limits_of(const kiln_problem *p, const struct kn_config *g);

/* ---- gemv.c, choose/skinny.c: schedules of few rows ------------------ */

/* gemv: no matrix instructions (templates/gemv.tir). Its configuration: bm rows (1, 2, 4, 8,
 * 16), bn columns shared by wm waves, K by wn, 4 waves in all; `stages` runs a lane in
 * flight. Whether there is arithmetic for these types. */
bool kn_gemv_types(const kiln_problem *p);

/* skinny: up to 16 rows and weights of 4 bits (templates/skinny.tir). Its configuration: bm
 * rows (2, 4, 8, 16), bn columns shared by wm waves, K by wn. */
bool kn_skinny_types(const kiln_problem *p);
uint32_t kn_skinny_step(const kiln_problem *p);   /* K that a wave loads at once */

/* How elements become f32: the words of the facts widen_a and widen_b. */
#define KN_WIDENS \
    "none as_16 as_8 as_6 as_4 ocp_8 ocp_6 ocp_5 ocp_4 int_4"

enum kn_widen {
    KN_WIDEN_NONE, KN_WIDEN_AS_16, KN_WIDEN_AS_8, KN_WIDEN_AS_6, KN_WIDEN_AS_4,
    KN_WIDEN_OCP_8, KN_WIDEN_OCP_6, KN_WIDEN_OCP_5, KN_WIDEN_OCP_4,
    KN_WIDEN_INT_4
};

enum kn_widen kn_gemv_widen(const kiln_problem *p, kiln_type t);

/* Elements of a run; what the exponents of its scales have too much. */
uint32_t kn_gemv_run(const kiln_problem *p);
int kn_gemv_exponent_bias(const kiln_problem *p);

/* A 16-bit A beside an MX B has no scales. */
static inline bool
kn_gemv_a_scaled(const kiln_problem *p)
{
    return kn_type_mx[p->a];
}

#endif
