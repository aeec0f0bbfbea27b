/* SPDX-License-Identifier: MIT */
/*
 * The dot products of the types of 32 elements a block with 256-bit vectors. The including
 * legacy_dot.c defines, with dot_bytes.h,
 *
 *   products, products_of, products_more, products_less, products_lane_totals
 *   __m256i dot_q8(__m256i w, __m256i x, bool lowest)
 *
 * the last of which multiplies Q8_0's codes, plus Q8_OFFSET, with activations, and adds the
 * products to eight int32. lowest says that -128 is among the activations.
 */
#ifndef QKERN_AVX2_LEGACY_DOTS_H
#define QKERN_AVX2_LEGACY_DOTS_H

#include <string.h>

#include "avx2/pairs.h"

#define UNIT_q8_0 32
#define UNIT_q8_1 32

/* One row: a block fills a vector. */

struct q8_codes {
    __m256i q[4];
    bool lowest; /* a code is -128 */
};

ALWAYS_INLINE bool has_lowest(__m256i codes)
{
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(codes, _mm256_set1_epi8(-128))) != 0;
}

ALWAYS_INLINE struct q8_codes q8_codes_load(const int8_t *a, const int8_t *b, const int8_t *c,
                                            const int8_t *d)
{
    struct q8_codes x = {.q = {load_256(a), load_256(b), load_256(c), load_256(d)}};
    const __m256i least =
        _mm256_min_epi8(_mm256_min_epi8(x.q[0], x.q[1]), _mm256_min_epi8(x.q[2], x.q[3]));
    x.lowest = has_lowest(least);
    return x;
}

/* 32 codes of four bits: the low nibbles, then the high ones. */
ALWAYS_INLINE __m256i nibbles(const uint8_t qs[16])
{
    const __m256i q = _mm256_broadcastsi128_si256(load_128(qs));
    const __m256i shifted = _mm256_srlv_epi64(q, _mm256_set_epi64x(4, 4, 0, 0));
    return _mm256_and_si256(shifted, _mm256_set1_epi8(15));
}

/* Byte e is 16 if bit e % 8 of byte e of v is set. */
ALWAYS_INLINE __m256i fifth_bits(__m256i v)
{
    const __m256i select = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(v, select), select);
    return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

/* Byte b of a lane in eight places. */
#define EIGHT_OF(b) ((int64_t)(0x0101010101010101 * (b)))

/* 32 codes of five bits. qh are the bytes from `at` on of the block, of which 16 are loaded. */
ALWAYS_INLINE __m256i fives(const void *block, int at, const uint8_t qs[16])
{
    const __m256i order =
        _mm256_set_epi64x(EIGHT_OF(at + 3), EIGHT_OF(at + 2), EIGHT_OF(at + 1), EIGHT_OF(at));
    const __m256i bits = _mm256_shuffle_epi8(bytes_both(block), order);
    return _mm256_or_si256(nibbles(qs), fifth_bits(bits));
}

#define NIBBLES(w) nibbles((w)->qs)
#define FIVES(w) fives(w, (int)((w)->qh - (const uint8_t *)(w)), (w)->qs)

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
    for (int u = 0; Q8_OFFSET > 0 && u < 4; u++)
        s[u] =
            products_less(s[u], products_of(_mm256_set1_epi8((int8_t)(uint8_t)Q8_OFFSET), x->q[u]));
    return lanes_added(lane_totals_32(s[0], s[1], s[2], s[3]));
}

struct q8_four {
    struct q8_codes codes;
    f8 heads; /* four scales, then, of Q8_1, four sums */
};

ALWAYS_INLINE struct q8_four q8_0_load(int count, const struct qkern_block_q8_0 *const x[4])
{
    (void)count;
    return (struct q8_four){q8_codes_load(x[0]->qs, x[1]->qs, x[2]->qs, x[3]->qs),
                            (f8)_mm256_castps128_ps256((__m128)F4_SCALES(x))};
}

ALWAYS_INLINE struct q8_four q8_1_load(int count, const struct qkern_block_q8_1 *const x[4])
{
    (void)count;
    return (struct q8_four){q8_codes_load(x[0]->qs, x[1]->qs, x[2]->qs, x[3]->qs), HEADS(x)};
}

