/* SPDX-License-Identifier: MIT */
/* A shared object in memory: which one an address belongs to, and its build-id there. */
#ifndef QKERN_HOST_IMAGE_H
#define QKERN_HOST_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
    const void *map;    /* the dynamic loader's struct link_map: its identity */
    char build_id[129]; /* lower-case hexadecimal; "" if it has none */
    /* Its program headers in memory, valid while it is loaded. */
    const void *programs;
    size_t program_count;
    uintptr_t base;
};

enum image_part { IMAGE_DATA, IMAGE_CODE }; /* what may be read; what may be executed */

/* Finds the object that contains an address; false if there is none. */
bool image_find(const void *address, struct image *out);

/* Whether `size` bytes at an address lie inside one loaded segment of that kind. */
bool image_holds(const struct image *image, uintptr_t address, uint64_t size, enum image_part part);

/* Whether the symbol at an address is a function. */
bool image_is_function(const void *address);

/* Its path as the dynamic loader knows it; "" for the main program. Valid while it is loaded. */
const char *image_path(const struct image *image);

/* The identity of what dlopen returned a handle for; NULL if it is none. */
const void *image_of_handle(void *handle);

#endif
