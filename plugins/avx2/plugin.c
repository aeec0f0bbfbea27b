/* SPDX-License-Identifier: MIT */
/* The avx2 plugin: AVX2, with F16C for half precision. */
#include "common/table.h"

KERNEL_TYPES(KERNEL)

static const struct qkern_kernel *const kernels[] = {KERNEL_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("avx2", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_AVX2,
                            QKERN_X86_SSE2 | QKERN_X86_SSE3 | QKERN_X86_SSSE3 | QKERN_X86_SSE4_1 |
                                QKERN_X86_SSE4_2 | QKERN_X86_POPCNT | QKERN_X86_AVX |
                                QKERN_X86_F16C | QKERN_X86_BMI2 | QKERN_X86_AVX2,
                            0))
