/* SPDX-License-Identifier: MIT */
/*
 * Dequantize by looking up: the values of all codes stand in a vector, or in two, and a permutation
 * finds the value of each code. It heeds only the low bits of an index, so codes need not be freed
 * of what else is in their bytes, and neither converted nor multiplied one by one.
 */
#ifndef QKERN_AVX512_TABLES_H
#define QKERN_AVX512_TABLES_H

#include "vec.h"

/* first, first + 1, ... */
ALWAYS_INLINE vf sixteen_from(float first)
{
    const vf numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return numbers + vf_set(first);
}

/* Two f16 side by side. */
ALWAYS_INLINE void two_set_f16(const void *p, vf *first, vf *second)
{
    const __m128 two = _mm_cvtph_ps(_mm_cvtsi32_si128((int32_t)load_u32(p)));
    *first = _mm512_broadcastss_ps(two);
    *second = _mm512_broadcastss_ps(_mm_movehdup_ps(two));
}

/* Sixteen bytes, each at the bottom of a lane. */
ALWAYS_INLINE __m512i indices(const uint8_t p[16])
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}

ALWAYS_INLINE __m512i moved_right(__m512i v, int bits)
{
    return bits >= 0 ? _mm512_srli_epi32(v, (unsigned)bits) : _mm512_slli_epi32(v, (unsigned)-bits);
}

/* The index with the bit `bit`, as it is in `from`. */
ALWAYS_INLINE __m512i with_bit(__m512i index, __m512i from, int bit)
{
    return _mm512_ternarylogic_epi32(_mm512_set1_epi32(1 << bit), from, index, 0xca);
}

/* The values of sixteen bytes: those of the low nibbles, and those of the high ones. */
ALWAYS_INLINE void nibbles_look_up(const uint8_t qs[16], vf low, vf high, float *y_low,
                                   float *y_high)
{
    const __m512i q = indices(qs);
    vf_store(y_low, _mm512_permutexvar_ps(q, low));
    vf_store(y_high, _mm512_permutexvar_ps(_mm512_srli_epi32(q, 4), high));
}

/* Values of the codes 0 .. 15, and of 16 .. 31. */
struct thirty_two {
    vf low, high;
};

/* Bit 4 of the indices is that of `fifth`. */
ALWAYS_INLINE void fives_look_up(__m512i q, __m512i fifth, struct thirty_two t, float *y)
{
    vf_store(y, _mm512_permutex2var_ps(t.low, with_bit(q, fifth, 4), t.high));
}

#endif
