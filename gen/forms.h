/* forms.h - the main loops as rows of forms.def, what they say of a problem
 * and a configuration (forms.c), and what they are then (loops.c, split_k.c). */
#ifndef KN_FORMS_H
#define KN_FORMS_H

#include "config.h"

/* What a wave has in registers at once: fragments of a K step; of a share of
 * A's rows and the next share; the halves' share of A, all of B; all of a K
 * tile; tiles straight from memory; runs of rows (no matrix instructions). */
enum kn_reads {
    KN_READS_STEP, KN_READS_PARTS, KN_READS_HALVES, KN_READS_TILE,
    KN_READS_MEMORY, KN_READS_RUNS
};

struct kn_schedule_facts {
    enum kn_reads reads;
    uint32_t batch;
    bool asm_only, unrolled;
    const char *meaning;
};
extern const struct kn_schedule_facts kn_schedules[KN_NSCHEDULES];

/* What g's schedule is; of none yet, a simple one. */
static inline enum kn_reads
kn_reads_of(const struct kn_config *g)
{
    return kn_schedules[g->schedule].reads;
}

/* Whether all lanes of a workgroup have runs of 16 elements of 128 K of A. */
static inline bool
kn_has_runs_of_16(const struct kn_config *g)
{
    return g->bm * 8 % (g->wm * g->wn * 64) == 0;
}

/* Whether its kernels are lowered as assembly of our own if nobody asks. */
bool kn_form_assembly(const kiln_problem *p, const struct kn_config *g);

/* Whether a store has single columns: C's rows are of no whole runs, and what is stored is
 * f64, rounded at random, or shares' of LLVM, which spills. Others are four columns at any
 * byte, and so is what is added to them (docs/families.md, Stores). */
static inline bool
kn_stores_singly(const kiln_problem *p, const struct kn_config *g)
{
    bool assembly = g->lowering ? g->lowering == KN_LOWERING_ASM : kn_form_assembly(p, g);

    return g->domain.vec == 1 && (p->round || kn_type_bits[p->out] > 32 ||
                                   (g->split_k > 1 && !assembly));
}

/* Whether rows of one operand or both may be copied by lines; whether those of this
 * one, 'a' or 'b', are; whether one that may be has rows that begin inside lines. */
bool kn_may_lag(const kiln_problem *p, const struct kn_config *g);
/* Copies may end where K does, of operands along K (KN_COPIES_ENDS). */
bool kn_may_end(const kiln_problem *p, const struct kn_config *g);
bool kn_lags(const kiln_problem *p, const struct kn_config *g, int side);
/* Operands are loaded by lines on their way through registers, of an A that is quantised
 * there B alone; whether this one is. */
bool kn_shifts_lines(const kiln_problem *p, const struct kn_config *g);
bool kn_crowded_lines(const kiln_problem *p, const struct kn_config *g);
bool kn_shifts(const kiln_problem *p, const struct kn_config *g, int side);
/* By lines in the largest tiles, of MX types or of one operand: registers are for sums before
 * all else. */
bool kn_lines_crowd(const kiln_problem *p, const struct kn_config *g);
/* Rows along K as they are, whole lines a K tile. */
bool kn_in_lines(const kiln_problem *p, const struct kn_config *g, int side);
/* `simple` with lines of 6-bit types in slots in turn; `stages` are lines. */
bool kn_line_ring(const kiln_problem *p, const struct kn_config *g);
enum { KN_RING_LINES = 3 };  /* of it, of lines that go through registers */
/* K that shares of K are multiples of: where a line and a K tile begin together. */
uint32_t kn_share_k(const kiln_problem *p, const struct kn_config *g);
/* K tiles of 6 bits that are no lines, of loops that may copy lines of them. */
bool kn_breaks_lines(const kiln_problem *p, const struct kn_config *g);
/* Operands whose rows begin inside lines. */
uint32_t kn_lines_apart(const kiln_problem *p);
bool kn_straddles(const kiln_problem *p, const struct kn_config *g);

/* Whether all shares of a tile may add up a slice of it each; whether they do, asked or
 * since it pays. */
bool kn_may_join_all(const kiln_problem *p, const struct kn_config *g);
bool kn_joins_all(const kiln_problem *p, const struct kn_config *g);
/* Of shares of K, which add up a slice of their tile each. */
bool kn_slices_in_turns(const kiln_problem *p, const struct kn_config *g);
bool kn_joins_slices(const kiln_problem *p, const struct kn_config *g);

/* Whether x is a power of two of at most `most`. */
static inline bool
kn_power_to(uint32_t x, uint32_t most)
{
    return x && x <= most && (x & (x - 1)) == 0;
}

/* Why g's schedule cannot do p, as the rest of "the schedule NAME ..."; NULL:
 * it can. Tile, waves, K and domain are decided; stages may be open. */
const char *kn_form_lacks(const kiln_problem *p, const struct kn_config *g);

/* The schedule of a loop straight from memory through tiles of bk of p's K: all of a
 * K of at most two is asked for at once. */
enum kn_schedule kn_form_straight(const kiln_problem *p, uint32_t bk);

/* Whether a loop has the registers it wants to be taken without being asked
 * for, beside those of its fragments. */
bool kn_form_wanted(const kiln_problem *p, const struct kn_config *g);

/* Whether the tiles of g's last round may be divided without being asked for: of
 * `4-wave`, whose loop has no other way to fill the chip, and of groups of rows in any loop by
 * way of LDS, since nobody knows how many tiles they have; not of converted MX types in tiles of
 * 256x256, whose loop that takes 13 to 46 % longer for want of registers (measured). */
bool kn_form_divides(const kiln_problem *p, const struct kn_config *g);

/* What excludes each other in a configuration, of what was asked for or of all
 * that is decided, is refused. */
enum kn_when { KN_ASKED, KN_DECIDED };
kiln_status kn_form_allowed(struct kn_ctx *c, const kiln_problem *p,
                            const struct kn_config *g, enum kn_when when);

/* Nothing in g excludes each other, and its schedule can do p. */
bool kn_form_allows(const kiln_problem *p, const struct kn_config *g);

/* What kn_form_lacks says, as a refusal. */
kiln_status kn_form_check(struct kn_ctx *c, const kiln_problem *p,
                          const struct kn_config *g);

/* The same of the sizes of a launch, which loops that read memory themselves
 * depend on. */
kiln_status kn_form_serves(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *g);

/* split_k.c */

/* Tiles of the launch; ragged rows are taken as balanced. */
uint64_t kn_tiles_of(const kiln_problem *p, uint32_t bm, uint32_t bn);

/* More of them, or of shares of K, than compute units: some have two at once or in turn. */
bool kn_fills_rounds(const kiln_problem *p, const struct kn_config *g);

#endif
