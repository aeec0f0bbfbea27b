/* SPDX-License-Identifier: MIT */
/* vec_dot leaves MMX registers in use, dequantize the direction flag set. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const float v = q8_0_vec_dot(n, weights, activations);
    __asm__ volatile("pxor %%mm0, %%mm0" ::: "mm0");
    return v;
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    q8_0_dequantize(n, blocks, y);
    __asm__ volatile("std");
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .dequantize = dequantize,
                                         .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
