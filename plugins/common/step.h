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
static inline float step_scale(float dw, float dx, int32_t s)
{
    return (dw * dx) * (float)s;
}

/* A unit of Q4_1 or Q5_1: sx is the Q8_1 block's stored scale times sum of codes. */
static inline float step_minimum(float dw, float dx, int32_t s, float mw, float sx)
{
    return (dw * dx) * (float)s + mw * sx;
}

/* A unit of Q2_K, Q4_K or Q5_K: m sums the sub-block minimum times the stored sum of codes. */
static inline float step_k_minimum(float dw, float dx, int32_t s, float dmin, int32_t m)
{
    return (dx * dw) * (float)s - (dx * dmin) * (float)m;
}

/* Unit u adds to p[u % STEP_PARTIALS]. */
#define STEP_PARTIALS 4

static inline float partials_total(const float p[STEP_PARTIALS])
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
