/* cert.h - the certificate of a generated kernel: for each asynchronous
 * instruction of the final bytes its LDS slot or registers, and the wait and
 * the barrier that cover it; also the shape domain it was proven for with every
 * assumption, and the LDS layouts with their bank conflicts. Written as
 * `k.co.cert` (JSON), replayed on the disassembled bytes by check.h.
 *
 * Offsets are bytes from the kernel's first instruction. */
#ifndef KN_CERT_H
#define KN_CERT_H

#include "../emit.h"
#include "check.h"

/* What the program asked of each emitted instruction, by the line map. An
 * access to LDS that cannot be attributed is an INTERNAL error: the kernel
 * would leave unproven. */
kiln_status kn_cert_accesses(struct kn_ctx *c, const struct kn_program *p,
                             const struct kn_fn *f,
                             const struct kn_line_map *lines,
                             struct kn_slots *out);

/* The certificate's text. slots: kn_cert_accesses. */
void kn_cert_write(const struct kn_program *p, const struct kn_fn *f,
                   const struct kn_line_map *lines,
                   const struct kn_slots *slots, struct kn_buf *out);

/* Reads a certificate for this program. BAD_INPUT if it is no certificate or
 * of another kernel; FINDING if an instruction it speaks of is not there. */
kiln_status kn_cert_read(struct kn_ctx *c, const char *text, size_t size,
                         const struct kn_program *p, struct kn_slots *out);

/* Holds what it says of slots, ownership and the barriers of halves against
 * what the bytes tell; FINDING where they say otherwise. */
kiln_status kn_cert_verify(struct kn_ctx *c, const struct kn_program *p,
                           const struct kn_slots *slots,
                           const struct kn_order *o);

/* What the certificate says each instruction of this program comes from,
 * such as "gemm.tir:31 mfma", or "compiler" for what LLVM added of its own;
 * NULL where it does not say. */
kiln_status kn_cert_places(struct kn_ctx *c, const char *text, size_t size,
                           const struct kn_program *p, const char ***out);

/* what writing and reading a certificate share. */

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
