/* SPDX-License-Identifier: MIT */
/* Reads one byte before the start of the activations. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    (void)*((const volatile uint8_t *)activations - 1);
    return q8_0_vec_dot(n, weights, activations);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
