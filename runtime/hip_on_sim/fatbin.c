/* fatbin.c - what clang makes of `kernel<<<grid, block>>>(...)` and of device
 * variables: fat binaries, kernels and variables are registered before main,
 * loaded when first used. */
#include <stdlib.h>
#include <string.h>

#include "../../emit/isa/object.h"
#include "hip_api.h"
#include "shim.h"

struct fatbin {
    struct fatbin *next;
    const void *image;       /* an offload bundle */
    struct module *module;   /* NULL until the first use */
};

/* A kernel, or a variable. */
struct registered {
    struct registered *next;
    const void *host;        /* the address of the stub, or of its shadow */
    const char *name;
    struct fatbin *binary;
    void *managed;           /* memory that the variable points to, or NULL */
};

struct pending_call {
    struct kn_dim3 grid, block;
    size_t lds;
    void *stream;
};

/* Written before main and by the one thread between push and pop. */
static struct registered *registry;
static struct fatbin *binaries;
static _Thread_local struct pending_call pending;

void **
__hipRegisterFatBinary(const void *wrapper)
{
    const struct {
        uint32_t magic, version;
        const void *image, *unused;
    } *w = wrapper;
    struct fatbin *b = calloc(1, sizeof *b);

    if (b) {
        *b = (struct fatbin){ binaries, w->image, NULL };
        binaries = b;
    }
    return (void **)b;
}

static struct registered *
add_registered(void **binary, const void *host, const char *name)
{
    struct registered *r = calloc(1, sizeof *r);

    if (r) {
        *r = (struct registered){ registry, host, name,
                                  (struct fatbin *)binary, NULL };
        registry = r;
    }
    return r;
}

void
__hipRegisterFunction(void **binary, const void *host, char *device,
                      const char *name, unsigned limit, void *tid, void *bid,
                      void *block, void *grid, int *size)
{
    (void)name;
    (void)limit;
    (void)tid;
    (void)bid;
    (void)block;
    (void)grid;
    (void)size;
    add_registered(binary, host, device);
}

void
__hipRegisterVar(void **binary, void *var, char *host, char *device, int ext,
                 size_t size, int constant, int global)
{
    (void)host;
    (void)ext;
    (void)size;
    (void)constant;
    (void)global;
    add_registered(binary, var, device);
}

