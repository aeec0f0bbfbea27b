/* SPDX-License-Identifier: MIT */
/* vec_dot of the types of 32 elements a block: unit u is block u. */
#include <qkern/blocks.h>

#include "common/bytes.h"
#include "common/kernels.h"
#include "common/layout.h"
#include "common/step.h"

static inline int32_t dot_symmetric(const uint8_t w[ELEMENTS], int N, const int8_t x[ELEMENTS])
{
    int32_t sum = 0; /* 32 * 16 * 128 at most */
    for (int e = 0; e < ELEMENTS; e++)
        sum += (w[e] - N) * x[e];
    return sum;
}

static inline int32_t dot_signed(const int8_t w[ELEMENTS], const int8_t x[ELEMENTS])
{
    int32_t sum = 0; /* 32 * 128 * 128 at most */
    for (int e = 0; e < ELEMENTS; e++)
        sum += w[e] * x[e];
    return sum;
}

float q4_0_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q4_0 *w = weights;
    const struct qkern_block_q8_0 *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / ELEMENTS; u++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(w[u].qs, q);
        p[u % STEP_PARTIALS] +=
            step_scale(load_f16(w[u].d), load_f16(x[u].d), dot_symmetric(q, 8, x[u].qs));
    }
    return partials_total(p);
}

float q4_1_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q4_1 *w = weights;
    const struct qkern_block_q8_1 *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / ELEMENTS; u++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(w[u].qs, q);
        p[u % STEP_PARTIALS] +=
            step_minimum(load_f16(w[u].d), load_f16(x[u].d), dot_symmetric(q, 0, x[u].qs),
                         load_f16(w[u].m), load_f16(x[u].s));
    }
    return partials_total(p);
}

float q5_0_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q5_0 *w = weights;
    const struct qkern_block_q8_0 *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / ELEMENTS; u++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(w[u].qs, q);
        fifth_bits_unpack(w[u].qh, q);
        p[u % STEP_PARTIALS] +=
            step_scale(load_f16(w[u].d), load_f16(x[u].d), dot_symmetric(q, 16, x[u].qs));
    }
    return partials_total(p);
}

float q5_1_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q5_1 *w = weights;
    const struct qkern_block_q8_1 *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / ELEMENTS; u++) {
        uint8_t q[ELEMENTS];
        nibbles_unpack(w[u].qs, q);
        fifth_bits_unpack(w[u].qh, q);
        p[u % STEP_PARTIALS] +=
            step_minimum(load_f16(w[u].d), load_f16(x[u].d), dot_symmetric(q, 0, x[u].qs),
                         load_f16(w[u].m), load_f16(x[u].s));
    }
    return partials_total(p);
}

float q8_0_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q8_0 *w = weights;
    const struct qkern_block_q8_0 *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / ELEMENTS; u++)
        p[u % STEP_PARTIALS] +=
            step_scale(load_f16(w[u].d), load_f16(x[u].d), dot_signed(w[u].qs, x[u].qs));
    return partials_total(p);
}
