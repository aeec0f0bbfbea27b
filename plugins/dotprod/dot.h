/* SPDX-License-Identifier: MIT */
/*
 * Products of int8 codes with SDOT: sixteen in one instruction, exact in int32 for every byte. The
 * functions are those of neon/dot.h.
 */
#ifndef QKERN_DOTPROD_DOT_H
#define QKERN_DOTPROD_DOT_H

#include "common/dots.h"
#include "neon/vec.h"

ALWAYS_INLINE int32x4_t dot_16(int8x16_t w, int8x16_t x)
{
    return vdotq_s32(vdupq_n_s32(0), w, x);
}

ALWAYS_INLINE int32x4_t dot_32(int8x16_t w0, int8x16_t w1, int8x16_t x0, int8x16_t x1)
{
    return vdotq_s32(dot_16(w0, x0), w1, x1);
}

/* SDOT needs no narrow codes. */
#define dot_16_narrow dot_16
#define dot_32_narrow dot_32

/*
 * The codes of Q4_0, offset taken off, times 2^Q4_0_SHIFT: 16, for a nibble at the top of its byte
 * needs no extension of its sign, which is its highest bit inverted.
 */
#define Q4_0_SHIFT 4

ALWAYS_INLINE int8x16_t q4_0_low(uint8x16_t qs)
{
    return vreinterpretq_s8_u8(vshlq_n_u8(veorq_u8(qs, vdupq_n_u8(0x88)), 4));
}

ALWAYS_INLINE int8x16_t q4_0_high(uint8x16_t qs)
{
    return vreinterpretq_s8_u8(vandq_u8(veorq_u8(qs, vdupq_n_u8(0x88)), vdupq_n_u8(0xf0)));
}

#endif
