/* SPDX-License-Identifier: MIT */
/*
 * Quantize and dequantize of the types of 32 elements a block, over the primitives of lanes.h
 * (docs/formats.md section 1). Every operation on an element is that of plugins/scalar/legacy.c.
 */
#ifndef QKERN_COMMON_LANES_LEGACY_H
#define QKERN_COMMON_LANES_LEGACY_H

#include <stddef.h>

#include <qkern/blocks.h>

#include "extremes.h"
#include "kernels.h"
#include "lanes.h"
#include "lanes_search.h"
#include "layout.h"

/* Quantize: the scales of LANES blocks are one vector. Then each block is made codes. */

struct scales {
    float id[LANES]; /* 1 / d */
    float m[LANES];
    uint16_t d16[LANES]; /* as stored */
    uint16_t m16[LANES];
};

/* d, and its inverse: reciprocal of round.h. */
ALWAYS_INLINE void scales_set(struct scales *s, vf d, vf m)
{
    const vf id = vf_set(1.0f) / d;
    const vm infinite = vf_gt(vf_abs(id), vf_set(FLT_MAX));
    vf_store(s->id, vf_select(vm_or(infinite, vf_ne(id, id)), vf_set(0.0f), id));
    vf_store(s->m, m);
    lanes_store_scale(s->d16, d);
    lanes_store_scale(s->m16, m);
}

/*
 * The least and the greatest element of each of `count` blocks, but lo is not above `least` nor hi
 * below `greatest`; NaN is ignored. For blocks that are missing the first one stands in.
 */
ALWAYS_INLINE void bounds(int count, const float *x, float least, float greatest, vf *lo, vf *hi)
{
    vf los[LANES], his[LANES];
    for (int k = 0; k < LANES; k++) {
        const float *block = x + ELEMENTS * (k < count ? k : 0);
        los[k] = vf_set(least);
        his[k] = vf_set(greatest);
        for (int e = 0; e < ELEMENTS; e += LANES) {
            const vf v = vf_load(block + e);
            los[k] = vf_min(v, los[k]);
            his[k] = vf_max(v, his[k]);
        }
    }
    *lo = lanes_least(los);
    *hi = lanes_greatest(his);
}

/* Symmetric codes: the extreme element gets code 0. */
ALWAYS_INLINE void symmetric_scales(int count, int N, const float *x, struct scales *s)
{
    vf lo, hi;
    bounds(count, x, 0.0f, 0.0f, &lo, &hi);
    vf m = vf_select(vf_gt(-lo, hi), lo, hi);

    /* Both signs: the first decides. */
    const vm tie = vm_and(vf_eq(hi, -lo), vf_gt(hi, vf_set(0.0f)));
    if (vm_any(tie)) {
        float first[LANES];
        vf_store(first, hi);
        for (int k = 0; k < count; k++)
            first[k] = first_of_magnitude(ELEMENTS, x + ELEMENTS * k, first[k]);
        m = vf_select(tie, vf_load(first), m);
    }
    scales_set(s, m / vf_set((float)-N), vf_set(0.0f));
}

/* Codes above a minimum. */
ALWAYS_INLINE void minimum_scales(int count, int N, const float *x, struct scales *s)
{
    vf lo, hi;
    bounds(count, x, FLT_MAX, -FLT_MAX, &lo, &hi);
    const vm zeros = vm_or(vf_eq(lo, vf_set(0.0f)), vf_eq(hi, vf_set(0.0f)));
    if (vm_any(zeros)) { /* the first zero has the sign */
        float los[LANES], his[LANES];
        for (int k = 0; k < LANES; k++)
            min_max(ELEMENTS, x + ELEMENTS * (k < count ? k : 0), &los[k], &his[k]);
        lo = vf_load(los);
        hi = vf_load(his);
    }
    scales_set(s, (hi - lo) / vf_set((float)N), lo);
}

/* Codes -127 .. 127; returns d. */
ALWAYS_INLINE vf signed_scales(int count, const float *x, struct scales *s)
{
    vf largest[LANES];
    for (int k = 0; k < LANES; k++) {
        const float *block = x + ELEMENTS * (k < count ? k : 0);
        largest[k] = vf_set(0.0f);
        for (int e = 0; e < ELEMENTS; e += LANES)
            largest[k] = vf_max(vf_abs(vf_load(block + e)), largest[k]);
    }
    const vf d = lanes_greatest(largest) / vf_set(127.0f);
    scales_set(s, d, vf_set(0.0f));
    return d;
}

