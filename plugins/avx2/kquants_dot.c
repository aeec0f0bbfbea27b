/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the K types with AVX2. */
#include "vec.h"

#define ROWS_TOGETHER 2
#define PREFETCH_BYTES 4096

#include "dot.h"

ALWAYS_INLINE __m256i dot_scaled(__m256i acc, __m256i pairs, __m256i scales)
{
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, scales));
}

#include "dot_kquants.h"
