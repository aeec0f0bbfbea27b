/* SPDX-License-Identifier: MIT */
/*
 * The float step of vec_dot: how the exact integer sums of the units become one float. This order
 * of operations is the numeric contract; a SIMD plugin does the same in lanes.
 *
 * dw, mw, dmin belong to the weight's block; dx, sx to the activation's.
 */
#ifndef QKERN_COMMON_STEP_H
#define QKERN_COMMON_STEP_H

#include <stdint.h>

/* A unit without minimum; s sums code times code, and, for K types, scale. */
#define STEP_SCALE(dw, dx, s) (((dw) * (dx)) * (s))

/* A unit of Q4_1 or Q5_1: sx is the Q8_1 block's stored scale times sum of codes. */
#define STEP_MINIMUM(dw, dx, s, mw, sx) (((dw) * (dx)) * (s) + (mw) * (sx))

/* A unit of Q2_K, Q4_K or Q5_K: m sums the sub-block minimum times the stored sum of codes. */
#define STEP_K_MINIMUM(dw, dx, s, dmin, m) (((dx) * (dw)) * (s) - ((dx) * (dmin)) * (m))

static inline float step_scale(float dw, float dx, int32_t s)
{
    return STEP_SCALE(dw, dx, (float)s);
}

static inline float step_minimum(float dw, float dx, int32_t s, float mw, float sx)
{
    return STEP_MINIMUM(dw, dx, (float)s, mw, sx);
}

static inline float step_k_minimum(float dw, float dx, int32_t s, float dmin, int32_t m)
{
    return STEP_K_MINIMUM(dw, dx, (float)s, dmin, (float)m);
}

/* Unit u adds to p[u % STEP_PARTIALS]. */
#define STEP_PARTIALS 4

static inline float partials_total(const float p[STEP_PARTIALS])
{
    return (p[0] + p[2]) + (p[1] + p[3]);
}

/* Four units at once, one in each lane; so the partials are one vector too. */
typedef float f4 __attribute__((vector_size(16)));
typedef int32_t i4 __attribute__((vector_size(16)));

static inline f4 f4_from_i4(i4 v)
{
    return __builtin_convertvector(v, f4);
}

static inline f4 step_scale_4(f4 dw, f4 dx, i4 s)
{
    return STEP_SCALE(dw, dx, f4_from_i4(s));
}

static inline f4 step_minimum_4(f4 dw, f4 dx, i4 s, f4 mw, f4 sx)
{
    return STEP_MINIMUM(dw, dx, f4_from_i4(s), mw, sx);
}

static inline f4 step_k_minimum_4(f4 dw, f4 dx, i4 s, f4 dmin, i4 m)
{
    return STEP_K_MINIMUM(dw, dx, f4_from_i4(s), dmin, f4_from_i4(m));
}

static inline float f4_partials_total(f4 p)
{
    return (p[0] + p[2]) + (p[1] + p[3]);
}

/* Element i of F32, F16 and BF16 adds to p[i % FLOAT_PARTIALS]. */
#define FLOAT_PARTIALS 16

/* The upper half is added onto the lower half until one value is left. Overwrites p. */
static inline float float_partials_total(float p[FLOAT_PARTIALS])
{
    for (int half = FLOAT_PARTIALS / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            p[i] += p[i + half];
    return p[0];
}

#endif
