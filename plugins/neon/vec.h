/* SPDX-License-Identifier: MIT */
/* The vector primitives of common/lanes.h with NEON: four lanes. */
#ifndef QKERN_NEON_VEC_H
#define QKERN_NEON_VEC_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/step.h"

#define LANES 4

typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint8x16_t vb;
typedef uint32x4_t vm;

ALWAYS_INLINE vf vf_set(float v)
{
    return vdupq_n_f32(v);
}

ALWAYS_INLINE vf vf_set_f16(const void *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(load_u16(p))));
}

ALWAYS_INLINE vf vf_load(const float *p)
{
    return vld1q_f32(p);
}

ALWAYS_INLINE void vf_store(float *p, vf v)
{
    vst1q_f32(p, v);
}

ALWAYS_INLINE vf vf_select(vm m, vf yes, vf no)
{
    return vbslq_f32(m, yes, no);
}

ALWAYS_INLINE vm vf_gt(vf a, vf b)
{
    return vcgtq_f32(a, b);
}

ALWAYS_INLINE vm vf_eq(vf a, vf b)
{
    return vceqq_f32(a, b);
}

ALWAYS_INLINE vm vf_ne(vf a, vf b)
{
    return vmvnq_u32(vceqq_f32(a, b));
}

/*
 * FMAX would return the NaN, and so would FMAXNM for a signalling one. The compiler must not see
 * through the mask, or it makes the select one of these where b is a constant.
 */
ALWAYS_INLINE vm opaque(vm m)
{
    __asm__("" : "+w"(m));
    return m;
}

ALWAYS_INLINE vf vf_max(vf a, vf b)
{
    return vbslq_f32(opaque(vcgtq_f32(a, b)), a, b);
}

ALWAYS_INLINE vf vf_min(vf a, vf b)
{
    return vbslq_f32(opaque(vcltq_f32(a, b)), a, b);
}

/* v within [low, high]; NaN gives low. */
ALWAYS_INLINE vf vf_clamp(vf v, vf low, vf high)
{
    return vminnmq_f32(vmaxnmq_f32(v, low), high);
}

/* To the nearest integer, ties to even, for |v| < 2^22. */
ALWAYS_INLINE vf vf_round(vf v)
{
    return vrndnq_f32(v);
}

ALWAYS_INLINE vf vf_sqrt(vf v)
{
    return vsqrtq_f32(v);
}

ALWAYS_INLINE vf vf_abs(vf v)
{
    return vabsq_f32(v);
}

ALWAYS_INLINE vm vm_and(vm a, vm b)
{
    return vandq_u32(a, b);
}

ALWAYS_INLINE vm vm_or(vm a, vm b)
{
    return vorrq_u32(a, b);
}

ALWAYS_INLINE vm vm_without(vm a, vm b)
{
    return vbicq_u32(a, b);
}

ALWAYS_INLINE uint32_t vm_bits(vm m)
{
    const uint32x4_t bit = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(m, bit));
}

ALWAYS_INLINE int vm_any(vm m)
{
    return vmaxvq_u32(m) != 0;
}

ALWAYS_INLINE int vm_all(vm m)
{
    return vminvq_u32(m) != 0;
}

ALWAYS_INLINE vi vi_set(int32_t v)
{
    return vdupq_n_s32(v);
}

ALWAYS_INLINE vi vi_load(const int32_t *p)
{
    return vld1q_s32(p);
}

ALWAYS_INLINE void vi_store(int32_t *p, vi v)
{
    vst1q_s32(p, v);
}

/* As f16, which lies side by side. */
ALWAYS_INLINE void vf_store_f16(uint16_t p[LANES], vf v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}

ALWAYS_INLINE vi vi_from_f32(vf v)
{
    return vcvtq_s32_f32(v);
}

ALWAYS_INLINE vi vi_round(vf v)
{
    return vcvtnq_s32_f32(v);
}

ALWAYS_INLINE vf vf_from_i32(vi v)
{
    return vcvtq_f32_s32(v);
}

