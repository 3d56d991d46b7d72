/* find.c - where a kernel comes from: memory, bundles, the cache directory,
 * the compiler. One thread finds or compiles a kernel, others that want the
 * same one wait for it. */
#include <string.h>

#include "../../emit/emit.h"
#include "../../emit/isa/object.h"
#include "bundle.h"
#include "context.h"

struct search {
    struct kiln_context *x;
    const struct kn_request *r;
    struct kn_key key;
    kiln_kernel *found;
};

/* ---- bundles ---- */

static struct kn_bundle *
bundles_of(struct kiln_context *x)
{
    struct kn_bundle *b;

    pthread_mutex_lock(&x->lock);
    b = x->bundles;          /* only ever grows at its head */
    pthread_mutex_unlock(&x->lock);
    return b;
}

/* KILN_STRICT: what leaves a bundle is proven on its bytes. */
static kiln_status
prove_entry(struct kn_ctx *c, struct search *s, const struct kn_bundle *b,
            uint32_t i, const struct kn_origin *o)
{
    struct kn_code code = { .co = o->co, .size = o->size };
    struct kn_buf name = { .c = c };

    if (!(s->x->flags & KILN_STRICT))
        return KILN_OK;
    kn_putf(&name, "entry %u of the bundle", i);
    code.name = name.s;
    KN_TRY(kn_bundle_certificate(c, b, i, &code.cert, &code.cert_size));
    return kn_replay(c, s->x, &code);
}

static kiln_status
take_from_bundle(struct kn_ctx *c, struct search *s, struct kn_bundle *b,
                 uint32_t i)
{
    struct kn_config g = { 0 };
    struct kn_origin o = { .problem = s->r->problem, .config = &g,
                           .bundle = b, .source = KILN_FROM_BUNDLE };
    const char *config;
    size_t n;

    config = kn_bundle_config(b, i, &n);
    KN_TRY(kn_config_take(c, kn_strndup(c, config, n), &g));
    KN_TRY(kn_bundle_code(c, b, i, &o.co, &o.size));
    KN_TRY(prove_entry(c, s, b, i, &o));
    return kn_kernel_new(c, &s->x->host, &o, &s->found);
}

static kiln_status
search_bundles(struct kn_ctx *c, struct search *s)
{
    size_t want = strlen(s->key.config), n;

    for (struct kn_bundle *b = bundles_of(s->x); b; b = b->next) {
        uint32_t first, count = kn_bundle_range(b, s->key.problem, &first);

        for (uint32_t i = first; i < first + count; i++) {
            const char *config = kn_bundle_config(b, i, &n);

            if (n == want && !memcmp(config, s->key.config, n))
                return take_from_bundle(c, s, b, i);
        }
    }
    return KILN_OK;
}

/* Rounds of workgroups over the compute units times the work of one, whose
 * edges cost too; 0 if the configuration cannot serve the problem. */
static uint64_t
cost_of(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_operands none = { 0 };
    uint64_t cus = kn_cus(p), tiles;
    struct kn_plan plan;
    struct kn_ctx probe;

    kn_ctx_init(&probe, NULL, NULL);
    if (kn_plan_launch(&probe, p, g, &none, &plan))
        return 0;
    tiles = plan.grid[0] ? plan.grid[0] : 1;
    return (tiles + cus - 1) / cus *
           (g->bm * g->bn + 32 * (uint64_t)(g->bm + g->bn));
}

/* The cheapest kernel of any bundle whose domain covers the problem. */
static kiln_status
search_substitute(struct kn_ctx *c, struct search *s)
{
    struct kn_bundle *best = NULL;
    uint64_t least = UINT64_MAX;
    uint32_t at = 0;

    for (struct kn_bundle *b = bundles_of(s->x); b; b = b->next) {
        uint32_t first, count = kn_bundle_range(b, s->key.problem, &first);

        for (uint32_t i = first; i < first + count; i++) {
            struct kn_config g = { 0 };
            uint64_t cost;
            size_t n;
            const char *config = kn_bundle_config(b, i, &n);

            KN_TRY(kn_config_take(c, kn_strndup(c, config, n), &g));
            cost = cost_of(s->r->problem, &g);
            if (cost && cost < least) {
                least = cost;
                best = b;
                at = i;
            }
        }
    }
    return best ? take_from_bundle(c, s, best, at) : KILN_OK;
}

/* ---- the cache directory ---- */

/* KILN_STRICT: so is what leaves the directory. */
static kiln_status
prove_file(struct kn_ctx *c, struct search *s, const struct kn_cached *e)
{
    struct kn_code code = { .co = e->co, .size = e->size };
    struct kn_buf name = { .c = c };

    if (!(s->x->flags & KILN_STRICT))
        return KILN_OK;
    kn_putf(&name, "%s/%s.co", s->x->cache_dir, s->key.hex);
    code.name = name.s;
    KN_TRY(kn_cache_read_certificate(c, s->x->cache_dir, &s->key, &code.cert));
    code.cert_size = code.cert ? strlen(code.cert) : 0;
    return kn_replay(c, s->x, &code);
}

