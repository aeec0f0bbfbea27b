/* SPDX-License-Identifier: MIT */
/*
 * Quantize to Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1 and Q8_K, over the primitives of the including
 * plugin's vec.h.
 */
#ifndef QKERN_COMMON_LANES_QUANTIZE_H
#define QKERN_COMMON_LANES_QUANTIZE_H

#include <qkern/blocks.h>

#include "extremes.h"
#include "lanes.h"
#include "round.h"

/* As in extremes.h, for n elements, a multiple of 16. */

ALWAYS_INLINE float lanes_absmax(int n, const float *x)
{
    vf largest = vf_set(0.0f);
    for (int i = 0; i < n; i += LANES)
        largest = vf_max(vf_abs(vf_load(x + i)), largest);
    return vf_reduce_max(largest);
}

ALWAYS_INLINE float lanes_extreme(int n, const float *x)
{
    const float largest = lanes_absmax(n, x);
    vm positive = vf_gt(vf_set(0.0f), vf_set(0.0f)), negative = positive;
    for (int i = 0; i < n; i += LANES) {
        positive = vm_or(positive, vf_eq(vf_load(x + i), vf_set(largest)));
        negative = vm_or(negative, vf_eq(vf_load(x + i), vf_set(-largest)));
    }
    if (largest == 0.0f)
        return 0.0f;
    if (!vm_any(negative))
        return largest;
    return vm_any(positive) ? first_of_magnitude(n, x, largest) : -largest;
}

ALWAYS_INLINE void lanes_min_max(int n, const float *x, float *min, float *max)
{
    vf lo = vf_set(FLT_MAX), hi = vf_set(-FLT_MAX);
    for (int i = 0; i < n; i += LANES) {
        lo = vf_min(vf_load(x + i), lo);
        hi = vf_max(vf_load(x + i), hi);
    }
    *min = vf_reduce_min(lo);
    *max = vf_reduce_max(hi);
    if (*min == 0.0f)
        *min = first_of_magnitude(n, x, 0.0f);
    if (*max == 0.0f)
        *max = first_of_magnitude(n, x, 0.0f);
}

/* Sixteen codes: (x - lo) * id + half, clamped to 0 .. high, toward zero. */
ALWAYS_INLINE vb lanes_codes(const float *x, vf id, vf half, vf high)
{
    vi q[16 / LANES];
    for (int k = 0; k < 16 / LANES; k++) {
        const vf v = vf_load(x + k * LANES) * id + half;
        q[k] = vi_from_f32(vf_min(vf_max(v, vf_set(0.0f)), high));
    }
    return vb_narrow(q);
}

ALWAYS_INLINE vb lanes_codes_above(const float *x, vf lo, vf id, vf high)
{
    vi q[16 / LANES];
    for (int k = 0; k < 16 / LANES; k++) {
        const vf v = (vf_load(x + k * LANES) - lo) * id + vf_set(0.5f);
        q[k] = vi_from_f32(vf_min(vf_max(v, vf_set(0.0f)), high));
    }
    return vb_narrow(q);
}

/* A block's 32 codes. Returns d. */
ALWAYS_INLINE float lanes_symmetric(const float *x, int N, vb q[2])
{
    const float d = lanes_extreme(32, x) / (float)-N;
    const vf id = vf_set(reciprocal(d)), half = vf_set((float)N + 0.5f);
    const vf high = vf_set((float)(2 * N - 1));
    q[0] = lanes_codes(x, id, half, high);
    q[1] = lanes_codes(x + 16, id, half, high);
    return d;
}

ALWAYS_INLINE float lanes_minimum(const float *x, int N, vb q[2], float *m)
{
    float lo, hi;
    lanes_min_max(32, x, &lo, &hi);
    const float d = (hi - lo) / (float)N;
    const vf id = vf_set(reciprocal(d)), high = vf_set((float)N);
    q[0] = lanes_codes_above(x, vf_set(lo), id, high);
    q[1] = lanes_codes_above(x + 16, vf_set(lo), id, high);
    *m = lo;
    return d;
}

ALWAYS_INLINE void lanes_store_nibbles(const vb q[2], uint8_t qs[16])
{
    vb_store(qs, (q[0] & 15) | (q[1] << 4));
}

