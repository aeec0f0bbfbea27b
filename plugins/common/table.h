/* SPDX-License-Identifier: MIT */
/* The kernel tables of a plugin that has everything, made from the names of kernels.h. */
#ifndef QKERN_COMMON_TABLE_H
#define QKERN_COMMON_TABLE_H

#include <stddef.h>

#include <qkern/plugin.h>

#include "kernels.h"

/* Importance has no use for these formats: they write what quantize writes. */
#define WEIGHTED_USES(name)
#define WEIGHTED_IGNORES(name)                                                                     \
    static void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,      \
                                         void *blocks)                                             \
    {                                                                                              \
        (void)importance;                                                                          \
        name##_quantize(n, x, blocks);                                                             \
    }

#define DOT_HAS(function) function
#define DOT_LACKS(function) NULL

/* A type with all its entry points. */
#define KERNEL(TYPE, name, IMPORTANCE, DOT)                                                        \
    WEIGHTED_##IMPORTANCE(name) static const struct qkern_kernel name = {                          \
        QKERN_KERNEL_HEAD(TYPE),                                                                   \
        .quantize = name##_quantize,                                                               \
        .dequantize = name##_dequantize,                                                           \
        .vec_dot = DOT_##DOT(name##_vec_dot),                                                      \
        .quantize_weighted = name##_quantize_weighted,                                             \
        .vec_dot_rows = DOT_##DOT(name##_vec_dot_rows)};

/* A type with its dot products only: the rest of the next lower tier is as good. */
#define KERNEL_DOTS(TYPE, name, IMPORTANCE, DOT)                                                   \
    static const struct qkern_kernel name = {QKERN_KERNEL_HEAD(TYPE),                              \
                                             .vec_dot = DOT_##DOT(name##_vec_dot),                 \
                                             .vec_dot_rows = DOT_##DOT(name##_vec_dot_rows)};

#define KERNEL_POINTER(TYPE, name, IMPORTANCE, DOT) &name,

#endif
