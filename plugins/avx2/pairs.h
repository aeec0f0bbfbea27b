/* SPDX-License-Identifier: MIT */
/*
 * vec_dot_rows with 256-bit vectors: two rows at a time, each in a half of the vector (a lane).
 * Nothing crosses lanes: the four units that make up one float step end up in one lane, and the
 * activations are loaded into both.
 *
 * What is needed of the activations alone is prepared for many units at once and kept on the stack.
 * Rows are taken in groups, so that preparing costs little beside their products; a row that is
 * longer than one preparation is taken up again after the next.
 */
#ifndef QKERN_AVX2_PAIRS_H
#define QKERN_AVX2_PAIRS_H

#include "avx2/dot.h"
#include "common/dots.h"

#define ROWS_TOGETHER 1 /* in DOT_ALONE */
#define PREFETCH_BYTES 4096
#define GROUP_ROWS 64

/* Four values in each lane. */
typedef float f8 __attribute__((vector_size(32)));

ALWAYS_INLINE f4 f8_low(f8 v)
{
    return (f4)_mm256_castps256_ps128((__m256)v);
}

ALWAYS_INLINE f4 f8_high(f8 v)
{
    return (f4)_mm256_extractf128_ps((__m256)v, 1);
}

/*
 * How far ahead of their use weights are asked for: while two short rows are read, those of a
 * later pair are; of a long row a later part is.
 */
ALWAYS_INLINE uint64_t pair_ahead(uint64_t row_bytes, uint64_t row_stride)
{
    uint64_t ahead = PREFETCH_BYTES;
    if (row_bytes > 0 && row_bytes <= 2 * PREFETCH_BYTES && row_stride >= row_bytes)
        for (ahead = 2 * row_stride; ahead < PREFETCH_BYTES; ahead *= 2)
            ;
    return ahead;
}

#define PAIR_ROWS(name, activation, PREPARED, PREPARE, VALUE)                                      \
    ALWAYS_INLINE bool name##_rows_alone(uint64_t units, const struct qkern_block_##activation *x) \
    {                                                                                              \
        (void)units, (void)x;                                                                      \
        return false;                                                                              \
    }                                                                                              \
    PAIR_ROWS_UNLESS_ALONE(name, activation, PREPARED, PREPARE, VALUE)

/* The same where name_rows_alone may tell from the activations that rows are to be taken singly. */
#define PAIR_ROWS_UNLESS_ALONE(name, activation, PREPARED, PREPARE, VALUE)                         \
    ALWAYS_INLINE f8 name##_pair(f8 p, uint64_t units, uint64_t ahead, const uint8_t *row0,        \
                                 const uint8_t *row1, const struct qkern_block_##activation *x,    \
                                 const struct PREPARED *prepared)                                  \
    {                                                                                              \
        static const struct qkern_block_##name no_w;                                               \
        static const struct qkern_block_##activation no_x;                                         \
        const struct qkern_block_##name *w0 = (const void *)row0, *w1 = (const void *)row1;        \
        uint64_t u = 0;                                                                            \
        for (; units - u >= 4; u += 4) {                                                           \
            for (size_t b = 0; b < 4 * sizeof *w0; b += 64) {                                      \
                __builtin_prefetch((const uint8_t *)(w0 + u) + b + ahead);                         \
                __builtin_prefetch((const uint8_t *)(w1 + u) + b + ahead);                         \
            }                                                                                      \
            const struct qkern_block_##name *const a[4] = {w0 + u, w0 + u + 1, w0 + u + 2,         \
                                                           w0 + u + 3};                            \
            const struct qkern_block_##name *const b[4] = {w1 + u, w1 + u + 1, w1 + u + 2,         \
                                                           w1 + u + 3};                            \
            const struct qkern_block_##activation *const xs[4] = {x + u, x + u + 1, x + u + 2,     \
                                                                  x + u + 3};                      \
            p += VALUE(a, b, xs, prepared, u);                                                     \
        }                                                                                          \
        if (u < units) {                                                                           \
            const uint64_t count = units - u;                                                      \
            const struct qkern_block_##name *const a[4] = {w0 + u, count > 1 ? w0 + u + 1 : &no_w, \
                                                           count > 2 ? w0 + u + 2 : &no_w, &no_w}; \
            const struct qkern_block_##name *const b[4] = {w1 + u, count > 1 ? w1 + u + 1 : &no_w, \
                                                           count > 2 ? w1 + u + 2 : &no_w, &no_w}; \
            const struct qkern_block_##activation *const xs[4] = {                                 \
                x + u, count > 1 ? x + u + 1 : &no_x, count > 2 ? x + u + 2 : &no_x, &no_x};       \
            p += VALUE(a, b, xs, prepared, u);                                                     \
        }                                                                                          \
        return p;                                                                                  \
    }                                                                                              \
                                                                                                   \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations)                         \
    {                                                                                              \
        const uint64_t units = n / UNIT_##activation;                                              \
        const uint64_t ahead = pair_ahead(units * sizeof(struct qkern_block_##name), row_stride);  \
        const struct qkern_block_##activation *x = activations;                                    \
        const uint8_t *w = weights;                                                                \
                                                                                                   \
        while (rows > 1 && !name##_rows_alone(units, x)) {                                         \
            const uint64_t pairs = (rows < GROUP_ROWS ? rows : GROUP_ROWS) / 2;                    \
            f8 p[GROUP_ROWS / 2] = {{0}};                                                          \
            for (uint64_t u = 0; u < units; u += PREPARED_UNITS_##activation) {                    \
                const uint64_t rest = units - u;                                                   \
                const uint64_t count =                                                             \
                    rest < PREPARED_UNITS_##activation ? rest : PREPARED_UNITS_##activation;       \
                struct PREPARED prepared;                                                          \
                PREPARE(&prepared, count, x + u);                                                  \
                for (uint64_t i = 0; i < pairs; i++) {                                             \
                    const uint8_t *at =                                                            \
                        w + 2 * i * row_stride + u * sizeof(struct qkern_block_##name);            \
                    p[i] = name##_pair(p[i], count, ahead, at, at + row_stride, x + u, &prepared); \
                }                                                                                  \
            }                                                                                      \
            for (uint64_t i = 0; i < pairs; i++) {                                                 \
                out[2 * i] = f4_partials_total(f8_low(p[i]));                                      \
                out[2 * i + 1] = f4_partials_total(f8_high(p[i]));                                 \
            }                                                                                      \
            out += 2 * pairs;                                                                      \
            w += 2 * pairs * row_stride;                                                           \
            rows -= 2 * pairs;                                                                     \
        }                                                                                          \
        for (; rows > 0; rows--, w += row_stride)                                                  \
            *out++ = name##_vec_dot(n, w, activations);                                            \
    }

ALWAYS_INLINE f8 f8_from_i32(__m256i v)
{
    return (f8)_mm256_cvtepi32_ps(v);
}

/* Four values for each lane alike. */
ALWAYS_INLINE f8 f8_both(const float *p)
{
    return (f8)_mm256_broadcast_ps((const __m128 *)(const void *)p);
}

ALWAYS_INLINE __m256i i8_both(const int32_t *p)
{
    return _mm256_broadcastsi128_si256(load_128(p));
}

/* Sixteen bytes for each lane alike. */
ALWAYS_INLINE __m256i bytes_both(const void *p)
{
    return _mm256_broadcastsi128_si256(load_128(p));
}

/* Sixteen bytes for each lane. */
ALWAYS_INLINE __m256i bytes_each(const void *a, const void *b)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_128(a)), load_128(b), 1);
}

