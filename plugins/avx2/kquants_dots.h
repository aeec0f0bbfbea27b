/* SPDX-License-Identifier: MIT */
/*
 * The dot products of the K types with 256-bit vectors. The including kquants_dot.c defines, with
 * dot_bytes.h,
 *
 *   products, products_of, products_more, products_less, products_scaled
 *   OFFSET_VECTORS, offsets_prepare, products_scaled_less
 */
#ifndef QKERN_AVX2_KQUANTS_DOTS_H
#define QKERN_AVX2_KQUANTS_DOTS_H

#include <string.h>

#include "avx2/pairs.h"
#include "common/klayout.h"
#include "common/q8_K_four.h"

#define UNIT_q8_K K_ELEMENTS

/*
 * Four blocks make a step, but registers are for one. Compilers that load for the second while the
 * first is under way run out of them; this keeps their loads in place.
 */
#define BLOCK_BY_BLOCK() __asm__ volatile("" ::: "memory")

/* Parts of codes: bits of bytes. */

ALWAYS_INLINE __m256i masked(__m256i v, int mask)
{
    return _mm256_and_si256(v, _mm256_set1_epi8((int8_t)mask));
}

/* Bit `from` of each byte becomes bit `to`; the other bits are to be masked. */
ALWAYS_INLINE __m256i moved(__m256i v, int from, int to)
{
    return from > to   ? _mm256_srli_epi16(v, from - to)
           : from < to ? _mm256_slli_epi16(v, to - from)
                       : v;
}

/*
 * Sources of weights. Alone: 32 bytes of a block fill a vector. In pairs: 16 bytes of a block of
 * each row do. The codes of a vector are those of elements 32 * i and following, or of 16 of them
 * from 32 * i + 16 * half.
 */
struct source {
    const uint8_t *a;
    const uint8_t *b; /* NULL: alone */
};

ALWAYS_INLINE __m256i source_load(struct source s, size_t offset, int i, int half)
{
    offset += 32 * (size_t)i;
    return s.b == NULL ? load_256(s.a + offset)
                       : bytes_each(s.a + offset + 16 * half, s.b + offset + 16 * half);
}

#define OFFSET(name, member) offsetof(struct qkern_block_##name, member)

ALWAYS_INLINE __m256i q2_K_codes(struct source w, int i, int half)
{
    return masked(moved(source_load(w, OFFSET(q2_K, qs), i / 4, half), 2 * (i % 4), 0), 3);
}

ALWAYS_INLINE __m256i q3_K_codes(struct source w, int i, int half)
{
    const __m256i low = moved(source_load(w, OFFSET(q3_K, qs), i / 4, half), 2 * (i % 4), 0);
    const __m256i high = moved(source_load(w, OFFSET(q3_K, hmask), 0, half), i, 2);
    return _mm256_or_si256(masked(low, 3), masked(high, 4));
}

ALWAYS_INLINE __m256i q4_K_codes(struct source w, int i, int half)
{
    return masked(moved(source_load(w, OFFSET(q4_K, qs), i / 2, half), 4 * (i % 2), 0), 15);
}

ALWAYS_INLINE __m256i q5_K_codes(struct source w, int i, int half)
{
    const __m256i low = moved(source_load(w, OFFSET(q5_K, qs), i / 2, half), 4 * (i % 2), 0);
    const __m256i high = moved(source_load(w, OFFSET(q5_K, qh), 0, half), i, 4);
    return _mm256_or_si256(masked(low, 15), masked(high, 16));
}

ALWAYS_INLINE __m256i q6_K_codes(struct source w, int i, int half)
{
    const int h = i / 4, p = i % 4;
    const __m256i low =
        moved(source_load(w, OFFSET(q6_K, ql), 2 * h + p % 2, half), 4 * (p / 2), 0);
    const __m256i high = moved(source_load(w, OFFSET(q6_K, qh), h, half), 2 * p, 4);
    return _mm256_or_si256(masked(low, 15), masked(high, 0x30));
}

/* Scales. */