static kiln_status
search_disk(struct kn_ctx *c, struct search *s)
{
    struct kn_origin o = { .problem = s->r->problem, .config = s->r->config,
                           .source = KILN_FROM_DISK, .why = s->r->why };
    struct kn_cached e;

    if (!s->x->cache_dir)
        return KILN_OK;
    KN_TRY(kn_cache_read(c, s->x->cache_dir, &s->key, &e));
    if (e.damage && s->x->flags & KILN_STRICT)
        return kn_fail(c, KILN_IO, "%s", e.damage);
    if (e.damage)
        kn_log(s->x, KILN_LOG_WARNING, "%s: not used", e.damage);
    o.co = e.co;
    o.size = e.size;
    if (e.co)
        KN_TRY(prove_file(c, s, &e));
    return e.co ? kn_kernel_new(c, &s->x->host, &o, &s->found) : KILN_OK;
}

/* A cache that cannot be written costs time, not results. */
static void
save(struct kn_ctx *c, struct search *s, const struct kn_compiled *g)
{
    struct kiln_context *x = s->x;
    bool first;

    if (!x->cache_dir ||
        !kn_cache_write(c, x->cache_dir, &s->key, g->co, g->size))
        return;
    pthread_mutex_lock(&x->lock);
    first = !x->warned_cache;
    x->warned_cache = true;
    pthread_mutex_unlock(&x->lock);
    if (first)
        kn_log(x, KILN_LOG_WARNING, "the kernel cache is not written: %s",
               c->err.text);
    memset(&c->err, 0, sizeof c->err);
}

/* ---- the compiler ---- */

static kiln_status
compile(struct kn_ctx *c, struct search *s)
{
    struct kn_origin o = { .problem = s->r->problem, .config = s->r->config,
                           .source = KILN_FROM_COMPILER, .why = s->r->why };
    struct kn_compiled g;

    KN_TRY(kn_compile(c, s->x, s->r, &g));
    o.co = g.co;
    o.size = g.size;
    o.compile_ms = g.ms;
    kn_log(s->x, KILN_LOG_INFO, "compiled %s in %.0f ms: %s", g.name, g.ms,
           s->key.config);
    if (g.own_llvm)
        save(c, s, &g);
    else
        kn_log(s->x, KILN_LOG_WARNING, "LLVM is not " KN_LLVM_VERSION
               ", which kiln was built with: the kernel is not cached");
    return kn_kernel_new(c, &s->x->host, &o, &s->found);
}

static kiln_status
not_found(struct kn_ctx *c, struct search *s)
{
    const char *why = s->x->flags & KILN_RUN_ONLY
                      ? "KILNC_RUN_ONLY forbids to compile, and " : "";

    return kn_fail(c, KILN_NOT_FOUND, "%sthere is no kernel for %s with %s",
                   why, s->key.problem, s->key.config);
}

static kiln_status
produce(struct kn_ctx *c, struct search *s)
{
    bool may_compile = s->r->compile && !(s->x->flags & KILN_RUN_ONLY);

    KN_ENTER(c);
    KN_TRY(search_bundles(c, s));
    if (!s->found)
        KN_TRY(search_disk(c, s));
    if (!s->found && !may_compile && s->r->chosen)
        KN_TRY(search_substitute(c, s));
    if (s->found)
        return KILN_OK;
    return may_compile ? compile(c, s) : not_found(c, s);
}

/* ---- tile IR ---- */

/* A kernel without a problem: its key is its text's and the versions'. */
static void
make_text_key(struct kn_ctx *c, const char *text, struct kn_key *out)
{
    struct kn_buf b = { .c = c };
    uint8_t digest[KN_DIGEST];
    char *hex = kn_alloc(c, KN_HEX, 1);

    kn_sha256(text, strlen(text), digest);
    kn_hex(digest, hex);
    kn_putf(&b, "tile IR\n%s\n%s\n", hex, kn_versions());
    *out = (struct kn_key){ .problem = "tile IR", .config = hex, .text = b.s };
    kn_sha256(b.s, b.n, out->digest);
    kn_hex(out->digest, out->hex);
}

static kiln_status
take_text(struct kn_ctx *c, struct search *s, const struct kn_origin *given)
{
    const struct kn_config none = { 0 };
    kiln_problem p = { .size = sizeof p };
    struct kn_origin o = *given;
    struct kn_object object;

    KN_TRY(kn_object_read(c, "tile IR", o.co, o.size, &object));
    p.target = object.target;
    o.problem = &p;
    o.config = &none;
    o.why = "tile IR";
    KN_TRY(kn_kernel_new(c, &s->x->host, &o, &s->found));
    memcpy(s->found->digest, s->key.digest, sizeof s->key.digest);
    memcpy(s->found->hex, s->key.hex, sizeof s->key.hex);
    return KILN_OK;
}

