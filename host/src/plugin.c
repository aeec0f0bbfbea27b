/* SPDX-License-Identifier: MIT */
/* Reading a plugin's entry and kernel table. */
#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where each entry point stands in a kernel: they are appended, so one after the other. */
static const size_t entry_offsets[QKERN_ENTRY_LIMIT] = {
    [QKERN_ENTRY_QUANTIZE] = offsetof(struct qkern_kernel, quantize),
    [QKERN_ENTRY_DEQUANTIZE] = offsetof(struct qkern_kernel, dequantize),
    [QKERN_ENTRY_VEC_DOT] = offsetof(struct qkern_kernel, vec_dot),
    [QKERN_ENTRY_QUANTIZE_WEIGHTED] = offsetof(struct qkern_kernel, quantize_weighted),
    [QKERN_ENTRY_VEC_DOT_ROWS] = offsetof(struct qkern_kernel, vec_dot_rows),
};

/* All entry points are function pointers of one size, so bytes can be moved for any of them. */
#define ENTRY_BYTES sizeof(qkern_quantize_fn)

bool kernel_has(const struct qkern_kernel *kernel, uint32_t entry)
{
    static const unsigned char null[ENTRY_BYTES];

    return kernel->struct_size != 0 &&
           memcmp((const char *)kernel + entry_offsets[entry], null, ENTRY_BYTES) != 0;
}

void kernel_take(struct qkern_kernel *to, const struct qkern_kernel *from, uint32_t entry)
{
    memcpy((char *)to + entry_offsets[entry], (const char *)from + entry_offsets[entry],
           ENTRY_BYTES);
}

/* --- pointers: is what they lead to the plugin's own? ----------------------------------------- */

static qkern_status address_refuse(struct finding *finding, const char *expected, const void *found)
{
    char address[32];

    snprintf(address, sizeof address, "address %p", found);
    return finding_compare(finding, expected, address);
}

/* Before `size` bytes are read. The finding's subject is `what`, or "kernel NUMBER of the table".
 */
static qkern_status data_check(const struct image *image, const void *at, uint64_t size,
                               size_t alignment, const char *what, uint32_t number,
                               struct finding *finding)
{
    char kernel[48];

    if (image == NULL)
        return QKERN_OK;
    if (what == NULL) {
        snprintf(kernel, sizeof kernel, "kernel %u of the table", number);
        what = kernel;
    }
    if (!image_holds(image, (uintptr_t)at, size, IMAGE_DATA)) {
        finding_set(finding, QKERN_E_FORMAT,
                    "%s is not a constant object of the plugin: it does not lie in the plugin's "
                    "memory; define the plugin with QKERN_PLUGIN",
                    what);
        return address_refuse(finding, "an address in the plugin's memory", at);
    }
    if ((uintptr_t)at % alignment != 0) {
        finding_set(finding, QKERN_E_FORMAT,
                    "%s is not aligned as a constant object of its type; define the plugin with "
                    "QKERN_PLUGIN",
                    what);
        return address_refuse(finding, alignment == 8 ? "a multiple of 8" : "a multiple of 4", at);
    }
    return QKERN_OK;
}

/* Before a function pointer is kept. Null is good: there is no such function. */
static qkern_status code_check(const struct image *image, const void *pointer, const char *of,
                               const char *what, struct finding *finding)
{
    uintptr_t address;

    memcpy(&address, pointer, sizeof address);
    if (image == NULL || address == 0 || image_holds(image, address, 1, IMAGE_CODE))
        return QKERN_OK;
    finding_set(finding, QKERN_E_FORMAT,
                "%s: %s does not point into the plugin's code: kernels are functions of the "
                "plugin itself",
                of, what);
    return address_refuse(finding, "an address in the plugin's code", (const void *)address);
}

/* --- the entry -------------------------------------------------------------------------------- */

qkern_status plugin_entry_check(const struct qkern_plugin *entry, const struct image *image,
                                struct finding *finding)
{
    static const char symbol[] = QKERN_PLUGIN_ENTRY_NAME;
    qkern_status status;
    uint32_t size;
    char number[32];

    if (image != NULL && image_is_function(entry))
        return finding_set(finding, QKERN_E_FORMAT,
                           "%s is code, not a constant object: define it with QKERN_PLUGIN",
                           symbol);
    status =
        data_check(image, entry, sizeof size, _Alignof(struct qkern_plugin), symbol, 0, finding);
    if (status != QKERN_OK)
        return status;
    memcpy(&size, entry, sizeof size);
    if (size < QKERN_PLUGIN_SIZE_MIN) {
        finding_set(finding, QKERN_E_FORMAT,
                    "the entry's struct_size is too small: it has no "
                    "manifest and kernels; rebuild the plugin");
        snprintf(number, sizeof number, "%u", size);
        return finding_compare(finding, "at least 24", number);
    }
    status = data_check(image, entry, size < sizeof *entry ? size : sizeof *entry, 1, symbol, 0,
                        finding);
    if (status != QKERN_OK)
        return status;
    if (entry->manifest == NULL)
        return finding_set(finding, QKERN_E_FORMAT, "the entry's manifest is NULL");
    status = data_check(image, entry->manifest, sizeof *entry->manifest,
                        _Alignof(struct qkern_manifest), "the entry's manifest", 0, finding);
    if (status != QKERN_OK)
        return status;
    if (entry->manifest->struct_size < sizeof(struct qkern_manifest)) {
        finding_set(finding, QKERN_E_FORMAT, "the manifest's struct_size is too small");
        snprintf(number, sizeof number, "%u", entry->manifest->struct_size);
        return finding_compare(finding, "at least 128", number);
    }
    if (entry->kernels == NULL || entry->kernel_count == 0)
        return finding_set(finding, QKERN_E_FORMAT, "the entry has no kernels");
    if (entry->kernel_count > PLUGIN_KERNEL_LIMIT) {
        finding_set(finding, QKERN_E_LIMIT, "the entry has too many kernels");
        snprintf(number, sizeof number, "%u", entry->kernel_count);
        return finding_compare(finding, "at most 1024", number);
    }
    status = data_check(image, entry->kernels, entry->kernel_count * sizeof *entry->kernels,
                        _Alignof(const struct qkern_kernel *), "the entry's array of kernels", 0,
                        finding);
    if (status == QKERN_OK && size >= sizeof *entry)
        status = code_check(image, &entry->get_extension, "the entry", "get_extension", finding);
    return status;
}

