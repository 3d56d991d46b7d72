/* fuzz_fires.c - a target with every defect the driver has to tell. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static kiln_status
ask(struct kn_ctx *c, size_t n)
{
    KN_ENTER(c);
    memset(kn_alloc(c, n, 1), 1, n);
    return KILN_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_ctx c;

    if (!n)
        return 0;
    kn_ctx_init(&c, NULL, NULL);
    switch (p[0]) {
    case 'c':
        abort();
    case 'e':
        exit(0);             /* the tool never ends the process */
    case 'h':
        for (volatile unsigned i = 0;; i++)
            ;
    case 'm':                /* 3 GB, as a status */
        fuzz_judge(&c, ask(&c, (size_t)3 << 30));
        break;
    case 's':                /* a status without a sentence */
        fuzz_judge(&c, KILN_BAD_INPUT);
        break;
    }
    kn_ctx_free(&c);
    return 0;
}
