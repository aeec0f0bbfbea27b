/* SPDX-License-Identifier: MIT */
/* The public calls that write a file. */
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "error.h"
#include "name.h"
#include "output.h"
#include "reader.h"
#include "value.h"

typedef unsigned long long number; /* for %llu */

struct qkern_gguf_writer {
    label name; /* for messages */
    enum { COLLECTING, WRITING, FAILED } state;
    output file;
    pair *pairs; /* key and value of each are one allocation, which starts with the key */
    uint64_t pair_count, pair_room;
    name_index keys;
    tensor *tensors; /* each name is an allocation */
    uint64_t tensor_count, tensor_room;
    name_index names;
    uint64_t alignment;
    uint64_t current;      /* the tensor whose data comes next */
    uint64_t current_left; /* bytes of it that have not come */
    uint64_t data_left;    /* of all tensors */
};

static qkern_status writer_error(const qkern_gguf_writer *w, const fault *f, qkern_error *error)
{
    return error_set(error, f->status, QKERN_NO_INDEX, "%s: %s", w->name.text, f->text);
}

static qkern_status named_error(const qkern_gguf_writer *w, const char *what, const char *name,
                                uint64_t name_bytes, const fault *f, qkern_error *error)
{
    char quoted[QUOTE_BYTES];

    quote(quoted, sizeof quoted, name, name_bytes);
    return error_set(error, f->status, QKERN_NO_INDEX, "%s: %s '%s': %s", w->name.text, what,
                     quoted, f->text);
}

static qkern_status null_error(const char *call, const char *what, qkern_error *error)
{
    return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s is NULL", call, what);
}

static qkern_status state_check(const qkern_gguf_writer *w, int state, const char *call,
                                qkern_error *error)
{
    static const char *const reasons[] = {
        [COLLECTING] = "call qkern_gguf_writer_begin first",
        [WRITING] = "too late after qkern_gguf_writer_begin",
        [FAILED] = "an earlier call has failed; only qkern_gguf_writer_abort is left",
    };

    if (w == NULL)
        return null_error(call, "the writer", error);
    if ((int)w->state == state)
        return QKERN_OK;
    return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s: %s", w->name.text, call,
                     reasons[w->state]);
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* Names in the writer are its own, though a span points at constant bytes. */
static void name_free(const span *name)
{
    free((void *)(uintptr_t)name->data);
}

static void writer_free(qkern_gguf_writer *w)
{
    for (uint64_t i = 0; i < w->pair_count; i++)
        name_free(&w->pairs[i].key);
    for (uint64_t i = 0; i < w->tensor_count; i++)
        name_free(&w->tensors[i].name);
    free(w->pairs);
    free(w->tensors);
    index_free(&w->keys);
    index_free(&w->names);
    free(w);
}

qkern_status qkern_gguf_writer_create(const char *path, qkern_gguf_writer **out, qkern_error *error)
{
    static const char call[] = "qkern_gguf_writer_create";
    fault f;

    if (path == NULL || out == NULL)
        return null_error(call, path == NULL ? "the path" : "the output", error);
    qkern_gguf_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "%s: out of memory", call);
    label_set(&w->name, path);
    qkern_status status = index_init(&w->keys, sizeof(pair), &f);
    if (status == QKERN_OK)
        status = index_init(&w->names, sizeof(tensor), &f);
    if (status == QKERN_OK)
        status = output_create(&w->file, path, &f);
    if (status != QKERN_OK) {
        writer_error(w, &f, error);
        writer_free(w);
        return status;
    }
    *out = w;
    return QKERN_OK;
}

void qkern_gguf_writer_abort(qkern_gguf_writer *w)
{
    if (w == NULL)
        return;
    output_abort(&w->file);
    writer_free(w);
}

/* --- metadata --------------------------------------------------------------------------------- */

/* Makes room in an array of records and in its index for one more. */
static qkern_status room_make(void **records, uint64_t *room, uint64_t count, size_t size,
                              name_index *index, fault *f)
{
    if (count == *room) {
        uint64_t wanted = count == 0 ? 16 : 2 * count;
        void *larger = realloc(*records, (size_t)wanted * size);

        if (larger == NULL)
            return fault_memory(f, "metadata and tensors");
        *records = larger;
        *room = wanted;
    }
    return index_reserve(index, *records, count + 1, f);
}

