/* timing_trace.c - the replay of one compute unit as a Chrome trace (JSON
 * array format, which Perfetto reads). A clock is written as a microsecond. */
#include "timing_cu.h"

struct kn_time_trace {
    struct kn_buf *out;
};

void
kn_time_trace_issue(struct cu *u, const struct wave *w, uint32_t inst)
{
    (void)u;
    (void)w;
    (void)inst;
}
