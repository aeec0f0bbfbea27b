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
 */
#ifndef QKERN_COMMON_DOTS_KQUANTS_H
#define QKERN_COMMON_DOTS_KQUANTS_H

#include "dots.h"

/* A plugin that has another way with rows defines it as DOT_ALONE. */
#ifndef DOTS_HERE
#define DOTS_HERE DOTS
#endif
#include "klayout.h"

#define UNIT_q8_K K_ELEMENTS

struct q8_K_four {
    const struct qkern_block_q8_K *block[4];
    f4 d;
};

ALWAYS_INLINE struct q8_K_four q8_K_load(int count, const struct qkern_block_q8_K *const x[4])
{
    (void)count;
    return (struct q8_K_four){
        .block = {x[0], x[1], x[2], x[3]},
        .d = {load_f32(x[0]->d), load_f32(x[1]->d), load_f32(x[2]->d), load_f32(x[3]->d)}};
}

#define K_SCALE(name)                                                                              \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_K_four *x)                                       \
    {                                                                                              \
        k_acc s[4] = {k_acc_zero(), k_acc_zero(), k_acc_zero(), k_acc_zero()};                     \
        _Pragma("GCC unroll 4") for (int u = 0; u < count; u++) s[u] =                             \
            name##_sum(w[u], x->block[u]);                                                         \
        return step_scale_4(F4_OF(w, d), x->d, k_totals(s[0], s[1], s[2], s[3]));                  \
    }                                                                                              \
    DOTS_HERE(name, q8_K, q8_K_four, q8_K_load, name##_value)

#define K_MINIMUM(name)                                                                            \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_K_four *x)                                       \
    {                                                                                              \
        k_acc s[4] = {k_acc_zero(), k_acc_zero(), k_acc_zero(), k_acc_zero()};                     \
        k_acc m[4] = {k_acc_zero(), k_acc_zero(), k_acc_zero(), k_acc_zero()};                     \
        _Pragma("GCC unroll 4") for (int u = 0; u < count; u++)                                    \
        {                                                                                          \
            s[u] = name##_sum(w[u], x->block[u]);                                                  \
            m[u] = name##_min(w[u], x->block[u]);                                                  \
        }                                                                                          \
        return step_k_minimum_4(F4_OF(w, d), x->d, k_totals(s[0], s[1], s[2], s[3]),               \
                                F4_OF(w, dmin), k_totals(m[0], m[1], m[2], m[3]));                 \
    }                                                                                              \
    DOTS_HERE(name, q8_K, q8_K_four, q8_K_load, name##_value)

K_MINIMUM(q2_K)
K_SCALE(q3_K)
K_MINIMUM(q4_K)
K_MINIMUM(q5_K)
K_SCALE(q6_K)

#endif