/* A copy of key and value in one allocation. */
static qkern_status pair_copy(const span *key, uint32_t value_type, const void *encoded,
                              uint64_t encoded_bytes, pair *out, fault *f)
{
    char *memory = malloc((size_t)(key->bytes + encoded_bytes));

    if (memory == NULL)
        return fault_memory(f, "its value");
    memcpy(memory, key->data, (size_t)key->bytes);
    memcpy(memory + key->bytes, encoded, (size_t)encoded_bytes);
    out->key.data = memory;
    out->key.bytes = key->bytes;
    out->value_type = value_type;
    out->encoded = (const uint8_t *)memory + key->bytes;
    out->encoded_bytes = encoded_bytes;
    return QKERN_OK;
}

/* Of a key and a value that have been checked. */
static qkern_status pair_append(qkern_gguf_writer *w, const span *key, uint32_t value_type,
                                const void *encoded, uint64_t encoded_bytes, fault *f)
{
    void *pairs = w->pairs;

    if (w->pair_count == QKERN_GGUF_METADATA_LIMIT)
        return fault_set(f, QKERN_E_LIMIT, "would be pair %llu, the limit is %u",
                         (number)w->pair_count + 1, QKERN_GGUF_METADATA_LIMIT);
    qkern_status status =
        room_make(&pairs, &w->pair_room, w->pair_count, sizeof *w->pairs, &w->keys, f);
    w->pairs = pairs;
    if (status == QKERN_OK)
        status = pair_copy(key, value_type, encoded, encoded_bytes, &w->pairs[w->pair_count], f);
    if (status != QKERN_OK)
        return status;
    index_insert(&w->keys, w->pairs, (uint32_t)w->pair_count);
    w->pair_count++;
    return QKERN_OK;
}

static qkern_status pair_check(const span *key, uint32_t value_type, const void *encoded,
                               uint64_t encoded_bytes, fault *f)
{
    cursor c = {encoded, encoded_bytes};
    uint64_t alignment;
    qkern_status status = name_check(key->data, key->bytes, QKERN_GGUF_KEY_LIMIT, f);

    if (status == QKERN_OK)
        status = value_skip(&c, value_type, f);
    if (status == QKERN_OK && c.left != 0)
        return fault_set(f, QKERN_E_FORMAT, "%llu bytes stand after the value", (number)c.left);
    if (status == QKERN_OK && key->bytes == strlen(ALIGNMENT_KEY) &&
        memcmp(key->data, ALIGNMENT_KEY, (size_t)key->bytes) == 0)
        return alignment_read(value_type, encoded, &alignment, f);
    return status;
}

qkern_status qkern_gguf_writer_set(qkern_gguf_writer *w, const char *key, uint32_t value_type,
                                   const void *encoded, uint64_t encoded_bytes, qkern_error *error)
{
    static const char call[] = "qkern_gguf_writer_set";
    qkern_status status = state_check(w, COLLECTING, call, error);
    fault f;

    if (status != QKERN_OK)
        return status;
    if (key == NULL || encoded == NULL)
        return null_error(call, key == NULL ? "the key" : "the value", error);

    const span name = {key, strlen(key)};
    status = pair_check(&name, value_type, encoded, encoded_bytes, &f);
    uint32_t item = index_find(&w->keys, w->pairs, name.data, name.bytes);
    if (status == QKERN_OK && item == INDEX_NONE) {
        status = pair_append(w, &name, value_type, encoded, encoded_bytes, &f);
    } else if (status == QKERN_OK) {
        pair fresh;

        status = pair_copy(&name, value_type, encoded, encoded_bytes, &fresh, &f);
        if (status == QKERN_OK) {
            name_free(&w->pairs[item].key);
            w->pairs[item] = fresh;
        }
    }
    if (status != QKERN_OK)
        return named_error(w, "key", name.data, name.bytes, &f, error);
    return QKERN_OK;
}

