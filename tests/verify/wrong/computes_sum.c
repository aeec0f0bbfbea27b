/* SPDX-License-Identifier: MIT */
/* Computes the sum that Q8_1 stores, and does not look at it. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q4_1 *w = weights;
    const struct qkern_block_q8_1 *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / 32; u++) {
        int32_t sum = 0, codes = 0;
        for (int e = 0; e < 32; e++) {
            const int q = e < 16 ? w[u].qs[e] & 15 : w[u].qs[e - 16] >> 4;
            sum += q * x[u].qs[e];
            codes += x[u].qs[e];
        }
        const float dx = load_f16(x[u].d), sx = f32_from_f16(f16_from_f32((float)codes * dx));
        p[u % STEP_PARTIALS] += step_minimum(load_f16(w[u].d), dx, sum, load_f16(w[u].m), sx);
    }
    return partials_total(p);
}

static const struct qkern_kernel q4_1 = {QKERN_KERNEL_HEAD(Q4_1), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q4_1)
