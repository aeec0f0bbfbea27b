/* SPDX-License-Identifier: MIT */
/*
 * The exact integer sums of the K types, over the products that the including plugin's dot.h
 * defines.
 *
 * Codes are not brought to the bottom of their byte where that can be saved: they enter the sum
 * multiplied by a power of two, which is shifted out of the sum in the end. The bounds hold for
 * every byte.
 */
#ifndef QKERN_NEON_SUMS_KQUANTS_H
#define QKERN_NEON_SUMS_KQUANTS_H

#include "common/dots.h"
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
struct k_scale_lanes {
    int32x4_t group[4];
};

ALWAYS_INLINE struct k_scale_lanes k_scale_lanes(int8x16_t scales)
{
    const int16x8_t low = vmovl_s8(vget_low_s8(scales)), high = vmovl_high_s8(scales);
    return (struct k_scale_lanes){{vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low),
                                   vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)}};
}

/* s + dot * the scale of group g. */
ALWAYS_INLINE k_acc k_scaled(k_acc s, int32x4_t dot, const struct k_scale_lanes *scale, int g)
{
    return s + dot * scale->group[g / 4][g % 4];
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
 * Q2_K. A code of plane p stands at bits 2p, 2p + 1, so it is 4^p times too large for p < 3; its
 * scale is made so much larger that all products are 16 times too large: 256 * 3 * 15 * 128 * 16 at
 * most. A byte is at most 48, and a scale at most 240.
 */
ALWAYS_INLINE k_acc q2_K_sum(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    const int8x16_t shift = vreinterpretq_s8_u64(vdupq_n_u64(0x0404000002020404));
    const uint8x16_t scales = vshlq_u8(vandq_u8(vld1q_u8(w->scales), vdupq_n_u8(15)), shift);
    const uint16x8_t low = vmovl_u8(vget_low_u8(scales)), high = vmovl_high_u8(scales);
    const struct k_scale_lanes scale = {{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))),
                                         vreinterpretq_s32_u32(vmovl_high_u16(low)),
                                         vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
                                         vreinterpretq_s32_u32(vmovl_high_u16(high))}};
    k_acc s = k_acc_zero();
    for (int half = 0; half < 2; half++)
        for (int l = 0; l < 2; l++) {
            const uint8x16_t q = vld1q_u8(w->qs + 32 * half + 16 * l);
            const int8_t *xs = x->qs + 128 * half + 16 * l;
            const uint8x16_t plane[4] = {vandq_u8(q, vdupq_n_u8(3)), vandq_u8(q, vdupq_n_u8(12)),
                                         vandq_u8(q, vdupq_n_u8(48)), vshrq_n_u8(q, 6)};
            for (int p = 0; p < 4; p++)
                s = k_scaled(s, dot_16_narrow(codes(plane[p]), vld1q_s8(xs + 32 * p)), &scale,
                             8 * half + 2 * p + l);
        }
    return vshrq_n_s32(s, 4);
}

ALWAYS_INLINE k_acc q2_K_min(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    const uint8x16_t min = vshrq_n_u8(vld1q_u8(w->scales), 4);
    return k_minimums(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(min))),
                      vreinterpretq_s16_u16(vmovl_high_u8(min)), x->bsums);
}

/* The six bits of Q3_K's scales, less 32. */
ALWAYS_INLINE int8x16_t q3_K_scale_bytes(const uint8_t scales[12])
{
    const int8x16_t low_shift = vcombine_s8(vdup_n_s8(0), vdup_n_s8(-4));
    const int8x16_t high_shift =
        vreinterpretq_s8_u32((uint32x4_t){0, 0xfefefefe, 0xfcfcfcfc, 0xfafafafa});
    const uint8x8_t bytes = vld1_u8(scales);
    const uint8x16_t low = vshlq_u8(vcombine_u8(bytes, bytes), low_shift);
    const uint8x16_t high = vshlq_u8(four_bytes(scales + 8), high_shift);
    const uint8x16_t six = vandq_u8(vsliq_n_u8(low, high, 4), vdupq_n_u8(63));
    return vsubq_s8(vreinterpretq_s8_u8(six), vdupq_n_s8(32));
}

