/* SPDX-License-Identifier: MIT */
/* The vector primitives of common/lanes.h with AVX2: eight lanes. */
#ifndef QKERN_AVX2_VEC_H
#define QKERN_AVX2_VEC_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/step.h"

#define LANES 8

typedef __m256 vf;                                   /* floats; + - * / are the operators */
typedef int32_t vi __attribute__((vector_size(32))); /* integers; + - & | << >> too */
typedef uint8_t vb __attribute__((vector_size(16)));
typedef __m256 vm; /* a truth for each lane */

ALWAYS_INLINE vf vf_set(float v)
{
    return _mm256_set1_ps(v);
}

ALWAYS_INLINE vf vf_set_f16(const void *p)
{
    return _mm256_cvtph_ps(_mm_set1_epi16(load_i16(p)));
}

ALWAYS_INLINE vf vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

ALWAYS_INLINE void vf_store(float *p, vf v)
{
    _mm256_storeu_ps(p, v);
}

/* a > b ? a : b, so b where one is NaN. */
ALWAYS_INLINE vf vf_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}

/* a < b ? a : b */
ALWAYS_INLINE vf vf_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}

/* v within [low, high]; NaN gives low. */
ALWAYS_INLINE vf vf_clamp(vf v, vf low, vf high)
{
    return _mm256_min_ps(_mm256_max_ps(v, low), high);
}

/* To the nearest integer, ties to even, for |v| < 2^22. */
ALWAYS_INLINE vf vf_round(vf v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

ALWAYS_INLINE vf vf_sqrt(vf v)
{
    return _mm256_sqrt_ps(v);
}

ALWAYS_INLINE vf vf_abs(vf v)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}

/* Comparisons with NaN are false, except vf_ne. */

ALWAYS_INLINE vm vf_gt(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}

ALWAYS_INLINE vm vf_eq(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}

ALWAYS_INLINE vm vf_ne(vf a, vf b)
{
    return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
}

ALWAYS_INLINE vm vm_and(vm a, vm b)
{
    return _mm256_and_ps(a, b);
}

ALWAYS_INLINE vm vm_or(vm a, vm b)
{
    return _mm256_or_ps(a, b);
}

/* a and not b */
ALWAYS_INLINE vm vm_without(vm a, vm b)
{
    return _mm256_andnot_ps(b, a);
}

ALWAYS_INLINE uint32_t vm_bits(vm m)
{
    return (uint32_t)_mm256_movemask_ps(m);
}

ALWAYS_INLINE int vm_any(vm m)
{
    return _mm256_movemask_ps(m) != 0;
}

ALWAYS_INLINE int vm_all(vm m)
{
    return _mm256_movemask_ps(m) == 0xff;
}

ALWAYS_INLINE vf vf_select(vm m, vf yes, vf no)
{
    return _mm256_blendv_ps(no, yes, m);
}

ALWAYS_INLINE vi vi_set(int32_t v)
{
    return (vi)_mm256_set1_epi32(v);
}

ALWAYS_INLINE vi vi_load(const int32_t *p)
{
    return (vi)_mm256_loadu_si256((const __m256i *)p);
}

ALWAYS_INLINE void vi_store(int32_t *p, vi v)
{
    _mm256_storeu_si256((__m256i *)p, (__m256i)v);
}

/* As f16, which lies side by side. */
ALWAYS_INLINE void vf_store_f16(uint16_t p[LANES], vf v)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/* Toward zero. */
ALWAYS_INLINE vi vi_from_f32(vf v)
{
    return (vi)_mm256_cvttps_epi32(v);
}

ALWAYS_INLINE vi vi_bits(vf v)
{
    return (vi)v;
}

ALWAYS_INLINE vf vf_from_bits(vi v)
{
    return (vf)v;
}

ALWAYS_INLINE vi vi_round(vf v)
{
    return (vi)_mm256_cvtps_epi32(v);
}

ALWAYS_INLINE vf vf_from_i32(vi v)
{
    return _mm256_cvtepi32_ps((__m256i)v);
}

ALWAYS_INLINE vf vf_from_bytes(vb v, int k)
{
    const __m128i bytes = (__m128i)v;
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(k == 0 ? bytes : _mm_unpackhi_epi64(bytes, bytes)));
}

/* Shifts of words: what crosses over to another byte is masked, or is not there. */

ALWAYS_INLINE vb vb_bits(vb v, int at, int mask)
{
    return (vb)_mm_and_si128(_mm_srli_epi16((__m128i)v, at), _mm_set1_epi8((int8_t)mask));
}

ALWAYS_INLINE vb vb_left(vb v, int n)
{
    return (vb)_mm_slli_epi16((__m128i)v, n);
}

ALWAYS_INLINE void vb_load_fives(const uint8_t qs[16], const uint8_t qh[4], bool signed_codes,
                                 vb q[2])
{
    const __m128i nibbles = _mm_loadu_si128((const __m128i *)(const void *)qs);
    const __m256i low = _mm256_and_si256(
        _mm256_srlv_epi64(_mm256_broadcastsi128_si256(nibbles), _mm256_set_epi64x(4, 4, 0, 0)),
        _mm256_set1_epi8(15));
    /* Each byte of qh eight times, and of these one bit each. */
    const __m256i spread = _mm256_shuffle_epi8(
        _mm256_set1_epi32((int32_t)load_u32(qh)),
        _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0));
    const __m256i select = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, select), select);
    const __m256i high = signed_codes ? _mm256_andnot_si256(set, _mm256_set1_epi8((int8_t)0xf0))
                                      : _mm256_and_si256(set, _mm256_set1_epi8(16));
    const __m256i codes = _mm256_or_si256(low, high);
    q[0] = (vb)_mm256_castsi256_si128(codes);
    q[1] = (vb)_mm256_extracti128_si256(codes, 1);
}

ALWAYS_INLINE void vb_narrow(const vi q[32 / LANES], vb b[2])
{
    const __m256i low = _mm256_packs_epi32((__m256i)q[0], (__m256i)q[1]);
    const __m256i high = _mm256_packs_epi32((__m256i)q[2], (__m256i)q[3]);
    const __m256i mixed = _mm256_packs_epi16(low, high); /* in halves of q: 0 1 2 3, 0 1 2 3 */
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(mixed, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0));
    b[0] = (vb)_mm256_castsi256_si128(bytes);
    b[1] = (vb)_mm256_extracti128_si256(bytes, 1);
}

/* Bit i is the highest of byte i. */
ALWAYS_INLINE uint16_t vb_sign_bits(vb v)
{
    return (uint16_t)_mm_movemask_epi8((__m128i)v);
}

/* Rows to columns: lane g of v[i] becomes lane i of v[g]. */
ALWAYS_INLINE void vf_transpose(vf v[LANES])
{
    vf a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

/* Four f16, as f32. */
ALWAYS_INLINE f4 f4_load_f16(const void *a, const void *b, const void *c, const void *d)
{
    __m128i h = _mm_cvtsi32_si128(load_u16(a));
    h = _mm_insert_epi16(h, load_u16(b), 1);
    h = _mm_insert_epi16(h, load_u16(c), 2);
    h = _mm_insert_epi16(h, load_u16(d), 3);
    return (f4)_mm_cvtph_ps(h);
}

#endif
