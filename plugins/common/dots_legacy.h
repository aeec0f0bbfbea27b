/* SPDX-License-Identifier: MIT */
/*
 * The dot products of the types of 32 elements a block. The including legacy_dot.c defines
 *
 *   struct q8_codes                      what it keeps of the codes of four activation blocks
 *   struct q8_codes q8_codes_load(const int8_t *, const int8_t *, const int8_t *, const int8_t *)
 *   i4 NAME_sums(const struct qkern_block_NAME *const w[4], const struct q8_codes *x)
 *
 * for Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0: the sums of code times code, offsets taken off.
 */
#ifndef QKERN_COMMON_DOTS_LEGACY_H
#define QKERN_COMMON_DOTS_LEGACY_H

#include "dots.h"

#define UNIT_q8_0 32
#define UNIT_q8_1 32

struct q8_four {
    struct q8_codes codes;
    f4 d;
    f4 s; /* of Q8_1 */
};

ALWAYS_INLINE struct q8_four q8_0_load(int count, const struct qkern_block_q8_0 *const x[4])
{
    (void)count;
    return (struct q8_four){.codes = q8_codes_load(x[0]->qs, x[1]->qs, x[2]->qs, x[3]->qs),
                            .d = F4_OF(x, d)};
}

ALWAYS_INLINE struct q8_four q8_1_load(int count, const struct qkern_block_q8_1 *const x[4])
{
    (void)count;
    return (struct q8_four){.codes = q8_codes_load(x[0]->qs, x[1]->qs, x[2]->qs, x[3]->qs),
                            .d = F4_OF(x, d),
                            .s = F4_OF(x, s)};
}

#define LEGACY_SCALE(name)                                                                         \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_four *x)                                         \
    {                                                                                              \
        (void)count;                                                                               \
        return step_scale_4(F4_OF(w, d), x->d, name##_sums(w, &x->codes));                         \
    }                                                                                              \
    DOTS(name, q8_0, q8_four, q8_0_load, name##_value)

#define LEGACY_MINIMUM(name)                                                                       \
    ALWAYS_INLINE f4 name##_value(int count, const struct qkern_block_##name *const w[4],          \
                                  const struct q8_four *x)                                         \
    {                                                                                              \
        (void)count;                                                                               \
        return step_minimum_4(F4_OF(w, d), x->d, name##_sums(w, &x->codes), F4_OF(w, m), x->s);    \
    }                                                                                              \
    DOTS(name, q8_1, q8_four, q8_1_load, name##_value)

LEGACY_SCALE(q4_0)
LEGACY_MINIMUM(q4_1)
LEGACY_SCALE(q5_0)
LEGACY_MINIMUM(q5_1)
LEGACY_SCALE(q8_0)

#endif
