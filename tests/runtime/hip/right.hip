// right.hip - what HIP programs are made of, each part against the host.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) \
    do { \
        hipError_t e_ = (call); \
        if (e_ != hipSuccess) { \
            fprintf(stderr, "line %d: " #call ": %s\n", __LINE__, \
                    hipGetErrorString(e_)); \
            exit(1); \
        } \
    } while (0)

static int failed;

static void
expect(bool ok, const char *what)
{
    printf("%s %s\n", ok ? "ok" : "WRONG", what);
    failed += !ok;
}

template <typename T> static T *
device(const std::vector<T> &v)
{
    T *p;

    CHECK(hipMalloc(&p, v.size() * sizeof(T)));
    CHECK(hipMemcpy(p, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
    return p;
}

template <typename T> static std::vector<T>
host(const T *p, size_t n)
{
    std::vector<T> v(n);

    CHECK(hipMemcpy(v.data(), p, n * sizeof(T), hipMemcpyDeviceToHost));
    return v;
}

__global__ void
add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void
sum(const int *in, int *out, int n)
{
    __shared__ int part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    part[threadIdx.x] = i < n ? in[i] : 0;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (!threadIdx.x)
        atomicAdd(out, part[0]);
}

__global__ void
histogram(const unsigned char *in, unsigned *bins, int n)
{
    extern __shared__ unsigned mine[];

    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        mine[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        atomicAdd(&mine[in[i]], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        atomicAdd(&bins[k], mine[k]);
}

__global__ void
transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[16][17];
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;

    if (r < rows && c < columns)
        tile[threadIdx.y][threadIdx.x] = in[r * columns + c];
    __syncthreads();
    r = blockIdx.x * 16 + threadIdx.y;
    c = blockIdx.y * 16 + threadIdx.x;
    if (r < columns && c < rows)
        out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

__constant__ int factor[4];
__device__ int counter = 5;
__managed__ int shared_count = 7;

__global__ void
scale(int *p)
{
    p[threadIdx.x] *= factor[threadIdx.x % 4];
    if (!threadIdx.x) {
        counter += 1;
        shared_count += 10;
    }
}

__global__ void
increment(int *p)
{
    p[threadIdx.x] += 1;
}

__global__ void
hello(int n)
{
    if (threadIdx.x < 2)
        printf("thread %d of %s, %5.2f, %llx\n", (int)threadIdx.x, "device",
               n / 4.0, 0x123456789abcull);
}

typedef int (*function)(int);

__device__ __attribute__((noinline)) int
twice(int x)
{
    return 2 * x;
}

__device__ __attribute__((noinline)) int
hundred_more(int x)
{
    return x + 100;
}

__device__ __attribute__((noinline)) int
factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

__device__ function table[2] = { twice, hundred_more };

__global__ void
call(int *out)
{
    int i = threadIdx.x, keep[9];

    for (int k = 0; k < 9; k++)
        keep[k] = twice(i + k);
    out[i] = keep[i % 9] + factorial(i % 8) + table[i & 1](i);
}

static void
try_add()
{
    const int n = 1000;
    std::vector<float> a(n), b(n);

    for (int i = 0; i < n; i++)
        a[i] = float(i), b[i] = float(2 * i);
    float *da = device(a), *db = device(b), *dc = device(a);
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    CHECK(hipGetLastError());
    std::vector<float> c = host(dc, n);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += c[i] != float(3 * i);
    expect(!wrong, "vector add");
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
}

static void
try_sum()
{
    const int n = 3000;
    std::vector<int> in(n), zero(1);
    long want = 0;

    for (int i = 0; i < n; i++)
        want += in[i] = i * 7 % 11 - 3;
    int *d = device(in), *s = device(zero);
    hipLaunchKernelGGL(sum, dim3((n + 255) / 256), dim3(256), 0, 0, d, s, n);
    expect(host(s, 1)[0] == want, "reduction in LDS, atomic");
    CHECK(hipMemset(s, 0, sizeof(int)));
    hipFuncAttributes f;
    CHECK(hipFuncGetAttributes(&f, reinterpret_cast<const void *>(sum)));
    expect(f.sharedSizeBytes == 1024, "hipFuncGetAttributes");
    int blocks = 0, grid = 0, block = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, 256, 0));
    CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, sum, 0, 0));
#ifndef __OPTIMIZE__
    blocks = blocks ? 8 : 0;         // its registers are as they come
#endif
    expect(blocks == 8 && block % 64 == 0 && grid > 0, "occupancy");
    CHECK(hipFree(d));
    CHECK(hipFree(s));
}

