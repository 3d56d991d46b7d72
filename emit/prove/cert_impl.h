/* cert_impl.h - what writing and reading a certificate share. */
#ifndef KN_CERT_IMPL_H
#define KN_CERT_IMPL_H

#include "cert.h"

/* By enum kn_slot_access. */
extern const char *const kn_cert_kinds[KN_ACC_KINDS];

/* FNV-1a over the kernel's words: what is neither a wait nor counted, such as
 * the arithmetic of an LDS address, is told here when it changed. */
uint64_t kn_cert_digest(const struct kn_program *p);

static inline uint64_t
kn_cert_offset(const struct kn_program *p, uint32_t n)
{
    return p->inst[n].pc - p->inst[0].pc;
}

#endif