/*
 * Q3_K. The high bit inverted, over the low two, is the code less 4 in two's complement: at the top
 * of a byte that is 32 times the code. 256 * 128 * 32 * 128 at most.
 */
ALWAYS_INLINE k_acc q3_K_sum(const struct qkern_block_q3_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_scale_lanes scale = k_scale_lanes(q3_K_scale_bytes(w->scales));
    const uint8x16_t top = vdupq_n_u8(0xe0);
    k_acc s = k_acc_zero();
    for (int l = 0; l < 2; l++) {
        const uint8x16_t h = vmvnq_u8(vld1q_u8(w->hmask + 16 * l));
        for (int half = 0; half < 2; half++) {
            const uint8x16_t q = vld1q_u8(w->qs + 32 * half + 16 * l);
            const int8_t *xs = x->qs + 128 * half + 16 * l;
            const uint8x16_t high[4] = {
                half == 0 ? vshlq_n_u8(h, 7) : vshlq_n_u8(h, 3),
                half == 0 ? vshlq_n_u8(h, 6) : vshlq_n_u8(h, 2),
                half == 0 ? vshlq_n_u8(h, 5) : vshlq_n_u8(h, 1),
                half == 0 ? vshlq_n_u8(h, 4) : h,
            };
            const uint8x16_t plane[4] = {
                vsriq_n_u8(high[0], vshlq_n_u8(q, 6), 1),
                vandq_u8(vsriq_n_u8(high[1], vshlq_n_u8(q, 4), 1), top),
                vandq_u8(vsriq_n_u8(high[2], vshlq_n_u8(q, 2), 1), top),
                vandq_u8(vsriq_n_u8(high[3], q, 1), top),
            };
            for (int p = 0; p < 4; p++)
                s = k_scaled(s, dot_16(codes(plane[p]), vld1q_s8(xs + 32 * p)), &scale,
                             8 * half + 2 * p + l);
        }
    }
    return vshrq_n_s32(s, 5);
}

/* Eight scales and eight minimums of Q4_K and Q5_K. */
struct k_scales_min {
    struct k_scale_lanes scale; /* of groups 0..7 */
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
    return (struct k_scales_min){.scale = {{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(scale))),
                                            vreinterpretq_s32_u32(vmovl_high_u16(scale))}},
                                 .min = vreinterpretq_s16_u16(min)};
}

/* A group of 32 has two of the stored sums. */
ALWAYS_INLINE k_acc k_minimums_32(int16x8_t min, const uint8_t bsums[16][2])
{
    return k_minimums(vzip1q_s16(min, min), vzip2q_s16(min, min), bsums);
}

ALWAYS_INLINE k_acc q4_K_sum(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_scales_min k = k_scales_min(w->scales);
    const uint8x16_t four = vdupq_n_u8(15);
    k_acc s = k_acc_zero(); /* 256 * 15 * 63 * 128 at most */
    for (int c = 0; c < 4; c++) {
        const uint8x16_t q0 = vld1q_u8(w->qs + 32 * c), q1 = vld1q_u8(w->qs + 32 * c + 16);
        const int8_t *xs = x->qs + 64 * c;
        const int32x4_t low = dot_32_narrow(codes(vandq_u8(q0, four)), codes(vandq_u8(q1, four)),
                                            vld1q_s8(xs), vld1q_s8(xs + 16));
        const int32x4_t high = dot_32_narrow(codes(vshrq_n_u8(q0, 4)), codes(vshrq_n_u8(q1, 4)),
                                             vld1q_s8(xs + 32), vld1q_s8(xs + 48));
        s = k_scaled(s, low, &k.scale, 2 * c);
        s = k_scaled(s, high, &k.scale, 2 * c + 1);
    }
    return s;
}

ALWAYS_INLINE k_acc q4_K_min(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    return k_minimums_32(k_scales_min(w->scales).min, x->bsums);
}

