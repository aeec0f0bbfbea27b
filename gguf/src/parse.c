/* SPDX-License-Identifier: MIT */
/*
 * One pass over header, metadata and tensor table, then the checks that need all of the table.
 * Nothing is believed: a count is held against its limit and against the bytes that are left before
 * memory is allocated for it, and a length before the bytes it speaks of are looked at.
 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "name.h"
#include "value.h"

/* The fewest bytes of a pair: length and one byte of the key, value type, one byte of value. */
#define PAIR_AT_LEAST (8u + 1 + 4 + 1)
/* And of a tensor: length and one byte of the name, dimensions (none), type, offset. */
#define TENSOR_AT_LEAST (8u + 1 + 4 + 4 + 8)

typedef unsigned long long number; /* for %llu */

/* Puts the part of the file that the fault is about before its text. */
static qkern_status fault_in(fault *f, const char *what, const span *name)
{
    char quoted[QUOTE_BYTES];
    fault inner = *f;

    quote(quoted, sizeof quoted, name->data, name->bytes);
    return fault_set(f, inner.status, "%s '%s': %s", what, quoted, inner.text);
}

static qkern_status fault_in_number(fault *f, const char *what, uint64_t index, uint64_t count)
{
    fault inner = *f;

    return fault_set(f, inner.status, "%s %llu of %llu: %s", what, (number)index + 1, (number)count,
                     inner.text);
}

static qkern_status version_check(uint32_t version, fault *f)
{
    if (version == 2 || version == GGUF_VERSION)
        return QKERN_OK;
    if (version == 1)
        return fault_set(f, QKERN_E_FORMAT,
                         "GGUF version 1 (32-bit lengths), expected 2 or 3; convert it again with "
                         "the tools of today");
    if (version == 2u << 24 || version == 3u << 24)
        return fault_set(f, QKERN_E_FORMAT,
                         "a big-endian GGUF file (version %u), expected a little-endian one",
                         version >> 24);
    return fault_set(f, QKERN_E_FORMAT, "GGUF version %u, expected 2 or 3", version);
}

static qkern_status header_parse(cursor *c, qkern_gguf *g, fault *f)
{
    const uint8_t *magic;

    if (c->left < GGUF_HEADER_BYTES)
        return fault_set(f, QKERN_E_FORMAT, "%llu bytes, a GGUF file has at least %u",
                         (number)c->left, GGUF_HEADER_BYTES);
    cursor_take(c, 4, &magic);
    if (memcmp(magic, GGUF_MAGIC, 4) != 0) {
        char quoted[QUOTE_BYTES];

        return fault_set(f, QKERN_E_FORMAT, "not a GGUF file: starts with '%s', expected '%s'",
                         quote(quoted, sizeof quoted, magic, 4), GGUF_MAGIC);
    }
    cursor_u32(c, &g->version);
    qkern_status status = version_check(g->version, f);
    if (status != QKERN_OK)
        return status;
    cursor_u64(c, &g->tensor_count);
    cursor_u64(c, &g->pair_count);

    if (g->pair_count > c->left / PAIR_AT_LEAST)
        return fault_set(f, QKERN_E_FORMAT,
                         "the header counts %llu metadata pairs, the %llu bytes after it hold at "
                         "most %llu",
                         (number)g->pair_count, (number)c->left, (number)(c->left / PAIR_AT_LEAST));
    uint64_t left = c->left - g->pair_count * PAIR_AT_LEAST;
    if (g->tensor_count > left / TENSOR_AT_LEAST)
        return fault_set(f, QKERN_E_FORMAT,
                         "the header counts %llu tensors, the %llu bytes after it hold at most "
                         "%llu beside %llu metadata pairs",
                         (number)g->tensor_count, (number)c->left, (number)(left / TENSOR_AT_LEAST),
                         (number)g->pair_count);
    if (g->pair_count > QKERN_GGUF_METADATA_LIMIT)
        return fault_set(f, QKERN_E_LIMIT, "%llu metadata pairs, the limit is %u",
                         (number)g->pair_count, QKERN_GGUF_METADATA_LIMIT);
    if (g->tensor_count > QKERN_GGUF_TENSOR_LIMIT)
        return fault_set(f, QKERN_E_LIMIT, "%llu tensors, the limit is %u", (number)g->tensor_count,
                         QKERN_GGUF_TENSOR_LIMIT);
    return QKERN_OK;
}

