/* SPDX-License-Identifier: MIT */
/* Manifests in Mach-O files, thin and universal, all built here byte by byte. */
#include <string.h>

#include "cmocka_all.h"
#include "manifest_check.h"

#define X86 QKERN_ARCH_X86_64
#define ARM QKERN_ARCH_AARCH64

static void a_manifest_is_read_from_libraries_and_bundles(void **state)
{
    static const uint32_t archs[] = {X86, ARM};
    struct image image;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        image_macho(&image, archs[i]);
        check_accepted(&image, archs[i], IMAGE_UUID);
        image_put32(&image, 12, 8); /* MH_BUNDLE */
        check_accepted(&image, archs[i], IMAGE_UUID);
    }
    image_put32(&image, image.build_id_at - 8, 0x7777); /* no UUID: an unknown command */
    check_accepted(&image, ARM, "");
}

static void a_larger_manifest_is_read_as_far_as_it_is_known(void **state)
{
    struct image image;

    (void)state;
    image_macho(&image, X86);
    image_append(&image, "\1\2\3\4", 4);
    image_put32(&image, image.manifest_at, 132);
    image_put64(&image, image.section_at + 40, 132);
    check_accepted(&image, X86, IMAGE_UUID);
}

static void a_wrong_header_is_named(void **state)
{
    struct image image;

    (void)state;
    image_macho(&image, X86);
    const size_t id = image.commands_at, zero = id + 48, text = zero + 72;
    const size_t section = image.section_at, uuid = image.build_id_at - 8;
    const struct check_damage rows[] = {
        {0, 4, 0xfeedface, QKERN_E_ARCH, "a 32-bit Mach-O file", NULL, NULL},
        {0, 4, 0xcffaedfe, QKERN_E_ARCH, "a big-endian Mach-O file", NULL, NULL},
        {0, 4, 0xcefaedfe, QKERN_E_ARCH, "a big-endian Mach-O file", NULL, NULL},
        {4, 4, 0x0100000c, QKERN_E_ARCH, "a Mach-O file for AArch64, not for x86-64", "x86-64",
         "AArch64"},
        {4, 4, 7, QKERN_E_ARCH, "for 32-bit x86", "x86-64", "32-bit x86"},
        {4, 4, 0x12345, QKERN_E_ARCH, "for cpu type 0x12345", "x86-64", "cpu type 0x12345"},
        {12, 4, 1, QKERN_E_FORMAT, "an object file, not a dynamic library or bundle",
         "a dynamic library or bundle", "an object file"},
        {12, 4, 2, QKERN_E_FORMAT, "an executable, not", NULL, "an executable"},
        {12, 4, 4, QKERN_E_FORMAT, "a core dump, not", NULL, "a core dump"},
        {12, 4, 99, QKERN_E_FORMAT, "type 99, not", NULL, "type 99"},
        {16, 4, 1025, QKERN_E_FORMAT, "with 1025 load commands", "", ""},
        {16, 4, UINT32_MAX, QKERN_E_FORMAT, "with 4294967295 load commands", "", ""},
        {16, 4, 5, QKERN_E_FORMAT, "cut short: its load command", "", ""},
        {16, 4, 2, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {16, 4, 0, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {20, 4, 1048577, QKERN_E_FORMAT, "of 1048577 bytes", "", ""},
        {20, 4, 1048576, QKERN_E_FORMAT, "cut short: its load commands", "", ""},
        {20, 4, 100, QKERN_E_FORMAT, "cut short: its load command", "", ""},
        {id + 4, 4, 0, QKERN_E_FORMAT, "a load command of 0 bytes", "", ""},
        {id + 4, 4, 4, QKERN_E_FORMAT, "a load command of 4 bytes", "", ""},
        {id + 4, 4, 52, QKERN_E_FORMAT, "a load command of 52 bytes, expected a multiple of 8", "",
         ""},
        {id + 4, 4, 0xfffffff8, QKERN_E_FORMAT, "cut short: its load command", "", ""},
        {zero + 4, 4, 64, QKERN_E_FORMAT, "cut short: its segment command", "", ""},
        {zero + 48, 8, UINT64_MAX, QKERN_E_FORMAT, "cut short: its segment", "", ""},
        {text + 40, 8, 1, QKERN_E_FORMAT, "cut short: its segment", "", ""},
        {text + 40, 8, UINT64_MAX, QKERN_E_FORMAT, "cut short: its segment", "", ""},
        {text + 64, 4, 3, QKERN_E_FORMAT, "cut short: its section table", "", ""},
        {text + 64, 4, UINT32_MAX, QKERN_E_FORMAT, "cut short: its section table", "", ""},
        {text + 64, 4, 1, QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {text + 10, 1, 'D', QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {section + 2, 1, 'Q', QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {section + 7, 1, 's', QKERN_E_FORMAT, "without a qkern manifest", "", ""},
        {section + 40, 8, 127, QKERN_E_FORMAT, "its length in the file is 127", "at least 128",
         "127"},
        {section + 40, 8, 129, QKERN_E_FORMAT, "cut short: its section __TEXT,__qkern", "", ""},
        {section + 40, 8, UINT64_MAX, QKERN_E_FORMAT, "cut short: its section __TEXT,__qkern", "",
         ""},
        {section + 48, 4, UINT32_MAX, QKERN_E_FORMAT, "cut short: its section __TEXT,__qkern", "",
         ""},
        {uuid + 4, 4, 16, QKERN_E_FORMAT, "cut short: its UUID", "", ""},
        {image.manifest_at + 8, 4, 3, QKERN_E_ABI, "abi_major is 3, expected 1", "1", "3"},
        {image.manifest_at + 16, 4, ARM, QKERN_E_ARCH, "a plugin for AArch64", "x86-64", "AArch64"},
    };
    check_damages(&image, X86, rows, sizeof rows / sizeof rows[0]);
}

static void two_manifest_sections_are_one_too_many(void **state)
{
    struct image image;

    (void)state;
    image_macho(&image, X86);
    memcpy(image.bytes + image.section_at - 80, image.bytes + image.section_at, 80);
    check_refused(&image, X86, QKERN_E_FORMAT, "two qkern manifests in one file", "", "");
}

static void the_fitting_slice_of_a_universal_file_is_read(void **state)
{
    struct image slices[2], image;

    (void)state;
    image_macho(&slices[0], X86);
    image_macho(&slices[1], ARM);
    slices[1].bytes[slices[1].manifest_at + offsetof(struct qkern_manifest, tier)] = 7;
    for (int wide = 0; wide < 2; wide++) {
        image_universal(&image, wide, slices, 2);
        image.manifest_at = image.size - sizeof(struct qkern_manifest);
        check_accepted(&image, ARM, IMAGE_UUID);
        image.manifest_at = (wide ? 128 : 64) + slices[0].manifest_at;
        check_accepted(&image, X86, IMAGE_UUID);
    }
}

static void a_wrong_universal_file_is_named(void **state)
{
    struct image slices[3], image;

    (void)state;
    image_macho(&slices[0], X86);
    image_macho(&slices[1], X86);
    image_macho(&slices[2], X86);

    image_universal(&image, 0, slices, 1);
    check_refused(&image, ARM, QKERN_E_ARCH, "a universal Mach-O file for x86-64, not for AArch64",
                  "AArch64", "x86-64");
    image_put32(&slices[1], 4, 7);
    image_put32(&slices[2], 4, 0x99);
    image_universal(&image, 1, slices, 3);
    check_refused(&image, ARM, QKERN_E_ARCH, "not for AArch64", "AArch64",
                  "x86-64, 32-bit x86, cpu type 0x99");
    image_universal(&image, 0, slices, 0);
    check_refused(&image, X86, QKERN_E_ARCH, "a universal Mach-O file for none", "x86-64", "none");

    image_put32(&slices[1], 4, 0x01000007);
    image_universal(&image, 0, slices, 2);
    check_refused(&image, X86, QKERN_E_FORMAT, "2 slices for x86-64", "", "");

    image_universal(&image, 0, slices, 1);
    struct image damaged = image;
    image_put32_be(&damaged, 4, 33);
    check_refused(&damaged, X86, QKERN_E_FORMAT, "33 slices; the limit is 32", "", "");
    damaged = image;
    image_put32_be(&damaged, 4, 52); /* as a Java class begins */
    check_refused(&damaged, X86, QKERN_E_FORMAT, "a Java class", "", "");
    damaged = image;
    damaged.size = 8 + 19;
    check_refused(&damaged, X86, QKERN_E_FORMAT, "cut short: its slice table", "", "");
    damaged.size = 7;
    check_refused(&damaged, X86, QKERN_E_FORMAT, "cut short: its universal header", "", "");
    damaged = image;
    image_put32_be(&damaged, 8 + 8, UINT32_MAX); /* offset */
    check_refused(&damaged, X86, QKERN_E_FORMAT, "cut short: its slice", "", "");
    damaged = image;
    image_put32_be(&damaged, 8 + 12, 3); /* size */
    check_refused(&damaged, X86, QKERN_E_FORMAT, "cut short: its Mach-O header", "", "");
    damaged = image;
    image_put32_be(&damaged, 8 + 12, 31);
    check_refused(&damaged, X86, QKERN_E_FORMAT, "cut short: its Mach-O header", "", "");
    damaged = image;
    image_put32(&damaged, 64, 0xbebafeca); /* a universal file within it */
    check_refused(&damaged, X86, QKERN_E_FORMAT, "slice for x86-64 is no 64-bit Mach-O file", "",
                  "");
    damaged = image;
    image_put32(&damaged, 64 + 4, 0x0100000c); /* the slice contradicts the table */
    check_refused(&damaged, X86, QKERN_E_ARCH, "a Mach-O file for AArch64", NULL, NULL);

    image_universal(&image, 1, slices, 1);
    damaged = image;
    image_put64_be(&damaged, 8 + 8, UINT64_MAX);
    check_refused(&damaged, X86, QKERN_E_FORMAT, "cut short: its slice", "", "");
    damaged = image;
    image_put64_be(&damaged, 8 + 16, UINT64_MAX);
    check_refused(&damaged, X86, QKERN_E_FORMAT, "cut short: its slice", "", "");
}

static void a_slice_reads_nothing_outside_itself(void **state)
{
    struct image slice, image;

    (void)state;
    image_macho(&slice, X86);
    image_universal(&image, 0, &slice, 1);
    image_append(&image, NULL, 64); /* there, but not the slice's */
    image_put64(&image, 64 + slice.section_at + 40, 136);
    check_refused(&image, X86, QKERN_E_FORMAT, "cut short: its section __TEXT,__qkern", "", "");
}

static void many_slices_are_listed_as_far_as_there_is_room(void **state)
{
    struct image slices[1], image;

    (void)state;
    memset(&image, 0, sizeof image);
    image_macho(&slices[0], X86);
    image_append(&image, NULL, 8 + 32 * 20);
    image_put32_be(&image, 0, 0xcafebabe);
    image_put32_be(&image, 4, 32);
    for (size_t i = 0; i < 32; i++)
        image_put32_be(&image, 8 + 20 * i, 0xabcd0000 + (uint32_t)i);
    check_refused(&image, X86, QKERN_E_ARCH, "for cpu type 0xabcd0000, cpu type 0xabcd0001",
                  "x86-64", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_is_read_from_libraries_and_bundles),
        cmocka_unit_test(a_larger_manifest_is_read_as_far_as_it_is_known),
        cmocka_unit_test(a_wrong_header_is_named),
        cmocka_unit_test(two_manifest_sections_are_one_too_many),
        cmocka_unit_test(the_fitting_slice_of_a_universal_file_is_read),
        cmocka_unit_test(a_wrong_universal_file_is_named),
        cmocka_unit_test(a_slice_reads_nothing_outside_itself),
        cmocka_unit_test(many_slices_are_listed_as_far_as_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
