/* SPDX-License-Identifier: MIT */
/*
 * A plugin with a valid manifest and pointers that the build leads astray, one at a time: an
 * author's mistake, or damage. None may be followed.
 */
#include "kernels.h"

#define NOWHERE (const void *)(uintptr_t)0x10000
#define LAST (const void *)(uintptr_t)-8     /* so high that adding a size wraps */
#define MISALIGNED (const void *)(bytes + 1) /* memory of the plugin */
#define CODE_NOWHERE (void (*)(void))(uintptr_t) 0x10000
#define CODE_IN_DATA (void (*)(void))(uintptr_t) & data
#define CODE_ELSEWHERE (void (*)(void)) abort

#ifndef WILD_MANIFEST
#define WILD_MANIFEST &manifest
#endif
#ifndef WILD_KERNELS
#define WILD_KERNELS kernels
#endif
#ifndef WILD_COUNT
#define WILD_COUNT 1
#endif
#ifndef WILD_KERNEL
#define WILD_KERNEL &f32
#endif
#ifndef WILD_FUNCTION
#define WILD_FUNCTION NULL
#endif
#ifndef WILD_EXTENSION
#define WILD_EXTENSION NULL
#endif

void abort(void);

/* All bits set, so that any struct_size here is large enough. */
__attribute__((unused)) static const _Alignas(8) unsigned char bytes[256] = {255, 255, 255, 255,
                                                                             255, 255, 255, 255};

/* Writable: what is only read may share a segment with the code. */
__attribute__((unused)) static int data = 1;

__attribute__((unused)) static const struct qkern_kernel f32 = {
    QKERN_KERNEL_HEAD(F32), .quantize = mark_quantize, .dequantize = mark_dequantize,
    .vec_dot = (qkern_vec_dot_fn)WILD_FUNCTION, .quantize_weighted = mark_quantize_weighted};
__attribute__((unused)) static const struct qkern_kernel *const kernels[] = {WILD_KERNEL};

QKERN_PLUGIN_NOTE(QKERN_MANIFEST("wild", "1.0", 0, HIGH_TIER, LOW_FEATURE, 0))
__attribute__((unused)) static const struct qkern_manifest manifest =
    QKERN_MANIFEST("wild", "1.0", 0, HIGH_TIER, LOW_FEATURE, 0);
QKERN_PLUGIN_VISIBILITY const struct qkern_plugin QKERN_PLUGIN_ENTRY = {
    (uint32_t)sizeof(struct qkern_plugin), WILD_COUNT, WILD_MANIFEST, WILD_KERNELS,
    (qkern_get_extension_fn)WILD_EXTENSION};
