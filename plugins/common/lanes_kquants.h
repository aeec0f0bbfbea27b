/* SPDX-License-Identifier: MIT */
/*
 * Dequantize of the K types, and all of Q8_K, over the primitives of lanes.h. Every operation on an
 * element is that of plugins/scalar/kquants.c. Sixteen codes at a time are unpacked as bytes.
 */
#ifndef QKERN_COMMON_LANES_KQUANTS_H
#define QKERN_COMMON_LANES_KQUANTS_H

#include "extremes.h"
#include "kblock.h"
#include "kernels.h"
#include "lanes.h"

/* The scale and the minimum of each group, multiplied out. */
struct k_factors {
    float d[K_GROUPS_MAX];
    float m[K_GROUPS_MAX];
};

ALWAYS_INLINE struct k_factors k_multiply(struct k_shape shape, struct k_scales s)
{
    struct k_factors f;
    for (int g = 0; g < K_ELEMENTS / shape.group; g++) {
        f.d[g] = s.d * (float)s.scale[g];
        f.m[g] = shape.has_min ? s.dmin * (float)s.min[g] : 0.0f;
    }
    return f;
}

ALWAYS_INLINE vb nibbles(vb q, int high)
{
    return high ? q >> 4 : q & 15;
}

void q2_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q2_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct k_factors f = k_multiply(q2_K_shape, q2_K_scales(b));
        for (int g = 0; g < 16; g++, y += 16) {
            const int h = g / 8, p = g % 8 / 2, l = 16 * (g % 2);
            const vb q = (vb_load(b->qs + 32 * h + l) >> (2 * p)) & 3;
            lanes_values_less(q, vf_set(f.d[g]), vf_set(f.m[g]), y);
        }
    }
}

void q3_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q3_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct k_factors f = k_multiply(q3_K_shape, q3_K_scales(b));
        for (int g = 0; g < 16; g++, y += 16) {
            const int h = g / 8, p = g % 8 / 2, l = 16 * (g % 2);
            const vb low = (vb_load(b->qs + 32 * h + l) >> (2 * p)) & 3;
            const vb high = (vb_load(b->hmask + l) >> (4 * h + p)) & 1;
            lanes_values((low | (high << 2)) - 4, vf_set(f.d[g]), y);
        }
    }
}

void q4_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct k_factors f = k_multiply(q4_K_shape, q4_K_scales(b));
        for (int g = 0; g < 8; g++)
            for (int l = 0; l < 32; l += 16, y += 16) {
                const vb q = nibbles(vb_load(b->qs + 32 * (g / 2) + l), g % 2);
                lanes_values_less(q, vf_set(f.d[g]), vf_set(f.m[g]), y);
            }
    }
}

void q5_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct k_factors f = k_multiply(q5_K_shape, q5_K_scales(b));
        for (int g = 0; g < 8; g++)
            for (int l = 0; l < 32; l += 16, y += 16) {
                const vb low = nibbles(vb_load(b->qs + 32 * (g / 2) + l), g % 2);
                const vb high = (vb_load(b->qh + l) >> g) & 1;
                lanes_values_less(low | (high << 4), vf_set(f.d[g]), vf_set(f.m[g]), y);
            }
    }
}

void q6_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q6_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct k_factors f = k_multiply(q6_K_shape, q6_K_scales(b));
        for (int g = 0; g < 16; g++, y += 16) {
            const int h = g / 8, p = g % 8 / 2, l = 16 * (g % 2);
            const vb low = nibbles(vb_load(b->ql + 64 * h + 32 * (p & 1) + l), p / 2);
            const vb high = (vb_load(b->qh + 32 * h + l) >> (2 * p)) & 3;
            lanes_values((low | (high << 4)) - 32, vf_set(f.d[g]), y);
        }
    }
}

/* Q8_K */

/* signed_absmax of a block. */
ALWAYS_INLINE float block_extreme(const float *x)
{
    vf lo = vf_set(0.0f), hi = vf_set(0.0f);
    for (int e = 0; e < K_ELEMENTS; e += LANES) {
        lo = vf_min(vf_load(x + e), lo);
        hi = vf_max(vf_load(x + e), hi);
    }
    float los[LANES], his[LANES];
    vf_store(los, lo);
    vf_store(his, hi);
    float least, most, unused;
    min_max(LANES, los, &least, &unused);
    min_max(LANES, his, &unused, &most);
    if (most == -least)
        return most == 0.0f ? 0.0f : first_of_magnitude(K_ELEMENTS, x, most);
    return most > -least ? most : least;
}

/* rne_clamped of round.h to -127 .. 127. */
ALWAYS_INLINE vi lanes_rne_signed(vf v)
{
    return lanes_rne_from_low(v, -127, 127) - vi_set(127);
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
        for (int g = 0; g < 16; g++) {
            vi q[16 / LANES], sum = vi_set(0);
            for (int k = 0; k < 16 / LANES; k++) {
                q[k] = lanes_rne_signed(vf_load(x + 16 * g + k * LANES) * vf_set(s));
                sum = sum + q[k];
            }
            vb_store(b->qs + 16 * g, vb_narrow(q));
            sums[g] = sum;
        }
        int32_t sum[16];
        for (int g = 0; g < 16; g += LANES)
            vi_store(sum + g, lanes_sums(sums + g));
        for (int g = 0; g < 16; g++)
            store_i16(b->bsums[g], (int16_t)sum[g]);
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
