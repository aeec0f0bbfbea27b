/* SPDX-License-Identifier: MIT */
/*
 * The sums of the K types with 256-bit vectors: eight steps of 32 codes. Included by kquants_dot.c
 * after
 *
 *   __m256i dot_scaled(__m256i acc, __m256i pairs, __m256i scales)
 *
 * which adds to eight int32 the products of sixteen int16 with their scales.
 *
 * Codes times activations, in pairs of int16, are at most 2 * 63 * 128 in magnitude, so maddubs
 * does not saturate; all that follows is int32.
 */
#ifndef QKERN_AVX2_DOT_KQUANTS_H
#define QKERN_AVX2_DOT_KQUANTS_H

#include "dot.h"

typedef __m256i k_acc;

ALWAYS_INLINE k_acc k_acc_zero(void)
{
    return _mm256_setzero_si256();
}

ALWAYS_INLINE i4 k_totals(k_acc a, k_acc b, k_acc c, k_acc d)
{
    return totals(a, b, c, d);
}

/* Bits `shift` and following of each byte, as many as `mask` has. */
ALWAYS_INLINE __m256i bits_at(__m256i v, int shift, int mask)
{
    return _mm256_and_si256(shift > 0 ? _mm256_srli_epi16(v, shift) : v,
                            _mm256_set1_epi8((int8_t)mask));
}

/* Bit `bit` of each byte, moved to bit `to`. */
ALWAYS_INLINE __m256i bit_moved(__m256i v, int bit, int to)
{
    const __m256i there = bit > to   ? _mm256_srli_epi16(v, bit - to)
                          : bit < to ? _mm256_slli_epi16(v, to - bit)
                                     : v;
    return _mm256_and_si256(there, _mm256_set1_epi8((int8_t)(1 << to)));
}

/* The codes of elements 32 * i and following. */

ALWAYS_INLINE __m256i q2_K_codes(const struct qkern_block_q2_K *w, int i)
{
    return bits_at(load_256(w->qs + 32 * (i / 4)), 2 * (i % 4), 3);
}

ALWAYS_INLINE __m256i q3_K_codes(const struct qkern_block_q3_K *w, int i)
{
    return _mm256_or_si256(bits_at(load_256(w->qs + 32 * (i / 4)), 2 * (i % 4), 3),
                           bit_moved(load_256(w->hmask), i, 2));
}

ALWAYS_INLINE __m256i q4_K_codes(const struct qkern_block_q4_K *w, int i)
{
    return bits_at(load_256(w->qs + 32 * (i / 2)), 4 * (i % 2), 15);
}

ALWAYS_INLINE __m256i q5_K_codes(const struct qkern_block_q5_K *w, int i)
{
    return _mm256_or_si256(bits_at(load_256(w->qs + 32 * (i / 2)), 4 * (i % 2), 15),
                           bit_moved(load_256(w->qh), i, 4));
}

ALWAYS_INLINE __m256i q6_K_codes(const struct qkern_block_q6_K *w, int i)
{
    const int h = i / 4, p = i % 4;
    const __m256i high = load_256(w->qh + 32 * h);
    const __m256i pair = p < 2   ? _mm256_slli_epi16(high, 4 - 2 * p)
                         : p > 2 ? _mm256_srli_epi16(high, 2)
                                 : high;
    return _mm256_or_si256(bits_at(load_256(w->ql + 64 * h + 32 * (p % 2)), 4 * (p / 2), 15),
                           _mm256_and_si256(pair, _mm256_set1_epi8(0x30)));
}

/* int16 number i of each half of v, in all places of that half. */
ALWAYS_INLINE __m256i spread(__m256i v, int i)
{
    return _mm256_shuffle_epi8(v, _mm256_set1_epi16((int16_t)(2 * i | (2 * i + 1) << 8)));
}

/*
 * 16 scales of groups of 16, as int16: the even groups in the lower half, the odd ones in the
 * upper, so that spread(., i) has the two scales of step i.
 */
ALWAYS_INLINE __m256i k_scales_of_16(__m128i bytes, bool is_signed)
{
    const __m128i order = _mm_set_epi64x(0x0f0d0b0907050301, 0x0e0c0a0806040200);
    const __m128i sorted = _mm_shuffle_epi8(bytes, order);
    return is_signed ? _mm256_cvtepi8_epi16(sorted) : _mm256_cvtepu8_epi16(sorted);
}

/* Q4_K and Q5_K: eight scales, then eight minimums, as bytes. See klayout.h. */
ALWAYS_INLINE __m128i k_scales_min(const uint8_t scales[12])
{
    const __m128i v = load_128(scales); /* 4 bytes more than needed, which belong to the block */
    const __m128i low =
        _mm_shuffle_epi8(v, _mm_set_epi32(0x0b0a0908, 0x07060504, 0x0b0a0908, 0x03020100));
    const __m128i high = _mm_shuffle_epi8(v, _mm_set_epi32(0x07060504, -1, 0x03020100, -1));
    return _mm_or_si128(
        _mm_and_si128(_mm_srlv_epi32(low, _mm_set_epi32(4, 0, 0, 0)),
                      _mm_set_epi32(0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f)),
        _mm_and_si128(_mm_srli_epi16(high, 2), _mm_set1_epi8(0x30)));
}

