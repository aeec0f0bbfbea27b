/* SPDX-License-Identifier: MIT */
/*
 * The manifest and build-id of an ELF shared object: its file header, its program headers, and the
 * notes of its PT_NOTE segments. Offsets below are those of the 64-bit layout.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "manifest_format.h"

#define IDENT_SIZE 16u
#define IDENT_CLASS 4
#define IDENT_DATA 5
#define CLASS_32 1
#define CLASS_64 2
#define DATA_LITTLE 1
#define DATA_BIG 2

#define HEADER_SIZE 64u
#define HEADER_TYPE 16
#define HEADER_MACHINE 18
#define HEADER_PHOFF 32
#define HEADER_PHENTSIZE 54
#define HEADER_PHNUM 56
#define TYPE_SHARED 3

#define PROGRAM_SIZE 56u
#define PROGRAM_OFFSET 8
#define PROGRAM_FILESZ 32
#define PROGRAM_ALIGN 48
#define PROGRAM_TYPE_LOAD 1u
#define PROGRAM_TYPE_NOTE 4u

#define NOTE_HEAD_SIZE 12u
#define NOTE_NAMESZ 0
#define NOTE_DESCSZ 4
#define NOTE_TYPE 8
#define NOTE_GNU_BUILD_ID 3u
#define BUILD_ID_LIMIT ((sizeof((struct manifest_file *)0)->build_id - 1) / 2)

static const struct manifest_word machines[] = {
    {62, QKERN_ARCH_X86_64, "x86-64"},
    {183, QKERN_ARCH_AARCH64, "AArch64"},
    {2, QKERN_ARCH_NONE, "SPARC"},
    {3, QKERN_ARCH_NONE, "32-bit x86"},
    {8, QKERN_ARCH_NONE, "MIPS"},
    {20, QKERN_ARCH_NONE, "32-bit PowerPC"},
    {21, QKERN_ARCH_NONE, "64-bit PowerPC"},
    {22, QKERN_ARCH_NONE, "S/390"},
    {40, QKERN_ARCH_NONE, "32-bit Arm"},
    {43, QKERN_ARCH_NONE, "64-bit SPARC"},
    {50, QKERN_ARCH_NONE, "IA-64"},
    {243, QKERN_ARCH_NONE, "RISC-V"},
    {258, QKERN_ARCH_NONE, "LoongArch"},
    {0, QKERN_ARCH_NONE, NULL},
};

static const struct manifest_word types[] = {
    {1, QKERN_ARCH_NONE, "an object file"},
    {2, QKERN_ARCH_NONE, "an executable"},
    {4, QKERN_ARCH_NONE, "a core dump"},
    {0, QKERN_ARCH_NONE, NULL},
};

/* The file header's own judgement; on success header holds HEADER_SIZE bytes. */
static qkern_status header_read(const struct bytes *file, uint32_t arch, uint8_t *header,
                                struct finding *finding)
{
    char number[32];

    /* Class and byte order first: they say how the rest is to be read. */
    qkern_status status = bytes_read(file, 0, header, IDENT_SIZE, "ELF header", finding);
    if (status != QKERN_OK)
        return status;
    if (header[IDENT_CLASS] == CLASS_32) {
        finding_set(finding, QKERN_E_ARCH, "a 32-bit ELF file, not for %s",
                    manifest_arch_name(arch));
        return finding_compare(finding, "64-bit", "32-bit");
    }
    if (header[IDENT_DATA] == DATA_BIG) {
        finding_set(finding, QKERN_E_ARCH, "a big-endian ELF file, not for %s",
                    manifest_arch_name(arch));
        return finding_compare(finding, "little-endian", "big-endian");
    }
    if (header[IDENT_CLASS] != CLASS_64 || header[IDENT_DATA] != DATA_LITTLE)
        return finding_set(finding, QKERN_E_FORMAT,
                           "an ELF file with undefined class %u or byte order %u",
                           (unsigned)header[IDENT_CLASS], (unsigned)header[IDENT_DATA]);
    status = bytes_read(file, 0, header, HEADER_SIZE, "ELF header", finding);
    if (status != QKERN_OK)
        return status;

