/* tir_file.c - FILE.tir to a code object. */
#include "run.h"

#include <string.h>

#include "../../../runtime/config.h"
#include "../../../runtime/file.h"
#include "../../../runtime/isolate.h"
#include "../../../emit/prove/gates.h"
#include "../../template/template.h"

/* What comes back from the child, in this order. */
enum { PART_CO, PART_CERTIFICATE, PART_LLVM, PART_ASM, NPARTS };

struct work {
    const char *path;
    const char *text;
    const struct kn_watch *watch;
};

struct head {
    double ms;
    uint64_t size[NPARTS];   /* texts with their zero; 0: not there */
};

static uint64_t
text_size(const char *s)
{
    return s ? strlen(s) + 1 : 0;
}

/* The texts of a user's kernel: its own, and those beside it by their names. */
struct folder {
    const char *path;        /* of the kernel's own */
    const char *text;
};

static kiln_status
open_beside(struct kn_ctx *c, const void *user, const char *name,
            const char **file, const char **text)
{
    const struct folder *d = user;
    const char *slash = strrchr(d->path, '/');
    struct kn_buf path = { .c = c };
    uint8_t *bytes;
    size_t size;

    *file = d->path;
    *text = d->text;
    if (!*name)
        return KILN_OK;
    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_") != strlen(name))
        return kn_fail(c, KILN_BAD_INPUT, "'%s' in '%s' is no name of a "
                       "template beside it", name, d->path);
    if (slash)
        kn_put(&path, kn_strndup(c, d->path, (size_t)(slash + 1 - d->path)));
    kn_putf(&path, "%s.tir", name);
    KN_TRY(kn_file_read(c, path.s, &bytes, &size));
    *file = path.s;
    *text = kn_strndup(c, (const char *)bytes, size);
    return KILN_OK;
}

kiln_status
kn_handmade_parse(struct kn_ctx *c, const char *path, const char *text,
                  struct kn_fn **out)
{
    struct folder d = { kn_strdup(c, path), text };
    struct kn_library lib = { &d, KILN_BAD_INPUT, open_beside, kn_no_fact };

    return kn_template_read(c, &lib, "", out);
}

kiln_status
kn_file_source(struct kn_ctx *c, const char *file, struct kn_debug_file *out)
{
    uint8_t *bytes;
    size_t size;

    KN_TRY(kn_file_read(c, file, &bytes, &size));
    *out = (struct kn_debug_file){ file, (const char *)bytes, false };
    return KILN_OK;
}

static kiln_status
generate(struct kn_ctx *c, const struct work *w, struct kn_generated *out)
{
    struct kn_fn *f;

    KN_TRY(kn_handmade_parse(c, w->path, w->text, &f));
    return kn_generate_program(c, f, w->watch, out);
}

static kiln_status
in_child(struct kn_ctx *c, void *user, struct kn_buf *out)
{
    struct kn_generated g;
    const void *part[NPARTS];
    struct head h;

    KN_TRY(generate(c, user, &g));
    h.ms = g.ms;
    part[PART_CO] = g.co;
    part[PART_CERTIFICATE] = g.certificate;
    part[PART_LLVM] = g.llvm;
    part[PART_ASM] = g.assembly;
    h.size[PART_CO] = g.size;
    for (int i = PART_CERTIFICATE; i < NPARTS; i++)
        h.size[i] = text_size(part[i]);
    kn_put_bytes(out, &h, sizeof h);
    for (int i = 0; i < NPARTS; i++)
        kn_put_bytes(out, part[i], h.size[i]);
    return KILN_OK;
}

static void
take_parts(const struct kn_bytes *b, struct kn_generated *out)
{
    const uint8_t *part[NPARTS], *at = b->p + sizeof(struct head);
    struct head h;

    memcpy(&h, b->p, sizeof h);
    for (int i = 0; i < NPARTS; i++) {
        part[i] = h.size[i] ? at : NULL;
        at += h.size[i];
    }
    out->co = part[PART_CO];
    out->size = h.size[PART_CO];
    out->certificate = (const char *)part[PART_CERTIFICATE];
    out->llvm = (const char *)part[PART_LLVM];
    out->assembly = (const char *)part[PART_ASM];
    out->compilations = 1;
    out->ms = h.ms;
}

/* Everything but LLVM's part happens here as well: it cannot end a process,
 * and the caller gets the program. */
static kiln_status
isolated(struct kn_ctx *c, struct work *w, struct kn_generated *out)
{
    struct kn_watch passes = { .want = KN_WANT_TIR };
    struct work here = { w->path, w->text, &passes };
    struct kn_gate_plan plan;
    struct kn_bytes b;

    KN_TRY(generate(c, &here, out));
    if (w->watch->want == KN_WANT_TIR)
        return KILN_OK;
    KN_TRY(kn_isolate(c, in_child, w, &b));
    take_parts(&b, out);
    plan = kn_gate_demand(c, out->wave);
    out->waived = plan.waived;
    out->nwaived = plan.nwaived;
    return KILN_OK;
}

kiln_status
kn_handmade(struct kn_ctx *c, const char *path, const struct kn_watch *watch,
            struct kn_generated *out)
{
    struct work w = { .path = path, .watch = watch };
    struct kn_env env;
    uint8_t *bytes;
    size_t size;

    KN_TRY(kn_file_read(c, path, &bytes, &size));
    if (memchr(bytes, 0, size))
        return kn_fail(c, KILN_BAD_INPUT, "'%s' is no text", path);
    w.text = kn_strndup(c, (const char *)bytes, size);
    kn_env_read(&env);
    if (env.isolate && !strcmp(env.isolate, "0"))
        return generate(c, &w, out);
    return isolated(c, &w, out);
}

kiln_status
kn_handmade_flags(struct kn_ctx *c, const struct kn_cli *cli)
{
    for (int i = 0; i < KN_NFLAGS; i++)
        if (cli->v[i].seen && i != KN_FLAG_lowering &&
            (kn_flags[i].group == KN_G_PROBLEM || kn_flags[i].group == KN_G_CONFIG))
            return kn_fail(c, KILN_BAD_INPUT, "%s describes a problem to "
                           "generate for; '%s' is a kernel already",
                           kn_flags[i].name, cli->pos[0]);
    return KILN_OK;
}

enum kn_lowering
kn_handmade_lowering(const struct kn_cli *cli)
{
    const struct kn_value *v = &cli->v[KN_FLAG_lowering];

    return v->seen ? (enum kn_lowering)(KN_LOWERING_LLVM + v->i) : KN_LOWERING_OPEN;
}

bool
kn_is_handmade(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && !strcmp(path + n - 4, ".tir");
}
