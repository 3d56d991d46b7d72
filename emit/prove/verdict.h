/* verdict.h - all of the static check of one kernel: registers and facts
 * (check.h), LDS order (order.h), both from the bytes alone; then what a
 * certificate says, which can only add to what is found. */
#ifndef KN_VERDICT_H
#define KN_VERDICT_H

#include "order.h"

struct kn_verdict {
    struct kn_check_result bytes;
    struct kn_order order;
    const char *claim;       /* of the certificate that the bytes refute */
};

/* cert: the certificate's text, NULL: none. BAD_INPUT if it is no certificate
 * or of another kernel. */
kiln_status kn_verdict_find(struct kn_ctx *c, const struct kn_program *p,
                            const char *cert, size_t size,
                            struct kn_verdict *out);

static inline bool
kn_verdict_finds(const struct kn_verdict *v)
{
    return v->bytes.nfindings || v->order.nfindings || v->claim;
}

/* Nothing found and nothing left open. */
static inline bool
kn_verdict_clean(const struct kn_verdict *v)
{
    return !kn_verdict_finds(v) && !v->bytes.undecided &&
           kn_order_decided(&v->order);
}

#endif