static void
try_histogram()
{
    const int n = 5000;
    std::vector<unsigned char> in(n);
    std::vector<unsigned> zero(256), want(256);

    for (int i = 0; i < n; i++)
        want[in[i] = (unsigned char)(i * i % 251)]++;
    unsigned char *d = device(in);
    unsigned *b = device(zero);
    histogram<<<3, 128, 256 * sizeof(unsigned)>>>(d, b, n);
    expect(host(b, 256) == want, "histogram, dynamic LDS, atomics");
    CHECK(hipFree(d));
    CHECK(hipFree(b));
}

static void
try_transpose()
{
    const int rows = 37, columns = 50;
    float *pinned, *dout;
    size_t pitch = 0;
    void *wide;

    CHECK(hipHostMalloc(&pinned, rows * columns * sizeof(float), 0));
    for (int i = 0; i < rows * columns; i++)
        pinned[i] = float(i);
    CHECK(hipMalloc(&dout, rows * columns * sizeof(float)));
    transpose<<<dim3(4, 3), dim3(16, 16)>>>(pinned, dout, rows, columns);
    std::vector<float> t = host(dout, rows * columns);
    int wrong = 0;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            wrong += t[c * rows + r] != float(r * columns + c);
    expect(!wrong, "transpose of pinned memory");
    CHECK(hipMallocPitch(&wide, &pitch, columns * sizeof(float), rows));
    CHECK(hipMemset2D(wide, pitch, 0, columns * sizeof(float), rows));
    CHECK(hipMemcpy2D(wide, pitch, pinned, columns * sizeof(float),
                      7 * sizeof(float), rows, hipMemcpyDefault));
    CHECK(hipMemcpy2D(t.data(), columns * sizeof(float), wide, pitch,
                      columns * sizeof(float), rows, hipMemcpyDeviceToHost));
    wrong = 0;
    for (int i = 0; i < rows * columns; i++)
        wrong += t[i] != (i % columns < 7 ? float(i) : 0);
    expect(!wrong && pitch >= columns * sizeof(float), "rows with a pitch");
    CHECK(hipFree(wide));
    CHECK(hipFree(dout));
    CHECK(hipHostFree(pinned));
}

static void
try_variables()
{
    const int four[4] = { 1, 2, 3, 4 };
    std::vector<int> ones(64, 1);
    int n = 0, wrong = 0, *d = device(ones);
    void *at;
    size_t size;

    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factor), four, sizeof four));
    scale<<<1, 64>>>(d);
    CHECK(hipDeviceSynchronize());
    std::vector<int> v = host(d, 64);
    for (int i = 0; i < 64; i++)
        wrong += v[i] != four[i % 4];
    expect(!wrong, "constant memory");
    CHECK(hipMemcpyFromSymbol(&n, HIP_SYMBOL(counter), sizeof n));
    expect(n == 6, "device variable");
    expect(shared_count == 17, "managed variable");
    CHECK(hipGetSymbolAddress(&at, HIP_SYMBOL(counter)));
    CHECK(hipGetSymbolSize(&size, HIP_SYMBOL(factor)));
    CHECK(hipMemset(at, 0, sizeof n));
    CHECK(hipMemcpyFromSymbol(&n, HIP_SYMBOL(counter), sizeof n));
    expect(n == 0 && size == sizeof four, "address and size of variables");
    CHECK(hipFree(d));
}

