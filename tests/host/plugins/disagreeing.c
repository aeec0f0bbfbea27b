/* SPDX-License-Identifier: MIT */
/* A plugin whose manifest in the file asks for less than the one in its entry. */
#include "kernels.h"

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), MARK_ENTRIES};
static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN_NOTE(QKERN_MANIFEST("disagreeing", "1.0", 0, HIGH_TIER, LOW_FEATURE, 0))
static const struct qkern_manifest other =
    QKERN_MANIFEST("disagreeing", "1.0", 0, HIGH_TIER, LOW_FEATURE | HIGH_FEATURE, 0);
QKERN_PLUGIN_VISIBILITY const struct qkern_plugin QKERN_PLUGIN_ENTRY = {
    (uint32_t)sizeof(struct qkern_plugin), 1, &other, kernels, NULL};
