/* SPDX-License-Identifier: MIT */
/*
 * The exact integer sums of the types of 32 elements a block, over the products that the including
 * plugin's dot.h defines.
 */
#ifndef QKERN_NEON_SUMS_LEGACY_H
#define QKERN_NEON_SUMS_LEGACY_H

#include "common/dots.h"
#include "vec.h"

struct q8_codes {
    int8x16_t q[4][2];
};

ALWAYS_INLINE struct q8_codes q8_codes_load(const int8_t *a, const int8_t *b, const int8_t *c,
                                            const int8_t *d)
{
    return (struct q8_codes){{{vld1q_s8(a), vld1q_s8(a + 16)},
                              {vld1q_s8(b), vld1q_s8(b + 16)},
                              {vld1q_s8(c), vld1q_s8(c + 16)},
                              {vld1q_s8(d), vld1q_s8(d + 16)}}};
}

/* Codes 0..15, 0..31 and -16..15 are narrow: at most 4 * 31 * 128. */

ALWAYS_INLINE i4 q4_0_sums(const struct qkern_block_q4_0 *const w[4], const struct q8_codes *x)
{
    int32x4_t s[4];
    for (int u = 0; u < 4; u++) {
        const uint8x16_t qs = vld1q_u8(w[u]->qs);
        s[u] = dot_32_narrow(q4_0_low(qs), q4_0_high(qs), x->q[u][0], x->q[u][1]);
    }
    return totals(s) >> Q4_0_SHIFT;
}

ALWAYS_INLINE i4 q4_1_sums(const struct qkern_block_q4_1 *const w[4], const struct q8_codes *x)
{
    int32x4_t s[4];
    for (int u = 0; u < 4; u++) {
        const uint8x16_t qs = vld1q_u8(w[u]->qs);
        const int8x16_t low = vreinterpretq_s8_u8(vandq_u8(qs, vdupq_n_u8(15)));
        const int8x16_t high = vreinterpretq_s8_u8(vshrq_n_u8(qs, 4));
        s[u] = dot_32_narrow(low, high, x->q[u][0], x->q[u][1]);
    }
    return totals(s);
}

/* Byte e of the pair is 0xff where bit e of the word that bytes begins with is set. */
ALWAYS_INLINE uint8x16x2_t bits_spread(uint8x16_t bytes)
{
    const uint8x16_t first = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    const uint8x16_t second = vcombine_u8(vdup_n_u8(2), vdup_n_u8(3));
    const uint8x16_t select = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    return (uint8x16x2_t){
        {vtstq_u8(vqtbl1q_u8(bytes, first), select), vtstq_u8(vqtbl1q_u8(bytes, second), select)}};
}

/*
 * Over the four low bits stands the fifth, in all four higher bits of the byte: inverted, that is
 * the code less 16, its sign extended.
 */
ALWAYS_INLINE i4 q5_0_sums(const struct qkern_block_q5_0 *const w[4], const struct q8_codes *x)
{
    int32x4_t s[4];
    for (int u = 0; u < 4; u++) {
        const uint8x16_t qs = vld1q_u8(w[u]->qs);
        const uint8x16x2_t clear = bits_spread(vmvnq_u8(four_bytes(w[u]->qh)));
        const int8x16_t low = vreinterpretq_s8_u8(vsliq_n_u8(qs, clear.val[0], 4));
        const int8x16_t high = vreinterpretq_s8_u8(vsriq_n_u8(clear.val[1], qs, 4));
        s[u] = dot_32_narrow(low, high, x->q[u][0], x->q[u][1]);
    }
    return totals(s);
}

ALWAYS_INLINE i4 q5_1_sums(const struct qkern_block_q5_1 *const w[4], const struct q8_codes *x)
{
    int32x4_t s[4];
    const uint8x16_t five = vdupq_n_u8(31);
    for (int u = 0; u < 4; u++) {
        const uint8x16_t qs = vld1q_u8(w[u]->qs);
        const uint8x16x2_t set = bits_spread(four_bytes(w[u]->qh));
        const uint8x16_t low = vandq_u8(vsliq_n_u8(qs, set.val[0], 4), five);
        const uint8x16_t high = vandq_u8(vsriq_n_u8(set.val[1], qs, 4), five);
        s[u] = dot_32_narrow(vreinterpretq_s8_u8(low), vreinterpretq_s8_u8(high), x->q[u][0],
                             x->q[u][1]);
    }
    return totals(s);
}

ALWAYS_INLINE i4 q8_0_sums(const struct qkern_block_q8_0 *const w[4], const struct q8_codes *x)
{
    int32x4_t s[4];
    for (int u = 0; u < 4; u++)
        s[u] = dot_32(vld1q_s8(w[u]->qs), vld1q_s8(w[u]->qs + 16), x->q[u][0], x->q[u][1]);
    return totals(s);
}

#endif
