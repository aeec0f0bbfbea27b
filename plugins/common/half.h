/* SPDX-License-Identifier: MIT */
/*
 * f16 (IEEE binary16) and bf16, converted exactly and without branches, so that a loop over them
 * vectorizes. No step depends on the FP state: integer arithmetic, and float arithmetic that is
 * exact and free of subnormals.
 */
#ifndef QKERN_COMMON_HALF_H
#define QKERN_COMMON_HALF_H

#include <stdint.h>
#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

/*
 * For code whose parameters are constants where it is used: inlining makes its loops straight. With
 * a sanitizer's checks in it, it would take minutes to compile.
 */
#if defined(__SANITIZE_ADDRESS__)
#define ALWAYS_INLINE static inline
#else
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#endif

#define F16_INFINITY 0x7c00u
#define F16_NAN 0x7e00u
#define F32_INFINITY_BITS 0x7f800000u
#define F32_QUIET_BIT 0x00400000u
#define F32_NAN_BITS 0x7fc00000u

static inline uint32_t f32_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float f32_from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* a if yes is 1, b if it is 0: with masks, as a branch or an instruction that may trap would not
 * vectorize. */
static inline uint32_t select_u32(uint32_t yes, uint32_t a, uint32_t b)
{
    const uint32_t mask = 0u - yes;
    return (a & mask) | (b & ~mask);
}

/* The value of h. A NaN keeps its payload and becomes quiet. */
static inline float f32_from_f16(uint16_t h)
{
#if defined(__F16C__)
    return _cvtsh_ss(h);
#elif defined(__aarch64__)
    __fp16 v;
    memcpy(&v, &h, sizeof v);
    return v;
#else
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    const int32_t magnitude = h & 0x7fff;
    /* The exponent's bias grows from 15 to 127. */
    const uint32_t normal = ((uint32_t)magnitude << 13) + (112u << 23);
    const uint32_t subnormal = f32_bits((float)magnitude * 0x1p-24f);

    uint32_t bits = select_u32(magnitude < 0x0400, subnormal, normal);
    bits += magnitude >= 0x7c00 ? 112u << 23 : 0; /* greatest exponent to greatest */
    bits |= magnitude > 0x7c00 ? F32_QUIET_BIT : 0;
    return f32_from_bits(sign | bits);
#endif
}

/*
 * The f16 nearest to v, ties to even; infinity from 65520 up. A NaN becomes 0x7e00 with its sign.
 */
static inline uint16_t f16_from_f32(float v)
{
#ifdef __F16C__
    if (v != v)
        return (uint16_t)(F16_NAN | (f32_bits(v) >> 16 & 0x8000));
    return _cvtss_sh(v, _MM_FROUND_TO_NEAREST_INT);
#else
    const uint32_t bits = f32_bits(v);
    const uint32_t sign = bits >> 16 & 0x8000;
    const int32_t magnitude = (int32_t)(bits & 0x7fffffff);

    /* Normal: the bias shrinks by 112, 13 bits are rounded off. A carry runs into the exponent,
     * which is right: from the greatest number it makes infinity. */
    const int32_t rebiased = magnitude - (112 << 23);
    const int32_t normal = (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13;

    /* Below 2^-14: a multiple of 2^-24, rounded by looking at what truncation left. */
    const int32_t two_pow_minus_14 = 113 << 23;
    const int32_t small = magnitude < two_pow_minus_14 ? magnitude : two_pow_minus_14;
    const float units = f32_from_bits((uint32_t)small) * 0x1p24f;
    const int32_t whole = (int32_t)units;
    const float rest = units - (float)whole;
    const int32_t above = rest > 0.5f ? 1 : 0;
    const int32_t tie = rest == 0.5f ? 1 : 0;
    const int32_t subnormal = whole + (above | (tie & whole));

    int32_t h = magnitude < two_pow_minus_14 ? subnormal : normal;
    h = magnitude >= 143 << 23 ? (int32_t)F16_INFINITY : h; /* 2^16 and up */
    h = magnitude > (int32_t)F32_INFINITY_BITS ? (int32_t)F16_NAN : h;
    return (uint16_t)(sign | (uint32_t)h);
#endif
}

/* The value of b. A signalling NaN stays one: the bits are only moved. */
static inline float f32_from_bf16(uint16_t b)
{
    return f32_from_bits((uint32_t)b << 16);
}

/* The bf16 nearest to v, ties to even. A NaN keeps its upper payload and becomes quiet. */
static inline uint16_t bf16_from_f32(float v)
{
    const uint32_t bits = f32_bits(v);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > F32_INFINITY_BITS ? nan : rounded);
}

#endif
