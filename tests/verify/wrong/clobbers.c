/* SPDX-License-Identifier: MIT */
/* Changes a callee-saved register without saving it; on Arm in dequantize a vector register. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const float v = q8_0_vec_dot(n, weights, activations);
    /* The compiler is not told. */
    ON_X86(__asm__ volatile("xorl %ebx, %ebx");)
    ON_ARM(__asm__ volatile("mov x19, #0");)
    return v;
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    q8_0_dequantize(n, blocks, y);
    ON_X86(__asm__ volatile("notq %r15");)
    ON_ARM(__asm__ volatile("fmov d11, xzr");)
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .dequantize = dequantize,
                                         .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
