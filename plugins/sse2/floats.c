/* SPDX-License-Identifier: MIT */
/*
 * F32, F16 and BF16 with SSE2. There is no instruction that converts f16: half.h is done in lanes,
 * with a short way for numbers that are normal as f16 and as f32.
 */
#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "common/f32.h"
#include "common/kernels.h"
#include "vec.h"

#define ROWS_TOGETHER 2
#define PREFETCH_BYTES 4096

ALWAYS_INLINE __m128i load_128(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* a where the mask is set, else b. */
ALWAYS_INLINE __m128i select_128(__m128i mask, __m128i a, __m128i b)
{
    return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));
}

/* v where 2^-14 <= |v| < 2^16; no lane overflows but by rounding up to 2^16, which is infinity. */
ALWAYS_INLINE __m128i f16_from_normal(__m128i bits)
{
    const __m128i sign = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(0x8000));
    const __m128i rebiased =
        _mm_sub_epi32(_mm_and_si128(bits, _mm_set1_epi32(0x7fffffff)), _mm_set1_epi32(112 << 23));
    const __m128i odd = _mm_and_si128(_mm_srli_epi32(rebiased, 13), _mm_set1_epi32(1));
    const __m128i rounded = _mm_add_epi32(_mm_add_epi32(rebiased, _mm_set1_epi32(0xfff)), odd);
    return _mm_or_si128(sign, _mm_srli_epi32(rounded, 13));
}

/* The low halves of eight int32, whatever the upper ones are. */
ALWAYS_INLINE __m128i low_halves(__m128i a, __m128i b)
{
    return _mm_packs_epi32(_mm_srai_epi32(_mm_slli_epi32(a, 16), 16),
                           _mm_srai_epi32(_mm_slli_epi32(b, 16), 16));
}

/* Whether the short way is right for four floats. */
ALWAYS_INLINE __m128i normal_as_f16(__m128i bits)
{
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
    return _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32((113 << 23) - 1)),
                         _mm_cmpgt_epi32(_mm_set1_epi32(143 << 23), magnitude));
}

void f16_quantize(uint64_t n, const float *x, void *blocks)
{
    uint8_t *to = blocks;
    uint64_t i = 0;
    for (; n - i >= 8; i += 8) {
        const __m128i a = load_128(x + i), b = load_128(x + i + 4);
        if (_mm_movemask_epi8(_mm_and_si128(normal_as_f16(a), normal_as_f16(b))) == 0xffff)
            _mm_storeu_si128((__m128i *)(void *)(to + 2 * i),
                             low_halves(f16_from_normal(a), f16_from_normal(b)));
        else
            for (int k = 0; k < 8; k++)
                store_u16(to + 2 * (i + (uint64_t)k), f16_from_f32(x[i + (uint64_t)k]));
    }
    for (; i < n; i++)
        store_u16(to + 2 * i, f16_from_f32(x[i]));
}

struct eight {
    __m128i v[2];
};

/* Whether eight f16 are neither zero, subnormal, infinite nor NaN. */
ALWAYS_INLINE bool all_normal(__m128i h)
{
    /* 0x0400 .. 0x7bff become the least int16. */
    const __m128i shifted =
        _mm_add_epi16(_mm_and_si128(h, _mm_set1_epi16(0x7fff)), _mm_set1_epi16(0x7c00));
    const __m128i normal = _mm_cmplt_epi16(shifted, _mm_set1_epi16((int16_t)0xf800));
    return _mm_movemask_epi8(normal) == 0xffff;
}

/* Of normal ones the sign stays and the exponent grows by 112: each h as the upper half here. */
ALWAYS_INLINE __m128i f32_from_normal(__m128i h)
{
    const __m128i kept = _mm_set1_epi32((int32_t)0x8fffe000);
    return _mm_add_epi32(_mm_and_si128(_mm_srai_epi32(h, 3), kept), _mm_set1_epi32(112 << 23));
}

/* As f32_from_f16: a NaN becomes quiet. */
ALWAYS_INLINE __m128i f32_from_any(__m128i h)
{
    const __m128i magnitude = _mm_and_si128(h, _mm_set1_epi32(0x7fff));
    const __m128i nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7c00));
    return _mm_or_si128((__m128i)f4_from_f16(h),
                        _mm_and_si128(nan, _mm_set1_epi32((int32_t)F32_QUIET_BIT)));
}

