/* SPDX-License-Identifier: MIT */
/*
 * The avxvnni plugin: dot products of bytes with the VNNI instructions of 256 bits. All else, the
 * dot products of F32, F16 and BF16 too, would be the avx2 plugin's code again, and is left to it.
 */
#include "common/table.h"

INTEGER_DOT_TYPES(KERNEL_DOTS)

static const struct qkern_kernel *const kernels[] = {INTEGER_DOT_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("avxvnni", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_AVXVNNI,
                            QKERN_X86_SSE2 | QKERN_X86_SSE3 | QKERN_X86_SSSE3 | QKERN_X86_SSE4_1 |
                                QKERN_X86_SSE4_2 | QKERN_X86_POPCNT | QKERN_X86_AVX |
                                QKERN_X86_F16C | QKERN_X86_BMI2 | QKERN_X86_AVX2 |
                                QKERN_X86_AVX_VNNI,
                            0))