    const uint32_t machine_number = bytes_le16(header + HEADER_MACHINE);
    const struct manifest_word *machine = manifest_word_find(machines, machine_number);
    if (machine == NULL || machine->arch == QKERN_ARCH_NONE || machine->arch != arch) {
        snprintf(number, sizeof number, "machine number %" PRIu32, machine_number);
        return manifest_refuse_machine(finding, "an ELF file", arch,
                                       machine != NULL ? machine->name : number);
    }
    const uint32_t type_number = bytes_le16(header + HEADER_TYPE);
    if (type_number != TYPE_SHARED) {
        const struct manifest_word *type = manifest_word_find(types, type_number);

        snprintf(number, sizeof number, "type %" PRIu32, type_number);
        finding_set(finding, QKERN_E_FORMAT, "an ELF file, but %s, not a shared object",
                    type != NULL ? type->name : number);
        return finding_compare(finding, "a shared object", type != NULL ? type->name : number);
    }
    return QKERN_OK;
}

/* One note, its parts checked against its segment. */
struct note {
    uint32_t type;
    uint32_t owner_size;
    char owner[sizeof QKERN_NOTE_OWNER]; /* its first bytes */
    struct bytes descriptor;
    uint64_t end; /* where the next one begins, perhaps beyond the segment */
};

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* Sizes in a note have 32 bits and offsets are within a file, so no sum here can wrap. */
static qkern_status note_read(const struct bytes *segment, uint64_t offset, uint64_t alignment,
                              struct note *note, struct finding *finding)
{
    uint8_t head[NOTE_HEAD_SIZE];
    struct bytes owner;

    qkern_status status = bytes_read(segment, offset, head, sizeof head, "note header", finding);
    if (status != QKERN_OK)
        return status;
    const uint32_t descriptor_size = bytes_le32(head + NOTE_DESCSZ);
    note->type = bytes_le32(head + NOTE_TYPE);
    note->owner_size = bytes_le32(head + NOTE_NAMESZ);

    const uint64_t owner_at = offset + NOTE_HEAD_SIZE;
    status = bytes_window(segment, owner_at, note->owner_size, "note owner", &owner, finding);
    if (status != QKERN_OK)
        return status;
    memset(note->owner, 0, sizeof note->owner);
    status = bytes_read(&owner, 0, note->owner,
                        owner.size < sizeof note->owner ? (size_t)owner.size : sizeof note->owner,
                        "note owner", finding);
    if (status != QKERN_OK)
        return status;

    const uint64_t descriptor_at = round_up(owner_at + note->owner_size, alignment);
    note->end = round_up(descriptor_at + descriptor_size, alignment);
    return bytes_window(segment, descriptor_at, descriptor_size, "note descriptor",
                        &note->descriptor, finding);
}

static bool note_is(const struct note *note, const char *owner, uint32_t type)
{
    return note->type == type && note->owner_size == strlen(owner) + 1 &&
           memcmp(note->owner, owner, note->owner_size) == 0;
}

static qkern_status build_id_read(const struct note *note, struct manifest_file *out,
                                  struct finding *finding)
{
    uint8_t id[BUILD_ID_LIMIT];
    const uint64_t size = note->descriptor.size;

    if (size > sizeof id)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a build-id of %" PRIu64 " bytes; the limit is %zu", size, sizeof id);
    qkern_status status = bytes_read(&note->descriptor, 0, id, (size_t)size, "build-id", finding);
    if (status != QKERN_OK)
        return status;
    bytes_hex(id, (size_t)size, out->build_id);
    return QKERN_OK;
}

/* What is being looked for in the notes of a file. */
struct search {
    uint32_t arch;
    struct manifest_file *out;
    uint64_t note_bytes; /* of the segments so far */
    bool found;
};

