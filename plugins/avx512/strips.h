/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows, sixteen units at a time. A strip is four units of one row; four strips
 * fill a register, lane b of which holds unit b of each strip, strip j in dword j. So lane b is
 * partial b.
 *
 *   vec_dot_rows  strips are four rows, against the same activations
 *   vec_dot       strips are consecutive: their values are added to the partials in turn
 *
 * STRIP_DOTS(name, activation, SIXTEEN, LOAD, VALUE) defines name_vec_dot and name_vec_dot_rows:
 *
 *   struct SIXTEEN
 *   void LOAD(struct SIXTEEN *, int j, bool same, ptrdiff_t count,
 *             const struct qkern_block_ACTIVATION *x)
 *       takes what it needs of the four units at x to be strip j, or, if `same`, each strip
 *   __m512 VALUE(const ptrdiff_t count[4], const struct qkern_block_NAME *const w[4], bool same,
 *                const struct SIXTEEN *)
 *       the values of the units; if `same`, strip 0 of the activations stands for all
 *
 * Only the first count units of a strip are real. The others must count as zeros, and nothing of
 * them be read. Their value is +0, and a partial is never -0, for it starts at +0 and only a sum of
 * two -0 is -0; so adding it changes nothing.
 */
#ifndef QKERN_AVX512_STRIPS_H
#define QKERN_AVX512_STRIPS_H

#include <qkern/blocks.h>

#include "common/kernels.h"
#include "dot.h"

#define STRIPS 4
#define STRIP_UNITS 4
#define SIXTEEN_UNITS (STRIPS * STRIP_UNITS)

/* How many of `units` units fall into strip j of those that follow each other. */
ALWAYS_INLINE ptrdiff_t strip_count(uint64_t units, int j)
{
    const ptrdiff_t left = (ptrdiff_t)units - STRIP_UNITS * j;
    return left < 0 ? 0 : left < STRIP_UNITS ? left : STRIP_UNITS;
}

/* Adds the strips one after the other: each value to the partial of its lane. */
ALWAYS_INLINE f4 strips_added(f4 p, __m512 values)
{
    const w16 by_strip = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const __m512 v = _mm512_permutexvar_ps((__m512i)by_strip, values);
    p += (f4)_mm512_castps512_ps128(v);
    p += (f4)_mm512_extractf32x4_ps(v, 1);
    p += (f4)_mm512_extractf32x4_ps(v, 2);
    p += (f4)_mm512_extractf32x4_ps(v, 3);
    return p;
}

/* The results of four rows. */
ALWAYS_INLINE f4 rows_total(__m512 p)
{
    return ((f4)_mm512_castps512_ps128(p) + (f4)_mm512_extractf32x4_ps(p, 2)) +
           ((f4)_mm512_extractf32x4_ps(p, 1) + (f4)_mm512_extractf32x4_ps(p, 3));
}

#define STRIP_DOTS(name, activation, SIXTEEN, LOAD, VALUE)                                         \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations)                 \
    {                                                                                              \
        const struct qkern_block_##name *w = weights;                                              \
        const struct qkern_block_##activation *x = activations;                                    \
        uint64_t units = n / UNIT_##activation;                                                    \
        f4 p = {0.0f, 0.0f, 0.0f, 0.0f};                                                           \
        struct SIXTEEN sixteen;                                                                    \
        for (; units >= SIXTEEN_UNITS; units -= SIXTEEN_UNITS) {                                   \
            const struct qkern_block_##name *const ws[STRIPS] = {w, w + 4, w + 8, w + 12};         \
            const ptrdiff_t all[STRIPS] = {TIMES_4(STRIP_UNITS)};                                  \
            for (int j = 0; j < STRIPS; j++)                                                       \
                LOAD(&sixteen, j, false, STRIP_UNITS, x + STRIP_UNITS * j);                        \
            p = strips_added(p, VALUE(all, ws, false, &sixteen));                                  \
            w += SIXTEEN_UNITS;                                                                    \
            x += SIXTEEN_UNITS;                                                                    \
        }                                                                                          \
        if (units > 0) {                                                                           \
            const struct qkern_block_##name *const ws[STRIPS] = {w, w + 4, w + 8, w + 12};         \
            ptrdiff_t some[STRIPS];                                                                \
            for (int j = 0; j < STRIPS; j++) {                                                     \
                some[j] = strip_count(units, j);                                                   \
                LOAD(&sixteen, j, false, some[j], x + STRIP_UNITS * j);                            \
            }                                                                                      \
            p = strips_added(p, VALUE(some, ws, false, &sixteen));                                 \
        }                                                                                          \
        return f4_partials_total(p);                                                               \
    }                                                                                              \
                                                                                                   \
    static void name##_four_rows(uint64_t units, float *out, const uint8_t *weights,               \
                                 uint64_t row_stride, const struct qkern_block_##activation *x)    \
    {                                                                                              \
        __m512 p = _mm512_setzero_ps();                                                            \
        struct SIXTEEN four;                                                                       \
        const struct qkern_block_##name *row[STRIPS];                                              \
        for (uint64_t j = 0; j < STRIPS; j++)                                                      \
            row[j] = (const struct qkern_block_##name *)(weights + j * row_stride);                \
        uint64_t u = 0;                                                                            \
        for (; units - u >= STRIP_UNITS; u += STRIP_UNITS) {                                       \
            const struct qkern_block_##name *const ws[STRIPS] = {row[0] + u, row[1] + u,           \
                                                                 row[2] + u, row[3] + u};          \
            const ptrdiff_t all[STRIPS] = {TIMES_4(STRIP_UNITS)};                                  \
            for (int j = 0; j < STRIPS; j++)                                                       \
                for (size_t b = 0; b < STRIP_UNITS * sizeof *ws[0]; b += 64)                       \
                    __builtin_prefetch((const uint8_t *)ws[j] + b + STRIPS * row_stride);          \
            LOAD(&four, 0, true, STRIP_UNITS, x + u);                                              \
            p += VALUE(all, ws, true, &four);                                                      \
        }                                                                                          \
        if (u < units) {                                                                           \
            const struct qkern_block_##name *const ws[STRIPS] = {row[0] + u, row[1] + u,           \
                                                                 row[2] + u, row[3] + u};          \
            const ptrdiff_t some[STRIPS] = {TIMES_4((ptrdiff_t)(units - u))};                      \
            LOAD(&four, 0, true, some[0], x + u);                                                  \
            p += VALUE(some, ws, true, &four);                                                     \
        }                                                                                          \
        const f4 total = rows_total(p);                                                            \
        memcpy(out, &total, sizeof total);                                                         \
    }                                                                                              \
                                                                                                   \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations)                         \
    {                                                                                              \
        const uint8_t *w = weights;                                                                \
        for (; rows >= STRIPS; rows -= STRIPS, out += STRIPS, w += STRIPS * row_stride)            \
            name##_four_rows(n / UNIT_##activation, out, w, row_stride, activations);              \
        for (; rows > 0; rows--, out++, w += row_stride)                                           \
            *out = name##_vec_dot(n, w, activations);                                              \
    }

#endif