ALWAYS_INLINE void lanes_store_fifth_bits(const vb q[2], uint8_t qh[4])
{
    store_u16(qh, vb_sign_bits(q[0] << 3));
    store_u16(qh + 2, vb_sign_bits(q[1] << 3));
}

void q4_0_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q4_0 *b = blocks;
    for (const float *end = x + n; x < end; x += 32, b++) {
        vb q[2];
        store_scale(b->d, lanes_symmetric(x, 8, q));
        lanes_store_nibbles(q, b->qs);
    }
}

void q4_1_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q4_1 *b = blocks;
    for (const float *end = x + n; x < end; x += 32, b++) {
        vb q[2];
        float m;
        store_scale(b->d, lanes_minimum(x, 15, q, &m));
        store_scale(b->m, m);
        lanes_store_nibbles(q, b->qs);
    }
}

void q5_0_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q5_0 *b = blocks;
    for (const float *end = x + n; x < end; x += 32, b++) {
        vb q[2];
        store_scale(b->d, lanes_symmetric(x, 16, q));
        lanes_store_fifth_bits(q, b->qh);
        lanes_store_nibbles(q, b->qs);
    }
}

void q5_1_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q5_1 *b = blocks;
    for (const float *end = x + n; x < end; x += 32, b++) {
        vb q[2];
        float m;
        store_scale(b->d, lanes_minimum(x, 31, q, &m));
        store_scale(b->m, m);
        lanes_store_fifth_bits(q, b->qh);
        lanes_store_nibbles(q, b->qs);
    }
}

/* rha of round.h on each lane; the parts stay floats, for whole numbers this small are exact. */
ALWAYS_INLINE vi lanes_rha(vf v)
{
    const vi whole = vi_from_f32(v);
    const vf rest = v - vf_from_i32(whole);
    return whole + vi_from_f32(rest + rest);
}

/* 32 codes -127 .. 127. Returns d; *sum is their sum. */
ALWAYS_INLINE float lanes_signed(const float *x, int8_t qs[32], int32_t *sum)
{
    const float d = lanes_absmax(32, x) / 127.0f;
    const vf id = vf_set(reciprocal(d));
    vi total = vi_set(0);
    for (int e = 0; e < 32; e += 16) {
        vi q[16 / LANES];
        for (int k = 0; k < 16 / LANES; k++) {
            const vf v = vf_load(x + e + k * LANES) * id;
            q[k] = lanes_rha(vf_min(vf_max(v, vf_set(-127.0f)), vf_set(127.0f)));
            total = total + q[k];
        }
        vb_store(qs + e, vb_narrow(q));
    }
    *sum = vi_reduce_add(total);
    return d;
}

void q8_0_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q8_0 *b = blocks;
    for (const float *end = x + n; x < end; x += 32, b++) {
        int32_t sum;
        store_scale(b->d, lanes_signed(x, b->qs, &sum));
    }
}

void q8_1_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q8_1 *b = blocks;
    for (const float *end = x + n; x < end; x += 32, b++) {
        int32_t sum;
        const float d = lanes_signed(x, b->qs, &sum);
        store_scale(b->d, d);
        store_scale(b->s, (float)sum * d);
    }
}

/* rne_clamped of round.h on each lane. */
ALWAYS_INLINE vi lanes_rne_clamped_i32(vf v, int low, int high)
{
    const vi bits = vi_bits(v + vf_set(12582912.0f)) & 0x007fffff;
    return vi_min(vi_max(bits - 0x00400000, vi_set(low)), vi_set(high));
}

void q8_K_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q8_K *b = blocks;
    for (const float *end = x + n; x < end; x += 256, b++) {
        const float s = -127.0f / lanes_extreme(256, x);
        if (!(fabsf(s) <= FLT_MAX)) {
            memset(b, 0, sizeof *b);
            continue;
        }
        store_f32(b->d, 1.0f / s);
        for (int e = 0; e < 256; e += 16) {
            vi q[16 / LANES], sum = vi_set(0);
            for (int k = 0; k < 16 / LANES; k++) {
                q[k] = lanes_rne_clamped_i32(vf_load(x + e + k * LANES) * vf_set(s), -127, 127);
                sum = sum + q[k];
            }
            vb_store(b->qs + e, vb_narrow(q));
            store_i16(b->bsums[e / 16], (int16_t)vi_reduce_add(sum));
        }
    }
}

#endif
