/* SPDX-License-Identifier: MIT */
/*
 * What the dot products have in common with SSE2. There is no product of bytes, so bytes become
 * int16: the even ones of sixteen and the odd ones, which takes an instruction or two each and, as
 * both factors are parted alike, changes no sum.
 */
#ifndef QKERN_SSE2_DOT_H
#define QKERN_SSE2_DOT_H

#include "common/dots.h"
#include "vec.h"

ALWAYS_INLINE __m128i load_128(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* Sixteen bytes as int16. */
struct words {
    __m128i even;
    __m128i odd;
};

ALWAYS_INLINE struct words words_signed(__m128i bytes)
{
    return (struct words){_mm_srai_epi16(_mm_slli_epi16(bytes, 8), 8), _mm_srai_epi16(bytes, 8)};
}

ALWAYS_INLINE struct words words_unsigned(__m128i bytes)
{
    return (struct words){_mm_and_si128(bytes, _mm_set1_epi16(0xff)), _mm_srli_epi16(bytes, 8)};
}

/* The products of sixteen codes, in fours: int32. */
ALWAYS_INLINE __m128i dot_wide(struct words w, struct words x)
{
    return _mm_add_epi32(_mm_madd_epi16(w.even, x.even), _mm_madd_epi16(w.odd, x.odd));
}

/* The four sums of four lanes. */
ALWAYS_INLINE i4 totals(__m128i a, __m128i b, __m128i c, __m128i d)
{
    const __m128i ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    const __m128i cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
    return (i4)_mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
}

#endif
