/* SPDX-License-Identifier: MIT */
/* Of two groups of 32 each gets the other's scale. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q4_K *w = weights;
    const struct qkern_block_q8_K *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / K_ELEMENTS; u++) {
        const struct k_scales s = q4_K_scales(&w[u]);
        uint8_t code[K_ELEMENTS];
        int32_t sum = 0, min = 0;
        q4_K_codes(&w[u], code);
        for (int e = 0; e < K_ELEMENTS; e++)
            sum += s.scale[(e / 32) ^ 1] * code[e] * x[u].qs[e];
        for (int k = 0; k < 16; k++)
            min += s.min[k / 2] * load_i16(x[u].bsums[k]);
        p[u % STEP_PARTIALS] += step_k_minimum(s.d, load_f32(x[u].d), sum, s.dmin, min);
    }
    return partials_total(p);
}

static const struct qkern_kernel q4_K = {QKERN_KERNEL_HEAD(Q4_K), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q4_K)
