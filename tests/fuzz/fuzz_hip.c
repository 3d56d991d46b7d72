/* fuzz_hip.c - a program of HIP calls on the shim, a byte a choice: sizes,
 * kinds, flags and names of any value, results that nobody wants, handles that
 * are NULL, code that is any bytes. What HIP cannot know is not tried: handles
 * that are gone, host memory that is not there. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gen/gen.h"
#include "runtime/hip_on_sim/hip_api.h"

enum { HANDLES = 4, HOST = 4096 };

struct program {
    const uint8_t *p, *end;
    void *device[HANDLES], *stream[HANDLES], *event[HANDLES];
    void *graph[HANDLES], *exec[HANDLES], *module[HANDLES];
    void *function;          /* of ours */
    uint8_t host[HOST];
};

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const char bundle_id[] = "hip-amdgcn-amd-amdhsa--gfx950";

/* An offload bundle of one kernel. */
static void
make_bundle(const uint8_t **p, size_t *n)
{
    const struct kn_generated *g = fuzz_kernel(0);
    size_t id = sizeof bundle_id - 1, head = 24 + 8 + 24 + id;
    uint64_t number[4] = { 1, head, g->size, id };
    uint8_t *b = malloc(head + g->size);

    if (!b)
        abort();
    memcpy(b, bundle_magic, 24);
    memcpy(b + 24, number, sizeof number);
    memcpy(b + 24 + sizeof number, bundle_id, id);
    memcpy(b + head, g->co, g->size);
    *p = b;
    *n = head + g->size;
}

bool
fuzz_seed(unsigned i, const uint8_t **p, size_t *n)
{
    static uint8_t calls[512];

    if (i == 0) {
        for (size_t k = 0; k < sizeof calls; k++)
            calls[k] = (uint8_t)kn_mix(k);
        *p = calls;
        *n = sizeof calls;
    } else if (i == 1) {
        *p = fuzz_kernel(0)->co;
        *n = fuzz_kernel(0)->size;
    } else if (i == 2) {
        make_bundle(p, n);
    }
    return i < 3;
}

static unsigned
take(struct program *r)
{
    return r->p < r->end ? *r->p++ : 0;
}

static size_t
take_size(struct program *r)
{
    static const size_t odd[] = { 0, 1, 64, 4095, 4096, 65536, (size_t)1 << 28,
                                  (size_t)1 << 40, SIZE_MAX };

    return odd[take(r) % (sizeof odd / sizeof *odd)];
}

/* Where a result goes, or nowhere. */
static void **
place(struct program *r, void **slot)
{
    return take(r) % 8 ? slot : NULL;
}

static void **
one_of(struct program *r, void **pool)
{
    return &pool[take(r) % HANDLES];
}

/* A device address or NULL; `n` is cut to what host memory has. */
static void *
memory(struct program *r, size_t *n)
{
    unsigned k = take(r);

    if (k % 4 == 0) {
        *n = *n < HOST ? *n : HOST;
        return r->host;
    }
    if (k % 16 == 1 || !r->device[k % HANDLES])
        return NULL;
    return (void *)((uintptr_t)r->device[k % HANDLES] + take(r) % 3);
}

/* ---- groups of calls ----------------------------------------------------- */

static void
call_memory(struct program *r)
{
    void **d = one_of(r, r->device), *to, *from;
    size_t n = take_size(r);

    switch (take(r) % 6) {
    case 0:
        if (!*d)
            hipMalloc(place(r, d), n);
        break;
    case 1:
        hipFree(*d);
        *d = NULL;
        break;
    case 2:
        to = memory(r, &n);
        from = memory(r, &n);
        hipMemcpy(to, from, n, (int)(take(r) % 7) - 1);
        break;
    case 3:
        to = memory(r, &n);
        from = memory(r, &n);
        hipMemcpyAsync(to, from, n, (int)(take(r) % 7) - 1,
                       *one_of(r, r->stream));
        break;
    case 4:
        hipMemset(*d, (int)take(r), n);
        break;
    case 5:
        hipMemsetAsync(*d, (int)take(r), n, *one_of(r, r->stream));
        break;
    }
}

static void
call_stream(struct program *r)
{
    void **s = one_of(r, r->stream), **g = one_of(r, r->graph);
    void **x = one_of(r, r->exec);
    int status;

    switch (take(r) % 9) {
    case 0:
        if (!*s)
            hipStreamCreateWithFlags(place(r, s), take(r) % 3);
        break;
    case 1:
        hipStreamDestroy(*s);
        *s = NULL;
        break;
    case 2:
        hipStreamBeginCapture(*s, (int)(take(r) % 5) - 1);
        break;
    case 3:
        if (!*g)
            hipStreamEndCapture(*s, place(r, g));
        break;
    case 4:
        hipStreamIsCapturing(*s, take(r) % 4 ? &status : NULL);
        break;
    case 5:
        if (!*x)
            hipGraphInstantiate(place(r, x), *g, NULL, NULL, 0);
        break;
    case 6:
        hipGraphLaunch(*x, *s);
        break;
    case 7:
        hipGraphDestroy(*g);
        *g = NULL;
        break;
    case 8:
        hipGraphExecDestroy(*x);
        *x = NULL;
        break;
    }
}

