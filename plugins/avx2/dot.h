/* SPDX-License-Identifier: MIT */
/* What the dot products have in common with AVX2. */
#ifndef QKERN_AVX2_DOT_H
#define QKERN_AVX2_DOT_H

#include <stdbool.h>

#include "vec.h"

ALWAYS_INLINE __m256i load_256(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

ALWAYS_INLINE __m128i load_128(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

ALWAYS_INLINE __m256i pairs_added(__m256i v)
{
    return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
}

/*
 * The four sums of each lane's int32. Unpacking and adding is what vphaddd does, in as many steps,
 * and on some CPUs in a third of its time.
 */
ALWAYS_INLINE __m256i lane_totals_32(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const __m256i cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    return _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
}

/* Lanes added. */
ALWAYS_INLINE i4 lanes_added(__m256i v)
{
    return (i4)_mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* The lanes of a added in the lower lane, those of b in the upper. */
ALWAYS_INLINE __m256i lanes_joined(__m256i a, __m256i b)
{
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                            _mm256_permute2x128_si256(a, b, 0x31));
}

#endif
