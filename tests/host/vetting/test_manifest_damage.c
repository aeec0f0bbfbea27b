/* SPDX-License-Identifier: MIT */
/*
 * Plugin files cut at every length, with every bit of the manifest flipped, and changed or failing
 * while they are read. pread is wrapped by the linker, so that reads can be made to come in pieces,
 * to be interrupted, to fail, and to find the file shorter than it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "manifest_check.h"

#define X86 QKERN_ARCH_X86_64
#define ARM QKERN_ARCH_AARCH64

/* --- reading that goes wrong ------------------------------------------------------------------ */

static struct {
    unsigned calls;
    size_t piece;         /* largest read, 0 for any */
    unsigned interrupts;  /* EINTR before each read so often */
    unsigned fail_at;     /* the call that fails with EIO, 0 for none */
    unsigned shrink_at;   /* from this call on the file is empty, 0 for never */
    unsigned interrupted; /* so far, before the next read */
} play;

ssize_t __real_pread(int descriptor, void *to, size_t size, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t size, off_t offset);

ssize_t __wrap_pread(int descriptor, void *to, size_t size, off_t offset)
{
    if (play.interrupted < play.interrupts) {
        play.interrupted++;
        errno = EINTR;
        return -1;
    }
    play.interrupted = 0;
    play.calls++;
    if (play.calls == play.fail_at) {
        errno = EIO;
        return -1;
    }
    if (play.shrink_at != 0 && play.calls >= play.shrink_at)
        return 0;
    if (play.piece != 0 && size > play.piece)
        size = play.piece;
    return __real_pread(descriptor, to, size, offset);
}

static int play_begin(void **state)
{
    (void)state;
    memset(&play, 0, sizeof play);
    return 0;
}

typedef void (*image_maker)(struct image *image, uint32_t arch);

static void elf_make(struct image *image, uint32_t arch)
{
    image_elf(image, arch, 8);
}

static void universal_make(struct image *image, uint32_t arch)
{
    struct image slice;

    image_macho(&slice, arch);
    image_universal(image, 1, &slice, 1);
    image->manifest_at = image->size - sizeof(struct qkern_manifest);
}

static const image_maker makers[] = {elf_make, image_macho, universal_make};
#define MAKER_COUNT (sizeof makers / sizeof makers[0])

static void reads_in_pieces_and_interrupted_give_the_same(void **state)
{
    struct image image;
    struct manifest_file out;
    struct finding finding;

    (void)state;
    for (size_t i = 0; i < MAKER_COUNT; i++) {
        makers[i](&image, X86);
        const int descriptor = check_file(image.bytes, image.size);
        for (play.piece = 1; play.piece <= 3; play.piece++) {
            play.interrupts = 2;
            if (manifest_read(descriptor, X86, &out, &finding) != QKERN_OK)
                fail_msg("%s", finding.text);
            assert_memory_equal(&out.manifest, image.bytes + image.manifest_at,
                                sizeof out.manifest);
        }
        close(descriptor);
    }
    assert_true(play.calls > 1000);
}

static void a_file_that_shrinks_while_being_read_is_refused(void **state)
{
    struct image image;
    struct manifest_file out;
    struct finding finding;

    (void)state;
    for (size_t i = 0; i < MAKER_COUNT; i++) {
        makers[i](&image, X86);
        const int descriptor = check_file(image.bytes, image.size);
        unsigned refused = 0;

        for (play.shrink_at = 1;; play.shrink_at++) {
            play.calls = 0;
            if (manifest_read(descriptor, X86, &out, &finding) == QKERN_OK)
                break;
            assert_int_equal(finding.status, QKERN_E_FORMAT);
            assert_non_null(strstr(finding.text, "became shorter while its "));
            refused++;
        }
        assert_int_equal(refused, play.calls); /* each of the reads */
        assert_true(refused >= 5);
        close(descriptor);
    }
}

static void a_read_error_is_reported_as_one(void **state)
{
    struct image image;
    struct manifest_file out;
    struct finding finding;

    (void)state;
    for (size_t i = 0; i < MAKER_COUNT; i++) {
        makers[i](&image, X86);
        const int descriptor = check_file(image.bytes, image.size);

        for (play.fail_at = 1;; play.fail_at++) {
            play.calls = 0;
            if (manifest_read(descriptor, X86, &out, &finding) == QKERN_OK)
                break;
            assert_int_equal(finding.status, QKERN_E_IO);
            assert_non_null(strstr(finding.text, "cannot read its "));
            assert_non_null(strstr(finding.text, strerror(EIO)));
        }
        assert_int_equal(play.fail_at, play.calls + 1);
        close(descriptor);
    }
}

static void a_file_cut_while_open_is_refused(void **state)
{
    struct image image;
    struct manifest_file out;
    struct finding finding;

    (void)state;
    image_elf(&image, X86, 4);
    const int descriptor = check_file(image.bytes, image.size);
    assert_int_equal(manifest_read(descriptor, X86, &out, &finding), QKERN_OK);
    assert_int_equal(ftruncate(descriptor, (off_t)image.manifest_at + 100), 0);
    assert_int_equal(manifest_read(descriptor, X86, &out, &finding), QKERN_E_FORMAT);
    assert_non_null(strstr(finding.text, "cut short: its loaded segment"));
    close(descriptor);
}

