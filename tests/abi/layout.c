/* SPDX-License-Identifier: MIT */
/*
 * The layout of ABI 1.0 and 1.1, held at compile time and, so that a mismatch can be read, at run
 * time. Also writes the constants of the headers, to be compared with those of each minor
 * (constants-1.N.txt).
 *
 * Nothing here may ever change, only be added to: it describes files and programs that exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <qkern.h>
#include <qkern/blocks.h>

/* F(struct, field, offset, size), for pointers of 64 bits. */
#define FIELDS(F)                                                                                  \
    F(qkern_manifest, struct_size, 0, 4)                                                           \
    F(qkern_manifest, manifest_version, 4, 4)                                                      \
    F(qkern_manifest, abi_major, 8, 4)                                                             \
    F(qkern_manifest, abi_minor_needed, 12, 4)                                                     \
    F(qkern_manifest, arch, 16, 4)                                                                 \
    F(qkern_manifest, pointer_bits, 20, 4)                                                         \
    F(qkern_manifest, tier, 24, 4)                                                                 \
    F(qkern_manifest, reserved, 28, 4)                                                             \
    F(qkern_manifest, features, 32, 32)                                                            \
    F(qkern_manifest, name, 64, 32)                                                                \
    F(qkern_manifest, version, 96, 32)                                                             \
    F(qkern_note, name_size, 0, 4)                                                                 \
    F(qkern_note, desc_size, 4, 4)                                                                 \
    F(qkern_note, note_type, 8, 4)                                                                 \
    F(qkern_note, owner, 12, 8)                                                                    \
    F(qkern_note, manifest, 20, 128)                                                               \
    F(qkern_plugin, struct_size, 0, 4)                                                             \
    F(qkern_plugin, kernel_count, 4, 4)                                                            \
    F(qkern_plugin, manifest, 8, 8)                                                                \
    F(qkern_plugin, kernels, 16, 8)                                                                \
    F(qkern_plugin, get_extension, 24, 8)                                                          \
    F(qkern_kernel, struct_size, 0, 4)                                                             \
    F(qkern_kernel, type, 4, 4)                                                                    \
    F(qkern_kernel, block_elements, 8, 4)                                                          \
    F(qkern_kernel, block_bytes, 12, 4)                                                            \
    F(qkern_kernel, dot_type, 16, 4)                                                               \
    F(qkern_kernel, reserved, 20, 4)                                                               \
    F(qkern_kernel, quantize, 24, 8)                                                               \
    F(qkern_kernel, dequantize, 32, 8)                                                             \
    F(qkern_kernel, vec_dot, 40, 8)                                                                \
    F(qkern_kernel, quantize_weighted, 48, 8)                                                      \
    F(qkern_kernel, vec_dot_rows, 56, 8)                                                           \
    F(qkern_block_q4_0, d, 0, 2)                                                                   \
    F(qkern_block_q4_0, qs, 2, 16)                                                                 \
    F(qkern_block_q4_1, d, 0, 2)                                                                   \
    F(qkern_block_q4_1, m, 2, 2)                                                                   \
    F(qkern_block_q4_1, qs, 4, 16)                                                                 \
    F(qkern_block_q5_0, d, 0, 2)                                                                   \
    F(qkern_block_q5_0, qh, 2, 4)                                                                  \
    F(qkern_block_q5_0, qs, 6, 16)                                                                 \
    F(qkern_block_q5_1, d, 0, 2)                                                                   \
    F(qkern_block_q5_1, m, 2, 2)                                                                   \
    F(qkern_block_q5_1, qh, 4, 4)                                                                  \
    F(qkern_block_q5_1, qs, 8, 16)                                                                 \
    F(qkern_block_q8_0, d, 0, 2)                                                                   \
    F(qkern_block_q8_0, qs, 2, 32)                                                                 \
    F(qkern_block_q8_1, d, 0, 2)                                                                   \
    F(qkern_block_q8_1, s, 2, 2)                                                                   \
    F(qkern_block_q8_1, qs, 4, 32)                                                                 \
    F(qkern_block_q2_K, scales, 0, 16)                                                             \
    F(qkern_block_q2_K, qs, 16, 64)                                                                \
    F(qkern_block_q2_K, d, 80, 2)                                                                  \
    F(qkern_block_q2_K, dmin, 82, 2)                                                               \
    F(qkern_block_q3_K, hmask, 0, 32)                                                              \
    F(qkern_block_q3_K, qs, 32, 64)                                                                \
    F(qkern_block_q3_K, scales, 96, 12)                                                            \
    F(qkern_block_q3_K, d, 108, 2)                                                                 \
    F(qkern_block_q4_K, d, 0, 2)                                                                   \
    F(qkern_block_q4_K, dmin, 2, 2)                                                                \
    F(qkern_block_q4_K, scales, 4, 12)                                                             \
    F(qkern_block_q4_K, qs, 16, 128)                                                               \
    F(qkern_block_q5_K, d, 0, 2)                                                                   \
    F(qkern_block_q5_K, dmin, 2, 2)                                                                \
    F(qkern_block_q5_K, scales, 4, 12)                                                             \
    F(qkern_block_q5_K, qh, 16, 32)                                                                \
    F(qkern_block_q5_K, qs, 48, 128)                                                               \
    F(qkern_block_q6_K, ql, 0, 128)                                                                \
    F(qkern_block_q6_K, qh, 128, 64)                                                               \
    F(qkern_block_q6_K, scales, 192, 16)                                                           \
    F(qkern_block_q6_K, d, 208, 2)                                                                 \
    F(qkern_block_q8_K, d, 0, 4)                                                                   \
    F(qkern_block_q8_K, qs, 4, 256)                                                                \
    F(qkern_block_q8_K, bsums, 260, 32)

