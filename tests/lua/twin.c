/* SPDX-License-Identifier: MIT */
/* A plugin that is right: the dot product of F32 in the order of the contract, and nothing else. */
#include <stddef.h>
#include <string.h>

#include <qkern/plugin.h>

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const uint8_t *w = weights;
    const uint8_t *a = activations;
    float p[16] = {0};

    for (uint64_t i = 0; i < n; i++) {
        float wi, ai;
        memcpy(&wi, w + 4 * i, 4);
        memcpy(&ai, a + 4 * i, 4);
        p[i % 16] += wi * ai;
    }
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            p[i] += p[i + half];
    return p[0];
}

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), .vec_dot = vec_dot};

static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN(kernels, NULL, QKERN_MANIFEST("twin", "0.1.0", 0, QKERN_TIER_SCALAR + 10, 0, 0))