/*
 * The codes of block k, whose elements are at x. The lower bound is what NaN becomes. The upper one
 * acts on symmetric codes, where the extreme element may have a twin of the other sign, which would
 * get 2 * N; elsewhere a value is a rounding error above its greatest code at most, and the
 * conversion toward zero drops that.
 */

ALWAYS_INLINE void symmetric_codes(const float *x, int N, const struct scales *s, int k,
                                   vb codes[2])
{
    const vf id = vf_set(s->id[k]), half = vf_set((float)N + 0.5f);
    vi q[ELEMENTS / LANES];
    for (int i = 0; i < ELEMENTS / LANES; i++) {
        const vf v = vf_load(x + i * LANES) * id + half;
        q[i] = vi_from_f32(vf_clamp(v, vf_set(0.0f), vf_set((float)(2 * N - 1))));
    }
    vb_narrow(q, codes);
}

ALWAYS_INLINE void minimum_codes(const float *x, int N, const struct scales *s, int k, vb codes[2])
{
    (void)N;
    const vf id = vf_set(s->id[k]), m = vf_set(s->m[k]);
    vi q[ELEMENTS / LANES];
    for (int i = 0; i < ELEMENTS / LANES; i++) {
        const vf v = (vf_load(x + i * LANES) - m) * id + vf_set(0.5f);
        q[i] = vi_from_f32(vf_max(v, vf_set(0.0f)));
    }
    vb_narrow(q, codes);
}

/*
 * rha of round.h for |v| <= 127: the float below a half is added to the magnitude, so that a half
 * becomes a whole number and what is less does not. That is so for each of these floats.
 */
ALWAYS_INLINE vi lanes_rha(vf v)
{
    const vi half = vi_bits(vf_set(0x1.fffffep-2f));
    const vi sign = vi_bits(v) & vi_bits(vf_set(-0.0f));
    return vi_from_f32(v + vf_from_bits(sign | half));
}

/* Returns the sums of 32 / LANES codes each. */
ALWAYS_INLINE vi signed_codes(const float *x, const struct scales *s, int k, int8_t qs[ELEMENTS])
{
    vi q[ELEMENTS / LANES], sum = vi_set(0);
    for (int i = 0; i < ELEMENTS / LANES; i++) {
        const vf v = vf_load(x + i * LANES) * vf_set(s->id[k]);
        q[i] = lanes_rha(vf_max(v, vf_set(-127.0f)));
        sum = sum + q[i];
    }
    vb codes[2];
    vb_narrow(q, codes);
    vb_store(qs, codes[0]);
    vb_store(qs + 16, codes[1]);
    return sum;
}

/* A block in memory; m is for types with minimum. */

ALWAYS_INLINE void store_nibbles(const vb q[2], uint8_t qs[16])
{
    vb_store(qs, (q[0] & 15) | vb_left(q[1] & 15, 4));
}

ALWAYS_INLINE void store_fifth_bits(const vb q[2], uint8_t qh[4])
{
    store_u16(qh, vb_sign_bits(vb_left(q[0] & 16, 3)));
    store_u16(qh + 2, vb_sign_bits(vb_left(q[1] & 16, 3)));
}

ALWAYS_INLINE void q4_0_store(struct qkern_block_q4_0 *b, uint16_t d, uint16_t m, const vb q[2])
{
    (void)m;
    store_u16(b->d, d);
    store_nibbles(q, b->qs);
}

ALWAYS_INLINE void q4_1_store(struct qkern_block_q4_1 *b, uint16_t d, uint16_t m, const vb q[2])
{
    store_u16(b->d, d);
    store_u16(b->m, m);
    store_nibbles(q, b->qs);
}

ALWAYS_INLINE void q5_0_store(struct qkern_block_q5_0 *b, uint16_t d, uint16_t m, const vb q[2])
{
    (void)m;
    store_u16(b->d, d);
    store_fifth_bits(q, b->qh);
    store_nibbles(q, b->qs);
}

