/* verdict.c - what is to be said of a kernel's final bytes: what they tell alone, and what its
 * certificate claims of them (check.h). */
#include "check.h"

#include <string.h>

#include "../emit.h"
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

/* The first reason against it; "" if there is none. */
static void
put_reason(struct kn_buf *b, const struct kn_program *p,
           const struct kn_verdict *v)
{
    const struct kn_check_finding *f =
        v->bytes.nkept ? v->bytes.finding
        : v->order.nfindings ? v->order.finding : NULL;

    kn_put(b, "");
    if (f)
        kn_putf(b, "at 0x%llx: %s", (unsigned long long)p->inst[f->inst].pc,
                f->text);
    else if (v->claim)
        kn_put(b, v->claim);
    else if (v->bytes.undecided)
        kn_put(b, v->bytes.why);
    else if (v->order.undecided)
        kn_put(b, v->order.why);
    else if (v->order.nopen)
        kn_putf(b, "the addresses of %u LDS accesses are not derived",
                v->order.nopen);
}

kiln_status
kn_verdict_replay(struct kn_ctx *c, const struct kn_code *code)
{
    const char *cert = code->cert_size ? code->cert : NULL;
    struct kn_object o;

    KN_TRY(kn_object_read(c, code->name, code->co, code->size, &o));
    for (uint32_t k = 0; k < o.nkernels; k++) {
        struct kn_buf why = { .c = c };
        struct kn_program p;
        struct kn_verdict v;

        KN_TRY(kn_decode(c, &o, &o.kernels[k], false, &p));
        KN_TRY(kn_verdict_find(c, &p, cert, code->cert_size, &v));
        put_reason(&why, &p, &v);
        if (why.n)
            return kn_fail(c, KILN_FINDING, "%s: not proven: %s", code->name,
                           why.s);
    }
    return KILN_OK;
}