/* --- the kernels ------------------------------------------------------------------------------ */

/* Copies what a kernel's struct_size covers into zeros; fields that it covers in part stay 0. */
static qkern_status kernel_copy(const struct qkern_kernel *from, const struct image *image,
                                uint32_t number, struct qkern_kernel *out, struct finding *finding)
{
    uint32_t size;

    if (from == NULL)
        return finding_set(finding, QKERN_E_FORMAT, "kernel %u of the table is NULL", number);
    qkern_status status =
        data_check(image, from, sizeof size, _Alignof(struct qkern_kernel), NULL, number, finding);
    if (status != QKERN_OK)
        return status;
    memcpy(&size, from, sizeof size);
    if (size < QKERN_KERNEL_SIZE_MIN) {
        char found[32];
        finding_set(finding, QKERN_E_FORMAT, "kernel %u of the table: struct_size is too small",
                    number);
        snprintf(found, sizeof found, "%u", size);
        return finding_compare(finding, "at least 24", found);
    }
    status = data_check(image, from, size < sizeof *from ? size : sizeof *from, 1, NULL, number,
                        finding);
    if (status != QKERN_OK)
        return status;
    memcpy(out, from, QKERN_KERNEL_SIZE_MIN);
    for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT; entry++)
        if (size >= entry_offsets[entry] + ENTRY_BYTES)
            kernel_take(out, from, entry);
    out->struct_size = (uint32_t)sizeof *out;
    return QKERN_OK;
}

/* Whether a kernel says of its type what qkern/types.h says. */
static qkern_status kernel_check(const struct qkern_kernel *kernel, const qkern_type_info *type,
                                 const struct image *image, struct finding *finding)
{
    const struct {
        const char *name;
        uint32_t expected, found;
    } facts[] = {
        {"elements in a block", type->block_elements, kernel->block_elements},
        {"bytes in a block", type->block_bytes, kernel->block_bytes},
        {"dot type", type->dot_type, kernel->dot_type},
    };

    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (facts[i].expected == facts[i].found)
            continue;
        char expected[32], found[32];
        snprintf(expected, sizeof expected, "%u", facts[i].expected);
        snprintf(found, sizeof found, "%u", facts[i].found);
        finding_set(finding, QKERN_E_FORMAT, "%s: the %s differ from qkern/types.h", type->name,
                    facts[i].name);
        return finding_compare(finding, expected, found);
    }
    if (kernel->dot_type == QKERN_TYPE_NONE &&
        (kernel->vec_dot != NULL || kernel->vec_dot_rows != NULL))
        return finding_set(finding, QKERN_E_FORMAT, "%s: has a %s, though the type has no dot type",
                           type->name, kernel->vec_dot != NULL ? "vec_dot" : "vec_dot_rows");
    qkern_status status = QKERN_OK;
    for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT && status == QKERN_OK; entry++)
        status = code_check(image, (const char *)kernel + entry_offsets[entry], type->name,
                            qkern_entry_name(entry), finding);
    return status;
}

qkern_status plugin_table_read(const struct qkern_plugin *entry, const struct image *image,
                               struct plugin *out, struct finding *finding)
{
    for (uint32_t i = 0; i < entry->kernel_count; i++) {
        struct qkern_kernel kernel = {0};
        qkern_type_info type = {.struct_size = (uint32_t)sizeof type};

        qkern_status status = kernel_copy(entry->kernels[i], image, i, &kernel, finding);
        if (status != QKERN_OK)
            return status;
        if (qkern_type_get(kernel.type, &type, NULL) != QKERN_OK) {
            out->unknown++;
            continue;
        }
        status = kernel_check(&kernel, &type, image, finding);
        if (status != QKERN_OK)
            return status;
        if (out->kernels[kernel.type].struct_size != 0)
            return finding_set(finding, QKERN_E_FORMAT, "%s is in the kernel table twice",
                               type.name);
        out->kernels[kernel.type] = kernel;
        out->types++;
    }
    return QKERN_OK;
}

void plugin_release(struct plugin *plugin)
{
    if (plugin == NULL)
        return;
    if (plugin->handle != NULL)
        dlclose(plugin->handle);
    free(plugin);
}
