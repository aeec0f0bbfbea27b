/* SPDX-License-Identifier: MIT */
/*
 * A plugin from a later minor: each struct has grown, and there is an extension that nobody knows.
 * FUTURE_NAME, FUTURE_MAJOR, FUTURE_MINOR and FUTURE_FEATURES (of word 7) come from the build.
 */
#include <string.h>

#include <qkern/plugin.h>

struct future_manifest {
    struct qkern_manifest known;
    uint32_t unknown[16];
};

struct future_note {
    uint32_t name_size, desc_size, note_type;
    char owner[8];
    struct future_manifest manifest;
};

struct future_kernel {
    struct qkern_kernel known;
    const void *unknown[4];
};

struct future_plugin {
    struct qkern_plugin known;
    const void *unknown[4];
};

#define MANIFEST                                                                                   \
    {                                                                                              \
        {sizeof(struct future_manifest),                                                           \
         QKERN_MANIFEST_VERSION,                                                                   \
         FUTURE_MAJOR,                                                                             \
         FUTURE_MINOR,                                                                             \
         QKERN_ARCH_THIS,                                                                          \
         8 * sizeof(void *),                                                                       \
         60,                                                                                       \
         0,                                                                                        \
         {0, 0, 0, 0, 0, 0, 0, FUTURE_FEATURES},                                                   \
         FUTURE_NAME,                                                                              \
         "9.0"},                                                                                   \
        {                                                                                          \
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16                                  \
        }                                                                                          \
    }

static const struct future_note note QKERN_NOTE_ATTRIBUTES = {
    6, sizeof(struct future_manifest), QKERN_NOTE_TYPE, QKERN_NOTE_OWNER, MANIFEST};

static const struct future_manifest manifest = MANIFEST;

static void f32_dequantize(uint64_t n, const void *blocks, float *y)
{
    memcpy(y, blocks, n * sizeof *y);
}

/* What a later minor appends is no pointer that this one may follow. */
#define UNKNOWN                                                                                    \
    {                                                                                              \
        (const void *)1, (const void *)3, (const void *)5, (const void *)7                         \
    }

static const struct future_kernel f32 = {{sizeof(struct future_kernel), QKERN_TYPE_F32, 1, 4,
                                          QKERN_TYPE_F32, 0, NULL, f32_dequantize, NULL, NULL,
                                          NULL},
                                         UNKNOWN};

static const struct qkern_kernel *const kernels[] = {&f32.known};

static const void *get_extension(const char *id)
{
    static const uint32_t extension[2] = {sizeof extension, 7};

    return strcmp(id, "qkern.unheard-of/7") == 0 ? extension : NULL;
}

extern const struct future_plugin qkern_plugin_v1;
__attribute__((visibility("default"))) const struct future_plugin qkern_plugin_v1 = {
    {sizeof(struct future_plugin), 1, &manifest.known, kernels, get_extension}, UNKNOWN};
