/* SPDX-License-Identifier: MIT */
/*
 * The dot products of the K types. The including kquants_dot.c defines
 *
 *   k_acc                        a vector of int32 whose lanes are yet to be added up
 *   k_acc k_acc_zero(void)
 *   i4 k_totals(k_acc, k_acc, k_acc, k_acc)
 *   k_acc NAME_sum(const struct qkern_block_NAME *w, const struct qkern_block_q8_K *x)
 *   k_acc NAME_min(const struct qkern_block_NAME *w, const struct qkern_block_q8_K *x)
 *
 * for Q2_K .. Q6_K: the sum over groups of scale times sum of code times code, offsets taken off,
 * and for Q2_K, Q4_K and Q5_K the sum of minimum times stored sum.
 *
 * K_DOTS is what of dots.h makes the entries, DOTS if it is not defined; K_UNROLLED stands before
 * the loop over four units, and unrolls it if it is not defined. A plugin that has not all types,
 * or sees activations otherwise, also defines
 *
 *   K_TYPES(MINIMUM, SCALE)   the types: MINIMUM(NAME) or SCALE(NAME) for each
 *   K_FOUR, K_LOAD            the struct of four activation blocks with f4 d, and what loads it
 *   K_UNIT(x, u)              what NAME_sum and NAME_min see of unit u of such a struct
 */
#ifndef QKERN_COMMON_DOTS_KQUANTS_H
#define QKERN_COMMON_DOTS_KQUANTS_H

#include "dots.h"
#include "klayout.h"
#include "q8_K_four.h"

#define UNIT_q8_K K_ELEMENTS

#ifndef K_DOTS
#define K_DOTS DOTS
#endif
#ifndef K_UNROLLED
#define K_UNROLLED _Pragma("GCC unroll 4")
#endif

#ifndef K_TYPES
#define K_TYPES(MINIMUM, SCALE) MINIMUM(q2_K) SCALE(q3_K) MINIMUM(q4_K) MINIMUM(q5_K) SCALE(q6_K)
#define K_FOUR q8_K_four
#define K_LOAD q8_K_load
#define K_UNIT(x, u) ((x)->block[u])
#endif

#define K_SCALE(name)                                                                              \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct K_FOUR *x)                                          \
    {                                                                                              \
        k_acc s[4];                                                                                \
        K_UNROLLED for (int u = 0; u < count; u++) s[u] = name##_sum(w[u], K_UNIT(x, u));          \
        for (int u = count; u < 4; u++)                                                            \
            s[u] = k_acc_zero();                                                                   \
        return step_scale_4(F4_OF(w, d), x->d, k_totals(s[0], s[1], s[2], s[3]));                  \
    }                                                                                              \
    K_DOTS(name, q8_K, K_FOUR, K_LOAD, name##_value)

#define K_MINIMUM(name)                                                                            \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct K_FOUR *x)                                          \
    {                                                                                              \
        k_acc s[4];                                                                                \
        k_acc m[4];                                                                                \
        K_UNROLLED for (int u = 0; u < count; u++)                                                 \
        {                                                                                          \
            s[u] = name##_sum(w[u], K_UNIT(x, u));                                                 \
            m[u] = name##_min(w[u], K_UNIT(x, u));                                                 \
        }                                                                                          \
        for (int u = count; u < 4; u++)                                                            \
            s[u] = m[u] = k_acc_zero();                                                            \
        return step_k_minimum_4(F4_OF(w, d), x->d, k_totals(s[0], s[1], s[2], s[3]),               \
                                F4_OF(w, dmin), k_totals(m[0], m[1], m[2], m[3]));                 \
    }                                                                                              \
    K_DOTS(name, q8_K, K_FOUR, K_LOAD, name##_value)

K_TYPES(K_MINIMUM, K_SCALE)

#endif