/* Byte i of both halves, as int16 in all places. */
ALWAYS_INLINE __m256i spread_byte(__m256i v, int i)
{
    return _mm256_shuffle_epi8(v, _mm256_set1_epi16((int16_t)(0x8000 | i)));
}

ALWAYS_INLINE __m256i dot_bsums(__m256i min, const struct qkern_block_q8_K *x)
{
    return _mm256_madd_epi16(min, load_256(x->bsums));
}

ALWAYS_INLINE k_acc q2_K_sum(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    const __m256i scales =
        k_scales_of_16(_mm_and_si128(load_128(w->scales), _mm_set1_epi8(15)), false);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        acc = dot_scaled(acc, _mm256_maddubs_epi16(q2_K_codes(w, i), load_256(x->qs + 32 * i)),
                         spread(scales, i));
    return acc;
}

ALWAYS_INLINE k_acc q2_K_min(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    const __m128i min = _mm_and_si128(_mm_srli_epi16(load_128(w->scales), 4), _mm_set1_epi8(15));
    return dot_bsums(_mm256_cvtepu8_epi16(min), x);
}

/* As codes are unsigned, offset is to be taken off them: offset * x is. */
ALWAYS_INLINE __m256i dot_offset(__m256i codes, int offset, const int8_t *x)
{
    const __m256i q = load_256(x);
    return _mm256_sub_epi16(_mm256_maddubs_epi16(codes, q),
                            _mm256_maddubs_epi16(_mm256_set1_epi8((int8_t)offset), q));
}

/* Q3_K: sixteen scales of six bits. See klayout.h. */
ALWAYS_INLINE __m128i q3_K_scale_bytes(const struct qkern_block_q3_K *w)
{
    const __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)w->scales);
    const __m128i low =
        _mm_and_si128(_mm_unpacklo_epi64(v, _mm_srli_epi16(v, 4)), _mm_set1_epi8(15));
    const __m128i high =
        _mm_srlv_epi32(_mm_set1_epi32((int32_t)load_u32(w->scales + 8)), _mm_set_epi32(6, 4, 2, 0));
    const __m128i code =
        _mm_or_si128(low, _mm_slli_epi16(_mm_and_si128(high, _mm_set1_epi8(3)), 4));
    return _mm_sub_epi8(code, _mm_set1_epi8(32));
}

ALWAYS_INLINE k_acc q3_K_sum(const struct qkern_block_q3_K *w, const struct qkern_block_q8_K *x)
{
    const __m256i scales = k_scales_of_16(q3_K_scale_bytes(w), true);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        acc = dot_scaled(acc, dot_offset(q3_K_codes(w, i), 4, x->qs + 32 * i), spread(scales, i));
    return acc;
}

ALWAYS_INLINE k_acc q4_K_sum(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    const __m256i scales = _mm256_broadcastsi128_si256(k_scales_min(w->scales));
    k_acc acc = k_acc_zero();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        acc = dot_scaled(acc, _mm256_maddubs_epi16(q4_K_codes(w, i), load_256(x->qs + 32 * i)),
                         spread_byte(scales, i));
    return acc;
}

/* Each minimum is that of two sums. */
ALWAYS_INLINE k_acc k_min_of_32(const uint8_t scales[12], const struct qkern_block_q8_K *x)
{
    const __m256i bytes = _mm256_broadcastsi128_si256(k_scales_min(scales));
    const __m256i pairs =
        _mm256_set_epi32((int)0x800f800f, (int)0x800e800e, (int)0x800d800d, (int)0x800c800c,
                         (int)0x800b800b, (int)0x800a800a, (int)0x80098009, (int)0x80088008);
    return dot_bsums(_mm256_shuffle_epi8(bytes, pairs), x);
}

ALWAYS_INLINE k_acc q4_K_min(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    return k_min_of_32(w->scales, x);
}

ALWAYS_INLINE k_acc q5_K_sum(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    const __m256i scales = _mm256_broadcastsi128_si256(k_scales_min(w->scales));
    k_acc acc = k_acc_zero();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        acc = dot_scaled(acc, _mm256_maddubs_epi16(q5_K_codes(w, i), load_256(x->qs + 32 * i)),
                         spread_byte(scales, i));
    return acc;
}

ALWAYS_INLINE k_acc q5_K_min(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    return k_min_of_32(w->scales, x);
}

ALWAYS_INLINE k_acc q6_K_sum(const struct qkern_block_q6_K *w, const struct qkern_block_q8_K *x)
{
    const __m256i scales = k_scales_of_16(load_128(w->scales), true);
    k_acc acc = k_acc_zero();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        acc = dot_scaled(acc, dot_offset(q6_K_codes(w, i), 32, x->qs + 32 * i), spread(scales, i));
    return acc;
}

#include "common/dots_kquants.h"

#endif
