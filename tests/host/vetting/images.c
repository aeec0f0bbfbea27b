/* SPDX-License-Identifier: MIT */
/* Plugin files built byte by byte. Numbers are those of the ELF and Mach-O specifications. */
#include "images.h"

#include <stdlib.h>
#include <string.h>

void image_put16(struct image *image, size_t at, uint32_t value)
{
    image->bytes[at] = (uint8_t)value;
    image->bytes[at + 1] = (uint8_t)(value >> 8);
}

void image_put32(struct image *image, size_t at, uint32_t value)
{
    image_put16(image, at, value & 0xffff);
    image_put16(image, at + 2, value >> 16);
}

void image_put64(struct image *image, size_t at, uint64_t value)
{
    image_put32(image, at, (uint32_t)value);
    image_put32(image, at + 4, (uint32_t)(value >> 32));
}

void image_put32_be(struct image *image, size_t at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        image->bytes[at + i] = (uint8_t)(value >> (24 - 8 * i));
}

void image_put64_be(struct image *image, size_t at, uint64_t value)
{
    image_put32_be(image, at, (uint32_t)(value >> 32));
    image_put32_be(image, at + 4, (uint32_t)value);
}

uint32_t image_get32(const struct image *image, size_t at)
{
    uint32_t value;

    memcpy(&value, image->bytes + at, sizeof value);
    return value;
}

size_t image_append(struct image *image, const void *from, size_t size)
{
    const size_t at = image->size;

    if (size > sizeof image->bytes - at)
        abort(); /* a test that needs a larger image must raise its size */
    if (from != NULL)
        memcpy(image->bytes + at, from, size);
    else
        memset(image->bytes + at, 0, size);
    image->size += size;
    return at;
}

static void image_align(struct image *image, size_t start, size_t alignment)
{
    while ((image->size - start) % alignment != 0)
        image_append(image, NULL, 1);
}

struct qkern_manifest image_manifest(uint32_t arch)
{
    const struct qkern_manifest manifest = {
        .struct_size = sizeof(struct qkern_manifest),
        .manifest_version = QKERN_MANIFEST_VERSION,
        .abi_major = QKERN_ABI_MAJOR,
        .abi_minor_needed = 0,
        .arch = arch,
        .pointer_bits = 64,
        .tier = 200,
        .features = {0x2380, 1},
        .name = "sample",
        .version = "1.2.3",
    };
    return manifest;
}

/* --- ELF -------------------------------------------------------------------------------------- */

static void program_add(struct image *image, uint32_t type, uint64_t offset, uint64_t size,
                        uint64_t alignment)
{
    const uint32_t count = image->bytes[56];
    const size_t at = 64 + 56 * (size_t)count;

    image_put32(image, at, type);
    image_put64(image, at + 8, offset);
    image_put64(image, at + 16, offset); /* mapped at the address of the same number */
    image_put64(image, at + 32, size);
    image_put64(image, at + 40, size);
    image_put64(image, at + 48, alignment);
    image_put16(image, 56, count + 1);
}

void image_elf_begin(struct image *image, uint32_t arch, uint32_t segments)
{
    static const uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

    memset(image, 0, sizeof *image);
    image_append(image, ident, sizeof ident);
    image_append(image, NULL, 64 - sizeof ident);
    image_put16(image, 16, 3);                                     /* ET_DYN */
    image_put16(image, 18, arch == QKERN_ARCH_AARCH64 ? 183 : 62); /* machine */
    image_put32(image, 20, 1);                                     /* version */
    image_put64(image, 32, 64);                                    /* program headers */
    image_put16(image, 52, 64);                                    /* size of this header */
    image_put16(image, 54, 56);                                    /* size of a program header */
    image->dynamic_at = image_append(image, NULL, 56 * (size_t)(segments + 2));
    image->programs_at = image->dynamic_at + 56;
    program_add(image, 2, image_append(image, NULL, 16), 16, 8); /* PT_DYNAMIC: only an end */
    program_add(image, 1, 0, image->size, 4096);                 /* PT_LOAD; grows with the file */
}

void image_segment_begin(struct image *image, uint64_t alignment)
{
    image_align(image, 0, 8);
    program_add(image, 4, image->size, 0, alignment); /* PT_NOTE */
}

static size_t segment_header(const struct image *image)
{
    return 64 + 56 * (size_t)(image->bytes[56] - 1);
}

