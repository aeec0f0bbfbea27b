/* SPDX-License-Identifier: MIT */
/* F32, F16 and BF16 with NEON. */
#include <string.h>

#include "common/bytes.h"
#include "common/f32.h"
#include "common/kernels.h"
#include "vec.h"

#define ROWS_TOGETHER 2
#define PREFETCH_BYTES 4096

/* Eight elements of two bytes, at any address. */
ALWAYS_INLINE uint16x8_t load_eight(const uint8_t *p)
{
    return vreinterpretq_u16_u8(vld1q_u8(p));
}

ALWAYS_INLINE void store_eight(uint8_t *p, uint16x4_t low, uint16x4_t high)
{
    vst1q_u8(p, vreinterpretq_u8_u16(vcombine_u16(low, high)));
}

/*
 * f16_from_f32 in lanes. FCVTN would round as FPCR says, and keep the payload of a NaN; FCVTNS
 * always rounds to nearest, ties to even.
 */
ALWAYS_INLINE uint16x4_t f16_from_four(float32x4_t v)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    const float32x4_t magnitude = vabsq_f32(v);
    const uint32x4_t m = vreinterpretq_u32_f32(magnitude);

    /* Thirteen bits are rounded off, and the bias shrinks by 112. */
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(m, 13), vdupq_n_u32(1));
    const uint32x4_t biased = vaddq_u32(m, vdupq_n_u32(0xfff - (112u << 23)));
    const uint32x4_t normal = vshrq_n_u32(vaddq_u32(biased, odd), 13);
    /* Below 2^-14: multiples of 2^-24. */
    const uint32x4_t subnormal = vcvtnq_u32_f32(vmulq_n_f32(magnitude, 0x1p24f));
    const uint32x4_t small = vcltq_u32(m, vdupq_n_u32(113u << 23));
    /* 2^16 and up, and what rounds to it. */
    uint32x4_t h = vminq_u32(vbslq_u32(small, subnormal, normal), vdupq_n_u32(F16_INFINITY));
    h = vbslq_u32(vcgtq_u32(m, vdupq_n_u32(F32_INFINITY_BITS)), vdupq_n_u32(F16_NAN), h);
    const uint32x4_t sign = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(0x8000));
    return vmovn_u32(vorrq_u32(h, sign));
}

void f16_quantize(uint64_t n, const float *x, void *blocks)
{
    uint8_t *to = blocks;
    uint64_t i = 0;
    for (; n - i >= 8; i += 8)
        store_eight(to + 2 * i, f16_from_four(vf_load(x + i)), f16_from_four(vf_load(x + i + 4)));
    for (; i < n; i++)
        store_u16(to + 2 * i, f16_from_f32(x[i]));
}

/* FCVTL is exact, and makes a NaN quiet. */
ALWAYS_INLINE float32x4_t f32_from_low(uint16x8_t h)
{
    return vcvt_f32_f16(vget_low_f16(vreinterpretq_f16_u16(h)));
}

ALWAYS_INLINE float32x4_t f32_from_high(uint16x8_t h)
{
    return vcvt_high_f32_f16(vreinterpretq_f16_u16(h));
}

void f16_dequantize(uint64_t n, const void *blocks, float *y)
{
    const uint8_t *from = blocks;
    uint64_t i = 0;
    for (; n - i >= 8; i += 8) {
        const uint16x8_t h = load_eight(from + 2 * i);
        vf_store(y + i, f32_from_low(h));
        vf_store(y + i + 4, f32_from_high(h));
    }
    for (; i < n; i++)
        y[i] = load_f16(from + 2 * i);
}

/* bf16_from_f32 in lanes. */
ALWAYS_INLINE uint16x4_t bf16_from_four(float32x4_t v)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(F32_QUIET_BIT));
    return vshrn_n_u32(vbslq_u32(vf_ne(v, v), quiet, rounded), 16);
}

void bf16_quantize(uint64_t n, const float *x, void *blocks)
{
    uint8_t *to = blocks;
    uint64_t i = 0;
    for (; n - i >= 8; i += 8)
        store_eight(to + 2 * i, bf16_from_four(vf_load(x + i)), bf16_from_four(vf_load(x + i + 4)));
    for (; i < n; i++)
        store_u16(to + 2 * i, bf16_from_f32(x[i]));
}

ALWAYS_INLINE float32x4_t f32_from_bits_high(uint16x4_t b)
{
    return vreinterpretq_f32_u32(vshll_n_u16(b, 16));
}

void bf16_dequantize(uint64_t n, const void *blocks, float *y)
{
    const uint8_t *from = blocks;
    uint64_t i = 0;
    for (; n - i >= 8; i += 8) {
        const uint16x8_t b = load_eight(from + 2 * i);
        vf_store(y + i, f32_from_bits_high(vget_low_u16(b)));
        vf_store(y + i + 4, f32_from_bits_high(vget_high_u16(b)));
    }
    for (; i < n; i++)
        y[i] = load_bf16(from + 2 * i);
}

struct sixteen {
    vf v[4];
};

ALWAYS_INLINE vf f32_at(const uint8_t *p)
{
    return vreinterpretq_f32_u8(vld1q_u8(p));
}

ALWAYS_INLINE struct sixteen f32_load(const uint8_t *p)
{
    return (struct sixteen){{f32_at(p), f32_at(p + 16), f32_at(p + 32), f32_at(p + 48)}};
}

ALWAYS_INLINE struct sixteen f16_load(const uint8_t *p)
{
    const uint16x8_t a = load_eight(p), b = load_eight(p + 16);
    return (struct sixteen){{f32_from_low(a), f32_from_high(a), f32_from_low(b), f32_from_high(b)}};
}

ALWAYS_INLINE struct sixteen bf16_load(const uint8_t *p)
{
    const uint16x8_t a = load_eight(p), b = load_eight(p + 16);
    return (struct sixteen){
        {f32_from_bits_high(vget_low_u16(a)), f32_from_bits_high(vget_high_u16(a)),
         f32_from_bits_high(vget_low_u16(b)), f32_from_bits_high(vget_high_u16(b))}};
}

ALWAYS_INLINE float f32_total(const struct sixteen *p)
{
    return f4_partials_total((f4)((p->v[0] + p->v[2]) + (p->v[1] + p->v[3])));
}

#define f16_total f32_total
#define bf16_total f32_total

#include "common/dots_floats.h"
