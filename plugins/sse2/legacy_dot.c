/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the types of 32 elements a block with SSE2. */
#include "vec.h"

#define ROWS_TOGETHER 4
#define PREFETCH_BYTES 4096

#include "dot.h"

/* Of each block the elements 0 .. 15 and 16 .. 31. */
struct q8_codes {
    struct words low[4];
    struct words high[4];
    __m128i sum[4]; /* of 8 * code, in lanes */
};

ALWAYS_INLINE struct q8_codes q8_codes_load(const int8_t *a, const int8_t *b, const int8_t *c,
                                            const int8_t *d)
{
    const int8_t *const block[4] = {a, b, c, d};
    struct q8_codes x;
    for (int u = 0; u < 4; u++) {
        x.low[u] = words_signed(load_128(block[u]));
        x.high[u] = words_signed(load_128(block[u] + 16));
        const __m128i fours = _mm_add_epi16(_mm_add_epi16(x.low[u].even, x.low[u].odd),
                                            _mm_add_epi16(x.high[u].even, x.high[u].odd));
        x.sum[u] = _mm_madd_epi16(fours, _mm_set1_epi16(8));
    }
    return x;
}

/* A block of codes of four bits: low nibbles are the elements 0 .. 15. */
ALWAYS_INLINE __m128i dot_nibbles(__m128i q, const struct q8_codes *x, int u)
{
    const __m128i nibble = _mm_set1_epi16(15);
    const struct words low = {_mm_and_si128(q, nibble),
                              _mm_and_si128(_mm_srli_epi16(q, 8), nibble)};
    const struct words high = {_mm_and_si128(_mm_srli_epi16(q, 4), nibble), _mm_srli_epi16(q, 12)};
    return _mm_add_epi32(dot_wide(low, x->low[u]), dot_wide(high, x->high[u]));
}

ALWAYS_INLINE i4 q4_0_sums(const struct qkern_block_q4_0 *const w[4], const struct q8_codes *x)
{
    __m128i s[4];
    for (int u = 0; u < 4; u++)
        s[u] = _mm_sub_epi32(dot_nibbles(load_128(w[u]->qs), x, u), x->sum[u]);
    return totals(s[0], s[1], s[2], s[3]);
}

ALWAYS_INLINE i4 q4_1_sums(const struct qkern_block_q4_1 *const w[4], const struct q8_codes *x)
{
    __m128i s[4];
    for (int u = 0; u < 4; u++)
        s[u] = dot_nibbles(load_128(w[u]->qs), x, u);
    return totals(s[0], s[1], s[2], s[3]);
}

/* A block of codes of five bits. */
ALWAYS_INLINE __m128i dot_fives(const uint8_t qs[16], const uint8_t qh[4], const struct q8_codes *x,
                                int u)
{
    vb q[2];
    vb_load_fives(qs, qh, false, q);
    return _mm_add_epi32(dot_wide(words_unsigned((__m128i)q[0]), x->low[u]),
                         dot_wide(words_unsigned((__m128i)q[1]), x->high[u]));
}

ALWAYS_INLINE i4 q5_0_sums(const struct qkern_block_q5_0 *const w[4], const struct q8_codes *x)
{
    __m128i s[4];
    for (int u = 0; u < 4; u++)
        s[u] =
            _mm_sub_epi32(dot_fives(w[u]->qs, w[u]->qh, x, u), _mm_add_epi32(x->sum[u], x->sum[u]));
    return totals(s[0], s[1], s[2], s[3]);
}

ALWAYS_INLINE i4 q5_1_sums(const struct qkern_block_q5_1 *const w[4], const struct q8_codes *x)
{
    __m128i s[4];
    for (int u = 0; u < 4; u++)
        s[u] = dot_fives(w[u]->qs, w[u]->qh, x, u);
    return totals(s[0], s[1], s[2], s[3]);
}

ALWAYS_INLINE i4 q8_0_sums(const struct qkern_block_q8_0 *const w[4], const struct q8_codes *x)
{
    __m128i s[4];
    for (int u = 0; u < 4; u++)
        s[u] = _mm_add_epi32(dot_wide(words_signed(load_128(w[u]->qs)), x->low[u]),
                             dot_wide(words_signed(load_128(w[u]->qs + 16)), x->high[u]));
    return totals(s[0], s[1], s[2], s[3]);
}

#include "common/dots_legacy.h"