#define ALONE_SCALE(name)                                                                          \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_four *x)                                         \
    {                                                                                              \
        (void)count;                                                                               \
        return step_scale_4(F4_SCALES(w), f8_low(x->heads), name##_sums(w, &x->codes));            \
    }                                                                                              \
    DOT_ALONE(name, q8_0, q8_four, q8_0_load, name##_value)

#define ALONE_MINIMUM(name)                                                                        \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_four *x)                                         \
    {                                                                                              \
        (void)count;                                                                               \
        return step_minimum_both(HEADS(w), x->heads, name##_sums(w, &x->codes));                   \
    }                                                                                              \
    DOT_ALONE(name, q8_1, q8_four, q8_1_load, name##_value)

ALONE_SCALE(q4_0)
ALONE_MINIMUM(q4_1)
ALONE_SCALE(q5_0)
ALONE_MINIMUM(q5_1)
ALONE_SCALE(q8_0)

/* Several rows. */

#define PREPARED_UNITS_q8_0 512
#define PREPARED_UNITS_q8_1 512

struct q8_prepared {
    float d[PREPARED_UNITS_q8_0];
    union {
        float s[PREPARED_UNITS_q8_1];     /* Q8_1: as stored */
        int32_t sum[PREPARED_UNITS_q8_0]; /* Q8_0: of the codes */
    };
};

ALWAYS_INLINE void q8_0_prepare(struct q8_prepared *p, uint64_t units,
                                const struct qkern_block_q8_0 *x)
{
    uint64_t u = 0;
    for (; u < units; u++) {
        const __m256i q = load_256(x[u].qs);
        const __m256i sum = pairs_added(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q));
        p->d[u] = load_f16(x[u].d);
        const i4 four = lanes_added(sum);
        p->sum[u] = four[0] + four[1] + four[2] + four[3];
    }
    for (; u % 4 != 0; u++)
        p->d[u] = 0.0f, p->sum[u] = 0;
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

ALWAYS_INLINE struct halves fives_each(const void *a, const uint8_t a_qs[16], const void *b,
                                       const uint8_t b_qs[16], int at)
{
    const struct halves q = nibbles_each(a_qs, b_qs);
    const __m256i bytes = bytes_each(a, b);
    const __m256i low = _mm256_broadcastsi128_si256(_mm_set_epi64x(EIGHT_OF(at + 1), EIGHT_OF(at)));
    const __m256i high =
        _mm256_broadcastsi128_si256(_mm_set_epi64x(EIGHT_OF(at + 3), EIGHT_OF(at + 2)));
    return (struct halves){
        _mm256_or_si256(q.low, fifth_bits(_mm256_shuffle_epi8(bytes, low))),
        _mm256_or_si256(q.high, fifth_bits(_mm256_shuffle_epi8(bytes, high))),
    };
}

/* As F8_OF and F8_BEHIND for blocks of which bytes_each has the front already. */
ALWAYS_INLINE __m256i fronts(__m256i v0, __m256i v1, __m256i v2, __m256i v3)
{
    return _mm256_unpacklo_epi32(_mm256_unpacklo_epi16(v0, v1), _mm256_unpacklo_epi16(v2, v3));
}

#define FRONTS(a, b)                                                                               \
    fronts(bytes_each((a)[0], (b)[0]), bytes_each((a)[1], (b)[1]), bytes_each((a)[2], (b)[2]),     \
           bytes_each((a)[3], (b)[3]))
#define F8_FRONT(a, b)                                                                             \
    ((f8)_mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(FRONTS(a, b), 0x08))))
#define F8_FRONT_BEHIND(a, b)                                                                      \
    ((f8)_mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(FRONTS(a, b), 0x0d))))
#define F8_D(a, b) F8_SCALES(a, b)
#define F8_DM(a, b) F8_OF(a, b, d)
#define F8_DM_BEHIND(a, b) F8_BEHIND(a, b, d)

#define NIBBLES_EACH(a, b) nibbles_each((a)->qs, (b)->qs)
#define FIVES_EACH(a, b) fives_each(a, (a)->qs, b, (b)->qs, (int)((a)->qh - (const uint8_t *)(a)))

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

