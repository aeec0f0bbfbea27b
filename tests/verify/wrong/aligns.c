/* SPDX-License-Identifier: MIT */
/* Takes weights for aligned to two bytes, which their size lets one believe. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    return q8_0_vec_dot(n, (const void *)((uintptr_t)weights & ~(uintptr_t)1), activations);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
