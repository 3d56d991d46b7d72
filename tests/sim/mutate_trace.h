/* mutate_trace.h - which instructions the waves of a launch executed, and
 * from that why removing a wait or a barrier changes nothing. The counting
 * here is independent of the simulator's own (runtime/sim/async.c, lds.c). */
#ifndef KN_MUTATE_TRACE_H
#define KN_MUTATE_TRACE_H

#include "runtime/sim/sim.h"

struct kn_step;

struct bytes {               /* of LDS, one instruction, or half of a read2 */
    uint32_t at[64], each;
    uint64_t lanes;
};

struct executed {
    uint32_t inst;
    uint32_t first, n;       /* of path.lds */
};

struct path {                /* of one wave */
    struct executed *done;
    size_t n, cap;
    struct bytes *lds;
    size_t nlds, lds_cap, seen; /* seen: those that belong to an instruction */
};

struct trace {
    const struct kn_program *program;
    struct kn_step *step;
    uint32_t nwaves;         /* of a workgroup */
    struct path *path;       /* workgroup after workgroup */
    size_t npaths, cap;
};

/* X(id, text): why a removed wait or barrier is missed by nobody. */
#define REASONS(X) \
    X(MATTERS, "no reason found") \
    X(UNREACHED, "not executed by these launches") \
    X(NOTHING_PENDING, "nothing it waits for is outstanding") \
    X(WAITED_AGAIN, "a later wait comes before the first use") \
    X(NEVER_USED, "the wave ends without using what it waits for") \
    X(ONE_SIDED, "no LDS access on one side of it") \
    X(READS_ONLY, "LDS is only read on both sides of it") \
    X(OTHERS_SUFFICE, "the other barriers keep the waves' accesses apart")

enum reason {
#define X(id, text) R_##id,
    REASONS(X)
#undef X
    NREASONS
};
extern const char *const reason_text[NREASONS];

/* Runs the launch and records it; l is run as a copy. */
void trace_record(struct trace *t, struct kn_ctx *c, struct kn_sim *sim,
                  const struct kn_sim_launch *l,
                  const struct kn_program *program);
void trace_free(struct trace *t);

enum reason trace_wait(const struct trace *t, uint32_t inst);
enum reason trace_barrier(const struct trace *t, uint32_t inst);

#endif
