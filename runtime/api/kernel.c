/* kernel.c - kernels: one immutable block each, counted by reference. */
#include <string.h>

#include "../../emit/isa/object.h"
#include "bundle.h"

struct texts {
    const char *name, *config, *why;
};

static size_t
block_size(const struct texts *t, const struct kn_origin *o)
{
    return sizeof(kiln_kernel) + strlen(t->name) + strlen(t->config) +
           strlen(t->why) + 3 + (o->bundle ? 0 : o->size);
}

static const char *
put_text(char **at, const char *s)
{
    char *p = *at;
    size_t n = strlen(s) + 1;

    memcpy(p, s, n);
    *at = p + n;
    return p;
}

static void
fill_kernel(kiln_kernel *k, const struct texts *t, const struct kn_origin *o)
{
    char *at = (char *)(k + 1);

    k->name = put_text(&at, t->name);
    k->config_text = put_text(&at, t->config);
    k->why = put_text(&at, t->why);
    k->co = o->co;
    k->co_size = o->size;
    k->bundle = o->bundle;
    if (o->bundle)
        kn_bundle_retain(o->bundle);
    else
        k->co = memcpy(at, o->co, o->size);
    k->source = o->source;
    k->compile_ms = o->compile_ms;
}

static void
fill_facts(kiln_kernel *k, const struct kn_object_kernel *f)
{
    k->facts.vgpr = f->arch_vgpr;
    k->facts.agpr = f->agpr;
    k->facts.sgpr = f->sgpr;
    k->facts.lds = f->lds;
    k->facts.scratch = f->scratch;
    k->facts.kernarg_size = f->kernarg_size;
}

kiln_status
kn_kernel_new(struct kn_ctx *c, const struct kn_host *h,
              const struct kn_origin *o, kiln_kernel **out)
{
    const struct kn_object_kernel *f;
    struct texts t = { .why = o->why ? o->why : "" };
    struct kn_object object;
    struct kn_key key;
    kiln_kernel *k;
    size_t n;

    kn_make_key(c, o->problem, o->config, &key);
    KN_TRY(kn_object_read(c, key.hex, o->co, o->size, &object));
    KN_TRY(kn_object_kernel(c, &object, NULL, &f));
    t.name = f->name;
    t.config = key.config;
    n = block_size(&t, o);
    k = kn_host_alloc(h, n);
    if (!k)
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    memset(k, 0, sizeof *k);
    atomic_init(&k->refs, 1);
    k->host = *h;
    k->bytes = n;
    k->problem = *o->problem;
    k->config = *o->config;
    memcpy(k->digest, key.digest, sizeof k->digest);
    memcpy(k->hex, key.hex, sizeof k->hex);
    fill_kernel(k, &t, o);
    fill_facts(k, f);
    *out = k;
    return KILN_OK;
}

void
kn_kernel_retain(kiln_kernel *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
}

void
kiln_release(kiln_kernel *k)
{
    struct kn_host h;

    if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (k->bundle)
        kn_bundle_release(k->bundle);
    h = k->host;
    kn_host_free(&h, k, k->bytes);
}

void
kiln_get_kernel(const kiln_kernel *k, kiln_kernel_info *info)
{
    uint32_t size = !info ? 0 : info->size < sizeof *info
                  ? info->size : (uint32_t)sizeof *info;
    kiln_kernel_info i;

    if (!k || !info)
        return;
    i = (kiln_kernel_info){
        .size = info->size,
        .target = k->problem.target,
        .name = k->name,
        .key = k->hex,
        .config = k->config_text,
        .why = k->why,
        .versions = kn_versions(),
        .code = k->co,
        .code_size = k->co_size,
        .vgpr = k->facts.vgpr,
        .agpr = k->facts.agpr,
        .sgpr = k->facts.sgpr,
        .lds = k->facts.lds,
        .scratch = k->facts.scratch,
        .kernarg_size = k->facts.kernarg_size,
        .source = k->source,
        .compile_ms = k->compile_ms,
    };

    memcpy(info, &i, size);
}
