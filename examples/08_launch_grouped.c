/* 08_launch_grouped.c - as 07_launch.c: the rows of three experts, each times
 * its own B; where they start is read on the device. */
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include "k.h"

enum { G = 3, M = 200, N = 136, K = 192 };
static const int64_t offsets[G + 1] = { 0, 70, 70, 200 };
static _Float16 a[M * K], b[G * N * K];
static float c[M * N];

int
main(void)
{
    struct k_args args;
    struct k_launch l;
    size_t size = K_KERNARG_SIZE;
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, &args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END };
    struct k_shape shape = { .m = M, .n = N, .k = K, .groups = G };
    const char *refused = k_plan(&shape, &args, &l);
    hipModule_t module;
    hipFunction_t kernel;
    void *da, *db, *dc, *at;

    for (int i = 0; i < M * K; i++)
        a[i] = (_Float16)(i * 7 % 5 - 2);
    for (int i = 0; i < G * N * K; i++)
        b[i] = (_Float16)(i * 3 % 7 - 3);
    if (refused)
        return puts(refused), 1;
    if (hipModuleLoad(&module, "k.co") ||
        hipModuleGetFunction(&kernel, module, K_KERNEL) ||
        hipMalloc(&da, sizeof a) || hipMalloc(&db, sizeof b) ||
        hipMalloc(&dc, sizeof c) || hipMalloc(&at, sizeof offsets) ||
        hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice) ||
        hipMemcpy(db, b, sizeof b, hipMemcpyHostToDevice) ||
        hipMemcpy(at, offsets, sizeof offsets, hipMemcpyHostToDevice))
        return puts("HIP failed"), 1;
    args.a = da, args.b = db, args.c = dc, args.offsets = at;
    if (hipModuleLaunchKernel(kernel, l.grid, 1, 1, l.block, 1, 1, 0, NULL, NULL, extra) ||
        hipMemcpy(c, dc, sizeof c, hipMemcpyDeviceToHost))
        return puts("the launch failed"), 1;
    return fwrite(c, sizeof c, 1, stdout) != 1;
}