#define PAIR_SCALE(name, CODES, most, offset, SCALES)                                              \
    LANE_SUMS(name, CODES, most, q8_0)                                                             \
    ALWAYS_INLINE f8 name##_pair_value(                                                            \
        const struct qkern_block_##name *const a[4], const struct qkern_block_##name *const b[4],  \
        const struct qkern_block_q8_0 *const x[4], const struct q8_prepared *prepared, uint64_t u) \
    {                                                                                              \
        const __m256i s = _mm256_sub_epi32(                                                        \
            name##_lane_sums(a, b, x),                                                             \
            _mm256_slli_epi32(i8_both(prepared->sum + u), (offset) == 8 ? 3 : 4));                 \
        return STEP_SCALE(SCALES(a, b), f8_both(prepared->d + u), f8_from_i32(s));                 \
    }                                                                                              \
    PAIR_ROWS(name, q8_0, q8_prepared, q8_0_prepare, name##_pair_value)

#define PAIR_MINIMUM(name, CODES, most, SCALES)                                                    \
    LANE_SUMS(name, CODES, most, q8_1)                                                             \
    ALWAYS_INLINE f8 name##_pair_value(                                                            \
        const struct qkern_block_##name *const a[4], const struct qkern_block_##name *const b[4],  \
        const struct qkern_block_q8_1 *const x[4], const struct q8_prepared *prepared, uint64_t u) \
    {                                                                                              \
        return STEP_MINIMUM(SCALES(a, b), f8_both(prepared->d + u),                                \
                            f8_from_i32(name##_lane_sums(a, b, x)), SCALES##_BEHIND(a, b),         \
                            f8_both(prepared->s + u));                                             \
    }                                                                                              \
    PAIR_ROWS(name, q8_1, q8_prepared, q8_1_prepare, name##_pair_value)

PAIR_SCALE(q4_0, NIBBLES_EACH, 15, 8, F8_D)
PAIR_MINIMUM(q4_1, NIBBLES_EACH, 15, F8_DM)
PAIR_SCALE(q5_0, FIVES_EACH, 31, 16, F8_FRONT)
PAIR_MINIMUM(q5_1, FIVES_EACH, 31, F8_FRONT)

ALWAYS_INLINE __m256i q8_0_lane_sums(const struct qkern_block_q8_0 *const a[4],
                                     const struct qkern_block_q8_0 *const b[4],
                                     const struct qkern_block_q8_0 *const x[4])
{
    __m256i s[4];
    for (int u = 0; u < 4; u++)
        s[u] = _mm256_add_epi32(
            dot_q8(bytes_each(a[u]->qs, b[u]->qs), bytes_both(x[u]->qs), false),
            dot_q8(bytes_each(a[u]->qs + 16, b[u]->qs + 16), bytes_both(x[u]->qs + 16), false));
    return lane_totals_32(s[0], s[1], s[2], s[3]);
}

ALWAYS_INLINE f8 q8_0_pair_value(const struct qkern_block_q8_0 *const a[4],
                                 const struct qkern_block_q8_0 *const b[4],
                                 const struct qkern_block_q8_0 *const x[4],
                                 const struct q8_prepared *prepared, uint64_t u)
{
    __m256i s = q8_0_lane_sums(a, b, x);
    if (Q8_OFFSET > 0)
        s = _mm256_sub_epi32(s, _mm256_slli_epi32(i8_both(prepared->sum + u), 7));
    return STEP_SCALE(F8_SCALES(a, b), f8_both(prepared->d + u), f8_from_i32(s));
}

ALWAYS_INLINE bool q8_0_rows_alone(uint64_t units, const struct qkern_block_q8_0 *x)
{
    __m256i least = _mm256_setzero_si256();
    for (uint64_t u = 0; Q8_OFFSET == 0 && u < units; u++)
        least = _mm256_min_epi8(least, load_256(x[u].qs));
    return has_lowest(least);
}

PAIR_ROWS_UNLESS_ALONE(q8_0, q8_0, q8_prepared, q8_0_prepare, q8_0_pair_value)

#endif