qkern_status qkern_gguf_writer_set_u32(qkern_gguf_writer *w, const char *key, uint32_t value,
                                       qkern_error *error)
{
    uint8_t encoded[4];

    store_le32(encoded, value);
    return qkern_gguf_writer_set(w, key, QKERN_GGUF_UINT32, encoded, sizeof encoded, error);
}

qkern_status qkern_gguf_writer_set_string(qkern_gguf_writer *w, const char *key, const char *value,
                                          qkern_error *error)
{
    static const char call[] = "qkern_gguf_writer_set_string";

    if (value == NULL)
        return null_error(call, "the value", error);
    size_t length = strlen(value);
    uint8_t *encoded = malloc(8 + length);
    if (encoded == NULL)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "%s: out of memory", call);
    store_le64(encoded, length);
    memcpy(encoded + 8, value, length);
    qkern_status status =
        qkern_gguf_writer_set(w, key, QKERN_GGUF_STRING, encoded, 8 + length, error);
    free(encoded);
    return status;
}

qkern_status qkern_gguf_writer_remove(qkern_gguf_writer *w, const char *key, qkern_error *error)
{
    static const char call[] = "qkern_gguf_writer_remove";
    qkern_status status = state_check(w, COLLECTING, call, error);
    fault f;

    if (status != QKERN_OK)
        return status;
    if (key == NULL)
        return null_error(call, "the key", error);
    uint32_t item = index_find(&w->keys, w->pairs, key, strlen(key));
    if (item == INDEX_NONE) {
        fault_set(&f, QKERN_E_NOT_FOUND, "no such key to remove");
        return named_error(w, "key", key, strlen(key), &f, error);
    }
    name_free(&w->pairs[item].key);
    w->pair_count--;
    memmove(&w->pairs[item], &w->pairs[item + 1],
            (size_t)(w->pair_count - item) * sizeof *w->pairs);
    index_rebuild(&w->keys, w->pairs, (uint32_t)w->pair_count);
    return QKERN_OK;
}

qkern_status qkern_gguf_writer_copy_metadata(qkern_gguf_writer *w, const qkern_gguf *g,
                                             qkern_error *error)
{
    static const char call[] = "qkern_gguf_writer_copy_metadata";
    qkern_status status = state_check(w, COLLECTING, call, error);
    fault f;

    if (status != QKERN_OK)
        return status;
    if (g == NULL)
        return null_error(call, "the reader", error);
    for (uint64_t i = 0; i < g->pair_count; i++) {
        const span *key = &g->pairs[i].key;

        if (index_find(&w->keys, w->pairs, key->data, key->bytes) == INDEX_NONE)
            continue;
        fault_set(&f, QKERN_E_ARGUMENT,
                  "is in the writer already; copy the metadata first, then set what differs");
        return named_error(w, "key", key->data, key->bytes, &f, error);
    }
    for (uint64_t i = 0; i < g->pair_count; i++) {
        const pair *p = &g->pairs[i];

        status = pair_append(w, &p->key, p->value_type, p->encoded, p->encoded_bytes, &f);
        if (status != QKERN_OK) {
            w->state = FAILED;
            return named_error(w, "key", p->key.data, p->key.bytes, &f, error);
        }
    }
    return QKERN_OK;
}

/* --- tensors ---------------------------------------------------------------------------------- */

static qkern_status tensor_append(qkern_gguf_writer *w, tensor *t, fault *f)
{
    void *tensors = w->tensors;

    if (w->tensor_count == QKERN_GGUF_TENSOR_LIMIT)
        return fault_set(f, QKERN_E_LIMIT, "would be tensor %llu, the limit is %u",
                         (number)w->tensor_count + 1, QKERN_GGUF_TENSOR_LIMIT);
    if (index_find(&w->names, w->tensors, t->name.data, t->name.bytes) != INDEX_NONE)
        return fault_set(f, QKERN_E_ARGUMENT, "has been added already");
    qkern_status status =
        room_make(&tensors, &w->tensor_room, w->tensor_count, sizeof *t, &w->names, f);
    w->tensors = tensors;
    if (status != QKERN_OK)
        return status;
    char *name = malloc((size_t)t->name.bytes);
    if (name == NULL)
        return fault_memory(f, "its name");
    memcpy(name, t->name.data, (size_t)t->name.bytes);
    t->name.data = name;
    w->tensors[w->tensor_count] = *t;
    index_insert(&w->names, w->tensors, (uint32_t)w->tensor_count);
    w->tensor_count++;
    return QKERN_OK;
}

