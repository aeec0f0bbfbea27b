/* SPDX-License-Identifier: MIT */
/* F32, F16 and BF16 with AVX2. */
#include <string.h>

#include "common/bytes.h"
#include "common/f32.h"
#include "common/kernels.h"
#include "vec.h"

/* Rows of floats are bound by the memory they come from, and one stream is the fastest. */
#define ROWS_TOGETHER 1
#define PREFETCH_BYTES 4096

ALWAYS_INLINE __m128i load_128(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* vcvtps2ph would keep the payload of a NaN; see f16_from_f32. */
ALWAYS_INLINE __m128i f16_from_eight(vf v)
{
    const vf sign = _mm256_and_ps(v, vf_set(-0.0f));
    const vf nan = _mm256_or_ps(sign, vf_from_bits(vi_set(0x7fc00000)));
    return _mm256_cvtps_ph(vf_select(vf_ne(v, v), nan, v), _MM_FROUND_TO_NEAREST_INT);
}

void f16_quantize(uint64_t n, const float *x, void *blocks)
{
    uint8_t *to = blocks;
    uint64_t i = 0;
#pragma GCC unroll 4
    for (; n - i >= 8; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + 2 * i), f16_from_eight(vf_load(x + i)));
    for (; i < n; i++)
        store_u16(to + 2 * i, f16_from_f32(x[i]));
}

void f16_dequantize(uint64_t n, const void *blocks, float *y)
{
    const uint8_t *from = blocks;
    uint64_t i = 0;
#pragma GCC unroll 4
    for (; n - i >= 8; i += 8)
        vf_store(y + i, _mm256_cvtph_ps(load_128(from + 2 * i)));
    for (; i < n; i++)
        y[i] = load_f16(from + 2 * i);
}

/* bf16_from_f32 in lanes: the upper half of each. */
ALWAYS_INLINE __m256i bf16_from_eight(vf v)
{
    const __m256i bits = (__m256i)vi_bits(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32((int32_t)F32_QUIET_BIT));
    return _mm256_srli_epi32((__m256i)vf_select(vf_ne(v, v), (vf)quiet, (vf)rounded), 16);
}

void bf16_quantize(uint64_t n, const float *x, void *blocks)
{
    uint8_t *to = blocks;
    uint64_t i = 0;
    for (; n - i >= 16; i += 16) {
        const __m256i words = _mm256_packus_epi32(bf16_from_eight(vf_load(x + i)),
                                                  bf16_from_eight(vf_load(x + i + 8)));
        _mm256_storeu_si256((__m256i *)(void *)(to + 2 * i), _mm256_permute4x64_epi64(words, 0xd8));
    }
    for (; i < n; i++)
        store_u16(to + 2 * i, bf16_from_f32(x[i]));
}

void bf16_dequantize(uint64_t n, const void *blocks, float *y)
{
    const uint8_t *from = blocks;
    uint64_t i = 0;
#pragma GCC unroll 4
    for (; n - i >= 16; i += 16) {
        const __m256i words = _mm256_permute4x64_epi64(
            _mm256_loadu_si256((const __m256i *)(const void *)(from + 2 * i)), 0xd8);
        vf_store(y + i, (vf)_mm256_unpacklo_epi16(_mm256_setzero_si256(), words));
        vf_store(y + i + 8, (vf)_mm256_unpackhi_epi16(_mm256_setzero_si256(), words));
    }
    for (; i < n; i++)
        y[i] = load_bf16(from + 2 * i);
}

struct sixteen {
    vf v[2];
};

ALWAYS_INLINE struct sixteen f32_load(const uint8_t *p)
{
    return (struct sixteen){{(vf)_mm256_loadu_si256((const __m256i *)(const void *)p),
                             (vf)_mm256_loadu_si256((const __m256i *)(const void *)(p + 32))}};
}

ALWAYS_INLINE struct sixteen f16_load(const uint8_t *p)
{
    return (struct sixteen){{_mm256_cvtph_ps(load_128(p)), _mm256_cvtph_ps(load_128(p + 16))}};
}

/* The even elements, then the odd ones: an instruction each. */
ALWAYS_INLINE struct sixteen bf16_load(const uint8_t *p)
{
    const __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return (struct sixteen){{(vf)_mm256_slli_epi32(words, 16),
                             (vf)_mm256_and_si256(words, _mm256_set1_epi32((int32_t)0xffff0000))}};
}

ALWAYS_INLINE float f32_total(const struct sixteen *p)
{
    const vf eight = p->v[0] + p->v[1];
    return f4_partials_total((f4)_mm256_castps256_ps128(eight) +
                             (f4)_mm256_extractf128_ps(eight, 1));
}

ALWAYS_INLINE float f16_total(const struct sixteen *p)
{
    return f32_total(p);
}

ALWAYS_INLINE float bf16_total(const struct sixteen *p)
{
    const f4 even = (f4)_mm256_castps256_ps128(p->v[0]) + (f4)_mm256_extractf128_ps(p->v[0], 1);
    const f4 odd = (f4)_mm256_castps256_ps128(p->v[1]) + (f4)_mm256_extractf128_ps(p->v[1], 1);
    return (even[0] + even[2] + (even[1] + even[3])) + (odd[0] + odd[2] + (odd[1] + odd[3]));
}

#include "common/dots_floats.h"
