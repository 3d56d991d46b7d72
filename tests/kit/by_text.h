/* by_text.h - instructions as LLVM's text of their words says, and nothing
 * but it: what the decoder is held to. */
#ifndef KN_KIT_BY_TEXT_H
#define KN_KIT_BY_TEXT_H

#include "emit/isa/decode.h"

struct by_text {
    void *llvm;              /* kn_disasm_open */
    struct kn_isa_index index;
};

/* All but raw and what kn_raw_apply sets; out is zero but for pc. A
 * kn_form_reader. */
bool by_text_read(void *by_text, const uint32_t w[4], struct kn_inst *out);

/* The first instruction of a program that is not as its text says; p->n:
 * there is none. */
uint32_t by_text_differs(const struct kn_program *p);

#endif