/* Q4_K and Q5_K, in each lane: eight scales, then eight minimums, as bytes. See klayout.h. */
ALWAYS_INLINE __m256i six_bits(__m256i v)
{
    const __m256i low = _mm256_shuffle_epi8(
        v,
        _mm256_broadcastsi128_si256(_mm_set_epi32(0x0b0a0908, 0x07060504, 0x0b0a0908, 0x03020100)));
    const __m256i high = _mm256_shuffle_epi8(
        v, _mm256_broadcastsi128_si256(_mm_set_epi32(0x07060504, -1, 0x03020100, -1)));
    return _mm256_or_si256(_mm256_and_si256(_mm256_srlv_epi32(low, _mm256_broadcastsi128_si256(
                                                                       _mm_set_epi32(4, 0, 0, 0))),
                                            _mm256_broadcastsi128_si256(_mm_set_epi32(
                                                0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f))),
                           masked(_mm256_srli_epi16(high, 2), 0x30));
}

/* Four bytes of each lane from `first` on, as int16, each twice. */
ALWAYS_INLINE __m256i twice(__m256i v, int low_lane, int high_lane)
{
#define TWICE(n) ((int)(0x80008000 | (unsigned)((n) << 16 | (n))))
    return _mm256_shuffle_epi8(v, _mm256_set_epi32(TWICE(high_lane + 3), TWICE(high_lane + 2),
                                                   TWICE(high_lane + 1), TWICE(high_lane),
                                                   TWICE(low_lane + 3), TWICE(low_lane + 2),
                                                   TWICE(low_lane + 1), TWICE(low_lane)));
#undef TWICE
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

/* One row. */

typedef __m256i k_acc;

ALWAYS_INLINE k_acc k_acc_zero(void)
{
    return _mm256_setzero_si256();
}

/* The scales of groups of 16: the even groups in the lower lane, the odd ones in the upper. */
ALWAYS_INLINE __m128i even_then_odd(__m128i bytes)
{
    return _mm_shuffle_epi8(bytes, _mm_set_epi64x(0x0f0d0b0907050301, 0x0e0c0a0806040200));
}

/* What scales[h] of products_scaled is for elements 128 * h and following. */
struct k_scales {
    __m256i half[2];
};

ALWAYS_INLINE struct k_scales k_scales_of_16(__m256i words)
{
    return (struct k_scales){
        {_mm256_unpacklo_epi16(words, words), _mm256_unpackhi_epi16(words, words)}};
}

ALWAYS_INLINE struct k_scales k_scales_of_32(const uint8_t scales[12])
{
    /* 16 bytes are loaded, of which the last four belong to the codes. */
    const __m256i bytes = six_bits(bytes_both(scales));
    return (struct k_scales){{twice(bytes, 0, 0), twice(bytes, 4, 4)}};
}

ALWAYS_INLINE k_acc k_min_of_32(const uint8_t scales[12], const struct qkern_block_q8_K *x)
{
    return _mm256_madd_epi16(twice(six_bits(bytes_both(scales)), 8, 12), load_256(x->bsums));
}

/*
 * most: the greatest code. offset: the code that stands for 0. It is taken off by products of its
 * own, which may have been prepared; then the negative of the sum is summed, as only that stays
 * within int16 at offset 32.
 */
#define K_SUM(name, most, offset, SCALES)                                                          \
    ALWAYS_INLINE k_acc name##_sum(const struct qkern_block_##name *w,                             \
                                   const struct qkern_block_q8_K *x,                               \
                                   const __m256i(*prepared)[OFFSET_VECTORS])                       \
    {                                                                                              \
        const struct source from = {(const uint8_t *)w, NULL};                                     \
        BLOCK_BY_BLOCK();                                                                          \
        const struct k_scales s = SCALES;                                                          \
        const bool take_off = (offset) > 0 && prepared == NULL;                                    \
        k_acc acc = k_acc_zero();                                                                  \
        _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++)                                        \
        {                                                                                          \
            products p[4];                                                                         \
            _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++)                                    \
            {                                                                                      \
                const __m256i q = load_256(x->qs + 128 * h + 32 * k);                              \
                p[k] = products_of(name##_codes(from, 4 * h + k, 0), q);                           \
                if (take_off)                                                                      \
                    p[k] = products_less(products_of(_mm256_set1_epi8(offset), q), p[k]);          \
            }                                                                                      \
            if ((offset) > 0 && prepared != NULL)                                                  \
                acc = products_scaled_less(acc, p[0], p[1], p[2], p[3], s.half[h], prepared[h]);   \
            else                                                                                   \
                acc = products_scaled(acc, ((offset) > 0 ? (offset) : (most)) * 128 * 2, p[0],     \
                                      p[1], p[2], p[3], s.half[h]);                                \
        }                                                                                          \
        return take_off ? _mm256_sub_epi32(k_acc_zero(), acc) : acc;                               \
    }

