/* trial.h - launches of a row of selftest: the same one many times, on two
 * sets of buffers by turns and on two streams, each set surrounded by a
 * pattern, the second with every operand at the least alignment the kernel
 * allows; and as a graph. A session with a trial runs its jobs so. */
#ifndef KN_TRIAL_H
#define KN_TRIAL_H

#include "session.h"

/* An output of a launch, as the first one left it. */
struct kn_output {
    struct kn_output *next;
    kiln_type type;
    uint64_t size;
    uint8_t *bytes;
};

/* What a trial counts; X(id, text of the report). */
#define KN_TRIAL_COUNTS(X) \
    X(launches, "launches") \
    X(replays, "replays of a graph") \
    X(unequal, "launches with other bits than the first") \
    X(overwritten, "buffers written around") \
    X(changed, "operands changed") \
    X(dirty, "launches that left workspace counters")

struct kn_trial {
    struct kn_ctx *c;        /* arena of the outputs */
    uint32_t wanted;         /* launches of each kernel on a GPU, at least 1 */
    bool timed;              /* they are measured too, and predicted */
    bool unchecked;          /* operands whose sums overflow or not by order */
    struct kn_output *first, **last;
#define X(id, text) uint64_t id;
    KN_TRIAL_COUNTS(X)
#undef X
};

void kn_trial_init(struct kn_trial *t, struct kn_ctx *c);

/* Memory with a pattern before and behind it, `shift` bytes further than
 * aligned: h->base, h->p and h->size. On the simulator, which sees every
 * access by itself, it is only memory. */
kiln_status kn_trial_put(struct kn_session *s, const struct kn_memory *m,
                         uint32_t shift, struct kn_held *h);

/* kn_session_run of a session with a trial. */
kiln_status kn_trial_run(struct kn_session *s, struct kn_job *j);

/* Whether what was counted is no fault. */
bool kn_trial_fine(const struct kn_trial *t);

#endif