/* Takes a key or a tensor's name and holds it to the rules. */
static qkern_status name_parse(cursor *c, uint64_t limit, span *out, fault *f)
{
    uint64_t bytes;
    const uint8_t *data;
    fault inner;

    if (!cursor_u64(c, &bytes))
        return fault_set(f, QKERN_E_FORMAT, "the file ends within the length of its name");
    if (!cursor_take(c, bytes, &data))
        return fault_set(f, QKERN_E_FORMAT, "its name has %llu bytes, but only %llu bytes are left",
                         (number)bytes, (number)c->left);
    *out = (span){(const char *)data, bytes};
    if (name_check(data, bytes, limit, &inner) != QKERN_OK) {
        char quoted[QUOTE_BYTES];

        quote(quoted, sizeof quoted, data, bytes);
        return fault_set(f, inner.status, "its name '%s' %s", quoted, inner.text);
    }
    return QKERN_OK;
}

static qkern_status pair_parse(cursor *c, pair *p, fault *f)
{
    if (!cursor_u32(c, &p->value_type))
        return fault_set(f, QKERN_E_FORMAT, "the file ends within its value type");
    p->encoded = c->at;
    qkern_status status = value_skip(c, p->value_type, f);
    p->encoded_bytes = (uint64_t)(c->at - p->encoded);
    return status;
}

static qkern_status pairs_parse(cursor *c, qkern_gguf *g, fault *f)
{
    qkern_status status = index_reserve(&g->keys, NULL, g->pair_count, f);

    if (status != QKERN_OK)
        return status;
    g->pairs = calloc((size_t)g->pair_count + 1, sizeof *g->pairs);
    if (g->pairs == NULL)
        return fault_memory(f, "the metadata");
    for (uint64_t i = 0; i < g->pair_count; i++) {
        pair *p = &g->pairs[i];

        status = name_parse(c, QKERN_GGUF_KEY_LIMIT, &p->key, f);
        if (status != QKERN_OK)
            return fault_in_number(f, "metadata pair", i, g->pair_count);
        uint32_t other = index_insert(&g->keys, g->pairs, (uint32_t)i);
        if (other != INDEX_NONE)
            status = fault_set(f, QKERN_E_FORMAT, "stands twice, as metadata pair %llu and %llu",
                               (number)other + 1, (number)i + 1);
        else
            status = pair_parse(c, p, f);
        if (status != QKERN_OK)
            return fault_in(f, "key", &p->key);
    }
    return QKERN_OK;
}

static qkern_status alignment_find(qkern_gguf *g, fault *f)
{
    uint32_t item = index_find(&g->keys, g->pairs, ALIGNMENT_KEY, strlen(ALIGNMENT_KEY));

    g->alignment = QKERN_GGUF_ALIGNMENT_DEFAULT;
    if (item == INDEX_NONE)
        return QKERN_OK;
    const pair *p = &g->pairs[item];
    if (alignment_read(p->value_type, p->encoded, &g->alignment, f) != QKERN_OK)
        return fault_in(f, "key", &p->key);
    return QKERN_OK;
}

static qkern_status tensor_parse(cursor *c, tensor *t, fault *f)
{
    if (!cursor_u32(c, &t->dimensions))
        return fault_set(f, QKERN_E_FORMAT, "the file ends within its number of dimensions");
    for (uint32_t i = 0; i < t->dimensions && i < QKERN_GGUF_DIMENSION_LIMIT; i++)
        if (!cursor_u64(c, &t->shape[i]))
            return fault_set(f, QKERN_E_FORMAT, "the file ends within its shape");
    if (t->dimensions <= QKERN_GGUF_DIMENSION_LIMIT &&
        (!cursor_u32(c, &t->type) || !cursor_u64(c, &t->offset)))
        return fault_set(f, QKERN_E_FORMAT, "the file ends within its type and offset");
    return tensor_measure(t, f);
}

static qkern_status tensors_parse(cursor *c, qkern_gguf *g, fault *f)
{
    qkern_status status = index_reserve(&g->names, NULL, g->tensor_count, f);

    if (status != QKERN_OK)
        return status;
    g->tensors = calloc((size_t)g->tensor_count + 1, sizeof *g->tensors);
    if (g->tensors == NULL)
        return fault_memory(f, "the tensor table");
    for (uint64_t i = 0; i < g->tensor_count; i++) {
        tensor *t = &g->tensors[i];

        status = name_parse(c, QKERN_GGUF_NAME_LIMIT, &t->name, f);
        if (status != QKERN_OK)
            return fault_in_number(f, "tensor", i, g->tensor_count);
        uint32_t other = index_insert(&g->names, g->tensors, (uint32_t)i);
        if (other != INDEX_NONE)
            status = fault_set(f, QKERN_E_FORMAT, "stands twice, as tensor %llu and %llu",
                               (number)other + 1, (number)i + 1);
        else
            status = tensor_parse(c, t, f);
        if (status != QKERN_OK)
            return fault_in(f, "tensor", &t->name);
    }
    return QKERN_OK;
}

