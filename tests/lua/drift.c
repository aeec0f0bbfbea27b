/* SPDX-License-Identifier: MIT */
/*
 * A plugin that is wrong on purpose: the dot product of F32 is added from left to right, not in the
 * order of the contract. It has nothing else.
 */
#include <stddef.h>
#include <string.h>

#include <qkern/plugin.h>

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const uint8_t *w = weights;
    const uint8_t *a = activations;
    float sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        float wi, ai;
        memcpy(&wi, w + 4 * i, 4);
        memcpy(&ai, a + 4 * i, 4);
        sum += wi * ai;
    }
    return sum;
}

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), .vec_dot = vec_dot};

static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN(kernels, NULL, QKERN_MANIFEST("drift", "0.1.0", 0, QKERN_TIER_LIMIT - 1, 0, 0))
