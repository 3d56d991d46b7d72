/* module.c - code objects, kernels of them, launches. */
#include <stdlib.h>
#include <string.h>

#include "../file.h"
#include "hip_api.h"
#include "shim.h"

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";

static uint64_t
u64_at(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* HIP passes no size; like HIP, the end of the section table is it. */
static size_t
elf_size(const uint8_t *p)
{
    uint16_t entry, n;

    memcpy(&entry, p + 58, 2);
    memcpy(&n, p + 60, 2);
    return (size_t)(u64_at(p + 40) + (uint64_t)entry * n);
}

static bool
names_target(const char *id, size_t len, const char *want)
{
    size_t w = strlen(want);

    for (size_t k = 0; k + w <= len; k++)
        if (!memcmp(id + k, want, w) && (k + w == len || id[k + w] == ':'))
            return true;
    return false;
}

/* The code object for our target in an offload bundle of at most `most`
 * bytes. */
static const uint8_t *
unbundle(const struct shim *s, const uint8_t *p, size_t most, size_t *size)
{
    const char *want = kiln_target_name(s->target);
    size_t at = sizeof bundle_magic - 1;
    uint64_t n = most - at < 8 ? 0 : u64_at(p + at);

    at += 8;
    for (uint64_t i = 0; i < n && most - at >= 24; i++) {
        uint64_t offset = u64_at(p + at), bytes = u64_at(p + at + 8);
        uint64_t len = u64_at(p + at + 16);

        at += 24;
        if (len > most - at)
            break;
        if (bytes && offset <= most && bytes <= most - offset &&
            names_target((const char *)p + at, (size_t)len, want)) {
            *size = (size_t)bytes;
            return p + offset;
        }
        at += (size_t)len;
    }
    return NULL;
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
    if (!memcmp(p, bundle_magic, sizeof bundle_magic - 1))
        p = unbundle(s, p, most, &size);
    else if (!memcmp(p, "\177ELF", 4))
        size = elf_size(p);
    else
        return KN_hipErrorInvalidImage;
    if (!p)
        return KN_hipErrorNoBinaryForGpu;
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

int
hipModuleLoadData(void **out, const void *image)
{
    int e = enter_for(FN_hipModuleLoadData, out);
    struct module *m = NULL;

    if (!e)
        e = load_module(shim_state(), image, SIZE_MAX, &m);
    if (out)
        *out = m;
    return leave(e);
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
        *f = (struct function){ m->functions, m, &m->object.kernels[i] };
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
hipModuleGetGlobal(void **out, size_t *n, void *module, const char *name)
{
    int e = enter_for(FN_hipModuleGetGlobal, out);

    (void)module;
    (void)name;
    if (out)
        *out = NULL;
    if (n)
        *n = 0;
    return leave(e ? e : KN_hipErrorNotSupported);
}

int
hipFuncGetAttribute(int *value, int which, void *function)
{
    int e = enter_for(FN_hipFuncGetAttribute, value);
    const struct function *f = function;
    const struct kn_object_kernel *k = e || !f ? NULL : f->kernel;

    if (!e && !k)
        e = KN_hipErrorInvalidValue;
    if (!e) {
        /* hipFunction_attribute: max threads, shared, const, local, regs */
        const int table[] = { (int)k->max_workgroup, (int)k->lds, 0,
                              (int)k->scratch, (int)k->regs };

        *value = which >= 0 && which < 5 ? table[which] : 0;
    }
    return leave(e);
}

int
hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function,
                                                   int block, size_t lds)
{
    int e = enter_for(FN_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
                      n);
    const struct function *f = function;
    size_t most = kn_targets[shim_state()->target].lds, used;
    int waves;

    if (!e && (!f || block < 1))
        e = KN_hipErrorInvalidValue;
    if (!e) {
        used = f->kernel->lds + lds;
        waves = block / 64 + (block % 64 > 0);
        *n = (int)(512 / (f->kernel->regs ? f->kernel->regs : 8)) * 4 / waves;
        if (used < lds)
            *n = 0;
        else if (used && most / used < (size_t)*n)
            *n = (int)(most / used);
    }
    return leave(e);
}

/* ---- launches ----------------------------------------------------------- */

void
free_launch(struct launch *l)
{
    free(l->kernarg);
    l->kernarg = NULL;
}

/* `extra` is {1, buffer, 2, &size, 3}. */
static int
from_extra(struct launch *l, void **extra)
{
    const void *buffer = NULL;
    size_t n = 0;

    for (int i = 0; extra[i] != (void *)3; i += 2) {
        if (extra[i] == (void *)1)
            buffer = extra[i + 1];
        else if (extra[i] == (void *)2)
            n = *(const size_t *)extra[i + 1];
        else
            return KN_hipErrorInvalidValue;
    }
    if (n && !buffer)
        return KN_hipErrorInvalidValue;
    if (n > l->kernarg_size)
        n = l->kernarg_size;
    if (n)
        memcpy(l->kernarg, buffer, n);
    return 0;
}

static void
from_params(struct launch *l, void **params)
{
    const struct kn_object_kernel *k = l->f->kernel;
    uint32_t n = 0;

    for (uint32_t i = 0; i < k->nargs; i++) {
        const struct kn_kernel_arg *a = &k->args[i];

        if (a->kind == KN_ARG_HIDDEN)
            continue;
        if (a->offset + a->size <= l->kernarg_size)
            memcpy(l->kernarg + a->offset, params[n], a->size);
        n++;
    }
}

int
make_launch(struct launch *l, void **params, void **extra)
{
    const struct kn_object_kernel *k = l->f->kernel;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

    if (!threads || !l->grid[0] || !l->grid[1] || !l->grid[2])
        return KN_hipErrorInvalidValue;
    if (l->block[0] > k->max_workgroup || l->block[1] > k->max_workgroup ||
        l->block[2] > k->max_workgroup || threads > k->max_workgroup)
        return KN_hipErrorLaunchFailure;
    if (params && extra)
        return KN_hipErrorInvalidValue;
    l->kernarg_size = k->kernarg_size;
    l->kernarg = calloc(1, l->kernarg_size ? l->kernarg_size : 1);
    if (!l->kernarg)
        return KN_hipErrorOutOfMemory;
    if (extra)
        return from_extra(l, extra);
    if (params)
        from_params(l, params);
    return 0;
}

static int
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
run_launch(struct shim *s, const struct launch *l)
{
    struct kn_sim_launch sl = {
        .kernel = l->f->kernel->name,
        .kernarg = l->kernarg,
        .kernarg_size = l->kernarg_size,
        .dynamic_lds = l->lds,
        .select = { .all = true },
    };
    struct kn_sim_result r;
    int e = need_code(s, l->f->module);

    if (e)
        return e;
    sl.code = l->f->module->code;
    memcpy(sl.grid, l->grid, sizeof sl.grid);
    memcpy(sl.block, l->block, sizeof sl.block);
    if (s->api->run(s->sim, &sl, &r))
        return sim_error(s, l->f->kernel->name, KN_hipErrorLaunchFailure);
    for (unsigned i = 0; i < r.nkept; i++)
        tell(s, "%s: at 0x%llx: %s", l->f->kernel->name,
             (unsigned long long)r.findings[i].pc, r.findings[i].text);
    return r.nfindings ? KN_hipErrorLaunchFailure : 0;
}

int
enqueue_launch(struct shim *s, struct launch *l, struct stream *q)
{
    struct node n = { .kind = NODE_LAUNCH, .launch = *l };
    int e;

    if (q && q->capturing) {
        e = record_node(q, &n);
        if (!e)
            return 0;
    } else {
        e = run_launch(s, l);
    }
    free_launch(l);
    return e;
}

int
hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                      unsigned bx, unsigned by, unsigned bz, unsigned lds,
                      void *stream, void **params, void **extra)
{
    int e = enter(FN_hipModuleLaunchKernel);
    struct launch l = { .f = function, .grid = { gx, gy, gz },
                        .block = { bx, by, bz }, .lds = lds };

    if (!e && !function)
        e = KN_hipErrorInvalidHandle;
    if (!e) {
        e = make_launch(&l, params, extra);
        if (e)
            free_launch(&l);
        else
            e = enqueue_launch(shim_state(), &l, stream);
    }
    return leave(e);
}
