/* SPDX-License-Identifier: MIT */
/*
 * The manifest and UUID of a Mach-O dynamic library or bundle, thin or within a universal file.
 * Thin files that can be used are little-endian and 64-bit; universal headers are big-endian.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "manifest_format.h"

#define MAGIC_64 0xfeedfacfu
#define HEADER_SIZE 32u
#define HEADER_CPU 4
#define HEADER_TYPE 12
#define HEADER_COMMANDS 16
#define HEADER_COMMANDS_SIZE 20
#define TYPE_DYLIB 6u
#define TYPE_BUNDLE 8u

#define COMMAND_HEAD_SIZE 8u
#define COMMAND_ALIGN 8u
#define COMMAND_SEGMENT_64 0x19u
#define COMMAND_UUID 0x1bu
#define UUID_SIZE 16u

#define SEGMENT_SIZE 72u
#define SEGMENT_NAME 8
#define SEGMENT_OFFSET 40
#define SEGMENT_BYTES 48
#define SEGMENT_SECTIONS 64
#define SECTION_SIZE 80u
#define SECTION_BYTES 40
#define SECTION_OFFSET 48
#define MACHO_NAME_SIZE 16

#define UNIVERSAL_HEAD_SIZE 8u
#define UNIVERSAL_MAGIC_END 3 /* the byte that tells 64-bit entries */
#define UNIVERSAL_MAGIC_END_WIDE 0xbf
#define UNIVERSAL_COUNT 4
#define UNIVERSAL_ENTRY_LIMIT 32

/* Cpu types; bit 24 marks the 64-bit ones. */
static const struct manifest_word machines[] = {
    {0x01000007, QKERN_ARCH_X86_64, "x86-64"},
    {0x0100000c, QKERN_ARCH_AARCH64, "AArch64"},
    {7, QKERN_ARCH_NONE, "32-bit x86"},
    {12, QKERN_ARCH_NONE, "32-bit Arm"},
    {18, QKERN_ARCH_NONE, "32-bit PowerPC"},
    {0x0200000c, QKERN_ARCH_NONE, "AArch64 with 32-bit pointers"},
    {0x01000012, QKERN_ARCH_NONE, "64-bit PowerPC"},
    {0, QKERN_ARCH_NONE, NULL},
};

static const struct manifest_word types[] = {
    {1, QKERN_ARCH_NONE, "an object file"},
    {2, QKERN_ARCH_NONE, "an executable"},
    {4, QKERN_ARCH_NONE, "a core dump"},
    {10, QKERN_ARCH_NONE, "debug information"},
    {0, QKERN_ARCH_NONE, NULL},
};

static bool machine_is(uint32_t cpu, uint32_t arch)
{
    const struct manifest_word *machine = manifest_word_find(machines, cpu);

    return machine != NULL && machine->arch != QKERN_ARCH_NONE && machine->arch == arch;
}

/* The name of a cpu type; for an unknown one its number, written to `number`. */
static const char *machine_name(uint32_t cpu, char number[32])
{
    const struct manifest_word *machine = manifest_word_find(machines, cpu);

    snprintf(number, 32, "cpu type 0x%" PRIx32, cpu);
    return machine != NULL ? machine->name : number;
}

static bool name_is(const uint8_t *field, const char *name)
{
    return strncmp((const char *)field, name, MACHO_NAME_SIZE) == 0;
}

/* What is being looked for in the load commands of a file. */
struct search {
    const struct bytes *file;
    uint32_t arch;
    struct manifest_file *out;
    bool found;
};

static qkern_status section_read(struct search *search, const uint8_t *section,
                                 struct finding *finding)
{
    struct bytes content;

    if (search->found)
        return finding_set(finding, QKERN_E_FORMAT,
                           "two qkern manifests in one file; a plugin has one");
    search->found = true;
    qkern_status status = bytes_window(search->file, bytes_le32(section + SECTION_OFFSET),
                                       bytes_le64(section + SECTION_BYTES),
                                       "section __TEXT,__qkern", &content, finding);
    if (status != QKERN_OK)
        return status;
    return manifest_judge(&content, search->arch, &search->out->manifest, finding);
}

