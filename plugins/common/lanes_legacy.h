/* SPDX-License-Identifier: MIT */
/*
 * Quantize and dequantize of the types of 32 elements a block, over the primitives of lanes.h
 * (docs/formats.md section 1). Every operation on an element is that of plugins/scalar/legacy.c.
 */
#ifndef QKERN_COMMON_LANES_LEGACY_H
#define QKERN_COMMON_LANES_LEGACY_H

#include <qkern/blocks.h>

#include "extremes.h"
#include "kernels.h"
#include "lanes.h"
#include "lanes_search.h"
#include "layout.h"

/* Quantize: the scales of LANES blocks are one vector. Then each block is made codes. */

struct scales {
    float id[LANES];     /* 1 / d */
    float m[LANES];      /* with minimum */
    uint16_t d16[LANES]; /* as stored */
    uint16_t m16[LANES];
};

/* d, and its inverse: reciprocal of round.h. */
ALWAYS_INLINE void scales_set(struct scales *s, vf d)
{
    const vf id = vf_set(1.0f) / d;
    const vm infinite = vf_gt(vf_abs(id), vf_set(FLT_MAX));
    vf_store(s->id, vf_select(vm_or(infinite, vf_ne(id, id)), vf_set(0.0f), id));
    lanes_store_scale(s->d16, d);
}

/*
 * The least and the greatest element of each of `count` blocks, or `none` where there is no number
 * to one side of it. For blocks that are missing the first one stands in.
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
    scales_set(s, m / vf_set((float)-N));
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
    scales_set(s, (hi - lo) / vf_set((float)N));
    vf_store(s->m, lo);
    lanes_store_scale(s->m16, lo);
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
    scales_set(s, d);
    return d;
}

/* 32 codes each. v is NaN at times, but never above a code's range unless that is said. */

/* The greatest value but the extreme would be 2 * N. */
ALWAYS_INLINE void symmetric_codes(const float *x, int N, vf id, vb codes[2])
{
    vi q[ELEMENTS / LANES];
    for (int k = 0; k < ELEMENTS / LANES; k++) {
        const vf v = vf_load(x + k * LANES) * id + vf_set((float)N + 0.5f);
        q[k] = vi_from_f32(vf_clamp(v, vf_set(0.0f), vf_set((float)(2 * N - 1))));
    }
    vb_narrow(q, codes);
}

ALWAYS_INLINE void minimum_codes(const float *x, vf id, vf m, vb codes[2])
{
    vi q[ELEMENTS / LANES];
    for (int k = 0; k < ELEMENTS / LANES; k++) {
        const vf v = (vf_load(x + k * LANES) - m) * id + vf_set(0.5f);
        q[k] = vi_from_f32(vf_max(v, vf_set(0.0f)));
    }
    vb_narrow(q, codes);
}

/*
 * rha of round.h for |v| <= 127: the float below a half is added to the magnitude, so that a half
 * becomes a whole number, and what is less does not. True for each such float, which a test shows.
 */
ALWAYS_INLINE vi lanes_rha(vf v)
{
    const vi half = vi_bits(vf_set(0x1.fffffep-2f));
    const vi sign = vi_bits(v) & vi_bits(vf_set(-0.0f));
    return vi_from_f32(v + vf_from_bits(sign | half));
}

/* Returns the sums of 32 / LANES codes each. */
ALWAYS_INLINE vi signed_codes(const float *x, vf id, int8_t qs[ELEMENTS])
{
    vi q[ELEMENTS / LANES], sum = vi_set(0);
    for (int k = 0; k < ELEMENTS / LANES; k++) {
        q[k] = lanes_rha(vf_max(vf_load(x + k * LANES) * id, vf_set(-127.0f)));
        sum = sum + q[k];
    }
    vb codes[2];
    vb_narrow(q, codes);
    vb_store(qs, codes[0]);
    vb_store(qs + 16, codes[1]);
    return sum;
}

/* The codes of a block in memory. */

ALWAYS_INLINE void store_nibbles(const vb q[2], uint8_t qs[16])
{
    vb_store(qs, (q[0] & 15) | vb_left(q[1] & 15, 4));
}

ALWAYS_INLINE void store_fifth_bits(const vb q[2], uint8_t qh[4])
{
    store_u16(qh, vb_sign_bits(vb_left(q[0] & 16, 3)));
    store_u16(qh + 2, vb_sign_bits(vb_left(q[1] & 16, 3)));
}

static inline void q4_0_store(const vb q[2], struct qkern_block_q4_0 *b)
{
    store_nibbles(q, b->qs);
}

static inline void q4_1_store(const vb q[2], struct qkern_block_q4_1 *b)
{
    store_nibbles(q, b->qs);
}

static inline void q5_0_store(const vb q[2], struct qkern_block_q5_0 *b)
{
    store_fifth_bits(q, b->qh);
    store_nibbles(q, b->qs);
}

static inline void q5_1_store(const vb q[2], struct qkern_block_q5_1 *b)
{
    store_fifth_bits(q, b->qh);
    store_nibbles(q, b->qs);
}

#define SYMMETRIC_QUANTIZE(name, N)                                                                \
    void name##_quantize(uint64_t n, const float *x, void *blocks)                                 \
    {                                                                                              \
        struct qkern_block_##name *b = blocks;                                                     \
        for (uint64_t left = n / ELEMENTS; left > 0;) {                                            \
            struct scales s;                                                                       \
            const int count = at_most(left, LANES);                                                \
            left -= (uint64_t)count;                                                               \
            symmetric_scales(count, N, x, &s);                                                     \
            for (int k = 0; k < count; k++, x += ELEMENTS, b++) {                                  \
                vb q[2];                                                                           \
                symmetric_codes(x, N, vf_set(s.id[k]), q);                                         \
                store_u16(b->d, s.d16[k]);                                                         \
                name##_store(q, b);                                                                \
            }                                                                                      \
        }                                                                                          \
    }

