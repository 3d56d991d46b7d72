/* told_comgr.c - the system's comgr, told of the targets it may not know: the
 * names of ISAs and the look into offload bundles are this file's, everything
 * else is found in the real library, which this one is linked with. Built once
 * per MAJOR version. On request it lies about one key of the metadata. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct handle {
    uint64_t h;
};
struct object_info {
    const char *isa;
    size_t size;
    uint64_t offset;
};
typedef int callback(struct handle key, struct handle value, void *user);

static const char *const isas[] = {
    "amdgcn-amd-amdhsa--gfx942", "amdgcn-amd-amdhsa--gfx950",
};
static char lie[64];
static bool lying;
static int lookups;

/* Of this file; the functions below are of amd_comgr.h. */
EXPORT void told_lie(const char *key);
EXPORT int told_lookups(void);

void
told_lie(const char *key)
{
    snprintf(lie, sizeof lie, "%s", key);
}

int
told_lookups(void)
{
    return lookups;
}

static void *
real(const char *name)
{
    void *so = dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_NOLOAD);
    void *f = so ? dlsym(so, name) : NULL;

    if (!f)
        abort();
    return f;
}

static char *
bytes_of(struct handle d, size_t *n)
{
    int (*get)(struct handle, size_t *, char *);
    void *f = real("amd_comgr_get_data");
    char *p;

    memcpy(&get, &f, sizeof get);
    p = get(d, n, NULL) ? NULL : malloc(*n);
    if (!p || get(d, n, p))
        abort();
    return p;
}

EXPORT void amd_comgr_get_version(size_t *major, size_t *minor);
void
amd_comgr_get_version(size_t *major, size_t *minor)
{
    *major = MAJOR;
    *minor = 8;
}

EXPORT int amd_comgr_get_isa_count(size_t *n);
int
amd_comgr_get_isa_count(size_t *n)
{
    *n = sizeof isas / sizeof *isas;
    return 0;
}

EXPORT int amd_comgr_get_isa_name(size_t i, const char **s);
int
amd_comgr_get_isa_name(size_t i, const char **s)
{
    *s = isas[i];
    return 0;
}

/* 3.x adds the features that an object asks for. */
EXPORT int amd_comgr_get_data_isa_name(struct handle d, size_t *n, char *out);
int
amd_comgr_get_data_isa_name(struct handle d, size_t *n, char *out)
{
    size_t size;
    char *p = bytes_of(d, &size), isa[64];
    bool is_gfx950 = (p[48] == 0x4f) != !strcmp(lie, "isa");

    free(p);
    snprintf(isa, sizeof isa, "%s%s", isas[is_gfx950],
             MAJOR < 3 ? "" : ":sramecc+:xnack-");
    *n = strlen(isa) + 1;
    if (out)
        memcpy(out, isa, *n);
    return 0;
}

/* An entry is for an ISA whose name its id ends with. */
static void
look(const char *p, struct object_info *info)
{
    size_t want = strlen(info->isa);
    uint64_t n, head[3];
    const char *at = p + 32;

    memcpy(&n, p + 24, sizeof n);
    info->size = info->offset = 0;
    for (; n--; at += sizeof head + head[2]) {
        memcpy(head, at, sizeof head);
        if (head[2] < want || memcmp(at + sizeof head + head[2] - want,
                                     info->isa, want))
            continue;
        info->offset = head[0];
        info->size = head[1];
    }
}

EXPORT int amd_comgr_lookup_code_object(struct handle d,
                                        struct object_info *info, size_t n);
int
amd_comgr_lookup_code_object(struct handle d, struct object_info *info,
                             size_t n)
{
    size_t size;
    char *p = bytes_of(d, &size);

    lookups++;
    for (size_t i = 0; i < n; i++)
        look(p, &info[i]);
    free(p);
    return 0;
}

EXPORT int amd_comgr_get_metadata_string(struct handle m, size_t *n,
                                         char *out);
int
amd_comgr_get_metadata_string(struct handle m, size_t *n, char *out)
{
    int (*get)(struct handle, size_t *, char *);
    void *f = real("amd_comgr_get_metadata_string");
    int s;

    memcpy(&get, &f, sizeof get);
    s = get(m, n, out);
    if (!s && out && lying && strcmp(out, lie)) {
        char *last = out + strlen(out) - 1;

        *last = *last == '9' ? '1' : (char)(*last + 1);
    }
    return s;
}

struct wrapped {
    callback *f;
    void *user;
};

static int
on_entry(struct handle key, struct handle value, void *user)
{
    const struct wrapped *w = user;
    char text[64] = "";
    size_t n = 0;
    int s;

    lying = false;
    if (!amd_comgr_get_metadata_string(key, &n, NULL) && n <= sizeof text)
        amd_comgr_get_metadata_string(key, &n, text);
    lying = !strcmp(text, lie);
    s = w->f(key, value, w->user);
    lying = false;
    return s;
}

EXPORT int amd_comgr_iterate_map_metadata(struct handle m, callback *f,
                                          void *user);
int
amd_comgr_iterate_map_metadata(struct handle m, callback *f, void *user)
{
    int (*iterate)(struct handle, callback *, void *);
    void *g = real("amd_comgr_iterate_map_metadata");
    struct wrapped w = { f, user };

    memcpy(&iterate, &g, sizeof iterate);
    return iterate(m, on_entry, &w);
}
