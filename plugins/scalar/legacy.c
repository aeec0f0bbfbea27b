/* SPDX-License-Identifier: MIT */
/*
 * Quantize and dequantize of the types of 32 elements a block: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1
 * (docs/formats.md section 1).
 *
 * Q4_0 and Q5_0 are symmetric: value = (q - N) * d with codes 0 .. 2N - 1. Q4_1 and Q5_1 have a
 * minimum: value = q * d + m with codes 0 .. N. Codes are computed with the f32 scale, not with the
 * stored f16 one.
 */
#include <math.h>

#include <qkern/blocks.h>

#include "common/bytes.h"
#include "common/extremes.h"
#include "common/kernels.h"
#include "common/layout.h"
#include "common/round.h"
#include "common/search.h"

/* Quantize */

/* Symmetric codes: the extreme element gets code 0. Returns d. */
ALWAYS_INLINE float symmetric_codes(const float *x, int N, int32_t q[ELEMENTS])
{
    const float d = signed_absmax(ELEMENTS, x) / (float)-N;
    const float id = reciprocal(d);

    for (int e = 0; e < ELEMENTS; e++)
        q[e] = (int32_t)clamp_f32(x[e] * id + ((float)N + 0.5f), 0.0f, (float)(2 * N - 1));
    return d;
}

/* Codes above a minimum, *m. Returns d. */
ALWAYS_INLINE float minimum_codes(const float *x, int N, int32_t q[ELEMENTS], float *m)
{
    float lo, hi;
    min_max(ELEMENTS, x, &lo, &hi);
    const float d = (hi - lo) / (float)N;
    const float id = reciprocal(d);

    for (int e = 0; e < ELEMENTS; e++)
        q[e] = (int32_t)clamp_f32((x[e] - lo) * id + 0.5f, 0.0f, (float)N);
    *m = lo;
    return d;
}

/* Codes -127 .. 127. Returns d. */
ALWAYS_INLINE float signed_codes(const float *x, int8_t q[ELEMENTS])
{
    const float d = absmax(ELEMENTS, x) / 127.0f;
    const float id = reciprocal(d);

    float v[ELEMENTS];
    for (int e = 0; e < ELEMENTS; e++)
        v[e] = clamp_f32(x[e] * id, -127.0f, 127.0f);
    for (int e = 0; e < ELEMENTS; e++)
        q[e] = (int8_t)rha(v[e]);
    return d;
}

void q4_0_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q4_0 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        store_scale(b->d, symmetric_codes(x, 8, q));
        nibbles_pack(q, b->qs);
    }
}

void q4_1_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q4_1 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        float m;
        store_scale(b->d, minimum_codes(x, 15, q, &m));
        store_scale(b->m, m);
        nibbles_pack(q, b->qs);
    }
}

void q5_0_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q5_0 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        store_scale(b->d, symmetric_codes(x, 16, q));
        fifth_bits_pack(q, b->qh);
        nibbles_pack(q, b->qs);
    }
}

void q5_1_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q5_1 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        float m;
        store_scale(b->d, minimum_codes(x, 31, q, &m));
        store_scale(b->m, m);
        fifth_bits_pack(q, b->qh);
        nibbles_pack(q, b->qs);
    }
}

void q8_0_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q8_0 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, b++)
        store_scale(b->d, signed_codes(x, b->qs));
}

void q8_1_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q8_1 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, b++) {
        const float d = signed_codes(x, b->qs);
        int32_t sum = 0;
        for (int e = 0; e < ELEMENTS; e++)
            sum += b->qs[e];
        store_scale(b->d, d);
        store_scale(b->s, (float)sum * d);
    }
}

/* Quantize with importance: the searches of the K types, over blocks of 32. */

void q4_0_quantize_weighted(uint64_t n, const float *x, const float *importance, void *blocks)
{
    const float sigma2 = sum_of_squares(n, x) / (float)n;
    struct qkern_block_q4_0 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, importance += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        float w[ELEMENTS];
        importance_weights(ELEMENTS, x, importance, sigma2, w);
        store_scale(b->d, search_qx(ELEMENTS, 8, x, w, q));
        nibbles_pack(q, b->qs);
    }
}

