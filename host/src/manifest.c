/* SPDX-License-Identifier: MIT */
/* The manifest reader's front: what kind of file it is, and the judgement of a manifest found. */
#include "manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "manifest_format.h"

/* Files, and so manifests, are little-endian, and so are the hosts that can use them. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "manifests are copied as they stand");
_Static_assert(sizeof(struct qkern_manifest) == 128, "the frozen part of a manifest");

/* --- names ------------------------------------------------------------------------------------ */

const char *manifest_arch_name(uint32_t arch)
{
    static const char *const names[] = {
        [QKERN_ARCH_X86_64] = "x86-64",
        [QKERN_ARCH_AARCH64] = "AArch64",
    };
    const char *name = arch < sizeof names / sizeof names[0] ? names[arch] : NULL;

    return name != NULL ? name : "an unknown architecture";
}

const struct manifest_word *manifest_word_find(const struct manifest_word *words, uint32_t number)
{
    for (; words->name != NULL; words++)
        if (words->number == number)
            return words;
    return NULL;
}

qkern_status manifest_refuse_machine(struct finding *finding, const char *kind, uint32_t arch,
                                     const char *found)
{
    finding_set(finding, QKERN_E_ARCH, "%s for %s, not for %s", kind, found,
                manifest_arch_name(arch));
    return finding_compare(finding, manifest_arch_name(arch), found);
}

/* --- the judgement ---------------------------------------------------------------------------- */

static qkern_status refuse_number(struct finding *finding, qkern_status status, const char *field,
                                  const char *relation, uint64_t expected, uint64_t found)
{
    char wanted[64], got[24];

    snprintf(wanted, sizeof wanted, "%s%" PRIu64, relation, expected);
    snprintf(got, sizeof got, "%" PRIu64, found);
    finding_set(finding, status, "manifest: %s is %s, expected %s", field, got, wanted);
    return finding_compare(finding, wanted, got);
}

static bool name_allows(unsigned char character)
{
    return ('a' <= character && character <= 'z') || ('0' <= character && character <= '9') ||
           character == '-' || character == '_' || character == '.';
}

static bool version_allows(unsigned char character)
{
    return ' ' <= character && character <= '~';
}

/* A text of QKERN_NAME_SIZE: allowed characters, then NULs to its end, at least one. */
static qkern_status judge_text(const char *field, const char *text, bool (*allows)(unsigned char),
                               const char *allowed, struct finding *finding)
{
    const size_t length = strnlen(text, QKERN_NAME_SIZE);

    if (length == QKERN_NAME_SIZE)
        return finding_set(finding, QKERN_E_FORMAT,
                           "manifest: the %s does not end within its %d bytes", field,
                           QKERN_NAME_SIZE);
    for (size_t i = 0; i < length; i++)
        if (!allows((unsigned char)text[i]))
            return finding_set(finding, QKERN_E_FORMAT,
                               "manifest: the %s has byte 0x%02x at position %zu; allowed are %s",
                               field, (unsigned)(unsigned char)text[i], i, allowed);
    for (size_t i = length; i < QKERN_NAME_SIZE; i++)
        if (text[i] != '\0')
            return finding_set(finding, QKERN_E_FORMAT,
                               "manifest: the %s has byte 0x%02x behind its end, expected 0", field,
                               (unsigned)(unsigned char)text[i]);
    return QKERN_OK;
}

qkern_status manifest_judge(const struct bytes *descriptor, uint32_t arch,
                            struct qkern_manifest *out, struct finding *finding)
{
    /* What every version of a manifest begins with: struct_size and manifest_version. */
    const uint64_t version_end = offsetof(struct qkern_manifest, abi_major);
    const uint64_t there = descriptor->size;
    const uint64_t known = there < sizeof *out ? there : sizeof *out;

    qkern_status status = bytes_read(descriptor, 0, out, (size_t)known, "manifest", finding);
    if (status != QKERN_OK)
        return status;
    if (there >= version_end && out->manifest_version != QKERN_MANIFEST_VERSION)
        return refuse_number(finding, QKERN_E_ABI, "manifest_version", "", QKERN_MANIFEST_VERSION,
                             out->manifest_version);
    if (there < sizeof *out)
        return refuse_number(finding, QKERN_E_FORMAT, "its length in the file", "at least ",
                             sizeof *out, there);
    if (out->struct_size < sizeof *out)
        return refuse_number(finding, QKERN_E_FORMAT, "struct_size", "at least ", sizeof *out,
                             out->struct_size);
    if (out->struct_size > there)
        return refuse_number(finding, QKERN_E_FORMAT, "struct_size",
                             "no more than its length in the file, ", there, out->struct_size);
    if (out->abi_major != QKERN_ABI_MAJOR)
        return refuse_number(finding, QKERN_E_ABI, "abi_major", "", QKERN_ABI_MAJOR,
                             out->abi_major);
    if (out->arch != arch)
        return manifest_refuse_machine(finding, "manifest: a plugin", arch,
                                       manifest_arch_name(out->arch));
    if (out->pointer_bits != 64)
        return refuse_number(finding, QKERN_E_ARCH, "pointer_bits", "", 64, out->pointer_bits);
    if (out->reserved != 0)
        return refuse_number(finding, QKERN_E_FORMAT, "reserved", "", 0, out->reserved);
    if (out->name[0] == '\0')
        return finding_set(finding, QKERN_E_FORMAT, "manifest: the name is empty");
    status = judge_text("name", out->name, name_allows,
                        "lower-case letters, digits, '-', '_' and '.'", finding);
    if (status != QKERN_OK)
        return status;
    return judge_text("version", out->version, version_allows, "printable ASCII characters",
                      finding);
}