qkern_status qkern_gguf_writer_add_tensor(qkern_gguf_writer *w, const char *name,
                                          uint64_t name_bytes, uint32_t type, uint32_t dimensions,
                                          const uint64_t *shape, qkern_error *error)
{
    static const char call[] = "qkern_gguf_writer_add_tensor";
    qkern_status status = state_check(w, COLLECTING, call, error);
    tensor t = {{name, name_bytes}, type, dimensions, {0}, 0, 0, 0, 0};
    fault f;

    if (status != QKERN_OK)
        return status;
    if (name == NULL || (shape == NULL && dimensions > 0))
        return null_error(call, name == NULL ? "the name" : "the shape", error);
    status = name_check(name, name_bytes, QKERN_GGUF_NAME_LIMIT, &f);
    if (status == QKERN_OK) {
        for (uint32_t i = 0; i < dimensions && i < QKERN_GGUF_DIMENSION_LIMIT; i++)
            t.shape[i] = shape[i];
        status = tensor_measure(&t, &f);
    }
    if (status == QKERN_OK)
        status = tensor_append(w, &t, &f);
    if (status != QKERN_OK)
        return named_error(w, "tensor", name, name_bytes, &f, error);
    return QKERN_OK;
}

/* Gives each tensor its offset and makes sure that the file's size fits 63 bits. */
static qkern_status tensors_place(qkern_gguf_writer *w, fault *f)
{
    const uint64_t most = INT64_MAX - QKERN_GGUF_ALIGNMENT_LIMIT;
    uint64_t offset = 0;

    for (uint64_t i = 0; i < w->tensor_count; i++) {
        tensor *t = &w->tensors[i];

        t->offset = offset;
        if (offset > most || t->bytes > most - offset)
            return fault_set(f, QKERN_E_LIMIT,
                             "the size of tensors 1 to %llu together does not fit 63 bits",
                             (number)i + 1);
        offset = align_up(offset + t->bytes, w->alignment);
        w->data_left += t->bytes;
    }
    return QKERN_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

static qkern_status put_u32(output *o, uint32_t value, fault *f)
{
    uint8_t bytes[4];

    store_le32(bytes, value);
    return output_write(o, bytes, sizeof bytes, f);
}

static qkern_status put_u64(output *o, uint64_t value, fault *f)
{
    uint8_t bytes[8];

    store_le64(bytes, value);
    return output_write(o, bytes, sizeof bytes, f);
}

static qkern_status put_name(output *o, const span *name, fault *f)
{
    qkern_status status = put_u64(o, name->bytes, f);

    return status == QKERN_OK ? output_write(o, name->data, name->bytes, f) : status;
}

static qkern_status put_header(qkern_gguf_writer *w, fault *f)
{
    uint8_t header[GGUF_HEADER_BYTES];

    memcpy(header, GGUF_MAGIC, 4);
    store_le32(header + 4, GGUF_VERSION);
    store_le64(header + 8, w->tensor_count);
    store_le64(header + 16, w->pair_count);
    return output_write(&w->file, header, sizeof header, f);
}

static qkern_status put_pair(output *o, const pair *p, fault *f)
{
    qkern_status status = put_name(o, &p->key, f);

    if (status == QKERN_OK)
        status = put_u32(o, p->value_type, f);
    if (status == QKERN_OK)
        status = output_write(o, p->encoded, p->encoded_bytes, f);
    return status;
}

static qkern_status put_tensor(output *o, const tensor *t, fault *f)
{
    qkern_status status = put_name(o, &t->name, f);

    if (status == QKERN_OK)
        status = put_u32(o, t->dimensions, f);
    for (uint32_t i = 0; i < t->dimensions && status == QKERN_OK; i++)
        status = put_u64(o, t->shape[i], f);
    if (status == QKERN_OK)
        status = put_u32(o, t->type, f);
    if (status == QKERN_OK)
        status = put_u64(o, t->offset, f);
    return status;
}

/* Zeros up to the next multiple of the alignment. */
static qkern_status put_padding(qkern_gguf_writer *w, fault *f)
{
    uint64_t position = w->file.position;

    return output_zeros(&w->file, align_up(position, w->alignment) - position, f);
}

/* All that stands before the data. */
static qkern_status put_front(qkern_gguf_writer *w, fault *f)
{
    qkern_status status = put_header(w, f);

    for (uint64_t i = 0; i < w->pair_count && status == QKERN_OK; i++)
        status = put_pair(&w->file, &w->pairs[i], f);
    for (uint64_t i = 0; i < w->tensor_count && status == QKERN_OK; i++)
        status = put_tensor(&w->file, &w->tensors[i], f);
    if (status == QKERN_OK)
        status = put_padding(w, f);
    return status;
}

static void alignment_find(qkern_gguf_writer *w)
{
    uint32_t item = index_find(&w->keys, w->pairs, ALIGNMENT_KEY, strlen(ALIGNMENT_KEY));

    /* It was checked when it came in. */
    w->alignment =
        item == INDEX_NONE ? QKERN_GGUF_ALIGNMENT_DEFAULT : bytes_le32(w->pairs[item].encoded);
}

qkern_status qkern_gguf_writer_begin(qkern_gguf_writer *w, qkern_error *error)
{
    qkern_status status = state_check(w, COLLECTING, "qkern_gguf_writer_begin", error);
    fault f;

    if (status != QKERN_OK)
        return status;
    alignment_find(w);
    status = tensors_place(w, &f);
    if (status == QKERN_OK)
        status = put_front(w, &f);
    if (status != QKERN_OK) {
        w->state = FAILED;
        return writer_error(w, &f, error);
    }
    w->state = WRITING;
    w->current_left = w->tensor_count > 0 ? w->tensors[0].bytes : 0;
    return QKERN_OK;
}

/* Of data that is not more than was announced. */
static qkern_status data_write(qkern_gguf_writer *w, const uint8_t *data, uint64_t bytes, fault *f)
{
    while (bytes > 0) {
        uint64_t part = bytes < w->current_left ? bytes : w->current_left;
        qkern_status status = output_write(&w->file, data, part, f);

        data += part;
        bytes -= part;
        w->data_left -= part;
        w->current_left -= part;
        if (status == QKERN_OK && w->current_left == 0) {
            status = put_padding(w, f);
            if (++w->current < w->tensor_count)
                w->current_left = w->tensors[w->current].bytes;
        }
        if (status != QKERN_OK)
            return status;
    }
    return QKERN_OK;
}

qkern_status qkern_gguf_writer_write(qkern_gguf_writer *w, const void *data, uint64_t bytes,
                                     qkern_error *error)
{
    static const char call[] = "qkern_gguf_writer_write";
    qkern_status status = state_check(w, WRITING, call, error);
    fault f;

    if (status != QKERN_OK)
        return status;
    if (data == NULL && bytes > 0)
        return null_error(call, "the data", error);
    if (bytes > w->data_left)
        status = fault_set(&f, QKERN_E_SIZE,
                           "%llu bytes of data, but the tensors that were added lack only %llu",
                           (number)bytes, (number)w->data_left);
    else
        status = data_write(w, data, bytes, &f);
    if (status == QKERN_OK)
        return QKERN_OK;
    w->state = FAILED;
    return writer_error(w, &f, error);
}

qkern_status qkern_gguf_writer_commit(qkern_gguf_writer *w, qkern_error *error)
{
    qkern_status status = state_check(w, WRITING, "qkern_gguf_writer_commit", error);
    fault f;

    if (status != QKERN_OK) {
        qkern_gguf_writer_abort(w);
        return status;
    }
    if (w->data_left > 0) {
        const span *name = &w->tensors[w->current].name;

        fault_set(&f, QKERN_E_SIZE, "lacks %llu bytes of data, of %llu that all tensors lack",
                  (number)w->current_left, (number)w->data_left);
        status = named_error(w, "tensor", name->data, name->bytes, &f, error);
    } else if (output_commit(&w->file, &f) != QKERN_OK) {
        status = writer_error(w, &f, error);
    }
    qkern_gguf_writer_abort(w);
    return status;
}
