/* mutants.h - every way to weaken the order of a wave-level kernel by one step:
 * a fence or barrier less, a count one wider, one access to the next slot. A
 * read and the store that puts its bytes back (a clip) change slot together:
 * reading back another slot's bytes is a wrong value, not a wrong order. So are
 * other accesses to a slot that is filled and not refilled meanwhile
 * (test_values.c: the check of the final bytes or the simulator tells). */
#ifndef MUTANTS_H
#define MUTANTS_H

#include "order.h"

/* X(id, text) */
#define MUTATIONS(X)                                                          \
    X(FENCE, "fence removed")                                                 \
    X(BARRIER, "barrier removed")                                             \
    X(HALF, "stagger or rejoin removed")                                      \
    X(VM, "vm= one wider")                                                    \
    X(LGKM, "lgkm= one wider")                                                \
    X(COPY, "copy to another slot")                                           \
    X(STORE, "LDS store to another slot")                                     \
    X(READ, "LDS read from another slot")

enum mutation {
#define X(id, text) MUT_##id,
    MUTATIONS(X)
#undef X
    MUT_KINDS
};
extern const char *const mutation_text[MUT_KINDS];

/* X(id, text): what became of a mutant (try_mutants) */
#define VERDICTS(X)                                                           \
    X(KILLED, "killed")                                                       \
    X(TOLD, "told")                                                           \
    X(HARMLESS, "harmless")                                                   \
    X(VALUE, "another value")                                                 \
    X(TURN, "turns only")                                                     \
    X(SURVIVES, "survives")

enum verdict {
#define X(id, text) MUT_##id,
    VERDICTS(X)
#undef X
    MUT_VERDICTS
};
extern const char *const verdict_text[MUT_VERDICTS];

struct tally {
    uint64_t n[MUT_VERDICTS][MUT_KINDS];
    uint64_t verdicts;       /* digest of all of them, in order */
    void (*survivor)(void *user, const struct kn_fn *f, size_t at,
                     enum mutation m);   /* the calls may be NULL */
    /* Whether something tells it; false without the call. */
    bool (*other_value)(void *user, const struct kn_fn *mutant);
    void (*other_turn)(void *user, const struct kn_fn *mutant);
    void *user;
};

uint64_t mutants_of(const struct tally *t, enum verdict v);
uint64_t mutants_made(const struct tally *t, enum mutation m);

/* Proves every mutant of f; f itself must prove. A surviving fence mutant is
 * harmless when a later fence retires the same operations before anything
 * could depend on them, when the fence is all there is in a branch that can be
 * passed by, or when the one operation that it leaves is waited for elsewhere.
 * A surviving access to another slot, whose bytes are there and stay, is a
 * wrong value and no wrong order: counted apart. So is a barrier or fence
 * behind stagger or rejoin without which the proof holds: it keeps the halves'
 * turns, or rejoin does its work (test_values.c compiles both and runs them).
 * Any other survivor is reported, and another value that nothing tells. */
void try_mutants(const struct kn_fn *f, struct tally *t);

/* The same of the program that the proof sees: the same mutants in the same
 * order, with the same verdicts. `mutant` of the tally's calls is such a
 * program. Most fail from where a proof of the kernel comes to them. */
void try_order_mutants(const struct order *o, struct tally *t);

/* Whether ins[at] is the read or the store of a clip, and where the other half
 * is: an LDS access of the same bytes. */
bool mutant_half(const struct kn_fn *f, size_t at, size_t *half);
bool same_bytes(const struct kn_ins *a, const struct kn_ins *b);

#endif
