/* SPDX-License-Identifier: MIT */
/* Units are added one after the other. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const block_q8_0 *w = weights, *x = activations;
    float sum = 0;

    for (uint64_t u = 0; u < n / 32; u++)
        sum += step_scale(load_f16(w[u].d), load_f16(x[u].d), right_sum(&w[u], &x[u]));
    return sum;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
