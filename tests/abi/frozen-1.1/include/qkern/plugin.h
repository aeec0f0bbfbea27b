/* SPDX-License-Identifier: MIT */
/*
 * A plugin: what one shared object exports, and the macro that writes it.
 *
 * A plugin exports exactly one symbol, the constant object `qkern_plugin_v1`. A host reads the
 * manifest from the file first (manifest.h) and maps the file only if its needs are met. After
 * loading it compares `manifest` with what it read, then reads `kernels`. No function of a plugin
 * is called before that.
 */
#ifndef QKERN_PLUGIN_H
#define QKERN_PLUGIN_H

#include <stdint.h>

#include "kernel.h"
#include "manifest.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Looks up an optional table by its id, "qkern.NAME/REVISION". Returns NULL for an id that the
 * plugin does not know. The result is constant, valid while the plugin is loaded, and starts with
 * uint32_t struct_size. Ids are never renamed or given another meaning. Pure, as kernels are.
 */
typedef const void *(*qkern_get_extension_fn)(const char *id);

/*
 * The entry. A field counts only if struct_size covers it and it is not NULL or 0; the fields up to
 * kernels are mandatory. Fields are only ever appended.
 */
struct qkern_plugin {
    uint32_t struct_size; /* sizeof(struct qkern_plugin) as compiled */
    uint32_t kernel_count;
    const struct qkern_manifest *manifest; /* equal to the one in the file */
    const struct qkern_kernel *const
        *kernels; /* kernel_count pointers, one kernel a type; none is NULL */
    qkern_get_extension_fn get_extension; /* may be NULL */
};

/* The part of struct qkern_plugin that must be there. */
#define QKERN_PLUGIN_SIZE_MIN (8u + 2u * (uint32_t)sizeof(void *))

/* The symbol. Another name may be given when plugins are linked statically. */
#ifndef QKERN_PLUGIN_ENTRY
#define QKERN_PLUGIN_ENTRY qkern_plugin_v1
#endif
#define QKERN_PLUGIN_ENTRY_NAME "qkern_plugin_v1"

/* The manifest's place in the file. AddressSanitizer of clang would align and pad it, which no
 * reader of notes would understand. */
#if defined(__clang__)
#define QKERN_NOTE_UNPADDED __attribute__((no_sanitize("address")))
#else
#define QKERN_NOTE_UNPADDED
#endif
#if defined(__APPLE__)
#define QKERN_NOTE_ATTRIBUTES                                                                      \
    QKERN_NOTE_UNPADDED __attribute__((used, section("__TEXT,__qkern"), aligned(4)))
#else
#define QKERN_NOTE_ATTRIBUTES                                                                      \
    QKERN_NOTE_UNPADDED __attribute__((used, section(".note.qkern"), aligned(4)))
#endif

/*
 * QKERN_MANIFEST(name, version, minor needed, tier, features of word 0, features of word 1): the
 * value of a struct qkern_manifest. Name and version are string literals of at most 31 characters.
 */
#define QKERN_MANIFEST(NAME, VERSION, MINOR_NEEDED, TIER, FEATURES0, FEATURES1)                    \
    {                                                                                              \
        (uint32_t)sizeof(struct qkern_manifest), QKERN_MANIFEST_VERSION, QKERN_ABI_MAJOR,          \
            (MINOR_NEEDED), QKERN_ARCH_THIS, (uint32_t)(8 * sizeof(void *)), (TIER), 0,            \
            {(FEATURES0), (FEATURES1), 0, 0, 0, 0, 0, 0}, NAME, VERSION                            \
    }

/*
 * Defines a plugin, once in one of its files, at file scope:
 *
 *   static const struct qkern_kernel *const kernels[] = {&q4_0, &q8_0};
 *   QKERN_PLUGIN(kernels, NULL, QKERN_MANIFEST("name", "1.0", 0, QKERN_TIER_AVX2, QKERN_X86_AVX2,
 * 0))
 *
 * Manifest and entry are written from the same arguments. With QKERN_PLUGIN_STATIC defined there is
 * no manifest in the file and the symbol is hidden: for plugins linked into a host (define
 * QKERN_PLUGIN_ENTRY too, so that several can be).
 */
#define QKERN_PLUGIN(KERNELS, GET_EXTENSION, ...)                                                  \
    QKERN_PLUGIN_NOTE(__VA_ARGS__)                                                                 \
    static const struct qkern_manifest qkern_plugin_manifest = __VA_ARGS__;                        \
    QKERN_PLUGIN_LINKAGE const struct qkern_plugin QKERN_PLUGIN_ENTRY = {                          \
        (uint32_t)sizeof(struct qkern_plugin), (uint32_t)(sizeof(KERNELS) / sizeof((KERNELS)[0])), \
        &qkern_plugin_manifest, (KERNELS), (GET_EXTENSION)};

#if defined(QKERN_PLUGIN_STATIC)
#define QKERN_PLUGIN_NOTE(...)
#define QKERN_PLUGIN_VISIBILITY __attribute__((visibility("hidden")))
#elif defined(__APPLE__)
#define QKERN_PLUGIN_NOTE(...)                                                                     \
    static const struct qkern_manifest qkern_plugin_note QKERN_NOTE_ATTRIBUTES = __VA_ARGS__;
#define QKERN_PLUGIN_VISIBILITY __attribute__((visibility("default")))
#else
#define QKERN_PLUGIN_NOTE(...)                                                                     \
    static const struct qkern_note qkern_plugin_note QKERN_NOTE_ATTRIBUTES = {                     \
        6, (uint32_t)sizeof(struct qkern_manifest), QKERN_NOTE_TYPE, QKERN_NOTE_OWNER,             \
        __VA_ARGS__};
#define QKERN_PLUGIN_VISIBILITY __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
}
#define QKERN_PLUGIN_LINKAGE extern "C" QKERN_PLUGIN_VISIBILITY
#else
#define QKERN_PLUGIN_LINKAGE QKERN_PLUGIN_VISIBILITY
#endif

#endif
