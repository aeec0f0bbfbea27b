/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the manifest reader, for each architecture. What holds for any input: a success gives
 * terminated, well-formed texts and the versions that this host knows; a failure gives a reason and
 * leaves the output alone; the same input gives the same outcome.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/src/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert, which a release build leaves out. */
static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_success(const struct manifest_file *file, uint32_t arch)
{
    const struct qkern_manifest *manifest = &file->manifest;
    const size_t name_length = strnlen(manifest->name, QKERN_NAME_SIZE);
    const size_t id_length = strnlen(file->build_id, sizeof file->build_id);

    require(manifest->struct_size >= sizeof *manifest);
    require(manifest->manifest_version == QKERN_MANIFEST_VERSION);
    require(manifest->abi_major == QKERN_ABI_MAJOR);
    require(manifest->arch == arch);
    require(manifest->pointer_bits == 64);
    require(manifest->reserved == 0);
    require(0 < name_length && name_length < QKERN_NAME_SIZE);
    require(strspn(manifest->name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == name_length);
    require(strnlen(manifest->version, QKERN_NAME_SIZE) < QKERN_NAME_SIZE);
    require(id_length < sizeof file->build_id && id_length % 2 == 0);
    require(strspn(file->build_id, "0123456789abcdef") == id_length);
}

static void check_failure(const struct manifest_file *file, const struct manifest_file *before,
                          const struct finding *finding, qkern_status status)
{
    const size_t length = strnlen(finding->text, sizeof finding->text);

    require(finding->status == status);
    require(status == QKERN_E_FORMAT || status == QKERN_E_ARCH || status == QKERN_E_ABI);
    require(0 < length && length < sizeof finding->text);
    require(memchr(finding->text, '\n', length) == NULL);
    require(strnlen(finding->expected, sizeof finding->expected) < sizeof finding->expected);
    require(strnlen(finding->found, sizeof finding->found) < sizeof finding->found);
    require(memcmp(file, before, sizeof *file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t archs[] = {QKERN_ARCH_X86_64, QKERN_ARCH_AARCH64};

    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        struct manifest_file before, file, again;
        struct finding finding;

        memset(&before, 0xa5, sizeof before);
        file = again = before;
        const qkern_status status = manifest_read_memory(data, size, archs[i], &file, &finding);
        if (status == QKERN_OK)
            check_success(&file, archs[i]);
        else
            check_failure(&file, &before, &finding, status);
        require(manifest_read_memory(data, size, archs[i], &again, &finding) == status);
        require(memcmp(&file, &again, sizeof file) == 0);
    }
    return 0;
}
