/* mfma_vec_avx2.c - the product sum, 8 columns at a time. */
#include "mfma.h"

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
#define vi_any(a) (!_mm256_testz_si256(a, a))
#define vi_float _mm256_castsi256_ps
#define vf_bits _mm256_castps_si256
#define vf_load _mm256_loadu_ps
#define vf_store _mm256_storeu_ps
#define vf_set _mm256_set1_ps
#define vf_mul _mm256_mul_ps
#define vf_sub _mm256_sub_ps
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
#define vd_load _mm256_load_pd
#define vd_store _mm256_store_pd
#define vd_fma _mm256_fmadd_pd
#define vd_mul _mm256_mul_pd
#define vd_add _mm256_add_pd
#define vd_floor _mm256_floor_pd
static ALWAYS vf
vd_float(vd lo, vd hi)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(hi), _mm256_cvtpd_ps(lo));
}

#define vi_value _mm256_cvtepi32_ps
#define vi_any_gt(a, b) vi_any(vi_gt(a, b))
/* y where mag is at least limit, else 0. */
#define vi_drop_below(y, mag, limit) _mm256_andnot_si256(vi_gt(limit, mag), y)
#define vf_floor(a) _mm256_cvttps_epi32(_mm256_floor_ps(a))

/* Exponents of 4 rows of VL columns, a byte each. */
typedef __m256i vb;
#define vb_set _mm256_set1_epi8
#define vb_max _mm256_max_epi8
#define vb_adds _mm256_adds_epi8
static ALWAYS vb
vb_columns(const int8_t *p)
{
    long long x;

    memcpy(&x, p, sizeof x);
    return _mm256_set1_epi64x(x);
}
static ALWAYS vb
vb_rows(const int8_t *p)
{
    const __m256i row = _mm256_set_epi32(
        0x03030303, 0x03030303, 0x02020202, 0x02020202, 0x01010101, 0x01010101,
        0, 0);
    int32_t x;

    memcpy(&x, p, sizeof x);
    return _mm256_shuffle_epi8(vi_set(x), row);
}
static ALWAYS vi
vb_row(vb a, unsigned r)
{
    __m128i x = r < 2 ? _mm256_castsi256_si128(a)
                      : _mm256_extracti128_si256(a, 1);

    return _mm256_cvtepi8_epi32(r % 2 ? _mm_srli_si128(x, 8) : x);
}
static ALWAYS void
vi_store_bytes(int8_t *p, vi a)
{
    __m128i x = _mm_packs_epi32(_mm256_castsi256_si128(a),
                                _mm256_extracti128_si256(a, 1));

    _mm_storel_epi64((__m128i *)(void *)p, _mm_packs_epi16(x, x));
}

/* Element u % 16 of a table, for each lane. */
static ALWAYS vf
vf_pick(const float *t, vi u)
{
    vf low = _mm256_permutevar8x32_ps(vf_load(t), u);
    vf high = _mm256_permutevar8x32_ps(vf_load(t + 8), u);

    return _mm256_blendv_ps(low, high, vi_float(vi_sll(u, 28)));
}
static ALWAYS vi
vi_pick(const int32_t *t, vi u)
{
    return vf_bits(vf_pick((const float *)(const void *)t, u));
}

#include "mfma_kernel.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
