/* SPDX-License-Identifier: MIT */
/*
 * Products of unsigned and signed bytes with AVX-VNNI, as the shared sources of dot products want
 * them: added in fours to eight int32. See avx2/dot_bytes.h.
 */
#ifndef QKERN_AVXVNNI_DOT_BYTES_H
#define QKERN_AVXVNNI_DOT_BYTES_H

#include "avx2/dot.h"

typedef __m256i products; /* eight int32 */

ALWAYS_INLINE products products_more(products p, __m256i u, __m256i s)
{
    return _mm256_dpbusd_avx_epi32(p, u, s);
}

ALWAYS_INLINE products products_of(__m256i u, __m256i s)
{
    return products_more(_mm256_setzero_si256(), u, s);
}

ALWAYS_INLINE products products_less(products p, products q)
{
    return _mm256_sub_epi32(p, q);
}

/* The second and fourth of four int32, or first and third, of a's lane and of b's. */
ALWAYS_INLINE __m256i odd_32(__m256i a, __m256i b)
{
    return (__m256i)_mm256_shuffle_ps((__m256)a, (__m256)b, 0xdd);
}

ALWAYS_INLINE __m256i even_32(__m256i a, __m256i b)
{
    return (__m256i)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
}

/* The four sums of each lane; `most` bounds half the magnitude of the int32. */
ALWAYS_INLINE __m256i products_lane_totals(int most, products a, products b, products c, products d)
{
    if (4 * most > INT16_MAX)
        return lane_totals_32(a, b, c, d);
    const __m256i ab = _mm256_packs_epi32(a, b), cd = _mm256_packs_epi32(c, d);
    return pairs_added(_mm256_add_epi16(even_32(ab, cd), odd_32(ab, cd)));
}

/*
 * Adds to the int32 of each lane the products of four groups, times the scale of their group:
 * scales has them in the order a, b, c, d, each twice. `most` bounds half the magnitude of the
 * int32, which must be that of int16.
 */
ALWAYS_INLINE __m256i products_scaled(__m256i acc, int most, products a, products b, products c,
                                      products d, __m256i scales)
{
    (void)most;
    acc = _mm256_dpwssd_avx_epi32(acc, _mm256_packs_epi32(a, b),
                                  _mm256_unpacklo_epi32(scales, scales));
    return _mm256_dpwssd_avx_epi32(acc, _mm256_packs_epi32(c, d),
                                   _mm256_unpackhi_epi32(scales, scales));
}

/* The same of products with codes less an offset, which is taken off as int16. */
#define OFFSET_VECTORS 2

ALWAYS_INLINE void offsets_prepare(products a, products b, products c, products d,
                                   __m256i offsets[OFFSET_VECTORS])
{
    offsets[0] = _mm256_packs_epi32(a, b);
    offsets[1] = _mm256_packs_epi32(c, d);
}

ALWAYS_INLINE __m256i products_scaled_less(__m256i acc, products a, products b, products c,
                                           products d, __m256i scales,
                                           const __m256i offsets[OFFSET_VECTORS])
{
    acc = _mm256_dpwssd_avx_epi32(acc, _mm256_sub_epi16(_mm256_packs_epi32(a, b), offsets[0]),
                                  _mm256_unpacklo_epi32(scales, scales));
    return _mm256_dpwssd_avx_epi32(acc, _mm256_sub_epi16(_mm256_packs_epi32(c, d), offsets[1]),
                                   _mm256_unpackhi_epi32(scales, scales));
}

#endif
