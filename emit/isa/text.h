/* text.h - LLVM's text of one instruction -> struct kn_inst. Internal. */
#ifndef KN_ISA_TEXT_H
#define KN_ISA_TEXT_H

#include "isa.h"

/* Mnemonic lookup: open addressing over the rows of isa.def. */
enum { KN_INDEX_SLOTS = 4096 };
struct kn_isa_index {
    uint16_t slot[KN_INDEX_SLOTS];
};
void kn_isa_index_init(struct kn_isa_index *x);
uint16_t kn_isa_lookup(const struct kn_isa_index *x, const char *s, size_t n);

/* What could not be understood: a reason and the offending token. */
struct kn_text_error {
    const char *what;
    char token[40];
};

/* Fills op, enc, operands and the modifiers that are text only; raw, size
 * and pc are set by the caller before. False: see *e. */
bool kn_text_parse(const struct kn_isa_index *x, const char *text,
                   struct kn_inst *i, struct kn_text_error *e);

/* raw.c: modifiers from the instruction word, and register fields of the
 * memory and matrix encodings compared with the text. NULL: they agree. */
const char *kn_raw_apply(struct kn_inst *i);

#endif