/* G(struct, last field in 1.0, size in 1.0): these grow at the end within a major. */
#define GROWING(G)                                                                                 \
    G(qkern_manifest, version, 128)                                                                \
    G(qkern_note, manifest, 148)                                                                   \
    G(qkern_plugin, get_extension, 32)                                                             \
    G(qkern_kernel, quantize_weighted, 56)

/* Likewise for what 1.1 appended. */
#define GROWN_IN_1_1(G) G(qkern_kernel, vec_dot_rows, 64)

/* B(struct, type, size): blocks never change. */
#define BLOCKS(B)                                                                                  \
    B(qkern_block_q4_0, Q4_0, 18)                                                                  \
    B(qkern_block_q4_1, Q4_1, 20)                                                                  \
    B(qkern_block_q5_0, Q5_0, 22)                                                                  \
    B(qkern_block_q5_1, Q5_1, 24)                                                                  \
    B(qkern_block_q8_0, Q8_0, 34)                                                                  \
    B(qkern_block_q8_1, Q8_1, 36)                                                                  \
    B(qkern_block_q2_K, Q2_K, 84)                                                                  \
    B(qkern_block_q3_K, Q3_K, 110)                                                                 \
    B(qkern_block_q4_K, Q4_K, 144)                                                                 \
    B(qkern_block_q5_K, Q5_K, 176)                                                                 \
    B(qkern_block_q6_K, Q6_K, 210)                                                                 \
    B(qkern_block_q8_K, Q8_K, 292)

