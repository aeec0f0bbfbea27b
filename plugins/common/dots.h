/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows of the quantized types, around what differs between instruction sets:
 * the exact integer sums of four units. All else stands here: the walk over rows and units, the
 * tail, the scales, the float step and the partials.
 *
 * Before it includes this file, a plugin's legacy_dot.c or kquants_dot.c defines
 *
 *   ROWS_TOGETHER   how many rows share the activations that are loaded
 *   PREFETCH_BYTES  how far ahead of their use vec_dot_rows asks for weights
 *
 * and its vec.h has f4_load_f16, which converts four f16 that need not stand together.
 */
#ifndef QKERN_COMMON_DOTS_H
#define QKERN_COMMON_DOTS_H

#include <stdbool.h>
#include <stddef.h>

#include <qkern/blocks.h>

#include "bytes.h"
#include "kernels.h"
#include "step.h"

/* The f16 at a member of four blocks. */
#define F4_OF(b, member) f4_load_f16((b)[0]->member, (b)[1]->member, (b)[2]->member, (b)[3]->member)

/*
 * A kind of dot product. LOAD takes what it needs of four activation blocks into a struct, once for
 * all rows; VALUE gives the four values of the units. In the tail only the first `count` units are
 * real: the other pointers are to a block of zeros. Its value is +0, and a partial is never -0, for
 * it starts at +0 and only a sum of two -0 is -0; so adding it changes nothing.
 *
 * DOTS(name, activation, FOUR, LOAD, VALUE) defines name_vec_dot and name_vec_dot_rows; DOT_ALONE
 * defines only name_vec_dot, for a plugin that has another way with rows, and DOTS_WALK with
 * DOTS_OF_ROWS only name_vec_dot_rows:
 *
 *   struct FOUR
 *   struct FOUR LOAD(int count, const struct qkern_block_ACTIVATION *const x[4])
 *   f4 VALUE(int count, const struct qkern_block_NAME *const w[4], const struct FOUR *x)
 */
#define DOTS_WALK(name, activation, FOUR, LOAD, VALUE)                                             \
    ALWAYS_INLINE void name##_dots(int rows, bool ahead, uint64_t units, float *out,               \
                                   const uint8_t *weights, uint64_t row_stride,                    \
                                   const struct qkern_block_##activation *x)                       \
    {                                                                                              \
        static const struct qkern_block_##name no_w;                                               \
        static const struct qkern_block_##activation no_x;                                         \
        f4 p[ROWS_TOGETHER];                                                                       \
        for (int r = 0; r < rows; r++)                                                             \
            p[r] = (f4){0.0f, 0.0f, 0.0f, 0.0f};                                                   \
                                                                                                   \
        uint64_t u = 0;                                                                            \
        for (; units - u >= 4; u += 4) {                                                           \
            const struct qkern_block_##activation *const xs[4] = {x + u, x + u + 1, x + u + 2,     \
                                                                  x + u + 3};                      \
            const struct FOUR four = LOAD(4, xs);                                                  \
            for (int r = 0; r < rows; r++) {                                                       \
                const uint8_t *row = weights + (uint64_t)r * row_stride;                           \
                const struct qkern_block_##name *w = (const struct qkern_block_##name *)row + u;   \
                const struct qkern_block_##name *const ws[4] = {w, w + 1, w + 2, w + 3};           \
                for (size_t b = 0; ahead && b < 4 * sizeof *w; b += 64)                            \
                    __builtin_prefetch((const uint8_t *)w + b + PREFETCH_BYTES);                   \
                p[r] += VALUE(4, ws, &four);                                                       \
            }                                                                                      \
        }                                                                                          \
        if (u < units) {                                                                           \
            const int count = (int)(units - u);                                                    \
            const struct qkern_block_##activation *const xs[4] = {                                 \
                x + u, count > 1 ? x + u + 1 : &no_x, count > 2 ? x + u + 2 : &no_x, &no_x};       \
            const struct FOUR four = LOAD(count, xs);                                              \
            for (int r = 0; r < rows; r++) {                                                       \
                const uint8_t *row = weights + (uint64_t)r * row_stride;                           \
                const struct qkern_block_##name *w = (const struct qkern_block_##name *)row + u;   \
                const struct qkern_block_##name *const ws[4] = {w, count > 1 ? w + 1 : &no_w,      \
                                                                count > 2 ? w + 2 : &no_w, &no_w}; \
                p[r] += VALUE(count, ws, &four);                                                   \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < rows; r++)                                                             \
            out[r] = f4_partials_total(p[r]);                                                      \
    }

#define DOTS_OF_A_ROW(name, activation)                                                            \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations)                 \
    {                                                                                              \
        float out;                                                                                 \
        name##_dots(1, false, n / UNIT_##activation, &out, weights, 0, activations);               \
        return out;                                                                                \
    }

#define DOTS_OF_ROWS(name, activation)                                                             \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations)                         \
    {                                                                                              \
        const uint64_t units = n / UNIT_##activation;                                              \
        const uint8_t *w = weights;                                                                \
        for (; rows >= ROWS_TOGETHER; rows -= ROWS_TOGETHER) {                                     \
            name##_dots(ROWS_TOGETHER, true, units, out, w, row_stride, activations);              \
            out += ROWS_TOGETHER;                                                                  \
            w += ROWS_TOGETHER * row_stride;                                                       \
        }                                                                                          \
        for (; rows > 0; rows--, out++, w += row_stride)                                           \
            name##_dots(1, true, units, out, w, row_stride, activations);                          \
    }

#define DOT_ALONE(name, activation, FOUR, LOAD, VALUE)                                             \
    DOTS_WALK(name, activation, FOUR, LOAD, VALUE)                                                 \
    DOTS_OF_A_ROW(name, activation)

#define DOTS(name, activation, FOUR, LOAD, VALUE)                                                  \
    DOTS_WALK(name, activation, FOUR, LOAD, VALUE)                                                 \
    DOTS_OF_A_ROW(name, activation)                                                                \
    DOTS_OF_ROWS(name, activation)

#endif
