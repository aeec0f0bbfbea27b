/* SPDX-License-Identifier: MIT */
/* A plugin that leaves a mark in the file system as soon as it is mapped. */
#include <fcntl.h>
#include <unistd.h>

#include "kernels.h"

__attribute__((constructor)) static void leave_marker(void)
{
    close(open(PLUGIN_MARKER_FILE, O_CREAT | O_WRONLY, 0600));
}

static const struct qkern_kernel f32 = {QKERN_KERNEL_HEAD(F32), MARK_ENTRIES};
static const struct qkern_kernel *const kernels[] = {&f32};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("constructor", "1.0", 0, HIGH_TIER, LOW_FEATURE | HIGH_FEATURE, 0))
