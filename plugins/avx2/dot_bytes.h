/* SPDX-License-Identifier: MIT */
/*
 * Products of unsigned and signed bytes with AVX2, as the shared sources of dot products want them:
 * added in pairs to sixteen int16. A product of codes of up to 31 is 2 * 31 * 128 at most, so none
 * of the steps below saturates or wraps.
 */
#ifndef QKERN_AVX2_DOT_BYTES_H
#define QKERN_AVX2_DOT_BYTES_H

#include "dot.h"

typedef __m256i products; /* sixteen int16 */

ALWAYS_INLINE products products_of(__m256i u, __m256i s)
{
    return _mm256_maddubs_epi16(u, s);
}

ALWAYS_INLINE products products_more(products p, __m256i u, __m256i s)
{
    return _mm256_add_epi16(p, _mm256_maddubs_epi16(u, s));
}

ALWAYS_INLINE products products_less(products p, products q)
{
    return _mm256_sub_epi16(p, q);
}

/* The four sums of each lane; `most` bounds the magnitude of the int16. */
ALWAYS_INLINE __m256i products_lane_totals(int most, products a, products b, products c, products d)
{
    const __m256i ab = _mm256_add_epi16(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const __m256i cd = _mm256_add_epi16(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    const __m256i low = _mm256_unpacklo_epi64(ab, cd), high = _mm256_unpackhi_epi64(ab, cd);
    if (4 * most <= INT16_MAX)
        return pairs_added(_mm256_add_epi16(low, high));
    return _mm256_add_epi32(pairs_added(low), pairs_added(high));
}

ALWAYS_INLINE __m256i scales_first_two(__m256i scales)
{
    return _mm256_unpacklo_epi64(scales, scales);
}

ALWAYS_INLINE __m256i scales_last_two(__m256i scales)
{
    return _mm256_unpackhi_epi64(scales, scales);
}

/* Each lane's products in eight int16: two of a, two of b and so on. */
ALWAYS_INLINE __m256i products_of_four(products a, products b, products c, products d)
{
    const __m256i ab = _mm256_add_epi16(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const __m256i cd = _mm256_add_epi16(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    return _mm256_add_epi16(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
}

/*
 * Adds to the int32 of each lane the products of four groups, times the scale of their group:
 * scales has them in the order a, b, c, d, each twice. `most` bounds the magnitude of the int16; it
 * may be 1 too great where the sums cannot reach +32768.
 */
ALWAYS_INLINE __m256i products_scaled(__m256i acc, int most, products a, products b, products c,
                                      products d, __m256i scales)
{
    const __m256i ab = _mm256_add_epi16(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const __m256i cd = _mm256_add_epi16(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    if (4 * most <= 32768) {
        const __m256i all =
            _mm256_add_epi16(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
        return _mm256_add_epi32(acc, _mm256_madd_epi16(all, scales));
    }
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(ab, scales_first_two(scales)));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(cd, scales_last_two(scales)));
}

/*
 * The same of products with codes less an offset, as four vectors of products each: those with the
 * offset alone are prepared once. The int16 may wrap on their way to a difference that does not.
 * Subtracts, as only the negative of 8 * 32 * -128 is an int16.
 */
#define OFFSET_VECTORS 1

ALWAYS_INLINE void offsets_prepare(products a, products b, products c, products d,
                                   __m256i offsets[OFFSET_VECTORS])
{
    offsets[0] = products_of_four(a, b, c, d);
}

ALWAYS_INLINE __m256i products_scaled_less(__m256i acc, products a, products b, products c,
                                           products d, __m256i scales,
                                           const __m256i offsets[OFFSET_VECTORS])
{
    const __m256i negative = _mm256_sub_epi16(offsets[0], products_of_four(a, b, c, d));
    return _mm256_sub_epi32(acc, _mm256_madd_epi16(negative, scales));
}

#endif
