/* SPDX-License-Identifier: MIT */
/*
 * The dot products of the types of 32 elements a block with 256-bit vectors. The including
 * legacy_dot.c defines, with dot_bytes.h,
 *
 *   products, products_of, products_more, products_less, products_lane_totals
 *   __m256i dot_q8(__m256i w, __m256i x, bool lowest)   signed times signed, added to eight int32
 *
 * where lowest says that -128 is among the activations.
 */
#ifndef QKERN_AVX2_LEGACY_DOTS_H
#define QKERN_AVX2_LEGACY_DOTS_H

#include <string.h>

#include "pairs.h"

#define ROWS_TOGETHER 1
#ifndef PREFETCH_BYTES
#define PREFETCH_BYTES 4096
#endif

/* One row: a block fills a vector. */

struct q8_codes {
    __m256i q[4];
    bool lowest; /* a code is -128 */
};

ALWAYS_INLINE struct q8_codes q8_codes_load(const int8_t *a, const int8_t *b, const int8_t *c,
                                            const int8_t *d)
{
    struct q8_codes x = {.q = {load_256(a), load_256(b), load_256(c), load_256(d)}};
    const __m256i least =
        _mm256_min_epi8(_mm256_min_epi8(x.q[0], x.q[1]), _mm256_min_epi8(x.q[2], x.q[3]));
    x.lowest = _mm256_movemask_epi8(_mm256_cmpeq_epi8(least, _mm256_set1_epi8(-128))) != 0;
    return x;
}

/* 32 codes of four bits: the low nibbles, then the high ones. */
ALWAYS_INLINE __m256i nibbles(const uint8_t qs[16])
{
    const __m256i q = _mm256_broadcastsi128_si256(load_128(qs));
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

#define NIBBLES(w) nibbles((w)->qs)
#define FIVES(w) _mm256_or_si256(nibbles((w)->qs), fifth_bits((w)->qh))

/* most: the greatest code; offset: the code that stands for 0. */
#define SUMS(name, CODES, most, offset)                                                            \
    ALWAYS_INLINE i4 name##_sums(const struct qkern_block_##name *const w[4],                      \
                                 const struct q8_codes *x)                                         \
    {                                                                                              \
        products s[4];                                                                             \
        for (int u = 0; u < 4; u++) {                                                              \
            s[u] = products_of(CODES(w[u]), x->q[u]);                                              \
            if ((offset) > 0)                                                                      \
                s[u] = products_less(s[u], products_of(_mm256_set1_epi8(offset), x->q[u]));        \
        }                                                                                          \
        return lanes_added(products_lane_totals((most)*128 * 2, s[0], s[1], s[2], s[3]));          \
    }

SUMS(q4_0, NIBBLES, 15, 8)
SUMS(q4_1, NIBBLES, 15, 0)
SUMS(q5_0, FIVES, 31, 16)
SUMS(q5_1, FIVES, 31, 0)

ALWAYS_INLINE i4 q8_0_sums(const struct qkern_block_q8_0 *const w[4], const struct q8_codes *x)
{
    __m256i s[4];
    if (x->lowest)
        for (int u = 0; u < 4; u++)
            s[u] = dot_q8(load_256(w[u]->qs), x->q[u], true);
    else
        for (int u = 0; u < 4; u++)
            s[u] = dot_q8(load_256(w[u]->qs), x->q[u], false);
    return lanes_added(lane_totals_32(s[0], s[1], s[2], s[3]));
}

#define DOTS_HERE DOT_ALONE
#include "common/dots_legacy.h"

#undef SUMS

/* Several rows. */

#define PREPARED_UNITS_q8_0 512
#define PREPARED_UNITS_q8_1 512

struct q8_prepared {
    float d[PREPARED_UNITS_q8_0];
    union {
        float s[PREPARED_UNITS_q8_1];     /* Q8_1: as stored */
        int32_t sum[PREPARED_UNITS_q8_0]; /* Q8_0: of the codes */
    };
    bool lowest; /* a code is -128 */
};

ALWAYS_INLINE void q8_0_prepare(struct q8_prepared *p, uint64_t units,
                                const struct qkern_block_q8_0 *x)
{
    __m256i least = _mm256_setzero_si256();
    uint64_t u = 0;
    for (; u < units; u++) {
        const __m256i q = load_256(x[u].qs);
        const __m256i sum = pairs_added(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q));
        p->d[u] = load_f16(x[u].d);
        const i4 four = lanes_added(sum);
        p->sum[u] = four[0] + four[1] + four[2] + four[3];
        least = _mm256_min_epi8(least, q);
    }
    for (; u % 4 != 0; u++)
        p->d[u] = 0.0f, p->sum[u] = 0;
    p->lowest = _mm256_movemask_epi8(_mm256_cmpeq_epi8(least, _mm256_set1_epi8(-128))) != 0;
}

ALWAYS_INLINE void q8_1_prepare(struct q8_prepared *p, uint64_t units,
                                const struct qkern_block_q8_1 *x)
{
    uint64_t u = 0;
    for (; u < units; u++) {
        p->d[u] = load_f16(x[u].d);
        p->s[u] = load_f16(x[u].s);
    }
    for (; u % 4 != 0; u++)
        p->d[u] = p->s[u] = 0.0f;
}

/* Elements 0 to 15 of each lane's block, and the others. */
struct halves {
    __m256i low;
    __m256i high;
};

