/* SPDX-License-Identifier: MIT */
/*
 * Products of int8 codes with NEON: widened to int16, then added to int32 in pairs. The dotprod
 * plugin has the same functions over SDOT; sums_legacy.h and sums_kquants.h are written over them.
 *
 * Each gives four int32 lanes whose sum is that of all products. "narrow" says how many products
 * of w and any x fit into an int16.
 */
#ifndef QKERN_NEON_DOT_H
#define QKERN_NEON_DOT_H

#include "common/dots.h"
#include "vec.h"

/* Any w: a product is at most 128 * 128, so that two of them do not fit into an int16. */
ALWAYS_INLINE int32x4_t dot_16(int8x16_t w, int8x16_t x)
{
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(x)));
    return vpadalq_s16(low, vmull_high_s8(w, x));
}

ALWAYS_INLINE int32x4_t dot_32(int8x16_t w0, int8x16_t w1, int8x16_t x0, int8x16_t x1)
{
    int32x4_t s = vpaddlq_s16(vmull_s8(vget_low_s8(w0), vget_low_s8(x0)));
    s = vpadalq_s16(s, vmull_high_s8(w0, x0));
    s = vpadalq_s16(s, vmull_s8(vget_low_s8(w1), vget_low_s8(x1)));
    return vpadalq_s16(s, vmull_high_s8(w1, x1));
}

/* |w| <= 127: 2 * 127 * 128 fits. */
ALWAYS_INLINE int32x4_t dot_16_narrow(int8x16_t w, int8x16_t x)
{
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x));
    return vpaddlq_s16(vmlal_high_s8(low, w, x));
}

/* |w| <= 63: 4 * 63 * 128 fits. */
ALWAYS_INLINE int32x4_t dot_32_narrow(int8x16_t w0, int8x16_t w1, int8x16_t x0, int8x16_t x1)
{
    int16x8_t s = vmull_s8(vget_low_s8(w0), vget_low_s8(x0));
    s = vmlal_high_s8(s, w0, x0);
    s = vmlal_s8(s, vget_low_s8(w1), vget_low_s8(x1));
    return vpaddlq_s16(vmlal_high_s8(s, w1, x1));
}

/* The codes of Q4_0, offset taken off, times 2^Q4_0_SHIFT: 0, so that they are narrow. */
#define Q4_0_SHIFT 0

ALWAYS_INLINE int8x16_t q4_0_low(uint8x16_t qs)
{
    return vsubq_s8(vreinterpretq_s8_u8(vandq_u8(qs, vdupq_n_u8(15))), vdupq_n_s8(8));
}

ALWAYS_INLINE int8x16_t q4_0_high(uint8x16_t qs)
{
    return vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(qs, 4)), vdupq_n_s8(8));
}

#endif
