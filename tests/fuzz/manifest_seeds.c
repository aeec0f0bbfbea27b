/* SPDX-License-Identifier: MIT */
/* Writes the seeds of the manifest fuzzer into the folder given: valid files of each form, and
 * files that get a little further than random bytes would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/vetting/images.h"

static int image_write(const char *folder, const char *name, const struct image *image)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        return 0;
    }
    const int done = fwrite(image->bytes, 1, image->size, file) == image->size;
    return fclose(file) == 0 && done;
}

static const uint32_t archs[] = {QKERN_ARCH_X86_64, QKERN_ARCH_AARCH64};
static const char *const arch_names[] = {"x86-64", "aarch64"};

static int seeds_write(const char *folder)
{
    struct image image, slices[2];
    char name[64];
    int done = 1;

    for (size_t i = 0; i < 2; i++) {
        for (uint32_t alignment = 4; alignment <= 8; alignment += 4) {
            image_elf(&image, archs[i], alignment);
            snprintf(name, sizeof name, "elf-%s-align%u", arch_names[i], alignment);
            done = done && image_write(folder, name, &image);
        }
        image_put32(&image, image.manifest_at + 4, 2); /* another manifest version */
        snprintf(name, sizeof name, "elf-%s-version2", arch_names[i]);
        done = done && image_write(folder, name, &image);
        image_macho(&slices[i], archs[i]);
        snprintf(name, sizeof name, "macho-%s", arch_names[i]);
        done = done && image_write(folder, name, &slices[i]);
    }
    image_universal(&image, 0, slices, 2);
    done = done && image_write(folder, "universal-32", &image);
    image_universal(&image, 1, slices, 2);
    done = done && image_write(folder, "universal-64", &image);

    image_elf(&image, QKERN_ARCH_X86_64, 4);
    image_put32(&image, image.note_at + 4, UINT32_MAX);
    done = done && image_write(folder, "elf-note-length", &image);
    image.size = image.note_at + 50;
    done = done && image_write(folder, "elf-cut-short", &image);
    image.size = 0;
    done = done && image_write(folder, "empty", &image);
    memcpy(image.bytes, "a text file\n", 12);
    image.size = 12;
    return done && image_write(folder, "text", &image);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: manifest_seeds FOLDER\n");
        return EXIT_FAILURE;
    }
    return seeds_write(arguments[1]) ? EXIT_SUCCESS : EXIT_FAILURE;
}
