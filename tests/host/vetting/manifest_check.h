/* SPDX-License-Identifier: MIT */
/* Reading an image in every way there is and comparing the outcome. */
#ifndef QKERN_TESTS_MANIFEST_CHECK_H
#define QKERN_TESTS_MANIFEST_CHECK_H

#include "host/src/manifest.h"
#include "images.h"

/* Reads data from memory that ends at a page which cannot be read. */
qkern_status check_read_memory(const void *data, size_t size, uint32_t arch,
                               struct manifest_file *out, struct finding *finding);

/* A descriptor of a new temporary file with this content; fails the test if it cannot be made. */
int check_file(const void *data, size_t size);

/*
 * Reads the image from memory and from a file and asserts for both: success, and that manifest and
 * build-id are those that the image holds.
 */
void check_accepted(const struct image *image, uint32_t arch, const char *build_id);

/*
 * The same for a refusal: this status, a text that contains `text`, expected and found if they are
 * not NULL, and an output that is untouched.
 */
void check_refused(const struct image *image, uint32_t arch, qkern_status status, const char *text,
                   const char *expected, const char *found);

/* A valid image with one field set to another value. */
struct check_damage {
    size_t at;      /* offset in the image */
    uint32_t width; /* 1, 2, 4 or 8 bytes, little-endian */
    uint64_t value;
    qkern_status status;
    const char *text;
    const char *expected; /* NULL: not compared */
    const char *found;
};
void check_damages(const struct image *valid, uint32_t arch, const struct check_damage *rows,
                   size_t count);

/*
 * Flips each bit of the manifest (and of `before` bytes before it): refused, or read with exactly
 * that bit changed, in a field that the reader does not judge.
 */
void check_bit_flips(const struct image *valid, uint32_t arch, size_t before);

/* Cuts the data at every length: refused, or read with the content of the whole. Returns how many
 * lengths were read. */
size_t check_truncations(const void *data, size_t size, uint32_t arch);

#endif
