/* SPDX-License-Identifier: MIT */
/*
 * The avxvnni plugin: dot products of bytes with the VNNI instructions of 256 bits. All else, the
 * dot products of F32, F16 and BF16 too, would be the avx2 plugin's code again, and is left to it.
 */
#include "avx2/features.h"
#include "common/table.h"

INTEGER_DOT_TYPES(KERNEL_DOTS)

static const struct qkern_kernel *const kernels[] = {INTEGER_DOT_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("avxvnni", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_AVXVNNI,
                            AVX2_FEATURES | QKERN_X86_AVX_VNNI, 0))