/* Host and device read a pointer each; *host is set before main. */
void
__hipRegisterManagedVar(void **binary, void **host, void *init,
                        const char *name, size_t size, unsigned align)
{
    struct registered *r = add_registered(binary, host, name);
    int e = enter(FN___hipRegisterManagedVar);

    (void)align;
    if (!e && r)
        e = allocate(shim_state(), &r->managed, size, OF_BOTH);
    if (!e && r && r->managed) {
        memcpy(r->managed, init, size);
        *host = r->managed;
    }
    leave(e);
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

kiln_target
registered_target(void)
{
    kiln_target found = KILN_TARGET_NONE;
    size_t size;

    for (int t = KILN_TARGET_NONE + 1; binaries && t < KILN_NTARGETS; t++)
        if ((!found || t == KN_TARGET_DEFAULT) &&
            kn_offload_find((kiln_target)t, binaries->image, SIZE_MAX, &size))
            found = (kiln_target)t;
    return found;
}

/* The device's pointers to managed memory. */
static int
set_managed(struct shim *s, const struct fatbin *b)
{
    int e = 0;

    for (const struct registered *r = registry; r && !e; r = r->next) {
        uint64_t at = (uintptr_t)r->managed;
        struct block where;

        if (r->binary != b || !r->managed ||
            find_variable(s, b->module, r->name, &where))
            continue;        /* no kernel of this target uses it */
        if (s->api->write(s->sim, where.addr, &at, sizeof at))
            e = sim_error(s, r->name, KN_hipErrorInvalidSymbol);
    }
    return e;
}

static int
find_registered(struct shim *s, const void *host, const struct registered **out)
{
    const struct registered *r = registry;
    int e;

    while (r && r->host != host)
        r = r->next;
    if (!host || !r || !r->binary)
        return KN_hipErrorInvalidDeviceFunction;
    *out = r;
    if (r->binary->module)
        return 0;
    e = load_module(s, r->binary->image, SIZE_MAX, &r->binary->module);
    return e ? e : set_managed(s, r->binary);
}

int
registered_function(struct shim *s, const void *host, struct function **out)
{
    const struct registered *r;
    int e = find_registered(s, host, &r);

    if (e)
        return e;
    *out = find_function(r->binary->module, r->name);
    return *out ? 0 : KN_hipErrorNotFound;
}

/* ---- variables ------------------------------------------------------------ */

/* `host` is the variable's shadow; older programs pass its name. */
static int
registered_variable(struct shim *s, const void *host, struct block *out)
{
    const struct registered *r;
    int e = find_registered(s, host, &r);

    if (!e && r->managed) {
        *out = *block_of(s, r->managed);
        return 0;
    }
    if (!e)
        e = find_variable(s, r->binary->module, r->name, out);
    return e == KN_hipErrorInvalidDeviceFunction || e == KN_hipErrorNotFound
               ? KN_hipErrorInvalidSymbol : e;
}

int
hipGetSymbolAddress(void **p, const void *symbol)
{
    int e = enter_for(FN_hipGetSymbolAddress, p);
    struct block b = { 0 };

    if (!e)
        e = registered_variable(shim_state(), symbol, &b);
    if (!e)
        *p = (void *)(uintptr_t)b.addr;
    return leave(e);
}

int
hipGetSymbolSize(size_t *n, const void *symbol)
{
    int e = enter_for(FN_hipGetSymbolSize, n);
    struct block b = { 0 };

    if (!e)
        e = registered_variable(shim_state(), symbol, &b);
    if (!e)
        *n = b.size;
    return leave(e);
}

/* The bytes [offset, offset + n) of a variable: to write from `other`, or to
 * read into it. */
struct part {
    const void *symbol;
    size_t n, offset;
    void *other;
    bool write;
};

static int
copy_part(struct shim *s, const struct part *p, struct stream *q)
{
    struct node n = { .kind = NODE_COPY,
                      .rows = { .width = p->n, .height = 1 } };
    struct block b;
    int e = registered_variable(s, p->symbol, &b);
    void *at;

    if (e)
        return e;
    if (p->offset > b.size || p->n > b.size - p->offset)
        return KN_hipErrorInvalidValue;
    at = (void *)(uintptr_t)(b.addr + p->offset);
    n.dst = p->write ? at : p->other;
    n.src = p->write ? p->other : at;
    return enqueue(s, &n, q);
}

static int
copy_symbol(enum hip_call f, const struct part *p, void *stream)
{
    int e = enter_for(f, p->other);

    return leave(e ? e : copy_part(shim_state(), p, stream));
}

int
hipMemcpyToSymbol(const void *symbol, const void *src, size_t n,
                  size_t offset, int kind)
{
    struct part p = { symbol, n, offset, (void *)src, true };

    (void)kind;
    return copy_symbol(FN_hipMemcpyToSymbol, &p, NULL);
}

int
hipMemcpyToSymbolAsync(const void *symbol, const void *src, size_t n,
                       size_t offset, int kind, void *stream)
{
    struct part p = { symbol, n, offset, (void *)src, true };

    (void)kind;
    return copy_symbol(FN_hipMemcpyToSymbolAsync, &p, stream);
}

int
hipMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t offset,
                    int kind)
{
    struct part p = { symbol, n, offset, dst, false };

    (void)kind;
    return copy_symbol(FN_hipMemcpyFromSymbol, &p, NULL);
}

int
hipMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t n,
                         size_t offset, int kind, void *stream)
{
    struct part p = { symbol, n, offset, dst, false };

    (void)kind;
    return copy_symbol(FN_hipMemcpyFromSymbolAsync, &p, stream);
}
