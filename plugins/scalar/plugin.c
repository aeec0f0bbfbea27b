/* SPDX-License-Identifier: MIT */
/* The scalar plugin: plain C, every CPU, the definition that all other plugins are tested against.
 */
#include "common/table.h"

/* Several rows: one after the other. */
#define ROWS_HAS(name)                                                                             \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations)                         \
    {                                                                                              \
        const uint8_t *row = weights;                                                              \
        for (uint64_t r = 0; r < rows; r++)                                                        \
            out[r] = name##_vec_dot(n, row + r * row_stride, activations);                         \
    }
#define ROWS_LACKS(name)
#define ROWS(TYPE, name, IMPORTANCE, DOT) ROWS_##DOT(name)
KERNEL_TYPES(ROWS)

KERNEL_TYPES(KERNEL)

static const struct qkern_kernel *const kernels[] = {KERNEL_TYPES(KERNEL_POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("scalar", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_SCALAR, 0, 0))
