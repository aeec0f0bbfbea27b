/* SPDX-License-Identifier: MIT */
/*
 * The manifest and build-id of an ELF shared object: its file header, its program headers, and the
 * notes of its PT_NOTE segments. The program headers of a file that has a manifest must also make
 * sense, because the dynamic loader takes them as they are. Offsets below are those of the 64-bit
 * layout.
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
#define PROGRAM_VADDR 16
#define PROGRAM_FILESZ 32
#define PROGRAM_MEMSZ 40
#define PROGRAM_ALIGN 48
#define PROGRAM_TYPE_LOAD 1u
#define PROGRAM_TYPE_DYNAMIC 2u
#define PROGRAM_TYPE_NOTE 4u
#define PROGRAM_TYPE_PHDR 6u
#define DYNAMIC_ENTRY_SIZE 16u

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

/* --- segments --------------------------------------------------------------------------------- */

struct program {
    uint32_t type;
    uint64_t offset, vaddr, filesz, memsz, align;
};

/* The program header table, read at once. */
struct programs {
    uint32_t count;
    uint64_t offset; /* in the file */
    uint8_t bytes[MANIFEST_PROGRAM_HEADER_LIMIT * PROGRAM_SIZE];
};

static struct program program_get(const struct programs *programs, uint32_t number)
{
    const uint8_t *at = programs->bytes + (size_t)number * PROGRAM_SIZE;

    return (struct program){
        .type = bytes_le32(at),
        .offset = bytes_le64(at + PROGRAM_OFFSET),
        .vaddr = bytes_le64(at + PROGRAM_VADDR),
        .filesz = bytes_le64(at + PROGRAM_FILESZ),
        .memsz = bytes_le64(at + PROGRAM_MEMSZ),
        .align = bytes_le64(at + PROGRAM_ALIGN),
    };
}

/* One loaded segment by itself, and that it begins where the one before it has ended. */
static qkern_status load_check(const struct program *load, uint64_t previous_end,
                               struct finding *finding)
{
    const uint64_t align = load->align;

    if (load->filesz > load->memsz)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a damaged ELF file: the loaded segment at 0x%" PRIx64 " has %" PRIu64
                           " bytes in the file, more than its %" PRIu64 " in memory",
                           load->vaddr, load->filesz, load->memsz);
    /* Half of all addresses, so that rounding up to pages cannot wrap either. */
    if (load->vaddr > INT64_MAX || load->memsz > INT64_MAX - load->vaddr)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a damaged ELF file: the loaded segment at 0x%" PRIx64 ", %" PRIu64
                           " bytes, reaches beyond the end of memory",
                           load->vaddr, load->memsz);
    if (load->vaddr < previous_end)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a damaged ELF file: the loaded segment at 0x%" PRIx64
                           " begins before the end of the one before it, 0x%" PRIx64,
                           load->vaddr, previous_end);
    if (align > 1 &&
        ((align & (align - 1)) != 0 || ((load->vaddr - load->offset) & (align - 1)) != 0))
        return finding_set(finding, QKERN_E_FORMAT,
                           "a damaged ELF file: the loaded segment at 0x%" PRIx64
                           ", offset 0x%" PRIx64 ", does not fit its alignment 0x%" PRIx64,
                           load->vaddr, load->offset, align);
    return QKERN_OK;
}

static qkern_status loads_check(const struct programs *programs, struct finding *finding)
{
    uint64_t end = 0;
    bool found = false;

    for (uint32_t i = 0; i < programs->count; i++) {
        const struct program program = program_get(programs, i);

        if (program.type != PROGRAM_TYPE_LOAD)
            continue;
        qkern_status status = load_check(&program, end, finding);
        if (status != QKERN_OK)
            return status;
        end = program.vaddr + program.memsz;
        found = true;
    }
    if (!found)
        return finding_set(finding, QKERN_E_FORMAT, "a damaged ELF file: it has no loaded segment");
    return QKERN_OK;
}

/* Whether a part of the file is mapped to that address, as a whole, by one loaded segment. */
static bool part_is_loaded(const struct programs *programs, uint64_t offset, uint64_t vaddr,
                           uint64_t size)
{
    for (uint32_t i = 0; i < programs->count; i++) {
        const struct program load = program_get(programs, i);
        const uint64_t within = vaddr - load.vaddr;

        if (load.type == PROGRAM_TYPE_LOAD && vaddr >= load.vaddr && within <= load.filesz &&
            size <= load.filesz - within && offset - load.offset == within)
            return true;
    }
    return false;
}

