/* SPDX-License-Identifier: MIT */
/*
 * Dequantize of the K types, and all of Q8_K, over the primitives of lanes.h. Every operation on an
 * element is that of plugins/scalar/kquants.c. Sixteen codes at a time are unpacked as bytes.
 */
#ifndef QKERN_COMMON_LANES_KQUANTS_H
#define QKERN_COMMON_LANES_KQUANTS_H

#include <qkern/blocks.h>

#include "extremes.h"
#include "kernels.h"
#include "klayout.h"
#include "lanes.h"

/* The scales of klayout.h as signed bytes. */

typedef uint32_t u4 __attribute__((vector_size(16)));

ALWAYS_INLINE vb q3_K_scale_bytes(const struct qkern_block_q3_K *b)
{
    const uint32_t l = load_u32(b->scales), m = load_u32(b->scales + 4);
    const uint32_t h = load_u32(b->scales + 8);
    const u4 low = {l, m, l >> 4, m >> 4}, high = {h << 4, h << 2, h, h >> 2};
    return (vb)((low & 0x0f0f0f0f) | (high & 0x30303030)) - 32;
}

/* Eight scales, then eight minimums. */
ALWAYS_INLINE vb scale_min_bytes(const uint8_t scales[12])
{
    const uint32_t a = load_u32(scales), b = load_u32(scales + 4), c = load_u32(scales + 8);
    return (vb)(u4){a & 0x3f3f3f3f, (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030), b & 0x3f3f3f3f,
                    (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030)};
}

/* Sixteen scales or minimums, multiplied out. */
struct factors {
    float of[16];
};

ALWAYS_INLINE struct factors multiplied(vb bytes, vf d)
{
    struct factors f;
    for (int k = 0; k < 16 / LANES; k++)
        vf_store(f.of + k * LANES, vf_from_bytes(bytes, k) * d);
    /* cppcheck-suppress uninitvar ; all of it was stored through a pointer */
    return f;
}

/* Q4_K, Q5_K: of each group. */
struct scales_and_minimums {
    struct factors d;
    struct factors m; /* from 8 on */
};

ALWAYS_INLINE struct scales_and_minimums scale_min_factors(const uint8_t scales[12], const void *d,
                                                           const void *dmin)
{
    const vb bytes = scale_min_bytes(scales);
    return (struct scales_and_minimums){multiplied(bytes, vf_set_f16(d)),
                                        multiplied(bytes, vf_set_f16(dmin))};
}

/*
 * Dequantize: sixteen elements at y, group g. Unrolled, shifts are by constants. AVX-512 has other
 * ways with these types.
 */
#ifndef DEQUANTIZES_BY_TABLE

void q2_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q2_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const vb scales = vb_load(b->scales);
        const struct factors d = multiplied(vb_bits(scales, 0, 15), vf_set_f16(b->d));
        const struct factors m = multiplied(vb_bits(scales, 4, 15), vf_set_f16(b->dmin));
#pragma GCC unroll 16
        for (int g = 0; g < 16; g++, y += 16) {
            const int h = g / 8, p = g % 8 / 2, l = 16 * (g % 2);
            const vb q = vb_bits(vb_load(b->qs + 32 * h + l), 2 * p, 3);
            lanes_values_less(q, vf_set(d.of[g]), vf_set(m.of[g]), y);
        }
    }
}

void q3_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q3_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct factors d = multiplied(q3_K_scale_bytes(b), vf_set_f16(b->d));
#pragma GCC unroll 16
        for (int g = 0; g < 16; g++, y += 16) {
            const int h = g / 8, p = g % 8 / 2, l = 16 * (g % 2);
            const vb low = vb_bits(vb_load(b->qs + 32 * h + l), 2 * p, 3);
            const vb high = vb_bits(vb_load(b->hmask + l), 4 * h + p, 1);
            lanes_values((low | vb_left(high, 2)) - 4, vf_set(d.of[g]), y);
        }
    }
}

void q4_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct scales_and_minimums f = scale_min_factors(b->scales, b->d, b->dmin);
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++)
            for (int l = 0; l < 32; l += 16, y += 16) {
                const vb q = vb_bits(vb_load(b->qs + 32 * (g / 2) + l), 4 * (g % 2), 15);
                lanes_values_less(q, vf_set(f.d.of[g]), vf_set(f.m.of[8 + g]), y);
            }
    }
}

