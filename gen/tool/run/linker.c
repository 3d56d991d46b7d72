/* linker.c - --linker comgr|lld. What they make is judged like kiln's own. */
#include "linker.h"

#include "../../../emit/isa/object.h"
#include "../../../runtime/comgr.h"
#include "../../../runtime/config.h"
#include "../../../runtime/lld.h"

/* The relocatable's own target: comgr wants to be told. */
static kiln_status
link_comgr(struct kn_ctx *c, const void *rel, size_t n, uint8_t **out,
           size_t *size)
{
    struct kn_bytes in = { rel, n }, linked;
    struct kn_comgr *g;
    struct kn_object o;
    struct kn_env env;

    kn_env_read(&env);
    KN_TRY(kn_comgr_open(c, env.comgr_library, &g));
    KN_TRY(kn_object_read(c, "the object", rel, n, &o));
    KN_TRY(kn_comgr_link(g, c, o.target, in, &linked));
    *out = (uint8_t *)linked.p;
    *size = linked.n;
    return KILN_OK;
}

static kiln_status
link_lld(struct kn_ctx *c, const void *rel, size_t n, uint8_t **out,
         size_t *size)
{
    struct kn_bytes linked;
    struct kn_env env;

    kn_env_read(&env);
    KN_TRY(kn_lld_link(c, env.lld, (struct kn_bytes){ rel, n }, &linked));
    *out = (uint8_t *)linked.p;
    *size = linked.n;
    return KILN_OK;
}

kn_link_fn *
kn_tool_linker(const struct kn_cli *cli)
{
    static kn_link_fn *const linker[] = { NULL, link_comgr, link_lld };
    const struct kn_value *v = &cli->v[KN_FLAG_linker];

    return v->seen ? linker[v->i] : NULL;
}
