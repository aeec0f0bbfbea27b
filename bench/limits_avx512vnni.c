/* SPDX-License-Identifier: MIT */
/* Limits of AVX-512 VNNI, in 256 and 512 bits. */
#include <immintrin.h>

#include "limits.h"

static __m256i load256(const uint8_t *p)
{
    return _mm256_load_si256((const __m256i *)(const void *)p);
}

static __m512i load(const uint8_t *p)
{
    return _mm512_load_si512(p);
}

uint64_t bench_dot_dpbusd_256(const uint8_t *in, uint8_t *other, size_t bytes)
{
    __m256i sum[8];
    for (size_t k = 0; k < 8; k++)
        sum[k] = _mm256_setzero_si256();
    for (size_t i = 0; i < bytes; i += 256)
        for (size_t k = 0; k < 8; k++)
            sum[k] =
                _mm256_dpbusd_epi32(sum[k], load256(in + i + 32 * k), load256(other + i + 32 * k));
    for (size_t k = 1; k < 8; k++)
        sum[0] = _mm256_add_epi32(sum[0], sum[k]);
    return (uint32_t)_mm512_reduce_add_epi32(_mm512_zextsi256_si512(sum[0]));
}

uint64_t bench_dot_dpbusd_512(const uint8_t *in, uint8_t *other, size_t bytes)
{
    __m512i sum[8];
    for (size_t k = 0; k < 8; k++)
        sum[k] = _mm512_setzero_si512();
    for (size_t i = 0; i < bytes; i += 512)
        for (size_t k = 0; k < 8; k++)
            sum[k] = _mm512_dpbusd_epi32(sum[k], load(in + i + 64 * k), load(other + i + 64 * k));
    for (size_t k = 1; k < 8; k++)
        sum[0] = _mm512_add_epi32(sum[0], sum[k]);
    return (uint32_t)_mm512_reduce_add_epi32(sum[0]);
}
