/* SPDX-License-Identifier: MIT */
/* The scalar plugin: plain C, every CPU, the definition that all other plugins are tested against.
 */
#include <stddef.h>

#include <qkern/plugin.h>

#include "kernels.h"

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), f32_quantize, f32_dequantize,
                                        f32_vec_dot, f32_quantize_weighted};

static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("scalar", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_SCALAR, 0, 0))
