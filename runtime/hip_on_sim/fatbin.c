/* fatbin.c - what clang makes of `kernel<<<grid, block>>>(...)`: fat binaries
 * and kernels are registered before main, loaded at their first launch. */
#include <stdlib.h>
#include <string.h>

#include "hip_api.h"
#include "shim.h"

struct fatbin {
    const void *image;       /* an offload bundle */
    struct module *module;   /* NULL until the first launch */
};

struct registered {
    struct registered *next;
    const void *host;        /* the stub's address */
    const char *name;
    struct fatbin *binary;
};

struct pending_call {
    struct kn_dim3 grid, block;
    size_t lds;
    void *stream;
};

/* Written before main and by the one thread between push and pop. */
static struct registered *registry;
static _Thread_local struct pending_call pending;

void **
__hipRegisterFatBinary(const void *wrapper)
{
    const struct {
        uint32_t magic, version;
        const void *image, *unused;
    } *w = wrapper;
    struct fatbin *b = calloc(1, sizeof *b);

    if (b)
        b->image = w->image;
    return (void **)b;
}

void
__hipRegisterFunction(void **binary, const void *host, char *device,
                      const char *name, unsigned limit, void *tid, void *bid,
                      void *block, void *grid, int *size)
{
    struct registered *r = calloc(1, sizeof *r);

    (void)name;
    (void)limit;
    (void)tid;
    (void)bid;
    (void)block;
    (void)grid;
    (void)size;
    if (r) {
        *r = (struct registered){ registry, host, device,
                                  (struct fatbin *)binary };
        registry = r;
    }
}

void
__hipRegisterVar(void **binary, void *var, char *host, char *device, int ext,
                 size_t size, int constant, int global)
{
    (void)binary;
    (void)var;
    (void)host;
    (void)device;
    (void)ext;
    (void)size;
    (void)constant;
    (void)global;
}

void
__hipUnregisterFatBinary(void **binary)
{
    (void)binary;            /* the process ends */
}

int
__hipPushCallConfiguration(struct kn_dim3 grid, struct kn_dim3 block,
                           size_t lds, void *stream)
{
    pending = (struct pending_call){ grid, block, lds, stream };
    return 0;
}

int
__hipPopCallConfiguration(struct kn_dim3 *grid, struct kn_dim3 *block,
                          size_t *lds, void **stream)
{
    *grid = pending.grid;
    *block = pending.block;
    *lds = pending.lds;
    *stream = pending.stream;
    return 0;
}

static int
registered_function(struct shim *s, const void *host, struct function **out)
{
    const struct registered *r = registry;
    int e = 0;

    while (r && r->host != host)
        r = r->next;
    if (!r || !r->binary)
        return KN_hipErrorInvalidValue;
    if (!r->binary->module)
        e = load_module(s, r->binary->image, SIZE_MAX,
                        &r->binary->module);
    if (e)
        return e;
    *out = find_function(r->binary->module, r->name);
    return *out ? 0 : KN_hipErrorNotFound;
}

int
hipLaunchKernel(const void *host, struct kn_dim3 grid, struct kn_dim3 block,
                void **args, size_t lds, void *stream)
{
    int e = enter(FN_hipLaunchKernel);
    struct launch l = { .grid = { grid.x, grid.y, grid.z },
                        .block = { block.x, block.y, block.z },
                        .lds = (uint32_t)lds };

    if (!e)
        e = registered_function(shim_state(), host, &l.f);
    if (!e) {
        e = make_launch(&l, args, NULL);
        if (e)
            free_launch(&l);
        else
            e = enqueue_launch(shim_state(), &l, stream);
    }
    return leave(e);
}
