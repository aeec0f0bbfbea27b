/* SPDX-License-Identifier: MIT */
/* Manifests in ELF files: valid ones in all their forms, and each kind of wrong file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "manifest_check.h"

#define X86 QKERN_ARCH_X86_64
#define ARM QKERN_ARCH_AARCH64

static struct image text_image(const char *text, size_t size)
{
    struct image image = {.size = size};

    memcpy(image.bytes, text, size);
    return image;
}

/* An ELF file with one note segment that holds a qkern note of this manifest and size. */
static struct image manifest_image(const void *manifest, size_t size)
{
    struct image image;

    image_elf_begin(&image, X86, 1);
    image_segment_begin(&image, 4);
    image.manifest_at = image_note(&image, "qkern", 1, manifest, size);
    image_segment_end(&image);
    return image;
}

/* --- what is accepted ------------------------------------------------------------------------- */

static void a_manifest_is_read_with_notes_of_either_alignment(void **state)
{
    static const uint32_t archs[] = {X86, ARM};
    static const uint64_t alignments[] = {4, 8};
    struct image image;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2; k++) {
            image_elf(&image, archs[i], alignments[k]);
            check_accepted(&image, archs[i], IMAGE_BUILD_ID);
        }
    }
    /* Alignments 0, 1 and 2 mean 4, as for the kernel. */
    for (uint32_t alignment = 0; alignment < 3; alignment++) {
        image_elf(&image, X86, 4);
        image_put64(&image, image.programs_at + 56 + 48, alignment);
        image_put64(&image, image.programs_at + 112 + 48, alignment);
        check_accepted(&image, X86, IMAGE_BUILD_ID);
    }
}

static void the_fields_are_those_of_the_file(void **state)
{
    struct manifest_file out;
    struct finding finding;
    struct image image;

    (void)state;
    image_elf(&image, X86, 4);
    assert_int_equal(manifest_read_memory(image.bytes, image.size, X86, &out, &finding), QKERN_OK);
    assert_int_equal(out.manifest.struct_size, 128);
    assert_int_equal(out.manifest.manifest_version, 1);
    assert_int_equal(out.manifest.abi_major, 1);
    assert_int_equal(out.manifest.abi_minor_needed, 0);
    assert_int_equal(out.manifest.arch, X86);
    assert_int_equal(out.manifest.pointer_bits, 64);
    assert_int_equal(out.manifest.tier, 200);
    assert_int_equal(out.manifest.features[0], 0x2380);
    assert_int_equal(out.manifest.features[1], 1);
    assert_string_equal(out.manifest.name, "sample");
    assert_string_equal(out.manifest.version, "1.2.3");
}

static void a_manifest_from_the_future_is_read_as_far_as_it_is_known(void **state)
{
    uint8_t larger[200];
    struct qkern_manifest manifest = image_manifest(X86);

    (void)state;
    manifest.struct_size = sizeof larger;
    manifest.abi_minor_needed = 99; /* the loader's to judge */
    manifest.features[7] = 0x40000000;
    manifest.tier = UINT32_MAX;
    memset(larger, 0xee, sizeof larger);
    memcpy(larger, &manifest, sizeof manifest);
    struct image image = manifest_image(larger, sizeof larger);
    check_accepted(&image, X86, "");
}

static void a_build_id_may_be_missing_or_of_any_size_to_the_limit(void **state)
{
    struct qkern_manifest manifest = image_manifest(X86);
    uint8_t id[65];
    char text[129] = "";
    struct image image;

    (void)state;
    memset(id, 0xff, sizeof id);
    for (size_t size = 0; size <= sizeof id; size++) {
        image_elf_begin(&image, X86, 1);
        image_segment_begin(&image, 4);
        image_note(&image, "GNU", 3, id, size);
        image.manifest_at = image_note(&image, "qkern", 1, &manifest, sizeof manifest);
        image_segment_end(&image);
        if (size == 65) {
            check_refused(&image, X86, QKERN_E_FORMAT, "a build-id of 65 bytes; the limit is 64",
                          "", "");
            continue;
        }
        memset(text, 'f', 2 * size);
        text[2 * size] = '\0';
        check_accepted(&image, X86, text);
    }
}