static void
call_event(struct program *r)
{
    void **a = one_of(r, r->event), **b = one_of(r, r->event);
    float ms;

    switch (take(r) % 5) {
    case 0:
        if (!*a)
            hipEventCreateWithFlags(place(r, a), take(r));
        break;
    case 1:
        hipEventRecord(*a, *one_of(r, r->stream));
        break;
    case 2:
        hipEventElapsedTime(take(r) % 4 ? &ms : NULL, *a, *b);
        break;
    case 3:
        hipEventDestroy(*a);
        *a = NULL;
        break;
    case 4:
        hipEventQuery(*a);
        hipEventSynchronize(*a);
        break;
    }
}

static void
call_device(struct program *r)
{
    char name[64];
    size_t a, b;
    int v, out = take(r) % 4;

    switch (take(r) % 9) {
    case 0: hipGetDeviceCount(out ? &v : NULL); break;
    case 1: hipSetDevice((int)(take(r) % 4) - 1); break;
    case 2: hipGetDevice(out ? &v : NULL); break;
    case 3:
        hipDeviceGetAttribute(out ? &v : NULL, (int)take_size(r),
                              (int)(take(r) % 3) - 1);
        break;
    case 4:
        hipDeviceGetName(out ? name : NULL, (int)(take(r) % 66) - 1,
                         (int)(take(r) % 3) - 1);
        break;
    case 5:
        hipDeviceGetPCIBusId(out ? name : NULL, (int)(take(r) % 66) - 1, 0);
        break;
    case 6: hipDeviceTotalMem(out ? &a : NULL, 0); break;
    case 7: hipMemGetInfo(out ? &a : NULL, take(r) % 4 ? &b : NULL); break;
    case 8:
        hipRuntimeGetVersion(out ? &v : NULL);
        hipDriverGetVersion(out ? &v : NULL);
        hipDeviceGet(out ? &v : NULL, (int)(take(r) % 3) - 1);
        break;
    }
}

static void
call_module(struct program *r)
{
    void **m = one_of(r, r->module), *f = NULL, *g;
    size_t n;
    int v;

    switch (take(r) % 5) {
    case 0:
        if (!*m)
            hipModuleLoad(place(r, m), take(r) % 8 ? "x.co" : NULL);
        break;
    case 1:
        hipModuleUnload(*m);
        *m = NULL;
        break;
    case 2:
        hipModuleGetFunction(place(r, &f), *m, take(r) % 4 ? "k" : NULL);
        break;
    case 3:
        hipModuleGetGlobal(place(r, &g), take(r) % 2 ? &n : NULL, *m, "g");
        break;
    case 4:
        f = take(r) % 4 ? r->function : NULL;
        hipFuncGetAttribute(take(r) % 4 ? &v : NULL, (int)take_size(r), f);
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
            take(r) % 4 ? &v : NULL, f, (int)take_size(r), take_size(r));
        break;
    }
}

/* All arguments are zero, so that the kernel has nothing to do for long. */
static void
call_launch(struct program *r)
{
    static uint8_t zeros[512];
    size_t size = take(r) % 2 ? sizeof zeros : take(r);
    void *extra[] = { (void *)1, zeros, (void *)2, &size, (void *)3 };
    void *f = take(r) % 4 ? r->function : NULL;

    hipModuleLaunchKernel(f, take(r) % 3, take(r) % 3, 1,
                          take(r) % 2 ? 256 : take(r) * 8, take(r) % 3, 1,
                          (unsigned)take_size(r), *one_of(r, r->stream), NULL,
                          take(r) % 4 ? extra : NULL);
}

static void (*const groups[])(struct program *r) = {
    call_memory, call_memory, call_stream, call_stream, call_event,
    call_device, call_module, call_launch,
};

static void
clear(struct program *r)
{
    for (unsigned i = 0; i < HANDLES; i++) {
        void *graph;

        if (r->stream[i]) {
            if (!hipStreamEndCapture(r->stream[i], &graph))
                hipGraphDestroy(graph);
            hipStreamDestroy(r->stream[i]);
        }
        hipGraphDestroy(r->graph[i]);
        hipGraphExecDestroy(r->exec[i]);
        hipEventDestroy(r->event[i]);
        hipFree(r->device[i]);
        if (r->module[i])
            hipModuleUnload(r->module[i]);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static void *own, *function;
    struct program r = { .p = p, .end = p + n };
    const char *name = fuzz_kernel(0)->name;

    setenv("KILNC_SHIM_LOG", "/dev/null", 1);
    if (!own && (hipModuleLoadData(&own, fuzz_kernel(0)->co) ||
                 hipModuleGetFunction(&function, own, name)))
        abort();
    r.function = function;
    fuzz_write("x.co", p, n);
    hipModuleLoad(&r.module[0], "x.co");
    for (unsigned i = 0; i < 200 && r.p < r.end; i++)
        groups[take(&r) % (sizeof groups / sizeof *groups)](&r);
    clear(&r);
    return 0;
}