/* --- what kind of file ------------------------------------------------------------------------ */

typedef qkern_status (*format_reader)(const struct bytes *file, uint32_t arch,
                                      struct manifest_file *out, struct finding *finding);

/* How files begin: those that are read, and those that get mistaken for plugins. */
static const struct {
    const char *magic;
    uint32_t length;
    qkern_status status;
    format_reader read;
    const char *what;
} formats[] = {
    {"\177ELF", 4, QKERN_OK, manifest_elf, ""},
    {"\xcf\xfa\xed\xfe", 4, QKERN_OK, manifest_macho, ""},
    {"\xca\xfe\xba\xbe", 4, QKERN_OK, manifest_universal, ""},
    {"\xca\xfe\xba\xbf", 4, QKERN_OK, manifest_universal, ""},
    {"\xce\xfa\xed\xfe", 4, QKERN_E_ARCH, NULL, "a 32-bit Mach-O file"},
    {"\xfe\xed\xfa\xce", 4, QKERN_E_ARCH, NULL, "a big-endian Mach-O file"},
    {"\xfe\xed\xfa\xcf", 4, QKERN_E_ARCH, NULL, "a big-endian Mach-O file"},
    {"!<arch>\n", 8, QKERN_E_FORMAT, NULL, "a static library (ar archive)"},
    {"!<thin>\n", 8, QKERN_E_FORMAT, NULL, "a static library (thin ar archive)"},
    {"GGUF", 4, QKERN_E_FORMAT, NULL, "a GGUF model file"},
    {"MZ", 2, QKERN_E_FORMAT, NULL, "a Windows program or DLL"},
    {"\x1f\x8b", 2, QKERN_E_FORMAT, NULL, "a gzip file"},
    {"PK\3\4", 4, QKERN_E_FORMAT, NULL, "a zip file"},
};

static bool is_text(const uint8_t *start, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (start[i] == 127 || (start[i] < ' ' && strchr("\t\n\f\r", start[i]) == NULL) ||
            start[i] == '\0')
            return false;
    return true;
}

static qkern_status file_read(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                              struct finding *finding)
{
    uint8_t start[256];
    const size_t length = file->size < sizeof start ? (size_t)file->size : sizeof start;

    if (length == 0)
        return finding_set(finding, QKERN_E_FORMAT, "an empty file");
    qkern_status status = bytes_read(file, 0, start, length, "first bytes", finding);
    if (status != QKERN_OK)
        return status;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (length < formats[i].length || memcmp(start, formats[i].magic, formats[i].length) != 0)
            continue;
        if (formats[i].read != NULL)
            return formats[i].read(file, arch, out, finding);
        return finding_set(finding, formats[i].status, "%s, not a plugin for %s", formats[i].what,
                           manifest_arch_name(arch));
    }
    if (is_text(start, length))
        return finding_set(finding, QKERN_E_FORMAT, "a text file, not a plugin");
    return finding_set(finding, QKERN_E_FORMAT, "neither an ELF nor a Mach-O file");
}

/* --- the two ways in -------------------------------------------------------------------------- */

static qkern_status bytes_manifest(const struct bytes *file, uint32_t arch,
                                   struct manifest_file *out, struct finding *finding)
{
    struct manifest_file read;

    memset(&read, 0, sizeof read);
    qkern_status status = file_read(file, arch, &read, finding);
    if (status != QKERN_OK)
        return status;
    *out = read;
    return QKERN_OK;
}

qkern_status manifest_read_memory(const void *data, size_t size, uint32_t arch,
                                  struct manifest_file *out, struct finding *finding)
{
    return bytes_manifest(
        &(struct bytes){.what = "file", .memory = data, .descriptor = -1, .size = size}, arch, out,
        finding);
}

qkern_status manifest_read(int descriptor, uint32_t arch, struct manifest_file *out,
                           struct finding *finding)
{
    struct stat status;

    if (fstat(descriptor, &status) != 0)
        return finding_set(finding, QKERN_E_IO, "cannot look at the open file: %s",
                           strerror(errno));
    if (S_ISDIR(status.st_mode))
        return finding_set(finding, QKERN_E_FORMAT, "a folder, not a plugin");
    if (!S_ISREG(status.st_mode))
        return finding_set(finding, QKERN_E_FORMAT, "a device, pipe or socket, not a regular file");
    return bytes_manifest(
        &(struct bytes){.what = "file", .descriptor = descriptor, .size = (uint64_t)status.st_size},
        arch, out, finding);
}
