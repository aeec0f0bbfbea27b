/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows of the K types with SSE2: sixteen codes at a time. Products of codes,
 * int16, are added up in their lanes as far as they fit, then multiplied by their group's scale,
 * which makes them int32.
 */
#include "vec.h"

#define ROWS_TOGETHER 2
#define PREFETCH_BYTES 4096

#include "common/klayout.h"
#include "dot.h"

typedef __m128i k_acc;

ALWAYS_INLINE k_acc k_acc_zero(void)
{
    return _mm_setzero_si128();
}

ALWAYS_INLINE i4 k_totals(k_acc a, k_acc b, k_acc c, k_acc d)
{
    return totals(a, b, c, d);
}

/* Bits `shift` and following of each byte, as many as `mask` has. */
ALWAYS_INLINE __m128i bits_at(const uint8_t *bytes, int shift, int mask)
{
    return _mm_and_si128(_mm_srli_epi16(load_128(bytes), shift), _mm_set1_epi8((int8_t)mask));
}

/* The products of sixteen codes in pairs. In Q6_K, where they are largest, 2 * 63 * 128. */
ALWAYS_INLINE __m128i pairs(struct words w, const int8_t *x)
{
    const struct words q = words_signed(load_128(x));
    return _mm_add_epi16(_mm_mullo_epi16(w.even, q.even), _mm_mullo_epi16(w.odd, q.odd));
}

/* Less `offset` each, which is taken off the codes. */
ALWAYS_INLINE struct words words_less(__m128i bytes, int offset)
{
    const struct words w = words_unsigned(bytes);
    const __m128i o = _mm_set1_epi16((int16_t)offset);
    return (struct words){_mm_sub_epi16(w.even, o), _mm_sub_epi16(w.odd, o)};
}

/* Each of eight int16 twice, so that a dword has the two factors of a pair. */
ALWAYS_INLINE void store_factors(__m128i v, int32_t factor[8])
{
    _mm_storeu_si128((__m128i *)(void *)factor, _mm_unpacklo_epi16(v, v));
    _mm_storeu_si128((__m128i *)(void *)(factor + 4), _mm_unpackhi_epi16(v, v));
}

ALWAYS_INLINE k_acc add_scaled(k_acc acc, __m128i products, int32_t factor)
{
    return _mm_add_epi32(acc, _mm_madd_epi16(products, _mm_set1_epi32(factor)));
}

ALWAYS_INLINE void factors_unsigned(__m128i bytes, int32_t factor[16])
{
    store_factors(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()), factor);
    store_factors(_mm_unpackhi_epi8(bytes, _mm_setzero_si128()), factor + 8);
}

ALWAYS_INLINE void factors_signed(__m128i bytes, int32_t factor[16])
{
    store_factors(_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8), factor);
    store_factors(_mm_srai_epi16(_mm_unpackhi_epi8(bytes, bytes), 8), factor + 8);
}

ALWAYS_INLINE k_acc q2_K_sum(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    int32_t factor[16];
    factors_unsigned(bits_at(w->scales, 0, 15), factor);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 16
    for (int g = 0; g < 16; g++) {
        const __m128i q = bits_at(w->qs + 32 * (g / 8) + 16 * (g % 2), 2 * (g % 8 / 2), 3);
        acc = add_scaled(acc, pairs(words_unsigned(q), x->qs + 16 * g), factor[g]);
    }
    return acc;
}

ALWAYS_INLINE k_acc q2_K_min(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    const __m128i min = bits_at(w->scales, 4, 15), zero = _mm_setzero_si128();
    return _mm_add_epi32(_mm_madd_epi16(_mm_unpacklo_epi8(min, zero), load_128(x->bsums)),
                         _mm_madd_epi16(_mm_unpackhi_epi8(min, zero), load_128(x->bsums[8])));
}

/* Sixteen scales of six bits, less 32. See klayout.h. */
ALWAYS_INLINE __m128i q3_K_scale_bytes(const uint8_t scales[12])
{
    const __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)scales);
    const __m128i low =
        _mm_and_si128(_mm_unpacklo_epi64(v, _mm_srli_epi16(v, 4)), _mm_set1_epi8(15));
    const uint32_t high = load_u32(scales + 8);
    const __m128i pair =
        _mm_set_epi32((int32_t)(high >> 6 & 0x03030303), (int32_t)(high >> 4 & 0x03030303),
                      (int32_t)(high >> 2 & 0x03030303), (int32_t)(high & 0x03030303));
    return _mm_sub_epi8(_mm_or_si128(low, _mm_slli_epi16(pair, 4)), _mm_set1_epi8(32));
}

