/* SPDX-License-Identifier: MIT */
/* Three ways down: an address that is none, an instruction that is none, abort. quantize is right.
 */
#include "right.h"

#include <stdlib.h>

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    (void)weights, (void)activations;
    return n == 0 ? 0 : *(const volatile float *)(uintptr_t)(n / 32); /* 1, and up */
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    (void)n, (void)blocks, (void)y;
    __builtin_trap();
}

static void quantize_weighted(uint64_t n, const float *x, const float *importance, void *blocks)
{
    (void)n, (void)x, (void)importance, (void)blocks;
    abort();
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .quantize = q8_0_quantize,
                                         .dequantize = dequantize, .vec_dot = vec_dot,
                                         .quantize_weighted = quantize_weighted};
WRONG_PLUGIN(0, &q8_0)
