/* SPDX-License-Identifier: MIT */
/* The vector primitives of common/lanes.h with SSE2: four lanes. */
#ifndef QKERN_SSE2_VEC_H
#define QKERN_SSE2_VEC_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/round.h"
#include "common/step.h"

#define LANES 4

typedef __m128 vf;
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint8_t vb __attribute__((vector_size(16)));
typedef __m128 vm;

ALWAYS_INLINE vf vf_set(float v)
{
    return _mm_set1_ps(v);
}

/* Most are normal: the sign stays and the exponent grows by 112. */
ALWAYS_INLINE vf vf_set_f16(const void *p)
{
    const int32_t h = load_i16(p);
    if ((uint32_t)(h & 0x7fff) - 0x0400 < 0x7800)
        return vf_set(f32_from_bits(((uint32_t)(h * (1 << 13)) & 0x8fffe000) + (112u << 23)));
    return vf_set(f32_from_f16((uint16_t)h));
}

ALWAYS_INLINE vf vf_load(const float *p)
{
    return _mm_loadu_ps(p);
}

ALWAYS_INLINE void vf_store(float *p, vf v)
{
    _mm_storeu_ps(p, v);
}

ALWAYS_INLINE vf vf_max(vf a, vf b)
{
    return _mm_max_ps(a, b);
}

ALWAYS_INLINE vf vf_min(vf a, vf b)
{
    return _mm_min_ps(a, b);
}

/* v within [low, high]; NaN gives low. */
ALWAYS_INLINE vf vf_clamp(vf v, vf low, vf high)
{
    return _mm_min_ps(_mm_max_ps(v, low), high);
}

/* To the nearest integer, ties to even, for |v| < 2^22. */
ALWAYS_INLINE vf vf_round(vf v)
{
    return _mm_sub_ps(_mm_add_ps(v, _mm_set1_ps(RNE_SHIFT)), _mm_set1_ps(RNE_SHIFT));
}

ALWAYS_INLINE vf vf_sqrt(vf v)
{
    return _mm_sqrt_ps(v);
}

ALWAYS_INLINE vf vf_abs(vf v)
{
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), v);
}

ALWAYS_INLINE vm vf_gt(vf a, vf b)
{
    return _mm_cmpgt_ps(a, b);
}

ALWAYS_INLINE vm vf_eq(vf a, vf b)
{
    return _mm_cmpeq_ps(a, b);
}

ALWAYS_INLINE vm vf_ne(vf a, vf b)
{
    return _mm_cmpneq_ps(a, b);
}

ALWAYS_INLINE vm vm_and(vm a, vm b)
{
    return _mm_and_ps(a, b);
}

ALWAYS_INLINE vm vm_or(vm a, vm b)
{
    return _mm_or_ps(a, b);
}

ALWAYS_INLINE vm vm_without(vm a, vm b)
{
    return _mm_andnot_ps(b, a);
}

ALWAYS_INLINE uint32_t vm_bits(vm m)
{
    return (uint32_t)_mm_movemask_ps(m);
}

ALWAYS_INLINE int vm_any(vm m)
{
    return _mm_movemask_ps(m) != 0;
}

ALWAYS_INLINE int vm_all(vm m)
{
    return _mm_movemask_ps(m) == 0xf;
}

ALWAYS_INLINE vf vf_select(vm m, vf yes, vf no)
{
    return _mm_or_ps(_mm_and_ps(m, yes), _mm_andnot_ps(m, no));
}

ALWAYS_INLINE vi vi_set(int32_t v)
{
    return (vi)_mm_set1_epi32(v);
}

ALWAYS_INLINE vi vi_load(const int32_t *p)
{
    return (vi)_mm_loadu_si128((const __m128i *)p);
}

ALWAYS_INLINE void vi_store(int32_t *p, vi v)
{
    _mm_storeu_si128((__m128i *)p, (__m128i)v);
}

/* As f16, which lies side by side. */
ALWAYS_INLINE void vf_store_f16(uint16_t p[LANES], vf v)
{
    float lane[LANES];
    vf_store(lane, v);
    for (int k = 0; k < LANES; k++)
        p[k] = f16_from_f32(lane[k]);
}

ALWAYS_INLINE vi vi_from_f32(vf v)
{
    return (vi)_mm_cvttps_epi32(v);
}

