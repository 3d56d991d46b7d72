/* compile.c - libkiln-cg is opened here, on the first miss; with KILN_ISOLATE
 * only ever in the child, so that no thread of the host holds a lock of LLVM's
 * when the child is made. */
#include "context.h"

#include <string.h>

#include "../isolate.h"

static kiln_status
codegen_of(struct kn_ctx *c, struct kiln_context *x,
           const struct kn_codegen **out)
{
    const struct kn_codegen *g;

    pthread_mutex_lock(&x->lock);
    *out = x->codegen;
    pthread_mutex_unlock(&x->lock);
    if (*out)
        return KILN_OK;
    KN_TRY(kn_codegen_open(c, &g));
    pthread_mutex_lock(&x->lock);
    x->codegen = *out = g;
    pthread_mutex_unlock(&x->lock);
    return KILN_OK;
}

/* The key names the LLVM kiln was built with; another one's code stays out
 * of the directory. */
static bool
is_built_with(const struct kn_codegen *cg)
{
    char version[32];

    cg->llvm_version(version, sizeof version);
    return !strcmp(version, KN_LLVM_VERSION);
}

static kiln_status
generate(struct kn_ctx *c, const struct kn_codegen *cg,
         const struct kn_request *r, struct kn_compiled *out)
{
    struct kn_generated g;

    if (r->text)
        KN_TRY(cg->program(c, r->text, &g));
    else
        KN_TRY(cg->generate(c, r->problem, r->config, NULL, &g));
    *out = (struct kn_compiled){ g.co, g.size, g.name, g.ms,
                                 is_built_with(cg) };
    return KILN_OK;
}

struct reply {
    double ms;
    bool own_llvm;
    char name[192];
};

static kiln_status
in_child(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    const struct kn_codegen *cg;
    struct kn_compiled g;
    struct reply *r;

    KN_TRY(kn_codegen_open(c, &cg));
    KN_TRY(generate(c, cg, user, &g));
    out->n = out->cap = sizeof *r + g.size;
    out->s = KN_NEW(c, char, out->n);
    r = (struct reply *)out->s;
    r->ms = g.ms;
    r->own_llvm = g.own_llvm;
    strncpy(r->name, g.name, sizeof r->name - 1);
    memcpy(out->s + sizeof *r, g.co, g.size);
    return KILN_OK;
}

static kiln_status
isolated(struct kn_ctx *c, const struct kn_request *r,
         struct kn_compiled *out)
{
    const struct reply *reply;
    struct kn_bytes b;

    KN_TRY(kn_isolate(c, in_child, (void *)r, &b));
    reply = (const struct reply *)b.p;
    *out = (struct kn_compiled){ b.p + sizeof *reply, b.n - sizeof *reply,
                                 reply->name, reply->ms, reply->own_llvm };
    return KILN_OK;
}

kiln_status
kn_compile(struct kn_ctx *c, struct kiln_context *x,
           const struct kn_request *r, struct kn_compiled *out)
{
    const struct kn_codegen *cg;

    if (x->flags & KILN_ISOLATE || r->text)
        return isolated(c, r, out);
    KN_TRY(codegen_of(c, x, &cg));
    return generate(c, cg, r, out);
}

static kiln_status
replay_in_child(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    const struct kn_codegen *cg;

    KN_TRY(kn_codegen_open(c, &cg));
    KN_TRY(cg->replay(c, user));
    kn_put(out, "proven");
    return KILN_OK;
}

kiln_status
kn_replay(struct kn_ctx *c, struct kiln_context *x, const struct kn_code *code)
{
    const struct kn_codegen *cg;
    struct kn_bytes b;

    if (x->flags & KILN_ISOLATE)
        return kn_isolate(c, replay_in_child, (void *)code, &b);
    KN_TRY(codegen_of(c, x, &cg));
    return cg->replay(c, code);
}
