/* SPDX-License-Identifier: MIT */
/* vec_dot of the K types: unit u is block u. */
#include "common/bytes.h"
#include "common/kblock.h"
#include "common/kernels.h"
#include "common/step.h"

ALWAYS_INLINE float k_unit(struct k_shape shape, const struct k_scales *s, const uint8_t *code,
                           const struct qkern_block_q8_K *x)
{
    int32_t sum = 0; /* 256 * 128 * 32 * 128 at most (Q6_K) */
    int32_t min = 0; /* 16 * 63 * 32768 at most */

    for (int g = 0; g < K_ELEMENTS / shape.group; g++) {
        int32_t group = 0;
        for (int e = g * shape.group; e < (g + 1) * shape.group; e++)
            group += (code[e] + shape.low) * x->qs[e];
        sum += s->scale[g] * group;
    }
    if (!shape.has_min)
        return step_scale(s->d, load_f32(x->d), sum);

    for (int k = 0; k < K_ELEMENTS / 16; k++)
        min += s->min[k / (shape.group / 16)] * load_i16(x->bsums[k]);
    return step_k_minimum(s->d, load_f32(x->d), sum, s->dmin, min);
}

#define K_VEC_DOT(name)                                                                            \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations)                 \
    {                                                                                              \
        const struct qkern_block_##name *w = weights;                                              \
        const struct qkern_block_q8_K *x = activations;                                            \
        float p[STEP_PARTIALS] = {0};                                                              \
        for (uint64_t u = 0; u < n / K_ELEMENTS; u++) {                                            \
            const struct k_scales s = name##_scales(&w[u]);                                        \
            uint8_t code[K_ELEMENTS];                                                              \
            name##_codes(&w[u], code);                                                             \
            p[u % STEP_PARTIALS] += k_unit(name##_shape, &s, code, &x[u]);                         \
        }                                                                                          \
        return partials_total(p);                                                                  \
    }

K_VEC_DOT(q2_K)
K_VEC_DOT(q3_K)
K_VEC_DOT(q4_K)
K_VEC_DOT(q5_K)
K_VEC_DOT(q6_K)
