/* SPDX-License-Identifier: MIT */
/* An open file: what the parser found, and where. */
#ifndef QKERN_GGUF_READER_H
#define QKERN_GGUF_READER_H

#include "layout.h"
#include "mapping.h"

struct qkern_gguf {
    label name; /* for messages */
    mapping file;
    uint32_t version;
    uint64_t alignment;
    uint64_t data_offset;
    pair *pairs; /* in file order */
    uint64_t pair_count;
    name_index keys;
    tensor *tensors; /* in file order */
    uint64_t tensor_count;
    name_index names;
};

/* Reads and checks all of g->file. On failure *f says what is wrong and with which part; what was
 * allocated stays in g. */
qkern_status parse(qkern_gguf *g, fault *f);

#endif
