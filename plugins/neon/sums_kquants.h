/* SPDX-License-Identifier: MIT */
/*
 * The exact integer sums of the K types, over the products that the including plugin's dot.h
 * defines.
 */
#ifndef QKERN_NEON_SUMS_KQUANTS_H
#define QKERN_NEON_SUMS_KQUANTS_H

#include "kcodes.h"

/* s + dot * the scale of group g. */
ALWAYS_INLINE k_acc k_scaled(k_acc s, int32x4_t dot, const struct k_lanes *scale, int g)
{
    return s + dot * scale->group[g / 4][g % 4];
}

/* Four planes, whose first is group g, against the activations of that group and of its likes. */
ALWAYS_INLINE k_acc k_planes_sum(k_acc s, const struct k_planes *w, const int8_t *x,
                                 const struct k_lanes *scale, int g)
{
    for (int p = 0; p < 4; p++)
        s = k_scaled(s, dot_16(w->p[p], vld1q_s8(x + 32 * p)), scale, g + 2 * p);
    return s;
}

ALWAYS_INLINE k_acc q2_K_sum(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_lanes scale = k_lanes_unsigned(q2_K_scales(w));
    k_acc s = k_acc_zero();
    for (int half = 0; half < 2; half++)
        for (int l = 0; l < 2; l++) {
            const struct k_planes planes = q2_K_planes(vld1q_u8(w->qs + 32 * half + 16 * l));
            const int8_t *xs = x->qs + 128 * half + 16 * l;
            for (int p = 0; p < 4; p++)
                s = k_scaled(s, dot_16_narrow(planes.p[p], vld1q_s8(xs + 32 * p)), &scale,
                             8 * half + 2 * p + l);
        }
    return vshrq_n_s32(s, Q2_K_SHIFT);
}

ALWAYS_INLINE k_acc q2_K_min(const struct qkern_block_q2_K *w, const struct qkern_block_q8_K *x)
{
    return q2_K_minimums(w, x->bsums);
}

ALWAYS_INLINE k_acc q3_K_sum(const struct qkern_block_q3_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_lanes scale = k_lanes_signed(q3_K_scales(w));
    k_acc s = k_acc_zero();
    for (int l = 0; l < 2; l++) {
        const uint8x16_t clear = vmvnq_u8(vld1q_u8(w->hmask + 16 * l));
        for (int half = 0; half < 2; half++) {
            const struct k_planes planes =
                q3_K_planes(vld1q_u8(w->qs + 32 * half + 16 * l), clear, half);
            s = k_planes_sum(s, &planes, x->qs + 128 * half + 16 * l, &scale, 8 * half + l);
        }
    }
    return vshrq_n_s32(s, Q3_K_SHIFT);
}

ALWAYS_INLINE k_acc q4_K_sum(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_lanes scale = k_scales_min(w->scales).scale;
    const uint8x16_t four = vdupq_n_u8(15);
    k_acc s = k_acc_zero(); /* 256 * 15 * 63 * 128 at most */
    for (int c = 0; c < 4; c++) {
        const uint8x16_t q0 = vld1q_u8(w->qs + 32 * c), q1 = vld1q_u8(w->qs + 32 * c + 16);
        const int8_t *xs = x->qs + 64 * c;
        const int32x4_t low = dot_32_narrow(codes(vandq_u8(q0, four)), codes(vandq_u8(q1, four)),
                                            vld1q_s8(xs), vld1q_s8(xs + 16));
        const int32x4_t high = dot_32_narrow(codes(vshrq_n_u8(q0, 4)), codes(vshrq_n_u8(q1, 4)),
                                             vld1q_s8(xs + 32), vld1q_s8(xs + 48));
        s = k_scaled(s, low, &scale, 2 * c);
        s = k_scaled(s, high, &scale, 2 * c + 1);
    }
    return s;
}

ALWAYS_INLINE k_acc q4_K_min(const struct qkern_block_q4_K *w, const struct qkern_block_q8_K *x)
{
    return k_minimums_32(w->scales, x->bsums);
}

/* Sixteen bytes, shifted by the same number of bits: left, or right if it is negative. */
ALWAYS_INLINE uint8x16_t shifted(uint8x16_t v, int left)
{
    return left >= 0 ? v << left : v >> -left;
}

/* The low and the high nibbles of q, each under the fifth bit: bit k of h, and bit k + 1. */
ALWAYS_INLINE int8x16_t q5_K_low(uint8x16_t q, uint8x16_t h, int k)
{
    return codes(vandq_u8(vsliq_n_u8(q, shifted(h, -k), 4), vdupq_n_u8(31)));
}

ALWAYS_INLINE int8x16_t q5_K_high(uint8x16_t q, uint8x16_t h, int k)
{
    return codes(vandq_u8(vsriq_n_u8(shifted(h, 4 - (k + 1)), q, 4), vdupq_n_u8(31)));
}

ALWAYS_INLINE k_acc q5_K_sum(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_lanes scale = k_scales_min(w->scales).scale;
    const uint8x16_t h0 = vld1q_u8(w->qh), h1 = vld1q_u8(w->qh + 16);
    k_acc s = k_acc_zero(); /* 256 * 31 * 63 * 128 at most */
    for (int c = 0; c < 4; c++) {
        const uint8x16_t q0 = vld1q_u8(w->qs + 32 * c), q1 = vld1q_u8(w->qs + 32 * c + 16);
        const int8_t *xs = x->qs + 64 * c;
        const int32x4_t low = dot_32_narrow(q5_K_low(q0, h0, 2 * c), q5_K_low(q1, h1, 2 * c),
                                            vld1q_s8(xs), vld1q_s8(xs + 16));
        const int32x4_t high = dot_32_narrow(q5_K_high(q0, h0, 2 * c), q5_K_high(q1, h1, 2 * c),
                                             vld1q_s8(xs + 32), vld1q_s8(xs + 48));
        s = k_scaled(s, low, &scale, 2 * c);
        s = k_scaled(s, high, &scale, 2 * c + 1);
    }
    return s;
}

ALWAYS_INLINE k_acc q5_K_min(const struct qkern_block_q5_K *w, const struct qkern_block_q8_K *x)
{
    return k_minimums_32(w->scales, x->bsums);
}

ALWAYS_INLINE k_acc q6_K_sum(const struct qkern_block_q6_K *w, const struct qkern_block_q8_K *x)
{
    const struct k_lanes scale = k_lanes_signed(vld1q_s8(w->scales));
    k_acc s = k_acc_zero();
    for (int half = 0; half < 2; half++)
        for (int l = 0; l < 2; l++) {
            const uint8_t *low = w->ql + 64 * half + 16 * l;
            const struct k_planes planes = q6_K_planes(vld1q_u8(low), vld1q_u8(low + 32),
                                                       vld1q_u8(w->qh + 32 * half + 16 * l));
            s = k_planes_sum(s, &planes, x->qs + 128 * half + 16 * l, &scale, 8 * half + l);
        }
    return vshrq_n_s32(s, Q6_K_SHIFT);
}

#endif
