/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the types of 32 elements a block with AVX2: a block fills a vector.
 */
#include "vec.h"

#define ROWS_TOGETHER 2
#define PREFETCH_BYTES 4096

#include "dot.h"

struct q8_codes {
    __m256i q[4];
    __m256i sum[4]; /* of 8 * code, in pairs */
    bool lowest;    /* a code is -128 */
};

ALWAYS_INLINE struct q8_codes q8_codes_load(const int8_t *a, const int8_t *b, const int8_t *c,
                                            const int8_t *d)
{
    struct q8_codes x = {.q = {load_256(a), load_256(b), load_256(c), load_256(d)}};
    const __m256i least =
        _mm256_min_epi8(_mm256_min_epi8(x.q[0], x.q[1]), _mm256_min_epi8(x.q[2], x.q[3]));
    x.lowest = _mm256_movemask_epi8(_mm256_cmpeq_epi8(least, _mm256_set1_epi8(-128))) != 0;
    for (int u = 0; u < 4; u++)
        x.sum[u] = _mm256_maddubs_epi16(_mm256_set1_epi8(8), x.q[u]);
    return x;
}

/* 32 codes of four bits: the low nibbles, then the high ones. */
ALWAYS_INLINE __m256i nibbles(const uint8_t qs[16])
{
    const __m256i q = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)qs));
    const __m256i shifted = _mm256_srlv_epi64(q, _mm256_set_epi64x(4, 4, 0, 0));
    return _mm256_and_si256(shifted, _mm256_set1_epi8(15));
}

/* The fifth bits of 32 codes, in place. */
ALWAYS_INLINE __m256i fifth_bits(const uint8_t qh[4])
{
    const __m256i bits = _mm256_set1_epi32((int32_t)load_u32(qh));
    const __m256i byte = _mm256_shuffle_epi8(
        bits, _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0));
    const __m256i select = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, select), select);
    return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

/* Pairs are at most 2 * 31 * 128 in magnitude, so maddubs does not saturate. */

ALWAYS_INLINE i4 q4_0_sums(const struct qkern_block_q4_0 *const w[4], const struct q8_codes *x)
{
    __m256i s[4];
    for (int u = 0; u < 4; u++)
        s[u] = pairs_added(
            _mm256_sub_epi16(_mm256_maddubs_epi16(nibbles(w[u]->qs), x->q[u]), x->sum[u]));
    return totals(s[0], s[1], s[2], s[3]);
}

ALWAYS_INLINE i4 q4_1_sums(const struct qkern_block_q4_1 *const w[4], const struct q8_codes *x)
{
    __m256i s[4];
    for (int u = 0; u < 4; u++)
        s[u] = pairs_added(_mm256_maddubs_epi16(nibbles(w[u]->qs), x->q[u]));
    return totals(s[0], s[1], s[2], s[3]);
}

ALWAYS_INLINE i4 q5_0_sums(const struct qkern_block_q5_0 *const w[4], const struct q8_codes *x)
{
    __m256i s[4];
    for (int u = 0; u < 4; u++) {
        const __m256i q = _mm256_or_si256(nibbles(w[u]->qs), fifth_bits(w[u]->qh));
        const __m256i sum = _mm256_add_epi16(x->sum[u], x->sum[u]);
        s[u] = pairs_added(_mm256_sub_epi16(_mm256_maddubs_epi16(q, x->q[u]), sum));
    }
    return totals(s[0], s[1], s[2], s[3]);
}

ALWAYS_INLINE i4 q5_1_sums(const struct qkern_block_q5_1 *const w[4], const struct q8_codes *x)
{
    __m256i s[4];
    for (int u = 0; u < 4; u++) {
        const __m256i q = _mm256_or_si256(nibbles(w[u]->qs), fifth_bits(w[u]->qh));
        s[u] = pairs_added(_mm256_maddubs_epi16(q, x->q[u]));
    }
    return totals(s[0], s[1], s[2], s[3]);
}

/*
 * Signed times signed: |w| times x with the sign of w, which does not exist for x = -128. Pairs are
 * at most 2 * 128 * 127, so maddubs does not saturate.
 */
ALWAYS_INLINE __m256i dot_signed(__m256i w, __m256i x)
{
    return pairs_added(_mm256_maddubs_epi16(_mm256_sign_epi8(w, w), _mm256_sign_epi8(x, w)));
}

/* For every x. */
ALWAYS_INLINE __m256i dot_signed_wide(__m256i w, __m256i x)
{
    const __m256i low = _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(w)),
                                          _mm256_cvtepi8_epi16(_mm256_castsi256_si128(x)));
    const __m256i high = _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(w, 1)),
                                           _mm256_cvtepi8_epi16(_mm256_extracti128_si256(x, 1)));
    return _mm256_add_epi32(low, high);
}

ALWAYS_INLINE i4 q8_0_sums(const struct qkern_block_q8_0 *const w[4], const struct q8_codes *x)
{
    __m256i s[4];
    if (x->lowest)
        for (int u = 0; u < 4; u++)
            s[u] = dot_signed_wide(load_256(w[u]->qs), x->q[u]);
    else
        for (int u = 0; u < 4; u++)
            s[u] = dot_signed(load_256(w[u]->qs), x->q[u]);
    return totals(s[0], s[1], s[2], s[3]);
}

#include "common/dots_legacy.h"
