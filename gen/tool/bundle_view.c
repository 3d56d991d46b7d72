/* bundle_view.c - looks into bundles; nothing of them is executed. */
#include "cmd.h"

#include <inttypes.h>
#include <string.h>

#include "../../runtime/api/bundle.h"
#include "../../runtime/file.h"
#include "json.h"
#include "run/run.h"

/* A kernel of a bundle, its digest checked. */
struct entry {
    const char *problem, *config;
    char key[KN_HEX];
    const uint8_t *co;
    size_t size, certificate_size;
    const char *certificate;
    struct kn_object object;
    const struct kn_object_kernel *kernel;
};

bool
kn_is_bundle(const void *bytes, size_t size)
{
    return size >= 8 && !memcmp(bytes, KN_BUNDLE_MAGIC, 8);
}

static kiln_status
read_entry(struct kn_ctx *c, const struct kn_bundle *b, uint32_t i,
           struct entry *out)
{
    const struct kn_bundle_entry *e = &b->entry[i];
    const char *texts = (const char *)b->map + b->head.manifest_at;
    struct kn_object *o = &out->object;

    out->problem = kn_strndup(c, texts + e->problem_at, e->problem_size);
    out->config = kn_strndup(c, texts + e->config_at, e->config_size);
    for (int k = 0; k < KN_DIGEST; k++) {
        static const char hex[] = "0123456789abcdef";

        out->key[2 * k] = hex[e->key[k] >> 4];
        out->key[2 * k + 1] = hex[e->key[k] & 15];
    }
    out->key[KN_HEX - 1] = '\0';
    KN_TRY(kn_bundle_code(c, b, i, &out->co, &out->size));
    KN_TRY(kn_bundle_certificate(c, b, i, &out->certificate,
                                 &out->certificate_size));
    KN_TRY(kn_object_read(c, "the bundle's code object", out->co, out->size,
                          o));
    return kn_object_kernel(c, o, NULL, &out->kernel);
}

static void
show_entry(struct kn_tool *t, struct kn_json *j, const struct entry *e)
{
    kn_putf(t->text, "%s\n  key     %s\n  problem %s\n  config  %s\n"
            "  %zu bytes%s\n", e->kernel->name, e->key, e->problem, e->config,
            e->size, e->certificate_size ? ", with a certificate" : "");
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "name", e->kernel->name);
    kn_json_str(j, "key", e->key);
    kn_json_str(j, "problem", e->problem);
    kn_json_str(j, "config", e->config);
    kn_json_uint(j, "bytes", e->size);
    kn_json_bool(j, "certificate", e->certificate_size > 0);
    kn_json_uint(j, "vgpr", e->kernel->arch_vgpr);
    kn_json_uint(j, "agpr", e->kernel->agpr);
    kn_json_uint(j, "sgpr", e->kernel->sgpr);
    kn_json_uint(j, "lds", e->kernel->lds);
    kn_json_uint(j, "kernarg_size", e->kernel->kernarg_size);
    kn_json_close(j, '}');
}

static kiln_status
show_all(struct kn_tool *t, struct kn_json *j, const struct kn_bundle *b)
{
    for (uint32_t i = 0; i < b->head.nentries; i++) {
        struct entry e = { 0 };

        KN_TRY(read_entry(t->c, b, i, &e));
        show_entry(t, j, &e);
    }
    return KILN_OK;
}

kiln_status
kn_bundle_view(struct kn_tool *t, const char *path)
{
    const struct kn_host host = { t->c->realloc, t->c->user };
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_bundle *b = NULL;
    kiln_status s;

    KN_TRY(kn_bundle_open(t->c, &host, path, &b));
    kn_putf(t->text, "bundle  %u kernels, %zu bytes, generator %.*s\n",
            b->head.nentries, b->size, (int)sizeof b->head.generator,
            b->head.generator);
    kn_json_open(&j, NULL, '{');
    kn_json_str(&j, "bundle", path);
    kn_json_uint(&j, "bytes", b->size);
    kn_json_open(&j, "kernels", '[');
    s = show_all(t, &j, b);
    kn_bundle_release(b);
    kn_json_close(&j, ']');
    kn_json_close(&j, '}');
    return s ? s : kn_report_write(t, &j);
}

static kiln_status
find_entry(struct kn_tool *t, const struct kn_bundle *b, const char *name,
           struct entry *out)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < b->head.nentries; i++) {
        struct entry e = { 0 };

        KN_TRY(read_entry(t->c, b, i, &e));
        if (strcmp(e.kernel->name, name) != 0 &&
            strncmp(e.key, name, strlen(name)) != 0)
            continue;
        found++;
        *out = e;
    }
    if (found > 1)
        return kn_fail(t->c, KILN_BAD_INPUT, "%u kernels of the bundle are "
                       "'%s': give the beginning of a key (pack --list)", found,
                       name);
    if (!found)
        return kn_fail(t->c, KILN_BAD_INPUT, "no kernel of the bundle is "
                       "'%s': pack --list has their names and keys", name);
    return KILN_OK;
}

/* The certificate first: no code object is ever there without. */
static kiln_status
write_entry(struct kn_tool *t, const struct entry *e)
{
    const struct kn_value *o = &t->cli->v[KN_FLAG_o];
    struct kn_buf path = { .c = t->c }, certificate = { .c = t->c };

    if (o->seen)
        kn_put(&path, o->s);
    else
        kn_putf(&path, "%s.co", e->kernel->name);
    kn_putf(&certificate, "%s.cert", path.s);
    if (e->certificate_size)
        KN_TRY(kn_file_write(t->c, certificate.s, e->certificate,
                             e->certificate_size));
    KN_TRY(kn_file_write(t->c, path.s, e->co, e->size));
    kn_putf(t->text, "%s: %s\n", path.s, e->kernel->name);
    return KILN_OK;
}

kiln_status
kn_bundle_extract(struct kn_tool *t, const char *path, const char *name)
{
    const struct kn_host host = { t->c->realloc, t->c->user };
    struct kn_bundle *b = NULL;
    struct entry e = { 0 };
    kiln_status s;

    KN_TRY(kn_bundle_open(t->c, &host, path, &b));
    s = find_entry(t, b, name, &e);
    if (!s)
        s = write_entry(t, &e);
    kn_bundle_release(b);
    return s;
}
