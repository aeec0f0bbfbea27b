/* SPDX-License-Identifier: MIT */
/* vec_dot uses 65 KiB of stack; dequantize uses little, but writes to its caller's. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    volatile uint8_t scratch[65 << 10];
    for (size_t i = 0; i < sizeof scratch; i++)
        scratch[i] = 1;
    return q8_0_vec_dot(n, weights, activations);
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    uint8_t *frame = __builtin_frame_address(0);
    q8_0_dequantize(n, blocks, y);
    *(volatile uint8_t *)(frame + 64) = 1; /* above the return address and what was saved */
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .dequantize = dequantize,
                                         .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
