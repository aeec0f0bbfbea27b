/* SPDX-License-Identifier: MIT */
/* The scalar plugin: plain C, every CPU, the definition that all other plugins are tested against.
 */
#include <stddef.h>

#include <qkern/plugin.h>

#include "kernels.h"

/* Importance has no use for these formats: they write what quantize writes. */
#define WRAP_USES(name)
#define WRAP_IGNORES(name)                                                                         \
    static void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,      \
                                         void *blocks)                                             \
    {                                                                                              \
        (void)importance;                                                                          \
        name##_quantize(n, x, blocks);                                                             \
    }
#define WRAP(TYPE, name, IMPORTANCE, DOT) WRAP_##IMPORTANCE(name)
SCALAR_TYPES(WRAP)

/* Several rows: one after the other. */
#define ROWS_HAS(name)                                                                             \
    static void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,    \
                                    uint64_t row_stride, const void *activations)                  \
    {                                                                                              \
        const uint8_t *row = weights;                                                              \
        for (uint64_t r = 0; r < rows; r++)                                                        \
            out[r] = name##_vec_dot(n, row + r * row_stride, activations);                         \
    }
#define ROWS_LACKS(name)
#define ROWS(TYPE, name, IMPORTANCE, DOT) ROWS_##DOT(name)
SCALAR_TYPES(ROWS)

#define VEC_DOT_ROWS_HAS(name) name##_vec_dot_rows
#define VEC_DOT_ROWS_LACKS(name) NULL
#define VEC_DOT_HAS(name) name##_vec_dot
#define VEC_DOT_LACKS(name) NULL
#define KERNEL(TYPE, name, IMPORTANCE, DOT)                                                        \
    static const struct qkern_kernel name = {QKERN_KERNEL_HEAD(TYPE),                              \
                                             .quantize = name##_quantize,                          \
                                             .dequantize = name##_dequantize,                      \
                                             .vec_dot = VEC_DOT_##DOT(name),                       \
                                             .quantize_weighted = name##_quantize_weighted,        \
                                             .vec_dot_rows = VEC_DOT_ROWS_##DOT(name)};
SCALAR_TYPES(KERNEL)

#define POINTER(TYPE, name, IMPORTANCE, DOT) &name,
static const struct qkern_kernel *const kernels[] = {SCALAR_TYPES(POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("scalar", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_SCALAR, 0, 0))