ALWAYS_INLINE struct halves nibbles_each(const uint8_t a[16], const uint8_t b[16])
{
    const __m256i q = bytes_each(a, b);
    const __m256i mask = _mm256_set1_epi8(15);
    return (struct halves){_mm256_and_si256(q, mask),
                           _mm256_and_si256(_mm256_srli_epi16(q, 4), mask)};
}

ALWAYS_INLINE struct halves fives_each(const uint8_t a[16], const uint8_t a_high[4],
                                       const uint8_t b[16], const uint8_t b_high[4])
{
    const struct halves q = nibbles_each(a, b);
    const __m256i bits =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi32((int32_t)load_u32(a_high))),
                                _mm_set1_epi32((int32_t)load_u32(b_high)), 1);
    const __m256i select = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i bit = _mm256_set1_epi8(16);
    const __m256i low =
        _mm256_shuffle_epi8(bits, _mm256_set_epi64x(0x0101010101010101, 0, 0x0101010101010101, 0));
    const __m256i high =
        _mm256_shuffle_epi8(bits, _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202,
                                                    0x0303030303030303, 0x0202020202020202));
    return (struct halves){
        _mm256_or_si256(
            q.low, _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(low, select), select), bit)),
        _mm256_or_si256(
            q.high,
            _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(high, select), select), bit))};
}

#define NIBBLES_EACH(a, b) nibbles_each((a)->qs, (b)->qs)
#define FIVES_EACH(a, b) fives_each((a)->qs, (a)->qh, (b)->qs, (b)->qh)

#define LANE_SUMS(name, CODES, most, activation)                                                   \
    ALWAYS_INLINE __m256i name##_lane_sums(const struct qkern_block_##name *const a[4],            \
                                           const struct qkern_block_##name *const b[4],            \
                                           const struct qkern_block_##activation *const x[4])      \
    {                                                                                              \
        products s[4];                                                                             \
        for (int u = 0; u < 4; u++) {                                                              \
            const struct halves q = CODES(a[u], b[u]);                                             \
            s[u] = products_of(q.low, bytes_both(x[u]->qs));                                       \
            s[u] = products_more(s[u], q.high, bytes_both(x[u]->qs + 16));                         \
        }                                                                                          \
        return products_lane_totals((most)*128 * 4, s[0], s[1], s[2], s[3]);                       \
    }

#define PAIR_SCALE(name, CODES, most, offset)                                                      \
    LANE_SUMS(name, CODES, most, q8_0)                                                             \
    ALWAYS_INLINE f8 name##_pair_value(                                                            \
        const struct qkern_block_##name *const a[4], const struct qkern_block_##name *const b[4],  \
        const struct qkern_block_q8_0 *const x[4], const struct q8_prepared *prepared, uint64_t u) \
    {                                                                                              \
        const __m256i s = _mm256_sub_epi32(                                                        \
            name##_lane_sums(a, b, x),                                                             \
            _mm256_slli_epi32(i8_both(prepared->sum + u), (offset) == 8 ? 3 : 4));                 \
        return STEP_SCALE(F8_OF(a, b, d), f8_both(prepared->d + u), f8_from_i32(s));               \
    }                                                                                              \
    PAIR_ROWS(name, q8_0, q8_prepared, q8_0_prepare, name##_pair_value)

#define PAIR_MINIMUM(name, CODES, most)                                                            \
    LANE_SUMS(name, CODES, most, q8_1)                                                             \
    ALWAYS_INLINE f8 name##_pair_value(                                                            \
        const struct qkern_block_##name *const a[4], const struct qkern_block_##name *const b[4],  \
        const struct qkern_block_q8_1 *const x[4], const struct q8_prepared *prepared, uint64_t u) \
    {                                                                                              \
        return STEP_MINIMUM(F8_OF(a, b, d), f8_both(prepared->d + u),                              \
                            f8_from_i32(name##_lane_sums(a, b, x)), F8_BEHIND(a, b, d),            \
                            f8_both(prepared->s + u));                                             \
    }                                                                                              \
    PAIR_ROWS(name, q8_1, q8_prepared, q8_1_prepare, name##_pair_value)

PAIR_SCALE(q4_0, NIBBLES_EACH, 15, 8)
PAIR_MINIMUM(q4_1, NIBBLES_EACH, 15)
PAIR_SCALE(q5_0, FIVES_EACH, 31, 16)
PAIR_MINIMUM(q5_1, FIVES_EACH, 31)

ALWAYS_INLINE f8 q8_0_pair_value(const struct qkern_block_q8_0 *const a[4],
                                 const struct qkern_block_q8_0 *const b[4],
                                 const struct qkern_block_q8_0 *const x[4],
                                 const struct q8_prepared *prepared, uint64_t u)
{
    __m256i s[4];
#define Q8(lowest)                                                                                 \
    for (int i = 0; i < 4; i++)                                                                    \
        s[i] = _mm256_add_epi32(                                                                   \
            dot_q8(bytes_each(a[i]->qs, b[i]->qs), bytes_both(x[i]->qs), lowest),                  \
            dot_q8(bytes_each(a[i]->qs + 16, b[i]->qs + 16), bytes_both(x[i]->qs + 16), lowest));
    if (prepared->lowest) {
        Q8(true)
    } else {
        Q8(false)
    }
#undef Q8
    return STEP_SCALE(F8_OF(a, b, d), f8_both(prepared->d + u),
                      f8_from_i32(lane_totals_32(s[0], s[1], s[2], s[3])));
}
PAIR_ROWS(q8_0, q8_0, q8_prepared, q8_0_prepare, q8_0_pair_value)

#endif
