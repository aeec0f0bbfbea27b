/* SPDX-License-Identifier: MIT */
/* The scalar kernels: which types there are, and their entry points. plugin.c makes the tables. */
#ifndef QKERN_SCALAR_KERNELS_H
#define QKERN_SCALAR_KERNELS_H

#include <stdint.h>

/*
 * X(type, prefix of its functions, USES or IGNORES importance, HAS or LACKS a vec_dot)
 *
 * Each row stands for prefix_quantize and prefix_dequantize, for prefix_quantize_weighted if it
 * uses importance, and for prefix_vec_dot if it has one.
 */
#define SCALAR_TYPES(X)                                                                            \
    X(F32, f32, IGNORES, HAS)                                                                      \
    X(F16, f16, IGNORES, HAS)                                                                      \
    X(BF16, bf16, IGNORES, HAS)                                                                    \
    X(Q4_0, q4_0, USES, HAS)                                                                       \
    X(Q4_1, q4_1, USES, HAS)                                                                       \
    X(Q5_0, q5_0, USES, HAS)                                                                       \
    X(Q5_1, q5_1, USES, HAS)                                                                       \
    X(Q8_0, q8_0, IGNORES, HAS)                                                                    \
    X(Q8_1, q8_1, IGNORES, LACKS)                                                                  \
    X(Q2_K, q2_K, USES, HAS)                                                                       \
    X(Q3_K, q3_K, USES, HAS)                                                                       \
    X(Q4_K, q4_K, USES, HAS)                                                                       \
    X(Q5_K, q5_K, USES, HAS)                                                                       \
    X(Q6_K, q6_K, USES, HAS)                                                                       \
    X(Q8_K, q8_K, IGNORES, LACKS)

#define DECLARE_WEIGHTED_USES(name)                                                                \
    void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,             \
                                  void *blocks);
#define DECLARE_WEIGHTED_IGNORES(name)
#define DECLARE_VEC_DOT_HAS(name)                                                                  \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations);
#define DECLARE_VEC_DOT_LACKS(name)
#define DECLARE_KERNEL(TYPE, name, IMPORTANCE, DOT)                                                \
    void name##_quantize(uint64_t n, const float *x, void *blocks);                                \
    void name##_dequantize(uint64_t n, const void *blocks, float *y);                              \
    DECLARE_WEIGHTED_##IMPORTANCE(name) DECLARE_VEC_DOT_##DOT(name)

SCALAR_TYPES(DECLARE_KERNEL)

#undef DECLARE_WEIGHTED_USES
#undef DECLARE_WEIGHTED_IGNORES
#undef DECLARE_VEC_DOT_HAS
#undef DECLARE_VEC_DOT_LACKS
#undef DECLARE_KERNEL

#endif
