/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the types of 32 elements a block with AVX-VNNI. */
#include "avxvnni/dot_bytes.h"

/* A code and 128 is the code's byte with the highest bit turned: unsigned, for every code. */
#define Q8_OFFSET 128

ALWAYS_INLINE __m256i dot_q8(__m256i w, __m256i x, bool lowest)
{
    (void)lowest;
    return products_of(_mm256_xor_si256(w, _mm256_set1_epi8(-128)), x);
}

#include "avx2/legacy_dots.h"
