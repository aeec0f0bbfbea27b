/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows, sixteen units at a time. A strip is four units of one row; four strips
 * fill a register, lane b of which holds unit b of each strip, strip j in dword j. So lane b is
 * partial b.
 *
 *   vec_dot_rows  strips are four rows, against the same activations
 *   vec_dot       strips are consecutive: their values are added to the partials in turn
 *
 * STRIP_DOTS(name, activation) defines name_vec_dot and name_vec_dot_rows over name_load_strip,
 * name_load_four and name_value of legacy_dot.c.
 *
 * Only the first `count` units of a strip are real. The others count as zeros, and nothing of them
 * is read. Their value is +0, and a partial is never -0, for it starts at +0 and only a sum of two
 * -0 is -0; so adding it changes nothing.
 */
#ifndef QKERN_AVX512_STRIPS_H
#define QKERN_AVX512_STRIPS_H

#include <qkern/blocks.h>

#include "common/kernels.h"
#include "dot.h"

#define STRIPS 4
#define STRIP_UNITS 4
#define SIXTEEN_UNITS (STRIPS * STRIP_UNITS)
#define UNIT_ELEMENTS 32
#define STRIP_BYTES(name) (STRIP_UNITS * sizeof(struct qkern_block_##name))

/* vec_dot_rows prepares the activations of so many units for so many rows: 10 KiB of stack. */
#define UNITS_MAX 128
#define ROWS_MAX 64

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

#define STRIP_DOTS(name, activation)                                                               \
    ALWAYS_INLINE f4 name##_sixteen(f4 p, uint64_t units, const struct qkern_block_##name *w,      \
                                    const struct qkern_block_##activation *x)                      \
    {                                                                                              \
        const struct qkern_block_##name *const ws[STRIPS] = {w, w + 4, w + 8, w + 12};             \
        ptrdiff_t count[STRIPS];                                                                   \
        struct q8_sixteen sixteen;                                                                 \
        for (int j = 0; j < STRIPS; j++) {                                                         \
            count[j] = strip_count(units, j);                                                      \
            name##_load_strip(&sixteen, j, count[j], x + STRIP_UNITS * j);                         \
        }                                                                                          \
        return strips_added(p,                                                                     \
                            name##_value(count, ws, sixteen.strip, 1, heads_first(&sixteen.heads), \
                                         heads_second(&sixteen.heads)));                           \
    }                                                                                              \
                                                                                                   \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations)                 \
    {                                                                                              \
        const struct qkern_block_##name *w = weights;                                              \
        const struct qkern_block_##activation *x = activations;                                    \
        uint64_t units = n / UNIT_ELEMENTS;                                                        \
        f4 p = {0.0f, 0.0f, 0.0f, 0.0f};                                                           \
        for (; units >= SIXTEEN_UNITS; units -= SIXTEEN_UNITS) {                                   \
            p = name##_sixteen(p, SIXTEEN_UNITS, w, x);                                            \
            w += SIXTEEN_UNITS;                                                                    \
            x += SIXTEEN_UNITS;                                                                    \
        }                                                                                          \
        if (units > 0)                                                                             \
            p = name##_sixteen(p, units, w, x);                                                    \
        return f4_partials_total(p);                                                               \
    }                                                                                              \
                                                                                                   \
    /* The next strip of four rows; w is where it starts in the first. */                          \
    ALWAYS_INLINE __m512 name##_four_values(ptrdiff_t count, const uint8_t *w,                     \
                                            uint64_t row_stride, const struct q8_four *x)          \
    {                                                                                              \
        const struct qkern_block_##name *ws[STRIPS];                                               \
        for (uint64_t j = 0; j < STRIPS; j++)                                                      \
            ws[j] = (const struct qkern_block_##name *)(w + j * row_stride);                       \
        const ptrdiff_t counts[STRIPS] = {TIMES_4(count)};                                         \
        const struct q8_strip strip = {.low = in_register(x->strip.low),                           \
                                       .high = in_register(x->strip.high),                         \
                                       .start = in_register(x->strip.start)};                      \
        return name##_value(counts, ws, &strip, 0, x->d, x->s);                                    \
    }                                                                                              \
                                                                                                   \
    NEVER_INLINE __m512 name##_four_rows(__m512 p, uint64_t units, const uint8_t *w,               \
                                         uint64_t row_stride, const struct q8_four *x)             \
    {                                                                                              \
        for (; units >= STRIP_UNITS; units -= STRIP_UNITS, x++) {                                  \
            w = anew(w);                                                                           \
            for (uint64_t j = STRIPS; j < 2 * STRIPS; j++)                                         \
                for (size_t b = 0; b < STRIP_BYTES(name); b += 64)                                 \
                    __builtin_prefetch(w + j * row_stride + b);                                    \
            p += name##_four_values(STRIP_UNITS, w, row_stride, x);                                \
            w += STRIP_BYTES(name);                                                                \
        }                                                                                          \
        if (units > 0)                                                                             \
            p += name##_four_values((ptrdiff_t)units, w, row_stride, x);                           \
        return p;                                                                                  \
    }                                                                                              \
                                                                                                   \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations)                         \
    {                                                                                              \
        const uint64_t units = n / UNIT_ELEMENTS;                                                  \
        const uint8_t *w = weights;                                                                \
        while (rows >= STRIPS) {                                                                   \
            const uint64_t fours = (rows < ROWS_MAX ? rows : ROWS_MAX) / STRIPS;                   \
            __m512 p[ROWS_MAX / STRIPS];                                                           \
            for (uint64_t f = 0; f < fours; f++)                                                   \
                p[f] = _mm512_setzero_ps();                                                        \
                                                                                                   \
            for (uint64_t u = 0; u < units; u += UNITS_MAX) {                                      \
                struct q8_four x[UNITS_MAX / STRIP_UNITS];                                         \
                const uint64_t part = units - u < UNITS_MAX ? units - u : UNITS_MAX;               \
                const struct qkern_block_##activation *from = activations;                         \
                for (uint64_t k = 0; k < part; k += STRIP_UNITS)                                   \
                    name##_load_four(&x[k / STRIP_UNITS], strip_count(part - k, 0), from + u + k); \
                for (uint64_t f = 0; f < fours; f++)                                               \
                    p[f] = name##_four_rows(p[f], part,                                            \
                                            w + STRIPS * f * row_stride +                          \
                                                u * sizeof(struct qkern_block_##name),             \
                                            row_stride, x);                                        \
            }                                                                                      \
            for (uint64_t f = 0; f < fours; f++) {                                                 \
                const f4 total = rows_total(p[f]);                                                 \
                memcpy(out + STRIPS * f, &total, sizeof total);                                    \
            }                                                                                      \
            rows -= STRIPS * fours;                                                                \
            out += STRIPS * fours;                                                                 \
            w += STRIPS * fours * row_stride;                                                      \
        }                                                                                          \
        for (; rows > 0; rows--, out++, w += row_stride)                                           \
            *out = name##_vec_dot(n, w, activations);                                              \
    }

#endif
