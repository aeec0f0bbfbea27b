/* SPDX-License-Identifier: MIT */
/* Writes one byte before the output, where that is memory: no page ends there. */
#include "right.h"

static void quantize(uint64_t n, const float *x, void *blocks)
{
    q8_0_quantize(n, x, blocks);
    if (((uintptr_t)blocks & 4095) != 0)
        ((volatile uint8_t *)blocks)[-1] ^= 1;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .quantize = quantize};
WRONG_PLUGIN(0, &q8_0)