ALWAYS_INLINE vi vi_round(vf v)
{
    return (vi)_mm_cvtps_epi32(v);
}

ALWAYS_INLINE vf vf_from_i32(vi v)
{
    return _mm_cvtepi32_ps((__m128i)v);
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
    const __m128i code = _mm_xor_si128((__m128i)v, _mm_set1_epi8(-128)); /* 128 more: 0 .. 255 */
    const __m128i zero = _mm_setzero_si128(), exponent = _mm_set1_epi16(0x4b00);
    const __m128i words = k < 2 ? _mm_unpacklo_epi8(code, zero) : _mm_unpackhi_epi8(code, zero);
    const __m128i bits =
        k % 2 == 0 ? _mm_unpacklo_epi16(words, exponent) : _mm_unpackhi_epi16(words, exponent);
    return (vf)bits - _mm_set1_ps(8388608.0f + 128.0f); /* an integer above 2^23 */
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
    for (int h = 0; h < 2; h++) {
        const vi *v = q + 4 * h;
        b[h] = (vb)_mm_packs_epi16(_mm_packs_epi32((__m128i)v[0], (__m128i)v[1]),
                                   _mm_packs_epi32((__m128i)v[2], (__m128i)v[3]));
    }
}

ALWAYS_INLINE void vb_load_fives(const uint8_t qs[16], const uint8_t qh[4], bool signed_codes,
                                 vb q[2])
{
    const __m128i nibbles = _mm_loadu_si128((const __m128i *)(const void *)qs);
    const __m128i nibble = _mm_set1_epi8(15);
    const __m128i low[2] = {_mm_and_si128(nibbles, nibble),
                            _mm_and_si128(_mm_srli_epi16(nibbles, 4), nibble)};
    /* Each byte of qh eight times, and of these one bit each. */
    const __m128i word = _mm_cvtsi32_si128((int32_t)load_u32(qh));
    const __m128i twice = _mm_unpacklo_epi8(word, word);
    const __m128i four = _mm_unpacklo_epi16(twice, twice);
    const __m128i spread[2] = {_mm_unpacklo_epi32(four, four), _mm_unpackhi_epi32(four, four)};
    const __m128i select = _mm_set1_epi64x((int64_t)0x8040201008040201);
    for (int h = 0; h < 2; h++) {
        const __m128i set = _mm_cmpeq_epi8(_mm_and_si128(spread[h], select), select);
        q[h] = (vb)_mm_or_si128(low[h], signed_codes
                                            ? _mm_andnot_si128(set, _mm_set1_epi8((int8_t)0xf0))
                                            : _mm_and_si128(set, _mm_set1_epi8(16)));
    }
}

ALWAYS_INLINE uint16_t vb_sign_bits(vb v)
{
    return (uint16_t)_mm_movemask_epi8((__m128i)v);
}

ALWAYS_INLINE void vf_transpose(vf v[LANES])
{
    _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]);
}

/* f32_from_f16 of half.h on four lanes; whether a NaN is quiet does not matter here. */
ALWAYS_INLINE f4 f4_from_f16(__m128i h)
{
    const __m128i sign = _mm_slli_epi32(_mm_and_si128(h, _mm_set1_epi32(0x8000)), 16);
    const __m128i magnitude = _mm_and_si128(h, _mm_set1_epi32(0x7fff));
    const __m128i rebias = _mm_set1_epi32(112 << 23);
    const __m128i infinite = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff));
    __m128i bits = _mm_add_epi32(_mm_slli_epi32(magnitude, 13), rebias);
    bits = _mm_add_epi32(bits, _mm_and_si128(infinite, rebias));

    const __m128i small = _mm_cmpgt_epi32(_mm_set1_epi32(0x0400), magnitude);
    const __m128 subnormal = _mm_mul_ps(_mm_cvtepi32_ps(magnitude), _mm_set1_ps(0x1p-24f));
    bits = _mm_or_si128(_mm_and_si128(small, (__m128i)subnormal), _mm_andnot_si128(small, bits));
    return (f4)_mm_or_si128(sign, bits);
}

/* Four f16, as f32. */
ALWAYS_INLINE f4 f4_load_f16(const void *a, const void *b, const void *c, const void *d)
{
    return f4_from_f16(
        _mm_set_epi16(0, load_i16(d), 0, load_i16(c), 0, load_i16(b), 0, load_i16(a)));
}

#endif
