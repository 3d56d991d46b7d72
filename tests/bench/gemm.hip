// gemm.hip - the kernel a HIP programmer would write for the job of kiln's
// bf16 256x256x64 one: 8 waves, two LDS buffers filled straight from memory,
// 16x16x32 matrix operations, unrolled. For bench_compile.py, which times how
// long clang takes for it. C[M,N] = A[M,K] * B[N,K]^T, multiples of the tile.
// Needs nothing of HIP's headers or libraries.
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef unsigned u32x4 __attribute__((ext_vector_type(4)));

enum { BM = 256, BN = 256, BK = 64, WM = 2, WN = 4, THREADS = 64 * WM * WN };
enum { TM = BM / WM / 16, TN = BN / WN / 16 };

// A tile of 256 rows of 64 elements, 16 bytes a lane and turn; the 16-byte
// groups of a row are swapped by its number against bank conflicts.
static __attribute__((device)) inline void
fill(char *lds, const char *from, long pitch, int tid)
{
#pragma unroll
    for (int i = 0; i < BM * BK * 2 / 16 / THREADS; i++) {
        int at = i * THREADS + tid, row = at / 8, group = at % 8 ^ (row & 7);

        *(u32x4 *)(lds + at * 16) =
            *(const u32x4 *)(from + row * pitch + group * 16);
    }
}

static __attribute__((device)) inline bf16x8
part(char *lds, int row, int group)
{
    return *(bf16x8 *)(lds + row * BK * 2 + (group ^ (row & 7)) * 16);
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(2))) void
gemm(const char *a, const char *b, __bf16 *c, int m, int n, int k)
{
    __attribute__((shared)) static char la[2][BM * BK * 2];
    __attribute__((shared)) static char lb[2][BN * BK * 2];
    int tid = __builtin_amdgcn_workitem_id_x(), wave = tid / 64;
    int lane = tid % 64, tiles = n / BN, pid = __builtin_amdgcn_workgroup_id_x();
    int m0 = pid / tiles * BM, n0 = pid % tiles * BN;
    int wm = wave / WN * (BM / WM), wn = wave % WN * (BN / WN);
    long pitch = 2L * k;
    f32x4 acc[TM][TN] = {};

    a += m0 * pitch;
    b += n0 * pitch;
    fill(la[0], a, pitch, tid);
    fill(lb[0], b, pitch, tid);
    for (int left = k / BK; left > 0; left -= 2) {
#pragma unroll
        for (int s = 0; s < 2; s++) {
            __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
            __builtin_amdgcn_s_barrier();
            __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
            a += BK * 2;
            b += BK * 2;
            if (left > s + 1) {
                fill(la[1 - s], a, pitch, tid);
                fill(lb[1 - s], b, pitch, tid);
            }
#pragma unroll
            for (int kk = 0; kk < BK / 32; kk++) {
                bf16x8 fa[TM], fb[TN];
#pragma unroll
                for (int i = 0; i < TM; i++)
                    fa[i] = part(la[s], wm + i * 16 + lane % 16,
                                 kk * 4 + lane / 16);
#pragma unroll
                for (int j = 0; j < TN; j++)
                    fb[j] = part(lb[s], wn + j * 16 + lane % 16,
                                 kk * 4 + lane / 16);
#pragma unroll
                for (int i = 0; i < TM; i++)
#pragma unroll
                    for (int j = 0; j < TN; j++)
                        acc[i][j] = __builtin_amdgcn_mfma_f32_16x16x32_bf16(
                            fa[i], fb[j], acc[i][j], 0, 0, 0);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                c[(long)(m0 + wm + i * 16 + lane / 16 * 4 + r) * n + n0 + wn +
                  j * 16 + lane % 16] = (__bf16)acc[i][j][r];
}
