/* SPDX-License-Identifier: MIT */
/*
 * Quantize to Q2_K .. Q6_K (docs/formats.md section 5): the search, group by group. What follows it
 * is in common/kquantize.h.
 */
#include <math.h>

#include "common/kernels.h"
#include "common/kquantize.h"

/* With minimum: Q2_K, Q4_K, Q5_K. Without importance they weigh by magnitude. */

ALWAYS_INLINE void magnitude_weights(int n, const float *x, float base, float *w)
{
    for (int i = 0; i < n; i++)
        w[i] = base + fabsf(x[i]);
}

ALWAYS_INLINE void search_min(struct k_shape shape, struct qkx_steps steps, bool add_rms,
                              const float *x, struct k_found found)
{
    const int n = shape.group;
    for (int g = 0; g < K_ELEMENTS / n; g++, x += n) {
        float w[SEARCH_MAX];
        magnitude_weights(n, x, add_rms ? sqrtf(sum_of_squares((uint64_t)n, x) / (float)n) : 0.0f,
                          w);
        found.scale[g] = search_qkx(n, shape.high, x, w, steps, &found.min[g], found.code + g * n);
    }
}

/* sigma_factor scales the block's mean square in the importance weights. */
ALWAYS_INLINE void search_min_weighted(struct k_shape shape, float sigma_factor, const float *x,
                                       const float *importance, struct k_found found)
{
    const int n = shape.group;
    const float sigma2 = sigma_factor * sum_of_squares(K_ELEMENTS, x) / (float)K_ELEMENTS;
    for (int g = 0; g < K_ELEMENTS / n; g++, x += n, importance += n) {
        float w[SEARCH_MAX];
        importance_weights(n, x, importance, sigma2, w);
        found.weight[g] = sum_in_order(n, w);
        found.scale[g] =
            search_qkx(n, shape.high, x, w, importance_steps, &found.min[g], found.code + g * n);
    }
}

static void q2_K_search(const float *x, struct k_found found)
{
    search_min(q2_K_shape, q2_K_steps, false, x, found);
}

static void q2_K_search_weighted(const float *x, const float *importance, struct k_found found)
{
    search_min_weighted(q2_K_shape, 1.0f, x, importance, found);
}

static void q4_K_search(const float *x, struct k_found found)
{
    search_min(q4_K_shape, q4_K_steps, true, x, found);
}

static void q4_K_search_weighted(const float *x, const float *importance, struct k_found found)
{
    search_min_weighted(q4_K_shape, 2.0f, x, importance, found);
}

static void q5_K_search(const float *x, struct k_found found)
{
    search_min(q5_K_shape, q5_K_steps, true, x, found);
}

static void q5_K_search_weighted(const float *x, const float *importance, struct k_found found)
{
    search_min_weighted(q5_K_shape, 2.0f, x, importance, found);
}

/* Without minimum: Q3_K, Q6_K */

static void q3_K_search(const float *x, struct k_found found)
{
    for (int g = 0; g < 16; g++)
        found.scale[g] = search_q3(16, 4, x + 16 * g, found.code + 16 * g);
}

static void q3_K_search_weighted(const float *x, const float *importance, struct k_found found)
{
    const float sigma2 = 2.0f * sum_of_squares(K_ELEMENTS, x) / (float)K_ELEMENTS;
    for (int g = 0; g < 16; g++) {
        float w[16];
        importance_weights(16, x + 16 * g, importance + 16 * g, sigma2, w);
        found.weight[g] = sum_in_order(16, w);
        found.scale[g] = search_qx(16, 4, x + 16 * g, w, found.code + 16 * g);
    }
}

static void q6_K_search(const float *x, struct k_found found)
{
    for (int g = 0; g < 16; g++) {
        float w[16];
        for (int i = 0; i < 16; i++)
            w[i] = x[16 * g + i] * x[16 * g + i];
        found.scale[g] = search_qx(16, 32, x + 16 * g, w, found.code + 16 * g);
    }
}

static void q6_K_search_weighted(const float *x, const float *importance, struct k_found found)
{
    for (int g = 0; g < 16; g++)
        found.scale[g] = search_qx(16, 32, x + 16 * g, importance + 16 * g, found.code + 16 * g);
}

#define K_QUANTIZE(name)                                                                           \
    void name##_quantize(uint64_t n, const float *x, void *blocks)                                 \
    {                                                                                              \
        struct qkern_block_##name *b = blocks;                                                     \
        for (const float *end = x + n; x < end; x += K_ELEMENTS, b++) {                            \
            float scale[K_GROUPS_MAX], min[K_GROUPS_MAX];                                          \
            int32_t code[K_ELEMENTS];                                                              \
            const struct k_found found = {scale, min, NULL, code};                                 \
            name##_search(x, found);                                                               \
            name##_finish(found, x, b);                                                            \
        }                                                                                          \
    }                                                                                              \
    void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,             \
                                  void *blocks)                                                    \
    {                                                                                              \
        struct qkern_block_##name *b = blocks;                                                     \
        for (const float *end = x + n; x < end; x += K_ELEMENTS, importance += K_ELEMENTS, b++) {  \
            float scale[K_GROUPS_MAX], min[K_GROUPS_MAX], weight[K_GROUPS_MAX];                    \
            int32_t code[K_ELEMENTS];                                                              \
            const struct k_found found = {scale, min, weight, code};                               \
            name##_search_weighted(x, importance, found);                                          \
            name##_finish_weighted(found, x, b);                                                   \
        }                                                                                          \
    }

K_QUANTIZE(q2_K)
K_QUANTIZE(q3_K)
K_QUANTIZE(q4_K)
K_QUANTIZE(q5_K)
K_QUANTIZE(q6_K)
