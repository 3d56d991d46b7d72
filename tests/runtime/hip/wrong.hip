// wrong.hip - four programs that a GPU may run without a word: a race, an
// access out of bounds, memory nobody wrote, a missing wait; and an assertion
// that fails.
#include <hip/hip_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void
race(int *p)
{
    __shared__ int row[256];
    row[threadIdx.x] = int(threadIdx.x);
    p[threadIdx.x] = row[(threadIdx.x + 64) % 256]; // LINE race
}

__global__ void
bounds(int *p)
{
    p[threadIdx.x + 4096] = 1;                      // LINE bounds
}

__global__ void
uninitialised(int *p, const int *q)
{
    int v = q[threadIdx.x];
    p[threadIdx.x] = v;                             // LINE uninitialised
}

__global__ void
trap(int *p)
{
    assert(p[threadIdx.x] == 1);
}

__global__ void
wait(int *p)
{
    int v;
    asm volatile("global_load_dword %0, %1, off"
                 : "=v"(v) : "v"(p + threadIdx.x));
    p[threadIdx.x + 256] = v + 1;                   // LINE wait
    asm volatile("s_waitcnt vmcnt(0)");
}

int
main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "race";
    int *p, *q;

    if (hipMalloc(&p, 2048 * sizeof *p) || hipMalloc(&q, 256 * sizeof *q) ||
        hipMemset(p, 0, 2048 * sizeof *p))
        return 3;
    if (!strcmp(which, "race"))
        race<<<1, 256>>>(p);
    else if (!strcmp(which, "bounds"))
        bounds<<<1, 256>>>(p);
    else if (!strcmp(which, "uninitialised"))
        uninitialised<<<1, 256>>>(p, q);
    else if (!strcmp(which, "trap"))
        trap<<<1, 256>>>(p);
    else
        wait<<<1, 256>>>(p);
    if (hipGetLastError() != hipSuccess && argc > 2)
        return 5;
    printf("it ran\n");
    return 0;
}
