/* SPDX-License-Identifier: MIT */
/*
 * Quantize to Q2_K .. Q6_K with one group in each lane, over the primitives of the including
 * plugin's vec.h. What follows the search is in kquantize.h.
 */
#ifndef QKERN_COMMON_LANES_KQUANTIZE_H
#define QKERN_COMMON_LANES_KQUANTIZE_H

#include "kquantize.h"
#include "lanes_search.h"

/* So many blocks are searched together that their groups fill the lanes of TURNS vectors. */
#define BATCH_BLOCKS(group)                                                                        \
    (TURNS * LANES * (group) > K_ELEMENTS ? TURNS * LANES * (group) / K_ELEMENTS : 1)
#define BATCH_BLOCKS_MAX BATCH_BLOCKS(SEARCH_MAX)

struct lanes_found {
    float scale[BATCH_BLOCKS_MAX * K_GROUPS_MAX];
    float min[BATCH_BLOCKS_MAX * K_GROUPS_MAX];
    float weight[BATCH_BLOCKS_MAX * K_GROUPS_MAX];
    int32_t code[BATCH_BLOCKS_MAX * K_ELEMENTS];
};

/* Elements of LANES groups of n, which stand one after the other, to out[...][t]. */
ALWAYS_INLINE void lanes_load(int n, const float *x, int t, lanes_group *out)
{
    for (int i = 0; i < n; i += LANES) {
        vf v[LANES];
        for (int g = 0; g < LANES; g++)
            v[g] = vf_load(x + g * n + i);
        vf_transpose(v);
        for (int g = 0; g < LANES; g++)
            out[i + g][t] = v[g];
    }
}

/* The way back, for codes. */
ALWAYS_INLINE void lanes_store_codes(int n, const lanes_group *L, int t, int32_t *code)
{
    for (int i = 0; i < n; i += LANES) {
        vf v[LANES];
        for (int g = 0; g < LANES; g++)
            v[g] = L[i + g][t];
        vf_transpose(v);
        for (int g = 0; g < LANES; g++)
            vi_store(code + g * n + i, vi_from_f32(v[g]));
    }
}

/* With minimum: Q2_K, Q4_K, Q5_K */

ALWAYS_INLINE void lanes_search_min(int turns, struct k_shape shape, struct qkx_steps steps,
                                    bool add_rms, const float *x, struct lanes_found *found)
{
    const int n = shape.group;
    lanes_group v[SEARCH_MAX], w[SEARCH_MAX], L[SEARCH_MAX];
    vf scale[TURNS], min[TURNS];
    for (int t = 0; t < turns; t++) {
        lanes_load(n, x + t * LANES * n, t, v);
        vf base = vf_set(0.0f);
        if (add_rms) {
            for (int i = 0; i < n; i++)
                base = base + v[i][t] * v[i][t];
            base = vf_sqrt(base / vf_set((float)n));
        }
        for (int i = 0; i < n; i++)
            w[i][t] = base + vf_abs(v[i][t]);
    }
    lanes_qkx(turns, n, shape.high, v, w, steps, L, scale, min);
    for (int t = 0; t < turns; t++) {
        vf_store(found->scale + t * LANES, scale[t]);
        vf_store(found->min + t * LANES, min[t]);
        lanes_store_codes(n, L, t, found->code + t * LANES * n);
    }
}

static void q2_K_lanes_search(int turns, const float *x, struct lanes_found *found)
{
    lanes_search_min(turns, q2_K_shape, q2_K_steps, false, x, found);
}

static void q4_K_lanes_search(int turns, const float *x, struct lanes_found *found)
{
    lanes_search_min(turns, q4_K_shape, q4_K_steps, true, x, found);
}

static void q5_K_lanes_search(int turns, const float *x, struct lanes_found *found)
{
    lanes_search_min(turns, q5_K_shape, q5_K_steps, true, x, found);
}

static void q3_K_lanes_search(int turns, const float *x, struct lanes_found *found)
{
    lanes_group v[16], L[16];
    vf scale[TURNS];
    for (int t = 0; t < turns; t++)
        lanes_load(16, x + t * LANES * 16, t, v);
    lanes_q3(turns, 16, 4, v, L, scale);
    for (int t = 0; t < turns; t++) {
        vf_store(found->scale + t * LANES, scale[t]);
        lanes_store_codes(16, L, t, found->code + t * LANES * 16);
    }
}

static void q6_K_lanes_search(int turns, const float *x, struct lanes_found *found)
{
    lanes_group v[16], w[16], L[16];
    vf scale[TURNS];
    for (int t = 0; t < turns; t++) {
        lanes_load(16, x + t * LANES * 16, t, v);
        for (int i = 0; i < 16; i++)
            w[i][t] = v[i][t] * v[i][t];
    }
    lanes_qx(turns, 16, 32, v, w, L, scale);
    for (int t = 0; t < turns; t++) {
        vf_store(found->scale + t * LANES, scale[t]);
        lanes_store_codes(16, L, t, found->code + t * LANES * 16);
    }
}

#define LANES_K_QUANTIZE(name, GROUP)                                                              \
    void name##_quantize(uint64_t n, const float *x, void *blocks)                                 \
    {                                                                                              \
        enum {                                                                                     \
            GROUPS = K_ELEMENTS / GROUP,                                                           \
            STEP = TURNS * LANES > GROUPS ? TURNS * LANES : GROUPS                                 \
        };                                                                                         \
        struct qkern_block_##name *b = blocks;                                                     \
        uint64_t left = n / K_ELEMENTS;                                                            \
        while (left > 0) {                                                                         \
            struct lanes_found found;                                                              \
            float padded[STEP * GROUP];                                                            \
            const float *v = x;                                                                    \
            const uint64_t take = left < STEP / GROUPS ? left : STEP / GROUPS;                     \
            if (take < STEP / GROUPS) {                                                            \
                memset(padded, 0, sizeof padded);                                                  \
                memcpy(padded, x, take *K_ELEMENTS * sizeof *x);                                   \
                v = padded;                                                                        \
            }                                                                                      \
            for (int g = 0; g < STEP; g += TURNS * LANES) {                                        \
                struct lanes_found part;                                                           \
                name##_lanes_search(TURNS, v + g * GROUP, &part);                                  \
                memcpy(found.scale + g, part.scale, TURNS * LANES * sizeof(float));                \
                memcpy(found.min + g, part.min, TURNS * LANES * sizeof(float));                    \
                memcpy(found.code + g * GROUP, part.code,                                          \
                       TURNS * LANES * GROUP * sizeof(int32_t));                                   \
            }                                                                                      \
            for (uint64_t k = 0; k < take; k++, left--, x += K_ELEMENTS, b++) {                    \
                const struct k_found block = {found.scale + k * GROUPS, found.min + k * GROUPS,    \
                                              NULL, found.code + k * K_ELEMENTS};                  \
                name##_finish(block, x, b);                                                        \
            }                                                                                      \
        }                                                                                          \
    }

LANES_K_QUANTIZE(q2_K, 16)
LANES_K_QUANTIZE(q3_K, 16)
LANES_K_QUANTIZE(q4_K, 32)
LANES_K_QUANTIZE(q5_K, 32)
LANES_K_QUANTIZE(q6_K, 16)
#endif
