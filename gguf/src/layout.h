/* SPDX-License-Identifier: MIT */
/* What reader and writer hold about pairs and tensors, and where a tensor's data may lie. */
#ifndef QKERN_GGUF_LAYOUT_H
#define QKERN_GGUF_LAYOUT_H

#include <qkern_gguf.h>

#include "fault.h"
#include "index.h"

#define GGUF_MAGIC "GGUF"
#define GGUF_VERSION 3u
#define GGUF_HEADER_BYTES 24u

typedef struct pair {
    span key; /* first, for the index */
    uint32_t value_type;
    const uint8_t *encoded; /* the value as it stands in a file */
    uint64_t encoded_bytes;
} pair;

typedef struct tensor {
    span name; /* first, for the index */
    uint32_t type;
    uint32_t dimensions;
    uint64_t shape[QKERN_GGUF_DIMENSION_LIMIT];
    uint64_t rows;
    uint64_t row_bytes;
    uint64_t bytes;
    uint64_t offset;
} tensor;

/*
 * Checks type, dimensions and shape, and fills in rows, row_bytes and bytes: a number of dimensions
 * that qkern holds, none of them 0, elements and bytes that fit 63 bits, whole blocks in a row.
 */
qkern_status tensor_measure(tensor *t, fault *f);

/* Of the value of general.alignment: a u32, a power of two from 8 to the limit. */
#define ALIGNMENT_KEY "general.alignment"
qkern_status alignment_read(uint32_t value_type, const uint8_t *encoded, uint64_t *alignment,
                            fault *f);

/* alignment is a power of two, and position far enough from 2^64. */
static inline uint64_t align_up(uint64_t position, uint64_t alignment)
{
    return (position + alignment - 1) & ~(alignment - 1);
}

#endif
