/* SPDX-License-Identifier: MIT */
/* The neon plugin: NEON, which every AArch64 CPU has. */
#include "common/table.h"

KERNEL_TYPES(KERNEL)

static const struct qkern_kernel *const kernels[] = {KERNEL_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("neon", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_NEON, QKERN_AARCH64_ASIMD,
                            0))
