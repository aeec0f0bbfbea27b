/* SPDX-License-Identifier: MIT */
/*
 * From a name to the number of a record: an open hash table over an array of records, each of which
 * starts with a `span` that names it. The hash is SipHash-2-4 under a random key of each index's
 * own, so that whoever writes a file cannot make its names collide.
 */
#ifndef QKERN_GGUF_INDEX_H
#define QKERN_GGUF_INDEX_H

#include <stdint.h>

#include "fault.h"

typedef struct span {
    const char *data;
    uint64_t bytes;
} span;

typedef struct name_index {
    uint64_t key[2];
    struct index_slot *slots; /* a power of two of them, at most half used */
    uint64_t slot_count;
    uint32_t items;
    uint32_t stride; /* bytes from one record to the next */
} name_index;

#define INDEX_NONE UINT32_MAX

uint64_t siphash(const uint64_t key[2], const void *bytes, uint64_t count);

/* Draws the key. `stride` is the size of a record. */
qkern_status index_init(name_index *index, uint32_t stride, fault *f);
void index_free(name_index *index);

/* Makes room for so many records in all; `records` are those that are in. */
qkern_status index_reserve(name_index *index, const void *records, uint64_t items, fault *f);

/* Room must have been reserved. The number of the record that has this name already, which stays,
 * or INDEX_NONE. */
uint32_t index_insert(name_index *index, const void *records, uint32_t item);

uint32_t index_find(const name_index *index, const void *records, const char *name,
                    uint64_t name_bytes);

/* Forgets all and takes in records 0 to items - 1, which have different names. Needs no memory. */
void index_rebuild(name_index *index, const void *records, uint32_t items);

#endif
