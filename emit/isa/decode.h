/* decode.h - what the files of the decoder share: words LLVM may see, its text of
 * an instruction, forms of which one reading is enough. */
#ifndef KN_DECODE_H
#define KN_DECODE_H

#include <stdint.h>

#include "isa.h"

/* guard.c - keeps LLVM 22's disassembler away from words it crashes on. */

/* NULL: the words (zero-padded to four) may be given to LLVM. Else what is
 * wrong with them; they encode no instruction of gfx942 or gfx950. */
const char *kn_guard_words(const uint32_t w[4]);

/* text.c - LLVM's text of one instruction -> struct kn_inst. Internal. */

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

/* form.c - instructions of one form: alike in all but register numbers, small
 * integers, a literal and offsets. LLVM's text of one of a form tells which
 * operand each number is; of the others the words are enough. Internal to the
 * decoder. */

enum { KN_FORM_FIELDS = 7 };

struct kn_form {
    uint32_t key[4];         /* the words without those numbers */
    uint8_t size;            /* bytes by the encoding, literal included */
    uint8_t n;
    struct kn_form_field {
        uint8_t word, low, bits, kind;
    } field[KN_FORM_FIELDS];
};

/* LLVM's reading of one instruction, without kn_raw_apply; false: it is
 * none. pc and raw are not set. */
typedef bool kn_form_reader(void *user, const uint32_t w[4],
                            struct kn_inst *out);

/* What is known of a form. */
struct kn_form_known {
    struct kn_form form;
    enum { KN_FORM_SEEN, KN_FORM_READY, KN_FORM_REFUSED } state;
    int8_t operand[KN_FORM_FIELDS]; /* of each field, or see form.c */
    uint32_t w[4];           /* learned from */
    struct kn_inst inst;     /* as the reader has it */
};

struct kn_forms {
    struct kn_ctx *c;
    kn_form_reader *read;
    void *user;
    unsigned n;
    struct kn_form_known *slot[1024];
};

/* The instruction of these words from what is known, raw.c's part left out;
 * false: the reader must be asked, and kn_forms_add told. */
bool kn_forms_fill(struct kn_forms *x, const uint32_t w[4],
                   struct kn_inst *out);
/* Bytes of the instruction by its first word; of words that are none, 4. */
unsigned kn_form_size(const uint32_t w[4]);

/* i: the reader's. */
void kn_forms_add(struct kn_forms *x, const uint32_t w[4],
                  const struct kn_inst *i);

#endif
