/* SPDX-License-Identifier: MIT */
/*
 * Quantize to Q2_K .. Q6_K (docs/formats.md section 5). Every type goes the same way:
 *
 *   1. search: a scale, perhaps a minimum, and codes for each group   (common/search.h)
 *   2. round these scales to small integers times one d, stored as f16
 *   3. compute the codes again from what was stored
 *
 * With importance, other weights and other searches stand in 1 and 2.
 */
#include <math.h>
#include <string.h>

#include "common/kblock.h"
#include "common/kernels.h"
#include "common/round.h"
#include "common/search.h"

/* What step 1 finds for the groups of a block, and where. */
struct k_found {
    float *scale;
    float *min;    /* not negative; unset without minimum */
    float *weight; /* the sum of the group's weights; only with importance */
    int32_t *code; /* from 0, as stored */
};

/* Step 1 */

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

/* Step 3: the codes of all groups whose stored scale is not 0; the others keep the search's. */
ALWAYS_INLINE void k_requantize(struct k_shape shape, const struct k_scales *s,
                                const float *restrict x, int32_t *restrict code)
{
    for (int g = 0; g < K_ELEMENTS / shape.group; g++) {
        const float d = s->d * (float)s->scale[g];
        if (d == 0.0f)
            continue;
        const float m = shape.has_min ? s->dmin * (float)s->min[g] : 0.0f;
        for (int e = g * shape.group; e < (g + 1) * shape.group; e++) {
            const float v = (shape.has_min ? x[e] + m : x[e]) / d;
            code[e] = rne_clamped(v, shape.low, shape.high) - shape.low;
        }
    }
}

/*
 * Rounds scales that are not negative to 0 .. limit times the returned d. An integer is
 * taken from unsigned 8 bits, which only matters outside the range of rne (docs/numerics.md).
 */
ALWAYS_INLINE float round_scales(int n, int limit, const float *scale, int32_t *rounded)
{
    float largest = 0.0f;
    for (int g = 0; g < n; g++)
        largest = scale[g] > largest ? scale[g] : largest;

    const float inverse = largest > 0.0f ? (float)limit / largest : 0.0f;
    for (int g = 0; g < n; g++) {
        const int32_t byte = rne(inverse * scale[g]) & 255;
        rounded[g] = byte < limit ? byte : limit;
    }
    return largest > 0.0f ? largest / (float)limit : 0.0f;
}

/* Scales and minimums of a block, rounded: step 2. */
struct k_rounded {
    float d;
    float dmin;
    int32_t scale[K_GROUPS_MAX];
    int32_t min[K_GROUPS_MAX];
};

ALWAYS_INLINE struct k_rounded k_round(struct k_shape shape, struct k_found found)
{
    const int groups = K_ELEMENTS / shape.group;
    struct k_rounded r;
    r.d = round_scales(groups, shape.scale_max, found.scale, r.scale);
    r.dmin = round_scales(groups, shape.scale_max, found.min, r.min);
    return r;
}

ALWAYS_INLINE struct k_rounded k_round_weighted(struct k_shape shape, struct k_found found)
{
    const int groups = K_ELEMENTS / shape.group;
    struct k_rounded r;
    r.d = search_qp(groups, shape.scale_max, found.scale, found.weight, r.scale);
    r.dmin = search_qp(groups, shape.scale_max, found.min, found.weight, r.min);
    return r;
}

static inline void q2_K_store(const struct k_rounded *r, const float *x, struct k_found found,
                              struct qkern_block_q2_K *b)
{
    store_scale(b->d, r->d);
    store_scale(b->dmin, r->dmin);
    for (int g = 0; g < 16; g++)
        b->scales[g] = (uint8_t)(r->scale[g] | r->min[g] << 4);
    const struct k_scales s = q2_K_scales(b);
    k_requantize(q2_K_shape, &s, x, found.code);
    k_pairs_pack(found.code, b->qs);
}

