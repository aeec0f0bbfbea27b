/* SPDX-License-Identifier: MIT */
/* Multiplies the scales in f16, where small ones become 0. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const block_q8_0 *w = weights, *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / 32; u++) {
        const float d = f32_from_f16(f16_from_f32(load_f16(w[u].d) * load_f16(x[u].d)));
        p[u % STEP_PARTIALS] += d * (float)right_sum(&w[u], &x[u]);
    }
    return partials_total(p);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