ALWAYS_INLINE vi vi_bits(vf v)
{
    return vreinterpretq_s32_f32(v);
}

ALWAYS_INLINE vf vf_from_bits(vi v)
{
    return vreinterpretq_f32_s32(v);
}

ALWAYS_INLINE vf vf_from_bytes(vb v, int k)
{
    const int8x16_t bytes = vreinterpretq_s8_u8(v);
    const int16x8_t words = vmovl_s8(k < 2 ? vget_low_s8(bytes) : vget_high_s8(bytes));
    return vcvtq_f32_s32(vmovl_s16(k % 2 == 0 ? vget_low_s16(words) : vget_high_s16(words)));
}

ALWAYS_INLINE vb vb_bits(vb v, int at, int mask)
{
    return vandq_u8(vshlq_u8(v, vdupq_n_s8((int8_t)-at)), vdupq_n_u8((uint8_t)mask));
}

ALWAYS_INLINE vb vb_left(vb v, int n)
{
    return vshlq_u8(v, vdupq_n_s8((int8_t)n));
}

ALWAYS_INLINE void vb_narrow(const vi q[32 / LANES], vb b[2])
{
    for (int h = 0; h < 2; h++) {
        const vi *v = q + 4 * h;
        const int16x8_t low = vcombine_s16(vqmovn_s32(v[0]), vqmovn_s32(v[1]));
        const int16x8_t high = vcombine_s16(vqmovn_s32(v[2]), vqmovn_s32(v[3]));
        b[h] = vreinterpretq_u8_s8(vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
    }
}

ALWAYS_INLINE void vb_load_fives(const uint8_t qs[16], const uint8_t qh[4], bool signed_codes,
                                 vb q[2])
{
    const uint8x16_t nibbles = vld1q_u8(qs);
    const uint8x16_t low[2] = {vandq_u8(nibbles, vdupq_n_u8(15)), vshrq_n_u8(nibbles, 4)};
    const uint8x16_t select = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    for (int h = 0; h < 2; h++) {
        const uint8x16_t spread = vcombine_u8(vdup_n_u8(qh[2 * h]), vdup_n_u8(qh[2 * h + 1]));
        const uint8x16_t set = vtstq_u8(spread, select);
        q[h] = vorrq_u8(low[h], signed_codes ? vbicq_u8(vdupq_n_u8(0xf0), set)
                                             : vandq_u8(set, vdupq_n_u8(16)));
    }
}

ALWAYS_INLINE uint16_t vb_sign_bits(vb v)
{
    const uint8x16_t select = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    const uint8x16_t set =
        vandq_u8(vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(v), 7)), select);
    return (uint16_t)(vaddv_u8(vget_low_u8(set)) | vaddv_u8(vget_high_u8(set)) << 8);
}

ALWAYS_INLINE void vf_transpose(vf v[LANES])
{
    const float32x4x2_t a = vtrnq_f32(v[0], v[1]), b = vtrnq_f32(v[2], v[3]);
    v[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    v[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    v[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    v[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

/* The four bytes at p, four times over. */
ALWAYS_INLINE uint8x16_t four_bytes(const void *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return vreinterpretq_u8_u32(vdupq_n_u32(word));
}

/* The four sums of four lanes. */
ALWAYS_INLINE i4 totals(const int32x4_t s[4])
{
    return (i4)vpaddq_s32(vpaddq_s32(s[0], s[1]), vpaddq_s32(s[2], s[3]));
}

ALWAYS_INLINE uint16_t two_bytes(const void *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return h;
}

/* Four f16, as f32. */
ALWAYS_INLINE f4 f4_load_f16(const void *a, const void *b, const void *c, const void *d)
{
    uint16x4_t h = vdup_n_u16(two_bytes(a));
    h = vset_lane_u16(two_bytes(b), h, 1);
    h = vset_lane_u16(two_bytes(c), h, 2);
    h = vset_lane_u16(two_bytes(d), h, 3);
    return (f4)vcvt_f32_f16(vreinterpret_f16_u16(h));
}

#endif
