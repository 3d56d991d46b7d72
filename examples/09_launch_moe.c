/* 09_launch_moe.c - as 07_launch.c: moe's gemm2. Slot s of token t goes to
 * expert (t + s) % E; each expert's rows fill blocks of 16 (docs/moe.md). */
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include "k.h"

enum { T = 20, TOPK = 2, E = 3, BLOCK = 16, N = 64, K = 128, ROOM = 64 };
static _Float16 a[T * TOPK * K], b[E * N * K], c[T * TOPK * N];
static int32_t ids[ROOM], experts[ROOM / BLOCK], padded;
static float weights[ROOM];

static void *
device(const void *host, size_t bytes)
{
    void *p = NULL;

    return hipMalloc(&p, bytes) ||
           hipMemcpy(p, host, bytes, hipMemcpyHostToDevice) ? NULL : p;
}

static void
sort_slots(void)
{
    for (int e = 0; e < E; e++) {
        for (int i = 0; i < T * TOPK; i++)
            if ((i / TOPK + i % TOPK) % E == e)
                weights[padded] = (float)(i % 4 + 1),
                experts[padded / BLOCK] = e,
                ids[padded++] = i / TOPK | i % TOPK << 24;
        while (padded % BLOCK)
            ids[padded++] = T;
    }
}

int
main(void)
{
    struct k_args args;
    struct k_launch l;
    size_t size = K_KERNARG_SIZE;
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, &args,
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END };
    struct k_shape shape = { .m = ROOM, .n = N, .k = K, .groups = E,
                             .tokens = T, .topk = TOPK };
    const char *refused = k_plan(&shape, &args, &l);
    hipModule_t module;
    hipFunction_t kernel;

    for (int i = 0; i < T * TOPK * K; i++)
        a[i] = (_Float16)(i * 7 % 5 - 2);
    for (int i = 0; i < E * N * K; i++)
        b[i] = (_Float16)(i * 3 % 7 - 3);
    sort_slots();
    if (refused)
        return puts(refused), 1;
    args.a = device(a, sizeof a), args.b = device(b, sizeof b);
    args.c = device(c, sizeof c), args.offsets = device(ids, sizeof ids);
    args.experts = device(experts, sizeof experts);
    args.padded = device(&padded, sizeof padded);
    args.weights = device(weights, sizeof weights);
    if (hipModuleLoad(&module, "k.co") ||
        hipModuleGetFunction(&kernel, module, K_KERNEL) ||
        hipModuleLaunchKernel(kernel, l.grid, 1, 1, l.block, 1, 1, 0, NULL, NULL, extra) ||
        hipMemcpy(c, args.c, sizeof c, hipMemcpyDeviceToHost))
        return puts("the launch failed"), 1;
    return fwrite(c, sizeof c, 1, stdout) != 1;
}
