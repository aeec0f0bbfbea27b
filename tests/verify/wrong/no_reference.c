/* SPDX-License-Identifier: MIT */
/* A kernel of a type that there is no scalar kernel of, which cannot be judged. */
#include "right.h"

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    (void)blocks;
    memset(y, 0, n * sizeof *y);
}

static const struct qkern_kernel iq4_nl = {QKERN_KERNEL_HEAD(IQ4_NL), .dequantize = dequantize};
static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .dequantize = q8_0_dequantize};
WRONG_PLUGIN(0, &iq4_nl, &q8_0)