static qkern_status segment_read(struct search *search, const struct bytes *command,
                                 struct finding *finding)
{
    uint8_t segment[SEGMENT_SIZE], section[SECTION_SIZE];
    struct bytes content, sections;

    qkern_status status =
        bytes_read(command, 0, segment, sizeof segment, "segment command", finding);
    if (status != QKERN_OK)
        return status;
    /* A mapping of what a truncated file lacks would end in SIGBUS. */
    status = bytes_window(search->file, bytes_le64(segment + SEGMENT_OFFSET),
                          bytes_le64(segment + SEGMENT_BYTES), "segment", &content, finding);
    if (status != QKERN_OK)
        return status;
    if (!name_is(segment + SEGMENT_NAME, "__TEXT"))
        return QKERN_OK;
    const uint32_t count = bytes_le32(segment + SEGMENT_SECTIONS);
    status = bytes_window(command, SEGMENT_SIZE, (uint64_t)count * SECTION_SIZE, "section table",
                          &sections, finding);
    if (status != QKERN_OK)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        status = bytes_read(&sections, (uint64_t)i * SECTION_SIZE, section, sizeof section,
                            "section", finding);
        if (status == QKERN_OK && name_is(section, "__qkern"))
            status = section_read(search, section, finding);
        if (status != QKERN_OK)
            return status;
    }
    return QKERN_OK;
}

static qkern_status uuid_read(struct search *search, const struct bytes *command,
                              struct finding *finding)
{
    uint8_t uuid[UUID_SIZE];

    qkern_status status =
        bytes_read(command, COMMAND_HEAD_SIZE, uuid, sizeof uuid, "UUID", finding);
    if (status != QKERN_OK)
        return status;
    bytes_hex(uuid, sizeof uuid, search->out->build_id);
    return QKERN_OK;
}

/* Reads the command at *offset and moves it to the next one. */
static qkern_status command_read(struct search *search, const struct bytes *commands,
                                 uint64_t *offset, struct finding *finding)
{
    uint8_t head[COMMAND_HEAD_SIZE];
    struct bytes command;

    qkern_status status = bytes_read(commands, *offset, head, sizeof head, "load command", finding);
    if (status != QKERN_OK)
        return status;
    const uint32_t size = bytes_le32(head + 4);
    if (size < COMMAND_HEAD_SIZE || size % COMMAND_ALIGN != 0)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a load command of %" PRIu32 " bytes, expected a multiple of %u", size,
                           COMMAND_ALIGN);
    status = bytes_window(commands, *offset, size, "load command", &command, finding);
    if (status != QKERN_OK)
        return status;
    *offset += size;
    switch (bytes_le32(head)) {
    case COMMAND_SEGMENT_64:
        return segment_read(search, &command, finding);
    case COMMAND_UUID:
        return uuid_read(search, &command, finding);
    default:
        return QKERN_OK;
    }
}

static qkern_status header_read(const struct bytes *file, uint32_t arch, uint8_t *header,
                                struct finding *finding)
{
    char number[32];

    qkern_status status = bytes_read(file, 0, header, HEADER_SIZE, "Mach-O header", finding);
    if (status != QKERN_OK)
        return status;
    const uint32_t cpu = bytes_le32(header + HEADER_CPU);
    if (!machine_is(cpu, arch))
        return manifest_refuse_machine(finding, "a Mach-O file", arch, machine_name(cpu, number));
    const uint32_t type_number = bytes_le32(header + HEADER_TYPE);
    if (type_number != TYPE_DYLIB && type_number != TYPE_BUNDLE) {
        const struct manifest_word *type = manifest_word_find(types, type_number);

        snprintf(number, sizeof number, "type %" PRIu32, type_number);
        finding_set(finding, QKERN_E_FORMAT,
                    "a Mach-O file, but %s, not a dynamic library or bundle",
                    type != NULL ? type->name : number);
        return finding_compare(finding, "a dynamic library or bundle",
                               type != NULL ? type->name : number);
    }
    return QKERN_OK;
}

