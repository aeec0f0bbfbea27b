/* SPDX-License-Identifier: MIT */
/*
 * The i8mm plugin: several rows at once by SMMLA, of the types of which that takes fewer
 * instructions than SDOT, Q2_K and Q3_K. With one row of activations half the products of an SMMLA
 * are of no use, so it has as many useful ones as an SDOT; what it saves is additions behind them,
 * and what it costs is that codes must be put together first. docs/performance.md counts both. So
 *
 *   Q6_K                           saves as much as it costs: eight bytes of 32 codes, not of 128
 *   Q4_K, Q5_K, Q4_0 .. Q8_0       have groups of 32, with fewer additions to save
 *
 * and USDOT saves nothing, for no unsigned code exceeds 127 where SDOT takes it. All other entries
 * would be the dotprod plugin's code, or neon's.
 */
#include "common/table.h"

#define KERNEL_ROWS(TYPE, name)                                                                    \
    static const struct qkern_kernel name = {QKERN_KERNEL_HEAD(TYPE),                              \
                                             .vec_dot_rows = name##_vec_dot_rows};

KERNEL_ROWS(Q2_K, q2_K)
KERNEL_ROWS(Q3_K, q3_K)

static const struct qkern_kernel *const kernels[] = {&q2_K, &q3_K};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("i8mm", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_I8MM,
                            QKERN_AARCH64_ASIMD | QKERN_AARCH64_DOTPROD | QKERN_AARCH64_I8MM, 0))
