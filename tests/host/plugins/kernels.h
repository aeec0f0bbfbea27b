/* SPDX-License-Identifier: MIT */
/*
 * Kernels that say which plugin they are: every output is PLUGIN_MARK. They keep the memory rules
 * of real ones.
 */
#include <string.h>

#include <qkern/plugin.h>

#include "host/arch.h"

#ifndef PLUGIN_MARK
#define PLUGIN_MARK 1
#endif

static inline void mark_quantize(uint64_t n, const float *x, void *blocks)
{
    (void)x;
    memset(blocks, PLUGIN_MARK, 4 * n);
}

static inline void mark_dequantize(uint64_t n, const void *blocks, float *y)
{
    (void)blocks;
    for (uint64_t i = 0; i < n; i++)
        y[i] = (float)PLUGIN_MARK;
}

static inline float mark_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    (void)n, (void)weights, (void)activations;
    return (float)PLUGIN_MARK;
}

static inline void mark_quantize_weighted(uint64_t n, const float *x, const float *importance,
                                          void *blocks)
{
    (void)importance;
    mark_quantize(n, x, blocks);
}

static inline void mark_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,
                                     uint64_t row_stride, const void *activations)
{
    (void)n, (void)weights, (void)row_stride, (void)activations;
    for (uint64_t r = 0; r < rows; r++)
        out[r] = (float)PLUGIN_MARK;
}

/* All entry points of struct qkern_kernel. */
#define MARK_ENTRIES                                                                               \
    .quantize = mark_quantize, .dequantize = mark_dequantize, .vec_dot = mark_vec_dot,             \
    .quantize_weighted = mark_quantize_weighted, .vec_dot_rows = mark_vec_dot_rows
