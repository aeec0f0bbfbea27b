/* SPDX-License-Identifier: MIT */
/* Limits of AVX-VNNI: dpbusd in its VEX encoding. */
#include <immintrin.h>

#include "limits.h"

static __m256i load(const uint8_t *p)
{
    return _mm256_load_si256((const __m256i *)(const void *)p);
}

uint64_t bench_dot_dpbusd_avxvnni(const uint8_t *in, uint8_t *other, size_t bytes)
{
    __m256i sum[8];
    for (size_t k = 0; k < 8; k++)
        sum[k] = _mm256_setzero_si256();
    for (size_t i = 0; i < bytes; i += 256)
        for (size_t k = 0; k < 8; k++)
            sum[k] =
                _mm256_dpbusd_avx_epi32(sum[k], load(in + i + 32 * k), load(other + i + 32 * k));
    for (size_t k = 1; k < 8; k++)
        sum[0] = _mm256_add_epi32(sum[0], sum[k]);
    __m128i half =
        _mm_add_epi32(_mm256_castsi256_si128(sum[0]), _mm256_extracti128_si256(sum[0], 1));
    half = _mm_add_epi32(half, _mm_unpackhi_epi64(half, half));
    return (uint32_t)_mm_cvtsi128_si32(half) + (uint32_t)_mm_extract_epi32(half, 1);
}
