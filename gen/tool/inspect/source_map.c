/* source_map.c - see inspect.h. */
#include "inspect.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../emit/prove/cert.h"
#include "../../../runtime/file.h"

kiln_status
kn_cert_beside(struct kn_ctx *c, const char *path, const char **text)
{
    struct kn_buf name = { .c = c };
    uint8_t *bytes;
    size_t size;
    char *s;

    *text = NULL;
    kn_putf(&name, "%s.cert", path);
    if (access(name.s, F_OK))
        return KILN_OK;
    KN_TRY(kn_file_read(c, name.s, &bytes, &size));
    s = KN_NEW(c, char, size + 1);
    memcpy(s, bytes, size);
    *text = s;
    return KILN_OK;
}

kiln_status
kn_places_find(struct kn_ctx *c, const struct kn_object *o,
               const struct kn_object_kernel *k, const char *cert,
               struct kn_places *out)
{
    KN_TRY(kn_decode(c, o, k, false, &out->p));
    if (cert)
        return kn_cert_places(c, cert, strlen(cert), &out->p, &out->at);
    out->at = KN_NEW(c, const char *, out->p.n + 1);
    return KILN_OK;
}

kiln_status
kn_places_generated(struct kn_ctx *c, const struct kn_generated *g,
                    struct kn_places *out)
{
    const struct kn_object_kernel *k;
    struct kn_object o;

    KN_TRY(kn_object_read(c, g->name, g->co, g->size, &o));
    KN_TRY(kn_object_kernel(c, &o, g->name, &k));
    return kn_places_find(c, &o, k, g->certificate, out);
}

/* A path that does not fit loses its head: the end has the line. */
static void
put_place(struct kn_finding *f, const char *at)
{
    size_t n = strlen(at), room = sizeof f->place - 1;

    if (n > room)
        snprintf(f->place, sizeof f->place, "...%s", at + n - room + 3);
    else
        snprintf(f->place, sizeof f->place, "%s", at);
}

void
kn_places_put(const struct kn_places *w, struct kn_sim_result *r)
{
    for (unsigned i = 0; i < r->nkept; i++) {
        struct kn_finding *f = &r->findings[i];
        int32_t n = f->pc ? kn_program_at(&w->p, f->pc) : -1;

        if (n >= 0 && w->at[n])
            put_place(f, w->at[n]);
    }
}
