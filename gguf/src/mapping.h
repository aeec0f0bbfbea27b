/* SPDX-License-Identifier: MIT */
/* A file, mapped for reading. */
#ifndef QKERN_GGUF_MAPPING_H
#define QKERN_GGUF_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

typedef struct mapping {
    const uint8_t *data;
    uint64_t bytes;
    bool mapped; /* else the memory is the caller's */
} mapping;

/* Maps the whole of a regular file that is not empty. */
qkern_status mapping_open(mapping *m, const char *path, fault *f);
void mapping_close(mapping *m);

/* Lets go of the whole pages inside [data, data + bytes). */
void mapping_release(const mapping *m, const uint8_t *data, uint64_t bytes);

/* What a path leads to, for a message: "a directory"; "a file" for a regular one. */
const char *file_kind(uint32_t mode);

#endif
