/* SPDX-License-Identifier: MIT */
/* A plugin that is wrong on purpose: its dot product of F32 ends the process that calls it. */
#include <stddef.h>

#include <qkern/plugin.h>

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    (void)weights;
    (void)activations;
    if (n > 0)
        __builtin_trap();
    return 0;
}

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), .vec_dot = vec_dot};

static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN(kernels, NULL, QKERN_MANIFEST("crashing", "0.1.0", 0, QKERN_TIER_SCALAR + 5, 0, 0))
