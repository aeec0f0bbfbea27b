/* SPDX-License-Identifier: MIT */
/* vec_dot is wrong in every seventh call, dequantize from the hundredth on. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    static int calls;
    return q8_0_vec_dot(n, weights, activations) + (++calls % 7 == 0 ? 1.0f : 0.0f);
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    static int calls;
    q8_0_dequantize(n, blocks, y);
    if (++calls >= 100 && n > 0)
        y[0] += 1.0f;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .dequantize = dequantize,
                                         .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
