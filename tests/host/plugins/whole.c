/* SPDX-License-Identifier: MIT */
/* A good plugin with all entry points of F32, for names, tiers and features given by the build. */
#include "kernels.h"

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), MARK_ENTRIES};
static const struct qkern_kernel *const kernels[] = {&f32};

#ifndef PLUGIN_MINOR
#define PLUGIN_MINOR 0
#endif
#ifndef PLUGIN_FEATURES1
#define PLUGIN_FEATURES1 0
#endif

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST(PLUGIN_NAME, "1.2", PLUGIN_MINOR, PLUGIN_TIER, PLUGIN_FEATURES,
                            PLUGIN_FEATURES1))