void q5_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct scales_and_minimums f = scale_min_factors(b->scales, b->d, b->dmin);
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++)
            for (int l = 0; l < 32; l += 16, y += 16) {
                const vb low = vb_bits(vb_load(b->qs + 32 * (g / 2) + l), 4 * (g % 2), 15);
                const vb high = vb_bits(vb_load(b->qh + l), g, 1);
                lanes_values_less(low | vb_left(high, 4), vf_set(f.d.of[g]), vf_set(f.m.of[8 + g]),
                                  y);
            }
    }
}

#endif

void q6_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q6_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct factors d = multiplied(vb_load(b->scales), vf_set_f16(b->d));
#pragma GCC unroll 16
        for (int g = 0; g < 16; g++, y += 16) {
            const int h = g / 8, p = g % 8 / 2, l = 16 * (g % 2);
            const vb low = vb_bits(vb_load(b->ql + 64 * h + 32 * (p % 2) + l), 4 * (p / 2), 15);
            const vb high = vb_bits(vb_load(b->qh + 32 * h + l), 2 * p, 3);
            lanes_values((low | vb_left(high, 4)) - 32, vf_set(d.of[g]), y);
        }
    }
}

/* Q8_K */

/* signed_absmax of a block. Two chains of vectors, so that they need not wait for each other. */
ALWAYS_INLINE float block_extreme(const float *x)
{
    const vf zero = vf_set(0.0f);
    vf lo[2] = {zero, zero}, hi[2] = {zero, zero};
    for (int e = 0; e < K_ELEMENTS; e += 2 * LANES)
        for (int k = 0; k < 2; k++) {
            lo[k] = vf_min(vf_load(x + e + k * LANES), lo[k]);
            hi[k] = vf_max(vf_load(x + e + k * LANES), hi[k]);
        }
    const vf least = vf_min(lo[0], lo[1]), greatest = vf_max(hi[0], hi[1]);
    float lane[LANES];
    vf_store(lane, vf_max(-least, greatest));
    const float m = absmax(LANES, lane);
    if (!vm_any(vf_eq(least, vf_set(-m))))
        return m;
    if (!vm_any(vf_eq(greatest, vf_set(m))))
        return -m;
    return m == 0.0f ? 0.0f : first_of_magnitude(K_ELEMENTS, x, m);
}

/* 32 codes s * x, which are within -127 .. 127 but for NaN; sums: of 16 / LANES codes each. */
ALWAYS_INLINE void q8_K_codes(const float *x, vf s, int8_t qs[32], vi sums[2])
{
    vi q[32 / LANES];
    vb codes[2];
    for (int k = 0; k < 32 / LANES; k++)
        q[k] = vi_round(vf_max(vf_load(x + k * LANES) * s, vf_set(-127.0f)));
    vb_narrow(q, codes);
    for (int h = 0; h < 2; h++) {
        vb_store(qs + 16 * h, codes[h]);
        const vi *half = q + 16 * h / LANES;
        sums[h] = half[0];
        for (int k = 1; k < 16 / LANES; k++)
            sums[h] = sums[h] + half[k];
    }
}

void q8_K_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q8_K *b = blocks;
    for (const float *end = x + n; x < end; x += K_ELEMENTS, b++) {
        const float s = -127.0f / block_extreme(x);
        if (!(fabsf(s) <= FLT_MAX)) {
            memset(b, 0, sizeof *b);
            continue;
        }
        store_f32(b->d, 1.0f / s);
        vi sums[16];
        for (int e = 0; e < K_ELEMENTS; e += 32)
            q8_K_codes(x + e, vf_set(s), b->qs + e, sums + e / 16);
        int32_t wide[16];
        int16_t bsums[16];
        for (int g = 0; g < 16; g += LANES)
            vi_store(wide + g, lanes_sums(sums + g));
        for (int g = 0; g < 16; g++)
            bsums[g] = (int16_t)wide[g];
        memcpy(b->bsums, bsums, sizeof bsums);
    }
}

void q8_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q8_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const vf d = vf_set(load_f32(b->d));
        for (int e = 0; e < K_ELEMENTS; e += 16, y += 16)
            lanes_values(vb_load(b->qs + e), d, y);
    }
}

#endif
