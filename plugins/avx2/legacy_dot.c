/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the types of 32 elements a block with AVX2. */
#include "avx2/dot_bytes.h"

/*
 * Signed times signed: |w| times x with the sign of w, which does not exist for x = -128. Pairs are
 * at most 2 * 128 * 127, so maddubs does not saturate.
 */
ALWAYS_INLINE __m256i dot_signed(__m256i w, __m256i x)
{
    return pairs_added(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)));
}

/* The sums of each lane by itself, for every x. */
ALWAYS_INLINE __m256i dot_signed_lanes(__m256i w, __m256i x)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i w_sign = _mm256_cmpgt_epi8(zero, w), x_sign = _mm256_cmpgt_epi8(zero, x);
    return _mm256_add_epi32(
        _mm256_madd_epi16(_mm256_unpacklo_epi8(w, w_sign), _mm256_unpacklo_epi8(x, x_sign)),
        _mm256_madd_epi16(_mm256_unpackhi_epi8(w, w_sign), _mm256_unpackhi_epi8(x, x_sign)));
}

#define Q8_OFFSET 0

ALWAYS_INLINE __m256i dot_q8(__m256i w, __m256i x, bool lowest)
{
    return lowest ? dot_signed_lanes(w, x) : dot_signed(w, x);
}

#include "avx2/legacy_dots.h"
