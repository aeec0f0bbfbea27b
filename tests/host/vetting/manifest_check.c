/* SPDX-License-Identifier: MIT */
/* Reading an image in every way there is and comparing the outcome. */
#include "manifest_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_all.h"

qkern_status check_read_memory(const void *data, size_t size, uint32_t arch,
                               struct manifest_file *out, struct finding *finding)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (size + page - 1) / page * page;
    uint8_t *pages =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + room, page, PROT_NONE), 0);
    uint8_t *copy = pages + room - size;
    if (size > 0)
        memcpy(copy, data, size);
    const qkern_status status = manifest_read_memory(copy, size, arch, out, finding);
    munmap(pages, room + page);
    return status;
}

int check_file(const void *data, size_t size)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fflush(file), 0);
    const int descriptor = dup(fileno(file));
    assert_true(descriptor >= 0);
    fclose(file);
    return descriptor;
}

void check_accepted(const struct image *image, uint32_t arch, const char *build_id)
{
    const int descriptor = check_file(image->bytes, image->size);

    assert_int_equal(lseek(descriptor, 7, SEEK_SET), 7);
    for (int way = 0; way < 2; way++) {
        struct manifest_file out;
        struct finding finding;
        const qkern_status status =
            way == 0 ? check_read_memory(image->bytes, image->size, arch, &out, &finding)
                     : manifest_read(descriptor, arch, &out, &finding);

        if (status != QKERN_OK)
            fail_msg("refused: %s", finding.text);
        assert_memory_equal(&out.manifest, image->bytes + image->manifest_at, sizeof out.manifest);
        assert_string_equal(out.build_id, build_id);
    }
    assert_int_equal(lseek(descriptor, 0, SEEK_CUR), 7); /* not used, not changed */
    close(descriptor);
}

void check_refused(const struct image *image, uint32_t arch, qkern_status status, const char *text,
                   const char *expected, const char *found)
{
    const int descriptor = check_file(image->bytes, image->size);
    struct manifest_file untouched;

    memset(&untouched, 0xa5, sizeof untouched);
    for (int way = 0; way < 2; way++) {
        struct manifest_file out = untouched;
        struct finding finding;

        assert_int_equal(way == 0
                             ? check_read_memory(image->bytes, image->size, arch, &out, &finding)
                             : manifest_read(descriptor, arch, &out, &finding),
                         status);
        assert_int_equal(finding.status, status);
        if (strstr(finding.text, text) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", finding.text, text);
        if (expected != NULL)
            assert_string_equal(finding.expected, expected);
        if (found != NULL)
            assert_string_equal(finding.found, found);
        assert_memory_equal(&out, &untouched, sizeof out);
    }
    close(descriptor);
}

void check_damages(const struct image *valid, uint32_t arch, const struct check_damage *rows,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct image image = *valid;

        for (uint32_t byte = 0; byte < rows[i].width; byte++)
            image.bytes[rows[i].at + byte] = (uint8_t)(rows[i].value >> 8 * byte);
        print_message("%s\n", rows[i].text);
        check_refused(&image, arch, rows[i].status, rows[i].text, rows[i].expected, rows[i].found);
    }
}

/* Whether the manifest's byte at this offset belongs to a field that others judge, or to a text. */
static bool unjudged(size_t at)
{
    const size_t minor = offsetof(struct qkern_manifest, abi_minor_needed);
    const size_t tier = offsetof(struct qkern_manifest, tier);

    return (minor <= at && at < minor + 4) || (tier <= at && at < tier + 4) ||
           at >= offsetof(struct qkern_manifest, features);
}

void check_bit_flips(const struct image *valid, uint32_t arch, size_t before)
{
    const size_t start = valid->manifest_at - before;
    size_t refused = 0, changed = 0;

    for (size_t at = start; at < valid->manifest_at + sizeof(struct qkern_manifest); at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct image image = *valid;
            struct manifest_file out;
            struct finding finding;

            image.bytes[at] ^= (uint8_t)(1 << bit);
            if (check_read_memory(image.bytes, image.size, arch, &out, &finding) != QKERN_OK) {
                assert_true(finding.text[0] != '\0');
                refused++;
                continue;
            }
            assert_memory_equal(&out.manifest, image.bytes + image.manifest_at,
                                sizeof out.manifest);
            if (at >= valid->manifest_at && !unjudged(at - valid->manifest_at))
                fail_msg("bit %d of byte %zu went unseen", bit, at - valid->manifest_at);
            changed += at >= valid->manifest_at;
        }
    }
    /* Every bit of minor, tier and features can be changed; most others cannot. */
    assert_true(changed >= (4 + 4 + 32) * 8);
    assert_true(refused >= 6 * 4 * 8 + 2 * QKERN_NAME_SIZE);
}

size_t check_truncations(const void *data, size_t size, uint32_t arch)
{
    struct manifest_file whole, out;
    struct finding finding;
    size_t accepted = 0;

    assert_int_equal(check_read_memory(data, size, arch, &whole, &finding), QKERN_OK);
    for (size_t length = 0; length < size; length++) {
        /* With a guard page while that is cheap: its cost grows with the square of the length. */
        const qkern_status status = length < 4096
                                        ? check_read_memory(data, length, arch, &out, &finding)
                                        : manifest_read_memory(data, length, arch, &out, &finding);

        if (status != QKERN_OK) {
            assert_true(finding.status == QKERN_E_FORMAT);
            assert_true(finding.text[0] != '\0');
            continue;
        }
        assert_memory_equal(&out.manifest, &whole.manifest, sizeof out.manifest);
        assert_string_equal(out.build_id, whole.build_id);
        accepted++;
    }
    return accepted;
}