static void names_may_fill_their_field_but_for_the_end(void **state)
{
    struct qkern_manifest manifest = image_manifest(X86);

    (void)state;
    memcpy(manifest.name, "abcdefghijklmnopqrstuvwxyz0-9_.", 32);
    memcpy(manifest.version, "1 !\"#$%&'()*+,-./:;<=>?@[]^_`{~", 32);
    struct image image = manifest_image(&manifest, sizeof manifest);
    check_accepted(&image, X86, "");
    memset(manifest.version, 0, sizeof manifest.version);
    image = manifest_image(&manifest, sizeof manifest);
    check_accepted(&image, X86, "");
}

static void notes_of_other_owners_and_types_are_passed_over(void **state)
{
    struct qkern_manifest manifest = image_manifest(X86);
    struct image image;

    (void)state;
    image_elf_begin(&image, X86, 2);
    image_segment_begin(&image, 4);
    image_note(&image, "qkern", 2, "later", 5);
    image_note(&image, "qkerns", 1, "another", 7);
    image_note(&image, "GNU", 1, "abi tag", 7);
    image_note(&image, "", 1, "", 0);
    image_segment_end(&image);
    image_segment_begin(&image, 4);
    image.manifest_at = image_note(&image, "qkern", 1, &manifest, sizeof manifest);
    image_note(&image, "after", 1, "five.", 5); /* ends unpadded */
    image_segment_end(&image);
    check_accepted(&image, X86, "");
}

/* --- wrong files (see the names of the rows) ---------------------------------------------------
 */

static void a_file_of_another_kind_is_called_what_it_is(void **state)
{
#define ROW(CONTENT, STATUS, TEXT)                                                                 \
    {                                                                                              \
        CONTENT, sizeof(CONTENT) - 1, STATUS, TEXT                                                 \
    }
    static const struct {
        const char *content;
        size_t size;
        qkern_status status;
        const char *text;
    } rows[] = {
        ROW("", QKERN_E_FORMAT, "an empty file"),
        ROW("# settings\nisa=avx2\n", QKERN_E_FORMAT, "a text file"),
        ROW("INPUT(libm.so.6)", QKERN_E_FORMAT, "a text file"),
        ROW("na\xc3\xafve\ttext\r\n\f", QKERN_E_FORMAT, "a text file"),
        ROW("x", QKERN_E_FORMAT, "a text file"),
        ROW("\177EL", QKERN_E_FORMAT, "neither an ELF nor a Mach-O file"),
        ROW("\1\2\3\4\5\6", QKERN_E_FORMAT, "neither an ELF nor a Mach-O file"),
        ROW("text\0text", QKERN_E_FORMAT, "neither an ELF nor a Mach-O file"),
        ROW("\177ELF", QKERN_E_FORMAT, "cut short: its ELF header"),
        ROW("\177ELF\2\1\1\0\0\0\0\0\0\0\0", QKERN_E_FORMAT, "cut short: its ELF header"),
        ROW("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e", QKERN_E_FORMAT, "cut short: its ELF header"),
        ROW("\177ELF\1\1\1\0\0\0\0\0\0\0\0\0", QKERN_E_ARCH, "a 32-bit ELF file"),
        ROW("\177ELF\2\2\1\0\0\0\0\0\0\0\0\0", QKERN_E_ARCH, "a big-endian ELF file"),
        ROW("!<arch>\nx", QKERN_E_FORMAT, "a static library (ar archive)"),
        ROW("!<thin>\nx", QKERN_E_FORMAT, "a static library (thin ar archive)"),
        ROW("GGUF\3\0\0\0", QKERN_E_FORMAT, "a GGUF model file"),
        ROW("MZ\x90\0", QKERN_E_FORMAT, "a Windows program or DLL"),
        ROW("\x1f\x8b\x08\0", QKERN_E_FORMAT, "a gzip file"),
        ROW("PK\3\4", QKERN_E_FORMAT, "a zip file"),
    };
#undef ROW

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct image image = text_image(rows[i].content, rows[i].size);

        print_message("%s\n", rows[i].text);
        check_refused(&image, X86, rows[i].status, rows[i].text, NULL, NULL);
    }
}

