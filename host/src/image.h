/* SPDX-License-Identifier: MIT */
/* A shared object in memory: which one an address belongs to, and its build-id there. */
#ifndef QKERN_HOST_IMAGE_H
#define QKERN_HOST_IMAGE_H

#include <stdbool.h>

struct image {
    const void *map;    /* the dynamic loader's struct link_map: its identity */
    char build_id[129]; /* lower-case hexadecimal; "" if it has none */
};

/* Finds the object that contains an address; false if there is none. */
bool image_find(const void *address, struct image *out);

/* Its path as the dynamic loader knows it; "" for the main program. Valid while it is loaded. */
const char *image_path(const struct image *image);

/* The identity of what dlopen returned a handle for; NULL if it is none. */
const void *image_of_handle(void *handle);

#endif
