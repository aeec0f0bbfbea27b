/* SPDX-License-Identifier: MIT */
/*
 * A file that takes the place of another only when it is complete: it is written under a random
 * name in the target's folder, flushed to the disk, and renamed.
 */
#ifndef QKERN_GGUF_OUTPUT_H
#define QKERN_GGUF_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "fault.h"

#define OUTPUT_BUFFER_BYTES ((size_t)256 * 1024)

typedef struct output {
    int folder;
    int file;
    char *target;       /* name in the folder */
    char temporary[32]; /* name in the folder */
    uint8_t *buffer;
    size_t used;       /* bytes in the buffer */
    uint64_t position; /* bytes given so far */
} output;

/*
 * Creates the file. A target that is a symbolic link is followed first. The file has the
 * permissions of the target if there is one, else those of any new file.
 */
qkern_status output_create(output *o, const char *path, fault *f);

qkern_status output_write(output *o, const void *data, uint64_t bytes, fault *f);
qkern_status output_zeros(output *o, uint64_t bytes, fault *f);

/* Both give everything back; commit also on failure, with the target as it was. */
qkern_status output_commit(output *o, fault *f);
void output_abort(output *o);

#endif
