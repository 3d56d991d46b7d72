/* mfma_vec_avx512.c - the product sum, 16 columns at a time. */
#include "mfma.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw")
#endif
#include <immintrin.h>

#define VL 16
#define ALWAYS inline __attribute__((always_inline))
#define KERNEL kn_mfma_avx512

typedef __m512 vf;
typedef __m512i vi;
typedef __m512d vd;

#define vi_load _mm512_loadu_si512
#define vi_store _mm512_storeu_si512
#define vi_set _mm512_set1_epi32
#define vi_add _mm512_add_epi32
#define vi_sub _mm512_sub_epi32
#define vi_and _mm512_and_si512
#define vi_or _mm512_or_si512
#define vi_max _mm512_max_epi32
#define vi_min _mm512_min_epi32
static ALWAYS vi
vi_sll(vi a, int n)
{
    return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n));
}
static ALWAYS vi
vi_srl(vi a, int n)
{
    return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n));
}
/* Counts from 0; any that is too large gives the sign. */
#define vi_sra _mm512_srav_epi32
static ALWAYS vi
vi_eq(vi a, vi b)
{
    return _mm512_movm_epi32(_mm512_cmpeq_epi32_mask(a, b));
}
static ALWAYS vi
vi_gt(vi a, vi b)
{
    return _mm512_movm_epi32(_mm512_cmpgt_epi32_mask(a, b));
}
static ALWAYS vi
vi_select(vi mask, vi yes, vi no)
{
    return _mm512_mask_blend_epi32(_mm512_movepi32_mask(mask), no, yes);
}
#define vi_highest _mm512_reduce_max_epi32
#define vi_lowest _mm512_reduce_min_epi32
#define vi_any(a) (_mm512_test_epi32_mask(a, a) != 0)
#define vi_float _mm512_castsi512_ps
#define vf_bits _mm512_castps_si512
#define vf_load _mm512_loadu_ps
#define vf_store _mm512_storeu_ps
#define vf_set _mm512_set1_ps
#define vf_mul _mm512_mul_ps
#define vf_sub _mm512_sub_ps
#define vf_trunc _mm512_cvttps_epi32
#define vf_fma _mm512_fmadd_ps
/* Sum of the products of two pairs of i16. */
#define vi_madd _mm512_madd_epi16
static ALWAYS __m256i
half(vi a, bool high)
{
    return high ? _mm512_extracti64x4_epi64(a, 1) : _mm512_castsi512_si256(a);
}
static ALWAYS vd
vi_double(vi a, bool high)
{
    return _mm512_cvtepi32_pd(half(a, high));
}
static ALWAYS vd
vf_double(vf a, bool high)
{
    return _mm512_cvtps_pd(_mm256_castsi256_ps(half(vf_bits(a), high)));
}
static ALWAYS vd
vi_pow2(vi e, bool high)
{
    __m512i x = _mm512_cvtepi32_epi64(half(vi_add(e, vi_set(1023)), high));

    return _mm512_castsi512_pd(_mm512_slli_epi64(x, 52));
}
#define vd_set _mm512_set1_pd
#define vd_load _mm512_load_pd
#define vd_store _mm512_store_pd
#define vd_fma _mm512_fmadd_pd
#define vd_mul _mm512_mul_pd
#define vd_add _mm512_add_pd
#define vd_floor(a) _mm512_roundscale_pd(a, 9)
static ALWAYS vf
vd_float(vd lo, vd hi)
{
    __m512d x = _mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)));

    return _mm512_castpd_ps(_mm512_insertf64x4(
        x, _mm256_castps_pd(_mm512_cvtpd_ps(hi)), 1));
}

#define vi_value _mm512_cvtepi32_ps
#define vi_any_gt(a, b) (_mm512_cmpgt_epi32_mask(a, b) != 0)
/* y where mag is at least limit, else 0. */
#define vi_drop_below(y, mag, limit) \
    _mm512_maskz_mov_epi32(_mm512_cmpge_epi32_mask(mag, limit), y)
#define vf_floor(a) \
    _mm512_cvt_roundps_epi32(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

/* Exponents of 4 rows of VL columns, a byte each. */
typedef __m512i vb;
#define vb_set _mm512_set1_epi8
#define vb_max _mm512_max_epi8
#define vb_adds _mm512_adds_epi8
static ALWAYS vb
vb_columns(const int8_t *p)
{
    return _mm512_broadcast_i32x4(
        _mm_loadu_si128((const __m128i *)(const void *)p));
}
static ALWAYS vb
vb_rows(const int8_t *p)
{
    const __m512i row = _mm512_set_epi32(
        0x03030303, 0x03030303, 0x03030303, 0x03030303, 0x02020202, 0x02020202,
        0x02020202, 0x02020202, 0x01010101, 0x01010101, 0x01010101, 0x01010101,
        0, 0, 0, 0);
    int32_t x;

    memcpy(&x, p, sizeof x);
    return _mm512_shuffle_epi8(vi_set(x), row);
}
#define vb_row(a, r) _mm512_cvtepi8_epi32(vb_quarter(a, r))
static ALWAYS __m128i
vb_quarter(vb a, unsigned r)
{
    return r == 0   ? _mm512_castsi512_si128(a)
           : r == 1 ? _mm512_extracti32x4_epi32(a, 1)
           : r == 2 ? _mm512_extracti32x4_epi32(a, 2)
                    : _mm512_extracti32x4_epi32(a, 3);
}
static ALWAYS void
vi_store_bytes(int8_t *p, vi a)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(a));
}

/* Element u % 16 of a table, for each lane. */
static ALWAYS vi
vi_pick(const int32_t *t, vi u)
{
    return _mm512_permutexvar_epi32(u, vi_load(t));
}
static ALWAYS vf
vf_pick(const float *t, vi u)
{
    return _mm512_permutexvar_ps(u, vf_load(t));
}

#include "mfma_kernel.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
