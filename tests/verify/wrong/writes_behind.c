/* SPDX-License-Identifier: MIT */
/* Writes one byte behind the end of the output; dequantize only from four blocks on. */
#include "right.h"

static void quantize(uint64_t n, const float *x, void *blocks)
{
    q8_0_quantize(n, x, blocks);
    *((volatile uint8_t *)blocks + n / 32 * 34) = 0;
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    q8_0_dequantize(n, blocks, y);
    if (n >= 128)
        *(volatile uint8_t *)(y + n) = 0;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .quantize = quantize,
                                         .dequantize = dequantize};
WRONG_PLUGIN(0, &q8_0)