ALWAYS_INLINE struct eight eight_from_f16(__m128i h)
{
    const __m128i zero = _mm_setzero_si128();
    if (all_normal(h))
        return (struct eight){{f32_from_normal(_mm_unpacklo_epi16(zero, h)),
                               f32_from_normal(_mm_unpackhi_epi16(zero, h))}};
    return (struct eight){
        {f32_from_any(_mm_unpacklo_epi16(h, zero)), f32_from_any(_mm_unpackhi_epi16(h, zero))}};
}

void f16_dequantize(uint64_t n, const void *blocks, float *y)
{
    const uint8_t *from = blocks;
    uint64_t i = 0;
    for (; n - i >= 8; i += 8) {
        const struct eight f = eight_from_f16(load_128(from + 2 * i));
        vf_store(y + i, (vf)f.v[0]);
        vf_store(y + i + 4, (vf)f.v[1]);
    }
    for (; i < n; i++)
        y[i] = load_f16(from + 2 * i);
}

/* bf16_from_f32 in lanes: the upper half of each. */
ALWAYS_INLINE __m128i bf16_from_four(__m128i bits)
{
    const __m128i odd = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(1));
    const __m128i rounded = _mm_add_epi32(bits, _mm_add_epi32(odd, _mm_set1_epi32(0x7fff)));
    const __m128i quiet = _mm_or_si128(bits, _mm_set1_epi32((int32_t)F32_QUIET_BIT));
    const __m128i number = (__m128i)_mm_cmpord_ps((vf)bits, (vf)bits);
    return _mm_srai_epi32(select_128(number, rounded, quiet), 16);
}

void bf16_quantize(uint64_t n, const float *x, void *blocks)
{
    uint8_t *to = blocks;
    uint64_t i = 0;
#pragma GCC unroll 4
    for (; n - i >= 8; i += 8)
        _mm_storeu_si128(
            (__m128i *)(void *)(to + 2 * i),
            _mm_packs_epi32(bf16_from_four(load_128(x + i)), bf16_from_four(load_128(x + i + 4))));
    for (; i < n; i++)
        store_u16(to + 2 * i, bf16_from_f32(x[i]));
}

ALWAYS_INLINE struct eight eight_from_bf16(__m128i b)
{
    const __m128i zero = _mm_setzero_si128();
    return (struct eight){{_mm_unpacklo_epi16(zero, b), _mm_unpackhi_epi16(zero, b)}};
}

void bf16_dequantize(uint64_t n, const void *blocks, float *y)
{
    const uint8_t *from = blocks;
    uint64_t i = 0;
#pragma GCC unroll 4
    for (; n - i >= 8; i += 8) {
        const struct eight f = eight_from_bf16(load_128(from + 2 * i));
        vf_store(y + i, (vf)f.v[0]);
        vf_store(y + i + 4, (vf)f.v[1]);
    }
    for (; i < n; i++)
        y[i] = load_bf16(from + 2 * i);
}

struct sixteen {
    vf v[4];
};

ALWAYS_INLINE struct sixteen sixteen_of(struct eight a, struct eight b)
{
    return (struct sixteen){{(vf)a.v[0], (vf)a.v[1], (vf)b.v[0], (vf)b.v[1]}};
}

ALWAYS_INLINE struct sixteen f32_load(const uint8_t *p)
{
    const struct eight a = {{load_128(p), load_128(p + 16)}};
    const struct eight b = {{load_128(p + 32), load_128(p + 48)}};
    return sixteen_of(a, b);
}

ALWAYS_INLINE struct sixteen f16_load(const uint8_t *p)
{
    return sixteen_of(eight_from_f16(load_128(p)), eight_from_f16(load_128(p + 16)));
}

ALWAYS_INLINE struct sixteen bf16_load(const uint8_t *p)
{
    return sixteen_of(eight_from_bf16(load_128(p)), eight_from_bf16(load_128(p + 16)));
}

ALWAYS_INLINE float f32_total(const struct sixteen *p)
{
    return f4_partials_total((f4)((p->v[0] + p->v[2]) + (p->v[1] + p->v[3])));
}

ALWAYS_INLINE float f16_total(const struct sixteen *p)
{
    return f32_total(p);
}

ALWAYS_INLINE float bf16_total(const struct sixteen *p)
{
    return f32_total(p);
}

#include "common/dots_floats.h"
