/* SPDX-License-Identifier: MIT */
/*
 * The dotprod plugin: dot products by SDOT. All else would be the neon plugin's code: F32, F16 and
 * BF16, quantize and dequantize have no use for the instruction.
 */
#include "common/table.h"

INTEGER_DOT_TYPES(KERNEL_DOTS)

static const struct qkern_kernel *const kernels[] = {INTEGER_DOT_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("dotprod", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_DOTPROD,
                            QKERN_AARCH64_ASIMD | QKERN_AARCH64_DOTPROD, 0))
