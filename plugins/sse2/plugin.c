/* SPDX-License-Identifier: MIT */
/* The sse2 plugin: SSE2, which every x86-64 CPU has. */
#include "common/table.h"

KERNEL_TYPES(KERNEL)

static const struct qkern_kernel *const kernels[] = {KERNEL_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("sse2", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_SSE2, QKERN_X86_SSE2, 0))
