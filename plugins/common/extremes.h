/* SPDX-License-Identifier: MIT */
/*
 * The extreme elements of a block. Of equal ones the first wins, which decides the sign of m and
 * the sign of a zero; NaN is ignored. The value is found first, in any order, then where it stands:
 * two loops without branches in place of one with.
 */
#ifndef QKERN_COMMON_EXTREMES_H
#define QKERN_COMMON_EXTREMES_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "half.h"

/*
 * Whether a > b, hidden from a compiler that would make one instruction of it and the selection
 * that follows: clang for AArch64 takes FMAXNM and FMINNM where b is no NaN, and these do not
 * ignore a signalling NaN in a.
 */
ALWAYS_INLINE int greater(float a, float b)
{
    int yes = a > b;
#if defined(__aarch64__) && defined(__clang__)
    __asm__("" : "+r"(yes));
#endif
    return yes;
}

/* max |x|, 0 if there is no number at all. Four at a time: n is a multiple of four. */
ALWAYS_INLINE float absmax(int n, const float *x)
{
    float largest[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < n; i += 4)
        for (int k = 0; k < 4; k++) {
            const float a = fabsf(x[i + k]);
            largest[k] = greater(a, largest[k]) ? a : largest[k];
        }
    for (int k = 1; k < 4; k++)
        largest[0] = largest[k] > largest[0] ? largest[k] : largest[0];
    return largest[0];
}

/* The first element whose magnitude is a; 0 if there is none. */
ALWAYS_INLINE float first_of_magnitude(int n, const float *x, float a)
{
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) == a)
            return x[i];
    return 0.0f;
}

/*
 * The element of largest magnitude, with its sign; +0 if there is none but zeros and NaN. For few
 * elements the plain definition is the fastest; a longer one would mispredict its branch too often.
 */
ALWAYS_INLINE float signed_absmax(int n, const float *x)
{
    if (n <= 16) {
        float m = 0.0f;
        for (int i = 0; i < n; i++)
            if (fabsf(x[i]) > fabsf(m))
                m = x[i];
        return m;
    }

    const float largest = absmax(n, x);
    if (largest == 0.0f)
        return 0.0f;
    uint32_t positive = 0, negative = 0;
    for (int i = 0; i < n; i++) {
        positive |= x[i] == largest ? 1 : 0;
        negative |= x[i] == -largest ? 1 : 0;
    }
    if (positive & negative)
        return first_of_magnitude(n, x, largest);
    return negative ? -largest : largest;
}

/* The least and the greatest element; FLT_MAX and -FLT_MAX if there is no number at all. As absmax:
 * n is a multiple of four. */
ALWAYS_INLINE void min_max(int n, const float *x, float *min, float *max)
{
    float lo[4] = {FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX};
    float hi[4] = {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
    for (int i = 0; i < n; i += 4)
        for (int k = 0; k < 4; k++) {
            lo[k] = greater(lo[k], x[i + k]) ? x[i + k] : lo[k];
            hi[k] = greater(x[i + k], hi[k]) ? x[i + k] : hi[k];
        }
    for (int k = 1; k < 4; k++) {
        lo[0] = lo[k] < lo[0] ? lo[k] : lo[0];
        hi[0] = hi[k] > hi[0] ? hi[k] : hi[0];
    }
    *min = lo[0] == 0.0f ? first_of_magnitude(n, x, 0.0f) : lo[0];
    *max = hi[0] == 0.0f ? first_of_magnitude(n, x, 0.0f) : hi[0];
}

#endif