static void
add_hundred(void *p)
{
    *static_cast<int *>(p) += 100;
}

static void
try_streams()
{
    std::vector<int> zero(64);
    int *d = device(zero), called = 0;
    hipStream_t one, two;
    hipEvent_t fork, join, start, stop;
    hipGraph_t graph;
    hipGraphExec_t exec;
    float ms = -1;

    CHECK(hipStreamCreate(&one));
    CHECK(hipStreamCreateWithFlags(&two, hipStreamNonBlocking));
    for (hipEvent_t *e : { &fork, &join, &start, &stop })
        CHECK(hipEventCreate(e));
    CHECK(hipEventRecord(start, one));
    increment<<<1, 64, 0, one>>>(d);
    CHECK(hipEventRecord(stop, one));
    CHECK(hipLaunchHostFunc(one, add_hundred, &called));
    CHECK(hipStreamSynchronize(one));
    CHECK(hipEventElapsedTime(&ms, start, stop));
    expect(ms >= 0 && called == 100 && host(d, 64)[63] == 1,
           "streams, events, host function");
    CHECK(hipStreamBeginCapture(one, hipStreamCaptureModeGlobal));
    increment<<<1, 64, 0, one>>>(d);
    CHECK(hipEventRecord(fork, one));
    CHECK(hipStreamWaitEvent(two, fork, 0));
    increment<<<1, 64, 0, two>>>(d);
    CHECK(hipEventRecord(join, two));
    CHECK(hipStreamWaitEvent(one, join, 0));
    increment<<<1, 64, 0, one>>>(d);
    CHECK(hipStreamEndCapture(one, &graph));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(exec, one));
    CHECK(hipGraphLaunch(exec, one));
    CHECK(hipStreamSynchronize(one));
    expect(host(d, 64)[5] == 7, "graph captured from two streams");
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipStreamDestroy(one));
    CHECK(hipStreamDestroy(two));
    CHECK(hipFree(d));
}

static void
try_graph()
{
    std::vector<int> out(64);
    int *d;
    hipGraph_t graph;
    hipGraphExec_t exec;
    hipGraphNode_t set, run, back, call;
    int called = 0;

    CHECK(hipMallocManaged(reinterpret_cast<void **>(&d), 64 * sizeof(int)));
    CHECK(hipGraphCreate(&graph, 0));
    hipHostNodeParams h = { add_hundred, &called };
    CHECK(hipGraphAddHostNode(&call, graph, nullptr, 0, &h));
    CHECK(hipGraphAddMemcpyNode1D(&back, graph, nullptr, 0, out.data(), d,
                                  64 * sizeof(int), hipMemcpyDefault));
    void *args[] = { &d };
    hipKernelNodeParams k = {};
    k.func = reinterpret_cast<void *>(increment);
    k.gridDim = dim3(1);
    k.blockDim = dim3(64);
    k.kernelParams = args;
    CHECK(hipGraphAddKernelNode(&run, graph, nullptr, 0, &k));
    hipMemsetParams m = {};
    m.dst = d;
    m.elementSize = 4;
    m.value = 41;
    m.width = 64;
    m.height = 1;
    CHECK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &m));
    hipGraphNode_t before[] = { set, run, back }, after[] = { run, back, call };
    CHECK(hipGraphAddDependencies(graph, before, after, 3));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(exec, 0));
    CHECK(hipDeviceSynchronize());
    expect(out[0] == 42 && out[63] == 42 && d[9] == 42 && called == 100,
           "graph built of nodes, in the order of their dependencies");
    CHECK(hipGraphAddDependencies(graph, &call, &set, 1));
    hipGraphExec_t none;
    expect(hipGraphInstantiate(&none, graph, nullptr, nullptr, 0) ==
               hipErrorInvalidValue, "a circle is refused");
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipFree(d));
}

