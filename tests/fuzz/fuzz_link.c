/* fuzz_link.c - libFuzzer target: the linker takes any bytes; what it writes
 * is a well-formed ELF file and the same every time. */
#include <stdlib.h>
#include <string.h>

#include "emit/isa/elfview.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_elf_syms syms;
    struct kn_elf e;
    struct kn_ctx c;
    uint8_t *a, *b;
    size_t an, bn;

    kn_ctx_init(&c, NULL, NULL);
    if (!kn_object_link(&c, p, n, &a, &an)) {
        if (kn_object_link(&c, p, n, &b, &bn) || an != bn ||
            memcmp(a, b, an) || kn_elf_open(&c, "out", a, an, &e) ||
            kn_elf_symbols(&e, SHT_DYNSYM, &syms) ||
            kn_elf_symbols(&e, SHT_SYMTAB, &syms))
            abort();
    }
    kn_ctx_free(&c);
    return 0;
}
