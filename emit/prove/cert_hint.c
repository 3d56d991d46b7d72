/* cert_hint.c - what a certificate says of LDS slots, ownership and the
 * barriers of halves against what the bytes tell. */
#include "cert.h"

static kiln_status
differs(struct kn_ctx *c, const struct kn_program *p, uint32_t n,
        const char *what)
{
    return kn_fail(c, KILN_FINDING, "the certificate calls the %s at 0x%llx %s",
                   kn_isa[p->inst[n].op].mnemonic,
                   (unsigned long long)p->inst[n].pc, what);
}

static kiln_status
check_barriers(struct kn_ctx *c, const struct kn_program *p,
               const struct kn_slots *slots, const struct kn_order *o)
{
    for (uint32_t n = 0; o->barrier && n < p->n; n++) {
        bool half = slots->access[n].kind >= KN_ACC_STAGGER;

        if (o->barrier[n] && half != (o->barrier[n] == KN_BAR_SOME))
            return differs(c, p, n, half ? "one of half of the waves, but all "
                                           "execute it"
                                         : "one of all waves, but half of "
                                           "them execute it");
    }
    return KILN_OK;
}

/* An own access touches what no other wave writes. */
static bool
is_own(const struct kn_order *o, uint32_t a)
{
    for (uint32_t b = 0; b < o->nsites; b++)
        if ((o->site[a].kind != KN_ACC_READ ||
             o->site[b].kind != KN_ACC_READ) && kn_order_crosses(o, a, b))
            return false;
    return true;
}

static bool
share_slot(const struct kn_access *a, const struct kn_access *b)
{
    return a->slot == b->slot || a->slot == b->slot + b->more ||
           a->slot + a->more == b->slot || a->slot + a->more == b->slot + b->more;
}

kiln_status
kn_cert_verify(struct kn_ctx *c, const struct kn_program *p,
               const struct kn_slots *slots, const struct kn_order *o)
{
    KN_TRY(check_barriers(c, p, slots, o));
    for (uint32_t a = 0; a < o->nsites; a++) {
        const struct kn_access *x = &slots->access[o->site[a].inst];

        if (x->own && !is_own(o, a))
            return differs(c, p, o->site[a].inst, "the lane's own, but other "
                           "waves write what it touches");
        for (uint32_t b = 0; b < a; b++)
            if (!share_slot(x, &slots->access[o->site[b].inst]) &&
                kn_order_meets(o, a, b))
                return differs(c, p, o->site[a].inst, "one of another slot, "
                               "but its bytes are of two");
    }
    return KILN_OK;
}
