/* SPDX-License-Identifier: MIT */
#include "index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "little_endian.h"

struct index_slot {
    uint32_t item; /* plus one; 0: empty */
    uint32_t hash; /* spares most comparisons of names that differ */
};

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

/* Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012. */
uint64_t siphash(const uint64_t key[2], const void *bytes, uint64_t count)
{
    const uint8_t *p = bytes;
    uint64_t v[4] = {
        key[0] ^ 0x736f6d6570736575u,
        key[1] ^ 0x646f72616e646f6du,
        key[0] ^ 0x6c7967656e657261u,
        key[1] ^ 0x7465646279746573u,
    };
    uint64_t last = count << 56;

    for (uint64_t i = 0; i < count / 8; i++)
        sip_word(v, bytes_le64(p + 8 * i));
    for (uint64_t i = count & ~(uint64_t)7; i < count; i++)
        last |= (uint64_t)p[i] << 8 * (i & 7);
    sip_word(v, last);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

qkern_status index_init(name_index *index, uint32_t stride, fault *f)
{
    *index = (name_index){.stride = stride};
    if (getentropy(index->key, sizeof index->key) != 0)
        return fault_errno(f, "no random numbers");
    return QKERN_OK;
}

void index_free(name_index *index)
{
    free(index->slots);
    index->slots = NULL;
}

static const span *name_of(const name_index *index, const void *records, uint32_t item)
{
    return (const span *)(const void *)((const char *)records + (size_t)item * index->stride);
}

/* The slot that holds the name, or the empty one where it belongs. */
static struct index_slot *slot_find(const name_index *index, const void *records, const char *name,
                                    uint64_t name_bytes, uint64_t hash)
{
    uint64_t mask = index->slot_count - 1;

    for (uint64_t at = hash & mask;; at = (at + 1) & mask) {
        struct index_slot *slot = &index->slots[at];

        if (slot->item == 0)
            return slot;
        if (slot->hash != hash >> 32)
            continue;
        const span *other = name_of(index, records, slot->item - 1);
        if (other->bytes == name_bytes && memcmp(other->data, name, (size_t)name_bytes) == 0)
            return slot;
    }
}

uint32_t index_insert(name_index *index, const void *records, uint32_t item)
{
    const span *name = name_of(index, records, item);
    uint64_t hash = siphash(index->key, name->data, name->bytes);
    struct index_slot *slot = slot_find(index, records, name->data, name->bytes, hash);

    if (slot->item != 0)
        return slot->item - 1;
    slot->item = item + 1;
    slot->hash = (uint32_t)(hash >> 32);
    index->items++;
    return INDEX_NONE;
}

uint32_t index_find(const name_index *index, const void *records, const char *name,
                    uint64_t name_bytes)
{
    if (index->items == 0)
        return INDEX_NONE;
    uint64_t hash = siphash(index->key, name, name_bytes);
    uint32_t item = slot_find(index, records, name, name_bytes, hash)->item;
    return item == 0 ? INDEX_NONE : item - 1;
}

void index_rebuild(name_index *index, const void *records, uint32_t items)
{
    memset(index->slots, 0, (size_t)index->slot_count * sizeof *index->slots);
    index->items = 0;
    for (uint32_t i = 0; i < items; i++)
        index_insert(index, records, i);
}

qkern_status index_reserve(name_index *index, const void *records, uint64_t items, fault *f)
{
    uint64_t slot_count = 8;

    while (slot_count < 2 * items)
        slot_count *= 2;
    if (slot_count <= index->slot_count)
        return QKERN_OK;
    struct index_slot *slots = calloc((size_t)slot_count, sizeof *slots);
    if (slots == NULL)
        return fault_memory(f, "the index of names");
    free(index->slots);
    index->slots = slots;
    index->slot_count = slot_count;
    index_rebuild(index, records, index->items);
    return QKERN_OK;
}
