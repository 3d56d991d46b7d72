/* hip.c - libamdhip64 by dlopen. Enumerators are those of hip_runtime_api.h,
 * the same from ROCm 5.2 to 7; the number of chiplets is asked since 7. */
#include "hip.h"
#include "shared.h"

#include <dlfcn.h>
#include <string.h>

enum { SUCCESS = 0, OUT_OF_MEMORY = 2 };
enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };
enum { NON_BLOCKING = 1, CAPTURE_THREAD_LOCAL = 1 };
enum {
    ATTR_CLOCK = 5, ATTR_MAJOR = 23, ATTR_MEMORY_CLOCK = 60, ATTR_MINOR = 61,
    ATTR_CUS = 63, ATTR_XCDS = 10018,
};

/* Marks of the `extra` argument of hipModuleLaunchKernel. */
enum { PARAM_BUFFER = 1, PARAM_SIZE = 2, PARAM_END = 3 };

struct kn_hip {
    int count;
#define X(name, args) int (*name) args;
#include "hip.def"
#undef X
    const char *(*GetErrorName)(int);
};

static kiln_status
hip_error(struct kn_hip *h, struct kn_ctx *c, const char *what, int e)
{
    const char *name = h->GetErrorName(e);

    return kn_fail(c, e == OUT_OF_MEMORY ? KILN_NO_MEMORY : KILN_IO,
                   "hip%s: %s (%d)", what, name ? name : "?", e);
}

