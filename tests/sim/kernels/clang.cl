/* Kernels that clang compiles at build time: what a C compiler emits, as
 * opposed to what a GEMM needs. Checked by launch_clang.c. */
#define ID ((int)(__builtin_amdgcn_workgroup_id_x() * \
                  __builtin_amdgcn_workgroup_size_x() + \
                  __builtin_amdgcn_workitem_id_x()))

/* The last workgroup is cut by n. Workgroup size: a hidden argument. */
__kernel void
vadd(__global const float *a, __global const float *b, __global float *c,
     int n)
{
    int i = ID;

    if (i < n)
        c[i] = a[i] + b[i];
}

/* Tree reduction in LDS, one atomic for each workgroup. */
__kernel void
reduce(__global const int *a, __global int *sum, int n)
{
    __local int part[256];
    int t = (int)__builtin_amdgcn_workitem_id_x();

    part[t] = ID < n ? a[ID] : 0;
    for (int s = 128; s; s /= 2) {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        if (t < s)
            part[t] += part[t + s];
    }
    if (!t)
        __scoped_atomic_fetch_add(sum, part[0], __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_DEVICE);
}

/* A private array that is indexed at run time lives in scratch. */
__kernel void
sort8(__global const int *in, __global int *out)
{
    int v[8], i = ID;

    for (int k = 0; k < 8; k++)
        v[k] = in[8 * i + k];
    for (int k = 1; k < 8; k++)
        for (int j = k; j && v[j - 1] > v[j]; j--) {
            int x = v[j];
            v[j] = v[j - 1];
            v[j - 1] = x;
        }
    for (int k = 0; k < 8; k++)
        out[8 * i + k] = v[in[8 * i + k] & 7];
}

/* 64-bit and floating-point arithmetic, division, switch, shifts. */
__kernel void
mix(__global const long *in, __global long *out, double scale)
{
    int i = ID;
    long x = in[i], y = in[i] % 7 + 3, r;

    switch (i % 5) {
    case 0: r = x / y; break;
    case 1: r = x % y; break;
    case 2: r = (long)((double)x * scale); break;
    case 3: r = (x << (y & 15)) ^ (long)((unsigned long)x >> y); break;
    default: r = (int)x / (int)y + (unsigned char)x * (short)x; break;
    }
    out[i] = r;
}

/* A constant table: read relative to the program counter. */
static __constant int table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
__kernel void
lookup(__global const int *in, __global int *out)
{
    out[ID] = table[in[ID] & 7];
}
