/* module.c - code objects, their kernels and variables. */
#include <stdlib.h>
#include <string.h>

#include "../../emit/isa/object.h"
#include "../file.h"
#include "hip_api.h"
#include "shim.h"

/* HIP passes no size; like HIP, the end of the section table is it. */
static size_t
elf_size(const uint8_t *p)
{
    uint16_t entry, n;
    uint64_t table;

    memcpy(&table, p + 40, 8);
    memcpy(&entry, p + 58, 2);
    memcpy(&n, p + 60, 2);
    return (size_t)(table + (uint64_t)entry * n);
}

static kiln_status
read_object(struct module *m)
{
    KN_ENTER(&m->c);
    return kn_object_read(&m->c, "module", m->bytes, m->size, &m->object);
}

static void
free_module(struct module *m)
{
    while (m->functions) {
        struct function *f = m->functions;

        m->functions = f->next;
        free(f);
    }
    kn_ctx_free(&m->c);
    free(m->bytes);
    free(m);
}

static int
parse_module(struct shim *s, struct module *m)
{
    if (read_object(m)) {
        tell(s, "hipModuleLoadData: %s", m->c.err.text);
        return KN_hipErrorInvalidImage;
    }
    if (m->object.target != s->target) {
        tell(s, "hipModuleLoadData: the code is for %s, the device is %s",
             kiln_target_name(m->object.target), kiln_target_name(s->target));
        return KN_hipErrorNoBinaryForGpu;
    }
    return 0;
}

int
load_module(struct shim *s, const void *image, size_t most,
            struct module **out)
{
    const uint8_t *p = image;
    struct module *m;
    size_t size = 0;
    int e;

    if (!p)
        return KN_hipErrorInvalidValue;
    if (most < 64)           /* of an ELF header */
        return KN_hipErrorInvalidImage;
    if (kn_is_offload(p, most))
        p = kn_offload_find(s->target, p, most, &size);
    else if (!memcmp(p, "\177ELF", 4))
        size = elf_size(p);
    else
        return KN_hipErrorInvalidImage;
    if (!p) {
        tell(s, "the program has no code for %s: compile it with "
             "--offload-arch=%s", kiln_target_name(s->target),
             kiln_target_name(s->target));
        return KN_hipErrorNoBinaryForGpu;
    }
    if (size > most)
        return KN_hipErrorInvalidImage;
    m = calloc(1, sizeof *m);
    if (!m)
        return KN_hipErrorOutOfMemory;
    kn_ctx_init(&m->c, NULL, NULL);
    m->size = size;
    m->bytes = malloc(size ? size : 1);
    if (m->bytes)
        memcpy(m->bytes, p, size);
    e = m->bytes ? parse_module(s, m) : KN_hipErrorOutOfMemory;
    if (e) {
        free_module(m);
        return e;
    }
    m->next = s->modules;
    s->modules = m;
    *out = m;
    return 0;
}

static int
load_data(enum hip_call f, void **out, const void *image)
{
    int e = enter_for(f, out);
    struct module *m = NULL;

    if (!e)
        e = load_module(shim_state(), image, SIZE_MAX, &m);
    if (out)
        *out = m;
    return leave(e);
}

int
hipModuleLoadData(void **out, const void *image)
{
    return load_data(FN_hipModuleLoadData, out, image);
}

int
hipModuleLoadDataEx(void **out, const void *image, unsigned n, int *options,
                    void **values)
{
    (void)n;
    (void)options;
    (void)values;
    return load_data(FN_hipModuleLoadDataEx, out, image);
}

static kiln_status
read_file(struct kn_ctx *c, const char *path, uint8_t **bytes, size_t *n)
{
    KN_ENTER(c);
    return kn_file_read(c, path, bytes, n);
}

int
hipModuleLoad(void **out, const char *path)
{
    int e = enter_for(FN_hipModuleLoad, path ? out : NULL);
    struct module *m = NULL;
    struct kn_ctx c;
    uint8_t *bytes;
    size_t n;

    kn_ctx_init(&c, NULL, NULL);
    if (!e && read_file(&c, path, &bytes, &n))
        e = KN_hipErrorFileNotFound;
    if (!e)
        e = load_module(shim_state(), bytes, n, &m);
    kn_ctx_free(&c);
    if (out)
        *out = m;
    return leave(e);
}

int
hipModuleUnload(void *module)
{
    int e = enter(FN_hipModuleUnload);
    struct shim *s = shim_state();
    struct module **p = &s->modules;

    while (!e && *p && *p != module)
        p = &(*p)->next;
    if (!e && !*p)
        e = KN_hipErrorInvalidHandle;
    if (!e) {
        struct module *m = *p;

        *p = m->next;
        if (m->code)
            s->api->unload(s->sim, m->code);
        free_module(m);
    }
    return leave(e);
}

struct function *
find_function(struct module *m, const char *name)
{
    struct function *f = m->functions;

    while (f && strcmp(f->kernel->name, name) != 0)
        f = f->next;
    if (f)
        return f;
    for (uint32_t i = 0; i < m->object.nkernels; i++) {
        if (strcmp(m->object.kernels[i].name, name) != 0)
            continue;
        f = calloc(1, sizeof *f);
        if (!f)
            return NULL;
        *f = (struct function){ .next = m->functions, .module = m,
                               .kernel = &m->object.kernels[i] };
        m->functions = f;
    }
    return f;
}

int
hipModuleGetFunction(void **out, void *module, const char *name)
{
    int e = enter_for(FN_hipModuleGetFunction, out);

    if (out)
        *out = NULL;
    if (!e && (!module || !name))
        e = KN_hipErrorInvalidValue;
    if (!e) {
        *out = find_function(module, name);
        e = *out ? 0 : KN_hipErrorNotFound;
    }
    return leave(e);
}

int
need_code(struct shim *s, struct module *m)
{
    int e = need_sim(s);

    if (e || m->code)
        return e;
    return s->api->load(s->sim, "module", m->bytes, m->size, &m->code)
               ? sim_error(s, "hipModuleLoadData", KN_hipErrorInvalidImage)
               : 0;
}

int
find_variable(struct shim *s, struct module *m, const char *name,
              struct block *out)
{
    for (uint32_t i = 0; i < m->object.nvariables; i++) {
        const struct kn_variable *v = &m->object.variables[i];
        int e;

        if (strcmp(v->name, name) != 0)
            continue;
        e = need_code(s, m);
        if (e)
            return e;
        *out = (struct block){ .addr = s->api->base(m->code) + v->addr,
                               .size = (size_t)v->size, .owner = OF_CODE };
        return know_variable(s, out);
    }
    return KN_hipErrorNotFound;
}

int
hipModuleGetGlobal(void **out, size_t *n, void *module, const char *name)
{
    int e = enter(FN_hipModuleGetGlobal);
    struct block b = { 0 };

    if (!e && (!module || !name || (!out && !n)))
        e = KN_hipErrorInvalidValue;
    if (!e)
        e = find_variable(shim_state(), module, name, &b);
    if (out)
        *out = (void *)(uintptr_t)b.addr;
    if (n)
        *n = b.size;
    return leave(e);
}
