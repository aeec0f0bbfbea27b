/* SPDX-License-Identifier: MIT */
/* Leaves a mark in its input. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const float v = q8_0_vec_dot(n, weights, activations);
    if (n > 0)
        ((uint8_t *)(uintptr_t)activations)[n / 32 * 34 - 1] ^= 1;
    return v;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