/* Bits 0..3 of high under bit 4 of a byte whose lowest bit is the fifth bit of the code. */
ALWAYS_INLINE int8x16_t q5_K_codes(uint8x16_t four, uint8x16_t fifth)
{
    return codes(vandq_u8(vsliq_n_u8(four, fifth, 4), vdupq_n_u8(31)));
}

/* v with bit k at the bottom. k is a constant after inlining. */
ALWAYS_INLINE uint8x16_t bit_down(uint8x16_t v, int k)
{
    return v >> (uint8x16_t){(uint8_t)k, (uint8_t)k, (uint8_t)k, (uint8_t)k, (uint8_t)k, (uint8_t)k,
                             (uint8_t)k, (uint8_t)k, (uint8_t)k, (uint8_t)k, (uint8_t)k, (uint8_t)k,
                             (uint8_t)k, (uint8_t)k, (uint8_t)k, (uint8_t)k};
}

ALWAYS_INLINE k_acc q5_K_sum(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_scales_min k = k_scales_min(w->scales);
    const uint8x16_t h0 = vld1q_u8(w->qh), h1 = vld1q_u8(w->qh + 16);
    k_acc s = k_acc_zero(); /* 256 * 31 * 63 * 128 at most */
    for (int c = 0; c < 4; c++) {
        const uint8x16_t q0 = vld1q_u8(w->qs + 32 * c), q1 = vld1q_u8(w->qs + 32 * c + 16);
        const int8_t *xs = x->qs + 64 * c;
        const int32x4_t low =
            dot_32_narrow(q5_K_codes(q0, bit_down(h0, 2 * c)), q5_K_codes(q1, bit_down(h1, 2 * c)),
                          vld1q_s8(xs), vld1q_s8(xs + 16));
        const int32x4_t high = dot_32_narrow(q5_K_codes(vshrq_n_u8(q0, 4), bit_down(h0, 2 * c + 1)),
                                             q5_K_codes(vshrq_n_u8(q1, 4), bit_down(h1, 2 * c + 1)),
                                             vld1q_s8(xs + 32), vld1q_s8(xs + 48));
        s = k_scaled(s, low, &k.scale, 2 * c);
        s = k_scaled(s, high, &k.scale, 2 * c + 1);
    }
    return s;
}

ALWAYS_INLINE k_acc q5_K_min(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    return k_minimums_32(k_scales_min(w->scales).min, x->bsums);
}

/*
 * Q6_K. The six bits, the highest inverted, are the code less 32 in two's complement: at the top of
 * a byte that is 4 times the code. 256 * 128 * 128 * 128 at most.
 */
ALWAYS_INLINE k_acc q6_K_sum(const struct qkern_block_q6_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_scale_lanes scale = k_scale_lanes(vld1q_s8(w->scales));
    const uint8x16_t nibble = vdupq_n_u8(0xf0);
    k_acc s = k_acc_zero();
    for (int half = 0; half < 2; half++)
        for (int l = 0; l < 2; l++) {
            const uint8x16_t h = veorq_u8(vld1q_u8(w->qh + 32 * half + 16 * l), vdupq_n_u8(0xaa));
            const uint8x16_t q0 = vld1q_u8(w->ql + 64 * half + 16 * l);
            const uint8x16_t q1 = vld1q_u8(w->ql + 64 * half + 32 + 16 * l);
            const int8_t *xs = x->qs + 128 * half + 16 * l;
            const uint8x16_t plane[4] = {
                vsliq_n_u8(vshlq_n_u8(q0, 2), h, 6),
                vsliq_n_u8(vshlq_n_u8(q1, 2), vshrq_n_u8(h, 2), 6),
                vsriq_n_u8(vshlq_n_u8(h, 2), vandq_u8(q0, nibble), 2),
                vsriq_n_u8(h, vandq_u8(q1, nibble), 2),
            };
            for (int p = 0; p < 4; p++)
                s = k_scaled(s, dot_16(codes(plane[p]), vld1q_s8(xs + 32 * p)), &scale,
                             8 * half + 2 * p + l);
        }
    return vshrq_n_s32(s, 2);
}

#endif