/*
 * Finds where the data section starts. The padding before it must be zeros: if the header counts
 * too few tensors, the next entry of the table stands there and every offset is wrong.
 */
static qkern_status data_find(const cursor *c, qkern_gguf *g, fault *f)
{
    uint64_t end = g->file.bytes - c->left;

    g->data_offset = align_up(end, g->alignment);
    for (uint64_t i = 0; i < c->left && end + i < g->data_offset; i++)
        if (c->at[i] != 0)
            return fault_set(
                f, QKERN_E_FORMAT,
                "the padding between tensor table and data, from byte %llu to %llu, is "
                "not zero; does the header count too few tensors?",
                (number)end, (number)g->data_offset);
    return QKERN_OK;
}

static qkern_status tensor_locate(const qkern_gguf *g, const tensor *t, fault *f)
{
    uint64_t section = g->file.bytes > g->data_offset ? g->file.bytes - g->data_offset : 0;

    if (t->offset % g->alignment != 0)
        return fault_set(f, QKERN_E_FORMAT, "offset %llu is not a multiple of the alignment %llu",
                         (number)t->offset, (number)g->alignment);
    if (t->offset > section || t->bytes > section - t->offset)
        return fault_set(f, QKERN_E_FORMAT,
                         "%llu bytes at offset %llu end beyond the data section, which has %llu "
                         "bytes; was the file cut short?",
                         (number)t->bytes, (number)t->offset, (number)section);
    return QKERN_OK;
}

static int by_offset(const void *a, const void *b)
{
    const tensor *left = *(const tensor *const *)a;
    const tensor *right = *(const tensor *const *)b;

    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Of tensors in ascending order. */
static qkern_status overlap_check(const tensor *before, const tensor *after, fault *f)
{
    char quoted[QUOTE_BYTES];

    if (after->offset - before->offset >= before->bytes)
        return QKERN_OK;
    quote(quoted, sizeof quoted, before->name.data, before->name.bytes);
    fault_set(f, QKERN_E_FORMAT, "starts at offset %llu, within '%s'", (number)after->offset,
              quoted);
    return fault_in(f, "tensor", &after->name);
}

/* Tensors may stand in any order and leave gaps, but share no byte. */
static qkern_status overlaps_check(const qkern_gguf *g, fault *f)
{
    qkern_status status = QKERN_OK;
    uint64_t ascending = 1;

    while (ascending < g->tensor_count &&
           g->tensors[ascending - 1].offset <= g->tensors[ascending].offset)
        ascending++;
    if (ascending >= g->tensor_count) {
        for (uint64_t i = 1; i < g->tensor_count && status == QKERN_OK; i++)
            status = overlap_check(&g->tensors[i - 1], &g->tensors[i], f);
        return status;
    }

    const tensor **sorted = malloc((size_t)g->tensor_count * sizeof *sorted);
    if (sorted == NULL)
        return fault_memory(f, "the order of the tensors");
    for (uint64_t i = 0; i < g->tensor_count; i++)
        sorted[i] = &g->tensors[i];
    qsort(sorted, (size_t)g->tensor_count, sizeof *sorted, by_offset);
    for (uint64_t i = 1; i < g->tensor_count && status == QKERN_OK; i++)
        status = overlap_check(sorted[i - 1], sorted[i], f);
    free(sorted);
    return status;
}

qkern_status parse(qkern_gguf *g, fault *f)
{
    cursor c = {g->file.data, g->file.bytes};
    qkern_status status = header_parse(&c, g, f);

    if (status == QKERN_OK)
        status = index_init(&g->keys, sizeof(pair), f);
    if (status == QKERN_OK)
        status = index_init(&g->names, sizeof(tensor), f);
    if (status == QKERN_OK)
        status = pairs_parse(&c, g, f);
    if (status == QKERN_OK)
        status = alignment_find(g, f);
    if (status == QKERN_OK)
        status = tensors_parse(&c, g, f);
    if (status == QKERN_OK)
        status = data_find(&c, g, f);
    for (uint64_t i = 0; status == QKERN_OK && i < g->tensor_count; i++)
        if (tensor_locate(g, &g->tensors[i], f) != QKERN_OK)
            status = fault_in(f, "tensor", &g->tensors[i].name);
    if (status == QKERN_OK)
        status = overlaps_check(g, f);
    return status;
}
