/* SPDX-License-Identifier: MIT */
/*
 * Dequantize, over the primitives of the including plugin's vec.h. Sixteen codes at a time are
 * unpacked as bytes, then widened. The operations on each element are those of the scalar kernels.
 */
#ifndef QKERN_COMMON_LANES_DEQUANTIZE_H
#define QKERN_COMMON_LANES_DEQUANTIZE_H

#include "kblock.h"
#include "lanes.h"

/* The low or high nibbles of sixteen bytes. */
ALWAYS_INLINE vb nibbles(vb q, int high)
{
    if (high)
        return q >> 4;
    return q & 15;
}

/* Sixteen values of signed codes: code * d */
ALWAYS_INLINE void lanes_values(vb code, vf d, float *y)
{
    for (int k = 0; k < 16 / LANES; k++)
        vf_store(y + k * LANES, vf_from_i32(vi_widen(code, k)) * d);
}

/* ... and less m */
ALWAYS_INLINE void lanes_values_less(vb code, vf d, vf m, float *y)
{
    for (int k = 0; k < 16 / LANES; k++)
        vf_store(y + k * LANES, vf_from_i32(vi_widen(code, k)) * d - m);
}

ALWAYS_INLINE void lanes_values_plus(vb code, vf d, vf m, float *y)
{
    for (int k = 0; k < 16 / LANES; k++)
        vf_store(y + k * LANES, vf_from_i32(vi_widen(code, k)) * d + m);
}

/* Types of 32 elements a block; the fifth bits of elements 0 .. 15 are the low half of qh. */

void q4_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_0 *b = blocks;
    for (const float *end = y + n; y < end; y += 32, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set(load_f16(b->d));
        lanes_values((q & 15) - 8, d, y);
        lanes_values((q >> 4) - 8, d, y + 16);
    }
}

void q4_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_1 *b = blocks;
    for (const float *end = y + n; y < end; y += 32, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set(load_f16(b->d)), m = vf_set(load_f16(b->m));
        lanes_values_plus(q & 15, d, m, y);
        lanes_values_plus(q >> 4, d, m, y + 16);
    }
}

void q5_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_0 *b = blocks;
    for (const float *end = y + n; y < end; y += 32, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set(load_f16(b->d));
        lanes_values(((q & 15) | (vb_from_bits(load_u16(b->qh)) & 16)) - 16, d, y);
        lanes_values(((q >> 4) | (vb_from_bits(load_u16(b->qh + 2)) & 16)) - 16, d, y + 16);
    }
}

void q5_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_1 *b = blocks;
    for (const float *end = y + n; y < end; y += 32, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set(load_f16(b->d)), m = vf_set(load_f16(b->m));
        lanes_values_plus((q & 15) | (vb_from_bits(load_u16(b->qh)) & 16), d, m, y);
        lanes_values_plus((q >> 4) | (vb_from_bits(load_u16(b->qh + 2)) & 16), d, m, y + 16);
    }
}

void q8_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q8_0 *b = blocks;
    for (const float *end = y + n; y < end; y += 32, b++) {
        const vf d = vf_set(load_f16(b->d));
        lanes_values(vb_load(b->qs), d, y);
        lanes_values(vb_load(b->qs + 16), d, y + 16);
    }
}

void q8_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q8_1 *b = blocks;
    for (const float *end = y + n; y < end; y += 32, b++) {
        const vf d = vf_set(load_f16(b->d));
        lanes_values(vb_load(b->qs), d, y);
        lanes_values(vb_load(b->qs + 16), d, y + 16);
    }
}

/* K types: the scale and the minimum of each group, multiplied out. */
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

void q2_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q2_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct k_factors f = k_multiply(q2_K_shape, q2_K_scales(b));
        for (int g = 0; g < 16; g++, y += 16) {
            const vb q = vb_load(b->qs + 32 * (g / 8) + 16 * (g % 2));
            lanes_values_less((q >> (2 * (g % 8 / 2))) & 3, vf_set(f.d[g]), vf_set(f.m[g]), y);
        }
    }
}

void q3_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q3_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct k_factors f = k_multiply(q3_K_shape, q3_K_scales(b));
        for (int g = 0; g < 16; g++, y += 16) {
            const vb low = (vb_load(b->qs + 32 * (g / 8) + 16 * (g % 2)) >> (2 * (g % 8 / 2))) & 3;
            const vb high = (vb_load(b->hmask + 16 * (g % 2)) >> (g / 2)) & 1;
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
                const vb q = vb_load(b->qs + 32 * (g / 2) + l);
                lanes_values_less(nibbles(q, g % 2), vf_set(f.d[g]), vf_set(f.m[g]), y);
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
                const vb q = vb_load(b->qs + 32 * (g / 2) + l);
                const vb high = (vb_load(b->qh + l) >> g) & 1;
                lanes_values_less(nibbles(q, g % 2) | (high << 4), vf_set(f.d[g]), vf_set(f.m[g]),
                                  y);
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
            const vb low = vb_load(b->ql + 64 * h + 32 * (p & 1) + l);
            const vb high = (vb_load(b->qh + 32 * h + l) >> (2 * p)) & 3;
            lanes_values((nibbles(low, p / 2) | (high << 4)) - 32, vf_set(f.d[g]), y);
        }
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
