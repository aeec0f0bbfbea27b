/* SPDX-License-Identifier: MIT */
/* The kernels of a plugin: which types there are, and what their functions are called. */
#ifndef QKERN_COMMON_KERNELS_H
#define QKERN_COMMON_KERNELS_H

#include <stdint.h>

/*
 * X(type, prefix of its functions, USES or IGNORES importance, HAS or LACKS a vec_dot)
 *
 * Each row stands for prefix_quantize and prefix_dequantize, for prefix_quantize_weighted if it
 * uses importance, and for prefix_vec_dot and prefix_vec_dot_rows if it has a vec_dot.
 */
#define KERNEL_TYPES(X)                                                                            \
    X(F32, f32, IGNORES, HAS)                                                                      \
    X(F16, f16, IGNORES, HAS)                                                                      \
    X(BF16, bf16, IGNORES, HAS)                                                                    \
    KERNEL_TYPES_32(X)                                                                             \
    X(Q8_1, q8_1, IGNORES, LACKS)                                                                  \
    KERNEL_TYPES_K(X)                                                                              \
    X(Q8_K, q8_K, IGNORES, LACKS)

/* Those whose vec_dot sums products of codes, which is all that some plugins have. */
#define INTEGER_DOT_TYPES(X) KERNEL_TYPES_32(X) KERNEL_TYPES_K(X)

#define KERNEL_TYPES_32(X)                                                                         \
    X(Q4_0, q4_0, USES, HAS)                                                                       \
    X(Q4_1, q4_1, USES, HAS)                                                                       \
    X(Q5_0, q5_0, USES, HAS)                                                                       \
    X(Q5_1, q5_1, USES, HAS)                                                                       \
    X(Q8_0, q8_0, IGNORES, HAS)

#define KERNEL_TYPES_K(X)                                                                          \
    X(Q2_K, q2_K, USES, HAS)                                                                       \
    X(Q3_K, q3_K, USES, HAS)                                                                       \
    X(Q4_K, q4_K, USES, HAS)                                                                       \
    X(Q5_K, q5_K, USES, HAS)                                                                       \
    X(Q6_K, q6_K, USES, HAS)

#define DECLARE_WEIGHTED_USES(name)                                                                \
    void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,             \
                                  void *blocks);
#define DECLARE_WEIGHTED_IGNORES(name)
#define DECLARE_DOT_HAS(name)                                                                      \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations);                \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations);
#define DECLARE_DOT_LACKS(name)
#define DECLARE_KERNEL(TYPE, name, IMPORTANCE, DOT)                                                \
    void name##_quantize(uint64_t n, const float *x, void *blocks);                                \
    void name##_dequantize(uint64_t n, const void *blocks, float *y);                              \
    DECLARE_WEIGHTED_##IMPORTANCE(name) DECLARE_DOT_##DOT(name)

KERNEL_TYPES(DECLARE_KERNEL)

#undef DECLARE_WEIGHTED_USES
#undef DECLARE_WEIGHTED_IGNORES
#undef DECLARE_DOT_HAS
#undef DECLARE_DOT_LACKS
#undef DECLARE_KERNEL

#endif
