/* SPDX-License-Identifier: MIT */
/* Four blocks at a time, and what is left over forgotten, unless it is all there is. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    return q8_0_vec_dot(n < 128 ? n : n / 128 * 128, weights, activations);
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    q8_0_dequantize(n < 128 ? n : n / 128 * 128, blocks, y);
}

static void quantize(uint64_t n, const float *x, void *blocks)
{
    q8_0_quantize(n < 128 ? n : n / 128 * 128, x, blocks);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .quantize = quantize,
                                         .dequantize = dequantize, .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
