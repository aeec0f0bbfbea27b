/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows of F32, F16 and BF16, around what differs between instruction sets: how
 * sixteen elements become floats. Before it includes this file, a plugin's floats.c defines
 *
 *   ROWS_TOGETHER   how many rows share the activations that are loaded: each is a chain of sums,
 *                   and a chain alone waits for its additions
 *   PREFETCH_BYTES  how far ahead of their use vec_dot_rows asks for weights
 *   struct sixteen  { vf v[16 / LANES]; }
 *   struct sixteen NAME_load(const uint8_t *p)   sixteen elements, in any order
 *   float NAME_total(const struct sixteen *p)    the total of partials in that order
 */
#ifndef QKERN_COMMON_DOTS_FLOATS_H
#define QKERN_COMMON_DOTS_FLOATS_H

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"
#include "kernels.h"
#include "step.h"

ALWAYS_INLINE void sixteen_add(struct sixteen *p, const struct sixteen *w, const struct sixteen *x)
{
    for (int i = 0; i < 16 / LANES; i++)
        p->v[i] += w->v[i] * x->v[i];
}

/*
 * In the tail zeros stand for the elements that are missing: 0 * 0 is +0, and a partial is never
 * -0, for it starts at +0 and only a sum of two -0 is -0; so adding it changes nothing.
 */
#define FLOAT_DOTS(name, SIZE)                                                                     \
    ALWAYS_INLINE void name##_dots(int rows, bool ahead, uint64_t n, float *out, const uint8_t *w, \
                                   uint64_t row_stride, const uint8_t *x)                          \
    {                                                                                              \
        struct sixteen p[ROWS_TOGETHER];                                                           \
        for (int r = 0; r < rows; r++)                                                             \
            for (int i = 0; i < 16 / LANES; i++)                                                   \
                p[r].v[i] = vf_set(0.0f);                                                          \
                                                                                                   \
        uint64_t i = 0;                                                                            \
        _Pragma("GCC unroll 4") for (; n - i >= 16; i += 16)                                       \
        {                                                                                          \
            const struct sixteen xs = name##_load(x + i * (SIZE));                                 \
            for (int r = 0; r < rows; r++) {                                                       \
                const uint8_t *at = w + (uint64_t)r * row_stride + i * (SIZE);                     \
                if (ahead)                                                                         \
                    __builtin_prefetch(at + PREFETCH_BYTES);                                       \
                const struct sixteen ws = name##_load(at);                                         \
                sixteen_add(&p[r], &ws, &xs);                                                      \
            }                                                                                      \
        }                                                                                          \
        if (i < n) {                                                                               \
            uint8_t rest[16 * (SIZE)] = {0};                                                       \
            memcpy(rest, x + i * (SIZE), (size_t)(n - i) * (SIZE));                                \
            const struct sixteen xs = name##_load(rest);                                           \
            for (int r = 0; r < rows; r++) {                                                       \
                memcpy(rest, w + (uint64_t)r * row_stride + i * (SIZE), (size_t)(n - i) * (SIZE)); \
                const struct sixteen ws = name##_load(rest);                                       \
                sixteen_add(&p[r], &ws, &xs);                                                      \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < rows; r++)                                                             \
            out[r] = name##_total(&p[r]);                                                          \
    }                                                                                              \
                                                                                                   \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations)                 \
    {                                                                                              \
        float out;                                                                                 \
        name##_dots(1, false, n, &out, weights, 0, activations);                                   \
        return out;                                                                                \
    }                                                                                              \
                                                                                                   \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations)                         \
    {                                                                                              \
        const uint8_t *w = weights;                                                                \
        for (; rows >= ROWS_TOGETHER; rows -= ROWS_TOGETHER) {                                     \
            name##_dots(ROWS_TOGETHER, true, n, out, w, row_stride, activations);                  \
            out += ROWS_TOGETHER;                                                                  \
            w += ROWS_TOGETHER * row_stride;                                                       \
        }                                                                                          \
        for (; rows > 0; rows--, out++, w += row_stride)                                           \
            name##_dots(1, true, n, out, w, row_stride, activations);                              \
    }

FLOAT_DOTS(f32, 4)
FLOAT_DOTS(f16, 2)
FLOAT_DOTS(bf16, 2)

#endif