K_SUM(q2_K, 3, 0,
      k_scales_of_16(_mm256_cvtepu8_epi16(even_then_odd(_mm_and_si128(load_128(w->scales),
                                                                      _mm_set1_epi8(15))))))
K_SUM(q3_K, 7, 4, k_scales_of_16(_mm256_cvtepi8_epi16(even_then_odd(q3_K_scale_bytes(w)))))
K_SUM(q4_K, 15, 0, k_scales_of_32(w->scales))
K_SUM(q5_K, 31, 0, k_scales_of_32(w->scales))
K_SUM(q6_K, 63, 32, k_scales_of_16(_mm256_cvtepi8_epi16(even_then_odd(load_128(w->scales)))))

ALWAYS_INLINE k_acc q2_K_min(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    const __m128i min = _mm_and_si128(_mm_srli_epi16(load_128(w->scales), 4), _mm_set1_epi8(15));
    return _mm256_madd_epi16(_mm256_cvtepu8_epi16(min), load_256(x->bsums));
}

ALWAYS_INLINE k_acc q4_K_min(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    return k_min_of_32(w->scales, x);
}

ALWAYS_INLINE k_acc q5_K_min(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    return k_min_of_32(w->scales, x);
}

/* In the tail the blocks of zeros need no sums. */
#define K_ALONE_SCALE(name)                                                                        \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_K_four *x)                                       \
    {                                                                                              \
        __m256i s[4] = {{0}};                                                                      \
        _Pragma("GCC unroll 4") for (int u = 0; u < count; u++) s[u] =                             \
            name##_sum(w[u], x->block[u], NULL);                                                   \
        const __m256i sums = lane_totals_32(s[0], s[1], s[2], s[3]);                               \
        return step_scale_4(F4_SCALES(w), x->d, lanes_added(sums));                                \
    }                                                                                              \
    DOT_ALONE(name, q8_K, q8_K_four, q8_K_load, name##_value)

#define K_ALONE_MINIMUM(name)                                                                      \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_K_four *x)                                       \
    {                                                                                              \
        __m256i s[4] = {{0}}, m[4] = {{0}};                                                        \
        _Pragma("GCC unroll 4") for (int u = 0; u < count; u++)                                    \
        {                                                                                          \
            s[u] = name##_sum(w[u], x->block[u], NULL);                                            \
            m[u] = name##_min(w[u], x->block[u]);                                                  \
        }                                                                                          \
        return step_k_minimum_both(HEADS(w), x->d,                                                 \
                                   lanes_joined(lane_totals_32(s[0], s[1], s[2], s[3]),            \
                                                lane_totals_32(m[0], m[1], m[2], m[3])));          \
    }                                                                                              \
    DOT_ALONE(name, q8_K, q8_K_four, q8_K_load, name##_value)

K_ALONE_MINIMUM(q2_K)
K_ALONE_SCALE(q3_K)
K_ALONE_MINIMUM(q4_K)
K_ALONE_MINIMUM(q5_K)
K_ALONE_SCALE(q6_K)

/* Several rows. */

#define PREPARED_UNITS_q8_K 64

struct q8_K_prepared {
    float d[PREPARED_UNITS_q8_K];
    __m256i offsets[PREPARED_UNITS_q8_K][2][OFFSET_VECTORS]; /* where codes have an offset */
};

ALWAYS_INLINE void q8_K_prepare(struct q8_K_prepared *p, uint64_t units,
                                const struct qkern_block_q8_K *x, int offset)
{
    const __m256i factor = _mm256_set1_epi8((int8_t)offset);
    uint64_t u = 0;
    for (; u < units; u++) {
        p->d[u] = load_f32(x[u].d);
        for (int h = 0; offset > 0 && h < 2; h++) {
            const int8_t *q = x[u].qs + 128 * h;
            offsets_prepare(products_of(factor, load_256(q)), products_of(factor, load_256(q + 32)),
                            products_of(factor, load_256(q + 64)),
                            products_of(factor, load_256(q + 96)), p->offsets[u][h]);
        }
    }
    for (; u % 4 != 0; u++) {
        p->d[u] = 0.0f;
        memset(p->offsets[u], 0, sizeof p->offsets[u]);
    }
}

/* Groups of 16: one row after the other. */
#define K_SUMS_16(name)                                                                            \
    ALWAYS_INLINE __m256i name##_sums_of(const struct qkern_block_##name *const w[4],              \
                                         const struct qkern_block_q8_K *const x[4],                \
                                         const struct q8_K_prepared *prepared, uint64_t u)         \
    {                                                                                              \
        return lane_totals_32(name##_sum(w[0], x[0], prepared->offsets[u]),                        \
                              name##_sum(w[1], x[1], prepared->offsets[u + 1]),                    \
                              name##_sum(w[2], x[2], prepared->offsets[u + 2]),                    \
                              name##_sum(w[3], x[3], prepared->offsets[u + 3]));                   \
    }                                                                                              \
    ALWAYS_INLINE __m256i name##_sums_each(const struct qkern_block_##name *const a[4],            \
                                           const struct qkern_block_##name *const b[4],            \
                                           const struct qkern_block_q8_K *const x[4],              \
                                           const struct q8_K_prepared *prepared, uint64_t u)       \
    {                                                                                              \
        return lanes_joined(name##_sums_of(a, x, prepared, u), name##_sums_of(b, x, prepared, u)); \
    }

K_SUMS_16(q2_K)
K_SUMS_16(q3_K)
K_SUMS_16(q6_K)

ALWAYS_INLINE __m256i q2_K_mins_of(const struct qkern_block_q2_K *const w[4],
                                   const struct qkern_block_q8_K *const x[4])
{
    return lane_totals_32(q2_K_min(w[0], x[0]), q2_K_min(w[1], x[1]), q2_K_min(w[2], x[2]),
                          q2_K_min(w[3], x[3]));
}

ALWAYS_INLINE __m256i q2_K_mins_each(const struct qkern_block_q2_K *const a[4],
                                     const struct qkern_block_q2_K *const b[4],
                                     const struct qkern_block_q8_K *const x[4])
{
    return lanes_joined(q2_K_mins_of(a, x), q2_K_mins_of(b, x));
}

/* Groups of 32: each row in a lane, two vectors for a group. */
#define K_SUMS_32(name, most)                                                                      \
    ALWAYS_INLINE k_acc name##_sum_each(const struct qkern_block_##name *a,                        \
                                        const struct qkern_block_##name *b,                        \
                                        const struct qkern_block_q8_K *x)                          \
    {                                                                                              \
        const struct source from = {(const uint8_t *)a, (const uint8_t *)b};                       \
        BLOCK_BY_BLOCK();                                                                          \
        const __m256i bytes = six_bits(bytes_each(a->scales, b->scales));                          \
        k_acc acc = k_acc_zero();                                                                  \
        _Pragma("GCC unroll 2") for (int i = 0; i < 2; i++)                                        \
        {                                                                                          \
            products p[4];                                                                         \
            _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++)                                    \
            {                                                                                      \
                const int8_t *q = x->qs + 128 * i + 32 * k;                                        \
                p[k] = products_of(name##_codes(from, 4 * i + k, 0), bytes_both(q));               \
                p[k] = products_more(p[k], name##_codes(from, 4 * i + k, 1), bytes_both(q + 16));  \
            }                                                                                      \
            acc = products_scaled(acc, (most)*128 * 4, p[0], p[1], p[2], p[3],                     \
                                  twice(bytes, 4 * i, 4 * i));                                     \
        }                                                                                          \
        return acc;                                                                                \
    }                                                                                              \
    ALWAYS_INLINE k_acc name##_min_each(const struct qkern_block_##name *a,                        \
                                        const struct qkern_block_##name *b,                        \
                                        const struct qkern_block_q8_K *x)                          \
    {                                                                                              \
        const __m256i bytes = six_bits(bytes_each(a->scales, b->scales));                          \
        return _mm256_add_epi32(                                                                   \
            _mm256_madd_epi16(twice(bytes, 8, 8), bytes_both(x->bsums)),                           \
            _mm256_madd_epi16(twice(bytes, 12, 12), bytes_both(x->bsums + 8)));                    \
    }                                                                                              \
    ALWAYS_INLINE __m256i name##_sums_each(const struct qkern_block_##name *const a[4],            \
                                           const struct qkern_block_##name *const b[4],            \
                                           const struct qkern_block_q8_K *const x[4],              \
                                           const struct q8_K_prepared *prepared, uint64_t u)       \
    {                                                                                              \
        (void)prepared, (void)u;                                                                   \
        return lane_totals_32(                                                                     \
            name##_sum_each(a[0], b[0], x[0]), name##_sum_each(a[1], b[1], x[1]),                  \
            name##_sum_each(a[2], b[2], x[2]), name##_sum_each(a[3], b[3], x[3]));                 \
    }                                                                                              \
    ALWAYS_INLINE __m256i name##_mins_each(const struct qkern_block_##name *const a[4],            \
                                           const struct qkern_block_##name *const b[4],            \
                                           const struct qkern_block_q8_K *const x[4])              \
    {                                                                                              \
        return lane_totals_32(                                                                     \
            name##_min_each(a[0], b[0], x[0]), name##_min_each(a[1], b[1], x[1]),                  \
            name##_min_each(a[2], b[2], x[2]), name##_min_each(a[3], b[3], x[3]));                 \
    }

K_SUMS_32(q4_K, 15)
K_SUMS_32(q5_K, 31)

#define K_PAIR_SCALE(name, offset)                                                                 \
    ALWAYS_INLINE void name##_prepare(struct q8_K_prepared *p, uint64_t units,                     \
                                      const struct qkern_block_q8_K *x)                            \
    {                                                                                              \
        q8_K_prepare(p, units, x, offset);                                                         \
    }                                                                                              \
    ALWAYS_INLINE f8 name##_pair_value(const struct qkern_block_##name *const a[4],                \
                                       const struct qkern_block_##name *const b[4],                \
                                       const struct qkern_block_q8_K *const x[4],                  \
                                       const struct q8_K_prepared *prepared, uint64_t u)           \
    {                                                                                              \
        return STEP_SCALE(F8_SCALES(a, b), f8_both(prepared->d + u),                               \
                          f8_from_i32(name##_sums_each(a, b, x, prepared, u)));                    \
    }                                                                                              \
    PAIR_ROWS(name, q8_K, q8_K_prepared, name##_prepare, name##_pair_value)

#define K_PAIR_MINIMUM(name)                                                                       \
    ALWAYS_INLINE void name##_prepare(struct q8_K_prepared *p, uint64_t units,                     \
                                      const struct qkern_block_q8_K *x)                            \
    {                                                                                              \
        q8_K_prepare(p, units, x, 0);                                                              \
    }                                                                                              \
    ALWAYS_INLINE f8 name##_pair_value(const struct qkern_block_##name *const a[4],                \
                                       const struct qkern_block_##name *const b[4],                \
                                       const struct qkern_block_q8_K *const x[4],                  \
                                       const struct q8_K_prepared *prepared, uint64_t u)           \
    {                                                                                              \
        return STEP_K_MINIMUM(F8_OF(a, b, d), f8_both(prepared->d + u),                            \
                              f8_from_i32(name##_sums_each(a, b, x, prepared, u)),                 \
                              F8_BEHIND(a, b, d), f8_from_i32(name##_mins_each(a, b, x)));         \
    }                                                                                              \
    PAIR_ROWS(name, q8_K, q8_K_prepared, name##_prepare, name##_pair_value)

K_PAIR_MINIMUM(q2_K)
K_PAIR_SCALE(q3_K, 4)
K_PAIR_MINIMUM(q4_K)
K_PAIR_MINIMUM(q5_K)
K_PAIR_SCALE(q6_K, 32)

#endif