/* The first two words of four blocks: four first ones, four second ones. */
ALWAYS_INLINE __m128i words_of_four(const void *a, const void *b, const void *c, const void *d)
{
    return _mm_unpacklo_epi32(_mm_unpacklo_epi16(_mm_cvtsi32_si128((int32_t)load_u32(a)),
                                                 _mm_cvtsi32_si128((int32_t)load_u32(b))),
                              _mm_unpacklo_epi16(_mm_cvtsi32_si128((int32_t)load_u32(c)),
                                                 _mm_cvtsi32_si128((int32_t)load_u32(d))));
}

#define WORDS_OF_FOUR(w, member)                                                                   \
    words_of_four((w)[0]->member, (w)[1]->member, (w)[2]->member, (w)[3]->member)

/* Of four blocks of each row, the f16 at a member, with two bytes behind it. */
#define F8_OF(a, b, member)                                                                        \
    ((f8)_mm256_cvtph_ps(_mm_unpacklo_epi64(WORDS_OF_FOUR(a, member), WORDS_OF_FOUR(b, member))))

/* The f16 behind it. */
#define F8_BEHIND(a, b, member)                                                                    \
    ((f8)_mm256_cvtph_ps(_mm_unpackhi_epi64(WORDS_OF_FOUR(a, member), WORDS_OF_FOUR(b, member))))

/* Of four blocks that begin with two f16: the first ones, then the second ones. */
#define HEADS(w) ((f8)_mm256_cvtph_ps(WORDS_OF_FOUR(w, d)))

/* STEP_MINIMUM of heads: scales in the lower lane, minimums and sums in the upper. */
ALWAYS_INLINE f4 step_minimum_both(f8 w, f8 x, i4 s)
{
    const f8 product = w * x;
    return f8_low(product) * f4_from_i4(s) + f8_high(product);
}

/* STEP_K_MINIMUM: sums of products in the lower lane, of minimums in the upper. */
ALWAYS_INLINE f4 step_k_minimum_both(f8 w, f4 dx, __m256i sums)
{
    const f8 x = (f8)_mm256_set_m128((__m128)dx, (__m128)dx);
    const f8 product = (x * w) * f8_from_i32(sums);
    return f8_low(product) - f8_high(product);
}

/*
 * One word of four blocks, put together outside of vectors, whose units have enough to do. The
 * empty statement keeps compilers from doing it in one after all.
 */
ALWAYS_INLINE int64_t word_of_four(const void *a, const void *b, const void *c, const void *d)
{
    uint64_t words = (uint64_t)load_u16(a) | (uint64_t)load_u16(b) << 16 |
                     (uint64_t)load_u16(c) << 32 | (uint64_t)load_u16(d) << 48;
    __asm__("" : "+r"(words));
    return (int64_t)words;
}

/* The f16 d of four blocks, and of four blocks of each row. */
#define F4_SCALES(w)                                                                               \
    ((f4)_mm_cvtph_ps(_mm_cvtsi64_si128(word_of_four((w)[0]->d, (w)[1]->d, (w)[2]->d, (w)[3]->d))))
#define F8_SCALES(a, b)                                                                            \
    ((f8)_mm256_cvtph_ps(_mm_unpacklo_epi64(                                                       \
        _mm_cvtsi64_si128(word_of_four((a)[0]->d, (a)[1]->d, (a)[2]->d, (a)[3]->d)),               \
        _mm_cvtsi64_si128(word_of_four((b)[0]->d, (b)[1]->d, (b)[2]->d, (b)[3]->d)))))

#endif
