/* SPDX-License-Identifier: MIT */
/* A plugin that calls what nobody has: the dynamic loader refuses it. */
#include "kernels.h"

extern void qkern_test_function_that_nobody_has(uint64_t n, const float *x, void *blocks);

static void quantize(uint64_t n, const float *x, void *blocks)
{
    qkern_test_function_that_nobody_has(n, x, blocks);
}

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), .quantize = quantize};
static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN(kernels, NULL, QKERN_MANIFEST("unresolved", "1.0", 0, LOW_TIER, LOW_FEATURE, 0))
