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

#define VEC_DOT_HAS(name) name##_vec_dot
#define VEC_DOT_LACKS(name) NULL
#define KERNEL(TYPE, name, IMPORTANCE, DOT)                                                        \
    static const struct qkern_kernel name = {QKERN_KERNEL_HEAD(TYPE), name##_quantize,             \
                                             name##_dequantize, VEC_DOT_##DOT(name),               \
                                             name##_quantize_weighted};
SCALAR_TYPES(KERNEL)

#define POINTER(TYPE, name, IMPORTANCE, DOT) &name,
static const struct qkern_kernel *const kernels[] = {SCALAR_TYPES(POINTER)};

QKERN_PLUGIN(kernels, NULL,
             QKERN_MANIFEST("scalar", QKERN_PLUGIN_VERSION, 0, QKERN_TIER_SCALAR, 0, 0))