#define CHECK_FIELD(S, FIELD, OFFSET, SIZE)                                                        \
    _Static_assert(offsetof(struct S, FIELD) == (OFFSET), #S "." #FIELD " has moved");             \
    _Static_assert(sizeof(((struct S *)0)->FIELD) == (SIZE), #S "." #FIELD " has another size");
FIELDS(CHECK_FIELD)

/* No padding at the end, so that a field appended later never overlays it. */
#define CHECK_GROWING(S, LAST, SIZE)                                                               \
    _Static_assert(offsetof(struct S, LAST) + sizeof(((struct S *)0)->LAST) == (SIZE),             \
                   #S " has padding at its end");                                                  \
    _Static_assert(QKERN_ABI_MINOR == 0 ? sizeof(struct S) == (SIZE) : sizeof(struct S) >= (SIZE), \
                   #S " has another size");
GROWING(CHECK_GROWING)

#define CHECK_GROWN_IN_1_1(S, LAST, SIZE)                                                          \
    _Static_assert(offsetof(struct S, LAST) + sizeof(((struct S *)0)->LAST) == (SIZE),             \
                   #S " has padding at its end");                                                  \
    _Static_assert(QKERN_ABI_MINOR == 1 ? sizeof(struct S) == (SIZE) : sizeof(struct S) >= (SIZE), \
                   #S " has another size");
GROWN_IN_1_1(CHECK_GROWN_IN_1_1)

#define CHECK_BLOCK(S, TYPE, SIZE)                                                                 \
    _Static_assert(sizeof(struct S) == (SIZE), #S " has another size");                            \
    _Static_assert(QKERN_BLOCK_BYTES_##TYPE == (SIZE), #TYPE " has another size");                 \
    _Static_assert(_Alignof(struct S) == 1, #S " must fit any address");
BLOCKS(CHECK_BLOCK)

_Static_assert(QKERN_KERNEL_SIZE_MIN == 24, "the mandatory part of a kernel has changed");
_Static_assert(QKERN_PLUGIN_SIZE_MIN == 24, "the mandatory part of an entry has changed");
_Static_assert(sizeof(struct qkern_manifest) % 4 == 0 && _Alignof(struct qkern_manifest) == 4,
               "a manifest stands at a multiple of four in a note");

static void fields_stand_where_version_1_0_put_them(void **state)
{
    (void)state;
    print_message("%-18s %-18s %6s %5s\n", "struct", "field", "offset", "size");
#define SHOW_FIELD(S, FIELD, OFFSET, SIZE)                                                         \
    print_message("%-18s %-18s %6zu %5zu\n", #S, #FIELD, offsetof(struct S, FIELD),                \
                  sizeof(((struct S *)0)->FIELD));                                                 \
    assert_int_equal(offsetof(struct S, FIELD), OFFSET);                                           \
    assert_int_equal(sizeof(((struct S *)0)->FIELD), SIZE);
    FIELDS(SHOW_FIELD)
#define SHOW_BLOCK(S, TYPE, SIZE)                                                                  \
    print_message("%-37s %12zu\n", #S, sizeof(struct S));                                          \
    assert_int_equal(sizeof(struct S), SIZE);
    BLOCKS(SHOW_BLOCK)
}

/* The headers' constants, one "name value" a line. */
static const struct constant {
    const char *name;
    uint64_t value;
} constants[] = {
#define TYPE(NAME, NUMBER, ELEMENTS, BYTES, DOT)                                                   \
    {"type " #NAME, QKERN_TYPE_##NAME}, {"elements " #NAME, ELEMENTS}, {"bytes " #NAME, BYTES},    \
        {"dot " #NAME, DOT},
    QKERN_TYPES(TYPE)
#define X86(IDENTIFIER, NAME, WORD, BIT) {"x86 " NAME, (uint64_t)(WORD) << 32 | 1u << (BIT)},
        QKERN_X86_FEATURES(X86)
#define ARM(IDENTIFIER, NAME, WORD, BIT) {"aarch64 " NAME, (uint64_t)(WORD) << 32 | 1u << (BIT)},
            QKERN_AARCH64_FEATURES(ARM)
#define TIER(IDENTIFIER, NAME, ARCH, TIER) {"tier " NAME, (uint64_t)(ARCH) << 32 | (TIER)},
                QKERN_TIERS(TIER)
#define STATUS(IDENTIFIER, VALUE, TEXT) {"status " #IDENTIFIER, QKERN_##IDENTIFIER},
                    QKERN_STATUSES(STATUS)
#define STAGE(IDENTIFIER, VALUE, NAME) {"stage " NAME, QKERN_STAGE_##IDENTIFIER},
                        QKERN_STAGES(STAGE)
#define ENTRY(IDENTIFIER, VALUE, NAME) {"entry " NAME, QKERN_ENTRY_##IDENTIFIER},
                            QKERN_ENTRIES(ENTRY){"abi major", QKERN_ABI_MAJOR},
    {"manifest version", QKERN_MANIFEST_VERSION},
    {"note type", QKERN_NOTE_TYPE},
    {"name size", QKERN_NAME_SIZE},
    {"feature words", QKERN_FEATURE_WORDS},
    {"arch x86_64", QKERN_ARCH_X86_64},
    {"arch aarch64", QKERN_ARCH_AARCH64},
    {"type none", QKERN_TYPE_NONE},
};

static void compare_constants(const char *path, size_t expected_count)
{
    FILE *golden = fopen(path, "r");
    char line[128];
    size_t count = 0;

    assert_non_null(golden);
    while (fgets(line, sizeof line, golden) != NULL) {
        if (line[0] == '#')
            continue;
        char *tab = strchr(line, '\t');
        assert_non_null(tab);
        *tab = '\0';
        char *end = NULL;
        unsigned long long value = strtoull(tab + 1, &end, 10);
        assert_true(end > tab + 1 && *end == '\n');
        const struct constant *found = NULL;
        for (size_t i = 0; i < sizeof constants / sizeof *constants && found == NULL; i++)
            if (strcmp(constants[i].name, line) == 0)
                found = &constants[i];
        if (found == NULL || found->value != value)
            fail_msg("%s: %llu in %s, now %s", line, value, path, found ? "another value" : "gone");
        count++;
    }
    fclose(golden);
    assert_int_equal(count, expected_count);
}

static void constants_of_each_minor_keep_name_and_value(void **state)
{
    (void)state;
    compare_constants(QKERN_TEST_SOURCE_DIR "/abi/constants-1.0.txt", 239);
    compare_constants(QKERN_TEST_SOURCE_DIR "/abi/constants-1.1.txt", 1);
}

static void entry_symbol_and_note_owner_are_those_of_major_1(void **state)
{
    (void)state;
    assert_string_equal(QKERN_PLUGIN_ENTRY_NAME, "qkern_plugin_v1");
    assert_string_equal(QKERN_NOTE_OWNER, "qkern");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--constants") == 0) {
        for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
            printf("%s\t%llu\n", constants[i].name, (unsigned long long)constants[i].value);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_stand_where_version_1_0_put_them),
        cmocka_unit_test(constants_of_each_minor_keep_name_and_value),
        cmocka_unit_test(entry_symbol_and_note_owner_are_those_of_major_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
