/* SPDX-License-Identifier: MIT */
/* vec_dot does not return for three blocks; nor does dequantize, which waits instead. */
#include "right.h"

#include <unistd.h>

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    volatile uint64_t length = n;
    while (length == 96)
        continue;
    return q8_0_vec_dot(n, weights, activations);
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    if (n == 96)
        for (;;)
            pause();
    q8_0_dequantize(n, blocks, y);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .quantize = q8_0_quantize,
                                         .dequantize = dequantize, .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
