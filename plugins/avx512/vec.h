/* SPDX-License-Identifier: MIT */
/* The vector primitives of common/lanes.h with AVX-512: sixteen lanes. */
#ifndef QKERN_AVX512_VEC_H
#define QKERN_AVX512_VEC_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/step.h"

#define LANES 16

typedef __m512 vf;
typedef int32_t vi __attribute__((vector_size(64)));
typedef uint8_t vb __attribute__((vector_size(16)));
typedef __mmask16 vm;

ALWAYS_INLINE vf vf_set(float v)
{
    return _mm512_set1_ps(v);
}

ALWAYS_INLINE vf vf_set_f16(const void *p)
{
    return _mm512_cvtph_ps(_mm256_set1_epi16(load_i16(p)));
}

ALWAYS_INLINE vf vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

ALWAYS_INLINE void vf_store(float *p, vf v)
{
    _mm512_storeu_ps(p, v);
}

ALWAYS_INLINE vf vf_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}

ALWAYS_INLINE vf vf_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}

/* v within [low, high]; NaN gives low. */
ALWAYS_INLINE vf vf_clamp(vf v, vf low, vf high)
{
    return _mm512_min_ps(_mm512_max_ps(v, low), high);
}

/* To the nearest integer, ties to even, for |v| < 2^22. */
ALWAYS_INLINE vf vf_round(vf v)
{
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

ALWAYS_INLINE vf vf_sqrt(vf v)
{
    return _mm512_sqrt_ps(v);
}

ALWAYS_INLINE vf vf_abs(vf v)
{
    return _mm512_abs_ps(v);
}

ALWAYS_INLINE vm vf_gt(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

ALWAYS_INLINE vm vf_eq(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

ALWAYS_INLINE vm vf_ne(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}

ALWAYS_INLINE vm vm_and(vm a, vm b)
{
    return (vm)(a & b);
}

ALWAYS_INLINE vm vm_or(vm a, vm b)
{
    return (vm)(a | b);
}

ALWAYS_INLINE vm vm_without(vm a, vm b)
{
    return (vm)(a & ~b);
}

ALWAYS_INLINE uint32_t vm_bits(vm m)
{
    return m;
}

ALWAYS_INLINE int vm_any(vm m)
{
    return m != 0;
}

ALWAYS_INLINE int vm_all(vm m)
{
    return m == 0xffff;
}

ALWAYS_INLINE vf vf_select(vm m, vf yes, vf no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

ALWAYS_INLINE vi vi_set(int32_t v)
{
    return (vi)_mm512_set1_epi32(v);
}

ALWAYS_INLINE vi vi_load(const int32_t *p)
{
    return (vi)_mm512_loadu_si512(p);
}

ALWAYS_INLINE void vi_store(int32_t *p, vi v)
{
    _mm512_storeu_si512(p, (__m512i)v);
}

/* As f16, which lies side by side. */
ALWAYS_INLINE void vf_store_f16(uint16_t p[LANES], vf v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

ALWAYS_INLINE vi vi_from_f32(vf v)
{
    return (vi)_mm512_cvttps_epi32(v);
}

ALWAYS_INLINE vi vi_round(vf v)
{
    return (vi)_mm512_cvtps_epi32(v);
}

ALWAYS_INLINE vf vf_from_i32(vi v)
{
    return _mm512_cvtepi32_ps((__m512i)v);
}

ALWAYS_INLINE vi vi_bits(vf v)
{
    return (vi)v;
}

ALWAYS_INLINE vf vf_from_bits(vi v)
{
    return (vf)v;
}

ALWAYS_INLINE vf vf_from_bytes(vb v, int k)
{
    (void)k;
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32((__m128i)v));
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

ALWAYS_INLINE void vb_narrow(const vi q[32 / LANES], vb b[2])
{
    b[0] = (vb)_mm512_cvtepi32_epi8((__m512i)q[0]);
    b[1] = (vb)_mm512_cvtepi32_epi8((__m512i)q[1]);
}

ALWAYS_INLINE void vb_load_fives(const uint8_t qs[16], const uint8_t qh[4], bool signed_codes,
                                 vb q[2])
{
    const __m256i nibbles =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)qs));
    const __m256i low = _mm256_and_si256(_mm256_srlv_epi64(nibbles, _mm256_set_epi64x(4, 4, 0, 0)),
                                         _mm256_set1_epi8(15));
    const __mmask32 set = load_u32(qh);
    const __m256i codes =
        signed_codes
            ? _mm256_mask_blend_epi8(set, _mm256_or_si256(low, _mm256_set1_epi8((int8_t)0xf0)), low)
            : _mm256_mask_blend_epi8(set, low, _mm256_or_si256(low, _mm256_set1_epi8(16)));
    q[0] = (vb)_mm256_castsi256_si128(codes);
    q[1] = (vb)_mm256_extracti128_si256(codes, 1);
}

ALWAYS_INLINE uint16_t vb_sign_bits(vb v)
{
    return (uint16_t)_mm_movepi8_mask((__m128i)v);
}

ALWAYS_INLINE void vf_transpose(vf v[LANES])
{
    vf a[16], b[16];
    for (int i = 0; i < 16; i += 2) {
        a[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_shuffle_f32x4(b[i], b[i + 4], 0x88);
        a[i + 4] = _mm512_shuffle_f32x4(b[i], b[i + 4], 0xdd);
        a[i + 8] = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0xdd);
        v[i + 4] = _mm512_shuffle_f32x4(a[i + 4], a[i + 12], 0x88);
        v[i + 12] = _mm512_shuffle_f32x4(a[i + 4], a[i + 12], 0xdd);
    }
}

/* Four f16, as f32. */
ALWAYS_INLINE f4 f4_load_f16(const void *a, const void *b, const void *c, const void *d)
{
    uint16_t h[4];
    memcpy(&h[0], a, 2);
    memcpy(&h[1], b, 2);
    memcpy(&h[2], c, 2);
    memcpy(&h[3], d, 2);
    return (f4)_mm_cvtph_ps(
        _mm_set_epi16(0, 0, 0, 0, (int16_t)h[3], (int16_t)h[2], (int16_t)h[1], (int16_t)h[0]));
}

#endif
