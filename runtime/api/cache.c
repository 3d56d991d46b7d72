/* cache.c - the cache directory: an object and its JSON, whole or not at all (context.h). */
#include "context.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../emit/isa/object.h"
#include "../config.h"
#include "../file.h"

const char *
kn_cache_dir(struct kn_ctx *c)
{
    struct kn_buf b = { .c = c };
    struct kn_env e;

    kn_env_read(&e);
    if (e.cache_dir && e.cache_dir[0])
        return e.cache_dir;
    if (e.xdg_cache && e.xdg_cache[0])
        kn_putf(&b, "%s/kilnc", e.xdg_cache);
    else if (e.home && e.home[0])
        kn_putf(&b, "%s/.cache/kilnc", e.home);
    return b.s;
}

kiln_status
kn_describe(struct kn_ctx *c, const struct kn_key *key, const uint8_t *co,
            size_t size, struct kn_buf *out)
{
    const struct kn_object_kernel *k;
    struct kn_object o;
    uint8_t digest[KN_DIGEST];
    char hex[KN_HEX];

    KN_TRY(kn_object_read(c, key->hex, co, size, &o));
    KN_TRY(kn_object_kernel(c, &o, NULL, &k));
    kn_sha256(co, size, digest);
    kn_hex(digest, hex);
    kn_putf(out, "{\"key\": \"%s\",\n \"problem\": \"%s\",\n"
            " \"config\": \"%s\",\n \"versions\": \"%s\",\n", key->hex,
            key->problem, key->config, kn_versions());
    kn_putf(out, " \"kernel\": \"%s\", \"target\": \"%s\", \"vgpr\": %u, "
            "\"agpr\": %u, \"sgpr\": %u, \"lds\": %u, \"scratch\": %u,\n",
            k->name, kiln_target_name(o.target), k->arch_vgpr, k->agpr,
            k->sgpr, k->lds, k->scratch);
    kn_putf(out, " \"bytes\": %zu, \"sha256\": \"%s\"}", size, hex);
    return KILN_OK;
}

static const char *
path_of(struct kn_ctx *c, const char *dir, const char *hex, const char *ending)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%s/%s%s", dir, hex, ending);
    return b.s;
}

static const char *
damaged(struct kn_ctx *c, const char *path, const char *why)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%s %s", path, why);
    return b.s;
}

/* Bytes of the largest file of an entry that is looked at. */
enum { ENTRY_MOST = 1 << 26 };

/* Why the folder is not to be trusted; NULL: it is, or there is none. Who can
 * write there decides what code runs here. */
static const char *
distrust(struct kn_ctx *c, const char *dir)
{
    struct stat st;

    if (stat(dir, &st))
        return NULL;
    if (st.st_uid != geteuid())
        return damaged(c, dir, "belongs to another user");
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return damaged(c, dir, "may be written by others (chmod go-w)");
    return NULL;
}

/* Reads a file whose failure is a finding about the cache, not an error. */
static kiln_status
read_entry(struct kn_ctx *c, const char *path, uint8_t **out, size_t *size)
{
    kiln_status s = kn_file_read_plain(c, path, ENTRY_MOST, out, size);

    if (s == KILN_IO)
        memset(&c->err, 0, sizeof c->err);
    return s;
}

kiln_status
kn_cache_read(struct kn_ctx *c, const char *dir, const struct kn_key *key,
              struct kn_cached *out)
{
    const char *json = path_of(c, dir, key->hex, ".json");
    const char *bin = path_of(c, dir, key->hex, ".co");
    struct kn_buf want = { .c = c };
    uint8_t *text;
    size_t n;

    memset(out, 0, sizeof *out);
    if (access(json, F_OK))
        return KILN_OK;
    out->damage = distrust(c, dir);
    if (out->damage)
        return KILN_OK;
    if (read_entry(c, json, &text, &n) ||
        read_entry(c, bin, &out->co, &out->size)) {
        out->damage = damaged(c, json, "or its .co cannot be read");
    } else if (kn_describe(c, key, out->co, out->size, &want)) {
        memset(&c->err, 0, sizeof c->err);
        out->damage = damaged(c, bin, "is damaged");
    } else if (n != want.n || memcmp(text, want.s, n) != 0) {
        out->damage = damaged(c, json, "does not describe its .co");
    }
    if (out->damage)
        out->co = NULL;
    return KILN_OK;
}

/* The folder and those above it. */
static kiln_status
make_folder(struct kn_ctx *c, const char *dir)
{
    char *p = kn_strdup(c, dir);

    for (char *s = strchr(p + 1, '/'); s; s = strchr(s + 1, '/')) {
        *s = '\0';
        mkdir(p, 0777);
        *s = '/';
    }
    if (mkdir(p, 0700) && errno != EEXIST)
        return kn_fail(c, KILN_IO, "%s: cannot create: %s", dir,
                       strerror(errno));
    return KILN_OK;
}

kiln_status
kn_cache_write(struct kn_ctx *c, const char *dir, const struct kn_key *key,
               const uint8_t *co, size_t size)
{
    struct kn_buf text = { .c = c };
    const char *why;

    KN_TRY(kn_describe(c, key, co, size, &text));
    KN_TRY(make_folder(c, dir));
    why = distrust(c, dir);
    if (why)
        return kn_fail(c, KILN_IO, "%s", why);
    KN_TRY(kn_file_replace(c, path_of(c, dir, key->hex, ".co"), co, size));
    return kn_file_replace(c, path_of(c, dir, key->hex, ".json"), text.s,
                           text.n);
}

kiln_status
kn_cache_read_certificate(struct kn_ctx *c, const char *dir,
                          const struct kn_key *key, const char **text)
{
    const char *path = path_of(c, dir, key->hex, ".cert");
    uint8_t *bytes;
    size_t n;

    *text = NULL;
    if (access(path, F_OK))
        return KILN_OK;
    if (!read_entry(c, path, &bytes, &n))
        *text = kn_strndup(c, (const char *)bytes, n);
    return KILN_OK;
}

kiln_status
kn_cache_write_certificate(struct kn_ctx *c, const char *dir,
                           const struct kn_key *key, const char *text)
{
    return kn_file_replace(c, path_of(c, dir, key->hex, ".cert"), text,
                           strlen(text));
}
