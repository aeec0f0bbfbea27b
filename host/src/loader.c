/* SPDX-License-Identifier: MIT */
/* The steps of trying a plugin. */
#include "loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "image.h"
#include "manifest.h"
#include "manifest_format.h"
#include "permission.h"
#include "plugin.h"

struct attempt {
    const struct loader *loader;
    struct record *record;
    int descriptor; /* -1 if there is none */
    int open_errno;
    bool built_in;
    struct manifest_file file;
    struct image image;         /* what was loaded from the file */
    const struct image *within; /* that, or NULL for a plugin that is linked in */
    const struct qkern_plugin *entry;
    struct plugin *plugin;
};

/* --- open: is it a file that only its owner can change? --------------------------------------- */

static const char *kind_of_file(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static qkern_status step_open(struct attempt *attempt, struct finding *finding)
{
    struct stat info;

    if (attempt->descriptor < 0 && attempt->open_errno == ENOENT)
        return finding_set(finding, QKERN_E_NOT_FOUND,
                           "there is no such file, or it is a symbolic link to nothing");
    if (attempt->descriptor < 0)
        return finding_set(finding, QKERN_E_IO, "cannot open: %s", strerror(attempt->open_errno));
    if (fstat(attempt->descriptor, &info) != 0)
        return finding_set(finding, QKERN_E_IO, "cannot inspect: %s", strerror(errno));
    if (!S_ISREG(info.st_mode)) {
        finding_set(finding, QKERN_E_FORMAT, "is not a file");
        return finding_compare(finding, "a regular file", kind_of_file(info.st_mode));
    }
    return permission_check(&info, "file", attempt->record->path, finding);
}

/* --- manifest: what does it say it needs? ----------------------------------------------------- */

static qkern_status step_manifest(struct attempt *attempt, struct finding *finding)
{
    qkern_status status = manifest_read(attempt->descriptor, attempt->loader->features->arch,
                                        &attempt->file, finding);
    if (status != QKERN_OK)
        return status;
    memcpy(attempt->record->build_id, attempt->file.build_id, sizeof attempt->record->build_id);
    return QKERN_OK;
}

/* A linked-in plugin has its manifest in memory, where it is judged as one in a file is. */
static qkern_status step_static_manifest(struct attempt *attempt, struct finding *finding)
{
    qkern_status status = plugin_entry_check(attempt->entry, NULL, finding);
    if (status != QKERN_OK)
        return status;
    const struct qkern_manifest *manifest = attempt->entry->manifest;
    const struct bytes bytes = {
        .memory = (const void *)manifest, .descriptor = -1, .size = manifest->struct_size};
    return manifest_judge(&bytes, attempt->loader->features->arch, &attempt->file.manifest,
                          finding);
}

/* --- needs: does this host on this CPU meet them? --------------------------------------------- */

static qkern_status needs_abi(const struct qkern_manifest *manifest, struct finding *finding)
{
    char expected[64], found[64];

    if (manifest->abi_minor_needed <= QKERN_ABI_MINOR)
        return QKERN_OK;
    finding_set(finding, QKERN_E_ABI,
                "needs a newer libqkern: the plugin uses what ABI %u.%u does not have",
                QKERN_ABI_MAJOR, QKERN_ABI_MINOR);
    snprintf(expected, sizeof expected, "ABI %u.%u or older", QKERN_ABI_MAJOR, QKERN_ABI_MINOR);
    snprintf(found, sizeof found, "ABI %u.%" PRIu32, QKERN_ABI_MAJOR, manifest->abi_minor_needed);
    return finding_compare(finding, expected, found);
}

static qkern_status needs_tier(const struct loader *loader, const struct qkern_manifest *manifest,
                               struct finding *finding)
{
    char expected[64], found[64];

    snprintf(found, sizeof found, "tier %u", manifest->tier);
    if (manifest->tier >= QKERN_TIER_LIMIT) {
        finding_set(finding, QKERN_E_LIMIT, "the tier is out of range");
        snprintf(expected, sizeof expected, "below %u", (unsigned)QKERN_TIER_LIMIT);
        return finding_compare(finding, expected, found);
    }
    if (loader->cap_name != NULL && manifest->tier > loader->cap) {
        finding_set(finding, QKERN_E_FEATURE, "tier %u is above the cap QKERN_MAX_ISA=%s (tier %u)",
                    manifest->tier, loader->cap_name, loader->cap);
        snprintf(expected, sizeof expected, "tier %u or lower", loader->cap);
        return finding_compare(finding, expected, found);
    }
    return QKERN_OK;
}

static qkern_status needs_name(const struct attempt *attempt, struct finding *finding)
{
    const struct record_list *records = attempt->loader->records;

    if (attempt->built_in)
        return QKERN_OK;
    for (uint32_t i = 0; i < records->count; i++) {
        const struct record *other = records->items[i];
        if (other->plugin != NULL && strcmp(other->name, attempt->record->name) == 0)
            return finding_set(finding, QKERN_E_BUSY, "shadowed by %s, which was found first",
                               other->path[0] != '\0' ? other->path : other->origin);
    }
    return QKERN_OK;
}

static qkern_status step_needs(struct attempt *attempt, struct finding *finding)
{
    const struct loader *loader = attempt->loader;
    const struct qkern_manifest *manifest = &attempt->file.manifest;
    qkern_status status;

    record_describe(attempt->record, manifest);
    if ((status = needs_abi(manifest, finding)) != QKERN_OK)
        return status;
    char missing[sizeof finding->text];
    if (!features_cover(loader->features, manifest->features, missing, sizeof missing))
        return finding_set(finding, QKERN_E_FEATURE, "%s", missing);
    if ((status = needs_tier(loader, manifest, finding)) != QKERN_OK)
        return status;
    return needs_name(attempt, finding);
}

/* --- load: the dynamic loader ----------------------------------------------------------------- */

/*
 * A path of the open file, so that the file that was checked is the one that is loaded whatever
 * happens to its name. The path is spelled differently each time: glibc takes an object that is
 * already loaded under the same spelling without looking at the file, and descriptor numbers are
 * used again. So the binary digits of a count go before the number, "/" for 0 and "./" for 1. Each
 * copy of libqkern in the process counts from an address of its own.
 */
static void descriptor_path(const char *folder, int descriptor, char *out, size_t size)
{
    static _Atomic uint64_t loads;
    uint64_t count = atomic_fetch_add_explicit(&loads, 1, memory_order_relaxed);
    char spelling[2 * 64 + 1];
    size_t used = 0;

    for (count += (uintptr_t)&loads; count != 0; count >>= 1) {
        if ((count & 1) != 0)
            spelling[used++] = '.';
        spelling[used++] = '/';
    }
    spelling[used] = '\0';
    snprintf(out, size, "%s/%s%d", folder, spelling, descriptor);
}

static qkern_status step_load(struct attempt *attempt, struct finding *finding)
{
    char path[512];

    descriptor_path(attempt->loader->descriptor_folder, attempt->descriptor, path, sizeof path);
    if (access(path, F_OK) != 0)
        return finding_set(finding, QKERN_E_LOAD,
                           "%s cannot be used (%s): qkern loads plugins through it, so that the "
                           "file that was checked is the one loaded; mount /proc",
                           attempt->loader->descriptor_folder, strerror(errno));
    attempt->plugin = calloc(1, sizeof *attempt->plugin);
    if (attempt->plugin == NULL)
        return finding_set(finding, QKERN_E_MEMORY, "out of memory");
    attempt->plugin->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (attempt->plugin->handle == NULL) {
        const char *reason = dlerror();
        size_t prefix = strlen(path);
        if (reason == NULL)
            reason = "no reason given";
        if (strncmp(reason, path, prefix) == 0 && strncmp(reason + prefix, ": ", 2) == 0)
            reason += prefix + 2;
        return finding_set(finding, QKERN_E_LOAD, "the dynamic loader says: %s", reason);
    }
    return QKERN_OK;
}

/* --- table: entry and kernels ----------------------------------------------------------------- */

/* Finds the entry of the object that was loaded, and makes sure that it is that file's. */
static qkern_status step_entry(struct attempt *attempt, struct finding *finding)
{
    void *symbol = dlsym(attempt->plugin->handle, QKERN_PLUGIN_ENTRY_NAME);
    if (symbol == NULL)
        return finding_set(finding, QKERN_E_FORMAT, "does not export %s", QKERN_PLUGIN_ENTRY_NAME);
    struct image *image = &attempt->image;
    if (!image_find(symbol, image))
        return finding_set(finding, QKERN_E_FORMAT,
                           "%s is not a constant object of the plugin: it lies in the memory of no "
                           "loaded file; define it with QKERN_PLUGIN",
                           QKERN_PLUGIN_ENTRY_NAME);
    if (image->map != image_of_handle(attempt->plugin->handle))
        return finding_set(finding, QKERN_E_FORMAT,
                           "%s comes from a library that the plugin needs, not from itself",
                           QKERN_PLUGIN_ENTRY_NAME);
    if (strcmp(image->build_id, attempt->file.build_id) != 0) {
        finding_set(finding, QKERN_E_LOAD,
                    "what the dynamic loader loaded is not the file that was checked: the "
                    "build-ids differ");
        return finding_compare(finding, attempt->file.build_id, image->build_id);
    }
    attempt->entry = symbol;
    attempt->within = image;
    qkern_status status = plugin_entry_check(attempt->entry, image, finding);
    if (status != QKERN_OK)
        return status;
    if (memcmp(attempt->entry->manifest, &attempt->file.manifest, sizeof attempt->file.manifest) !=
        0)
        return finding_set(finding, QKERN_E_FORMAT,
                           "the entry's manifest is not the one in the file: write both with "
                           "QKERN_PLUGIN");
    return QKERN_OK;
}

static qkern_status step_table(struct attempt *attempt, struct finding *finding)
{
    if (attempt->plugin == NULL)
        attempt->plugin = calloc(1, sizeof *attempt->plugin);
    if (attempt->plugin == NULL)
        return finding_set(finding, QKERN_E_MEMORY, "out of memory");
    return plugin_table_read(attempt->entry, attempt->within, attempt->plugin, finding);
}

/* --- the sequence ----------------------------------------------------------------------------- */

struct step {
    uint32_t stage;
    qkern_status (*run)(struct attempt *attempt, struct finding *finding);
};

static const struct step file_steps[] = {
    {QKERN_STAGE_OPEN, step_open},   {QKERN_STAGE_MANIFEST, step_manifest},
    {QKERN_STAGE_NEEDS, step_needs}, {QKERN_STAGE_LOAD, step_load},
    {QKERN_STAGE_TABLE, step_entry}, {QKERN_STAGE_TABLE, step_table},
};

static const struct step static_steps[] = {
    {QKERN_STAGE_MANIFEST, step_static_manifest},
    {QKERN_STAGE_NEEDS, step_needs},
    {QKERN_STAGE_TABLE, step_table},
};

/* Says what a plugin that is ready offers, and hands it to its record. */
static void attempt_succeed(struct attempt *attempt)
{
    struct record *record = attempt->record;
    const struct plugin *plugin = attempt->plugin;

    record->stage = QKERN_STAGE_READY;
    finding_set(&record->finding, QKERN_OK, "offers %u element type%s", plugin->types,
                plugin->types == 1 ? "" : "s");
    if (plugin->unknown > 0)
        finding_set(&record->finding, QKERN_OK,
                    "offers %u element type%s, and %u that this libqkern does not know",
                    plugin->types, plugin->types == 1 ? "" : "s", plugin->unknown);
    record->plugin = attempt->plugin;
}

static qkern_status attempt_run(struct attempt *attempt, const struct step *steps, size_t count,
                                qkern_error *error)
{
    struct record *record = attempt->record;

    for (size_t i = 0; i < count; i++) {
        record->stage = steps[i].stage;
        record->status = steps[i].run(attempt, &record->finding);
        if (record->status == QKERN_OK)
            continue;
        plugin_release(attempt->plugin);
        if (record->status == QKERN_E_MEMORY)
            return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: loading %s",
                             record->path);
        return QKERN_OK;
    }
    attempt_succeed(attempt);
    return QKERN_OK;
}

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))

qkern_status loader_try_file(const struct loader *loader, int descriptor, int open_errno,
                             const char *path, const char *origin, qkern_error *error)
{
    struct attempt attempt = {
        .loader = loader,
        .record = record_add(loader->records, path, origin),
        .descriptor = descriptor,
        .open_errno = open_errno,
    };
    qkern_status status;

    if (attempt.record == NULL)
        status =
            error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: loading %s", path);
    else
        status = attempt_run(&attempt, file_steps, COUNT(file_steps), error);
    if (descriptor >= 0)
        close(descriptor);
    return status;
}

qkern_status loader_try_static(const struct loader *loader, const struct qkern_plugin *entry,
                               const char *origin, bool built_in, qkern_error *error)
{
    struct attempt attempt = {
        .loader = loader,
        .record = record_add(loader->records, "", origin),
        .descriptor = -1,
        .built_in = built_in,
        .entry = entry,
    };

    if (attempt.record == NULL)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: a %s plugin",
                         origin);
    return attempt_run(&attempt, static_steps, COUNT(static_steps), error);
}