ALWAYS_INLINE void q5_1_store(struct qkern_block_q5_1 *b, uint16_t d, uint16_t m, const vb q[2])
{
    store_u16(b->d, d);
    store_u16(b->m, m);
    store_fifth_bits(q, b->qh);
    store_nibbles(q, b->qs);
}

#define QUANTIZE(name, kind, N)                                                                    \
    void name##_quantize(uint64_t n, const float *x, void *blocks)                                 \
    {                                                                                              \
        struct qkern_block_##name *b = blocks;                                                     \
        for (uint64_t left = n / ELEMENTS; left > 0;) {                                            \
            struct scales s;                                                                       \
            const int count = at_most(left, LANES);                                                \
            left -= (uint64_t)count;                                                               \
            kind##_scales(count, N, x, &s);                                                        \
            for (int k = 0; k < count; k++, x += ELEMENTS, b++) {                                  \
                vb q[2];                                                                           \
                kind##_codes(x, N, &s, k, q);                                                      \
                name##_store(b, s.d16[k], s.m16[k], q);                                            \
            }                                                                                      \
        }                                                                                          \
    }

QUANTIZE(q4_0, symmetric, 8)
QUANTIZE(q4_1, minimum, 15)
QUANTIZE(q5_0, symmetric, 16)
QUANTIZE(q5_1, minimum, 31)

void q8_0_quantize(uint64_t n, const float *x, void *blocks)
{
    struct qkern_block_q8_0 *b = blocks;
    for (uint64_t left = n / ELEMENTS; left > 0;) {
        struct scales s;
        const int count = at_most(left, LANES);
        left -= (uint64_t)count;
        signed_scales(count, x, &s);
        for (int k = 0; k < count; k++, x += ELEMENTS, b++) {
            store_u16(b->d, s.d16[k]);
            signed_codes(x, &s, k, b->qs);
        }
    }
}

void q8_1_quantize(uint64_t n, const float *x, void *blocks)
{
    struct qkern_block_q8_1 *b = blocks;
    for (uint64_t left = n / ELEMENTS; left > 0;) {
        struct scales s;
        const int count = at_most(left, LANES);
        left -= (uint64_t)count;
        const vf d = signed_scales(count, x, &s);
        vi sums[LANES];
        for (int k = 0; k < LANES; k++)
            sums[k] = vi_set(0);
        for (int k = 0; k < count; k++, x += ELEMENTS)
            sums[k] = signed_codes(x, &s, k, b[k].qs);
        uint16_t s16[LANES];
        lanes_store_scale(s16, vf_from_i32(lanes_sums(sums)) * d);
        for (int k = 0; k < count; k++, b++) {
            store_u16(b->d, s.d16[k]);
            store_u16(b->s, s16[k]);
        }
    }
}

/* Quantize with importance: the searches of lanes_search.h, a block in a lane. */

#define WEIGHTED_BLOCKS (TURNS * LANES)

struct found {
    float scale[WEIGHTED_BLOCKS];
    float min[WEIGHTED_BLOCKS];
    float s[WEIGHTED_BLOCKS];
    float lo[WEIGHTED_BLOCKS];
    uint16_t d16[WEIGHTED_BLOCKS]; /* as stored */
    uint16_t m16[WEIGHTED_BLOCKS];
};

ALWAYS_INLINE void load_weighted(int count, const float *x, const float *importance, vf sigma2,
                                 vf *v, vf *w)
{
    lanes_load(TURNS, ELEMENTS, count, ELEMENTS, x, v);
    lanes_load(TURNS, ELEMENTS, count, ELEMENTS, importance, w);
    lanes_importance_weights(TURNS * ELEMENTS, v, sigma2, w);
}

ALWAYS_INLINE void symmetric_search(int count, int N, const float *x, const float *importance,
                                    vf sigma2, struct found *f)
{
    vf v[TURNS * ELEMENTS], w[TURNS * ELEMENTS];
    load_weighted(count, x, importance, sigma2, v, w);
    lanes_qx(TURNS, ELEMENTS, N, true, v, w, (struct lanes_found){f->scale, NULL, f->s, f->lo});
    for (int k = 0; k < WEIGHTED_BLOCKS; k += LANES) {
        lanes_store_scale(f->d16 + k, vf_load(f->scale + k));
        lanes_store_scale(f->m16 + k, vf_set(0.0f));
    }
}

