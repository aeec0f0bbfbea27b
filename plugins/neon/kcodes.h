/* SPDX-License-Identifier: MIT */
/*
 * The codes and scales of the K types in vectors, and their sums of minimums: what does not depend
 * on how products are summed.
 *
 * Codes are not brought to the bottom of their byte where that can be saved: they enter a sum
 * multiplied by a power of two, which is shifted out of the sum in the end. The bounds hold for
 * every byte.
 */
#ifndef QKERN_NEON_KCODES_H
#define QKERN_NEON_KCODES_H

#include <qkern/blocks.h>

#include "vec.h"

typedef int32x4_t k_acc;

ALWAYS_INLINE k_acc k_acc_zero(void)
{
    return vdupq_n_s32(0);
}

ALWAYS_INLINE i4 k_totals(k_acc a, k_acc b, k_acc c, k_acc d)
{
    return totals((const int32x4_t[4]){a, b, c, d});
}

ALWAYS_INLINE int8x16_t codes(uint8x16_t v)
{
    return vreinterpretq_s8_u8(v);
}

/* Sixteen scales, of groups in ascending order. */
struct k_lanes {
    int32x4_t group[4];
};

ALWAYS_INLINE struct k_lanes k_lanes_signed(int8x16_t scales)
{
    const int16x8_t low = vmovl_s8(vget_low_s8(scales)), high = vmovl_high_s8(scales);
    return (struct k_lanes){{vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low),
                             vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)}};
}

ALWAYS_INLINE int32x4_t four_unsigned(uint16x4_t v)
{
    return vreinterpretq_s32_u32(vmovl_u16(v));
}

ALWAYS_INLINE struct k_lanes k_lanes_unsigned(uint8x16_t scales)
{
    const uint16x8_t low = vmovl_u8(vget_low_u8(scales)), high = vmovl_high_u8(scales);
    return (struct k_lanes){{four_unsigned(vget_low_u16(low)), four_unsigned(vget_high_u16(low)),
                             four_unsigned(vget_low_u16(high)),
                             four_unsigned(vget_high_u16(high))}};
}

/* The sum of minimum times stored sum, for groups of 16: 16 * 63 * 32768 at most. */
ALWAYS_INLINE k_acc k_minimums(int16x8_t low, int16x8_t high, const uint8_t bsums[16][2])
{
    const int16x8_t x0 = vreinterpretq_s16_u8(vld1q_u8(bsums[0]));
    const int16x8_t x1 = vreinterpretq_s16_u8(vld1q_u8(bsums[8]));
    int32x4_t s = vmull_s16(vget_low_s16(low), vget_low_s16(x0));
    s = vmlal_high_s16(s, low, x0);
    s = vmlal_s16(s, vget_low_s16(high), vget_low_s16(x1));
    return vmlal_high_s16(s, high, x1);
}

/*
 * Q2_K, Q3_K and Q6_K have sixteen groups of 16. A byte of theirs has the codes of four planes, 32
 * elements apart, of which the first belongs to group 8 * half + l: plane p has group 2 * p more.
 */
struct k_planes {
    int8x16_t p[4];
};

/*
 * Q2_K. A code of plane p stands at bits 2p, 2p + 1, so it is 4^p times too large for p < 3; its
 * scale is made so much larger that all products are 16 times too large: 256 * 3 * 15 * 128 * 16 at
 * most. A byte is at most 48, and a scale at most 240.
 */
#define Q2_K_SHIFT 4

ALWAYS_INLINE struct k_planes q2_K_planes(uint8x16_t q)
{
    return (struct k_planes){{codes(vandq_u8(q, vdupq_n_u8(3))), codes(vandq_u8(q, vdupq_n_u8(12))),
                              codes(vandq_u8(q, vdupq_n_u8(48))), codes(vshrq_n_u8(q, 6))}};
}

ALWAYS_INLINE uint8x16_t q2_K_scales(const struct qkern_block_q2_K *w)
{
    const int8x16_t shift = vreinterpretq_s8_u64(vdupq_n_u64(0x0404000002020404));
    return vshlq_u8(vandq_u8(vld1q_u8(w->scales), vdupq_n_u8(15)), shift);
}

ALWAYS_INLINE k_acc q2_K_minimums(const struct qkern_block_q2_K *w, const uint8_t bsums[16][2])
{
    const uint8x16_t min = vshrq_n_u8(vld1q_u8(w->scales), 4);
    return k_minimums(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(min))),
                      vreinterpretq_s16_u16(vmovl_high_u8(min)), bsums);
}

/*
 * Q3_K. The high bit inverted, over the low two, is the code less 4 in two's complement: at the top
 * of a byte that is 32 times the code. 256 * 128 * 32 * 128 at most.
 */
#define Q3_K_SHIFT 5

