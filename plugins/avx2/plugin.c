/* SPDX-License-Identifier: MIT */
/* The avx2 plugin: AVX2, with F16C for half precision. */
#include "common/table.h"
#include "features.h"

KERNEL_TYPES(KERNEL)

static const struct qkern_kernel *const kernels[] = {KERNEL_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("avx2", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_AVX2, AVX2_FEATURES, 0))