static kiln_status
search_disk_text(struct kn_ctx *c, struct search *s)
{
    struct kn_origin o = { .source = KILN_FROM_DISK };
    struct kn_cached e;

    if (!s->x->cache_dir || s->x->flags & KILN_STRICT)
        return KILN_OK;
    KN_TRY(kn_cache_read(c, s->x->cache_dir, &s->key, &e));
    if (e.damage)
        kn_log(s->x, KILN_LOG_WARNING, "%s: not used", e.damage);
    o.co = e.co;
    o.size = e.size;
    return e.co ? take_text(c, s, &o) : KILN_OK;
}

static kiln_status
compile_text(struct kn_ctx *c, struct search *s)
{
    struct kn_origin o = { .source = KILN_FROM_COMPILER };
    struct kn_compiled g;

    if (s->x->flags & KILN_RUN_ONLY)
        return kn_fail(c, KILN_NOT_FOUND, "KILNC_RUN_ONLY forbids to compile "
                       "tile IR");
    KN_TRY(kn_compile(c, s->x, s->r, &g));
    o.co = g.co;
    o.size = g.size;
    o.compile_ms = g.ms;
    if (g.own_llvm)
        save(c, s, &g);
    return take_text(c, s, &o);
}

kiln_status
kn_find_text(struct kiln_context *x, struct kn_ctx *c, const char *text,
             kiln_kernel **out)
{
    struct kn_request r = { .text = text };
    struct search s = { .x = x, .r = &r };

    KN_ENTER(c);
    make_text_key(c, text, &s.key);
    KN_TRY(search_disk_text(c, &s));
    if (!s.found)
        KN_TRY(compile_text(c, &s));
    *out = s.found;
    return KILN_OK;
}

/* ---- one at a time ---- */

static bool
is_pending(const struct kiln_context *x, const uint8_t *digest)
{
    for (const struct kn_pending *n = x->pending; n; n = n->next)
        if (!memcmp(n->digest, digest, KN_DIGEST))
            return true;
    return false;
}

/* The kernel in memory, or NULL and `own` is on the list. */
static kiln_kernel *
find_or_claim(struct kiln_context *x, struct kn_pending *own)
{
    kiln_kernel *k;

    pthread_mutex_lock(&x->lock);
    while (!(k = kn_store_find(x, own->digest)) && is_pending(x, own->digest))
        pthread_cond_wait(&x->changed, &x->lock);
    if (k) {
        kn_kernel_retain(k);
    } else {
        own->next = x->pending;
        x->pending = own;
    }
    pthread_mutex_unlock(&x->lock);
    return k;
}

/* A substitute is not stored under the name of what was asked for, but its
 * own; it may be there already. */
static void
publish(struct kiln_context *x, struct kn_pending *own, kiln_kernel **k)
{
    struct kn_pending **p = &x->pending;
    kiln_kernel *there;

    pthread_mutex_lock(&x->lock);
    while (*p != own)
        p = &(*p)->next;
    *p = own->next;
    there = *k ? kn_store_find(x, (*k)->digest) : NULL;
    if (there) {
        kn_kernel_retain(there);
        kiln_release(*k);
        *k = there;
    } else if (*k) {
        kn_store_add(x, *k); /* without memory for it: found again later */
    }
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
}

static kiln_status
find_one(struct kiln_context *x, struct kn_ctx *c, const struct kn_request *r,
         kiln_kernel **out)
{
    struct search s = { .x = x, .r = r };
    struct kn_pending own;
    struct kn_ctx inner;
    kiln_status st;

    kn_make_key(c, r->problem, r->config, &s.key);
    own.digest = s.key.digest;
    *out = find_or_claim(x, &own);
    if (*out)
        return KILN_OK;
    /* An arena of its own: whatever happens in there, `own` leaves the list. */
    kn_call_begin(&x->host, &inner);
    st = produce(&inner, &s);
    if (st) {
        kiln_release(s.found);
        s.found = NULL;
    }
    publish(x, &own, &s.found);
    if (st && !c->err.status) {
        c->err = inner.err;
        c->crowded = inner.crowded;
    }
    kn_ctx_free(&inner);
    *out = s.found;
    return st;
}

kiln_status
kn_find_kernel(struct kiln_context *x, struct kn_ctx *c,
               const struct kn_request *r, kiln_kernel **out)
{
    const struct kn_refused *before = c->refused;
    kiln_status s = find_one(x, c, r, out);
    struct kn_request q = *r;
    struct kn_config g;

    if (!s || !r->given)
        return s;
    g = *r->config;
    q.config = &g;
    while (s && kn_choose_next(c, r->problem, r->given, &g))
        s = find_one(x, c, &q, out);
    c->refused = before;
    return s;
}
