/* SPDX-License-Identifier: MIT */
/* Limits of AVX2. */
#include <immintrin.h>

#include "limits.h"

static __m256i load(const uint8_t *p)
{
    return _mm256_load_si256((const __m256i *)(const void *)p);
}

static void store(uint8_t *p, __m256i v)
{
    _mm256_store_si256((__m256i *)(void *)p, v);
}

static uint64_t fold(__m256i v)
{
    const __m128i half = _mm_or_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_or_si128(half, _mm_unpackhi_epi64(half, half)));
}

static uint32_t add_up(__m256i v)
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    half = _mm_add_epi32(half, _mm_unpackhi_epi64(half, half));
    return (uint32_t)_mm_cvtsi128_si32(half) + (uint32_t)_mm_extract_epi32(half, 1);
}

uint64_t bench_read_avx2(const uint8_t *in, uint8_t *other, size_t bytes)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    size_t i = 0;
    (void)other;
    for (; i + 256 <= bytes; i += 256) {
        a = _mm256_or_si256(a, load(in + i));
        b = _mm256_or_si256(b, load(in + i + 32));
        c = _mm256_or_si256(c, load(in + i + 64));
        d = _mm256_or_si256(d, load(in + i + 96));
        a = _mm256_or_si256(a, load(in + i + 128));
        b = _mm256_or_si256(b, load(in + i + 160));
        c = _mm256_or_si256(c, load(in + i + 192));
        d = _mm256_or_si256(d, load(in + i + 224));
    }
    for (; i < bytes; i += 64) {
        a = _mm256_or_si256(a, load(in + i));
        b = _mm256_or_si256(b, load(in + i + 32));
    }
    return fold(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)));
}

uint64_t bench_dot_maddubs(const uint8_t *in, uint8_t *other, size_t bytes)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                      _mm256_setzero_si256()};
    for (size_t i = 0; i < bytes; i += 128)
        for (size_t k = 0; k < 4; k++) {
            const __m256i u = load(in + i + 32 * k), s = load(other + i + 32 * k);
            sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), ones));
        }
    return add_up(
        _mm256_add_epi32(_mm256_add_epi32(sum[0], sum[1]), _mm256_add_epi32(sum[2], sum[3])));
}

uint64_t bench_copy_avx2(const uint8_t *in, uint8_t *other, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 128)
        for (size_t k = 0; k < 4; k++)
            store(other + i + 32 * k, load(in + i + 32 * k));
    return other[bytes / 2];
}
