/* fuzz_cert.c - any bytes as the certificate of a kernel: the kernel's order is
 * whole, so no finding may be taken for one of its bytes, and nothing but the
 * certificate may be refused. Byte 0 of the input says which kernel. */
#include <stdlib.h>
#include <string.h>

#include "emit/prove/cert.h"
#include "emit/prove/check.h"
#include "fuzz.h"
#include "gen/gen.h"

bool
fuzz_seed(unsigned i, const uint8_t **p, size_t *n)
{
    static char *text[2];
    const struct kn_generated *g;

    if (i > 1)
        return false;
    g = fuzz_kernel(i);
    *n = strlen(g->certificate) + 1;
    text[i] = malloc(*n + 1);
    if (!text[i])
        abort();
    text[i][0] = (char)('0' + i);
    strcpy(text[i] + 1, g->certificate);
    *p = (const uint8_t *)text[i];
    return true;
}

static kiln_status
judge(struct kn_ctx *c, unsigned which, const char *text, size_t n)
{
    const struct kn_generated *g = fuzz_kernel(which);
    const struct kn_object_kernel *k;
    const char **places;
    struct kn_verdict v;
    struct kn_program p;
    struct kn_object o;
    kiln_status s;

    KN_ENTER(c);
    KN_TRY(kn_object_read(c, "k", g->co, g->size, &o));
    KN_TRY(kn_object_kernel(c, &o, NULL, &k));
    KN_TRY(kn_decode(c, &o, k, true, &p));
    s = kn_cert_places(c, text, n, &p, &places);
    memset(&c->err, 0, sizeof c->err);
    if (s == KILN_NO_MEMORY)
        abort();
    return kn_verdict_find(c, &p, text, n, &v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_ctx c;

    if (!n)
        return 0;
    kn_ctx_init(&c, NULL, NULL);
    fuzz_judge(&c, judge(&c, p[0] & 1, (const char *)p + 1, n - 1));
    kn_ctx_free(&c);
    return 0;
}
