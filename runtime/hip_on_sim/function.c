/* function.c - what a kernel needs, and how many of its workgroups fit a
 * compute unit. */
#include <string.h>

#include "hip_api.h"
#include "shim.h"

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

/* Workgroups of `block` work-items on a compute unit: 4 SIMDs of at most 8
 * waves and 512 registers a lane. */
static int
resident(const struct function *f, int block, size_t lds)
{
    size_t most = kn_targets[shim_state()->target].lds, used;
    unsigned regs = f->kernel->regs ? f->kernel->regs : 8;
    int waves = block / 64 + (block % 64 > 0);
    int n = (int)(512 / regs < 8 ? 512 / regs : 8) * 4 / waves;

    used = f->kernel->lds + lds;
    if (used < lds)
        return 0;
    return used && most / used < (size_t)n ? (int)(most / used) : n;
}

/* The handle, or the kernel of a host function. */
static int
function_of(const void *host, struct function **f)
{
    return registered_function(shim_state(), host, f);
}

static int
count_resident(const struct function *f, int block, size_t lds, int *n)
{
    if (!f || block < 1 || block > (int)f->kernel->max_workgroup)
        return KN_hipErrorInvalidValue;
    *n = resident(f, block, lds);
    return 0;
}

int
hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function,
                                                   int block, size_t lds)
{
    int e = enter_for(FN_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
                      n);

    return leave(e ? e : count_resident(function, block, lds, n));
}

int
hipOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *host,
                                             int block, size_t lds)
{
    int e = enter_for(FN_hipOccupancyMaxActiveBlocksPerMultiprocessor, n);
    struct function *f = NULL;

    if (!e)
        e = function_of(host, &f);
    return leave(e ? e : count_resident(f, block, lds, n));
}

int
hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *host,
                                                      int block, size_t lds,
                                                      unsigned flags)
{
    (void)flags;
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(n, host, block, lds);
}

/* The smallest block that keeps the most waves resident, at most `limit`
 * work-items (0: any), and the workgroups of all compute units. */
static void
best_block(const struct function *f, size_t lds, int limit, int out[2])
{
    int most = (int)f->kernel->max_workgroup, best = -1;

    if (limit > 0 && limit < most)
        most = limit;
    for (int block = most < 64 ? most : 64; block <= most; block += 64) {
        int n = resident(f, block, lds);

        if (n * block > best) {
            best = n * block;
            out[1] = block;
            out[0] = n * (int)shim_state()->cus;
        }
    }
}

int
hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *host,
                                  size_t lds, int limit)
{
    int e = enter_for(FN_hipOccupancyMaxPotentialBlockSize,
                      grid ? block : NULL);
    struct function *f = NULL;
    int out[2] = { 0, 0 };

    if (!e)
        e = function_of(host, &f);
    if (!e) {
        best_block(f, lds, limit, out);
        *grid = out[0];
        *block = out[1];
    }
    return leave(e);
}

int
hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function,
                                        size_t lds, int limit)
{
    int e = enter_for(FN_hipModuleOccupancyMaxPotentialBlockSize,
                      grid && function ? block : NULL);
    int out[2] = { 0, 0 };

    if (!e) {
        best_block(function, lds, limit, out);
        *grid = out[0];
        *block = out[1];
    }
    return leave(e);
}

int
hipFuncGetAttributes(void *out, const void *host)
{
    /* hipFuncAttributes */
    struct {
        int binary, cache;
        size_t constant, local;
        int dynamic, threads, regs, carveout, ptx;
        size_t shared;
    } a = { 0 };
    int e = enter_for(FN_hipFuncGetAttributes, out);
    struct function *f = NULL;

    if (!e)
        e = function_of(host, &f);
    if (!e) {
        a.local = f->kernel->scratch;
        a.shared = f->kernel->lds;
        a.dynamic = (int)(kn_targets[shim_state()->target].lds -
                          f->kernel->lds);
        a.threads = (int)f->kernel->max_workgroup;
        a.regs = (int)f->kernel->regs;
        memcpy(out, &a, sizeof a);
    }
    return leave(e);
}

int
hipFuncSetAttribute(const void *host, int which, int value)
{
    int e = enter_for(FN_hipFuncSetAttribute, host);

    (void)which;             /* all of LDS may be asked for anyway */
    return leave(e ? e : value < 0 ? KN_hipErrorInvalidValue : 0);
}

int
hipFuncSetCacheConfig(const void *host, int config)
{
    (void)config;
    return leave(enter_for(FN_hipFuncSetCacheConfig, host));
}

int
hipFuncSetSharedMemConfig(const void *host, int config)
{
    (void)config;
    return leave(enter_for(FN_hipFuncSetSharedMemConfig, host));
}
