/* fuzz_cache.c - any bytes as the three files of a cache entry: two numbers
 * of four bytes say how long .co and .json are, .cert is the rest. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "gen/gen.h"
#include "runtime/api/context.h"

static void
key_of(struct kn_ctx *c, struct kn_key *out)
{
    kiln_problem p = fuzz_problem(0), *kept = KN_NEW(c, kiln_problem, 1);

    if (kn_problem_take(c, &p, p.target, kept))
        abort();
    kn_make_key(c, kept, &fuzz_kernel(0)->cfg, out);
}

static void
append(uint8_t **to, const void *p, size_t n)
{
    if (n)
        memcpy(*to, p, n);
    *to += n;
}

bool
fuzz_seed(unsigned i, const uint8_t **p, size_t *n)
{
    const struct kn_generated *g = fuzz_kernel(0);
    static struct kn_ctx c;
    struct kn_buf json = { .c = &c };
    struct kn_key key;
    uint32_t size[2];
    uint8_t *to;

    if (i)
        return false;
    kn_ctx_init(&c, NULL, NULL);
    key_of(&c, &key);
    if (kn_describe(&c, &key, g->co, g->size, &json))
        abort();
    size[0] = (uint32_t)g->size;
    size[1] = (uint32_t)json.n;
    *n = sizeof size + size[0] + size[1] + strlen(g->certificate);
    *p = to = KN_NEW(&c, uint8_t, *n);
    append(&to, size, sizeof size);
    append(&to, g->co, g->size);
    append(&to, json.s, json.n);
    append(&to, g->certificate, strlen(g->certificate));
    return true;
}

struct files {
    const uint8_t *co, *json, *cert;
    size_t nco, njson, ncert;
};

static struct files
split(const uint8_t *p, size_t n)
{
    struct files f = { 0 };
    uint32_t size[2] = { 0, 0 };

    if (n >= sizeof size) {
        memcpy(size, p, sizeof size);
        p += sizeof size;
        n -= sizeof size;
    }
    f.co = p;
    f.nco = size[0] < n ? size[0] : n;
    f.json = p + f.nco;
    f.njson = size[1] < n - f.nco ? size[1] : n - f.nco;
    f.cert = f.json + f.njson;
    f.ncert = n - f.nco - f.njson;
    return f;
}

/* Half of the inputs have a description that fits their code. */
static void
write_entry(const struct files *f, bool fit)
{
    struct kn_buf b = { 0 }, json = { 0 };
    struct kn_ctx c;
    struct kn_key key;

    kn_ctx_init(&c, NULL, NULL);
    b.c = json.c = &c;
    key_of(&c, &key);
    kn_putf(&b, "cache/%s.co", key.hex);
    mkdir("cache", 0700);
    fuzz_write(b.s, f->co, f->nco);
    memcpy(b.s + b.n - 3, ".js", 3);
    kn_put(&b, "on");
    if (fit && !kn_describe(&c, &key, f->co, f->nco, &json))
        fuzz_write(b.s, json.s, json.n);
    else
        fuzz_write(b.s, f->json, f->njson);
    memcpy(b.s + b.n - 4, "cert", 4);
    b.s[b.n - 5] = '.';
    fuzz_write(b.s, f->cert, f->ncert);
    kn_ctx_free(&c);
}

static void
look_up(uint32_t flags)
{
    kiln_options o = { .size = sizeof o, .flags = KILN_RUN_ONLY | flags,
                       .cache_dir = "cache" };
    kiln_problem p = fuzz_problem(0);
    kiln_context *x = NULL;
    kiln_kernel *k = NULL;
    kiln_error e = { 0 };

    if (kiln_open(&o, &x, &e))
        abort();
    if (!kiln_lookup(x, &p, NULL, &k, &e))
        kiln_release(k);
    else if (e.status == KILN_NO_MEMORY || !e.text[0])
        abort();
    kiln_close(x);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct files f = split(p, n);

    write_entry(&f, !fuzz_as_it_is(p, n));
    look_up(0);
    write_entry(&f, !fuzz_as_it_is(p, n));
    look_up(KILN_STRICT);
    return 0;
}
