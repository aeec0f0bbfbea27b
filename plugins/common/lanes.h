/* SPDX-License-Identifier: MIT */
/*
 * Quantize and dequantize are written once for all instruction sets, over a few vector primitives
 * that a plugin's vec.h defines as inline functions:
 *
 *   LANES                    4, 8 or 16: floats in a vector
 *
 *   vf                       LANES floats; + - * / are the operators
 *   vf_set, vf_load, vf_store
 *   vf_set_f16(p)            the f16 at p in all lanes
 *   vf_max, vf_min           a > b ? a : b and a < b ? a : b, so b where one is NaN
 *   vf_clamp(v, low, high)   v within [low, high]; NaN gives low
 *   vf_abs, vf_sqrt
 *   vf_round                 to the nearest integer, ties to even, for |v| < 2^22
 *   vf_select(m, yes, no)
 *   vf_transpose(v)          v[0 .. LANES - 1]: lane g of v[i] becomes lane i of v[g]
 *   vf_store_f16(p, v)       as LANES f16 side by side; v is no NaN
 *
 *   vm                       a truth for each lane
 *   vf_gt, vf_eq, vf_ne      with NaN only vf_ne is true
 *   vm_and, vm_or, vm_without(a, b)
 *   vm_any, vm_all, vm_bits  bit g is that of lane g
 *
 *   vi                       LANES int32; + - & | are the operators
 *   vi_set, vi_load, vi_store
 *   vi_from_f32, vf_from_i32 toward zero; exact where it can be
 *   vi_round                 to the nearest, ties to even, for |v| < 2^22
 *   vi_bits, vf_from_bits    the same bits
 *
 *   vb                       16 bytes; + - & | are the operators
 *   vb_bits(v, at, mask)     v >> at & mask of each byte; mask is no longer than what is left
 *   vb_left(v, n)            v << n of each byte, where it loses no bits
 *   vf_from_bytes(v, k)      the signed bytes k * LANES and following
 *   vb_narrow(q, b)          the 32 integers of -128 .. 127 in q[0], q[1], ... as bytes
 *   vb_sign_bits(v)          bit i is the highest of byte i
 *   vb_load_fives(qs, qh, signed_codes, q)   the 32 codes of Q5_0 and Q5_1: 0 .. 31, or less 16
 *
 * Here is what stands on these and is used in more than one place.
 */
#ifndef QKERN_COMMON_LANES_H
#define QKERN_COMMON_LANES_H

#include <string.h>

#include "bytes.h"
#include "round.h"

ALWAYS_INLINE vb vb_load(const void *p)
{
    vb v;
    memcpy(&v, p, sizeof v);
    return v;
}

ALWAYS_INLINE void vb_store(void *p, vb v)
{
    memcpy(p, &v, sizeof v);
}

/* Sixteen values of signed codes: code * d, perhaps with a minimum. */

ALWAYS_INLINE void lanes_values(vb code, vf d, float *y)
{
    for (int k = 0; k < 16 / LANES; k++)
        vf_store(y + k * LANES, vf_from_bytes(code, k) * d);
}

ALWAYS_INLINE void lanes_values_plus(vb code, vf d, vf m, float *y)
{
    for (int k = 0; k < 16 / LANES; k++)
        vf_store(y + k * LANES, vf_from_bytes(code, k) * d + m);
}

ALWAYS_INLINE void lanes_values_less(vb code, vf d, vf m, float *y)
{
    for (int k = 0; k < 16 / LANES; k++)
        vf_store(y + k * LANES, vf_from_bytes(code, k) * d - m);
}

/*
 * rne of round.h, plus RNE_SHIFT: the low 23 bits of the sum become the fraction of a float between
 * 2^23 and 2^24, whose value is theirs. So clamp and offset are float operations.
 */
ALWAYS_INLINE vf lanes_rne_shifted(vf v)
{
    const vi sum = vi_bits(v + vf_set(RNE_SHIFT));
    return vf_from_bits((sum & vi_set(0x007fffff)) | vi_set(0x4b000000));
}