void q4_1_quantize_weighted(uint64_t n, const float *x, const float *importance, void *blocks)
{
    const float sigma2 = sum_of_squares(n, x) / (float)n;
    struct qkern_block_q4_1 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, importance += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        float w[ELEMENTS], minimum;
        importance_weights(ELEMENTS, x, importance, sigma2, w);
        store_scale(b->d, search_qkx(ELEMENTS, 15, x, w, importance_steps, &minimum, q));
        store_scale(b->m, -minimum);
        nibbles_pack(q, b->qs);
    }
}

void q5_0_quantize_weighted(uint64_t n, const float *x, const float *importance, void *blocks)
{
    const float sigma2 = sum_of_squares(n, x) / (float)n;
    struct qkern_block_q5_0 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, importance += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        float w[ELEMENTS];
        importance_weights(ELEMENTS, x, importance, sigma2, w);
        store_scale(b->d, search_qx(ELEMENTS, 16, x, w, q));
        fifth_bits_pack(q, b->qh);
        nibbles_pack(q, b->qs);
    }
}

void q5_1_quantize_weighted(uint64_t n, const float *x, const float *importance, void *blocks)
{
    const float sigma2 = sum_of_squares(n, x) / (float)n;
    struct qkern_block_q5_1 *b = blocks;
    for (const float *end = x + n; x < end; x += ELEMENTS, importance += ELEMENTS, b++) {
        int32_t q[ELEMENTS];
        float w[ELEMENTS], minimum;
        importance_weights(ELEMENTS, x, importance, sigma2, w);
        store_scale(b->d, search_qkx(ELEMENTS, 31, x, w, importance_steps, &minimum, q));
        store_scale(b->m, -minimum);
        fifth_bits_pack(q, b->qh);
        nibbles_pack(q, b->qs);
    }
}

/* Dequantize */

static inline void symmetric_values(const uint8_t q[ELEMENTS], int N, float d, float *y)
{
    for (int e = 0; e < ELEMENTS; e++)
        y[e] = (float)(q[e] - N) * d;
}

static inline void minimum_values(const uint8_t q[ELEMENTS], float d, float m, float *y)
{
    for (int e = 0; e < ELEMENTS; e++)
        y[e] = (float)q[e] * d + m;
}

static inline void signed_values(const int8_t q[ELEMENTS], float d, float *restrict y)
{
    for (int e = 0; e < ELEMENTS; e++)
        y[e] = (float)q[e] * d;
}

void q4_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_0 *b = blocks;
    for (uint64_t i = 0; i < n; i += ELEMENTS, b++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(b->qs, q);
        symmetric_values(q, 8, load_f16(b->d), y + i);
    }
}

void q4_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_1 *b = blocks;
    for (uint64_t i = 0; i < n; i += ELEMENTS, b++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(b->qs, q);
        minimum_values(q, load_f16(b->d), load_f16(b->m), y + i);
    }
}

void q5_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_0 *b = blocks;
    for (uint64_t i = 0; i < n; i += ELEMENTS, b++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(b->qs, q);
        fifth_bits_unpack(b->qh, q);
        symmetric_values(q, 16, load_f16(b->d), y + i);
    }
}

void q5_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_1 *b = blocks;
    for (uint64_t i = 0; i < n; i += ELEMENTS, b++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(b->qs, q);
        fifth_bits_unpack(b->qh, q);
        minimum_values(q, load_f16(b->d), load_f16(b->m), y + i);
    }
}

void q8_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q8_0 *b = blocks;
    for (uint64_t i = 0; i < n; i += ELEMENTS, b++)
        signed_values(b->qs, load_f16(b->d), y + i);
}

void q8_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q8_1 *b = blocks;
    for (uint64_t i = 0; i < n; i += ELEMENTS, b++)
        signed_values(b->qs, load_f16(b->d), y + i);
}
