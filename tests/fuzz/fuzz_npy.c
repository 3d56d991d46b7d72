/* fuzz_npy.c - any bytes as an operand file. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/file.h"

static kiln_status
read_it(struct kn_ctx *c, const char *path)
{
    const struct kn_npy want = { .dtype = "<f4", .elem = 4, .ndim = 2,
                                 .shape = { -1, 8 } };
    struct kn_npy a;

    KN_ENTER(c);
    KN_TRY(kn_npy_read(c, path, &a));
    if (a.bytes && !a.data)
        abort();
    for (uint64_t i = 0; i < a.bytes; i++) /* a sanitizer sees what is there */
        if (((volatile uint8_t *)a.data)[i] == 0x5a)
            break;
    return kn_npy_expect(c, path, &a, &want);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const names[] = { "x.npy", "x.raw" };

    for (int i = 0; i < 2; i++) {
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        fuzz_judge(&c, read_it(&c, fuzz_write(names[i], p, n)));
        kn_ctx_free(&c);
    }
    return 0;
}
