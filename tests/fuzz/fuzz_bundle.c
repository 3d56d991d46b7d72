/* fuzz_bundle.c - any bytes as a bundle: opened, every entry read, checked,
 * and looked up through the public interface. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gen/gen.h"
#include "runtime/api/bundle.h"

static void
make_one(struct kn_ctx *c, unsigned which, struct kn_packed *out)
{
    const struct kn_generated *g = fuzz_kernel(which);
    kiln_problem p = fuzz_problem(which);
    kiln_problem *kept = KN_NEW(c, kiln_problem, 1);

    if (kn_problem_take(c, &p, p.target, kept))
        abort();
    kn_make_key(c, kept, &g->cfg, &out->key);
    out->co = g->co;
    out->size = g->size;
    out->certificate = which ? NULL : g->certificate;
}

bool
fuzz_seed(unsigned i, const uint8_t **p, size_t *n)
{
    static struct kn_packed k[2];
    static struct kn_ctx c[3];
    uint8_t *bytes;

    if (i > 2)
        return false;
    kn_ctx_init(&c[i], NULL, NULL);
    for (unsigned j = 0; j < 2; j++)
        make_one(&c[i], j, &k[j]);
    if (kn_bundle_make(&c[i], i == 1 ? k + 1 : k, i ? 1 : 2, &bytes, n))
        abort();
    *p = bytes;
    return true;
}

static void
digest(uint8_t *p, size_t n, uint64_t at, uint64_t size, uint8_t *out)
{
    if (at <= n && size <= n - at)
        kn_sha256(p + at, (size_t)size, out);
}

/* Sizes and digests as they would have to be. */
static void
refit(uint8_t *p, size_t n)
{
    struct kn_bundle_header h;
    struct kn_bundle_entry e;
    size_t at = sizeof h;

    if (n < sizeof h)
        return;
    memcpy(&h, p, sizeof h);
    h.file_size = n;
    memset(h.generator, 0, sizeof h.generator);
    memcpy(h.generator, kn_generator_id(), strlen(kn_generator_id()));
    for (uint32_t i = 0; i < h.nentries && n - at >= sizeof e; i++) {
        memcpy(&e, p + at, sizeof e);
        digest(p, n, e.co_at, e.co_size, e.co_digest);
        digest(p, n, e.cert_at, e.cert_size, e.cert_digest);
        memcpy(p + at, &e, sizeof e);
        at += sizeof e;
    }
    digest(p, n, sizeof h, (uint64_t)h.nentries * sizeof e + h.manifest_size,
           h.digest);
    memcpy(p, &h, sizeof h);
}

static void
look_up(const char *path, uint32_t flags)
{
    kiln_options o = { .size = sizeof o,
                       .flags = KILN_NO_DISK | KILN_RUN_ONLY | flags };
    kiln_context *x = NULL;
    kiln_error e = { 0 };

    if (kiln_open(&o, &x, &e))
        abort();
    if (!kiln_add_bundle(x, path, &e))
        for (unsigned i = 0; i < 2; i++) {
            kiln_problem p = fuzz_problem(i);
            kiln_kernel *k = NULL;

            if (!kiln_lookup(x, &p, NULL, &k, &e))
                kiln_release(k);
            else if (e.status == KILN_NO_MEMORY || !e.text[0])
                abort();
        }
    kiln_close(x);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *own = malloc(n + 1);
    const char *path;

    if (n)
        memcpy(own, p, n);
    if (!fuzz_as_it_is(p, n))
        refit(own, n);
    path = fuzz_write("x.kpk", own, n);
    free(own);
    fuzz_run((const char *[]){ "kilnc", "check", path, NULL });
    look_up(path, 0);
    look_up(path, KILN_STRICT);
    return 0;
}
