/* guard.h - keeps LLVM 22's disassembler away from words it crashes on. */
#ifndef KN_GUARD_H
#define KN_GUARD_H

#include <stdint.h>

/* NULL: the words (zero-padded to four) may be given to LLVM. Else what is
 * wrong with them; they encode no instruction of gfx942 or gfx950. */
const char *kn_guard_words(const uint32_t w[4]);

#endif