/* One call: the status in a sentence that names the function. */
#define CALL(h, c, name, ...)                                                 \
    do {                                                                      \
        int hip_e_ = (h)->name(__VA_ARGS__);                                  \
        if (hip_e_)                                                           \
            return hip_error(h, c, #name, hip_e_);                            \
    } while (0)

static kiln_status
load_functions(struct kn_ctx *c, void *so, struct kn_hip *h)
{
    static const struct kn_shared_function table[] = {
#define X(name, args) { "hip" #name, offsetof(struct kn_hip, name) },
#include "hip.def"
#undef X
        { "hipGetErrorName", offsetof(struct kn_hip, GetErrorName) },
    };
    const char *lacks = kn_shared_functions(so, table, sizeof table / sizeof *table, h);

    return !lacks ? KILN_OK : kn_fail(c, KILN_NO_DEVICE, "libamdhip64 has no function %s", lacks);
}

/* Never unloaded: HIP keeps threads and handlers of its own. */
static void *
open_library(const char *path)
{
    static const char *const names[] = {
        "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
        "libamdhip64.so",
    };

    return kn_shared_open(path, names, sizeof names / sizeof *names);
}

/* Which code says "no GPU" depends on the release (100 and 101 seen): any
 * failure up to here means there is none to use. */
kiln_status
kn_hip_open(struct kn_ctx *c, const char *path, struct kn_hip **out)
{
    struct kn_hip *h = KN_NEW(c, struct kn_hip, 1);
    void *so = open_library(path);
    const char *why = so ? "" : dlerror();
    int e;

    if (!so)
        return kn_fail(c, KILN_NO_DEVICE, "no AMD GPU runtime: %s",
                       why ? why : "libamdhip64 cannot be opened");
    KN_TRY(load_functions(c, so, h));
    e = h->Init(0);
    if (!e)
        e = h->GetDeviceCount(&h->count);
    if (e || h->count < 1)
        return kn_fail(c, KILN_NO_DEVICE, "no AMD GPU: HIP reports %s (%d)",
                       e ? h->GetErrorName(e) : "no device", e);
    *out = h;
    return KILN_OK;
}

int
kn_hip_count(const struct kn_hip *h)
{
    return h->count;
}

/* HIP's compute capability of CDNA is the gfx number: 9.4, 9.5. */
static kiln_target
target_of(int major, int minor)
{
    return major != 9 || minor < 1
               ? KILN_TARGET_NONE
               : kn_target_where(offsetof(struct kn_target_info, minor),
                                 (uint32_t)minor);
}

/* What only reports need: whatever is not told stays 0. */
static void
ask_more(struct kn_hip *h, int device, struct kn_hip_device *out)
{
    const struct { int attribute, *to; } ask[] = {
        { ATTR_XCDS, &out->xcds }, { ATTR_CLOCK, &out->clock_khz },
        { ATTR_MEMORY_CLOCK, &out->memory_khz },
    };
    size_t unused = 0, memory = 0;

    for (size_t i = 0; i < sizeof ask / sizeof *ask; i++)
        if (h->DeviceGetAttribute(ask[i].to, ask[i].attribute, device) ||
            *ask[i].to < 0)
            *ask[i].to = 0;
    if (h->RuntimeGetVersion(&out->runtime))
        out->runtime = 0;
    if (h->DriverGetVersion(&out->driver))
        out->driver = 0;
    if (!h->MemGetInfo(&unused, &memory))
        out->memory = memory;
}

kiln_status
kn_hip_use(struct kn_hip *h, struct kn_ctx *c, int device,
           struct kn_hip_device *out)
{
    int major = 0, minor = 0;

    memset(out, 0, sizeof *out);
    if (device < 0 || device >= h->count)
        return kn_fail(c, KILN_NO_DEVICE, "no device hip:%d, there %s %d",
                       device, h->count == 1 ? "is" : "are", h->count);
    CALL(h, c, SetDevice, device);
    CALL(h, c, DeviceGetAttribute, &major, ATTR_MAJOR, device);
    CALL(h, c, DeviceGetAttribute, &minor, ATTR_MINOR, device);
    CALL(h, c, DeviceGetAttribute, &out->cus, ATTR_CUS, device);
    CALL(h, c, DeviceGetName, out->name, sizeof out->name - 1, device);
    CALL(h, c, DeviceGetPCIBusId, out->bus, sizeof out->bus - 1, device);
    out->target = target_of(major, minor);
    ask_more(h, device, out);
    return KILN_OK;
}

kiln_status
kn_hip_select(struct kn_hip *h, struct kn_ctx *c, int device)
{
    CALL(h, c, SetDevice, device);
    return KILN_OK;
}

kiln_status
kn_hip_alloc(struct kn_hip *h, struct kn_ctx *c, size_t n, void **out)
{
    CALL(h, c, Malloc, out, n ? n : 1);
    return KILN_OK;
}

kiln_status
kn_hip_free(struct kn_hip *h, struct kn_ctx *c, void *p)
{
    CALL(h, c, Free, p);
    return KILN_OK;
}

kiln_status
kn_hip_upload(struct kn_hip *h, struct kn_ctx *c, void *dst, const void *src,
              size_t n)
{
    if (n)
        CALL(h, c, Memcpy, dst, src, n, HOST_TO_DEVICE);
    return KILN_OK;
}

kiln_status
kn_hip_download(struct kn_hip *h, struct kn_ctx *c, void *dst,
                const void *src, size_t n)
{
    if (n)
        CALL(h, c, Memcpy, dst, src, n, DEVICE_TO_HOST);
    return KILN_OK;
}

kiln_status
kn_hip_fill(struct kn_hip *h, struct kn_ctx *c, void *dst, int byte, size_t n)
{
    if (n)
        CALL(h, c, Memset, dst, byte, n);
    return KILN_OK;
}

kiln_status
kn_hip_load(struct kn_hip *h, struct kn_ctx *c, const void *co, void **module)
{
    CALL(h, c, ModuleLoadData, module, co);
    return KILN_OK;
}

kiln_status
kn_hip_unload(struct kn_hip *h, struct kn_ctx *c, void *module)
{
    CALL(h, c, ModuleUnload, module);
    return KILN_OK;
}

kiln_status
kn_hip_function(struct kn_hip *h, struct kn_ctx *c, void *module,
                const char *kernel, void **out)
{
    CALL(h, c, ModuleGetFunction, out, module, kernel);
    return KILN_OK;
}

kiln_status
kn_hip_launch(struct kn_hip *h, struct kn_ctx *c,
              const struct kn_hip_launch *l)
{
    size_t size = l->kernarg_size;
    void *extra[] = { (void *)PARAM_BUFFER, (void *)l->kernarg,
                      (void *)PARAM_SIZE, &size, (void *)PARAM_END };

    /* An empty grid is no work; HIP calls it an error. */
    if (!l->grid[0] || !l->grid[1] || !l->grid[2])
        return KILN_OK;
    CALL(h, c, ModuleLaunchKernel, l->function, l->grid[0], l->grid[1],
         l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_lds,
         l->stream, NULL, size ? extra : NULL);
    return KILN_OK;
}

kiln_status
kn_hip_enqueue_copy(struct kn_hip *h, struct kn_ctx *c,
                    const struct kn_hip_copy *m)
{
    CALL(h, c, MemcpyAsync, m->dst, m->src, m->n, HOST_TO_DEVICE, m->stream);
    return KILN_OK;
}

kiln_status
kn_hip_wait(struct kn_hip *h, struct kn_ctx *c, void *stream)
{
    CALL(h, c, StreamSynchronize, stream);
    return KILN_OK;
}

kiln_status
kn_hip_open_stream(struct kn_hip *h, struct kn_ctx *c, void **out)
{
    CALL(h, c, StreamCreateWithFlags, out, NON_BLOCKING);
    return KILN_OK;
}

kiln_status
kn_hip_close_stream(struct kn_hip *h, struct kn_ctx *c, void *stream)
{
    CALL(h, c, StreamDestroy, stream);
    return KILN_OK;
}

kiln_status
kn_hip_capture(struct kn_hip *h, struct kn_ctx *c, void *stream)
{
    CALL(h, c, StreamBeginCapture, stream, CAPTURE_THREAD_LOCAL);
    return KILN_OK;
}

kiln_status
kn_hip_captured(struct kn_hip *h, struct kn_ctx *c, void *stream,
                void **graph)
{
    void *g = NULL;
    int e;

    CALL(h, c, StreamEndCapture, stream, &g);
    e = h->GraphInstantiate(graph, g, NULL, NULL, 0);
    h->GraphDestroy(g);
    return e ? hip_error(h, c, "GraphInstantiate", e) : KILN_OK;
}

kiln_status
kn_hip_replay(struct kn_hip *h, struct kn_ctx *c, void *graph, void *stream)
{
    CALL(h, c, GraphLaunch, graph, stream);
    return KILN_OK;
}

kiln_status
kn_hip_drop_graph(struct kn_hip *h, struct kn_ctx *c, void *graph)
{
    CALL(h, c, GraphExecDestroy, graph);
    return KILN_OK;
}

static kiln_status
time_between(struct kn_hip *h, struct kn_ctx *c,
             const struct kn_hip_launch *l, int runs, void *const event[2])
{
    struct kn_hip_launch now = *l;

    CALL(h, c, EventRecord, event[0], l->stream);
    for (int i = 0; i < runs; i++) {
        if (l->nrotated)
            now.kernarg = l->rotated[(l->first + (uint32_t)i) % l->nrotated];
        KN_TRY(kn_hip_launch(h, c, &now));
    }
    CALL(h, c, EventRecord, event[1], l->stream);
    CALL(h, c, EventSynchronize, event[1]);
    return KILN_OK;
}

kiln_status
kn_hip_time(struct kn_hip *h, struct kn_ctx *c, const struct kn_hip_launch *l,
            int runs, double *us)
{
    void *event[2] = { NULL, NULL };
    float ms = 0;
    kiln_status s;
    int e = h->EventCreateWithFlags(&event[0], 0);

    if (!e)
        e = h->EventCreateWithFlags(&event[1], 0);
    s = e ? hip_error(h, c, "EventCreateWithFlags", e)
          : time_between(h, c, l, runs, event);
    if (!s) {
        e = h->EventElapsedTime(&ms, event[0], event[1]);
        s = e ? hip_error(h, c, "EventElapsedTime", e) : KILN_OK;
    }
    for (int i = 0; i < 2; i++)
        if (event[i])
            h->EventDestroy(event[i]);
    *us = (double)ms * 1000 / runs;
    return s;
}