static qkern_status notes_walk(struct search *search, const struct bytes *segment,
                               uint64_t alignment, struct finding *finding)
{
    struct note note;

    for (uint64_t offset = 0; offset < segment->size; offset = note.end) {
        qkern_status status = note_read(segment, offset, alignment, &note, finding);

        if (status == QKERN_OK && note_is(&note, QKERN_NOTE_OWNER, QKERN_NOTE_TYPE)) {
            if (search->found)
                return finding_set(finding, QKERN_E_FORMAT,
                                   "two qkern manifests in one file; a plugin has one");
            search->found = true;
            status =
                manifest_judge(&note.descriptor, search->arch, &search->out->manifest, finding);
        }
        if (status == QKERN_OK && note_is(&note, "GNU", NOTE_GNU_BUILD_ID))
            status = build_id_read(&note, search->out, finding);
        if (status != QKERN_OK)
            return status;
    }
    return QKERN_OK;
}

static qkern_status segment_read(struct search *search, const struct bytes *file,
                                 const uint8_t *program, struct finding *finding)
{
    const uint32_t type = bytes_le32(program);
    const uint64_t alignment = bytes_le64(program + PROGRAM_ALIGN);
    const uint64_t size = bytes_le64(program + PROGRAM_FILESZ);
    struct bytes segment;

    if (type != PROGRAM_TYPE_LOAD && type != PROGRAM_TYPE_NOTE)
        return QKERN_OK;
    /* Loaded segments too: a mapping of what a truncated file lacks would end in SIGBUS. */
    qkern_status status = bytes_window(
        file, bytes_le64(program + PROGRAM_OFFSET), size,
        type == PROGRAM_TYPE_LOAD ? "loaded segment" : "note segment", &segment, finding);
    if (status != QKERN_OK)
        return status;
    if (type == PROGRAM_TYPE_LOAD)
        return QKERN_OK;
    if (size > MANIFEST_NOTE_BYTES_LIMIT - search->note_bytes)
        return finding_set(finding, QKERN_E_FORMAT, "more than %u bytes of notes",
                           MANIFEST_NOTE_BYTES_LIMIT);
    search->note_bytes += size;
    if (alignment > 4 && alignment != 8)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a note segment aligned to %" PRIu64 ", expected 4 or 8", alignment);
    return notes_walk(search, &segment, alignment == 8 ? 8 : 4, finding);
}

qkern_status manifest_elf(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                          struct finding *finding)
{
    struct search search = {.arch = arch, .out = out};
    struct bytes programs;
    uint8_t header[HEADER_SIZE], program[PROGRAM_SIZE];

    qkern_status status = header_read(file, arch, header, finding);
    if (status != QKERN_OK)
        return status;
    const uint32_t count = bytes_le16(header + HEADER_PHNUM);
    if (count > MANIFEST_PROGRAM_HEADER_LIMIT)
        return finding_set(finding, QKERN_E_FORMAT,
                           "an ELF file with %" PRIu32 " program headers; the limit is %u", count,
                           MANIFEST_PROGRAM_HEADER_LIMIT);
    if (count > 0 && bytes_le16(header + HEADER_PHENTSIZE) != PROGRAM_SIZE)
        return finding_set(finding, QKERN_E_FORMAT,
                           "an ELF file with program headers of %u bytes, expected %u",
                           (unsigned)bytes_le16(header + HEADER_PHENTSIZE), PROGRAM_SIZE);
    status = bytes_window(file, bytes_le64(header + HEADER_PHOFF), (uint64_t)count * PROGRAM_SIZE,
                          "program header table", &programs, finding);
    if (status != QKERN_OK)
        return status;

    for (uint32_t i = 0; i < count; i++) {
        status = bytes_read(&programs, (uint64_t)i * PROGRAM_SIZE, program, sizeof program,
                            "program header", finding);
        if (status == QKERN_OK)
            status = segment_read(&search, file, program, finding);
        if (status != QKERN_OK)
            return status;
    }
    if (!search.found)
        return finding_set(
            finding, QKERN_E_FORMAT,
            "an ELF shared object without a qkern manifest (a note of owner \"%s\"), "
            "so not a plugin",
            QKERN_NOTE_OWNER);
    return QKERN_OK;
}