/* clear has the high bits inverted. */
ALWAYS_INLINE struct k_planes q3_K_planes(uint8x16_t q, uint8x16_t clear, int half)
{
    const uint8x16_t top = vdupq_n_u8(0xe0);
    const uint8x16_t high[4] = {
        half == 0 ? vshlq_n_u8(clear, 7) : vshlq_n_u8(clear, 3),
        half == 0 ? vshlq_n_u8(clear, 6) : vshlq_n_u8(clear, 2),
        half == 0 ? vshlq_n_u8(clear, 5) : vshlq_n_u8(clear, 1),
        half == 0 ? vshlq_n_u8(clear, 4) : clear,
    };
    return (struct k_planes){{
        codes(vsriq_n_u8(high[0], vshlq_n_u8(q, 6), 1)),
        codes(vandq_u8(vsriq_n_u8(high[1], vshlq_n_u8(q, 4), 1), top)),
        codes(vandq_u8(vsriq_n_u8(high[2], vshlq_n_u8(q, 2), 1), top)),
        codes(vandq_u8(vsriq_n_u8(high[3], q, 1), top)),
    }};
}

/* Six bits each, less 32. */
ALWAYS_INLINE int8x16_t q3_K_scales(const struct qkern_block_q3_K *w)
{
    const int8x16_t low_shift = vcombine_s8(vdup_n_s8(0), vdup_n_s8(-4));
    const int8x16_t high_shift =
        vreinterpretq_s8_u32((uint32x4_t){0, 0xfefefefe, 0xfcfcfcfc, 0xfafafafa});
    const uint8x8_t bytes = vld1_u8(w->scales);
    const uint8x16_t low = vshlq_u8(vcombine_u8(bytes, bytes), low_shift);
    const uint8x16_t high = vshlq_u8(four_bytes(w->scales + 8), high_shift);
    const uint8x16_t six = vandq_u8(vsliq_n_u8(low, high, 4), vdupq_n_u8(63));
    return vsubq_s8(codes(six), vdupq_n_s8(32));
}

/*
 * Q6_K. The six bits, the highest inverted, are the code less 32 in two's complement: at the top of
 * a byte that is 4 times the code. 256 * 128 * 128 * 128 at most.
 */
#define Q6_K_SHIFT 2

ALWAYS_INLINE struct k_planes q6_K_planes(uint8x16_t q0, uint8x16_t q1, uint8x16_t qh)
{
    const uint8x16_t nibble = vdupq_n_u8(0xf0);
    const uint8x16_t h = veorq_u8(qh, vdupq_n_u8(0xaa));
    return (struct k_planes){{
        codes(vsliq_n_u8(vshlq_n_u8(q0, 2), h, 6)),
        codes(vsliq_n_u8(vshlq_n_u8(q1, 2), vshrq_n_u8(h, 2), 6)),
        codes(vsriq_n_u8(vshlq_n_u8(h, 2), vandq_u8(q0, nibble), 2)),
        codes(vsriq_n_u8(h, vandq_u8(q1, nibble), 2)),
    }};
}

/* Eight scales and eight minimums of Q4_K and Q5_K. */
struct k_scales_min {
    struct k_lanes scale; /* of groups 0..7 */
    int16x8_t min;
};

/*
 * Groups 0..3, then 4..7: {scales, minimums} are the low six bits of the first eight bytes, then a
 * nibble of the last four under two bits of the first eight.
 */
ALWAYS_INLINE struct k_scales_min k_scales_min(const uint8_t scales[12])
{
    const int8x8_t nibble = vreinterpret_s8_u64(vcreate_u64(0xfcfcfcfc00000000));
    const uint8x8_t first = vld1_u8(scales);
    const uint8x8_t last = vget_low_u8(four_bytes(scales + 8));
    const uint8x8_t low = vand_u8(first, vdup_n_u8(63));
    const uint8x8_t high = vsli_n_u8(vshl_u8(last, nibble), vshr_n_u8(first, 6), 4);
    const uint32x2_t l = vreinterpret_u32_u8(low), h = vreinterpret_u32_u8(high);
    const uint16x8_t scale = vmovl_u8(vreinterpret_u8_u32(vzip1_u32(l, h)));
    const uint16x8_t min = vmovl_u8(vreinterpret_u8_u32(vzip2_u32(l, h)));
    return (struct k_scales_min){
        .scale = {{four_unsigned(vget_low_u16(scale)), four_unsigned(vget_high_u16(scale))}},
        .min = vreinterpretq_s16_u16(min)};
}

/* A group of 32 has two of the stored sums. */
ALWAYS_INLINE k_acc k_minimums_32(const uint8_t scales[12], const uint8_t bsums[16][2])
{
    const int16x8_t min = k_scales_min(scales).min;
    return k_minimums(vzip1q_s16(min, min), vzip2q_s16(min, min), bsums);
}

#endif