static void a_hostile_file_costs_a_bounded_number_of_reads(void **state)
{
    struct image image;
    struct manifest_file out;
    struct finding finding;

    (void)state;
    /* As many note segments as allowed, over as many empty notes as allowed. */
    image_elf_begin(&image, X86, 0);
    image_put16(&image, 56, MANIFEST_PROGRAM_HEADER_LIMIT);
    const size_t table = MANIFEST_PROGRAM_HEADER_LIMIT * 56;
    const size_t size = 64 + table + MANIFEST_NOTE_BYTES_LIMIT;
    uint8_t *bytes = calloc(1, size);
    assert_non_null(bytes);
    memcpy(bytes, image.bytes, 64);
    for (size_t i = 0; i < MANIFEST_PROGRAM_HEADER_LIMIT; i++) {
        const uint64_t fields[] = {4, 64 + table, 0, 0, 252, 252, 4};

        memcpy(bytes + 64 + i * 56, fields, sizeof fields);
    }
    const int descriptor = check_file(bytes, size);
    free(bytes);
    assert_int_equal(manifest_read(descriptor, X86, &out, &finding), QKERN_E_FORMAT);
    assert_non_null(strstr(finding.text, "without a qkern manifest"));
    assert_in_range(play.calls, 256, 3 + 256 + MANIFEST_NOTE_BYTES_LIMIT / 12);
    close(descriptor);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void a_file_cut_at_any_length_is_refused(void **state)
{
    struct image image;

    (void)state;
    for (size_t i = 0; i < MAKER_COUNT; i++) {
        makers[i](&image, X86);
        assert_int_equal(check_truncations(image.bytes, image.size, X86), 0);
        makers[i](&image, ARM);
        assert_int_equal(check_truncations(image.bytes, image.size, ARM), 0);
    }
}

static void a_flipped_bit_of_the_note_is_refused_or_is_just_that_bit(void **state)
{
    struct image image;

    (void)state;
    image_elf(&image, X86, 4);
    check_bit_flips(&image, X86, 20);
    image_elf(&image, ARM, 8);
    check_bit_flips(&image, ARM, 24);
    image_macho(&image, X86);
    check_bit_flips(&image, X86, 0);
}

/* --- a plugin as it is really built ----------------------------------------------------------- */

static uint8_t *file_load(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat status;

    if (file == NULL || fstat(fileno(file), &status) != 0)
        fail_msg("%s: %s", path, strerror(errno));
    *size = (size_t)status.st_size;
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

#define SCALAR QKERN_TEST_PLUGIN_DIR "/qkern-scalar.so"

static void a_built_plugin_is_read(void **state)
{
    struct manifest_file out;
    struct finding finding;
    const int descriptor = open(SCALAR, O_RDONLY);

    (void)state;
    assert_true(descriptor >= 0);
    if (manifest_read(descriptor, QKERN_ARCH_THIS, &out, &finding) != QKERN_OK)
        fail_msg("%s", finding.text);
    assert_string_equal(out.manifest.name, "scalar");
    assert_string_equal(out.manifest.version, QKERN_VERSION);
    assert_int_equal(out.manifest.tier, QKERN_TIER_SCALAR);
    assert_int_equal(out.manifest.arch, QKERN_ARCH_THIS);
    assert_int_equal(strlen(out.build_id), 40);
    assert_int_equal(strspn(out.build_id, "0123456789abcdef"), 40);
    close(descriptor);
}

static void a_built_plugin_cut_short_is_refused_or_reads_the_same(void **state)
{
    size_t size, accepted;
    uint8_t *bytes = file_load(SCALAR, &size);

    (void)state;
    accepted = check_truncations(bytes, size, QKERN_ARCH_THIS);
    print_message("%zu of %zu lengths hold all that is loaded\n", accepted, size);
    assert_true(accepted < size);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reads_in_pieces_and_interrupted_give_the_same, play_begin),
        cmocka_unit_test_setup(a_file_that_shrinks_while_being_read_is_refused, play_begin),
        cmocka_unit_test_setup(a_read_error_is_reported_as_one, play_begin),
        cmocka_unit_test_setup(a_file_cut_while_open_is_refused, play_begin),
        cmocka_unit_test_setup(a_hostile_file_costs_a_bounded_number_of_reads, play_begin),
        cmocka_unit_test_setup(a_file_cut_at_any_length_is_refused, play_begin),
        cmocka_unit_test_setup(a_flipped_bit_of_the_note_is_refused_or_is_just_that_bit,
                               play_begin),
        cmocka_unit_test_setup(a_built_plugin_is_read, play_begin),
        cmocka_unit_test_setup(a_built_plugin_cut_short_is_refused_or_reads_the_same, play_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
