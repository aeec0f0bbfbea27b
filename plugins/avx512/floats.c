/* SPDX-License-Identifier: MIT */
/* F32, F16 and BF16 with AVX-512: sixteen elements, and so all partials, in a vector. */
#include <string.h>

#include "common/bytes.h"
#include "common/f32.h"
#include "common/kernels.h"
#include "dot.h"

#define ROWS_TOGETHER 4
#define PREFETCH_BYTES (ROWS_TOGETHER * row_stride) /* the next rows, which are read like these */

/* vcvtps2ph would keep the payload of a NaN; see f16_from_f32. */
ALWAYS_INLINE __m256i f16_from_vf(vf v)
{
    const vf nan = _mm512_or_ps(_mm512_and_ps(v, vf_set(-0.0f)), vf_from_bits(vi_set(0x7fc00000)));
    return _mm512_cvtps_ph(vf_select(vf_ne(v, v), nan, v), _MM_FROUND_TO_NEAREST_INT);
}

/* bf16_from_f32 in lanes. */
ALWAYS_INLINE __m256i bf16_from_vf(vf v)
{
    const __m512i bits = (__m512i)vi_bits(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32((int32_t)F32_QUIET_BIT));
    const __m512i stored = _mm512_mask_blend_epi32(vf_ne(v, v), rounded, quiet);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(stored, 16));
}

ALWAYS_INLINE vf vf_from_f16(__m256i h)
{
    return _mm512_cvtph_ps(h);
}

/* The upper half of each lane: one instruction, where widening and shifting are two. */
ALWAYS_INLINE vf vf_from_bf16(__m256i b)
{
    const h32 at = {0, 0, 0, 1, 0, 2,  0, 3,  0, 4,  0, 5,  0, 6,  0, 7,
                    0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
    return (vf)_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, (__m512i)at, _mm512_castsi256_si512(b));
}

#define CONVERSIONS(name)                                                                          \
    void name##_quantize(uint64_t n, const float *x, void *blocks)                                 \
    {                                                                                              \
        uint8_t *to = blocks;                                                                      \
        _Pragma("GCC unroll 4") for (; n >= LANES; n -= LANES, x += LANES, to += 2 * LANES)        \
            _mm256_storeu_si256((void *)to, name##_from_vf(vf_load(x)));                           \
        const vm rest = (vm)((1u << n) - 1);                                                       \
        _mm256_mask_storeu_epi16(to, rest, name##_from_vf(_mm512_maskz_loadu_ps(rest, x)));        \
    }                                                                                              \
                                                                                                   \
    void name##_dequantize(uint64_t n, const void *blocks, float *y)                               \
    {                                                                                              \
        const uint8_t *from = blocks;                                                              \
        _Pragma("GCC unroll 4") for (; n >= LANES; n -= LANES, y += LANES, from += 2 * LANES)      \
            vf_store(y, vf_from_##name(_mm256_loadu_si256((const void *)from)));                   \
        const vm rest = (vm)((1u << n) - 1);                                                       \
        _mm512_mask_storeu_ps(y, rest, vf_from_##name(_mm256_maskz_loadu_epi16(rest, from)));      \
    }

CONVERSIONS(f16)
CONVERSIONS(bf16)

struct sixteen {
    vf v[1];
};

ALWAYS_INLINE struct sixteen f32_load(const uint8_t *p)
{
    return (struct sixteen){{_mm512_loadu_ps(p)}};
}

ALWAYS_INLINE struct sixteen f16_load(const uint8_t *p)
{
    return (struct sixteen){{vf_from_f16(_mm256_loadu_si256((const void *)p))}};
}

ALWAYS_INLINE struct sixteen bf16_load(const uint8_t *p)
{
    return (struct sixteen){{vf_from_bf16(_mm256_loadu_si256((const void *)p))}};
}

ALWAYS_INLINE float f32_total(const struct sixteen *p)
{
    const __m256 eight = _mm512_castps512_ps256(p->v[0]) + _mm512_extractf32x8_ps(p->v[0], 1);
    return f4_partials_total((f4)_mm256_castps256_ps128(eight) +
                             (f4)_mm256_extractf128_ps(eight, 1));
}

#define f16_total f32_total
#define bf16_total f32_total

#include "common/dots_floats.h"
