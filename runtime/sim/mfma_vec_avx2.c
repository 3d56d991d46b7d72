/* mfma_vec_avx2.c - the product sum, 8 columns at a time. */
#include "mfma.h"
#include "mfma_vec.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#include <immintrin.h>

#define VL 8
#define ALWAYS inline __attribute__((always_inline))
#define KERNEL kn_mfma_avx2

typedef __m256 vf;
typedef __m256i vi;
typedef __m256d vd;

static ALWAYS vi
vi_load(const int32_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static ALWAYS void
vi_store(int32_t *p, vi x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}
#define vi_set _mm256_set1_epi32
#define vi_add _mm256_add_epi32
#define vi_sub _mm256_sub_epi32
#define vi_and _mm256_and_si256
#define vi_or _mm256_or_si256
#define vi_max _mm256_max_epi32
#define vi_min _mm256_min_epi32
static ALWAYS vi
vi_sll(vi a, int n)
{
    return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n));
}
static ALWAYS vi
vi_srl(vi a, int n)
{
    return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n));
}
/* Counts from 0; any that is too large gives the sign. */
#define vi_sra _mm256_srav_epi32
#define vi_eq _mm256_cmpeq_epi32
#define vi_gt _mm256_cmpgt_epi32
static ALWAYS vi
vi_select(vi mask, vi yes, vi no)
{
    return _mm256_blendv_epi8(no, yes, mask);
}
static ALWAYS int
vi_highest(vi a)
{
    int32_t x[8], most = INT32_MIN;

    vi_store(x, a);
    for (int n = 0; n < 8; n++)
        most = x[n] > most ? x[n] : most;
    return most;
}
static ALWAYS int
vi_lowest(vi a)
{
    return -vi_highest(vi_sub(vi_set(0), a));
}
#define vi_any(a) !_mm256_testz_si256(a, a)
#define vi_float _mm256_castsi256_ps
#define vf_bits _mm256_castps_si256
#define vf_load _mm256_loadu_ps
#define vf_store _mm256_storeu_ps
#define vf_set _mm256_set1_ps
#define vf_mul _mm256_mul_ps
#define vf_trunc _mm256_cvttps_epi32
#define vf_fma _mm256_fmadd_ps
/* Sum of the products of two pairs of i16. */
#define vi_madd _mm256_madd_epi16
static ALWAYS __m128i
half(vi a, bool high)
{
    return high ? _mm256_extracti128_si256(a, 1) : _mm256_castsi256_si128(a);
}
static ALWAYS vd
vi_double(vi a, bool high)
{
    return _mm256_cvtepi32_pd(half(a, high));
}
static ALWAYS vd
vf_double(vf a, bool high)
{
    return _mm256_cvtps_pd(_mm_castsi128_ps(half(vf_bits(a), high)));
}
static ALWAYS vd
vi_pow2(vi e, bool high)
{
    __m256i x = _mm256_cvtepi32_epi64(half(vi_add(e, vi_set(1023)), high));

    return _mm256_castsi256_pd(_mm256_slli_epi64(x, 52));
}
#define vd_set _mm256_set1_pd
#define vd_mul _mm256_mul_pd
#define vd_add _mm256_add_pd
#define vd_floor _mm256_floor_pd
static ALWAYS vf
vd_float(vd lo, vd hi)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(hi), _mm256_cvtpd_ps(lo));
}

#include "mfma_kernel.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