ALWAYS_INLINE k_acc q3_K_sum(const struct qkern_block_q3_K *w, const struct qkern_block_q8_K *x)
{
    int32_t factor[16];
    factors_signed(q3_K_scale_bytes(w->scales), factor);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 16
    for (int g = 0; g < 16; g++) {
        const int l = 16 * (g % 2);
        const __m128i low = bits_at(w->qs + 32 * (g / 8) + l, 2 * (g % 8 / 2), 3);
        const __m128i high = _mm_slli_epi16(bits_at(w->hmask + l, g / 2, 1), 2);
        const struct words q = words_less(_mm_or_si128(low, high), 4);
        acc = add_scaled(acc, pairs(q, x->qs + 16 * g), factor[g]);
    }
    return acc;
}

/* Q4_K, Q5_K: eight scales, then eight minimums, as factors. */
struct factors_min {
    int32_t scale[8];
    __m128i min; /* int16 */
};

ALWAYS_INLINE struct factors_min factors_min_of(const uint8_t scales[12])
{
    const uint32_t a = load_u32(scales), b = load_u32(scales + 4), c = load_u32(scales + 8);
    const __m128i bytes = _mm_set_epi32(
        (int32_t)((c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030)), (int32_t)(b & 0x3f3f3f3f),
        (int32_t)((c & 0x0f0f0f0f) | (a >> 2 & 0x30303030)), (int32_t)(a & 0x3f3f3f3f));
    struct factors_min f;
    store_factors(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()), f.scale);
    f.min = _mm_unpackhi_epi8(bytes, _mm_setzero_si128());
    return f;
}

/* Each minimum is that of two sums. */
ALWAYS_INLINE k_acc k_min_of_32(const uint8_t scales[12], const struct qkern_block_q8_K *x)
{
    const __m128i min = factors_min_of(scales).min;
    return _mm_add_epi32(_mm_madd_epi16(_mm_unpacklo_epi16(min, min), load_128(x->bsums)),
                         _mm_madd_epi16(_mm_unpackhi_epi16(min, min), load_128(x->bsums[8])));
}

ALWAYS_INLINE k_acc q4_K_sum(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    const struct factors_min f = factors_min_of(w->scales);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 8
    for (int g = 0; g < 8; g++) {
        const uint8_t *qs = w->qs + 32 * (g / 2);
        const int8_t *xs = x->qs + 32 * g;
        const struct words low = words_unsigned(bits_at(qs, 4 * (g % 2), 15));
        const struct words high = words_unsigned(bits_at(qs + 16, 4 * (g % 2), 15));
        acc = add_scaled(acc, _mm_add_epi16(pairs(low, xs), pairs(high, xs + 16)), f.scale[g]);
    }
    return acc;
}

ALWAYS_INLINE k_acc q4_K_min(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    return k_min_of_32(w->scales, x);
}

ALWAYS_INLINE struct words q5_K_words(const struct qkern_block_q5_K *w, int g, int l)
{
    const __m128i low = bits_at(w->qs + 32 * (g / 2) + l, 4 * (g % 2), 15);
    const __m128i high = _mm_slli_epi16(bits_at(w->qh + l, g, 1), 4);
    return words_unsigned(_mm_or_si128(low, high));
}

/* Four products of 31 * 128 at most are added up in int16. */
ALWAYS_INLINE k_acc q5_K_sum(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    const struct factors_min f = factors_min_of(w->scales);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 8
    for (int g = 0; g < 8; g++) {
        const int8_t *xs = x->qs + 32 * g;
        const __m128i products =
            _mm_add_epi16(pairs(q5_K_words(w, g, 0), xs), pairs(q5_K_words(w, g, 16), xs + 16));
        acc = add_scaled(acc, products, f.scale[g]);
    }
    return acc;
}

ALWAYS_INLINE k_acc q5_K_min(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    return k_min_of_32(w->scales, x);
}

ALWAYS_INLINE k_acc q6_K_sum(const struct qkern_block_q6_K *w, const struct qkern_block_q8_K *x)
{
    int32_t factor[16];
    factors_signed(load_128(w->scales), factor);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 16
    for (int g = 0; g < 16; g++) {
        const int h = g / 8, p = g % 8 / 2, l = 16 * (g % 2);
        const __m128i low = bits_at(w->ql + 64 * h + 32 * (p & 1) + l, 4 * (p / 2), 15);
        const __m128i high = _mm_slli_epi16(bits_at(w->qh + 32 * h + l, 2 * p, 3), 4);
        acc = add_scaled(acc, pairs(words_less(_mm_or_si128(low, high), 32), x->qs + 16 * g),
                         factor[g]);
    }
    return acc;
}

/* A sum is unrolled already. */
#define K_UNROLLED
#include "common/dots_kquants.h"