static void what_is_no_regular_file_is_refused(void **state)
{
    static const struct {
        const char *path;
        qkern_status status;
        const char *text;
    } rows[] = {
        {"/", QKERN_E_FORMAT, "a folder, not a plugin"},
        {"/dev/null", QKERN_E_FORMAT, "a device, pipe or socket"},
        {NULL, QKERN_E_IO, "cannot look at the open file: "},
    };
    struct manifest_file out;
    struct finding finding;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int descriptor = rows[i].path != NULL ? open(rows[i].path, O_RDONLY) : -1;

        assert_int_equal(manifest_read(descriptor, X86, &out, &finding), rows[i].status);
        assert_non_null(strstr(finding.text, rows[i].text));
        if (descriptor >= 0)
            close(descriptor);
    }
}

static void a_wrong_elf_header_is_named(void **state)
{
    struct image image;

    (void)state;
    image_elf(&image, X86, 4);
    const size_t load = image.programs_at, first = load + 56, second = load + 112;
    const struct check_damage rows[] = {
        {4, 1, 1, QKERN_E_ARCH, "a 32-bit ELF file, not for x86-64", "64-bit", "32-bit"},
        {5, 1, 2, QKERN_E_ARCH, "a big-endian ELF file, not for x86-64", "little-endian",
         "big-endian"},
        {4, 1, 0, QKERN_E_FORMAT, "undefined class 0 or byte order 1", "", ""},
        {5, 1, 3, QKERN_E_FORMAT, "undefined class 2 or byte order 3", "", ""},
        {16, 2, 1, QKERN_E_FORMAT, "an object file, not a shared object", "a shared object",
         "an object file"},
        {16, 2, 2, QKERN_E_FORMAT, "an executable, not a shared object", "a shared object",
         "an executable"},
        {16, 2, 4, QKERN_E_FORMAT, "a core dump, not a shared object", "a shared object",
         "a core dump"},
        {16, 2, 0xfe00, QKERN_E_FORMAT, "type 65024, not a shared object", "a shared object",
         "type 65024"},
        {18, 2, 183, QKERN_E_ARCH, "an ELF file for AArch64, not for x86-64", "x86-64", "AArch64"},
        {18, 2, 243, QKERN_E_ARCH, "an ELF file for RISC-V", "x86-64", "RISC-V"},
        {18, 2, 9999, QKERN_E_ARCH, "for machine number 9999", "x86-64", "machine number 9999"},
        {18, 2, 0, QKERN_E_ARCH, "for machine number 0", "x86-64", "machine number 0"},
        {32, 8, UINT64_MAX, QKERN_E_FORMAT, "cut short: its program header table", "", ""},
        {32, 8, image.size - 223, QKERN_E_FORMAT, "cut short: its program header table", "", ""},
        {54, 2, 32, QKERN_E_FORMAT, "program headers of 32 bytes, expected 56", "", ""},
        {56, 2, 0, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {56, 2, 2, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {56, 2, 256, QKERN_E_FORMAT, "cut short: its program header table", "", ""},
        {56, 2, 257, QKERN_E_FORMAT, "257 program headers; the limit is 256", "", ""},
        {56, 2, 65535, QKERN_E_FORMAT, "65535 program headers; the limit is 256", "", ""},
        {load + 8, 8, 1, QKERN_E_FORMAT, "the file is cut short: its loaded segment", "", ""},
        {load + 8, 8, UINT64_MAX, QKERN_E_FORMAT, "the file is cut short: its loaded segment", "",
         ""},
        {load + 32, 8, UINT64_MAX, QKERN_E_FORMAT, "the file is cut short: its loaded segment", "",
         ""},
        {first + 8, 8, UINT64_MAX - 3, QKERN_E_FORMAT, "cut short: its note segment", "", ""},
        {first + 32, 8, UINT64_MAX, QKERN_E_FORMAT, "cut short: its note segment", "", ""},
        {second + 32, 8, 149, QKERN_E_FORMAT, "cut short: its note segment", "", ""},
        {second + 48, 8, 16, QKERN_E_FORMAT, "aligned to 16, expected 4 or 8", "", ""},
        {second + 48, 8, UINT64_MAX, QKERN_E_FORMAT, "aligned to 18446744073709551615", "", ""},
        {second, 4, 6, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
    };
    check_damages(&image, X86, rows, sizeof rows / sizeof rows[0]);
    image_elf(&image, ARM, 8);
    check_refused(&image, X86, QKERN_E_ARCH, "an ELF file for AArch64, not for x86-64", "x86-64",
                  "AArch64");
    image_elf(&image, X86, 8);
    check_refused(&image, ARM, QKERN_E_ARCH, "an ELF file for x86-64, not for AArch64", "AArch64",
                  "x86-64");
    check_refused(&image, QKERN_ARCH_NONE, QKERN_E_ARCH, "not for an unknown architecture", NULL,
                  "x86-64");
    check_refused(&image, 7, QKERN_E_ARCH, "not for an unknown architecture", NULL, "x86-64");
}

/* What the dynamic loader would take as it is, and crash. */
static void program_headers_that_make_no_sense_are_refused(void **state)
{
    struct image image;

    (void)state;
    image_elf(&image, X86, 4);
    const size_t dynamic = image.dynamic_at, load = image.programs_at;
    const uint64_t size = image.size;
    const struct check_damage rows[] = {
        {load + 40, 8, size - 1, QKERN_E_FORMAT, "bytes in the file, more than its", "", ""},
        {load + 40, 8, 0, QKERN_E_FORMAT, "bytes in the file, more than its 0 in memory", "", ""},
        {load + 40, 8, UINT64_MAX, QKERN_E_FORMAT, "reaches beyond the end of memory", "", ""},
        {load + 40, 8, 1ull << 63, QKERN_E_FORMAT, "reaches beyond the end of memory", "", ""},
        {load + 16, 8, UINT64_MAX - 4095, QKERN_E_FORMAT, "at 0xfffffffffffff000, ", "", ""},
        {load + 16, 8, INT64_MAX - 15, QKERN_E_FORMAT, "beyond the end of memory", "", ""},
        {load + 48, 8, 4097, QKERN_E_FORMAT, "does not fit its alignment 0x1001", "", ""},
        {load + 48, 8, UINT64_MAX, QKERN_E_FORMAT, "does not fit its alignment 0xff", "", ""},
        {load + 16, 8, 8, QKERN_E_FORMAT,
         "the loaded segment at 0x8, offset 0x0, does not fit its alignment 0x1000", "", ""},
        {load, 4, 0, QKERN_E_FORMAT, "it has no loaded segment", "", ""},
        {load, 4, 2, QKERN_E_FORMAT, "it has no loaded segment", "", ""},
        {load, 4, 6, QKERN_E_FORMAT, "it has no loaded segment", "", ""},
        {load + 16, 8, 4096, QKERN_E_FORMAT, "its dynamic section at 0x", "", ""},
        {dynamic, 4, 0, QKERN_E_FORMAT, "it has 0 dynamic sections, expected 1", "", ""},
        {dynamic + 8, 8, 64, QKERN_E_FORMAT, "16 bytes, is not inside one loaded segment", "", ""},
        {dynamic + 16, 8, 64, QKERN_E_FORMAT, "its dynamic section at 0x40, 16 bytes, is", "", ""},
        {dynamic + 16, 8, size - 15, QKERN_E_FORMAT, "not inside one loaded segment", "", ""},
        {dynamic + 16, 8, UINT64_MAX, QKERN_E_FORMAT, "not inside one loaded segment", "", ""},
        {dynamic + 40, 8, size, QKERN_E_FORMAT, "not inside one loaded segment", "", ""},
        {dynamic + 40, 8, UINT64_MAX, QKERN_E_FORMAT, "not inside one loaded segment", "", ""},
        {dynamic + 40, 8, 15, QKERN_E_FORMAT, "15 bytes, is not inside one loaded segment", "", ""},
    };
    check_damages(&image, X86, rows, sizeof rows / sizeof rows[0]);
    for (uint32_t alignment = 0; alignment <= 1; alignment++) {
        image_put64(&image, load + 48, alignment); /* both mean none */
        check_accepted(&image, X86, IMAGE_BUILD_ID);
    }
}

/* An image with a fourth program header of that type, otherwise a copy of number `from`. */
static struct image image_with_another(size_t from, uint32_t type)
{
    struct image image;

    image_elf_begin(&image, X86, 2);
    image_segment_begin(&image, 4);
    const struct qkern_manifest manifest = image_manifest(X86);
    image.manifest_at = image_note(&image, "qkern", 1, &manifest, sizeof manifest);
    image_segment_end(&image);
    memcpy(image.bytes + 64 + 3 * 56, image.bytes + 64 + from * 56, 56);
    image_put32(&image, 64 + 3 * 56, type);
    image_put16(&image, 56, 4);
    return image;
}

static void program_headers_that_contradict_each_other_are_refused(void **state)
{
    const size_t another = 64 + 3 * 56;

    (void)state;
    struct image image = image_with_another(0, 2);
    check_refused(&image, X86, QKERN_E_FORMAT, "it has 2 dynamic sections, expected 1", "", "");

    image = image_with_another(1, 1);
    check_refused(&image, X86, QKERN_E_FORMAT, "begins before the end of the one before it", "",
                  "");
    image_put64(&image, another + 8, 0);
    image_put64(&image, another + 16, 4096);
    check_accepted(&image, X86, "");
    image_put64(&image, image.programs_at + 40, 4096); /* exactly up to it */
    check_accepted(&image, X86, "");
    image_put64(&image, image.programs_at + 40, 4097);
    check_refused(&image, X86, QKERN_E_FORMAT, "at 0x1000 begins before the end of the one before",
                  "", "");

    /* PT_PHDR: the table that the loader would use must be the one that was read. */
    image = image_with_another(1, 6);
    image_put64(&image, another + 8, 64);
    image_put64(&image, another + 16, 64);
    check_accepted(&image, X86, "");
    const struct check_damage rows[] = {
        {another + 8, 8, 120, QKERN_E_FORMAT, "its program header table at 0x40 is not", "", ""},
        {another + 16, 8, 120, QKERN_E_FORMAT, "its program header table at 0x78 is not", "", ""},
        {another + 16, 8, 1 << 20, QKERN_E_FORMAT, "not inside one loaded segment", "", ""},
        {image.programs_at + 32, 8, 64 + 4 * 56 - 1, QKERN_E_FORMAT, "loaded segment", "", ""},
    };
    check_damages(&image, X86, rows, sizeof rows / sizeof rows[0]);
}

static void a_wrong_note_is_named(void **state)
{
    struct image image;

    (void)state;
    image_elf(&image, X86, 4);
    const size_t note = image.note_at;
    const struct check_damage rows[] = {
        {note, 4, UINT32_MAX, QKERN_E_FORMAT,
         "the note segment is cut short: its note owner (offset 12, 4294967295 bytes) goes beyond "
         "its end at 148",
         "", ""},
        {note + 4, 4, UINT32_MAX, QKERN_E_FORMAT,
         "the note segment is cut short: its note descriptor (offset 20, 4294967295 bytes) goes "
         "beyond its end at 148",
         "", ""},
        {note + 4, 4, 129, QKERN_E_FORMAT, "cut short: its note descriptor", "", ""},
        {note + 4, 4, 124, QKERN_E_FORMAT, "its length in the file is 124, expected at least 128",
         "at least 128", "124"},
        {note + 4, 4, 7, QKERN_E_FORMAT, "its length in the file is 7, expected at least 128",
         "at least 128", "7"},
        {note + 4, 4, 0, QKERN_E_FORMAT, "its length in the file is 0, expected at least 128",
         "at least 128", "0"},
        {note + 8, 4, 2, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {note, 4, 5, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {note + 12, 1, 'Q', QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {image.programs_at + 112 + 32, 8, 140, QKERN_E_FORMAT, "cut short: its note descriptor", "",
         ""},
        {image.programs_at + 112 + 32, 8, 16, QKERN_E_FORMAT, "cut short: its note owner", "", ""},
        {image.programs_at + 112 + 32, 8, 11, QKERN_E_FORMAT, "cut short: its note header", "", ""},
        {image.programs_at + 112 + 32, 8, 0, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
    };
    check_damages(&image, X86, rows, sizeof rows / sizeof rows[0]);
}

static void two_manifests_are_one_too_many(void **state)
{
    struct qkern_manifest manifest = image_manifest(X86);
    struct image image;

    (void)state;
    for (uint32_t segments = 1; segments <= 2; segments++) {
        image_elf_begin(&image, X86, segments);
        image_segment_begin(&image, 4);
        image_note(&image, "qkern", 1, &manifest, sizeof manifest);
        if (segments == 2) {
            image_segment_end(&image);
            image_segment_begin(&image, 4);
        }
        image_note(&image, "qkern", 1, &manifest, sizeof manifest);
        image_segment_end(&image);
        check_refused(&image, X86, QKERN_E_FORMAT, "two qkern manifests in one file", "", "");
    }
}

static void a_wrong_manifest_field_is_named(void **state)
{
#define AT(FIELD) image.manifest_at + offsetof(struct qkern_manifest, FIELD)
    struct image image;

    (void)state;
    image_elf(&image, X86, 4);
    const struct check_damage rows[] = {
        {AT(struct_size), 4, 127, QKERN_E_FORMAT, "struct_size is 127, expected at least 128",
         "at least 128", "127"},
        {AT(struct_size), 4, 0, QKERN_E_FORMAT, "struct_size is 0", "at least 128", "0"},
        {AT(struct_size), 4, 132, QKERN_E_FORMAT,
         "struct_size is 132, expected no more than its length in the file, 128", NULL, "132"},
        {AT(struct_size), 4, UINT32_MAX, QKERN_E_FORMAT, "struct_size is 4294967295", NULL,
         "4294967295"},
        {AT(manifest_version), 4, 2, QKERN_E_ABI, "manifest_version is 2, expected 1", "1", "2"},
        {AT(manifest_version), 4, 0, QKERN_E_ABI, "manifest_version is 0, expected 1", "1", "0"},
        {AT(abi_major), 4, 2, QKERN_E_ABI, "abi_major is 2, expected 1", "1", "2"},
        {AT(abi_major), 4, 0, QKERN_E_ABI, "abi_major is 0, expected 1", "1", "0"},
        {AT(arch), 4, ARM, QKERN_E_ARCH, "a plugin for AArch64, not for x86-64", "x86-64",
         "AArch64"},
        {AT(arch), 4, 0, QKERN_E_ARCH, "a plugin for an unknown architecture", "x86-64", NULL},
        {AT(arch), 4, 77, QKERN_E_ARCH, "a plugin for an unknown architecture", "x86-64", NULL},
        {AT(pointer_bits), 4, 32, QKERN_E_ARCH, "pointer_bits is 32, expected 64", "64", "32"},
        {AT(reserved), 4, 1, QKERN_E_FORMAT, "reserved is 1, expected 0", "0", "1"},
        {AT(name), 1, 0, QKERN_E_FORMAT, "the name is empty", "", ""},
        {AT(name) + 2, 1, 'M', QKERN_E_FORMAT, "the name has byte 0x4d at position 2", "", ""},
        {AT(name) + 2, 1, '/', QKERN_E_FORMAT, "the name has byte 0x2f at position 2", "", ""},
        {AT(name) + 2, 1, ' ', QKERN_E_FORMAT, "the name has byte 0x20 at position 2", "", ""},
        {AT(name) + 2, 1, '{', QKERN_E_FORMAT, "the name has byte 0x7b at position 2", "", ""},
        {AT(name) + 2, 1, ':', QKERN_E_FORMAT, "the name has byte 0x3a at position 2", "", ""},
        {AT(name) + 2, 1, 0xff, QKERN_E_FORMAT, "the name has byte 0xff at position 2", "", ""},
        {AT(name) + 7, 1, 'x', QKERN_E_FORMAT, "the name has byte 0x78 behind its end", "", ""},
        {AT(name) + 31, 1, 1, QKERN_E_FORMAT, "the name has byte 0x01 behind its end", "", ""},
        {AT(version) + 1, 1, 0x1f, QKERN_E_FORMAT, "the version has byte 0x1f at position 1", "",
         ""},
        {AT(version) + 1, 1, 0x7f, QKERN_E_FORMAT, "the version has byte 0x7f at position 1", "",
         ""},
        {AT(version) + 31, 1, '1', QKERN_E_FORMAT, "the version has byte 0x31 behind its end", "",
         ""},
    };
#undef AT
    check_damages(&image, X86, rows, sizeof rows / sizeof rows[0]);
}

static void a_text_without_end_is_refused(void **state)
{
    struct qkern_manifest manifest = image_manifest(X86);

    (void)state;
    memset(manifest.name, 'a', sizeof manifest.name);
    struct image image = manifest_image(&manifest, sizeof manifest);
    check_refused(&image, X86, QKERN_E_FORMAT, "the name does not end within its 32 bytes", "", "");
    manifest = image_manifest(X86);
    memset(manifest.version, '1', sizeof manifest.version);
    image = manifest_image(&manifest, sizeof manifest);
    check_refused(&image, X86, QKERN_E_FORMAT, "the version does not end within its 32 bytes", "",
                  "");
}

static void another_manifest_version_is_told_before_anything_else(void **state)
{
    const uint32_t future[] = {8, 2};

    (void)state;
    struct image image = manifest_image(future, sizeof future);
    check_refused(&image, X86, QKERN_E_ABI, "manifest_version is 2, expected 1", "1", "2");
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void no_more_notes_are_read_than_the_limit(void **state)
{
    const size_t note_bytes = MANIFEST_NOTE_BYTES_LIMIT;
    const size_t size = 64 + 3 * 56 + 16 + note_bytes + 4;
    struct image head;
    uint8_t *bytes = calloc(1, size);
    struct manifest_file out;
    struct finding finding;

    (void)state;
    assert_non_null(bytes);
    /* Two segments over the same empty notes: the first alone is within the limit. */
    image_elf_begin(&head, X86, 1);
    image_segment_begin(&head, 4);
    image_segment_end(&head);
    memcpy(bytes, head.bytes, head.size);
    static const struct {
        uint32_t first, second;
        const char *text;
    } rows[] = {
        {65532, 0, "without a qkern manifest"},
        {65532, 12, "more than 65536 bytes of notes"},
        {65540, 0, "more than 65536 bytes of notes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memcpy(bytes + 64, head.bytes + head.programs_at + 56, 56);
        memcpy(bytes + 64 + 56, head.bytes + head.programs_at + 56, 56);
        memcpy(bytes + 64 + 32, &rows[i].first, 4);
        memcpy(bytes + 64 + 56 + 32, &rows[i].second, 4);
        assert_int_equal(manifest_read_memory(bytes, size, X86, &out, &finding), QKERN_E_FORMAT);
        if (strstr(finding.text, rows[i].text) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", finding.text, rows[i].text);
    }
    free(bytes);
}

static void offsets_beyond_4_gib_are_followed(void **state)
{
    const uint64_t far = UINT64_C(5) << 30;
    struct manifest_file out;
    struct finding finding;
    struct image image;

    (void)state;
    image_elf(&image, X86, 4);
    const size_t note_size = image.size - image.note_at;
    image_put64(&image, image.programs_at + 112 + 8, far);
    const int descriptor = check_file(image.bytes, image.note_at);
    assert_int_equal(pwrite(descriptor, image.bytes + image.note_at, note_size, (off_t)far),
                     note_size); /* sparse */
    if (manifest_read(descriptor, X86, &out, &finding) != QKERN_OK)
        fail_msg("%s", finding.text);
    assert_string_equal(out.manifest.name, "sample");
    assert_string_equal(out.build_id, IMAGE_BUILD_ID);
    close(descriptor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_is_read_with_notes_of_either_alignment),
        cmocka_unit_test(the_fields_are_those_of_the_file),
        cmocka_unit_test(a_manifest_from_the_future_is_read_as_far_as_it_is_known),
        cmocka_unit_test(a_build_id_may_be_missing_or_of_any_size_to_the_limit),
        cmocka_unit_test(names_may_fill_their_field_but_for_the_end),
        cmocka_unit_test(notes_of_other_owners_and_types_are_passed_over),
        cmocka_unit_test(a_file_of_another_kind_is_called_what_it_is),
        cmocka_unit_test(what_is_no_regular_file_is_refused),
        cmocka_unit_test(a_wrong_elf_header_is_named),
        cmocka_unit_test(program_headers_that_make_no_sense_are_refused),
        cmocka_unit_test(program_headers_that_contradict_each_other_are_refused),
        cmocka_unit_test(a_wrong_note_is_named),
        cmocka_unit_test(two_manifests_are_one_too_many),
        cmocka_unit_test(a_wrong_manifest_field_is_named),
        cmocka_unit_test(a_text_without_end_is_refused),
        cmocka_unit_test(another_manifest_version_is_told_before_anything_else),
        cmocka_unit_test(no_more_notes_are_read_than_the_limit),
        cmocka_unit_test(offsets_beyond_4_gib_are_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
