/* verdict.c - see verdict.h. */
#include "verdict.h"

#include <string.h>

#include "cert.h"

/* A claim that the bytes refute is a finding like any; what the bytes tell
 * stays, whatever is claimed. */
static kiln_status
hear(struct kn_ctx *c, const struct kn_program *p, const char *cert,
     size_t size, struct kn_verdict *v)
{
    struct kn_slots slots;
    struct kn_check_result replay;
    kiln_status s = kn_cert_read(c, cert, size, p, &slots);

    if (!s)
        s = kn_cert_verify(c, p, &slots, &v->order);
    if (s == KILN_FINDING) {
        v->claim = kn_strdup(c, c->err.text);
        memset(&c->err, 0, sizeof c->err);
        return KILN_OK;
    }
    KN_TRY(s);
    KN_TRY(kn_check_program(c, p, &slots, &replay));
    if (replay.nfindings > v->bytes.nfindings)
        v->bytes = replay;
    return KILN_OK;
}

kiln_status
kn_verdict_find(struct kn_ctx *c, const struct kn_program *p,
                const char *cert, size_t size, struct kn_verdict *out)
{
    memset(out, 0, sizeof *out);
    KN_TRY(kn_check_program(c, p, NULL, &out->bytes));
    KN_TRY(kn_order_check(c, p, &out->order));
    return cert ? hear(c, p, cert, size, out) : KILN_OK;
}
