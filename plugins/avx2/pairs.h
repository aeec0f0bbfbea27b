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

#include <stdbool.h>
#include <stddef.h>

#include <qkern/blocks.h>

#include "common/bytes.h"
#include "common/kernels.h"
#include "common/step.h"
#include "dot.h"

#define GROUP_ROWS 64

/* The float steps of four units of two rows. */
typedef float f8 __attribute__((vector_size(32)));
typedef int32_t i8x __attribute__((vector_size(32)));

#define PAIR_ROWS(name, activation, PREPARED, PREPARE, VALUE)                                      \
    ALWAYS_INLINE f8 name##_pair(f8 p, uint64_t units, const uint8_t *row0, const uint8_t *row1,   \
                                 const struct qkern_block_##activation *x,                         \
                                 const struct PREPARED *prepared)                                  \
    {                                                                                              \
        static const struct qkern_block_##name no_w;                                               \
        static const struct qkern_block_##activation no_x;                                         \
        const struct qkern_block_##name *w0 = (const void *)row0, *w1 = (const void *)row1;        \
        uint64_t u = 0;                                                                            \
        for (; units - u >= 4; u += 4) {                                                           \
            for (size_t b = 0; b < 4 * sizeof *w0; b += 64) {                                      \
                __builtin_prefetch((const uint8_t *)(w0 + u) + b + PREFETCH_BYTES);                \
                __builtin_prefetch((const uint8_t *)(w1 + u) + b + PREFETCH_BYTES);                \
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
        const struct qkern_block_##activation *x = activations;                                    \
        const uint8_t *w = weights;                                                                \
                                                                                                   \
        while (rows > 1) {                                                                         \
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
                    p[i] = name##_pair(p[i], count, at, at + row_stride, x + u, &prepared);        \
                }                                                                                  \
            }                                                                                      \
            for (uint64_t i = 0; i < pairs; i++) {                                                 \
                out[2 * i] = f4_partials_total((f4)_mm256_castps256_ps128((__m256)p[i]));          \
                out[2 * i + 1] = f4_partials_total((f4)_mm256_extractf128_ps((__m256)p[i], 1));    \
            }                                                                                      \
            out += 2 * pairs;                                                                      \
            w += 2 * pairs * row_stride;                                                           \
            rows -= 2 * pairs;                                                                     \
        }                                                                                          \
        if (rows > 0)                                                                              \
            *out = name##_vec_dot(n, w, activations);                                              \
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

/* The f16 at a member that has two bytes before it. */
#define F8_BEFORE(a, b, member)                                                                    \
    ((f8)_mm256_cvtph_ps(                                                                          \
        _mm_unpackhi_epi64(WORDS_OF_FOUR(a, member - 2), WORDS_OF_FOUR(b, member - 2))))

#endif
