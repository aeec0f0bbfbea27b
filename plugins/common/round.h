/* SPDX-License-Identifier: MIT */
/*
 * Float to integer, in the ways that the formats ask for, with a result for every input. What these
 * give outside the range that the formats use is part of the contract: docs/numerics.md.
 */
#ifndef QKERN_COMMON_ROUND_H
#define QKERN_COMMON_ROUND_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "half.h"

static inline int32_t clamp_i32(int32_t v, int32_t low, int32_t high)
{
    v = v < low ? low : v;
    return v > high ? high : v;
}

#define RNE_SHIFT 12582912.0f /* 1.5 * 2^23 */
#define RNE_LIMIT 4194303.0f  /* 2^22 - 1 */
#define RNE_LEAST (-4194304)

/*
 * Nearest integer, ties to even, for |v| <= RNE_LIMIT: RNE_SHIFT is added, which leaves no fraction
 * bits, and the integer stands in the low 23 bits of the sum. Every other v gives what these bits
 * then hold: infinities RNE_LEAST, a NaN made by arithmetic 0.
 */
static inline int32_t rne(float v)
{
    const float shifted = v + RNE_SHIFT;
    return (int32_t)(f32_bits(shifted) & 0x007fffff) - 0x00400000;
}

/* rne, clamped to [low, high]. */
static inline int32_t rne_clamped(float v, int32_t low, int32_t high)
{
    return clamp_i32(rne(v), low, high);
}

/* v within [low, high]; NaN gives low. As the x86 instructions do it: max(v, low), min(., high). */
static inline float clamp_f32(float v, float low, float high)
{
    v = v > low ? v : low;
    return v < high ? v : high;
}

/*
 * Nearest integer, ties away from zero, for |v| < 2^30. Adding a half would round it (0.49999997 +
 * 0.5 is 1), so the fraction that truncation leaves decides: twice that, which is exact, toward
 * zero.
 */
static inline int32_t rha(float v)
{
    const int32_t whole = (int32_t)v;
    const float rest = v - (float)whole;
    return whole + (int32_t)(rest + rest);
}

/* 1 / d, or 0 where that is not a finite number: d = 0, |d| <= 2^-128, NaN. */
static inline float reciprocal(float d)
{
    const float id = 1.0f / d;
    return fabsf(id) <= FLT_MAX ? id : 0.0f;
}

#endif
