/* SPDX-License-Identifier: MIT */
/* Plugin files built byte by byte, to be read, damaged, and used as seeds of the fuzzer. */
#ifndef QKERN_TESTS_IMAGES_H
#define QKERN_TESTS_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include <qkern/manifest.h>

struct image {
    uint8_t bytes[8192];
    size_t size;
    size_t dynamic_at;  /* ELF: the program header table, PT_DYNAMIC first */
    size_t programs_at; /* ELF: the next one, PT_LOAD; then those of the notes */
    size_t note_at;     /* ELF: the qkern note, 20 bytes before its manifest */
    size_t commands_at; /* Mach-O: the load commands */
    size_t section_at;  /* Mach-O: the entry of section __qkern */
    size_t manifest_at; /* the manifest itself */
    size_t build_id_at; /* the bytes of the build-id or UUID */
};

/* Little-endian and big-endian fields. */
void image_put16(struct image *image, size_t at, uint32_t value);
void image_put32(struct image *image, size_t at, uint32_t value);
void image_put64(struct image *image, size_t at, uint64_t value);
void image_put32_be(struct image *image, size_t at, uint32_t value);
void image_put64_be(struct image *image, size_t at, uint64_t value);
uint32_t image_get32(const struct image *image, size_t at);

/* Appends size bytes (zeros if from is NULL) and returns their offset. */
size_t image_append(struct image *image, const void *from, size_t size);

/* A valid manifest: "sample" 1.2.3, some features and a tier. */
struct qkern_manifest image_manifest(uint32_t arch);

/* ELF in steps: a file with room for program headers, then segments of notes. */
void image_elf_begin(struct image *image, uint32_t arch, uint32_t segments);
void image_segment_begin(struct image *image, uint64_t alignment);
size_t image_note(struct image *image, const char *owner, uint32_t type, const void *descriptor,
                  size_t size);
void image_segment_end(struct image *image);

/* Build-id 00 01 .. 13 hexadecimal, in ELF files. */
#define IMAGE_BUILD_ID "000102030405060708090a0b0c0d0e0f10111213"
/* UUID of Mach-O files. */
#define IMAGE_UUID "000102030405060708090a0b0c0d0e0f"

/*
 * A whole valid file. The notes are padded to `alignment` (4 or 8); a note of another owner comes
 * first, then the build-id, then the qkern note.
 */
void image_elf(struct image *image, uint32_t arch, uint64_t alignment);

/* A thin Mach-O dynamic library: a foreign command, __PAGEZERO, __TEXT with two sections, LC_UUID.
 */
void image_macho(struct image *image, uint32_t arch);

/* A universal file of thin ones, each at a multiple of 64; wide: 64-bit entries. */
void image_universal(struct image *image, int wide, const struct image *slices, uint32_t count);

#endif
