/* SPDX-License-Identifier: MIT */
/*
 * A plugin of a later minor that still works with this one: larger structs, a type that we do not
 * know, an extension that we do not know, and more exported symbols than it should have.
 */
#include "kernels.h"

struct future_kernel {
    struct qkern_kernel known;
    void (*gemm)(void);
};

struct future_plugin {
    struct qkern_plugin known;
    const void *more;
};

/* Nobody may call this. */
static void crash(void)
{
    __builtin_trap();
}

static const void *future_extension(const char *id)
{
    (void)id;
    return "a table that nobody here knows";
}

static const struct future_kernel f32 = {{(uint32_t)sizeof(struct future_kernel), QKERN_TYPE_F32, 1,
                                          4, QKERN_TYPE_F32, 0, mark_quantize, mark_dequantize,
                                          mark_vec_dot, mark_quantize_weighted, mark_vec_dot_rows},
                                         crash};
static const struct future_kernel unknown = {{(uint32_t)sizeof(struct future_kernel), 4711, 77, 13,
                                              4712, 9, mark_quantize, mark_dequantize, mark_vec_dot,
                                              mark_quantize_weighted, mark_vec_dot_rows},
                                             crash};
static const struct qkern_kernel *const kernels[] = {&unknown.known, &f32.known, &unknown.known};

static const struct qkern_manifest manifest =
    QKERN_MANIFEST("future", "9.0", 0, HIGH_TIER, LOW_FEATURE, 0);
QKERN_PLUGIN_NOTE(QKERN_MANIFEST("future", "9.0", 0, HIGH_TIER, LOW_FEATURE, 0))
QKERN_PLUGIN_VISIBILITY extern const struct future_plugin qkern_plugin_v1;
const struct future_plugin qkern_plugin_v1 = {
    {(uint32_t)sizeof(struct future_plugin), 3, &manifest, kernels, future_extension}, &manifest};

QKERN_PLUGIN_VISIBILITY extern const int qkern_plugin_v2;
const int qkern_plugin_v2 = 2;
