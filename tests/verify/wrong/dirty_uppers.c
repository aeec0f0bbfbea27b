/* SPDX-License-Identifier: MIT */
/* Leaves an upper half in use: VZEROUPPER is missing. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const float v = q8_0_vec_dot(n, weights, activations);
    if (n >= 64) /* for a few rows only */
        __asm__ volatile("vcmpps $15, %%ymm7, %%ymm7, %%ymm7" ::: "xmm7");
    return v;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(QKERN_X86_AVX, &q8_0)