qkern_status manifest_macho(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                            struct finding *finding)
{
    struct search search = {.file = file, .arch = arch, .out = out};
    struct bytes commands;
    uint8_t header[HEADER_SIZE];
    uint64_t offset = 0;

    qkern_status status = header_read(file, arch, header, finding);
    if (status != QKERN_OK)
        return status;
    const uint32_t count = bytes_le32(header + HEADER_COMMANDS);
    const uint32_t size = bytes_le32(header + HEADER_COMMANDS_SIZE);
    if (count > MANIFEST_LOAD_COMMAND_LIMIT || size > MANIFEST_LOAD_COMMAND_BYTES_LIMIT)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a Mach-O file with %" PRIu32 " load commands of %" PRIu32
                           " bytes; the limits are %u and %u",
                           count, size, MANIFEST_LOAD_COMMAND_LIMIT,
                           MANIFEST_LOAD_COMMAND_BYTES_LIMIT);
    status = bytes_window(file, HEADER_SIZE, size, "load commands", &commands, finding);
    if (status != QKERN_OK)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        status = command_read(&search, &commands, &offset, finding);
        if (status != QKERN_OK)
            return status;
    }
    if (!search.found)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a Mach-O library without a qkern manifest (section __TEXT,__qkern), so "
                           "not a plugin");
    return QKERN_OK;
}

/* --- universal files -------------------------------------------------------------------------- */

/* The two layouts of an entry in a universal file's table. */
static const struct universal_layout {
    uint32_t entry_size;
    uint32_t offset_at;
    uint32_t size_at;
} layout_32 = {20, 8, 12}, layout_64 = {32, 8, 16};

/* Finds the one slice for an architecture. */
static qkern_status slice_find(const struct bytes *file, uint32_t arch, struct bytes *slice,
                               struct finding *finding)
{
    uint8_t head[UNIVERSAL_HEAD_SIZE], entry[UNIVERSAL_ENTRY_LIMIT];
    char number[32], others[128] = "none";
    size_t others_length = 0;
    uint32_t fitting = 0;

    qkern_status status = bytes_read(file, 0, head, sizeof head, "universal header", finding);
    if (status != QKERN_OK)
        return status;
    const bool wide = head[UNIVERSAL_MAGIC_END] == UNIVERSAL_MAGIC_END_WIDE;
    const struct universal_layout *layout = wide ? &layout_64 : &layout_32;
    const uint32_t count = bytes_be32(head + UNIVERSAL_COUNT);
    if (count > MANIFEST_SLICE_LIMIT)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a Java class, or a universal Mach-O file with %" PRIu32
                           " slices; the limit is %u",
                           count, MANIFEST_SLICE_LIMIT);

    for (uint32_t i = 0; i < count; i++) {
        status = bytes_read(file, UNIVERSAL_HEAD_SIZE + (uint64_t)i * layout->entry_size, entry,
                            layout->entry_size, "slice table", finding);
        if (status != QKERN_OK)
            return status;
        const uint32_t cpu = bytes_be32(entry);
        if (!machine_is(cpu, arch)) {
            if (others_length < sizeof others)
                others_length +=
                    (size_t)snprintf(others + others_length, sizeof others - others_length, "%s%s",
                                     others_length > 0 ? ", " : "", machine_name(cpu, number));
            continue;
        }
        const uint8_t *offset = entry + layout->offset_at, *size = entry + layout->size_at;
        status = bytes_window(file, wide ? bytes_be64(offset) : bytes_be32(offset),
                              wide ? bytes_be64(size) : bytes_be32(size), "slice", slice, finding);
        if (status != QKERN_OK)
            return status;
        fitting++;
    }
    if (fitting == 0)
        return manifest_refuse_machine(finding, "a universal Mach-O file", arch, others);
    if (fitting > 1)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a universal Mach-O file with %" PRIu32
                           " slices for %s: which one would "
                           "be loaded is not known",
                           fitting, manifest_arch_name(arch));
    return QKERN_OK;
}

qkern_status manifest_universal(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                                struct finding *finding)
{
    struct bytes slice = *file;
    uint8_t magic[4];

    qkern_status status = slice_find(file, arch, &slice, finding);
    if (status == QKERN_OK)
        status = bytes_read(&slice, 0, magic, sizeof magic, "Mach-O header", finding);
    if (status != QKERN_OK)
        return status;
    if (bytes_le32(magic) != MAGIC_64)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a universal Mach-O file whose slice for %s is no 64-bit Mach-O file",
                           manifest_arch_name(arch));
    return manifest_macho(&slice, arch, out, finding);
}
