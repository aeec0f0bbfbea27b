/* SPDX-License-Identifier: MIT */
/* A good plugin of a high tier that has only a vec_dot of F32: the others are NULL. */
#include "kernels.h"

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), .vec_dot = mark_vec_dot};
static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("partial", "1.0", 0, HIGH_TIER, LOW_FEATURE | HIGH_FEATURE, 0))