ALWAYS_INLINE void minimum_search(int count, int N, const float *x, const float *importance,
                                  vf sigma2, struct found *f)
{
    vf v[TURNS * ELEMENTS], w[TURNS * ELEMENTS];
    load_weighted(count, x, importance, sigma2, v, w);
    lanes_qkx(TURNS, ELEMENTS, N, v, w, importance_steps,
              (struct lanes_found){f->scale, f->min, f->s, f->lo});
    for (int k = 0; k < WEIGHTED_BLOCKS; k += LANES) {
        lanes_store_scale(f->d16 + k, vf_load(f->scale + k));
        lanes_store_scale(f->m16 + k, -vf_load(f->min + k));
    }
}

/* LOW, HIGH: the codes without offset. */
#define WEIGHTED_QUANTIZE(name, kind, N, LOW, HIGH)                                                \
    void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,             \
                                  void *blocks)                                                    \
    {                                                                                              \
        const vf sigma2 = vf_set(sum_of_squares(n, x) / (float)n);                                 \
        struct qkern_block_##name *b = blocks;                                                     \
        for (uint64_t left = n / ELEMENTS; left > 0;) {                                            \
            struct found f;                                                                        \
            const int count = at_most(left, WEIGHTED_BLOCKS);                                      \
            left -= (uint64_t)count;                                                               \
            kind##_search(count, N, x, importance, sigma2, &f);                                    \
            importance += count * ELEMENTS;                                                        \
            for (int k = 0; k < count; k++, x += ELEMENTS, b++) {                                  \
                vb q[2];                                                                           \
                lanes_codes(x, vf_set(f.s[k]), vf_set(f.lo[k]), LOW, HIGH, q);                     \
                name##_store(b, f.d16[k], f.m16[k], q);                                            \
            }                                                                                      \
        }                                                                                          \
    }

WEIGHTED_QUANTIZE(q4_0, symmetric, 8, -8, 7)
WEIGHTED_QUANTIZE(q4_1, minimum, 15, 0, 15)
WEIGHTED_QUANTIZE(q5_0, symmetric, 16, -16, 15)
WEIGHTED_QUANTIZE(q5_1, minimum, 31, 0, 31)

/* Dequantize. AVX-512 has other ways with these types. */
#ifndef DEQUANTIZES_BY_TABLE

void q4_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_0 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set_f16(b->d);
        lanes_values((q & 15) - 8, d, y);
        lanes_values(vb_bits(q, 4, 15) - 8, d, y + 16);
    }
}

void q4_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_1 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set_f16(b->d), m = vf_set_f16(b->m);
        lanes_values_plus(q & 15, d, m, y);
        lanes_values_plus(vb_bits(q, 4, 15), d, m, y + 16);
    }
}

void q5_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_0 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        const vf d = vf_set_f16(b->d);
        vb q[2];
        vb_load_fives(b->qs, b->qh, true, q);
        lanes_values(q[0], d, y);
        lanes_values(q[1], d, y + 16);
    }
}

void q5_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_1 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        const vf d = vf_set_f16(b->d), m = vf_set_f16(b->m);
        vb q[2];
        vb_load_fives(b->qs, b->qh, false, q);
        lanes_values_plus(q[0], d, m, y);
        lanes_values_plus(q[1], d, m, y + 16);
    }
}

#endif

/* Blocks of `bytes` bytes: the scale, and from `at` on the codes. */
ALWAYS_INLINE void signed_dequantize(uint64_t n, const uint8_t *b, size_t bytes, size_t at,
                                     float *restrict y)
{
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b += bytes) {
        const vf d = vf_set_f16(b);
        lanes_values(vb_load(b + at), d, y);
        lanes_values(vb_load(b + at + 16), d, y + 16);
    }
}

void q8_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    signed_dequantize(n, blocks, sizeof(struct qkern_block_q8_0),
                      offsetof(struct qkern_block_q8_0, qs), y);
}

void q8_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    signed_dequantize(n, blocks, sizeof(struct qkern_block_q8_1),
                      offsetof(struct qkern_block_q8_1, qs), y);
}

#endif