size_t image_note(struct image *image, const char *owner, uint32_t type, const void *descriptor,
                  size_t size)
{
    const size_t header = segment_header(image);
    const size_t start = image_get32(image, header + 8);
    const size_t alignment = image_get32(image, header + 48) == 8 ? 8 : 4;

    image_align(image, start, alignment);
    const size_t at = image_append(image, NULL, 12);
    image_put32(image, at, (uint32_t)strlen(owner) + 1);
    image_put32(image, at + 4, (uint32_t)size);
    image_put32(image, at + 8, type);
    image_append(image, owner, strlen(owner) + 1);
    image_align(image, start, alignment);
    return image_append(image, descriptor, size);
}

void image_segment_end(struct image *image)
{
    const size_t header = segment_header(image);
    const uint64_t size = image->size - image_get32(image, header + 8);

    image_put64(image, header + 32, size);
    image_put64(image, header + 40, size);
    image_put64(image, image->programs_at + 32, image->size);
    image_put64(image, image->programs_at + 40, image->size);
}

void image_elf(struct image *image, uint32_t arch, uint64_t alignment)
{
    const struct qkern_manifest manifest = image_manifest(arch);
    uint8_t build_id[20];

    for (size_t i = 0; i < sizeof build_id; i++)
        build_id[i] = (uint8_t)i;
    image_elf_begin(image, arch, 2);
    image_segment_begin(image, alignment);
    image_note(image, "Another", 1, "12345", 5);
    image->build_id_at = image_note(image, "GNU", 3, build_id, sizeof build_id);
    image_segment_end(image);
    image_segment_begin(image, alignment);
    image->manifest_at = image_note(image, "qkern", 1, &manifest, sizeof manifest);
    image_segment_end(image);
    image->note_at = image_get32(image, segment_header(image) + 8);
}

/* --- Mach-O ----------------------------------------------------------------------------------- */

static size_t command_add(struct image *image, uint32_t command, size_t size)
{
    const size_t at = image_append(image, NULL, size);

    image_put32(image, at, command);
    image_put32(image, at + 4, (uint32_t)size);
    image_put32(image, 16, image_get32(image, 16) + 1);
    image_put32(image, 20, image_get32(image, 20) + (uint32_t)size);
    return at;
}

static void name_put(struct image *image, size_t at, const char *name)
{
    memcpy(image->bytes + at, name, strlen(name));
}

void image_macho(struct image *image, uint32_t arch)
{
    const struct qkern_manifest manifest = image_manifest(arch);

    memset(image, 0, sizeof *image);
    image_append(image, NULL, 32);
    image_put32(image, 0, 0xfeedfacf);
    image_put32(image, 4, arch == QKERN_ARCH_AARCH64 ? 0x0100000c : 0x01000007);
    image_put32(image, 12, 6);                         /* MH_DYLIB */
    image->commands_at = command_add(image, 0x0d, 48); /* LC_ID_DYLIB */
    name_put(image, command_add(image, 0x19, 72) + 8, "__PAGEZERO");

    const size_t text = command_add(image, 0x19, 72 + 2 * 80);
    name_put(image, text + 8, "__TEXT");
    image_put32(image, text + 64, 2);
    name_put(image, text + 72, "__text");
    name_put(image, text + 72 + 16, "__TEXT");
    image->section_at = text + 72 + 80;
    name_put(image, image->section_at, "__qkern");
    name_put(image, image->section_at + 16, "__TEXT");

    image->build_id_at = command_add(image, 0x1b, 24) + 8; /* LC_UUID */
    for (size_t i = 0; i < 16; i++)
        image->bytes[image->build_id_at + i] = (uint8_t)i;

    image->manifest_at = image_append(image, &manifest, sizeof manifest);
    image_put64(image, image->section_at + 40, sizeof manifest);
    image_put32(image, image->section_at + 48, (uint32_t)image->manifest_at);
    image_put64(image, text + 48, image->size); /* __TEXT is the whole file */
}

void image_universal(struct image *image, int wide, const struct image *slices, uint32_t count)
{
    const size_t entry_size = wide ? 32 : 20;

    memset(image, 0, sizeof *image);
    image_append(image, NULL, 8 + count * entry_size);
    image_put32_be(image, 0, wide ? 0xcafebabf : 0xcafebabe);
    image_put32_be(image, 4, count);
    for (uint32_t i = 0; i < count; i++) {
        const size_t entry = 8 + i * entry_size;

        image_align(image, 0, 64);
        image_put32_be(image, entry, image_get32(&slices[i], 4));
        if (wide) {
            image_put64_be(image, entry + 8, image->size);
            image_put64_be(image, entry + 16, slices[i].size);
        } else {
            image_put32_be(image, entry + 8, (uint32_t)image->size);
            image_put32_be(image, entry + 12, (uint32_t)slices[i].size);
        }
        image_append(image, slices[i].bytes, slices[i].size);
    }
}
