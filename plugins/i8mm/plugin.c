/* SPDX-License-Identifier: MIT */
/*
 * The i8mm plugin: several rows at once by SMMLA, of the types of which that takes fewer
 * instructions than SDOT. docs/performance.md has the counts, and why it does not for the others:
 * with one row of activations an SMMLA has as many useful products as an SDOT, and codes in groups
 * of 32 must be put together as often as additions are saved. All other entries would be the
 * dotprod plugin's code, or neon's.
 */
#include "common/table.h"

#define KERNEL_ROWS(TYPE, name)                                                                    \
    static const struct qkern_kernel name = {QKERN_KERNEL_HEAD(TYPE),                              \
                                             .vec_dot_rows = name##_vec_dot_rows};

KERNEL_ROWS(Q2_K, q2_K)
KERNEL_ROWS(Q3_K, q3_K)
KERNEL_ROWS(Q6_K, q6_K)

static const struct qkern_kernel *const kernels[] = {&q2_K, &q3_K, &q6_K};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("i8mm", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_I8MM,
                            QKERN_AARCH64_ASIMD | QKERN_AARCH64_DOTPROD | QKERN_AARCH64_I8MM, 0))