/* What the dynamic loader relies on before it looks at anything else. */
static qkern_status programs_check(const struct programs *programs, struct finding *finding)
{
    uint32_t dynamics = 0;

    qkern_status status = loads_check(programs, finding);
    if (status != QKERN_OK)
        return status;
    for (uint32_t i = 0; i < programs->count; i++) {
        const struct program program = program_get(programs, i);

        if (program.type == PROGRAM_TYPE_DYNAMIC && ++dynamics == 1 &&
            (program.memsz < DYNAMIC_ENTRY_SIZE ||
             !part_is_loaded(programs, program.offset, program.vaddr, program.memsz)))
            return finding_set(finding, QKERN_E_FORMAT,
                               "a damaged ELF file: its dynamic section at 0x%" PRIx64 ", %" PRIu64
                               " bytes, is not inside one loaded segment",
                               program.vaddr, program.memsz);
        /* The loader takes the table from there, with as many headers as the file header says. */
        if (program.type == PROGRAM_TYPE_PHDR &&
            (program.offset != programs->offset ||
             !part_is_loaded(programs, program.offset, program.vaddr,
                             (uint64_t)programs->count * PROGRAM_SIZE)))
            return finding_set(finding, QKERN_E_FORMAT,
                               "a damaged ELF file: its program header table at 0x%" PRIx64
                               " is not inside one loaded segment",
                               program.vaddr);
    }
    if (dynamics != 1)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a damaged ELF file: it has %" PRIu32 " dynamic sections, expected 1",
                           dynamics);
    return QKERN_OK;
}

/* Looks for the manifest in a segment of notes; makes sure that a loaded one is in the file. */
static qkern_status segment_read(struct search *search, const struct bytes *file,
                                 const struct program *program, struct finding *finding)
{
    struct bytes segment;

    if (program->type != PROGRAM_TYPE_LOAD && program->type != PROGRAM_TYPE_NOTE)
        return QKERN_OK;
    /* Loaded segments too: a mapping of what a truncated file lacks would end in SIGBUS. */
    qkern_status status = bytes_window(
        file, program->offset, program->filesz,
        program->type == PROGRAM_TYPE_LOAD ? "loaded segment" : "note segment", &segment, finding);
    if (status != QKERN_OK)
        return status;
    if (program->type == PROGRAM_TYPE_LOAD)
        return QKERN_OK;
    if (program->filesz > MANIFEST_NOTE_BYTES_LIMIT - search->note_bytes)
        return finding_set(finding, QKERN_E_FORMAT, "more than %u bytes of notes",
                           MANIFEST_NOTE_BYTES_LIMIT);
    search->note_bytes += program->filesz;
    if (program->align > 4 && program->align != 8)
        return finding_set(finding, QKERN_E_FORMAT,
                           "a note segment aligned to %" PRIu64 ", expected 4 or 8",
                           program->align);
    return notes_walk(search, &segment, program->align == 8 ? 8 : 4, finding);
}

static qkern_status programs_read(const struct bytes *file, const uint8_t *header,
                                  struct programs *programs, struct finding *finding)
{
    const uint32_t count = bytes_le16(header + HEADER_PHNUM);

    if (count > MANIFEST_PROGRAM_HEADER_LIMIT)
        return finding_set(finding, QKERN_E_FORMAT,
                           "an ELF file with %" PRIu32 " program headers; the limit is %u", count,
                           MANIFEST_PROGRAM_HEADER_LIMIT);
    if (count > 0 && bytes_le16(header + HEADER_PHENTSIZE) != PROGRAM_SIZE)
        return finding_set(finding, QKERN_E_FORMAT,
                           "an ELF file with program headers of %u bytes, expected %u",
                           (unsigned)bytes_le16(header + HEADER_PHENTSIZE), PROGRAM_SIZE);
    programs->count = count;
    programs->offset = bytes_le64(header + HEADER_PHOFF);
    return bytes_read(file, programs->offset, programs->bytes, (size_t)count * PROGRAM_SIZE,
                      "program header table", finding);
}

qkern_status manifest_elf(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                          struct finding *finding)
{
    struct search search = {.arch = arch, .out = out};
    struct programs programs;
    uint8_t header[HEADER_SIZE];

    programs.count = 0;
    qkern_status status = header_read(file, arch, header, finding);
    if (status == QKERN_OK)
        status = programs_read(file, header, &programs, finding);
    if (status != QKERN_OK)
        return status;
    for (uint32_t i = 0; i < programs.count; i++) {
        const struct program program = program_get(&programs, i);

        status = segment_read(&search, file, &program, finding);
        if (status != QKERN_OK)
            return status;
    }
    /* First: most files that are no plugins are whole. */
    if (!search.found)
        return finding_set(
            finding, QKERN_E_FORMAT,
            "an ELF shared object without a qkern manifest (a note of owner \"%s\"), "
            "so not a plugin",
            QKERN_NOTE_OWNER);
    return programs_check(&programs, finding);
}
