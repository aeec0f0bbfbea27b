/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the GGUF reader: whatever opens is walked to its last byte, so that a bound that was not
 * checked shows as a read outside the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <qkern_gguf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static volatile uint8_t sink;

static void touch(const uint8_t *data, uint64_t bytes)
{
    if (bytes == 0)
        return;
    sink = data[0];
    sink = data[bytes - 1];
}

static void walk_value(const qkern_gguf_value *value, uint32_t depth)
{
    qkern_gguf_value element = {.struct_size = sizeof element};
    uint64_t position = 0;
    uint64_t count = 0;
    uint64_t u;
    int64_t i;
    double d;

    require(depth <= QKERN_GGUF_NESTING_LIMIT);
    require(qkern_gguf_value_name(value->value_type) != NULL);
    touch(value->data, value->bytes);
    if (value->value_type != QKERN_GGUF_ARRAY) {
        (void)qkern_gguf_value_u64(value, &u, NULL);
        (void)qkern_gguf_value_i64(value, &i, NULL);
        (void)qkern_gguf_value_f64(value, &d, NULL);
        return;
    }
    while (qkern_gguf_array_next(value, &position, &element, NULL) == QKERN_OK) {
        walk_value(&element, depth + 1);
        count++;
    }
    require(count == value->count && position == value->bytes);
}

/* Names hold no NUL, so that every one can be looked up. */
static char *text_of(const char *data, uint64_t bytes)
{
    char *text = malloc((size_t)bytes + 1);

    require(text != NULL);
    memcpy(text, data, (size_t)bytes);
    text[bytes] = '\0';
    require(bytes > 0 && strlen(text) == bytes);
    return text;
}

static void walk_pair(const qkern_gguf *g, uint64_t number)
{
    qkern_gguf_pair pair = {.struct_size = sizeof pair};
    qkern_gguf_pair found = {.struct_size = sizeof found};

    require(qkern_gguf_pair_get(g, number, &pair, NULL) == QKERN_OK);
    char *key = text_of(pair.key, pair.key_bytes);
    require(qkern_gguf_pair_find(g, key, &found, NULL) == QKERN_OK);
    require(found.key == pair.key);
    free(key);
    walk_value(&pair.value, 0);
}

static void walk_tensor(const qkern_gguf *g, const qkern_gguf_header *header, uint64_t number)
{
    qkern_gguf_tensor tensor = {.struct_size = sizeof tensor};
    qkern_gguf_tensor found = {.struct_size = sizeof found};

    require(qkern_gguf_tensor_get(g, number, &tensor, NULL) == QKERN_OK);
    char *name = text_of(tensor.name, tensor.name_bytes);
    require(qkern_gguf_tensor_find(g, name, &found, NULL) == QKERN_OK);
    require(found.name == tensor.name);
    free(name);
    require(tensor.dimensions <= QKERN_GGUF_DIMENSION_LIMIT);
    require(tensor.bytes > 0 && tensor.bytes / tensor.rows == tensor.row_bytes);
    require(tensor.offset % header->alignment == 0);
    require(header->data_offset + tensor.offset + tensor.bytes <= header->file_bytes);
    touch(tensor.data, tensor.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qkern_gguf_header header = {.struct_size = sizeof header};
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf *g = NULL;
    qkern_status status = qkern_gguf_open_memory("input", data == NULL ? (const uint8_t *)"" : data,
                                                 size, &g, &error);

    if (status != QKERN_OK) {
        require(g == NULL && error.status == (uint32_t)status);
        require(strncmp(error.message, "input: ", 7) == 0 && error.message[7] != '\0');
        return 0;
    }
    require(qkern_gguf_header_get(g, &header, NULL) == QKERN_OK);
    require(header.file_bytes == size && header.data_offset % header.alignment == 0);
    for (uint64_t i = 0; i < header.metadata_count; i++)
        walk_pair(g, i);
    for (uint64_t i = 0; i < header.tensor_count; i++)
        walk_tensor(g, &header, i);
    qkern_gguf_close(g);
    return 0;
}