static void
try_calls()
{
    std::vector<int> out(64);
    int *d = device(out), wrong = 0, product[8] = { 1 };

    for (int k = 1; k < 8; k++)
        product[k] = k * product[k - 1];
    (void)hipGetLastError();
    call<<<1, 64>>>(d);
    CHECK(hipGetLastError());
    out = host(d, 64);
    for (int i = 0; i < 64; i++)
        wrong += out[i] != 2 * (i + i % 9) + product[i % 8] +
                               (i & 1 ? i + 100 : 2 * i);
    expect(!wrong, "functions that are called, by address, by themselves");
    CHECK(hipFree(d));
}

/* A box of 3x4x5 floats out of one of 6x7x8 into pitched memory and back. */
static void
try_volume()
{
    std::vector<float> from(6 * 7 * 8), to(3 * 4 * 5, -1);
    hipPitchedPtr box;
    hipExtent extent = make_hipExtent(3 * sizeof(float), 4, 5);
    hipMemcpy3DParms p = {};
    int wrong = 0;

    for (size_t i = 0; i < from.size(); i++)
        from[i] = float(i);
    CHECK(hipMalloc3D(&box, make_hipExtent(3 * sizeof(float), 9, 5)));
    CHECK(hipMemset3D(box, 0, make_hipExtent(3 * sizeof(float), 9, 5)));
    p.srcPtr = make_hipPitchedPtr(from.data(), 6 * sizeof(float), 6, 7);
    p.srcPos = make_hipPos(2 * sizeof(float), 1, 3);
    p.dstPtr = box;
    p.dstPos = make_hipPos(0, 5, 0);
    p.extent = extent;
    p.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&p));
    p.srcPtr = box;
    p.srcPos = p.dstPos;
    p.dstPtr = make_hipPitchedPtr(to.data(), 3 * sizeof(float), 3, 4);
    p.dstPos = make_hipPos(0, 0, 0);
    p.kind = hipMemcpyDefault;
    CHECK(hipMemcpy3DAsync(&p, 0));
    for (int i = 0; i < 60; i++)
        wrong += to[i] != float((i / 12 + 3) * 42 + (i / 3 % 4 + 1) * 6 +
                                i % 3 + 2);
    expect(!wrong, "a box out of a volume and back");
    p.extent.height = 5;             // more rows than a plane of `to` has
    expect(hipMemcpy3D(&p) == hipErrorInvalidValue, "planes overlap");

    HIP_MEMCPY3D d = {};
    d.srcHost = from.data();
    d.srcPitch = d.dstPitch = 6 * sizeof(float);
    d.srcHeight = d.dstHeight = 7;
    d.dstHost = to.data();
    d.WidthInBytes = 3 * sizeof(float);
    d.Height = 2;
    d.Depth = 1;
    CHECK(hipDrvMemcpy3D(&d));
    expect(to[0] == 0 && to[8] == 8 && to[3] != 3, "hipDrvMemcpy3D");

    void *mine = box.ptr;
    CHECK(hipMemcpyPeer(mine, 0, from.data(), 0, 12));
    CHECK(hipMemcpyPeerAsync(to.data(), 0, mine, 0, 12, 0));
    expect(to[1] == 1 && hipMemcpyPeerAsync(to.data(), 1, mine, 0, 12, 0) ==
           hipErrorInvalidDevice, "peers: there is one device");
    CHECK(hipFree(mine));
}

static void
try_textures()
{
    hipArray *array;
    hipChannelFormatDesc d = hipCreateChannelDesc<float>();

    expect(d.x == 32 && hipMallocArray(&array, &d, 16, 16, 0) ==
           hipErrorNotSupported, "no textures");
}

int
main()
{
    hipDeviceProp_t p;

    CHECK(hipGetDeviceProperties(&p, 0));
    printf("%s, warp of %d\n", p.gcnArchName, p.warpSize);
    try_add();
    try_sum();
    try_histogram();
    try_transpose();
    try_variables();
    try_streams();
    try_graph();
    try_calls();
    try_volume();
    try_textures();
    hello<<<1, 64>>>(10);
    CHECK(hipDeviceSynchronize());
    return failed != 0;
}