#define MINIMUM_QUANTIZE(name, N)                                                                  \
    void name##_quantize(uint64_t n, const float *x, void *blocks)                                 \
    {                                                                                              \
        struct qkern_block_##name *b = blocks;                                                     \
        for (uint64_t left = n / ELEMENTS; left > 0;) {                                            \
            struct scales s;                                                                       \
            const int count = at_most(left, LANES);                                                \
            left -= (uint64_t)count;                                                               \
            minimum_scales(count, N, x, &s);                                                       \
            for (int k = 0; k < count; k++, x += ELEMENTS, b++) {                                  \
                vb q[2];                                                                           \
                minimum_codes(x, vf_set(s.id[k]), vf_set(s.m[k]), q);                              \
                store_u16(b->d, s.d16[k]);                                                         \
                store_u16(b->m, s.m16[k]);                                                         \
                name##_store(q, b);                                                                \
            }                                                                                      \
        }                                                                                          \
    }

SYMMETRIC_QUANTIZE(q4_0, 8)
MINIMUM_QUANTIZE(q4_1, 15)
SYMMETRIC_QUANTIZE(q5_0, 16)
MINIMUM_QUANTIZE(q5_1, 31)

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
            signed_codes(x, vf_set(s.id[k]), b->qs);
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
            sums[k] = signed_codes(x, vf_set(s.id[k]), b[k].qs);
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
}

ALWAYS_INLINE void minimum_search(int count, int N, const float *x, const float *importance,
                                  vf sigma2, struct found *f)
{
    vf v[TURNS * ELEMENTS], w[TURNS * ELEMENTS];
    load_weighted(count, x, importance, sigma2, v, w);
    lanes_qkx(TURNS, ELEMENTS, N, v, w, importance_steps,
              (struct lanes_found){f->scale, f->min, f->s, f->lo});
}

/* LOW, HIGH: of the codes without offset. */
#define WEIGHTED_QUANTIZE(name, search, N, LOW, HIGH, STORE_MINIMUM)                               \
    void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,             \
                                  void *blocks)                                                    \
    {                                                                                              \
        const vf sigma2 = vf_set(sum_of_squares(n, x) / (float)n);                                 \
        struct qkern_block_##name *b = blocks;                                                     \
        for (uint64_t left = n / ELEMENTS; left > 0;) {                                            \
            struct found f;                                                                        \
            const int count = at_most(left, WEIGHTED_BLOCKS);                                      \
            left -= (uint64_t)count;                                                               \
            search(count, N, x, importance, sigma2, &f);                                           \
            importance += count * ELEMENTS;                                                        \
            for (int k = 0; k < count; k++, x += ELEMENTS, b++) {                                  \
                vb q[2];                                                                           \
                lanes_codes(x, vf_set(f.s[k]), vf_set(f.lo[k]), LOW, HIGH, q);                     \
                store_scale(b->d, f.scale[k]);                                                     \
                STORE_MINIMUM                                                                      \
                name##_store(q, b);                                                                \
            }                                                                                      \
        }                                                                                          \
    }

#define NO_MINIMUM
#define A_MINIMUM store_scale(b->m, -f.min[k]);

WEIGHTED_QUANTIZE(q4_0, symmetric_search, 8, -8, 7, NO_MINIMUM)
WEIGHTED_QUANTIZE(q4_1, minimum_search, 15, 0, 15, A_MINIMUM)
WEIGHTED_QUANTIZE(q5_0, symmetric_search, 16, -16, 15, NO_MINIMUM)
WEIGHTED_QUANTIZE(q5_1, minimum_search, 31, 0, 31, A_MINIMUM)

/* Dequantize */

void q4_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_0 *b = blocks;
    for (const float *end = y + n; y < end; y += ELEMENTS, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set_f16(b->d);
        lanes_values((q & 15) - 8, d, y);
        lanes_values(vb_bits(q, 4, 15) - 8, d, y + 16);
    }
}

void q4_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_1 *b = blocks;
    for (const float *end = y + n; y < end; y += ELEMENTS, b++) {
        const vb q = vb_load(b->qs);
        const vf d = vf_set_f16(b->d), m = vf_set_f16(b->m);
        lanes_values_plus(q & 15, d, m, y);
        lanes_values_plus(vb_bits(q, 4, 15), d, m, y + 16);
    }
}

void q5_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_0 *b = blocks;
    for (const float *end = y + n; y < end; y += ELEMENTS, b++) {
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
    for (const float *end = y + n; y < end; y += ELEMENTS, b++) {
        const vf d = vf_set_f16(b->d), m = vf_set_f16(b->m);
        vb q[2];
        vb_load_fives(b->qs, b->qh, false, q);
        lanes_values_plus(q[0], d, m, y);
        lanes_values_plus(q[1], d, m, y + 16);
    }
}

#define SIGNED_DEQUANTIZE(name)                                                                    \
    void name##_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)             \
    {                                                                                              \
        const struct qkern_block_##name *b = blocks;                                               \
        for (const float *end = y + n; y < end; y += ELEMENTS, b++) {                              \
            const vf d = vf_set_f16(b->d);                                                         \
            lanes_values(vb_load(b->qs), d, y);                                                    \
            lanes_values(vb_load(b->qs + 16), d, y + 16);                                          \
        }                                                                                          \
    }

SIGNED_DEQUANTIZE(q8_0)
SIGNED_DEQUANTIZE(q8_1)

#endif