/* rne_clamped, as floats. */
ALWAYS_INLINE vf lanes_rne_clamped(vf v, int low, int high)
{
    const vf code = vf_clamp(lanes_rne_shifted(v), vf_set(RNE_SHIFT + (float)low),
                             vf_set(RNE_SHIFT + (float)high));
    return code - vf_set(RNE_SHIFT);
}

/* rne_clamped less low, so from 0. */
ALWAYS_INLINE vi lanes_rne_from_low(vf v, int low, int high)
{
    const float zero = RNE_SHIFT + (float)low;
    const vf code = vf_clamp(lanes_rne_shifted(v), vf_set(zero), vf_set(RNE_SHIFT + (float)high));
    return vi_bits(code) - vi_bits(vf_set(zero));
}

/* rne_clamped for |v| <= RNE_LIMIT, as floats. */
ALWAYS_INLINE vf lanes_near_clamped(vf v, int low, int high)
{
    return vf_clamp(vf_round(v), vf_set((float)low), vf_set((float)high));
}

/*
 * The 32 codes of a search from 0: those of s * (x - lo), where low is the least code.
 */
ALWAYS_INLINE void lanes_codes(const float *x, vf s, vf lo, int low, int high, vb codes[2])
{
    vi q[32 / LANES];
    for (int k = 0; k < 32 / LANES; k++)
        q[k] = lanes_rne_from_low(s * (vf_load(x + k * LANES) - lo), low, high);
    vb_narrow(q, codes);
}

/* store_scale, for the scales of LANES blocks. */
ALWAYS_INLINE void lanes_store_scale(uint16_t p[LANES], vf v)
{
    vf_store_f16(p, vf_select(vf_eq(v, v), v, vf_set(f32_from_bits(F32_NAN_BITS))));
}

/* The n elements at each of LANES places, a place in a lane: element i in x[i]. LANES divides n. */
ALWAYS_INLINE void lanes_load_from(int n, const float *const from[LANES], vf *x)
{
    for (int i = 0; i < n; i += LANES) {
        for (int g = 0; g < LANES; g++)
            x[i + g] = vf_load(from[g] + i);
        vf_transpose(x + i);
    }
}

/*
 * The first n elements of each of `groups` groups, `stride` floats apart, a group in a lane:
 * element i of group t * LANES + g is in lane g of x[t * n + i]. For groups that are missing in the
 * last vectors the first one stands in.
 */
ALWAYS_INLINE void lanes_load(int turns, int n, int groups, int stride, const float *from, vf *x)
{
    for (int t = 0; t < turns; t++) {
        const float *group[LANES];
        for (int g = 0; g < LANES; g++)
            group[g] = from + (t * LANES + g < groups ? t * LANES + g : 0) * stride;
        lanes_load_from(n, group, x + t * n);
    }
}

ALWAYS_INLINE int at_most(uint64_t n, int limit)
{
    return n < (uint64_t)limit ? (int)n : limit;
}

/* The greatest and the least lane of LANES vectors without NaN, each in the lane of its vector. */

ALWAYS_INLINE vf lanes_greatest(vf v[LANES])
{
    vf_transpose(v);
    vf greatest = v[0];
    for (int i = 1; i < LANES; i++)
        greatest = vf_max(v[i], greatest);
    return greatest;
}

ALWAYS_INLINE vf lanes_least(vf v[LANES])
{
    vf_transpose(v);
    vf least = v[0];
    for (int i = 1; i < LANES; i++)
        least = vf_min(v[i], least);
    return least;
}

/* The sums of the lanes of LANES vectors, each in the lane of its vector. */
ALWAYS_INLINE vi lanes_sums(const vi v[LANES])
{
    vf bits[LANES];
    for (int i = 0; i < LANES; i++)
        bits[i] = vf_from_bits(v[i]);
    vf_transpose(bits);
    vi sum = vi_bits(bits[0]);
    for (int i = 1; i < LANES; i++)
        sum = sum + vi_bits(bits[i]);
    return sum;
}

#endif
