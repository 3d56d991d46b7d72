// parts.hip - a program of two object files, each with a kernel; the second
// calls a device function of the first.
#include <hip/hip_runtime.h>

#include <cstdio>

#ifdef FIRST
__device__ int
square(int x)
{
    return x * x;
}

__global__ void
seven(int *out)
{
    out[1] = 7;
}

void
launch_seven(int *out)
{
    seven<<<1, 1>>>(out);
}
#else
__device__ int square(int x);
void launch_seven(int *out);

__global__ void
squares(int *out)
{
    out[0] = square(5);
}

int
main()
{
    int *p, h[2] = { 0, 0 };

    if (hipMalloc(&p, sizeof h) != hipSuccess)
        return 2;
    squares<<<1, 1>>>(p);
    launch_seven(p);
    if (hipMemcpy(h, p, sizeof h, hipMemcpyDeviceToHost) != hipSuccess)
        return 3;
    printf("%d %d\n", h[0], h[1]);
}
#endif