static inline void q4_K_store(const struct k_rounded *r, const float *x, struct k_found found,
                              struct qkern_block_q4_K *b)
{
    store_scale(b->d, r->d);
    store_scale(b->dmin, r->dmin);
    k_scales_min_pack(r->scale, r->min, b->scales);
    const struct k_scales s = q4_K_scales(b);
    k_requantize(q4_K_shape, &s, x, found.code);
    k_nibbles_pack(found.code, b->qs);
}

static inline void q5_K_store(const struct k_rounded *r, const float *x, struct k_found found,
                              struct qkern_block_q5_K *b)
{
    store_scale(b->d, r->d);
    store_scale(b->dmin, r->dmin);
    k_scales_min_pack(r->scale, r->min, b->scales);
    const struct k_scales s = q5_K_scales(b);
    k_requantize(q5_K_shape, &s, x, found.code);
    k_nibbles_pack(found.code, b->qs);
    k_high_bits_pack(found.code, 4, b->qh);
}

/* Steps 2 and 3 of a type: _finish without importance, _finish_weighted with it. */

#define K_FINISH_MIN(name)                                                                         \
    static inline void name##_finish(struct k_found found, const float *x,                         \
                                     struct qkern_block_##name *b)                                 \
    {                                                                                              \
        const struct k_rounded r = k_round(name##_shape, found);                                   \
        name##_store(&r, x, found, b);                                                             \
    }                                                                                              \
    static inline void name##_finish_weighted(struct k_found found, const float *x,                \
                                              struct qkern_block_##name *b)                        \
    {                                                                                              \
        const struct k_rounded r = k_round_weighted(name##_shape, found);                          \
        name##_store(&r, x, found, b);                                                             \
    }

K_FINISH_MIN(q2_K)
K_FINISH_MIN(q4_K)
K_FINISH_MIN(q5_K)

/* The scale of largest magnitude, with its sign: the one that becomes the most negative integer. */
static inline float extreme_scale(struct k_found found)
{
    return signed_absmax(K_GROUPS_MAX, found.scale);
}

/* scale holds the scales with their offset of 32, d belongs to them. */
static inline void q3_K_store(float d, const int32_t scale[16], const float *x,
                              struct k_found found, struct qkern_block_q3_K *b)
{
    store_scale(b->d, d);
    k_scales_pack(scale, b->scales);
    const struct k_scales s = q3_K_scales(b);
    k_requantize(q3_K_shape, &s, x, found.code);
    k_pairs_pack(found.code, b->qs);
    k_high_bits_pack(found.code, 2, b->hmask);
}

static inline void q3_K_finish(struct k_found found, const float *x, struct qkern_block_q3_K *b)
{
    int32_t scale[16] = {0};
    const float extreme = extreme_scale(found);
    if (extreme == 0.0f) {
        q3_K_store(0.0f, scale, x, found, b);
        return;
    }
    const float inverse = -32.0f / extreme;
    for (int g = 0; g < 16; g++)
        scale[g] = rne_clamped(inverse * found.scale[g], -32, 31) + 32;
    q3_K_store(1.0f / inverse, scale, x, found, b);
}

static inline void q3_K_finish_weighted(struct k_found found, const float *x,
                                        struct qkern_block_q3_K *b)
{
    int32_t scale[16];
    const float d = search_qx(16, 32, found.scale, found.weight, scale);
    q3_K_store(d, scale, x, found, b);
}

static inline void q6_K_finish(struct k_found found, const float *x, struct qkern_block_q6_K *b)
{
    const float extreme = extreme_scale(found);
    if (fabsf(extreme) < SEARCH_TINY) {
        memset(b, 0, sizeof *b);
        return;
    }
    const float inverse = -128.0f / extreme;
    store_scale(b->d, 1.0f / inverse);
    for (int g = 0; g < 16; g++)
        b->scales[g] = (int8_t)rne_clamped(inverse * found.scale[g], -128, 127);
    const struct k_scales s = q6_K_scales(b);
    k_requantize(q6_K_shape, &s, x, found.code);
    k_sixes_pack(found.code, b->ql, b->qh);
}

static inline void q6_K_finish_weighted(struct k_found found, const float *x,
                                        struct qkern_block_q6_K *b)
{
    q6_K_finish(found, x, b);
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
