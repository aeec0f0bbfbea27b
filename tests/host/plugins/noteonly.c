/* SPDX-License-Identifier: MIT */
/*
 * A file with a manifest, but no entry of its own. Built alone, it exports none; built against
 * another plugin, looking the entry up finds the other's.
 */
#include "kernels.h"

QKERN_PLUGIN_NOTE(QKERN_MANIFEST(PLUGIN_NAME, "1.0", 0, LOW_TIER, LOW_FEATURE, 0))
