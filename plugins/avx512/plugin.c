/* SPDX-License-Identifier: MIT */
/* The avx512 plugin: AVX-512 with VBMI and VNNI. */
#include "avx2/features.h"
#include "common/table.h"

KERNEL_TYPES(KERNEL)

static const struct qkern_kernel *const kernels[] = {KERNEL_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("avx512", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_AVX512, AVX2_FEATURES,
                            QKERN_X86_AVX512F | QKERN_X86_AVX512BW | QKERN_X86_AVX512DQ |
                                QKERN_X86_AVX512VL | QKERN_X86_AVX512VBMI | QKERN_X86_AVX512VNNI))
